// SPDX-License-Identifier: Apache-2.0
// The adapter between packets and the pins of a lane that adds, around a lane written in SystemC.
#include "hw/rtl/reduction_lane.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hw/fabric/reduction_model.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"
#include "tests/support/sockets.h"
#include "tests/support/standin_lane.h"

namespace weft::rtl {
namespace {

using namespace weft::literals;
using fabric::ReductionEngine;

constexpr std::size_t kCycles = 5;
using Lane = test::StandInLane<4, 64, kCycles>;

/// The adapter with a lane, and the model with the same operands to compare with.
class LaneBench {
 public:
  struct Sum {
    std::uint32_t psn;
    std::uint32_t source;
    Time head;
    Time whole;
    std::vector<std::byte> bytes;
  };

  explicit LaneBench(Frequency clock = 1000_MHz, const LaneShape& shape = {4, 64})
      : dispatcher("dispatcher"), script("script", dispatcher) {
    config.trees = 4;
    config.clock = clock;
    model = std::make_unique<fabric::ReductionModel>(config, 8, packets);
    const auto pass_on = [this](Packet& sum, Time head) {
      sums.push_back({sum.psn, sum.source, head, dispatcher.now(), bytes_of(sum)});
      packets.give_back(&sum);
    };
    const PinsMaker pins = [](auto& clk, auto& reset) {
      return std::make_unique<ReductionLane<Lane, 4, 64>>(clk, reset);
    };
    engine = std::make_unique<ReductionLaneEngine>("reduction", shape, pins,
                                                   fabric::ReductionSite{config, 8, dispatcher, packets, pass_on});
  }

  void open(std::uint32_t group, const std::vector<std::uint16_t>& children, bool streaming = true) {
    const ReductionEngine::Tree tree{children, 16, streaming, false};
    EXPECT_TRUE(engine->open(group, tree));
    EXPECT_TRUE(model->open(group, tree));
  }
  /// An operand that begins to come at `at` and takes `lag`. The model gets the same one.
  void take(Time at, std::uint32_t group, std::uint16_t port, std::uint32_t psn, std::vector<std::byte> bytes,
            Time lag = 0_ns, ElementType type = ElementType::kFp32, bool data = true) {
    script.at(at, [=, this] {
      const auto outcome = engine->take(group, port, *operand(port, psn, bytes, lag, type, data), at);
      EXPECT_EQ(outcome.consumed, at + lag);
      EXPECT_EQ(outcome.sum, nullptr);
      Packet* sum = model->take(group, port, *operand(port, psn, bytes, lag, type, data), at).sum;
      if (sum == nullptr) return;
      expected.push_back({sum->psn, sum->source, Time(), Time(), bytes_of(*sum)});
      packets.give_back(sum);
    });
  }
  void run() {
    sc_core::sc_start();
    EXPECT_EQ(engine->open_chunks(), 0U);
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(packets.payloads_outstanding(), 0);
    EXPECT_EQ(sums.size(), expected.size());
    for (const Sum& sum : sums) {
      const auto found = std::find_if(expected.begin(), expected.end(), [&sum](const Sum& each) {
        return each.psn == sum.psn;  // of all groups
      });
      ASSERT_NE(found, expected.end());
      EXPECT_EQ(sum.source, found->source) << "chunk " << sum.psn;
      EXPECT_EQ(sum.bytes, found->bytes) << "chunk " << sum.psn;
    }
  }

  PacketPool packets;
  Dispatcher dispatcher;
  test::Script script;
  ReductionEngine::Config config;
  std::unique_ptr<fabric::ReductionModel> model;
  std::unique_ptr<ReductionLaneEngine> engine;
  std::vector<Sum> sums;
  std::vector<Sum> expected;

 private:
  static std::vector<std::byte> bytes_of(const Packet& packet) {
    if (packet.payload == nullptr) return {};
    return {packet.payload, packet.payload + packet.payload_bytes};
  }
  Packet* operand(std::uint16_t port, std::uint32_t psn, const std::vector<std::byte>& bytes, Time lag,
                  ElementType type, bool data) {
    Packet* packet = packets.take();
    packet->source = port;
    packet->psn = psn;
    packet->opcode = Opcode::kReduce;
    packet->queue_pair = static_cast<std::uint32_t>(type);
    packet->payload_bytes = static_cast<std::uint32_t>(bytes.size());
    packet->wire_bytes = packet->payload_bytes + 64;
    packet->tail_lag_ps = static_cast<std::uint32_t>(lag.count());
    if (bytes.empty() || !data) return packet;
    packets.attach_payload(*packet, packet->payload_bytes);
    std::memcpy(packet->payload, bytes.data(), bytes.size());
    return packet;
  }
};

/// Numbers of any size, so that the order of addition shows in the sum.
std::vector<std::byte> numbers(Random& random, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    const auto value = std::ldexp(static_cast<float>(random.share()) - 0.5F, static_cast<int>(random.next() % 40) - 20);
    std::memcpy(&all[i], &value, 4);
  }
  return all;
}

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

/// Trees of different children and element types, members that abstain, odd sizes, operands at random times, and a lane
/// that refuses beats.
TEST_F(ReductionLaneTest, AddsWhatTheModelAddsWhateverComesWhen) {
  const std::vector<std::vector<std::uint16_t>> trees = {{0, 1, 2, 3}, {1, 5}, {2, 4, 7}, {6}};
  for (const double refuses : {0.0, 0.4}) {
    std::vector<Time> heads;
    for (const bool data : {true, false}) {
      test::fresh_kernel();
      Lane::refuses = refuses;
      LaneBench bench(Frequency(700'000'000));
      Random random(3, "");
      for (std::uint32_t group = 0; group < trees.size(); ++group) bench.open(group, trees[group], group != 2);
      for (std::uint32_t psn = 0; psn < 200; ++psn) {
        const auto group = static_cast<std::uint32_t>(random.next() % trees.size());
        const auto type = static_cast<ElementType>(random.next() % 4);
        const std::size_t bytes = 4 * (random.next() % 200);
        for (const std::uint16_t port : trees[group]) {
          const Time at = 1_us + Time(static_cast<std::int64_t>(random.next() % 6'000'000));
          const Time lag = Time(static_cast<std::int64_t>(random.next() % 300'000));
          const bool abstains = random.next() % 5 == 0;
          bench.take(at, group, port, psn, numbers(random, abstains ? 0 : bytes), lag, type, data);
        }
      }
      bench.run();
      // Without data it takes the same time.
      for (std::size_t i = 0; i < bench.sums.size(); ++i) {
        if (data) heads.push_back(bench.sums[i].head);
        EXPECT_EQ(bench.sums[i].head, heads.at(i));
        EXPECT_GE(bench.sums[i].whole, bench.sums[i].head);
      }
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
  EXPECT_EQ(
      message(Lane::Fault::kWrongId),
      "weft.rtl: reduction: at 1006ns it gave a beat with id 1, last 1, adds 1 where the next one had id 0, last "
      "1, adds 1");
  EXPECT_EQ(message(Lane::Fault::kDeaf),
            "weft.rtl: reduction: at 101us it has neither taken nor given a beat for 100000 cycles");
}

}  // namespace
}  // namespace weft::rtl
