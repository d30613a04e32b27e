// SPDX-License-Identifier: Apache-2.0
// What writers of waveforms write beyond the standard: vectors in bits, odd declarations, names that several have.
#include <gtest/gtest.h>

#include "tests/support/vcd.h"
#include "traces/vcd/compare.h"
#include "traces/vcd/names.h"
#include "traces/vcd/sampler.h"

namespace weft::vcd {
namespace {

using Lines = std::vector<std::string>;

/// A clock that rises at 5 and 15, a valid that stays, and a value of three bits, 1 and then 2.
constexpr const char* kEnd = "$upscope $end\n$enddefinitions $end\n";
std::string bench(const std::string& variables, const std::string& first, const std::string& second) {
  return "$timescale 1ns $end\n$scope module tb $end\n$var wire 1 ! clk $end\n$var wire 1 \" valid $end\n" + variables +
         kEnd + "#0\n0!\n1\"\n" + first + "#5\n1!\n#10\n0!\n" + second + "#15\n1!\n#20\n0!\n";
}

class VcdDialects : public test::VcdTest {
 protected:
  CompareOptions transactions(const std::string& reference, const std::string& subject,
                              const std::string& data = "tb.data") const {
    CompareOptions options;
    options.reference = folder_ / reference;
    options.subject = folder_ / subject;
    options.sampling.clock = "tb.clk";
    options.interface.valid = "tb.valid";
    options.interface.data = {data};
    return options;
  }
  std::string why_not(const CompareOptions& options) const {
    try {
      return compare(options).text();
    } catch (const traces::FormatError& error) {
      const std::string what = error.what();
      return what.starts_with(folder_.string()) ? what.substr(folder_.string().size() + 1) : what;
    }
  }
  void expect_same(const std::string& reference, const std::string& subject,
                   const std::string& data = "tb.data") const {
    const CompareOptions options = transactions(reference, subject, data);
    const std::string text = why_not(options);
    EXPECT_TRUE(text.starts_with("same: 2 transactions")) << reference << " " << subject << ": " << text;
  }
  /// What a name is sampled as at both edges, or why it is not.
  Lines sampled(const std::string& file, const std::string& name) const {
    Lines values;
    try {
      Sampler sampler(folder_ / file, {"tb.clk", "", false}, {name});
      while (sampler.next()) values.emplace_back(sampler.value(0));
    } catch (const traces::FormatError& error) {
      const std::string what = error.what();
      values.push_back(what.substr(what.find(": ") + 2));
    }
    return values;
  }
};

TEST_F(VcdDialects, VectorsInBitsAreVectors) {
  write("whole.vcd", bench("$var reg 3 # data [2:0] $end\n", "b1 #\n", "b10 #\n"));
  const std::string one = "0#\n0$\n1%\n";
  const std::string two = "1$\n0%\n";
  // With a blank, without one, in a mixed order, with an alias of each bit, and repeated.
  write("blank.vcd",
        bench("$var wire 1 # data [2] $end\n$var wire 1 $ data [1] $end\n$var wire 1 % data [0] $end\n", one, two));
  write("glued.vcd",
        bench("$var wire 1 # data[2] $end\n$var wire 1 $ data[1] $end\n$var wire 1 % data[0] $end\n", one, two));
  write("mixed.vcd",
        bench("$var wire 1 $ data [1] $end\n$var wire 1 # data [2] $end\n$var wire 1 % data [0] $end\n", one, two));
  write("alias.vcd", bench("$scope module dut $end\n$var wire 1 # d [2] $end\n$var wire 1 $ d [1] $end\n"
                           "$var wire 1 % d [0] $end\n$upscope $end\n$var wire 1 # data [2] $end\n"
                           "$var wire 1 $ data [1] $end\n$var wire 1 % data [0] $end\n$var wire 1 $ data [1] $end\n",
                           one, two));
  write("halves.vcd",
        bench("$var wire 2 # data [2:1] $end\n$var wire 1 % data [0] $end\n", "b0 #\n1%\n", "b1 #\n0%\n"));
  write("vhdl.vcd",
        bench("$var wire 1 # data(2) $end\n$var wire 1 $ data(1) $end\n$var wire 1 % data(0) $end\n", one, two));
  EXPECT_EQ(sampled("vhdl.vcd", "tb.data(1 downto 0)"), (Lines{"01", "10"}));
  for (const char* file : {"blank.vcd", "glued.vcd", "mixed.vcd", "alias.vcd", "halves.vcd", "vhdl.vcd"}) {
    expect_same("whole.vcd", file);
    expect_same(file, "whole.vcd");
    EXPECT_EQ(sampled(file, "tb.data"), (Lines{"001", "010"})) << file;
    EXPECT_EQ(sampled(file, "tb.data[2:0]"), (Lines{"001", "010"})) << file;
    EXPECT_EQ(sampled(file, "tb.data[1:0]"), (Lines{"01", "10"})) << file;
    EXPECT_EQ(sampled(file, "tb.data[1]"), (Lines{"0", "1"})) << file;
    const Reader reader(folder_ / file);
    EXPECT_EQ(test::signal_of(reader.header(), "tb.data").range, "[2:0]") << file;
    EXPECT_EQ(test::signal_of(reader.header(), "tb.data").width, 3) << file;
  }
  EXPECT_EQ(sampled("alias.vcd", "tb.dut.d"), (Lines{"001", "010"}));
  // Whoever names all signals gets the vector once.
  CompareOptions all = transactions("whole.vcd", "blank.vcd");
  all.interface = {};
  all.signals = {"tb.*"};
  EXPECT_TRUE(compare(all).same()) << compare(all).text();
  EXPECT_EQ(compare(all).names, (Lines{"tb.clk", "tb.valid", "tb.data"}));
  std::swap(all.reference, all.subject);
  EXPECT_TRUE(compare(all).same());
  all.signals = {"tb.data[1:0]", "tb.data[2]"};
  EXPECT_TRUE(compare(all).same());
  // A difference in one bit is found.
  write("wrong.vcd",
        bench("$var wire 1 # data [2] $end\n$var wire 1 $ data [1] $end\n$var wire 1 % data [0] $end\n", one, "1$\n"));
  EXPECT_EQ(compare(transactions("whole.vcd", "wrong.vcd")).first->index, 1U);
}

TEST_F(VcdDialects, AVectorInBitsHasTheOrderOfTheOtherFile) {
  write("falls.vcd", bench("$var reg 3 # data [2:0] $end\n", "b1 #\n", "b10 #\n"));
  write("rises.vcd", bench("$var reg 3 # data [0:2] $end\n", "b100 #\n", "b10 #\n"));
  const std::string bits = "$var wire 1 % data [0] $end\n$var wire 1 $ data [1] $end\n$var wire 1 # data [2] $end\n";
  write("bits.vcd", bench(bits, "0#\n0$\n1%\n", "1$\n0%\n"));
  // Bit 0 is 1, and then bit 1.
  for (const char* whole : {"falls.vcd", "rises.vcd"}) {
    expect_same(whole, "bits.vcd");
    expect_same("bits.vcd", whole);
  }
  // Whatever its numbers are.
  write("high.vcd", bench("$var reg 3 # data [6:4] $end\n", "b1 #\n", "b10 #\n"));
  expect_same("high.vcd", "bits.vcd");
  expect_same("bits.vcd", "high.vcd");
  EXPECT_EQ(sampled("bits.vcd", "tb.data"), (Lines{"100", "010"}));
  EXPECT_EQ(sampled("bits.vcd", "tb.data[2:0]"), (Lines{"001", "010"}));
  EXPECT_EQ(sampled("bits.vcd", "tb.data[0:1]"), (Lines{"10", "01"}));
}

TEST_F(VcdDialects, WhatIsNoVectorIsNotJoined) {
  // In scopes of their own, also where these have no name; in an escaped name; beside a whole of the name.
  write("scopes.vcd", bench("$scope begin g[0] $end\n$var wire 1 # data [0] $end\n$upscope $end\n"
                            "$scope begin g[1] $end\n$var wire 1 $ data [1] $end\n$upscope $end\n",
                            "1#\n0$\n", "0#\n1$\n"));
  EXPECT_EQ(sampled("scopes.vcd", "tb.g[0].data"), (Lines{"1", "0"}));
  EXPECT_EQ(sampled("scopes.vcd", "tb.g[1].data[1]"), (Lines{"0", "1"}));
  write("nameless.vcd", bench("$scope begin $end\n$var wire 1 # data [0] $end\n$upscope $end\n"
                              "$scope begin $end\n$var wire 1 $ data [1] $end\n$upscope $end\n",
                              "1#\n0$\n", ""));
  EXPECT_EQ(sampled("nameless.vcd", "tb.data[1]"), (Lines{"0", "0"}));
  EXPECT_TRUE(sampled("nameless.vcd", "tb.data")[0].starts_with("expected a signal \"tb.data\""));
  write("escaped.vcd", bench("$var wire 1 # \\data[0] $end\n$var wire 1 $ \\data[1] $end\n", "1#\n0$\n", ""));
  EXPECT_EQ(Reader(folder_ / "escaped.vcd").header().signals.size(), 4U);
  EXPECT_EQ(sampled("escaped.vcd", "tb.data[0]"), (Lines{"1", "1"}));
  EXPECT_EQ(sampled("escaped.vcd", "tb.\\data[0] "), (Lines{"1", "1"}));
  write("mixed.vcd", bench("$var wire 2 & data [1:0] $end\n$var wire 1 # data [1] $end\n$var wire 1 $ data [0] $end\n",
                           "b10 &\n0#\n1$\n", ""));
  EXPECT_EQ(sampled("mixed.vcd", "tb.data"), (Lines{"10", "10"}));
  EXPECT_EQ(sampled("mixed.vcd", "tb.data[1]"), (Lines{"0", "0"}));
  // Words of a memory, of which the second has its bits one by one.
  write("memory.vcd",
        bench("$var wire 2 & mem[0] [1:0] $end\n$var wire 1 # mem[1][1] $end\n$var wire 1 $ mem[1][0] $end\n",
              "b10 &\n0#\n1$\n", ""));
  EXPECT_EQ(sampled("memory.vcd", "tb.mem[0]"), (Lines{"10", "10"}));
  EXPECT_EQ(sampled("memory.vcd", "tb.mem[1]"), (Lines{"01", "01"}));
  EXPECT_EQ(sampled("memory.vcd", "tb.mem[1][0]"), (Lines{"1", "1"}));
}

TEST_F(VcdDialects, SomeBitsAreWhatTheyAre) {
  write("whole.vcd", bench("$var reg 4 # data [3:0] $end\n", "b11 #\n", "b100 #\n"));
  write("some.vcd", bench("$var wire 1 # data [3] $end\n$var wire 1 $ data [2] $end\n$var wire 1 % data [1] $end\n",
                          "0#\n0$\n1%\n", "1$\n0%\n"));
  EXPECT_EQ(sampled("some.vcd", "tb.data"), (Lines{"001", "010"}));
  EXPECT_EQ(sampled("some.vcd", "tb.data[2:1]"), (Lines{"01", "10"}));
  EXPECT_EQ(sampled("some.vcd", "tb.data[0]")[0], "expected bits of tb.data, which has [3:1], not \"tb.data[0]\"");
  expect_same("whole.vcd", "some.vcd", "tb.data[3:1]");
  expect_same("some.vcd", "whole.vcd", "tb.data[3:1]");
  EXPECT_EQ(why_not(transactions("whole.vcd", "some.vcd")),
            "some.vcd: expected 4 bits of \"tb.data\", as \"tb.data\" has in " + (folder_ / "whole.vcd").string() +
                ", got 3: both have \"tb.data[3:1]\"");
  // A gap: two signals of one name.
  write("gap.vcd", bench("$var wire 1 # data [3] $end\n$var wire 1 $ data [1] $end\n$var wire 1 % data [0] $end\n",
                         "0#\n1$\n1%\n", "0$\n0%\n"));
  EXPECT_EQ(sampled("gap.vcd", "tb.data")[0],
            "expected one of the 2 signals \"tb.data\": \"tb.data[3]\" (wire), \"tb.data[1:0]\" (wire [1:0])");
  EXPECT_EQ(sampled("gap.vcd", "tb.data[1:0]"), (Lines{"11", "00"}));
  EXPECT_EQ(sampled("gap.vcd", "tb.data[3]"), (Lines{"0", "0"}));
  EXPECT_EQ(sampled("gap.vcd", "tb.data[2]")[0],
            "expected bits of tb.data, which has [3] and [1:0], not \"tb.data[2]\"");
  // A vector of one bit.
  write("one.vcd", bench("$var wire 1 # data [0] $end\n", "1#\n", "0#\n"));
  EXPECT_EQ(sampled("one.vcd", "tb.data"), (Lines{"1", "0"}));
}

TEST_F(VcdDialects, NamesThatSeveralHaveAreToldApart) {
  write("same.vcd", bench("$var wire 2 # data [1:0] $end\n$var wire 2 # data [1:0] $end\n", "b1 #\n", "b10 #\n"));
  EXPECT_EQ(sampled("same.vcd", "tb.data"), (Lines{"01", "10"}));
  write("two.vcd", bench("$var wire 2 # data [1:0] $end\n$var wire 2 $ data [1:0] $end\n", "b1 #\nb11 $\n", "b10 #\n"));
  EXPECT_EQ(sampled("two.vcd", "tb.data")[0],
            "expected one of the 2 signals \"tb.data\": \"tb.data#1\" (wire [1:0]), \"tb.data#2\" (wire [1:0])");
  EXPECT_EQ(sampled("two.vcd", "tb.data#1"), (Lines{"01", "10"}));
  EXPECT_EQ(sampled("two.vcd", "tb.data#2[1]"), (Lines{"1", "1"}));
  EXPECT_EQ(sampled("two.vcd", "tb.data#3")[0].substr(0, 29), "expected a signal \"tb.data#3\"");
  write("widths.vcd", bench("$var wire 2 # data [1:0] $end\n$var reg 4 $ data [3:0] $end\n", "b1 #\nb1100 $\n", ""));
  EXPECT_EQ(sampled("widths.vcd", "tb.data[1:0]"), (Lines{"01", "01"}));
  EXPECT_EQ(sampled("widths.vcd", "tb.data[3:0]"), (Lines{"1100", "1100"}));
  // Whoever names all gets both.
  CompareOptions all = transactions("two.vcd", "two.vcd");
  all.interface = {};
  all.signals = {"tb.*"};
  EXPECT_EQ(compare(all).names, (Lines{"tb.clk", "tb.valid", "tb.data#1", "tb.data#2"}));
  // A bit that is there twice, beside others.
  write("twice.vcd", bench("$var wire 1 # data [3] $end\n$var wire 1 $ data [2] $end\n$var wire 1 % data [0] $end\n"
                           "$var wire 1 & data [0] $end\n",
                           "1#\n1$\n0%\n1&\n", "1%\n0&\n"));
  all.reference = all.subject = folder_ / "twice.vcd";
  EXPECT_EQ(compare(all).names, (Lines{"tb.clk", "tb.valid", "tb.data[3:2]", "tb.data#2", "tb.data[0]"}));
  EXPECT_EQ(sampled("twice.vcd", "tb.data#2"), (Lines{"0", "1"}));
  EXPECT_EQ(sampled("twice.vcd", "tb.data[0]"), (Lines{"1", "0"}));
  // A net that has two numbers, beside a vector that has one of them as well.
  write("net.vcd", bench("$var wire 1 # data [6] $end\n$var wire 1 $ other $end\n$var wire 1 # data [4] $end\n"
                         "$var wire 1 % data [4] $end\n$var wire 1 & data [3] $end\n",
                         "1#\n0%\n0&\n", "0#\n"));
  all.reference = all.subject = folder_ / "net.vcd";
  EXPECT_EQ(compare(all).names, (Lines{"tb.clk", "tb.valid", "tb.data[6]", "tb.other", "tb.data[4:3]"}));
}

/// Such as the variables of scopes without a name. Each takes no longer than one of few.
TEST_F(VcdDialects, ThousandsCanHaveOneName) {
  std::string variables;
  constexpr int kMany = 5000;
  for (int i = 0; i < kMany; ++i) {
    const std::string code = "c" + std::to_string(i);
    variables += "$var wire 2 " + code + " data [1:0] $end\n$var wire 2 " + code + " data [1:0] $end\n";
  }
  write("many.vcd", bench(variables, "b1 c0\nb11 c4999\n", "b10 c0\n"));
  CompareOptions all = transactions("many.vcd", "many.vcd");
  all.interface = {};
  all.signals = {"tb.data"};
  const Comparison same = compare(all);
  ASSERT_EQ(same.names.size(), kMany);
  EXPECT_EQ(same.names.front(), "tb.data#1");
  EXPECT_EQ(same.names.back(), "tb.data#5000");
  EXPECT_EQ(sampled("many.vcd", "tb.data#1"), (Lines{"01", "10"}));
  EXPECT_EQ(sampled("many.vcd", "tb.data#5000"), (Lines{"11", "11"}));
}

/// One declaration that nobody asks for refuses no file; whoever asks is told.
TEST_F(VcdDialects, OddDeclarationsRefuseNothing) {
  const std::string data = "$var wire 8 # data [7:0] $end\n";
  write("base.vcd", bench(data, "b1 #\n", "b10 #\n"));
  struct Odd {
    const char* declaration;
    const char* value;
    const char* asked;
  };
  const std::vector<Odd> all = {
      {"wire 0 $ odd", "b $\n", "expected a signal with bits, and \"tb.odd\" is declared without a width"},
      {"wire -1 $ odd", "b101 $\n",
       "expected a signal with bits, and \"tb.odd\" is declared without a width of 1 to 67108864"},
      {"wire many $ odd", "b101 $\n",
       "expected a signal with bits, and \"tb.odd\" is declared without a width of 1 to 67108864"},
      {"wire 99999999999 $ odd", "b101 $\n",
       "expected a signal with bits, and \"tb.odd\" is declared without a width of 1 to 67108864"},
      {"wire 1 # odd", "",
       "expected a signal of its own for \"tb.odd\", which has the identifier code of \"tb.data\" with another kind or "
       "width"},
      {"parameter 0 $ odd", "r1.5 $\n", nullptr},
      {"parameter 64 $ odd", "r1.5 $\n", nullptr},
      {"real 1 $ odd", "sIDLE $\n", nullptr},
      {"real 0 $ odd", "r-1e300 $\n", nullptr},
      {"string 0 $ odd", "shello $\n", nullptr},
      {"string 8 $ odd", "s $\n", nullptr},
      {"event 1 $ odd", "1$\n", nullptr},
      {"logic 4 $ odd [3:0]", "b1x $\n", nullptr},
      {"int 32 $ odd", "b1 $\n", nullptr},
      {"enum 3 $ odd", "b1 $\n", nullptr},
      {"wire 4 $ odd", "sIDLE $\n", "expected bits for tb.odd, got \"IDLE\""},
      {"wire 4 $ odd", "r1.5 $\n", "expected bits for tb.odd, got \"1.5\""},
      {"wire 4 $ odd", "b10101 $\n", "expected at most 4 bits for tb.odd, got more, of which the last are \"0101\""},
      {"real 64 $ odd", "b101 $\n", "expected a real number for tb.odd, got \"101\""},
      {"wire 1 $", "1$\n", nullptr},
      {"wire 8 $ \\odd.name[3:0]", "b1 $\n", nullptr},
  };
  for (const Odd& odd : all) {
    SCOPED_TRACE(odd.declaration);
    const std::string variable = "$var " + std::string(odd.declaration) + " $end\n";
    write("odd.vcd", bench(data + variable, std::string("b1 #\n") + odd.value, "b10 #\n"));
    expect_same("base.vcd", "odd.vcd");
    expect_same("odd.vcd", "base.vcd");
    if (odd.asked != nullptr) {
      const Lines got = sampled("odd.vcd", "tb.odd");
      EXPECT_EQ(got.empty() ? "" : got[0].substr(got[0].find("expected")), odd.asked);
    }
    // All signals are all that have values.
    CompareOptions edges = transactions("odd.vcd", "odd.vcd");
    edges.interface = {};
    edges.signals = {"tb.clk", "tb.valid", "tb.d*"};
    EXPECT_TRUE(compare(edges).same());
  }
}

TEST_F(VcdDialects, TakesWhatWritersWrite) {
  const std::string base = bench("$var wire 8 # data [7:0] $end\n", "b1 #\n", "b10 #\n");
  write("base.vcd", base);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = base;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
    EXPECT_NE(text, base) << from;
    return text;
  };
  const std::vector<std::pair<const char*, std::string>> dialects = {
      {"PyMTL3's binary numbers", with("b1 ", "b0b00000001 ")},
      {"a period as timescale", with("1ns", "244 ns")},
      {"points in times", with("#5\n", "#5.0\n")},
      {"fractions in times", with("#15\n", "#15.5\n")},
      {"a blank in times", with("#15\n", "# 15\n")},
      {"blanks before codes", with("1!", "1 !")},
      {"blanks before all codes", with("0!", "0\t!")},
      {"timescale glued to its end", with("1ns $end", "1ns$end")},
      {"names glued to their end", with("valid $end", "valid$end")},
      {"the last name glued to its end", with("[7:0] $end", "[7:0]$end")},
      {"a keyword glued to its end", with("$upscope $end", "$upscope$end")},
      {"no end of definitions", with("$enddefinitions $end\n", "$enddefinitions\n")},
      {"no definitions' end", with("$enddefinitions $end\n", "")},
      {"definitions glued to their end", with("$enddefinitions $end\n", "$enddefinitions$end\n")},
      {"no definitions' end before $dumpvars", with("$enddefinitions $end\n", "$dumpvars\n")},
      {"a scope without a name, ended twice", with("$upscope", "$scope module $end\n $end\n$upscope $end\n$upscope")},
      {"carriage returns", with("\n", "\r\n")},
      {"tabs", with(" ", "\t")},
      {"a mark of the byte order", "\xEF\xBB\xBF" + base},
      {"attributes", with("$var wire 8", "$attrbegin misc 02 \\enum 1 $end\n$var wire 8")},
      {"comments", with("#5\n", "$comment in between $end\n#5\n$comment glued$end\n")},
      {"sections of others", with("#15\n", "$vcdclose #99 $end\n#15\n")},
      {"padding to bytes", with("b1 ", "b0000000000000001 ")},
      {"capital letters", with("b1 ", "B1 ")},
      {"an open section of values", with("#0\n", "$dumpvars\n#0\n")},
      {"latin-1", with("$timescale", "$comment M\xe4rz \x1b[31m $end\n$timescale")},
      {"no timescale", with("$timescale 1ns $end\n", "$timescale $end\n")},
      {"a range as VHDL writes it", with("data [7:0]", "data(7 downto 0)")},
      {"a range with blanks, as VHDL writes it", with("data [7:0]", "data ( 7 downto 0 )")},
      {"a range with blanks", with("data [7:0]", "data [ 7 : 0 ]")},
      {"more ends of scopes than beginnings", with("$upscope $end", "$upscope $end\n$upscope $end")},
      {"values of what is not declared", with("#5\n", "1?\nb01 zz\n#5\n")},
  };
  for (const auto& [what, text] : dialects) {
    SCOPED_TRACE(what);
    write("other.vcd", text);
    expect_same("base.vcd", "other.vcd");
    expect_same("other.vcd", "base.vcd");
  }
}

TEST_F(VcdDialects, CountsWhatItReadsInAnotherWay) {
  const std::string base = bench("$var wire 8 # data [7:0] $end\n", "b1 #\n", "b10 #\n");
  write("base.vcd", base);
  write("back.vcd", base + "#3\n1!\nb11 #\n#4\n0!\n#20\n#7.5\n");
  Reader reader(folder_ / "back.vcd");
  int changes = 0;
  for (Change change; reader.next(change);) ++changes;
  EXPECT_EQ(changes, 8);
  EXPECT_EQ(reader.time(), 20U);
  const std::string file = (folder_ / "back.vcd").string();
  EXPECT_EQ(reader.remarks(),
            (Lines{file + ": 3 times run back, the first in line 21 (3 after 20): values there are left out",
                   file + ": 1 time has a fraction, the first in line 27 (#7.5): it is cut off"}));
  const Comparison same = compare(transactions("base.vcd", "back.vcd"));
  EXPECT_TRUE(same.same()) << same.text();
  EXPECT_EQ(same.remarks.size(), 2U);
}

/// A time ends a section of values, so that those behind it are changes.
TEST_F(VcdDialects, AnOpenSectionEndsWithItsTime) {
  EXPECT_EQ(changes_of(write("open.vcd", "$var wire 1 ! a $end $enddefinitions $end\n$dumpvars\n0!\n#0\n1!\n#5\n0!\n")),
            (Lines{"0 a 0 dumpvars", "0 a 1", "5 a 0"}));
}

TEST_F(VcdDialects, SuggestsTheNearestNames) {
  write("names.vcd", bench("$var wire 8 # data [7:0] $end\n$scope module dut $end\n$var wire 8 $ result [7:0] $end\n"
                           "$upscope $end\n",
                           "b1 #\n", ""));
  EXPECT_EQ(sampled("names.vcd", "top.data")[0], "expected a signal \"top.data\"; did you mean \"tb.data\"?");
  EXPECT_EQ(sampled("names.vcd", "tb.clock")[0], "expected a signal \"tb.clock\"; did you mean \"tb.clk\"?");
  EXPECT_EQ(sampled("names.vcd", "tb.dat")[0], "expected a signal \"tb.dat\"; did you mean \"tb.data\"?");
  EXPECT_EQ(sampled("names.vcd", "tb.Data[3]")[0], "expected a signal \"tb.Data[3]\"; did you mean \"tb.data\"?");
  write("array.vcd",
        "$scope module tb $end $var wire 1 ! clk $end $var reg 8 # mem[0] [7:0] $end $var reg 8 $ mem[1] [7:0] $end "
        "$upscope $end $enddefinitions $end\n");
  EXPECT_EQ(sampled("array.vcd", "tb.mem")[0],
            "expected a signal \"tb.mem\"; it is an array, of which there are 2, \"tb.mem[0]\" to \"tb.mem[1]\"");
  EXPECT_EQ(sampled("names.vcd", "result")[0], "expected a signal \"result\"; did you mean \"tb.dut.result\"?");
  CompareOptions scope = transactions("names.vcd", "names.vcd");
  scope.interface = {};
  scope.signals = {"tb.dud.*"};
  EXPECT_EQ(why_not(scope),
            "names.vcd: expected a signal that \"tb.dud.*\" names and nothing before it; did you mean \"tb.dut.*\" or "
            "\"tb.*\"?");
  EXPECT_EQ(sampled("names.vcd", "tb.something.else")[0], "expected a signal \"tb.something.else\"");
  EXPECT_EQ(sampled("array.vcd", "tb.mem[7]")[0],
            "expected a signal \"tb.mem[7]\"; did you mean \"tb.mem[0]\" or \"tb.mem[1]\"?");
}

/// Brackets and points may be of the name itself.
TEST_F(VcdDialects, SuggestsNamesWithBracketsAndPoints) {
  write("escaped.vcd",
        "$scope module tb $end $var wire 1 ! clk $end $scope module d $end $var reg 8 # \\esc.name[3] [7:0] $end "
        "$scope module esc $end $var wire 1 $ \\w$!@ $end $upscope $end $upscope $end $upscope $end "
        "$enddefinitions $end\n");
  for (const std::string name : {"tb.d.esc.nam[3]", "tb.d.esc.nam", "tb.d.esc.name", "tb.d.esc.name[4]",
                                 "tb.d.\\esc.name[2] ", "d.esc.name[3]", "TB.D.ESC.NAME[3]"}) {
    EXPECT_NE(sampled("escaped.vcd", name)[0].find("tb.d.esc.name[3]\""), std::string::npos)
        << sampled("escaped.vcd", name)[0];
  }
  EXPECT_EQ(sampled("escaped.vcd", "tb.d.\\w$!@")[0],
            "expected a signal \"tb.d.\\w$!@\"; did you mean \"tb.d.esc.w$!@\"?");
}

}  // namespace
}  // namespace weft::vcd
