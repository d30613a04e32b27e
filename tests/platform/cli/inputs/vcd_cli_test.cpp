// SPDX-License-Identifier: Apache-2.0
// weft vcd. Runs the binary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/shared.h"

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

/// Many signals, wide ones among them, of which two differ.
std::string many(int signals, bool differ) {
  std::string text = "$timescale 1ns $end\n$scope module tb $end\n$var wire 1 ! clk $end\n";
  for (int i = 0; i < signals; ++i) text += fmt::format("$var wire 512 s{0} q{0} [511:0] $end\n", i);
  text += "$upscope $end\n$enddefinitions $end\n";
  for (int edge = 0; edge < 20; ++edge) {
    text += fmt::format("#{}\n0!\n", 10 * edge);
    for (int i = 0; i < signals; ++i) {
      const bool wrong = differ && edge >= 7 && (i == 150 || i == 160);
      text += fmt::format("b1{:0300b} s{}\n", 1000 * edge + i + (wrong ? 1 << 20 : 0), i);
    }
    text += fmt::format("#{}\n1!\n", 10 * edge + 5);
  }
  return text;
}

TEST_F(VcdCliTest, ReportsStayAScreenLong) {
  write("many.vcd", many(300, false));
  write("wrong.vcd", many(300, true));
  const std::string compare = "vcd compare ../many.vcd ../wrong.vcd --clock tb.clk --signals '*'";
  const Ran ran = weft(compare);
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_LE(std::count(ran.out.begin(), ran.out.end(), '\n'), 24) << ran.out;
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 200U) << line;
  for (const char* part : {"different: 13 of 20 edges", "2 of 301 signals differ: tb.q150 (13), tb.q160 (13)",
                           "first divergence, 7: tb.q150", "cycle 7, time 75 x 1ns, q150 ...", ", q160 ...",
                           "2 of 301 signals shown: --context-signals 301 shows more"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
  }
  // What differs is within what is shown of a wide value.
  const auto digits = [&](const std::string& text, std::size_t from) {
    const std::size_t at = text.find(">      7", from);
    const std::size_t value = text.find("q150 ", at);
    return text.substr(value, text.find(',', value) - value);
  };
  EXPECT_NE(digits(ran.out, 0), digits(ran.out, ran.out.find(">      7") + 1));
  const Ran all = weft(compare + " --context-signals 301 --context 0");
  EXPECT_NE(all.out.find("q299"), std::string::npos);
  EXPECT_EQ(all.out.find("   8  cycle"), std::string::npos);
  const json result = json::parse(weft(compare + " --json").out);
  EXPECT_EQ(result["different_signals"], json::parse(R"({"tb.q150": 13, "tb.q160": 13})"));
  EXPECT_EQ(result["first"]["expected"]["values"].size(), 301U);

  const Ran info = weft("vcd info ../many.vcd");
  EXPECT_LE(std::count(info.out.begin(), info.out.end(), '\n'), 24) << info.out;
  EXPECT_NE(info.out.find("291 more signals, with fewer changes or of the same nets: --signals '*' lists all"),
            std::string::npos)
      << info.out;
  const Ran listed = weft("vcd info ../many.vcd --signals 'tb.q15*'");
  EXPECT_EQ(std::count(listed.out.begin(), listed.out.end(), '['), 11) << listed.out;
  EXPECT_NE(weft("vcd info ../many.vcd --signals tb.q1500").err.find("\"tb.q150\""), std::string::npos);
}

/// Control characters of an input do not act on the terminal.
TEST_F(VcdCliTest, PrintsNoControlCharacters) {
  const std::string name = "da\x1b[31mta\x07\xc2\x9b\x9b";
  std::string text = waveform("tb");
  text.replace(text.find("data"), 4, name);
  write("escape.vcd", text);
  const auto clean = [](const Ran& ran) {
    const std::string all = ran.out + ran.err;
    return all.find('\x1b') == std::string::npos && all.find('\x07') == std::string::npos &&
           all.find('\x9b') == std::string::npos;
  };
  EXPECT_TRUE(clean(weft("vcd info ../escape.vcd")));
  EXPECT_TRUE(clean(weft("vcd info ../escape.vcd --json")));
  EXPECT_TRUE(clean(weft("vcd compare ../escape.vcd ../escape.vcd --clock tb.clk --signals '*' --offset 1")));
  EXPECT_TRUE(clean(weft("vcd compare ../escape.vcd ../escape.vcd --clock tb.clk --valid tb.date")));
  write("latin.vcd", "$comment \xe4 $end $var wire 1 ! m\xe4rz $end $enddefinitions $end #0 0! #5 1!\n");
  EXPECT_EQ(weft("vcd info ../latin.vcd --json").code, 0);
}

