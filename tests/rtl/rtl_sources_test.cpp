// SPDX-License-Identifier: Apache-2.0
// Every file of hw/rtl passes Verilator's lint with all warnings, and Icarus compiles it. None may switch a warning
// off.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/rtl/simulators.h"

namespace weft::test {
namespace {

class RtlSources : public RtlTest {
 protected:
  static std::vector<std::filesystem::path> files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(rtl())) {
      if (entry.path().extension() == ".sv") files.push_back(entry.path());
    }
    EXPECT_GE(files.size(), 10U);
    return files;
  }
};

TEST_F(RtlSources, PassVerilatorsLint) {
  if (test::skips_without("verilator")) return;
  for (const auto& file : files()) {
    const Outcome outcome = shell("verilator --lint-only -Wall -y '" + rtl() + "' '" + file.string() + "'");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_EQ(outcome.text, "");
    std::ifstream source(file);
    const std::string text{std::istreambuf_iterator<char>(source), {}};
    EXPECT_EQ(text.find("lint_off"), std::string::npos) << file;
  }
}

TEST_F(RtlSources, AreCompiledByIcarus) {
  if (test::skips_without("iverilog")) return;
  for (const auto& file : files()) {
    const Outcome outcome =
        shell("iverilog -g2012 -Wall -y '" + rtl() + "' -Y .sv -o compiled '" + file.string() + "'");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_EQ(outcome.text, "");
  }
}

}  // namespace
}  // namespace weft::test
