// SPDX-License-Identifier: Apache-2.0
// The order of completions, and mixed traffic of which nothing may be lost.
#include "hw/nic/nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;
using test::pattern_bytes;

TEST(Order, OfCompletionsIsThatOfTheMessagesOfAQueuePair) {
  // A long write, an empty one and a short send: what is quick must not overtake.
  BenchConfig config;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 1, receive(pair.b, 1 << 20, 4096, 0, 6));
  for (std::uint64_t round = 0; round < 2; ++round) {
    bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 0, 9000, 3 * round), static_cast<std::uint32_t>(3 * round)));
    bench.ring_at(1_us, 0, immediate(send(pair.a, 0, 0, 3 * round + 1), static_cast<std::uint32_t>(3 * round + 1)));
    bench.ring_at(1_us, 0, immediate(send(pair.a, 0, 100, 3 * round + 2), static_cast<std::uint32_t>(3 * round + 2)));
  }
  bench.run();
  const auto sent = bench.completions(0);
  const auto got = bench.completions(1);
  ASSERT_EQ(sent.size(), 6u);
  ASSERT_EQ(got.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(sent[i].entry.id, i);
    EXPECT_EQ(got[i].entry.immediate, i) << "the completion at " << to_text(got[i].at) << " overtook another";
  }
}

TEST(Order, HoldsUnderStalls) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    test::fresh_kernel();
    BenchConfig config;
    config.stall = {2_us, seed};
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 1, receive(pair.b, 0, 0, 0, 40));
    for (std::uint32_t i = 0; i < 40; ++i) {
      bench.store(0, i * 10'000, pattern_bytes(10'000, i));
      bench.ring_at(1_us, 0, immediate(write(pair.a, i * 10'000, i * 10'000, 1 + i * 237, i), i));
    }
    bench.run();
    const auto sent = bench.completions(0);
    const auto got = bench.completions(1);
    ASSERT_EQ(sent.size(), 40u);
    ASSERT_EQ(got.size(), 40u);
    for (std::uint32_t i = 0; i < 40; ++i) {
      EXPECT_EQ(sent[i].entry.id, i) << "seed " << seed;
      EXPECT_EQ(got[i].entry.immediate, i) << "seed " << seed;
      const auto expected = pattern_bytes(10'000, i);
      EXPECT_TRUE(
          std::equal(expected.begin(), expected.begin() + 1 + i * 237, bench.load(1, i * 10'000, 10'000).begin()));
    }
  }
}

