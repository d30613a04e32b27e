// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace weft::dram {

/// Calls `visit` with the number of each bit that is set.
template <typename Visit>
void for_each_bit(std::uint64_t bits, Visit&& visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<std::uint8_t>(std::countr_zero(bits)));
}

}  // namespace weft::dram
