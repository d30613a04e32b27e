// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <verilated.h>

#include <cstdint>

namespace weft::test {

/// 32 bits of a port of a verilated module, from bit 32 * word on: Verilator makes a port a class or an integer by its
/// width.
template <std::size_t kWords>
std::uint32_t word_of(const VlWide<kWords>& port, std::size_t word) {
  return port[word];
}
template <typename Port>
std::uint32_t word_of(const Port& port, std::size_t word) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(port) >> (32 * word));
}

template <std::size_t kWords>
void set_word(VlWide<kWords>& port, std::size_t word, std::uint32_t value) {
  port[word] = value;
}
template <typename Port>
void set_word(Port& port, std::size_t word, std::uint32_t value) {
  const std::uint64_t others = static_cast<std::uint64_t>(port) & ~(0xffffffffULL << (32 * word));
  port = static_cast<Port>(others | static_cast<std::uint64_t>(value) << (32 * word));
}

/// One clock of a module: inputs are set before, outputs are those before the edge until then.
template <typename Module>
void clock(Module& module) {
  module.clk = 1;
  module.eval();
  module.clk = 0;
  module.eval();
}

}  // namespace weft::test
