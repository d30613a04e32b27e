// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/os.h>

#include <cstdint>
#include <initializer_list>
#include <string>

namespace weft::test {

/// Ports as tests/rtl/play_tb.sv has them: the first one highest, as in a concatenation of Verilog. 64 bits at most.
struct Port {
  std::uint64_t value;
  int width;
  bool means_something = true;  ///< of an output
};

/// Writes the inputs and outputs of each cycle for play_tb.sv.
class Recorder {
 public:
  explicit Recorder(const std::string& file) : file_(fmt::output_file(file)) {}

  void cycle(std::initializer_list<Port> inputs, std::initializer_list<Port> outputs) {
    std::uint64_t mask = 0;
    for (const Port& port : outputs) mask = mask << port.width | (port.means_something ? ones(port) : 0);
    file_.print("{:x} {:x} {:x}\n", joined(inputs), joined(outputs), mask);
    ++cycles_;
  }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

 private:
  static std::uint64_t ones(const Port& port) { return ~0ULL >> (64 - port.width); }
  static std::uint64_t joined(std::initializer_list<Port> ports) {
    std::uint64_t all = 0;
    for (const Port& port : ports) all = all << port.width | (port.value & ones(port));
    return all;
  }

  fmt::ostream file_;
  std::uint64_t cycles_ = 0;
};

}  // namespace weft::test
