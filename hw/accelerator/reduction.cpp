// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/reduction.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace weft::accelerator {
namespace {

float widen(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // stays a NaN, and quiet
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T, typename Add>
void add_all(const std::byte* a, const std::byte* b, std::byte* out, std::uint64_t bytes, Add sum) {
  for (std::uint64_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T x;
    T y;
    std::memcpy(&x, a + at, sizeof(T));
    std::memcpy(&y, b + at, sizeof(T));
    const T z = sum(x, y);
    std::memcpy(out + at, &z, sizeof(T));
  }
}

}  // namespace

void add(ElementType type, const std::byte* a, const std::byte* b, std::byte* out, std::uint64_t bytes) {
  switch (type) {
    case ElementType::kFp32:
      return add_all<float>(a, b, out, bytes, [](float x, float y) { return x + y; });
    case ElementType::kBf16:
      return add_all<std::uint16_t>(a, b, out, bytes,
                                    [](std::uint16_t x, std::uint16_t y) { return narrow(widen(x) + widen(y)); });
    case ElementType::kInt32:
      return add_all<std::uint32_t>(a, b, out, bytes, [](std::uint32_t x, std::uint32_t y) { return x + y; });
  }
}

}  // namespace weft::accelerator
