// SPDX-License-Identifier: Apache-2.0
// A reduction engine cycle by cycle: the times of its pipeline, and what bounded buffers hold back.
#include "hw/fabric/reduction/modelled_lane.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/benches/lane_bench.h"
#include "tests/support/benches/standin_lane.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using test::EngineBench;
using test::numbers;
using Stall = ReductionEngine::Stall;

constexpr std::int64_t kPlenty = 1 << 30;

/// A pipeline of five cycles, which has all the room that it needs until a test takes it away.
ReductionEngine::Config config_of(Stall stall) {
  ReductionEngine::Config config;
  config.latency = 5_ns;
  config.sum_buffer = Bytes(kPlenty);
  config.pipeline.stall = stall;
  return config;
}

TEST(ModelledLane, HasTheTimesOfALaneWithItsLatency) {
  EngineBench bench(config_of(Stall::kRigid));
  bench.open(0, {1, 3, 4});
  Random random(1, "");
  // As the lane of reduction_lane_test.cpp.
  for (const std::uint16_t port : {1, 3, 4}) bench.take(1000_ns + 300_ps, 0, port, 7, numbers(random, 3 * 64));
  bench.run();
  ASSERT_EQ(bench.sums.size(), 1U);
  EXPECT_EQ(bench.sums[0].head, 1001_ns + 6_ns);
  EXPECT_EQ(bench.sums[0].whole, bench.sums[0].head + 2_ns);
}

TEST(ModelledLane, TakesFewerBytesOfSlowerTypesAndPausesBetweenPackets) {
  const auto whole = [](ElementType type, int pause) {
    test::fresh_kernel();
    ReductionEngine::Config config = config_of(Stall::kRigid);
    config.bf16 = 16;
    config.pipeline.pause = pause;
    EngineBench bench(config);
    bench.open(0, {0, 1});
    for (const std::uint32_t psn : {1, 2}) {
      for (const std::uint16_t port : {0, 1}) bench.take(1_us, 0, port, psn, std::vector<std::byte>(256), {}, type);
    }
    bench.run();
    return bench.sums.back().whole;
  };
  const Time first = 1_us + 6_ns;
  EXPECT_EQ(whole(ElementType::kFp32, 0), first + 7_ns);
  EXPECT_EQ(whole(ElementType::kBf16, 0), first + 28_ns);
  EXPECT_EQ(whole(ElementType::kFp32, 3), first + 10_ns);
}

TEST(ModelledLane, AddsWhatTheModelAddsHoweverItIsHeldUp) {
  for (const Stall stall : {Stall::kRigid, Stall::kElastic}) {
    for (const int tight : {0, 1, 2}) {
      SCOPED_TRACE(tight);
      test::fresh_kernel();
      ReductionEngine::Config config = config_of(stall);
      config.clock = Frequency(700'000'000);
      if (tight > 0) {
        config.sum_buffer = Bytes(1000);
        config.operand_buffer = Bytes(2000);
        config.pipeline.queue = Bytes(tight == 1 ? 0 : 256);
        config.pipeline.registered = true;
        config.pipeline.depth = Bytes(tight == 1 ? 64 : 512);
      }
      EngineBench bench(config);
      bench.sum_takes = tight > 0 ? 40_ns : Time();
      test::add_at_random(bench, 200, true);
      EXPECT_EQ(bench.engine->counters().blocked > 0, tight > 0);
      EXPECT_EQ(bench.engine->counters().held > 0, tight > 0);
      EXPECT_EQ(bench.releases.size(), static_cast<std::size_t>(tight > 0 ? bench.engine->counters().operands : 0));
    }
  }
}

/// Ten packets of four beats, of which one leaves the switch each 100 ns.
EngineBench::Config slow_output(Stall stall, std::int64_t room) {
  EngineBench::Config config = config_of(stall);
  config.sum_buffer = Bytes(room);
  config.operand_buffer = Bytes(kPlenty);
  config.pipeline.depth = Bytes(8 * 64);
  return config;
}

template <typename Bench>
std::vector<Time> heads_of(Bench& bench) {
  bench.sum_takes = 100_ns;
  bench.open(0, {0, 1});
  Random random(1, "");
  for (std::uint32_t psn = 0; psn < 10; ++psn) {
    for (const std::uint16_t port : {0, 1}) bench.take(1_us, 0, port, psn, numbers(random, 256));
  }
  bench.run();
  std::vector<Time> heads;
  for (const auto& sum : bench.sums) heads.push_back(sum.head);
  return heads;
}

