// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "hw/core/element.h"
#include "hw/core/random.h"

namespace weft::test {

/// Bits of a floating-point format below its sign.
struct Format {
  int exponent = 8;
  int fraction = 23;

  [[nodiscard]] std::uint32_t top() const { return (1U << exponent) - 1; }
  [[nodiscard]] std::uint32_t mask() const { return (1U << fraction) - 1; }
  [[nodiscard]] std::uint32_t bits(bool sign, std::uint32_t biased, std::uint32_t part) const {
    return static_cast<std::uint32_t>(sign) << (exponent + fraction) | biased << fraction | (part & mask());
  }
  [[nodiscard]] std::uint32_t exponent_of(std::uint32_t bits) const { return bits >> fraction & top(); }
  [[nodiscard]] bool is_nan(std::uint32_t bits) const { return exponent_of(bits) == top() && (bits & mask()) != 0; }
  [[nodiscard]] bool is_infinite(std::uint32_t bits) const {
    return exponent_of(bits) == top() && (bits & mask()) == 0;
  }
  [[nodiscard]] bool is_zero(std::uint32_t bits) const { return (bits & (top() << fraction | mask())) == 0; }
  [[nodiscard]] bool is_subnormal(std::uint32_t bits) const { return exponent_of(bits) == 0 && !is_zero(bits); }
};
inline Format format_of(ElementType type) {
  if (type == ElementType::kBf16) return {8, 7};
  return type == ElementType::kFp16 ? Format{5, 10} : Format{8, 23};
}

/// Pairs of numbers of a type, where adders go wrong: special values, neighbouring exponents, cancellation, subnormal
/// numbers, ties, overflow, and any bits. For int32 any bits.
class ElementPairs {
 public:
  ElementPairs(ElementType type, std::uint64_t seed)
      : type_(type), format_(format_of(type)), random_(seed, "element pairs") {}

  struct Pair {
    std::uint32_t a;
    std::uint32_t b;
  };
  Pair next() {
    const std::uint64_t any = random_.next();
    const Pair bits = {static_cast<std::uint32_t>(any) & all(), static_cast<std::uint32_t>(any >> 32) & all()};
    if (type_ == ElementType::kInt32) return bits;
    const std::uint64_t more = random_.next();
    const bool sign = (more & 8) != 0;
    const bool other_sign = (more & 16) != 0;
    const auto choice = static_cast<std::uint32_t>(more >> 32);
    const std::uint32_t near_top = format_.top() - 1 - choice % 3;
    const std::uint32_t exponent = (more & 0xe0) == 0 ? near_top : choice % format_.top();
    const auto below = [&](std::uint32_t distance) { return exponent > distance ? exponent - distance : 0; };
    const auto reach = static_cast<std::uint32_t>(format_.fraction);
    Pair pair = bits;
    switch (more & 7) {
      case 0:
        return {special(choice), special(choice >> 8)};
      case 1:
        return {special(choice), bits.b};
      case 2:
      case 3:  // apart by no more than both have bits
        pair = {format_.bits(sign, exponent, bits.a),
                format_.bits(other_sign, below((choice >> 16) % (reach + 4)), bits.b)};
        break;
      case 4:  // nearly equal, of different signs
        pair = {format_.bits(sign, exponent, bits.a),
                format_.bits(!sign, below((choice >> 16) % 2), bits.a ^ (bits.b & (bits.b >> 7) & 0x1f))};
        break;
      case 5:
        pair = {format_.bits(sign, choice & 1, bits.a), format_.bits(other_sign, (choice >> 1) % 3, bits.b)};
        break;
      case 6: {  // the last bit of the smaller one is half of the larger one's last place
        const std::uint32_t distance = 1 + (choice >> 16) % (reach + 1);
        const std::uint32_t part =
            static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits.b) * 2 + 1) << (distance - 1));
        pair = {format_.bits(sign, exponent, bits.a), format_.bits(other_sign, below(distance), part)};
        break;
      }
      default:
        return bits;
    }
    return (more & 0x100) != 0 ? pair : Pair{pair.b, pair.a};
  }

 private:
  [[nodiscard]] std::uint32_t all() const { return size_of(type_) == 4 ? 0xffffffffU : 0xffffU; }
  [[nodiscard]] std::uint32_t special(std::uint32_t choice) const {
    const std::uint32_t top = format_.top();
    const std::uint32_t half = 1U << (format_.fraction - 1);
    const std::array<std::uint32_t, 16> values = {
        format_.bits(false, 0, 0),          format_.bits(false, 0, 1),
        format_.bits(false, 0, half),       format_.bits(false, 0, ~0U),
        format_.bits(false, 1, 0),          format_.bits(false, 1, 1),
        format_.bits(false, top / 2, 0),    format_.bits(false, top / 2, 1),
        format_.bits(false, top / 2, ~0U),  format_.bits(false, top - 1, ~0U),
        format_.bits(false, top, 0),        format_.bits(false, top, half),
        format_.bits(false, top, half + 5), format_.bits(false, top, 1),
        format_.bits(false, top, ~0U),      format_.bits(false, top - 1, ~0U << 1)};
    return values[choice & 15] | format_.bits((choice & 16) != 0, 0, 0);
  }

  ElementType type_;
  Format format_;
  Random random_;
};

}  // namespace weft::test
