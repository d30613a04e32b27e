// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hw/core/element.h"
#include "hw/memory/backing_store.h"

/// Contents for buffers of which sums are compared bit for bit.
namespace weft::collectives {

/// Element `index` of rank `rank`: a whole number from 0 to 15.
inline std::uint32_t pattern(std::uint64_t seed, int rank, std::uint64_t index) {
  std::uint64_t z = seed + static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15ULL + index * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 29)) * 0x94d049bb133111ebULL;
  return static_cast<std::uint32_t>(z >> 60);
}

/// The same of what `ranks` ranks add up: 0 at all but so many of them that a sum is exact in `type`, in whatever order
/// it is formed. Which ones these are differs from element to element.
inline std::uint32_t addend(ElementType type, std::uint64_t seed, int rank, int ranks, std::uint64_t index) {
  // Whole numbers to which a type has all: 8 bits of bf16 and 11 of fp16.
  const std::uint64_t exact = type == ElementType::kBf16 ? 256 : type == ElementType::kFp16 ? 2048 : 1 << 24;
  const std::uint64_t most = exact / 15;
  const auto all = static_cast<std::uint64_t>(ranks);
  if (all > most && (static_cast<std::uint64_t>(rank) + index * 7) % all >= most) return 0;
  return pattern(seed, rank, index);
}

/// Bytes that are no elements: of each, what pattern() says.
inline std::vector<std::byte> pattern_bytes(std::uint64_t seed, int rank, std::uint64_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(pattern(seed, rank, i));
  return data;
}

/// How many bytes of a memory differ from `right`.
inline std::int64_t differing(const memory::BackingStore& store, std::uint64_t address,
                              const std::vector<std::byte>& right) {
  std::vector<std::byte> data(right.size());
  store.read(address, data.data(), data.size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != right[i] ? 1 : 0;
  return wrong;
}

/// Writes a whole number as an element.
inline void encode(ElementType type, std::uint32_t value, std::byte* out) {
  const auto real = static_cast<float>(value);
  switch (type) {
    case ElementType::kInt32:
      std::memcpy(out, &value, 4);
      break;
    case ElementType::kFp32:
      std::memcpy(out, &real, 4);
      break;
    case ElementType::kFp16: {
      const std::uint16_t half = to_fp16(real);
      std::memcpy(out, &half, 2);
      break;
    }
    case ElementType::kBf16: {
      const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(real) >> 16);
      std::memcpy(out, &bits, 2);
      break;
    }
  }
}

/// How many of the whole elements in `bytes` bytes of a memory differ from what `value` says of each, by its index.
template <typename Value>
std::int64_t differing(const memory::BackingStore& store, ElementType type, std::uint64_t address, std::uint64_t bytes,
                       const Value& value) {
  const std::uint64_t unit = size_of(type);
  std::vector<std::byte> actual(bytes);
  std::vector<std::byte> expected(unit);
  store.read(address, actual.data(), bytes);
  std::int64_t wrong = 0;
  for (std::uint64_t at = 0; at + unit <= bytes; at += unit) {
    encode(type, value(at / unit), expected.data());
    if (std::memcmp(expected.data(), &actual[at], unit) != 0) ++wrong;
  }
  return wrong;
}

}  // namespace weft::collectives
