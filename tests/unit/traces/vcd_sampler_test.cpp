// SPDX-License-Identifier: Apache-2.0
// Waveforms sampled at the edges of a clock: what flip-flops would take.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/vcd.h"
#include "traces/files/format_error.h"
#include "traces/vcd/sampler.h"

namespace weft::vcd {
namespace {

using VcdSampler = test::VcdTest;

/// Bits of a vector are signals as any other: one vector of a design may hold several interfaces.
TEST_F(VcdSampler, TakesBitsOfVectors) {
  const std::string file =
      write("bits.vcd",
            "$timescale 1ns $end $var wire 2 c clks [1:0] $end $var wire 12 d d [11:0] $end\n"
            "$var wire 4 u up [0:3] $end $var wire 4 n bare $end $var wire 1 e mem[3] $end\n"
            "$var wire 4 o off [7:4] $end $var real 64 r r $end $enddefinitions $end\n"
            "#0 b0 c b110000000101 d b1000 u b0111 n 1e b1010 o #5 b10 c #10 b0 c bz1 d #15 b10 c\n");
  Sampler sampler(file, {"clks[1]", "", false},
                  {"d[11:8]", "d[3:0]", "d[0]", "up[0]", "up[0:1]", "bare[3]", "mem[3]", "off[5]", "d[11:0]", "d"});
  std::vector<std::string> seen;
  const auto read = [&] {
    seen.clear();
    for (std::size_t i = 0; i < 10; ++i) seen.emplace_back(sampler.value(i));
  };
  ASSERT_TRUE(sampler.next());
  read();
  EXPECT_EQ(seen,
            (std::vector<std::string>{"1100", "0101", "1", "1", "10", "0", "1", "1", "110000000101", "110000000101"}));
  ASSERT_TRUE(sampler.next());
  read();
  EXPECT_EQ(seen[0] + " " + seen[1] + " " + seen[2], "zzzz zzz1 1");
  EXPECT_FALSE(sampler.next());
  const auto refuses = [&](const std::string& name, const std::string& message) {
    try {
      const Sampler bad(file, {"clks[1]", "", false}, {name});
      ADD_FAILURE() << name;
    } catch (const traces::FormatError& error) {
      EXPECT_EQ(std::string(error.what()), file + ": expected " + message);
    }
  };
  refuses("d[12]", "bits of d, which has [11:0], not \"d[12]\"");
  refuses("d[0:3]", "bits of d, which has [11:0], not \"d[0:3]\"");
  refuses("up[1:0]", "bits of up, which has [0:3], not \"up[1:0]\"");
  refuses("mem[3][1]", "bits of mem[3], which has one bit, not \"mem[3][1]\"");
  refuses("r[0]", "bits of r, which has no bits, not \"r[0]\"");
  refuses("q[0]", "a signal \"q[0]\"");
  refuses("d[a]", "a signal \"d[a]\"; did you mean \"d\"?");
  EXPECT_THROW(Sampler(file, {"clks", "", false}, {}), traces::FormatError);
}

/// Values before the edge count, whatever the order of a time's changes; resets and $dumpoff hide, x is no edge.
TEST_F(VcdSampler, SamplesAsFlipFlopsDo) {
  const std::string file =
      write("s.vcd",
            "$timescale 1ns $end $var wire 1 c clk $end $var wire 1 r rst_n $end\n"
            "$var wire 4 d d $end $var wire 1 v v $end $enddefinitions $end\n"
            "#0 $dumpvars 1c 0r b1 d xv $end #5 0c #10 b10 d 1c #15 0c #16 1r\n"
            "#20 1c b11 d 1v #25 0c #30 b100 d 1c #35 xc #40 1c #41 0c #42 1r #45 $dumpoff xc xr bx d xv $end\n"
            "#60 $dumpon 0c 1r b111 d 1v $end #70 1c 0r #80 0c #90 1c\n");
  Sampler sampler(file, {"clk", "rst_n", true}, {"d", "v"});
  std::vector<std::string> seen;
  while (sampler.next()) {
    seen.push_back(std::to_string(sampler.time()) + " " + std::string(sampler.value(0)) + " " +
                   std::string(sampler.value(1)));
    EXPECT_EQ(sampler.cycle() + 1, seen.size());
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"20 0010 x", "30 0011 1", "40 0100 1", "70 0111 1"}));
}

/// What $dumpon restates is no event, whether the clock is 1 there or 0; what follows at the same time is one.
TEST_F(VcdSampler, DumpsThatGoOnAreNoEdges) {
  const std::string header =
      "$timescale 1ns $end $var wire 1 c clk $end $var wire 4 d d $end $enddefinitions $end\n"
      "#0 $dumpvars 0c b1 d $end #5 1c #10 0c #12 $dumpoff xc bx d $end\n";
  const auto edges = [&](const std::string& rest) {
    Sampler sampler(write("d.vcd", header + rest), {"clk", "", false}, {"d"});
    std::vector<std::string> seen;
    while (sampler.next()) seen.push_back(std::to_string(sampler.time()) + " " + std::string(sampler.value(0)));
    return seen;
  };
  using Seen = std::vector<std::string>;
  EXPECT_EQ(edges("#26 $dumpon 1c b10 d $end #30 0c #35 1c\n"), (Seen{"5 0001", "35 0010"}));
  EXPECT_EQ(edges("#31 $dumpon 0c b10 d $end #35 1c b11 d\n"), (Seen{"5 0001", "35 0010"}));
  EXPECT_EQ(edges("#35 $dumpon 0c b10 d $end 1c b11 d\n"), (Seen{"5 0001", "35 0010"}));
  EXPECT_EQ(edges("#26 $dumpon 1c b10 d $end #27 $dumpoff xc $end #28 $dumpon 1c $end #30 0c #35 1c\n"),
            (Seen{"5 0001", "35 0010"}));
  // Restated while values are known: it rose.
  EXPECT_EQ(edges("#31 $dumpon 0c b10 d $end #35 $dumpall 1c b10 d $end #36 $dumpall 1c b10 d $end\n"),
            (Seen{"5 0001", "35 0010"}));
}

}  // namespace
}  // namespace weft::vcd
