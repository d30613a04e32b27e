// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/compressed/numbers.h"

#include <cstring>

namespace weft::collectives {

using firmware::Floats;

Floats numbers_of(std::span<const std::byte> elements, ElementType type, bool exact) {
  Floats numbers(elements.size() / size_of(type));
  if (size_of(type) == sizeof(float)) {
    if (!numbers.empty()) std::memcpy(numbers.data(), elements.data(), numbers.size() * sizeof(float));
    return numbers;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, elements.data() + i * sizeof half, sizeof half);
    // The bits of bf16 are the upper ones of its value.
    const std::uint32_t word = static_cast<std::uint32_t>(half) << 16;
    if (exact || type == ElementType::kBf16) {
      std::memcpy(&numbers[i], &word, sizeof word);
    } else {
      numbers[i] = from_fp16(half);
    }
  }
  return numbers;
}

std::vector<std::byte> elements_of(const Floats& numbers, ElementType type, bool exact) {
  std::vector<std::byte> elements(numbers.size() * size_of(type));
  if (size_of(type) == sizeof(float)) {
    if (!numbers.empty()) std::memcpy(elements.data(), numbers.data(), elements.size());
    return elements;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, &numbers[i], sizeof word);
    auto half = static_cast<std::uint16_t>(word >> 16);
    if (!exact) half = type == ElementType::kBf16 ? to_bf16(numbers[i]) : to_fp16(numbers[i]);
    std::memcpy(elements.data() + i * sizeof half, &half, sizeof half);
  }
  return elements;
}

}  // namespace weft::collectives
