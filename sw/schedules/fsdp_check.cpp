// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_check.h"

#include <vector>

#include "sw/collectives/pattern.h"

namespace weft::schedules::check {

using collectives::addend;
using collectives::differing;
using collectives::encode;
using collectives::pattern;

void fill_shard(memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                collectives::Extent own, std::uint64_t seed) {
  const std::uint64_t unit = size_of(type);
  std::vector<std::byte> data(bytes, std::byte{0xa5});
  for (std::uint64_t at = own.offset; at + unit <= own.offset + own.bytes; at += unit) {
    encode(type, pattern(seed, 0, at / unit), &data[at]);
  }
  store.write(buffer, data.data(), bytes);
}

std::int64_t compare_gathered(const memory::BackingStore& store, ElementType type, std::uint64_t buffer,
                              std::uint64_t bytes, std::uint64_t seed) {
  return differing(store, type, buffer, bytes, [seed](std::uint64_t i) { return pattern(seed, 0, i); });
}

void fill_gradient(memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                   std::uint64_t seed, int rank, int ranks) {
  const std::uint64_t unit = size_of(type);
  std::vector<std::byte> data(bytes);
  for (std::uint64_t at = 0; at + unit <= bytes; at += unit) {
    encode(type, addend(type, seed, rank, ranks, at / unit), &data[at]);
  }
  store.write(buffer, data.data(), bytes);
}

std::int64_t compare_scattered(const memory::BackingStore& store, ElementType type, std::uint64_t output,
                               collectives::Extent own, std::uint64_t seed, int ranks) {
  const std::uint64_t first = own.offset / size_of(type);
  return differing(store, type, output, own.bytes, [type, seed, first, ranks](std::uint64_t i) {
    std::uint32_t sum = 0;
    for (int r = 0; r < ranks; ++r) sum += addend(type, seed, r, ranks, first + i);
    return sum;
  });
}

void fill_parts(memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                std::uint64_t seed, int rank, int ranks) {
  const std::uint64_t unit = size_of(type);
  const std::uint64_t part = bytes / static_cast<std::uint64_t>(ranks) / unit;
  std::vector<std::byte> data(bytes);
  for (std::uint64_t i = 0; i < part * static_cast<std::uint64_t>(ranks); ++i) {
    encode(type, pattern(seed, rank, i), &data[i * unit]);
  }
  store.write(buffer, data.data(), bytes);
}

std::int64_t compare_parts(const memory::BackingStore& store, ElementType type, std::uint64_t buffer,
                           std::uint64_t bytes, std::uint64_t seed, int rank, int ranks) {
  const std::uint64_t unit = size_of(type);
  const std::uint64_t part = bytes / static_cast<std::uint64_t>(ranks) / unit;
  const std::uint64_t first = static_cast<std::uint64_t>(rank) * part;
  return differing(store, type, buffer, part * static_cast<std::uint64_t>(ranks) * unit,
                   [=](std::uint64_t i) { return pattern(seed, static_cast<int>(i / part), first + i % part); });
}

std::int64_t compare_sum(const memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                         std::uint64_t seed, std::span<const int> members, int ranks) {
  return differing(store, type, buffer, bytes, [=](std::uint64_t i) {
    std::uint32_t sum = 0;
    for (const int r : members) sum += addend(type, seed, r, ranks, i);
    return sum;
  });
}

}  // namespace weft::schedules::check
