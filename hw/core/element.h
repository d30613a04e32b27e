// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "hw/core/fields.h"

namespace weft {

/// Element types that copy engines, switches and collectives add.
enum class ElementType : std::uint8_t { kFp32, kBf16, kInt32, kFp16 };
inline EnumNames<ElementType> enum_names(ElementType /*tag*/) {
  return {{"fp32", ElementType::kFp32},
          {"bf16", ElementType::kBf16},
          {"int32", ElementType::kInt32},
          {"fp16", ElementType::kFp16}};
}

constexpr std::uint64_t size_of(ElementType type) {
  return type == ElementType::kBf16 || type == ElementType::kFp16 ? 2 : 4;
}

/// out[i] = a[i] + b[i] over `bytes` bytes, a whole number of elements; out may be a or b. fp32 is IEEE 754 addition;
/// bf16 and fp16 are widened, added and rounded to nearest even once; int32 wraps. A sum that is not a number is the
/// positive quiet NaN without payload (7fc00000, 7fc0, 7e00), whatever NaN an operand was, on every processor. The
/// hardware for it is hw/rtl/fp_add.sv.
void add(ElementType type, const std::byte* a, const std::byte* b, std::byte* out, std::uint64_t bytes);

/// A number as the fp16 (IEEE 754 binary16) next to it, ties to even, and the other way.
std::uint16_t to_fp16(float value);
float from_fp16(std::uint16_t half);
/// The same of bf16.
std::uint16_t to_bf16(float value);
float from_bf16(std::uint16_t half);

}  // namespace weft
