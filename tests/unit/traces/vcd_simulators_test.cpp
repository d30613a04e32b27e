// SPDX-License-Identifier: Apache-2.0
// Waveforms of one design as Icarus Verilog and Verilator write them. ./weft installs both.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/programs.h"
#include "tests/support/vcd.h"
#include "traces/vcd/compare.h"

namespace weft::vcd {
namespace {

/// A counter handed over under valid and ready, and delayed by three clocks. FAULT spoils the item 41.
constexpr const char* kDesign = R"(`timescale 1ns/1ps
module dut(input clk, input reset, input [7:0] in, input in_valid, output reg [7:0] out, output reg out_valid);
  parameter FAULT = 0;
  reg [7:0] first, second;
  reg first_valid, second_valid;
  always @(posedge clk) begin
    first <= in; second <= first; out <= second ^ (FAULT != 0 && second == 41 ? 8'h10 : 8'h00);
    first_valid <= in_valid && !reset; second_valid <= first_valid && !reset; out_valid <= second_valid && !reset;
  end
endmodule
module tb;
  parameter FAULT = 0;
  reg clk = 0, reset = 1, valid = 0;
  reg [7:0] n = 0;
  real half = 0.5;
  wire [7:0] out;
  wire out_valid;
  dut #(.FAULT(FAULT)) dut(clk, reset, n, valid, out, out_valid);
  always #5 clk = ~clk;
  always @(posedge clk) begin
    reset <= n == 0 && $time < 40;
    valid <= !reset && n[1:0] != 2;
    n <= reset ? 0 : n + 1;
  end
  initial begin $dumpfile("out.vcd"); $dumpvars; #2000 $finish; end
endmodule
)";

class VcdSimulators : public test::VcdTest {
 protected:
  void SetUp() override {
    for (const char* tool : {"iverilog", "vvp", "verilator", "make"}) {
      if (test::skips_without(tool)) return;
    }
    write("tb.v", kDesign);
  }
  /// Runs commands in the folder and names the waveform that they leave.
  std::string simulate(const std::string& name, const std::string& commands) {
    const std::string all = "cd " + folder_.string() + " && (" + commands + ") >log 2>&1 && mv out.vcd " + name;
    EXPECT_EQ(std::system(all.c_str()), 0) << all;
    return folder_ / name;
  }
  std::string icarus(const std::string& name, int fault) {
    return simulate(name, "iverilog -g2012 -Ptb.FAULT=" + std::to_string(fault) + " -o tb tb.v && vvp tb");
  }
  std::string verilator(const std::string& name) {
    return simulate(name,
                    "verilator --binary --timing --trace -Wno-fatal -CFLAGS -O0 --top-module tb -o sim tb.v && "
                    "obj_dir/sim");
  }
  static CompareOptions transactions(const std::string& reference, const std::string& subject) {
    CompareOptions options;
    options.reference = reference;
    options.subject = subject;
    options.sampling.clock = "tb.clk";
    options.sampling.reset = "tb.reset";
    options.interface.valid = "tb.dut.out_valid";
    options.interface.data = {"tb.dut.out"};
    options.input = Interface{"tb.valid", "", {"tb.n"}, "", ""};
    options.tolerance = 0;
    return options;
  }
};

TEST_F(VcdSimulators, AgreeAndTheFaultIsFound) {
  const std::string by_icarus = icarus("icarus.vcd", 0);
  const std::string by_verilator = verilator("verilator.vcd");
  CompareOptions options = transactions(by_icarus, by_verilator);
  options.rules = {{"tb.*", "TOP.tb.*"}};
  const Comparison same = compare(options);
  EXPECT_TRUE(same.same()) << same.text();
  EXPECT_GT(same.reference_items, 100U);
  EXPECT_EQ(same.reference_latency.least, 3);
  EXPECT_EQ(same.subject_latency.most, 3);

  CompareOptions edges;
  edges.reference = by_icarus;
  edges.subject = by_verilator;
  edges.sampling = options.sampling;
  edges.rules = options.rules;
  edges.signals = {"tb.n", "tb.dut.out*"};
  const Comparison at_edges = compare(edges);
  EXPECT_TRUE(at_edges.same()) << at_edges.text();

  const Comparison differs = compare(transactions(by_icarus, icarus("fault.vcd", 1)));
  EXPECT_EQ(differs.different, 1U) << differs.text();
  ASSERT_TRUE(differs.first.has_value());
  EXPECT_EQ(differs.first->what, "tb.dut.out");
  EXPECT_EQ(differs.first->expected->values.at(0), "00101001");
  EXPECT_EQ(differs.first->found->values.at(0), "00111001");
}

}  // namespace
}  // namespace weft::vcd
