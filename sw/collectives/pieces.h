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

}  // namespace weft::collectives
