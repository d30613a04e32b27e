// SPDX-License-Identifier: Apache-2.0
// The adapter between packets and the pins of a lane that adds, around a lane written in SystemC.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/benches/lane_bench.h"
#include "tests/support/benches/standin_lane.h"
#include "tests/support/reports.h"

namespace weft::rtl {
namespace {

using namespace weft::literals;
using test::numbers;

constexpr std::size_t kCycles = 5;
using Lane = test::StandInLane<4, 64, kCycles>;
using LaneBench = test::LaneBench<Lane, 4, 64>;

class ReductionLaneTest : public testing::Test {
 protected:
  void SetUp() override {
    Lane::refuses = 0;
    Lane::fault = Lane::Fault::kNone;
  }
};

TEST_F(ReductionLaneTest, ASumLeavesAfterTheCyclesOfTheLaneAndOneOfTheAdapter) {
  LaneBench bench;
  bench.open(0, {1, 3, 4});
  Random random(1, "");
  // Three beats that are all there at 1000.3 ns: on the pins from 1001 ns on, taken at 1002, 1003 and 1004 ns.
  for (const std::uint16_t port : {1, 3, 4}) bench.take(1000_ns + 300_ps, 0, port, 7, numbers(random, 3 * 64));
  bench.run();
  ASSERT_EQ(bench.sums.size(), 1U);
  EXPECT_EQ(bench.sums[0].head, Time(1'001'000 + (1 + kCycles) * 1'000));
  EXPECT_EQ(bench.sums[0].whole, bench.sums[0].head + 2_ns);
}

TEST_F(ReductionLaneTest, BeatsFollowTheBytesOfTheSlowestOperandAndASumOfLowLatencyLeavesWhole) {
  for (const bool streaming : {true, false}) {
    test::fresh_kernel();
    LaneBench bench;
    bench.open(0, {0, 1}, streaming);
    Random random(1, "");
    // Of 64 bytes of header and four beats, one comes each 20 ns from 1020 ns on.
    bench.take(900_ns, 0, 0, 7, numbers(random, 4 * 64));
    bench.take(1000_ns, 0, 1, 7, numbers(random, 4 * 64), 100_ns);
    bench.run();
    ASSERT_EQ(bench.sums.size(), 1U);
    const Time lane = Time((1 + kCycles) * 1'000);
    EXPECT_EQ(bench.sums[0].whole, 1100_ns + lane);
    EXPECT_EQ(bench.sums[0].head, streaming ? 1040_ns + lane : bench.sums[0].whole);
  }
}

TEST_F(ReductionLaneTest, TheClockHasTheEdgesOfOneWithoutEndAndStandsStillBetween) {
  constexpr Frequency kOdd = Frequency(300'000'000);  // a period of 3333.3 ps
  LaneBench bench(kOdd);
  bench.open(0, {0, 1});
  Random random(1, "");
  for (const Time at : {1_us, 500_us}) {
    for (const std::uint16_t port : {0, 1}) bench.take(at, 0, port, at == 1_us ? 1 : 2, numbers(random, 64));
  }
  bench.run();
  ASSERT_EQ(bench.sums.size(), 2U);
  EXPECT_EQ(bench.sums[0].head, cycle_time(300 + 1 + kCycles, kOdd));
  EXPECT_EQ(bench.sums[1].head, cycle_time(150'000 + 1 + kCycles, kOdd));
  // Four of reset, and each sum's: from the edge at which its beats go to the pins to the one at which it is there.
  EXPECT_EQ(bench.engine->counters().cycles, 4 + 2 * static_cast<std::int64_t>(2 + kCycles));
}

TEST_F(ReductionLaneTest, FollowsTheOrderInWhichChunksAreCompleteAndTakesABeatEachCycle) {
  LaneBench bench;
  bench.open(0, {0, 1});
  Random random(1, "");
  constexpr std::uint32_t kChunks = 8;
  for (std::uint32_t psn = 0; psn < kChunks; ++psn) {
    bench.take(1_us, 0, 0, psn, numbers(random, 256));
    bench.take(2_us, 0, 1, (psn * 3) % kChunks, numbers(random, 256));
  }
  bench.run();
  ASSERT_EQ(bench.sums.size(), kChunks);
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    EXPECT_EQ(bench.sums[i].psn, (i * 3) % kChunks);
    EXPECT_EQ(bench.sums[i].whole, bench.sums[0].whole + i * 4_ns);
  }
}

TEST_F(ReductionLaneTest, AddsWhatTheModelAddsWhateverComesWhenAndTakesTheSameTimeWithoutData) {
  for (const double refuses : {0.0, 0.4}) {
    Lane::refuses = refuses;
    std::vector<Time> heads;
    for (const bool data : {true, false}) {
      test::fresh_kernel();
      LaneBench bench(Frequency(700'000'000));
      const std::vector<Time> found = test::add_at_random(bench, 200, data);
      if (data) heads = found;
      EXPECT_EQ(found, heads);
    }
  }
}

TEST_F(ReductionLaneTest, WhatTheLaneDoesWrongEndsTheRun) {
  const auto message = [](Lane::Fault fault) {
    test::fresh_kernel();
    Lane::fault = fault;
    LaneBench bench;
    bench.open(0, {0, 1});
    const std::vector<std::byte> one(64);
    for (const std::uint16_t port : {0, 1}) {
      bench.script.at(1_us, [&bench, port, &one] {
        Packet* packet = bench.packets.take();
        packet->payload_bytes = packet->wire_bytes = 64;
        bench.engine->take(0, port, *packet, 1_us);
      });
    }
    const test::ExpectReports reports;
    EXPECT_THROW(sc_core::sc_start(), sc_core::sc_report);
    return reports.messages().empty() ? std::string("nothing") : reports.messages().back();
  };
  EXPECT_EQ(message(Lane::Fault::kError), "weft.rtl: reduction: at 1006ns its error pin is 1");
  EXPECT_EQ(message(Lane::Fault::kWrongId),
            "weft.rtl: reduction: at 1006ns it gave a beat with id 1, last 1, adds 1 where the next one had id 0, last "
            "1, adds 1");
  EXPECT_EQ(message(Lane::Fault::kDeaf),
            "weft.rtl: reduction: at 101us it has neither taken nor given a beat for 100000 cycles");
}

}  // namespace
}  // namespace weft::rtl
