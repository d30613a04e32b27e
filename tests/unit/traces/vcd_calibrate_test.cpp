// SPDX-License-Identifier: Apache-2.0
// Models of blocks: what they do by hand, and that they are found in waveforms of RTL.
#include "traces/vcd/calibrate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/support/programs.h"
#include "tests/support/vcd.h"
#include "traces/vcd/block_model.h"

namespace weft::vcd {
namespace {

using Offer = BlockModel::Offer;
using Stall = BlockModel::Stall;

/// A letter an edge: what the inputs offer ('b' or 'l'ast) and whether the output is ready; gives 't'aken and 'v'alid.
struct Script {
  std::vector<std::string> offers;
  std::string ready;
};
std::vector<std::string> run(const BlockModel::Config& config, const Script& script) {
  BlockModel block(config);
  std::vector<std::string> seen(config.inputs + 1);
  for (std::size_t edge = 0; edge < script.ready.size(); ++edge) {
    seen.back() += block.valid() ? 'v' : '.';
    std::vector<Offer> offers;
    for (const std::string& input : script.offers) {
      offers.push_back(input[edge] == 'b' ? Offer::kBeat : input[edge] == 'l' ? Offer::kLastBeat : Offer::kNothing);
    }
    block.step(offers, script.ready[edge] == 'r');
    for (std::size_t i = 0; i < config.inputs; ++i) seen[i] += block.taken(i) ? 't' : '.';
  }
  return seen;
}

TEST(BlockModel, ARigidPipelineKeepsItsGaps) {
  BlockModel::Config config;
  config.latency = 3;
  EXPECT_EQ(run(config, {{"b.bb......"}, "rrrrrrrrrr"}), (std::vector<std::string>{"t.tt......", "...v.vv..."}));
  // Nothing moves at the edges 3 to 5: what is offered then waits, and the gap is still there afterwards.
  EXPECT_EQ(run(config, {{"b.bbbbb....."}, "rrr...rrrrrr"}),
            (std::vector<std::string>{"t.t...t.....", "...vvvv.vv.."}));
}

TEST(BlockModel, AnElasticOneFillsUp) {
  BlockModel::Config config;
  config.latency = 2;
  config.stall = Stall::kElastic;
  config.depth = 3;
  EXPECT_EQ(run(config, {{"bbbbbb......"}, "......rrrrrr"}),
            (std::vector<std::string>{"ttt.........", "..vvvvvvv..."}));
  EXPECT_EQ(run(config, {{"bbbbbbb....."}, "....rrrrrrrr"}),
            (std::vector<std::string>{"ttt.ttt.....", "..vvvvvvvv.."}));
  // The edge at which one leaves has room for the next.
  EXPECT_EQ(run(config, {{"bbbbbbb....."}, "...r........"})[0], "tttt........");
}

TEST(BlockModel, JoinsItsInputsAndPaces) {
  BlockModel::Config config;
  config.inputs = 2;
  config.latency = 1;
  EXPECT_EQ(run(config, {{"bbb...", "..bbb."}, "rrrrrr"}), (std::vector<std::string>{"..t...", "..t...", "...v.."}));
  config.queue = 2;
  EXPECT_EQ(run(config, {{"bbbb....", "...bbb.."}, "rrrrrrrr"}),
            (std::vector<std::string>{"tt.t....", "...ttt..", "....vvv."}));
  config.queue = 0;
  config.interval = 2;
  config.pause = 1;
  EXPECT_EQ(run(config, {{"bbbllbbbb", "bbbllbbbb"}, "rrrrrrrrr"})[0], "t.t.t..t.");

  BlockModel::Config one;
  one.queue = 1;
  one.falls_through = false;
  EXPECT_EQ(one.from_input(), 2U);
  EXPECT_EQ(run(one, {{"bbb..."}, "rrrrrr"}), (std::vector<std::string>{"ttt...", "..vvv."}));
  one.registered = true;
  EXPECT_EQ(run(one, {{"bbbbb.."}, "rrrrrrr"}), (std::vector<std::string>{"t.t.t..", "..v.v.v"}));
  EXPECT_THROW(BlockModel({.inputs = 0}), std::invalid_argument);
  EXPECT_THROW(BlockModel({.interval = 0}), std::invalid_argument);
  EXPECT_THROW(BlockModel({.stall = Stall::kElastic}), std::invalid_argument);
}

/// Blocks with two inputs. KIND 0: a rigid pipeline of 5 stages that takes both at once. KIND 1: queues of 3 in front,
/// a set of beats every other cycle, 4 cycles, then a queue; at most 6 sets are inside.
constexpr const char* kBlocks = R"(`timescale 1ns/1ps
module rigid(input clk, input reset, input [1:0] in_valid, output [1:0] in_ready, input [15:0] in_data,
             input [1:0] in_last, output out_valid, input out_ready, output [7:0] out_data, output out_last);
  reg [4:0] valid = 0, last = 0;
  reg [39:0] data;
  wire joined = &in_valid, advance = !out_valid || out_ready;
  assign in_ready = {2{joined && advance}};
  assign {out_valid, out_last, out_data} = {valid[4], last[4], data[39:32]};
  always @(posedge clk) if (reset) valid <= 0; else if (advance) begin
    valid <= {valid[3:0], joined};
    last <= {last[3:0], in_last[0]};
    data <= {data[31:0], in_data[15:8] ^ in_data[7:0]};
  end
endmodule
module elastic(input clk, input reset, input [1:0] in_valid, output [1:0] in_ready, input [15:0] in_data,
               input [1:0] in_last, output out_valid, input out_ready, output [7:0] out_data, output out_last);
  integer held [0:1];
  reg [8:0] a [0:3], b [0:3], store [0:15];
  integer due [0:15];
  integer count = 0, now = 0, pace = 0, i;
  reg [8:0] x, y;
  assign in_ready = {held[1] < 3, held[0] < 3};
  assign out_valid = count > 0 && due[0] <= now;
  assign {out_last, out_data} = store[0];
  always @(posedge clk) if (reset) begin
    held[0] = 0; held[1] = 0; count <= 0; pace <= 0; now <= 0;
  end else begin : step
    integer h0, h1, n;
    h0 = held[0]; h1 = held[1]; n = count;
    if (in_valid[0] && in_ready[0]) begin a[h0] = {in_last[0], in_data[7:0]}; h0 = h0 + 1; end
    if (in_valid[1] && in_ready[1]) begin b[h1] = {in_last[1], in_data[15:8]}; h1 = h1 + 1; end
    if (out_valid && out_ready) begin
      for (i = 0; i < 15; i = i + 1) begin store[i] <= store[i + 1]; due[i] <= due[i + 1]; end
      n = n - 1;
    end
    if (h0 > 0 && h1 > 0 && n < 6 && pace == 0) begin
      store[n] <= {a[0][8], a[0][7:0] ^ b[0][7:0]};
      due[n] <= now + 4;
      n = n + 1;
      for (i = 0; i < 3; i = i + 1) begin a[i] = a[i + 1]; b[i] = b[i + 1]; end
      h0 = h0 - 1; h1 = h1 - 1;
      pace <= 1;
    end else pace <= 0;
    held[0] <= h0; held[1] <= h1; count <= n; now <= now + 1;
  end
endmodule
module tb;
  parameter KIND = 0;
  parameter SEED = 1;
  reg clk = 0, reset = 1;
  reg [1:0] valid = 0;
  wire [1:0] ready;
  reg [15:0] data = 0;
  reg [1:0] last = 0;
  wire out_valid, out_last;
  reg out_ready = 0;
  wire [7:0] out_data;
  integer left [0:1];
  integer seed = SEED, mood = 0, c;
  generate
    if (KIND == 0) rigid dut(clk, reset, valid, ready, data, last, out_valid, out_ready, out_data, out_last);
    else elastic dut(clk, reset, valid, ready, data, last, out_valid, out_ready, out_data, out_last);
  endgenerate
  always #5 clk = ~clk;
  always @(posedge clk) begin
    if ($time > 42) reset <= 0;
    if ($urandom(seed) % 64 == 0) mood <= $urandom(seed) % 3;
    // Now always ready, now seldom, now at random.
    out_ready <= mood == 0 || (mood == 1 ? $urandom(seed) % 8 == 0 : $urandom(seed) % 2 == 0);
    if (!reset) for (c = 0; c < 2; c = c + 1) if (!valid[c] || ready[c]) begin
      valid[c] <= mood == 0 || $urandom(seed) % 3 != 0;
      data[8*c+:8] <= $urandom(seed);
      if (valid[c]) begin
        left[c] = left[c] == 0 ? 5 : left[c] - 1;
        last[c] <= left[c] == 0;
      end
    end
  end
  initial begin left[0] = 5; left[1] = 5; $dumpfile("out.vcd"); $dumpvars(1, tb); #30000 $finish; end
endmodule
)";

class VcdCalibrate : public test::VcdTest {
 protected:
  void SetUp() override {
    if (test::skips_without("iverilog")) return;
    write("tb.v", kBlocks);
  }
  BlockTrace simulate(int kind, int seed) {
    const std::string file = folder_ / ("out" + std::to_string(kind) + "_" + std::to_string(seed) + ".vcd");
    const std::string all = "cd " + folder_.string() + " && (iverilog -g2012 -Ptb.KIND=" + std::to_string(kind) +
                            " -Ptb.SEED=" + std::to_string(seed) + " -o tb tb.v && vvp tb) >log 2>&1 && mv out.vcd " +
                            file;
    EXPECT_EQ(std::system(all.c_str()), 0) << all;
    return read(file);
  }
  static BlockTrace read(const std::string& file) {
    const Reader reader(file);
    const auto inputs = parse_streams("valid=tb.valid,ready=tb.ready,data=tb.data,last=tb.last", 2, reader);
    const auto output = parse_streams("tb.out_", 1, reader);
    return read_block(file, {"tb.clk", "tb.reset", false}, inputs, &output.front(), false);
  }
};

TEST_F(VcdCalibrate, FindsARigidPipeline) {
  const Calibration found = calibrate(simulate(0, 1));
  EXPECT_EQ(found.config.text(), "latency 5, interval 1, pause 0, queue 0, rigid");
  EXPECT_TRUE(!found.paces_seen.empty() && found.stall_seen && found.full_seen && found.pause_seen);
  const BlockTrace other = simulate(0, 2);
  EXPECT_EQ(other.data_bits, 8U);
  EXPECT_DOUBLE_EQ(other.period, 10'000);
  const Residual residual = vcd::residual(found, other);
  EXPECT_GT(residual.transactions, 150U);
  EXPECT_LE(residual.p99, 2U);
  EXPECT_LT(residual.mean, 0.5);
}

TEST_F(VcdCalibrate, FindsAnElasticOne) {
  const Calibration found = calibrate(simulate(1, 3));
  EXPECT_EQ(found.config.stall, Stall::kElastic);
  EXPECT_EQ(found.config.latency, 4U);
  EXPECT_EQ(found.config.interval, 2U);
  EXPECT_EQ(found.config.depth, 6U);
  const BlockTrace other = simulate(1, 4);
  const Residual residual = vcd::residual(found, other);
  EXPECT_GT(residual.transactions, 100U);
  EXPECT_LE(residual.p99, 2U) << found.config.text();
  EXPECT_LT(residual.mean, 0.5);
  // Of another block it says nothing: the measure can fail.
  EXPECT_GT(vcd::residual(calibrate(simulate(0, 1)), other).p99, 2U);
}

/// A range of another width than the variable says nothing, whatever its numbers are.
TEST(BlockTrace, SplitsAVectorWithARangeOfAnotherWidth) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("weft_split_" + std::to_string(getpid()) + ".vcd");
  std::ofstream(file)
      << "$scope module t $end $var wire 8 ! d [2147483647:2147483640] $end "
         "$var wire 8 \" e [2147483647:2147483644] $end $upscope $end $enddefinitions $end\n#0 b0 ! b0 \"\n";
  const Reader reader(file);
  std::vector<StreamNames> parts = parse_streams("valid=t.d", 2, reader);
  EXPECT_EQ(parts.at(0).valid, "t.d[2147483643:2147483640]");
  EXPECT_EQ(parts.at(1).valid, "t.d[2147483647:2147483644]");
  parts = parse_streams("valid=t.e", 2, reader);
  EXPECT_EQ(parts.at(0).valid, "t.e[3:0]");
  EXPECT_EQ(parts.at(1).valid, "t.e[7:4]");
  std::filesystem::remove(file);
}

TEST_F(VcdCalibrate, SaysWhatIsWrong) {
  const auto refused = [](const std::function<void()>& action) -> std::string {
    try {
      action();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  BlockTrace trace = simulate(0, 1);
  BlockTrace none = trace;
  none.output.clear();
  EXPECT_NE(refused([&] { calibrate(none); }).find("expected beats at the inputs and at the output"),
            std::string::npos);
  BlockTrace lasts = trace;
  lasts.inputs[1][7].last = !lasts.inputs[1][7].last;
  EXPECT_NE(refused([&] { calibrate(lasts); }).find("at input 1, as of beat 7 of the output"), std::string::npos);
  BlockTrace early = trace;
  early.output[4].offered = 0;
  EXPECT_NE(refused([&] { calibrate(early); }).find("expected the beat of input 0 before beat 4"), std::string::npos);
  BlockTrace ids = trace;
  ids.output[3].id = "01";
  ids.inputs[0][3].id = "10";
  EXPECT_NE(refused([&] { calibrate(ids); }).find("expected id 01 at input 0, as of beat 3"), std::string::npos);
  const Reader reader(trace.file);
  const auto parse = [&](const std::string& text, std::size_t split) {
    return refused([&] { parse_streams(text, split, reader); });
  };
  EXPECT_EQ(parse("tb.in_", 1), trace.file + ": expected a signal \"tb.in_valid\"");
  EXPECT_NE(parse("valid=tb.valid,rdy=tb.ready", 1).find("got \"rdy=tb.ready\""), std::string::npos);
  EXPECT_NE(parse("ready=tb.ready", 1).find("expected valid=SIGNAL"), std::string::npos);
  EXPECT_EQ(parse("valid=tb.valid", 3),
            trace.file + ": expected tb.valid with a whole number of bits for each of 3 interfaces, got 2");
  EXPECT_EQ(parse("valid=tb.v", 2), trace.file + ": expected a signal \"tb.v\"");
}

}  // namespace
}  // namespace weft::vcd