TEST_F(VcdCliTest, ReadsStandardInputAndGzip) {
  const std::string interface = kInterface;
  EXPECT_EQ(weft("vcd compare ../a.vcd -" + interface + "<../a.vcd").code, 0);
  EXPECT_EQ(weft("vcd compare - ../bad.vcd" + interface + "<../a.vcd").code, 1);
  EXPECT_NE(weft("vcd compare - -" + interface).err.find("expected standard input for one of the files"),
            std::string::npos);
  ASSERT_EQ(std::system(("gzip -k " + (folder_ / "a.vcd").string()).c_str()), 0);
  EXPECT_EQ(weft("vcd compare ../a.vcd ../a.vcd.gz" + interface).code, 0);
  EXPECT_EQ(weft("vcd info - <../a.vcd.gz").code, 0);
}

/// A test bench whose unit of time is a second, as a simulator takes it where nothing says another.
TEST_F(VcdCliTest, CalibratesOnlyWithAClock) {
  std::string text =
      "$timescale 1s $end\n$scope module tb $end\n$var wire 1 ! clk $end\n$var wire 1 # v $end\n"
      "$var wire 8 % d [7:0] $end\n$var wire 1 & w $end\n$upscope $end\n$enddefinitions $end\n";
  write("none.vcd", text);
  expect_refused({"no values",
                  "vcd calibrate ../none.vcd --clock tb.clk --input valid=tb.v,data=tb.d --output valid=tb.w",
                  {"../none.vcd: expected at least two edges of the clock"}});
  for (int i = 0; i < 12; ++i) text += fmt::format("#{}\n0!\n1#\n1&\nb{:b} %\n#{}\n1!\n", 2 * i, i, 2 * i + 1);
  write("second.vcd", text);
  const std::string calibrate =
      "vcd calibrate ../second.vcd --clock tb.clk --input valid=tb.v,data=tb.d --output valid=tb.w";
  expect_refused({"no clock",
                  (calibrate + " --out x.json").c_str(),
                  {"--frequency: expected the clock that the block will have, 1MHz to 100GHz, such as 1GHz",
                   "that of ../second.vcd is 1Hz"}});
  const Ran given = weft(calibrate + " --frequency 1GHz --json");
  EXPECT_NE(given.code, 2) << given.err;
  EXPECT_EQ(json::parse(given.out)["clock"], "1GHz");
}

/// A file of another simulator has other scopes.
TEST_F(VcdCliTest, CalibrationsAreCheckedByFilesWithOtherNames) {
  const auto bench = [](const std::string& scope) {
    std::string text = "$timescale 1ns $end\n" + scope +
                       "$var wire 1 ! clk $end\n$var wire 1 # v $end\n$var wire 8 % d [7:0] $end\n"
                       "$var wire 1 & w $end\n$upscope $end\n$enddefinitions $end\n";
    for (int i = 0; i < 12; ++i) text += fmt::format("#{}\n0!\n1#\n1&\nb{:b} %\n#{}\n1!\n", 2 * i, i, 2 * i + 1);
    return text;
  };
  write("icarus.vcd", bench("$scope module tb $end\n"));
  write("verilator.vcd", bench("$scope module TOP $end\n$scope module tb $end\n"));
  const std::string calibrate =
      "vcd calibrate ../icarus.vcd --clock tb.clk --input valid=tb.v,data=tb.d --output valid=tb.w ";
  const std::string check = calibrate + "--check ../verilator.vcd ";
  expect_refused(
      {"no map", check.c_str(), {"../verilator.vcd: expected a signal \"tb.clk\"; did you mean \"TOP.tb.clk"}});
  const Ran mapped = weft(check + "--map 'tb.*=TOP.tb.*' --json");
  ASSERT_NE(mapped.out, "") << mapped.err;
  const json residual = json::parse(mapped.out)["residual"];
  ASSERT_EQ(residual.size(), 2U);
  EXPECT_EQ(residual[0]["transactions"], residual[1]["transactions"]);
  EXPECT_EQ(residual[0]["mean"], residual[1]["mean"]);
  EXPECT_EQ(mapped.err, "");
  EXPECT_NE(weft(check + "--map 'tb.*=TOP.tb.*' --map a=b").err.find("the map a=b has no effect"), std::string::npos);
  expect_refused({"nothing to check", (calibrate + "--map a=b").c_str(), {"--map: expected --check too"}});
  expect_refused({"no rule", (check + "--map a").c_str(), {"--map: expected FROM=TO, such as"}});
}

