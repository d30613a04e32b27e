// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "hw/core/fields.h"

namespace weft::accelerator {

/// Element types that copy engines and collectives add.
enum class ElementType : std::uint8_t { kFp32, kBf16, kInt32 };
inline EnumNames<ElementType> enum_names(ElementType /*tag*/) {
  return {{"fp32", ElementType::kFp32}, {"bf16", ElementType::kBf16}, {"int32", ElementType::kInt32}};
}

constexpr std::uint64_t size_of(ElementType type) {
  return type == ElementType::kBf16 ? 2 : 4;
}

/// out[i] = a[i] + b[i] over `bytes` bytes, a whole number of elements; out may be a or b. fp32 is IEEE 754 addition;
/// bf16 is widened, added and rounded to nearest even; int32 wraps.
void add(ElementType type, const std::byte* a, const std::byte* b, std::byte* out, std::uint64_t bytes);

}  // namespace weft::accelerator
