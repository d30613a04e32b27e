// SPDX-License-Identifier: Apache-2.0
// weft vcd. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

/// Items of 8 bits, one every second cycle, in a scope; `wrong` is the number of one that differs.
std::string waveform(const std::string& scope, int wrong = -1) {
  std::string text = "$version of a test $end\n$timescale 1ns $end\n$scope module " + scope + " $end\n" +
                     "$var wire 1 ! clk $end\n$var wire 1 # valid $end\n$var wire 8 % data [7:0] $end\n" +
                     "$upscope $end\n$enddefinitions $end\n#0\n$dumpvars\n0!\n0#\nbx %\n$end\n";
  for (int i = 0; i < 20; ++i) {
    text += "#" + std::to_string(10 * i + 5) + "\n1!\n" + (i % 2 == 0 ? "1#\n" : "0#\n");
    if (i % 2 == 0) text += i / 2 == wrong ? "b1111 %\n" : i % 4 == 0 ? "b1 %\n" : "b10 %\n";
    text += "#" + std::to_string(10 * i + 10) + "\n0!\n";
  }
  return text;
}

class VcdCliTest : public CliTest {
 protected:
  VcdCliTest() {
    write("a.vcd", waveform("tb"));
    write("b.vcd", waveform("top"));
    write("bad.vcd", waveform("tb", 6));
  }
  static constexpr const char* kInterface = " --clock tb.clk --valid tb.valid --data tb.data ";
};

TEST_F(VcdCliTest, ComparesWaveforms) {
  const std::string interface = kInterface;
  const Ran same = weft("vcd compare ../a.vcd ../b.vcd --tolerance 0 --map 'tb.*=top.*'" + interface);
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_TRUE(same.out.starts_with("same: 10 transactions\n")) << same.out;
  EXPECT_TRUE(nothing_written());

  const Ran differ = weft("vcd compare ../a.vcd ../bad.vcd" + interface);
  EXPECT_EQ(differ.code, 1) << differ.err;
  for (const char* part : {"different: 1 of 10 transactions", "first divergence, 6: tb.data", "data 0x01", "data 0x0f",
                           ">      6  cycle 13, time 135 x 1ns"}) {
    EXPECT_NE(differ.out.find(part), std::string::npos) << part << "\n" << differ.out;
  }
  const Ran as_json = weft("vcd compare ../a.vcd ../bad.vcd --json" + interface);
  EXPECT_EQ(as_json.code, 1);
  const json result = json::parse(as_json.out);
  EXPECT_EQ(result["same"], false);
  EXPECT_EQ(result["first"]["index"], 6);
  EXPECT_EQ(result["first"]["found"]["values"]["tb.data"], "00001111");

  const Ran edges = weft("vcd compare ../a.vcd ../bad.vcd --clock tb.clk --signals 'tb.*' --json");
  EXPECT_EQ(edges.code, 1);
  EXPECT_EQ(json::parse(edges.out)["first"]["what"], "tb.data");
  EXPECT_EQ(json::parse(edges.out)["different"], 2);
}

TEST_F(VcdCliTest, SaysWhatAWaveformHas) {
  const Ran text = weft("vcd info ../a.vcd");
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* part :
       {"of a test", "1ns", "0 to 200", "3 of 3 nets", "tb.clk", "40 changes", "tb.data[7:0]", "MB/s"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  const Ran as_json = weft("vcd info ../a.vcd --json");
  const json result = json::parse(as_json.out);
  EXPECT_EQ(result["timescale"], "1ns");
  EXPECT_EQ(result["last_time"], 200);
  EXPECT_EQ(result["signals"][2]["changes"], 10);
}

TEST_F(VcdCliTest, RefusesBadInput) {
  write("text.vcd", "hello\n");
  write("value.vcd", waveform("tb") + "b2 %\n");
  const std::vector<BadInput> cases = {
      {"no subcommand", "vcd", {"subcommand"}},
      {"no file", "vcd info nofile.vcd", {"nofile.vcd: expected a VCD file"}},
      {"no waveform", "vcd info ../text.vcd", {"../text.vcd:1: expected a keyword such as $var", "hello"}},
      {"bad value", "vcd info ../value.vcd", {"../value.vcd:125: expected bits of 0, 1, x and z for tb.data", "\"2\""}},
      {"no clock", "vcd compare ../a.vcd ../b.vcd --valid tb.valid", {"--clock"}},
      {"nothing to compare", "vcd compare ../a.vcd ../b.vcd --clock tb.clk", {"expected the valid of an interface"}},
      {"no such signal",
       "vcd compare ../a.vcd ../a.vcd --clock tb.c --valid tb.valid",
       {"../a.vcd: expected a signal \"tb.c\""}},
      {"not mapped",
       "vcd compare ../a.vcd ../b.vcd --clock tb.clk --valid tb.valid",
       {"../b.vcd: expected a signal \"tb.clk\""}},
      {"no map",
       "vcd compare ../a.vcd ../b.vcd --clock tb.clk --valid tb.valid --map tb",
       {"--map: expected FROM=TO", "\"tb\""}},
      {"no input",
       "vcd compare ../a.vcd ../a.vcd --clock tb.clk --valid tb.valid --input-id tb.data",
       {"expected --input-valid"}},
      {"signals and interface",
       "vcd compare ../a.vcd ../a.vcd --clock tb.clk --data tb.data --signals 'tb.*'",
       {"--signals: expected no signals of an interface"}},
      {"signals and tolerance",
       "vcd compare ../a.vcd ../a.vcd --clock tb.clk --signals 'tb.*' --tolerance 1",
       {"vcd compare: expected no tolerance"}},
      {"unknown unknowns",
       "vcd compare ../a.vcd ../a.vcd --clock tb.clk --valid tb.valid --unknowns maybe",
       {"--unknowns"}},
      {"tolerance below 0",
       "vcd compare ../a.vcd ../a.vcd --clock tb.clk --valid tb.valid --tolerance -1",
       {"--tolerance"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

}  // namespace
}  // namespace weft
