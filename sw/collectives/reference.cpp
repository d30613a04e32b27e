// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/reference.h"

#include <cstring>
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
  const std::uint64_t unit = size_of(type);
  const bool gathers = operation == Operation::kAllgather;
  const Extent own = gathers ? block(member) : Extent{0, bytes};
  std::vector<std::byte> data(bytes, kNoise);
  for (std::uint64_t at = own.offset; at + unit <= own.offset + own.bytes; at += unit) {
    encode(type, pattern(seed, member, at / unit), &data[at]);
  }
  if (gathers && member == members - 1) {
    for (std::uint64_t at = bytes / unit * unit; at < bytes; ++at) data[at] = rest(at);
  }
  store.write(address, data.data(), bytes);
}

std::int64_t Reference::wrong(const memory::BackingStore& store, std::uint64_t address, int member) const {
  const std::uint64_t unit = size_of(type);
  const auto value = [&](int source, std::uint64_t index) -> std::uint32_t {
    if (operation == Operation::kAllgather) return pattern(seed, source, index);
    if (operation == Operation::kAllToAll) {
      return pattern(seed, source, index + block(member).offset / unit - block(source).offset / unit);
    }
    std::uint32_t sum = 0;
    for (int m = 0; m < members; ++m) sum += pattern(seed, m, index);
    return sum;
  };
  std::int64_t wrong = 0;
  std::vector<std::byte> expected(unit);
  const auto compare = [&](int source, Extent extent, std::uint64_t from) {
    std::vector<std::byte> actual(extent.bytes);
    store.read(from, actual.data(), extent.bytes);
    for (std::uint64_t at = 0; at + unit <= extent.bytes; at += unit) {
      encode(type, value(source, (extent.offset + at) / unit), expected.data());
      if (std::memcmp(expected.data(), &actual[at], unit) != 0) ++wrong;
    }
    if (operation != Operation::kAllgather) return;
    for (std::uint64_t at = extent.bytes / unit * unit; at < extent.bytes; ++at) {
      if (actual[at] != rest(extent.offset + at)) ++wrong;
    }
  };
  if (operation == Operation::kReduceScatter) {
    compare(member, block(member), address);
  } else if (operation == Operation::kAllReduce) {
    compare(member, {0, bytes}, address);
  } else {
    for (int m = 0; m < members; ++m) compare(m, block(m), address + block(m).offset);
  }
  return wrong;
}

}  // namespace weft::collectives
