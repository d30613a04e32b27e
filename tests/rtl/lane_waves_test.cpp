// SPDX-License-Identifier: Apache-2.0
// Waveforms of hw/rtl/reduction_lane.sv: those of Icarus and Verilator are the same, and each of four faults is found
// and located.
#include <gtest/gtest.h>

#include <bit>

#include "hw/core/random.h"
#include "tests/rtl/lane_stimulus.h"
#include "tests/rtl/simulators.h"
#include "traces/vcd/compare.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kLines = 120;
constexpr std::uint32_t kBackToBack = 60;  // and gaps and stalls after them
constexpr std::uint32_t kTie = 50;         // the only sum that is rounded
constexpr std::uint32_t kFault = 41;       // AT of faulty_lane.sv
constexpr std::uint32_t kFirstId = 1000;

class LaneWaves : public RtlTest {
 protected:
  void SetUp() override {
    if (test::skips_without("iverilog")) return;
    LaneStimulus stimulus(folder_ / "stimulus", folder_ / "expected");
    Random random(1, "waves");
    for (std::uint32_t i = 0; i < kLines; ++i) {
      LaneLine line;
      line.children = line.adds = 7;
      line.last = i % 4 == 3;
      line.id = kFirstId + i;
      for (int child = 0; child < 3; ++child) {
        line.gaps.push_back(i < kBackToBack ? 0 : static_cast<std::uint8_t>(random.next() % 4));
        line.data.push_back({small_number(random), small_number(random)});
      }
      if (i >= kBackToBack) line.stall = random.next() % 4;
      // 1 and half of its last place: stays 1, and goes up if ties do.
      if (i == kTie)
        line.data = {{std::bit_cast<std::uint32_t>(1.0F), 0}, {std::bit_cast<std::uint32_t>(0x1p-24F), 0}, {0, 0}};
      stimulus.write(line);
    }
  }
  static std::uint32_t small_number(Random& random) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(random.next() % 4096));
  }

  /// Waveform of a run with Icarus; `sources` and `options` put a fault in.
  std::string by_icarus(const std::string& name, const std::string& sources = "",
                        const std::string& options = "") const {
    icarus(name, bench("lane_tb.sv") + " " + sources, options);
    return run(name, "vvp -N " + name);
  }
  std::string by_verilator() const { return run("verilator", WEFT_LANE_TB); }
  std::string run(const std::string& name, const std::string& command) const {
    const Outcome outcome = shell(command + " +stimulus=stimulus +vcd=" + name + ".vcd");
    EXPECT_NE(outcome.text.find(says_), std::string::npos) << outcome.text;
    return folder_ / (name + ".vcd");
  }

  static vcd::CompareOptions options(const std::string& reference, const std::string& subject) {
    vcd::CompareOptions options;
    options.reference = reference;
    options.subject = subject;
    options.sampling.clock = "tb.clk";
    options.sampling.reset = "tb.reset";
    return options;
  }
  static vcd::CompareOptions sums(const std::string& reference, const std::string& subject) {
    vcd::CompareOptions sums = options(reference, subject);
    sums.interface = {"tb.lane.out_valid",
                      "tb.lane.out_ready",
                      {"tb.lane.out_data", "tb.lane.out_adds"},
                      "tb.lane.out_last",
                      "tb.lane.out_id"};
    sums.tolerance = 0;
    return sums;
  }
  /// Of the lane against one with a fault.
  vcd::Comparison fault(int number) {
    const std::string right = by_icarus("right");
    // The bench waits for a sum that is lost.
    if (number == 1) says_ = "nothing moves after 119 beats";
    return vcd::compare(
        sums(right, by_icarus("faulty", bench("faults/faulty_lane.sv"), "-DFAULT=" + std::to_string(number))));
  }

  std::string says_ = "done: 120 beats\n";
};

TEST_F(LaneWaves, OfBothSimulatorsAreTheSame) {
  const std::string reference = by_icarus("icarus");
  const std::string subject = by_verilator();
  vcd::CompareOptions transactions = sums(reference, subject);
  transactions.rules = {{"tb.*", "TOP.tb.*"}};
  transactions.input = vcd::Interface{"tb.lane.joined", "tb.lane.advance", {}, "", "tb.in_id"};
  const vcd::Comparison same = vcd::compare(transactions);
  EXPECT_TRUE(same.same()) << same.text();
  EXPECT_EQ(same.reference_items, kLines);
  EXPECT_EQ(same.reference_latency.least, 6);

  vcd::CompareOptions edges = options(reference, subject);
  edges.rules = transactions.rules;
  edges.signals = {"tb.lane.*", "tb.in_*"};
  const vcd::Comparison at_edges = vcd::compare(edges);
  EXPECT_TRUE(at_edges.same()) << at_edges.text();
  EXPECT_GT(at_edges.reference_items, kLines);
  EXPECT_GT(at_edges.names.size(), 15U);
}

TEST_F(LaneWaves, ShowWrongRounding) {
  const std::string faulty = by_icarus("faulty", bench("faults/round_even.sv"));
  const vcd::Comparison found = vcd::compare(sums(by_icarus("right"), faulty));
  EXPECT_EQ(found.different, 1U) << found.text();
  ASSERT_TRUE(found.first.has_value());
  EXPECT_EQ(found.first->index, kTie);
  EXPECT_EQ(found.first->what, "tb.lane.out_data");
  EXPECT_EQ(found.first->expected->values.at(0).substr(32), "00111111100000000000000000000000");
  EXPECT_EQ(found.first->found->values.at(0).substr(32), "00111111100000000000000000000001");
}

TEST_F(LaneWaves, ShowALostSum) {
  const vcd::Comparison found = fault(1);
  EXPECT_EQ(found.reference_items, kLines);
  EXPECT_EQ(found.subject_items, kLines - 1);
  ASSERT_TRUE(found.first.has_value());
  EXPECT_EQ(found.first->index, kFault);
  EXPECT_EQ(found.first->what, "tb.lane.out_data");
  // The next one stands in its place.
  EXPECT_EQ(found.first->found->values, found.first->expected_context.at(4).values);
}

TEST_F(LaneWaves, ShowASumThatComesACycleLate) {
  const vcd::Comparison found = fault(2);
  EXPECT_EQ(found.subject_items, kLines);
  ASSERT_TRUE(found.first.has_value());
  EXPECT_EQ(found.first->index, kFault);
  EXPECT_EQ(found.first->what, "cycle");
  EXPECT_EQ(found.first->found->cycle, found.first->expected->cycle + 1);
  EXPECT_EQ(found.first->found->values, found.first->expected->values);
}

TEST_F(LaneWaves, ShowSwappedIds) {
  const vcd::Comparison found = fault(3);
  EXPECT_EQ(found.different, 2U) << found.text();
  ASSERT_TRUE(found.first.has_value());
  EXPECT_EQ(found.first->index, kFault);
  EXPECT_EQ(found.first->what, "tb.lane.out_id");
  EXPECT_EQ(found.first->found->values.back(), found.first->expected_context.at(4).values.back());
}

}  // namespace
}  // namespace weft::test