/// Files that other tools wrote, each read as these read it.
/// What lies beyond the width of the first input has no place in a lane, and a number beyond 64 bits has none anywhere.
TEST_F(VcdCliTest, ReplaysInputsOfOneWidth) {
  const auto port = [](const std::string& name, int data, int id, int kind) {
    return fmt::format(
        "$var wire 1 {0}v {0}valid $end\n$var wire {1} {0}d {0}data $end\n$var wire {2} {0}i {0}id $end\n"
        "$var wire {3} {0}k {0}kind $end\n",
        name, data, id, kind);
  };
  const auto replay = [&](int data, int id, const std::string& bits, int kind, const std::string& type) {
    std::string text = "$timescale 1ns $end\n$scope module tb $end\n$var wire 1 ! clk $end\n" +
                       port("a_", 32, id, kind) + port("b_", data, id, kind) +
                       "$upscope $end\n$enddefinitions $end\n#0 0! 0a_v 0b_v\n";
    for (int edge = 1; edge <= 6; ++edge) {
      text += fmt::format("#{} 1!\n#{} 0!\n", 10 * edge - 5, 10 * edge);
      if (edge == 1) {
        text += fmt::format("1a_v 1b_v b101 a_d b1{0} b_d b{1} a_i b{1} b_i b{2} a_k b{2} b_k\n",
                            std::string(static_cast<std::size_t>(data) - 1, '0'), bits, type);
      }
      if (edge == 2) text += "0a_v 0b_v\n";
    }
    write("lane.vcd", text);
    return weft("vcd replay ../lane.vcd --clock tb.clk --input tb.a_ --input tb.b_ --stimulus ../beats.txt");
  };
  const Ran good = replay(32, 64, std::string(64, '1'), 2, "1");
  EXPECT_EQ(good.code, 0) << good.err;
  for (const auto& [ran, message] :
       {std::pair(replay(4096, 4, "0", 2, "1"), "expected 32 bits of data at input 1, as at the first, got 4096"),
        {replay(32, 70, "1" + std::string(69, '0'), 2, "1"), "expected a known id of at most 64 bits, got \"1000"},
        {replay(32, 4, "0", 70, "1" + std::string(69, '0')), "expected a known kind of elements of at most 64 bits"}}) {
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  }
}

TEST_F(VcdCliTest, ReadsTheFilesOfUsers) {
  if (test::skips_without_shared("cases", "vcd_dialects_test and vcd_input_test write files of these kinds")) return;
  const std::filesystem::path cases = test::shared("cases");
  const std::string interface = kInterface;
  const auto expect_same = [&](const std::string& a, const std::string& b) {
    for (const auto& [reference, subject] : {std::pair(a, b), std::pair(b, a)}) {
      const Ran ran =
          weft("vcd compare " + (cases / reference).string() + " " + (cases / subject).string() + interface);
      EXPECT_EQ(ran.code, 0) << subject << ran.out << ran.err;
      EXPECT_TRUE(ran.out.starts_with("same: 2 transactions\n")) << subject << ran.out;
    }
  };
  expect_same("07/base.vcd", "07/zero.vcd");
  expect_same("07/base.vcd", "07/zeroreal.vcd");
  expect_same("08/whole.vcd", "08/blast.vcd");
  for (const char* dialect : {"myhdl", "zb", "ts244", "frac", "backward", "space", "tsglue"}) {
    expect_same("09/base.vcd", "09/" + std::string(dialect) + ".vcd");
  }
  EXPECT_EQ(weft("vcd info " + (cases / "06/a.vcd.gz").string()).code, 0);
  const json open = json::parse(weft("vcd info " + (cases / "18/unclosed.vcd").string() + " --json").out);
  EXPECT_EQ(open["signals"][0]["changes"], 5);
  EXPECT_EQ(open["signals"][1]["changes"], 1);
  EXPECT_EQ(open["signals"][2]["changes"], 2);
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
       {"../b.vcd: expected a signal \"tb.clk\"; did you mean \"top.clk\"?"}},
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
