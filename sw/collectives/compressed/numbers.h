// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hw/core/element.h"
#include "sw/firmware/contents.h"

/// Elements of memory as the float32 that codecs take, and back.
namespace weft::collectives {

/// `exact`: the bits of elements, whatever they mean, 16 of them as the upper ones; else their values.
[[nodiscard]] firmware::Floats numbers_of(std::span<const std::byte> elements, ElementType type, bool exact);
/// Rounded to nearest even where they are values.
[[nodiscard]] std::vector<std::byte> elements_of(const firmware::Floats& numbers, ElementType type, bool exact);

[[nodiscard]] inline std::vector<std::byte> bytes_from(const firmware::Rank& rank, std::uint64_t address,
                                                       std::uint64_t bytes) {
  std::vector<std::byte> read(bytes);
  firmware::load_into(rank, address, std::span(read));
  return read;
}

}  // namespace weft::collectives
