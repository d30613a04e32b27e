// SPDX-License-Identifier: Apache-2.0
// DCQCN: the rate of a queue pair by the paper's rules, and flows that share a bottleneck.
#include "hw/nic/congestion/dcqcn.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

TEST(RateControl, StartsFree) {
  const RateControl::Config config;
  RateControl control(config, 40_Gbps);
  control.sent(1_ms, 1 << 30);
  control.advance(1'000_ms);
  EXPECT_FALSE(control.limited());
  EXPECT_EQ(control.rate(), 40_Gbps);
}

TEST(RateControl, HalvesAtTheFirstNotificationAndRecoversByHalves) {
  const RateControl::Config config;
  RateControl control(config, 40_Gbps);
  control.congested(1_ms);
  EXPECT_TRUE(control.limited());
  EXPECT_EQ(control.rate(), 20_Gbps);
  EXPECT_EQ(control.target(), 40_Gbps);
  EXPECT_DOUBLE_EQ(control.alpha(), 1.0);
  control.advance(1_ms + 55_us - 1_ps);
  EXPECT_EQ(control.rate(), 20_Gbps);
  control.advance(1_ms + 55_us);
  EXPECT_EQ(control.rate(), 30_Gbps);
  EXPECT_DOUBLE_EQ(control.alpha(), 255.0 / 256);
  control.advance(1_ms + 110_us);
  EXPECT_EQ(control.rate(), 35_Gbps);
  control.advance(100_ms);
  EXPECT_FALSE(control.limited());
  EXPECT_EQ(control.rate(), 40_Gbps);
}

TEST(RateControl, CutsByAlphaAndRaisesItsTargetAfterFastRecovery) {
  const RateControl::Config config;
  RateControl control(config, 40_Gbps);
  control.congested(Time());
  control.congested(50_us);
  EXPECT_EQ(control.rate(), 10_Gbps);
  EXPECT_EQ(control.target(), 20_Gbps);
  control.advance(50_us + 4 * 55_us);
  EXPECT_EQ(control.target(), 20_Gbps) << "four of five increases of fast recovery";
  EXPECT_EQ(control.rate(), Rate(19'375'000'000));
  control.advance(50_us + 5 * 55_us);
  EXPECT_EQ(control.target(), Rate(20'040'000'000));
  control.advance(50_us + 7 * 55_us);
  EXPECT_EQ(control.target(), Rate(20'120'000'000));
  // Hyper increase needs as many rounds of bytes.
  for (int round = 1; round <= 5; ++round) control.sent(50_us + 7 * 55_us, 10'000'000);
  EXPECT_EQ(control.target(), Rate(20'320'000'000));
  control.sent(50_us + 7 * 55_us, 10'000'000);
  EXPECT_EQ(control.target(), Rate(20'720'000'000));
}

TEST(RateControl, StaysBetweenMinimumAndLink) {
  const RateControl::Config config;
  RateControl control(config, 40_Gbps);
  for (int i = 0; i < 100; ++i) control.congested(50_us * i);
  EXPECT_EQ(control.rate(), Rate(40'000'000));
  control.advance(10'000_ms);
  EXPECT_EQ(control.rate(), 40_Gbps);
}

/// What is not set follows the link: the same increases lead back at any rate.
TEST(RateControl, ComesBackInTheSameTimeAtAnyRate) {
  const RateControl::Config config;
  RateControl slow(config, 40_Gbps);
  RateControl fast(config, 400_Gbps);
  for (int i = 0; i < 20; ++i) {
    slow.congested(50_us * i);
    fast.congested(50_us * i);
  }
  EXPECT_EQ(fast.rate(), 10 * slow.rate());
  for (int i = 1; i <= 400; ++i) {
    const Time at = 1_ms + 55_us * i;
    slow.sent(at, 1'000'000);
    fast.sent(at, 10'000'000);
    EXPECT_NEAR(static_cast<double>(fast.rate().count()), 10.0 * static_cast<double>(slow.rate().count()), 1000);
    EXPECT_EQ(fast.limited(), slow.limited());
  }
  RateControl::Config own;
  own.minimum = 1_Gbps;
  RateControl kept(own, 400_Gbps);
  for (int i = 0; i < 100; ++i) kept.congested(50_us * i);
  EXPECT_EQ(kept.rate(), 1_Gbps);
}

TEST(RateControl, RefusesRatesThatWouldNeverComeBack) {
  const CongestionScheme scheme = dcqcn_scheme();
  RateControl::Config config;
  EXPECT_NO_THROW(scheme.check(config, "nic.dcqcn"));
  config.minimum = Rate(999'999);
  try {
    scheme.check(config, "nic.dcqcn");
    ADD_FAILURE() << "it has been taken";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "nic.dcqcn.minimum: expected at least 1Mbps, or 0, got 999999bps");
  }
}

// --- In network interfaces ---

/// Ends on links of 40 Gb/s, of which the last has a slower way in that marks what has to wait.
BenchConfig bottleneck(int ends, Rate rate) {
  BenchConfig config;
  config.ends = ends;
  config.data = false;
  config.network.link.rate = 40_Gbps;
  config.network.link.buffer = 4_MiB;
  config.nic.congestion = "dcqcn";
  config.wire = test::LossyWire::Config{};
  config.wire->rate = rate;
  config.wire->mark_above = 100_KiB;
  return config;
}

TEST(Dcqcn, FollowsTheRateOfABottleneckAndEnds) {
  Bench bench(bottleneck(2, 10_Gbps));
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, 62'500'000));
  std::vector<Rate> rates;
  for (int i = 0; i < 20; ++i) {
    bench.script.at(1_us + 1_ms * i * (i + 1) / 8, [&] { rates.push_back(bench.nics[0]->rate(pair.a)); });
  }
  bench.run();
  EXPECT_EQ(rates[0], 40_Gbps);
  EXPECT_LT(rates[2], 5_Gbps) << "alpha begins at 1, so the first notifications cut deep";
  for (std::size_t i = 12; i < rates.size(); ++i) {
    EXPECT_LT(rates[i], 11_Gbps);
    EXPECT_GT(rates[i], 8_Gbps);
  }
  const Nic::Counters& receiver = bench.nics[1]->counters();
  EXPECT_GT(receiver.notifications, 5);
  EXPECT_EQ(bench.nics[0]->counters().rate_cuts, receiver.notifications);
  // 62.5 MB and headers at 10 Gb/s are 50.8 ms, and the climb from the first cuts costs half of its 13 ms.
  // After it the rate goes up and down just below the bottleneck's.
  const Time done = bench.completions(0).at(0).at;
  EXPECT_GT(done, 50_ms);
  EXPECT_LT(done, 62_ms);
  EXPECT_LT(bench.dispatcher.now(), done + 1_ms) << "nothing goes on after the last packet";
}

TEST(Dcqcn, RecoversWhenTheCongestionIsOver) {
  Bench bench(bottleneck(3, 10_Gbps));
  const Connection slow = bench.connect(0, 2);
  bench.ring_at(Time(), 0, write(slow.a, 0, 0, 1'000'000));
  bench.script.at(700_us, [&] { EXPECT_LT(bench.nics[0]->rate(slow.a), 20_Gbps); });
  bench.script.at(200_ms, [&] { EXPECT_EQ(bench.nics[0]->rate(slow.a), 40_Gbps); });
  bench.run();
}

TEST(Dcqcn, APacedQueuePairDoesNotHoldUpOthers) {
  BenchConfig config = bottleneck(3, 40_Gbps);
  config.wire->mark = [](const Packet& packet) { return packet.destination == 2; };
  Bench bench(config);
  const Connection marked = bench.connect(0, 2);
  const Connection free = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(marked.a, 0, 0, 20'000'000, 1));
  bench.ring_at(1_ms, 0, write(free.a, 0, 0, 5'000'000, 2));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].entry.id, 2u);
  EXPECT_LT(done[0].at - 1_ms, 1'100_us) << "5 MB take 1.02 ms of a link that is otherwise nearly idle";
}

/// Flows that start one after the other end up with equal shares, and fill the bottleneck.
class Shares : public testing::TestWithParam<int> {};

TEST_P(Shares, AreEqual) {
  const int flows = GetParam();
  BenchConfig config = bottleneck(flows + 1, 40_Gbps);
  const Time from = 100_ms;
  const Time until = 150_ms;
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(flows));
  Dispatcher* clock = nullptr;
  config.wire->lose = [&](const Packet& packet) {
    if (packet.opcode == Opcode::kWrite && clock->now() >= from) bytes[packet.source] += packet.payload_bytes;
    return false;
  };
  Bench bench(config);
  clock = &bench.dispatcher;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Connection pair = bench.connect(i, bytes.size());
    bench.ring_at(static_cast<std::int64_t>(i) * 1_ms, i, write(pair.a, 0, 0, 1 << 30));
  }
  bench.dispatcher.run_until(until);
  std::int64_t sum = 0;
  for (std::int64_t& each : bytes) sum += each /= 2;  // seen at both ends
  const double share = static_cast<double>(sum) / flows;
  for (const std::int64_t each : bytes) EXPECT_NEAR(static_cast<double>(each) / share, 1, 0.1);
  EXPECT_GT(static_cast<double>(sum), 0.9 * 50e-3 * 40e9 / 8);
}

INSTANTIATE_TEST_SUITE_P(Flows, Shares, testing::Values(2, 4, 16));

}  // namespace
}  // namespace weft::nic
