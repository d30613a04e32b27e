// SPDX-License-Identifier: Apache-2.0
// How long the messages of a network interface take, and how it shares its link.
#include "hw/nic/nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

/// What one message of one byte meets, from the configuration alone.
TEST(Latency, OfOneByteIsTheSumOfItsParts) {
  BenchConfig config;
  config.network.link.propagation = 10_ns;
  config.network.switch_config.latency = 220_ns;
  config.memory.rate = 1000_GBps;
  config.memory.efficiency = 1.0;  // 1 ps a byte
  config.memory.latency = 500_ns;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 1, receive(pair.b, 0, 0));
  bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 4096, 1), 1));
  bench.run();
  const Time wire = 10_ns + 220_ns + 10_ns;
  const Time fetched = 1_us + 20_ns /* message */ + 500_ns + 1_ps /* memory */ + 350_ns /* host link */;
  const Time arrived = fetched + wire + 67 * 20_ps;
  const Time visible = arrived + 500_ns + 1_ps;  // longer than the host link's 250 ns, beside which the memory writes
  const Time acknowledged = arrived + wire + 66 * 20_ps;
  ASSERT_EQ(bench.completions(1).size(), 1u);
  EXPECT_EQ(bench.completions(1)[0].at.count(), visible.count());
  ASSERT_EQ(bench.completions(0).size(), 1u);
  EXPECT_EQ(bench.completions(0)[0].at.count(), (acknowledged + 250_ns).count());
}

// Of what comes from a cache and goes to one, memory is neither waited for nor moved.
TEST(Latency, OfAStoredWriteHasNoMemoryInIt) {
  const auto visible = [](bool stored, Time latency) {
    test::fresh_kernel();
    BenchConfig config;
    config.memory.latency = latency;
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    const std::vector<std::byte> bytes(64, std::byte{7});
    bench.store(0, 0, bytes);
    bench.ring_at(Time(), 1, receive(pair.b, 0, 0));
    WorkRequest request = immediate(write(pair.a, 0, 4096, 64), 1);
    request.stored = stored;
    bench.ring_at(1_us, 0, request);
    bench.run();
    std::vector<std::byte> come(64);
    bench.memories[1]->store().read(4096, come.data(), come.size());
    EXPECT_TRUE(come == bytes);
    return bench.completions(1).at(0).at;
  };
  EXPECT_EQ(visible(true, 500_ns), visible(true, Time()));
  // At the receiver the host link's 250 ns hide half of it.
  EXPECT_GT(visible(false, 500_ns), visible(true, 500_ns) + 500_ns);
}

TEST(Latency, StartsWhenTheDelayOfTheDoorbellIsOver) {
  const auto finish = [](Time when, Time delay) {
    test::fresh_kernel();
    Bench bench;
    const Connection pair = bench.connect(0, 1);
    bench.script.at(when, [&] { bench.ring(0, write(pair.a, 0, 0, 100), delay); });
    bench.run();
    return bench.completions(0).at(0).at;
  };
  EXPECT_EQ(finish(1_us, 2_us), finish(3_us, Time()));
  EXPECT_EQ(finish(3_us, Time()) - finish(1_us, Time()), 2_us);
}

/// Time from the doorbell to the sender's completion of one write.
Time time_of_write(const BenchConfig& config, std::uint64_t bytes) {
  test::fresh_kernel();
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, bytes));
  bench.run();
  return bench.completions(0).at(0).at;
}

TEST(Latency, AReceiveCountsWhenTheDelayOfItsDoorbellIsOver) {
  for (const bool late : {false, true}) {
    test::fresh_kernel();
    Bench bench;
    const Connection pair = bench.connect(0, 1);
    bench.script.at(1_ns, [&] {
      bench.ring(1, receive(pair.b, 0, 64), late ? 15_us : Time());
      bench.ring(0, send(pair.a, 0, 64));
    });
    bench.run();
    // Repeated every 10 us at first.
    EXPECT_EQ(bench.nics[1]->counters().not_ready, late ? 2 : 0);
    EXPECT_EQ(bench.nics[1]->counters().messages_received, 1);
  }
}

TEST(Throughput, OfALongWriteIsThatOfTheLink) {
  BenchConfig config;
  config.data = false;
  const Time mid = time_of_write(config, 1 << 20);
  const Time end = time_of_write(config, 9 << 20);
  EXPECT_EQ((end - mid).count(), (8 << 20) / 4096 * (4096 + 66) * 20);
}

TEST(Throughput, IsThatOfTheHostLinkWhereThatIsSlower) {
  for (const bool at_sender : {true, false}) {
    test::fresh_kernel();
    BenchConfig config;
    config.data = false;
    config.nic.dma_rate = 100_Gbps;
    // A read moves data from end 1 to end 0, a write the other way: both host links are slow, and only one is not
    // hidden.
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    constexpr std::uint64_t kBytes = 8 << 20;
    bench.ring_at(Time(), 0, at_sender ? write(pair.a, 0, 0, kBytes) : read(pair.a, 0, 0, kBytes));
    bench.run();
    const double ratio = static_cast<double>(bench.completions(0).at(0).at.count()) / (kBytes * 80.0);
    EXPECT_GT(ratio, 1.0);
    EXPECT_LT(ratio, 1.01);
  }
}

TEST(Throughput, HardlyDependsOnTheSegment) {
  BenchConfig config;
  config.data = false;
  const auto fine = static_cast<double>(time_of_write(config, 16 << 20).count());
  for (const Bytes segment : {8_KiB, 16_KiB, 64_KiB}) {
    config.network.segment = segment;
    const auto coarse = static_cast<double>(time_of_write(config, 16 << 20).count());
    EXPECT_NEAR(coarse / fine, 1.0, 0.02) << to_text(segment);
  }
}

