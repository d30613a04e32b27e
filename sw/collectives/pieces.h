// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sw/collectives/blocks.h"

namespace weft::collectives {

/// Runs of bytes of an accelerator's memory, by address, in the order in which a message carries them.
using Pieces = std::vector<Extent>;

[[nodiscard]] inline std::uint64_t bytes_of(const Pieces& pieces) {
  std::uint64_t sum = 0;
  for (const Extent& piece : pieces) sum += piece.bytes;
  return sum;
}

/// Adds a run, to the one before it where they touch.
inline void append(Pieces& pieces, Extent piece) {
  if (piece.bytes == 0) return;
  if (!pieces.empty() && pieces.back().offset + pieces.back().bytes == piece.offset) {
    pieces.back().bytes += piece.bytes;
  } else {
    pieces.push_back(piece);
  }
}
inline void append(Pieces& pieces, const Pieces& more) {
  for (const Extent& piece : more) append(pieces, piece);
}

/// Part `index` of `count` of what the pieces hold, as split() cuts it.
[[nodiscard]] inline Pieces part(const Pieces& pieces, int count, int index, std::uint64_t granule) {
  const Extent wanted =
      split({0, bytes_of(pieces)}, static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(index), granule);
  Pieces result;
  std::uint64_t at = 0;
  for (const Extent& piece : pieces) {
    const std::uint64_t from = std::max(wanted.offset, at);
    const std::uint64_t to = std::min(wanted.offset + wanted.bytes, at + piece.bytes);
    if (from < to) append(result, {piece.offset + from - at, to - from});
    at += piece.bytes;
  }
  return result;
}

/// Calls `visit(bytes, a, b, ...)` for each run that is in one piece in all lists, which hold the same number of bytes,
/// with its address in each.
template <typename Visit, typename... Lists>
void zip(const Visit& visit, const Pieces& first, const Lists&... more) {
  std::uint64_t left = bytes_of(first);
  const auto walk = [&left, &visit](auto... cursors) {
    while (left > 0) {
      const std::uint64_t bytes = std::min({cursors.room()...});
      visit(bytes, cursors.address()...);
      (cursors.advance(bytes), ...);
      left -= bytes;
    }
  };
  struct Cursor {
    const Pieces* pieces;
    std::size_t piece = 0;
    std::uint64_t used = 0;
    [[nodiscard]] std::uint64_t room() const { return (*pieces)[piece].bytes - used; }
    [[nodiscard]] std::uint64_t address() const { return (*pieces)[piece].offset + used; }
    void advance(std::uint64_t bytes) {
      used += bytes;
      if (used < (*pieces)[piece].bytes) return;
      ++piece;
      used = 0;
    }
  };
  walk(Cursor{&first}, Cursor{&more}...);
}

/// Divides what the lists hold, the same number of bytes each, among `parts` that work at the same time: calls
/// `visit(index, bytes, a, b, ...)`, by zip()'s runs, with the index of a part, or a larger one to be dealt out in
/// turn. Runs that are fewer are cut into parts of equal size. Where they are more, each has an index of its own,
/// however short it is, since every run has a cost; those that are longer than a part are cut.
template <typename Visit, typename... Lists>
void divide(std::uint64_t parts, std::uint64_t granule, const Visit& visit, const Lists&... lists) {
  std::uint64_t runs = 0;
  std::uint64_t whole = 0;
  const auto count = [&](std::uint64_t bytes, auto... /*addresses*/) {
    ++runs;
    whole += bytes;
  };
  zip(count, lists...);
  if (runs <= parts) {
    for (std::uint32_t i = 0; i < parts; ++i) {
      const auto mine = [&](std::uint64_t bytes, auto... addresses) { visit(i, bytes, addresses...); };
      zip(mine, part(lists, static_cast<int>(parts), static_cast<int>(i), granule)...);
    }
    return;
  }
  const std::uint64_t longest = (whole + parts - 1) / parts;
  std::uint32_t index = 0;
  const auto deal = [&](std::uint64_t bytes, auto... addresses) {
    const std::uint64_t cuts = (bytes + longest - 1) / longest;
    for (std::uint64_t c = 0; c < cuts; ++c) {
      const Extent cut = split({0, bytes}, cuts, c, granule);
      if (cut.bytes > 0) visit(index++, cut.bytes, addresses + cut.offset...);
    }
  };
  zip(deal, lists...);
}

}  // namespace weft::collectives
