// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/reference.h"

#include <algorithm>
#include <vector>

#include "sw/collectives/pattern.h"

namespace weft::collectives {

using dimensions::Operation;

namespace {

constexpr std::byte kNoise{0xa5};

/// A byte that is no part of an element.
std::byte rest(std::uint64_t at) {
  return static_cast<std::byte>(at * 7 + 1);
}

}  // namespace

Extent Reference::block(int index) const {
  const std::uint64_t unit = size_of(type);
  const auto count = static_cast<std::uint64_t>(members);
  const auto i = static_cast<std::uint64_t>(index);
  if (operation != Operation::kAllToAll) return split({0, bytes}, count, i, unit);
  const std::uint64_t part = bytes / unit / count * unit;
  return {i * part, part};
}

void Reference::fill(memory::BackingStore& store, std::uint64_t address, int member) const {
  const bool gathers = operation == Operation::kAllgather;
  std::vector<std::byte> data(bytes, kNoise);
  put(data, gathers ? block(member) : Extent{0, bytes}, member, gathers && member == members - 1);
  store.write(address, data.data(), bytes);
}

void Reference::fill_broadcast(memory::BackingStore& store, std::uint64_t address, int member, int root) const {
  std::vector<std::byte> data(bytes, kNoise);
  if (member == root) put(data, {0, bytes}, member, true);
  store.write(address, data.data(), bytes);
}

std::uint32_t Reference::element(int member, std::uint64_t index) const {
  const bool sums = operation == Operation::kReduceScatter || operation == Operation::kAllReduce;
  return sums ? addend(type, seed, member, members, index) : pattern(seed, member, index);
}

void Reference::put(std::vector<std::byte>& data, Extent extent, int member, bool with_rest) const {
  const std::uint64_t unit = size_of(type);
  for (std::uint64_t at = extent.offset; at + unit <= extent.offset + extent.bytes; at += unit) {
    encode(type, element(member, at / unit), &data[at]);
  }
  for (std::uint64_t at = bytes / unit * unit; with_rest && at < bytes; ++at) data[at] = rest(at);
}

template <typename Value>
std::int64_t Reference::differing(const memory::BackingStore& store, std::uint64_t address, Extent extent,
                                  bool with_rest, const Value& value) const {
  const std::uint64_t unit = size_of(type);
  const std::uint64_t first = extent.offset / unit;
  const std::int64_t wrong =
      collectives::differing(store, type, address, extent.bytes, [&](std::uint64_t i) { return value(first + i); });
  if (!with_rest) return wrong;
  std::vector<std::byte> right;
  for (std::uint64_t at = extent.bytes / unit * unit; at < extent.bytes; ++at) {
    right.push_back(rest(extent.offset + at));
  }
  return wrong + collectives::differing(store, address + extent.bytes - right.size(), right);
}

std::int64_t Reference::wrong(const memory::BackingStore& store, std::uint64_t address, int member) const {
  const auto sum = [&](std::uint64_t index) {
    std::uint32_t all = 0;
    for (int m = 0; m < members; ++m) all += element(m, index);
    return all;
  };
  if (operation == Operation::kReduceScatter) return differing(store, address, block(member), false, sum);
  if (operation == Operation::kAllReduce) return differing(store, address, {0, bytes}, false, sum);
  const std::uint64_t own = operation == Operation::kAllToAll ? block(member).offset / size_of(type) : 0;
  std::int64_t wrong = 0;
  for (int m = 0; m < members; ++m) {
    // In an AllToAll, block m came from where member m has what is for this one.
    Extent part = block(m);
    const std::uint64_t shift = operation == Operation::kAllToAll ? own - part.offset / size_of(type) : 0;
    if (!from.empty()) part.bytes = std::min(part.bytes, from[static_cast<std::size_t>(m)]);
    wrong += differing(store, address + part.offset, part, operation == Operation::kAllgather,
                       [&](std::uint64_t index) { return pattern(seed, m, index + shift); });
  }
  return wrong;
}

std::int64_t Reference::wrong_copy(const memory::BackingStore& store, std::uint64_t address, Extent extent,
                                   int source) const {
  return differing(store, address + extent.offset, extent, extent.offset + extent.bytes == bytes,
                   [&](std::uint64_t index) { return element(source, index); });
}

}  // namespace weft::collectives