TEST(ModelledLane, AFullBufferOfSumsBlocksTheOutput) {
  for (const Stall stall : {Stall::kRigid, Stall::kElastic}) {
    test::fresh_kernel();
    // Room for two: the third waits until the first has left, 100 ns after its last byte.
    EngineBench bench(slow_output(stall, 512));
    const std::vector<Time> heads = heads_of(bench);
    ASSERT_EQ(heads.size(), 10U);
    EXPECT_EQ(heads[0], 1006_ns);
    EXPECT_EQ(heads[1], 1010_ns);
    const Time left = 1009_ns + 100_ns;
    EXPECT_EQ(heads[2], left + 1_ns);
    for (std::size_t i = 3; i < heads.size(); ++i) EXPECT_EQ(heads[i], heads[i - 1] + 100_ns);
    EXPECT_GT(bench.engine->counters().blocked, 700);
  }
}

/// Without room for the next one, what is inside differs by the way it stalls, and so does what the inputs keep.
TEST(ModelledLane, InputsStandWithARigidPipelineAndGoOnUntilAnElasticOneIsFull) {
  const auto releases = [](Stall stall) {
    test::fresh_kernel();
    EngineBench::Config config = slow_output(stall, 256);
    config.operand_buffer = Bytes(256);
    EngineBench bench(config);
    heads_of(bench);
    std::vector<Time> of_port;
    for (const auto& release : bench.releases) {
      if (release.port == 0) of_port.push_back(release.gone);
    }
    return of_port;
  };
  const std::vector<Time> rigid = releases(Stall::kRigid);
  const std::vector<Time> elastic = releases(Stall::kElastic);
  ASSERT_EQ(rigid.size(), 10U);
  ASSERT_EQ(elastic.size(), 10U);
  // The first fits. The second's place is needed until the lane has taken the first, a beat a cycle from 1002 ns on.
  EXPECT_EQ(rigid[0], 1_us);
  EXPECT_EQ(elastic[0], 1_us);
  EXPECT_EQ(rigid[1], 1001_ns + 3_ns);
  // The lane holds five beats when the second sum comes to its output and is blocked, and eight in the other case.
  EXPECT_EQ(elastic[1], rigid[1]);
  EXPECT_EQ(elastic[2], rigid[2]);
  EXPECT_LT(elastic[3], rigid[3]);
  for (std::size_t i = 4; i < 10; ++i) EXPECT_GE(rigid[i] - rigid[i - 1], 90_ns);
}

/// The same with a lane of another kind in the place of the model, for RTL.
TEST(ModelledLane, ALaneBehindPinsIsBlockedAlike) {
  using Lane = test::StandInLane<4, 64, 5>;
  Lane::refuses = 0;
  std::vector<std::vector<Time>> heads;
  {
    test::LaneBench<Lane, 4, 64> bench(slow_output(Stall::kRigid, 512));
    heads.push_back(heads_of(bench));
    EXPECT_GT(bench.engine->counters().blocked, 700);
  }
  test::fresh_kernel();
  EngineBench bench(slow_output(Stall::kRigid, 512));
  EXPECT_EQ(heads.front(), heads_of(bench));
}

TEST(ModelledLane, AnInputsQueueTakesWhatTheOthersLack) {
  const auto releases = [](std::int64_t queue) {
    test::fresh_kernel();
    EngineBench::Config config = config_of(Stall::kRigid);
    config.operand_buffer = Bytes(64);
    config.pipeline.queue = Bytes(queue);
    EngineBench bench(config);
    bench.open(0, {0, 1});
    bench.take(1000_ns, 0, 0, 1, std::vector<std::byte>(256));
    // All of its header and first beat come at once, the others each 100 ns.
    bench.take(1000_ns, 0, 1, 1, std::vector<std::byte>(256), 500_ns);
    bench.run();
    EXPECT_EQ(bench.sums.at(0).whole, 1506_ns);
    return bench.releases;
  };
  using Releases = std::vector<EngineBench::Release>;
  // A buffer of one beat: port 0's place is free when three of four beats have gone to the lane.
  EXPECT_EQ(releases(0), (Releases{{0, 1401_ns}, {1, 1500_ns}}));
  EXPECT_EQ(releases(64), (Releases{{0, 1301_ns}, {1, 1500_ns}}));
  EXPECT_EQ(releases(128), (Releases{{0, 1201_ns}, {1, 1500_ns}}));
}

}  // namespace
}  // namespace weft::fabric