TEST(Order, AWriteAfterAReadDoesNotCompleteTheRead) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  const auto source = pattern_bytes(200'000, 3);
  bench.store(1, 0, source);
  bench.ring_at(Time(), 0, read(pair.a, 1 << 20, 0, 200'000, 1));
  bench.ring_at(Time(), 0, write(pair.a, 0, 1 << 20, 64, 2));
  bench.ring_at(Time(), 0, read(pair.a, 2 << 20, 0, 1000, 3));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(done[i].entry.id, i + 1);
  // 200,000 bytes take 4 us on the wire: a read that is done before has been answered by another's acknowledgement.
  EXPECT_GT(done[0].at, 4_us);
  EXPECT_TRUE(bench.load(0, 1 << 20, 200'000) == source);
  EXPECT_TRUE(bench.load(0, 2 << 20, 1000) == std::vector<std::byte>(source.begin(), source.begin() + 1000));
}

TEST(Order, AReadAfterARefusedSendIsRepeatedWithIt) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  const auto source = pattern_bytes(50'000, 3);
  bench.store(1, 0, source);
  bench.ring_at(Time(), 0, send(pair.a, 0, 5000, 1));
  bench.ring_at(Time(), 0, read(pair.a, 1 << 20, 0, 50'000, 2));
  bench.ring_at(15_us, 1, receive(pair.b, 4 << 20, 5000));
  bench.run();
  const auto done = bench.completions(0);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].entry.id, 1u);
  EXPECT_EQ(done[1].entry.id, 2u);
  EXPECT_TRUE(bench.load(0, 1 << 20, 50'000) == source);
}

TEST(Order, ReadsOfBothEndsCross) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    bench.store(0, i << 20, pattern_bytes(70'000, i));
    bench.store(1, i << 20, pattern_bytes(70'000, 10 + i));
    bench.ring_at(Time(), 0, read(pair.a, (16 + i) << 20, i << 20, 70'000, i));
    bench.ring_at(Time(), 1, read(pair.b, (16 + i) << 20, i << 20, 70'000, i));
  }
  bench.run();
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(bench.load(0, (16 + i) << 20, 70'000) == pattern_bytes(70'000, 10 + i));
    EXPECT_TRUE(bench.load(1, (16 + i) << 20, 70'000) == pattern_bytes(70'000, i));
    EXPECT_EQ(bench.completions(0).at(i).entry.id, i);
    EXPECT_EQ(bench.completions(1).at(i).entry.id, i);
  }
}

TEST(Order, UnsignaledRequestsCompleteNothing) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  WorkRequest quiet = write(pair.a, 0, 0, 100, 1);
  quiet.signaled = false;
  bench.ring_at(Time(), 0, quiet);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, 100, 2));
  bench.run();
  ASSERT_EQ(bench.completions(0).size(), 1u);
  EXPECT_EQ(bench.completions(0)[0].entry.id, 2u);
}

/// Everything at once, from all to all, with receives that come late: what was sent is what arrives, once.
TEST(Conservation, OfMixedTrafficAmongFour) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    test::fresh_kernel();
    BenchConfig config;
    config.ends = 4;
    config.network.segment = seed % 2 == 0 ? 4_KiB : 8_KiB;
    config.network.link.buffer = 20_KiB;
    config.stall = {seed < 2 ? Time() : 500_ns, seed};
    Bench bench(config);
    std::uint64_t state = seed;
    const auto random = [&state](std::uint64_t below) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return (state >> 33) % below;
    };
    struct Expected {
      std::size_t from;
      std::uint64_t source;
      std::size_t to;
      std::uint64_t target;
      std::uint64_t bytes;
    };
    std::vector<Expected> expected;
    std::vector<std::size_t> completions(4);
    std::uint64_t next = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      bench.store(a, 0, pattern_bytes(1 << 20, a));
      for (std::size_t b = 0; b < 4; ++b) {
        if (a == b) continue;
        const Connection pair = bench.connect(a, b);
        for (int i = 0; i < 12; ++i) {
          const std::uint64_t bytes = random(4) == 0 ? random(3) : random(40'000);
          const std::uint64_t source = random((1 << 20) - 40'000);
          const std::uint64_t target = (2 << 20) + 40'000 * next++;
          const Time when(static_cast<std::int64_t>(random(20'000'000)) + i * 20'000'000);
          ++completions[a];
          if (random(3) == 0) {
            bench.ring_at(when, a, read(pair.a, target, source, bytes));
            expected.push_back({b, source, a, target, bytes});
            continue;
          }
          expected.push_back({a, source, b, target, bytes});
          const bool is_send = random(2) == 0;
          if (is_send) {
            bench.ring_at(when, a, send(pair.a, source, bytes));
          } else {
            bench.ring_at(when, a, immediate(write(pair.a, source, target, bytes), 1));
          }
          // All later receives of this pair come later too, so each belongs to its message.
          bench.ring_at(Time(i * 20'000'000 + static_cast<std::int64_t>(random(19'000'000))), b,
                        receive(pair.b, is_send ? target : 0, bytes));
          ++completions[b];
        }
      }
    }
    bench.run();
    for (const Expected& e : expected) {
      EXPECT_TRUE(bench.load(e.from, e.source, e.bytes) == bench.load(e.to, e.target, e.bytes)) << "seed " << seed;
    }
    std::int64_t received = 0;
    std::int64_t asked = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(bench.completions(i).size(), completions[i]) << "seed " << seed;
      received += bench.nics[i]->counters().bytes_received;
    }
    for (const Expected& e : expected) asked += static_cast<std::int64_t>(e.bytes);
    EXPECT_EQ(received, asked) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::nic
