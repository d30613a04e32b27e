// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/programs.h"
#include "tests/support/vcd.h"

namespace weft::test {

/// Runs the simulators of hw/rtl, in a folder of its own for each test.
class RtlTest : public VcdTest {
 protected:
  struct Outcome {
    int status = 0;
    std::string text;  ///< stdout and stderr
  };
  /// A shell command in the test's folder.
  [[nodiscard]] Outcome shell(const std::string& command) const {
    const int status = std::system(("cd '" + folder_.string() + "' && (" + command + ") >log 2>&1").c_str());
    std::ifstream log(folder_ / "log");
    std::ostringstream text;
    text << log.rdbuf();
    return {status, text.str()};
  }
  /// Compiles a test bench (in tests/rtl) with the modules of hw/rtl that it needs, for `vvp NAME`.
  void icarus(const std::string& name, const std::string& sources, const std::string& options = "") const {
    const Outcome outcome = shell("iverilog -g2012 -Wall -Wno-timescale -y '" + rtl() + "' -Y .sv " + options + " -o " +
                                  name + " " + sources);
    ASSERT_EQ(outcome.status, 0) << outcome.text;
  }

  /// Compares the recorded cycles with what Icarus makes of the inputs. `dut` is a file of tests/rtl/play.
  void play(const std::string& dut, const std::string& cycles_file, std::uint64_t cycles) const {
    if (skips_without("iverilog")) return;
    icarus("tb", bench("play_tb.sv") + " " + bench("play/" + dut));
    const Outcome outcome = shell("vvp -N tb +cycles=" + cycles_file);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("done: " + std::to_string(cycles) + " cycles\n"), std::string::npos) << outcome.text;
  }

  static std::string bench(const std::string& name) { return "'" WEFT_SOURCE_DIR "/tests/rtl/" + name + "'"; }
  static std::string rtl() { return WEFT_SOURCE_DIR "/hw/rtl"; }
};

}  // namespace weft::test
