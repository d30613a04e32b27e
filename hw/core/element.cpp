// SPDX-License-Identifier: Apache-2.0
#include "hw/core/element.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace weft {
namespace {

float widen(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Which operand's NaN an addition passes on depends on the processor, and on the order that the compiler chose.
float sum_of(float a, float b) {
  const float sum = a + b;
  return std::isnan(sum) ? std::bit_cast<float>(0x7fc00000U) : sum;
}

/// Of what sum_of gave: its NaN stays one.
std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T, std::size_t kCount, typename Add>
void add_block(const std::byte* a, const std::byte* b, std::byte* out, Add sum) {
  std::array<T, kCount> x;
  std::array<T, kCount> y;
  std::memcpy(x.data(), a, sizeof x);
  std::memcpy(y.data(), b, sizeof y);
  for (std::size_t i = 0; i < kCount; ++i) x[i] = sum(x[i], y[i]);
  std::memcpy(out, x.data(), sizeof x);
}

/// Most in blocks of known length, which compilers make vector code of.
template <typename T, typename Add>
void add_all(const std::byte* a, const std::byte* b, std::byte* out, std::uint64_t bytes, Add sum) {
  constexpr std::uint64_t kBlock = 64;
  std::uint64_t at = 0;
  for (; at + kBlock <= bytes; at += kBlock) add_block<T, kBlock / sizeof(T)>(a + at, b + at, out + at, sum);
  for (; at + sizeof(T) <= bytes; at += sizeof(T)) add_block<T, 1>(a + at, b + at, out + at, sum);
}

}  // namespace

std::uint16_t to_bf16(float value) {
  if (!std::isnan(value)) return narrow(value);
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16 | 0x40U);
}

float from_bf16(std::uint16_t half) {
  return widen(half);
}

float from_fp16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fU;
  const std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
  // A normal number has another bias; a subnormal one is a multiple of 2^-24.
  const float magnitude = exponent != 0 ? std::bit_cast<float>((exponent + 112) << 23 | fraction << 13)
                                        : static_cast<float>(fraction) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U | (bits >> 13 & 0x1ffU));
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to infinity
  if (magnitude < 0x1p-14F) {
    // Subnormal: to a whole number of 2^-24, which the addition of 2^23 rounds to even.
    const float rounded = magnitude * 0x1p24F + 0x1p23F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) & 0x7fffU));
  }
  const std::uint32_t absolute = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t rounded = absolute + 0xfffU + (absolute >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

void add(ElementType type, const std::byte* a, const std::byte* b, std::byte* out, std::uint64_t bytes) {
  switch (type) {
    case ElementType::kFp32:
      return add_all<float>(a, b, out, bytes, [](float x, float y) { return sum_of(x, y); });
    case ElementType::kBf16:
      return add_all<std::uint16_t>(
          a, b, out, bytes, [](std::uint16_t x, std::uint16_t y) { return narrow(sum_of(widen(x), widen(y))); });
    case ElementType::kFp16:
      return add_all<std::uint16_t>(a, b, out, bytes, [](std::uint16_t x, std::uint16_t y) {
        return to_fp16(sum_of(from_fp16(x), from_fp16(y)));
      });
    case ElementType::kInt32:
      return add_all<std::uint32_t>(a, b, out, bytes, [](std::uint32_t x, std::uint32_t y) { return x + y; });
  }
}

}  // namespace weft