TEST(Throughput, OfAnIncastIsThatOfTheOneLink) {
  BenchConfig config;
  config.ends = 4;
  config.data = false;
  Bench bench(config);
  constexpr std::uint64_t kBytes = 4 << 20;
  for (std::size_t i = 1; i < 4; ++i) {
    const Connection pair = bench.connect(i, 0);
    bench.ring_at(Time(), i, write(pair.a, 0, 0, kBytes));
  }
  bench.run();
  const std::int64_t packet = (4096 + 66) * 20;
  const std::int64_t bound = 3 * static_cast<std::int64_t>(kBytes / 4096) * packet;
  std::vector<std::int64_t> ends;
  for (std::size_t i = 1; i < 4; ++i) ends.push_back(bench.completions(i).at(0).at.count());
  std::sort(ends.begin(), ends.end());
  EXPECT_GE(ends.back(), bound);
  EXPECT_LE(ends.back(), bound + 3'000'000);  // latencies there and back
  // They take turns: the last packets of the three go one after the other.
  EXPECT_EQ(ends.back() - ends.front(), 2 * packet);
}

class Turns : public testing::TestWithParam<Bytes> {};

TEST_P(Turns, ShareALinkAmongQueuePairs) {
  constexpr std::size_t kPairs = 5;
  test::fresh_kernel();
  BenchConfig config;
  config.ends = 3;
  config.data = false;
  config.nic.turn = GetParam();
  Bench bench(config);
  for (std::size_t i = 0; i < kPairs; ++i) {
    const Connection pair = bench.connect(0, 1 + i % 2);
    bench.ring_at(Time(), 0, write(pair.a, 0, 0, 2 << 20, i));
  }
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), kPairs);
  const std::int64_t packet = (4096 + 66) * 20;
  // They take turns, but the first message was alone when the read-ahead was filled: it ends that many rounds earlier.
  const std::int64_t ahead = nic::Nic::Config::kLeastReadAhead.count() / 4096 + GetParam().count() / 4096;
  EXPECT_LE((done.back().at - done.front().at).count(), static_cast<std::int64_t>(kPairs) * ahead * packet);
  EXPECT_GE(done.front().at.count(), static_cast<std::int64_t>((kPairs - 1) * (2 << 20) / 4096) * packet);
}

INSTANTIATE_TEST_SUITE_P(Bytes, Turns, testing::Values(4_KiB, 64_KiB));

// Of two messages of 64 KiB that are posted together the first is done a turn earlier, and two packets more at the
// most, which it had read before the second came.
TEST(Turn, LastsUntilSoManyBytesHaveBeenCut) {
  const auto earlier = [](Bytes turn, Bytes segment) {
    test::fresh_kernel();
    BenchConfig config;
    config.data = false;
    config.memory.latency = config.nic.read_latency = Time();
    config.nic.read_ahead = 4_KiB;
    config.nic.turn = turn;
    config.network.segment = segment;
    Bench bench(config);
    for (std::uint64_t i = 0; i < 2; ++i) bench.ring_at(Time(), 0, write(bench.connect(0, 1).a, 0, 0, 64 << 10, i));
    bench.run();
    const auto done = bench.completions(0);
    return static_cast<double>((done.at(1).at - done.at(0).at).count()) / ((4096 + 66) * 20);
  };
  for (const auto& [turn, segment, packets] : {std::tuple{4_KiB, 4_KiB, 1},
                                               {16_KiB, 4_KiB, 4},
                                               {64_KiB, 4_KiB, 16},
                                               {64_KiB, 64_KiB, 16},
                                               {4_KiB, 64_KiB, 16}}) {
    EXPECT_NEAR(earlier(turn, segment), packets + 1, 1.1) << turn.count() << " in segments of " << segment.count();
  }
}

/// A segment of several packets begins to leave when its first packet is here, as that packet by itself would.
TEST(Latency, OfTheFirstPacketIsTheSameInAnySegment) {
  const auto visible = [](Bytes segment, int generation) {
    test::fresh_kernel();
    BenchConfig config;
    config.data = false;
    config.network.segment = segment;
    config.nic.pcie.generation = generation;
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 1, receive(pair.b, 0, 0));
    bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 0, 64 << 10), 1));
    bench.run();
    return static_cast<double>(bench.completions(1).at(0).at.count());
  };
  for (const int generation : {0, 5}) {
    const double packets = visible(4_KiB, generation);
    EXPECT_NEAR(visible(16_KiB, generation), packets, 0.01 * packets) << generation;
    EXPECT_NEAR(visible(64_KiB, generation), packets, 0.01 * packets) << generation;
  }
}

TEST(Fairness, WhatLoopsBackDoesNotWaitForTheLink) {
  BenchConfig config;
  config.data = false;
  config.network.link.rate = 1_Gbps;
  Bench bench(config);
  const Connection away = bench.connect(0, 1);
  const Connection here = bench.connect(0, 0);
  bench.ring_at(Time(), 0, write(away.a, 0, 0, 1 << 20, 1));
  bench.ring_at(100_us, 0, write(here.a, 0, 0, 64 << 10, 2));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].entry.id, 2u);
  EXPECT_LT(done[0].at, 106_us);  // where a packet takes 33 us on the link
}

TEST(Fairness, AShortMessageDoesNotWaitBehindALongOneOfAnotherQueuePair) {
  BenchConfig config;
  config.data = false;
  Bench bench(config);
  const Connection big = bench.connect(0, 1);
  const Connection small = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(big.a, 0, 0, 64 << 20, 1));
  bench.ring_at(100_us, 0, write(small.a, 0, 0, 64, 2));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].entry.id, 2u);
  EXPECT_LT(done[0].at, 106_us);
}

}  // namespace
}  // namespace weft::nic
