// SPDX-License-Identifier: Apache-2.0
// Contexts of queue pairs that miss: which are kept, what a miss costs, and that nothing overtakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>

#include "hw/core/random.h"
#include "hw/nic/context_cache.h"
#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace test_bench;

TEST(ContextCache, KeepsThoseUsedLast) {
  for (const int entries : {1, 2, 7, 32}) {
    ContextCache cache(entries);
    std::deque<std::uint32_t> kept;  // the reference: latest first
    Random random(static_cast<std::uint64_t>(entries), "contexts");
    for (int i = 0; i < 20'000; ++i) {
      const auto number = static_cast<std::uint32_t>(random.share() * 24);
      const auto found = std::find(kept.begin(), kept.end(), number);
      ASSERT_EQ(cache.use(number), found != kept.end()) << entries << " entries, use " << i;
      if (found != kept.end()) kept.erase(found);
      kept.push_front(number);
      if (kept.size() > static_cast<std::size_t>(entries)) kept.pop_back();
    }
  }
}

BenchConfig with_entries(int entries) {
  BenchConfig config;
  config.nic.context_cache.entries = entries;
  return config;
}

/// When a first write of one packet completes, and a second one of the same queue pair, each by itself.
std::vector<Time> two_writes(const BenchConfig& config) {
  test::fresh_kernel();
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(pair.a, 0x1000, 0x2000, 1024, 1));
  bench.ring_at(100_us, 0, write(pair.a, 0x1000, 0x2000, 1024, 2));
  bench.run();
  const auto entries = bench.completions(0);
  EXPECT_EQ(entries.size(), 2u);
  return {entries[0].at, entries[1].at - 100_us};
}

TEST(Contexts, CostAReadAtEachEndWhenTheyMiss) {
  const std::vector<Time> free = two_writes(BenchConfig());
  BenchConfig config = with_entries(1);
  const std::vector<Time> charged = two_writes(config);
  const Time read = config.nic.read_latency + transfer_time(512_B, config.nic.dma_rate);
  // The sender's before its first packet, the receiver's before it takes it; the acknowledgement finds the sender's.
  EXPECT_EQ(charged[0] - free[0], read * 2);
  EXPECT_EQ(charged[1], free[1]) << "the context has stayed";
  config.nic.context_cache.context = 4_KiB;
  EXPECT_EQ(two_writes(config)[0] - free[0], (config.nic.read_latency + transfer_time(4_KiB, config.nic.dma_rate)) * 2);
  config.nic.context_cache.context = 512_B;
  config.nic.pcie.generation = 4;
  BenchConfig plain = config;
  plain.nic.context_cache.entries = 0;
  EXPECT_GE(two_writes(config)[0] - two_writes(plain)[0], read * 2) << "over PCI Express";
}

TEST(Contexts, AreCountedAtBothEnds) {
  Bench bench(with_entries(2));
  const std::array<Connection, 3> pairs = {bench.connect(0, 1), bench.connect(0, 1), bench.connect(0, 1)};
  // Three in turn never find theirs in two places, and one alone does.
  for (int i = 0; i < 6; ++i) {
    bench.ring_at(Time(100'000'000LL * i), 0, write(pairs[static_cast<std::size_t>(i % 3)].a, 0, 0x2000, 64));
  }
  for (int i = 6; i < 10; ++i) bench.ring_at(Time(100'000'000LL * i), 0, write(pairs[2].a, 0, 0x2000, 64));
  bench.run();
  const auto& sender = bench.nics[0]->counters();
  const auto& receiver = bench.nics[1]->counters();
  EXPECT_EQ(sender.context_misses, 6);
  EXPECT_EQ(sender.context_hits, 6 + 4 * 2) << "acknowledgements, and the last four messages";
  EXPECT_EQ(receiver.context_misses, 6);
  EXPECT_EQ(receiver.context_hits, 4);
}

TEST(Contexts, OfOthersDoNotHoldUpAQueuePairWhoseIsThere) {
  Bench bench(with_entries(2));
  const Connection here = bench.connect(0, 1);
  const Connection missing = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(here.a, 0, 0x2000, 64, 1));
  bench.ring_at(100_us, 0, write(missing.a, 0, 0x2000, 64, 2));
  bench.ring_at(100_us, 0, write(here.a, 0, 0x2000, 64, 3));
  bench.run();
  const auto entries = bench.completions(0);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[1].entry.id, 3u);
  EXPECT_EQ(entries[2].entry.id, 2u);
}

struct Variant {
  const char* name;
  bool recovery;
  Bytes reorder;
  int generation;
  bool lossy;
};
class ContextsOf : public testing::TestWithParam<Variant> {};

TEST_P(ContextsOf, ManyQueuePairsMissWithoutAnyOvertaking) {
  const Variant& variant = GetParam();
  for (const int entries : {1, 3}) {
    test::fresh_kernel();
    BenchConfig config = with_entries(entries);
    config.ends = 3;
    config.network.mtu = 1_KiB;
    config.network.segment = 1_KiB;
    config.nic.recovery = variant.recovery;
    config.nic.reorder = variant.reorder;
    config.nic.pcie.generation = variant.generation;
    config.nic.ack_timeout = 2000_us;
    int seen = 0;
    if (variant.lossy) {
      config.wire.emplace();
      config.wire->lose = [&seen](const Packet&) { return ++seen % 50 == 0; };
    }
    Bench bench(config);
    constexpr std::uint64_t kBytes = 5000;
    std::vector<Connection> pairs;
    for (std::size_t i = 0; i < 8; ++i) pairs.push_back(bench.connect(i % 2, 2));
    for (std::size_t end : {0U, 1U}) bench.store(end, 0x1000, pattern_bytes(kBytes, static_cast<unsigned>(end + 1)));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      bench.ring(2, receive(pairs[i].b, 0, 0, 0, 3));
      for (std::uint32_t m = 0; m < 3; ++m) {
        bench.ring_at(1_us, i % 2, immediate(write(pairs[i].a, 0x1000, 0x100000 * (i + 1), kBytes, m), m));
        bench.ring_at(2_us, i % 2,
                      read(pairs[i].a, 0x100000 * (i + 1) + m * 0x4000, 0x100000 * (i + 1), kBytes, 10 + m));
      }
    }
    bench.run();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(bench.load(2, 0x100000 * (i + 1), kBytes), pattern_bytes(kBytes, static_cast<unsigned>(i % 2 + 1)));
      std::uint32_t next = 0;
      for (const auto& got : bench.completions(2)) {
        if (got.entry.queue_pair != pairs[i].b) continue;
        EXPECT_EQ(got.entry.immediate, next++) << "queue pair " << i;
      }
      EXPECT_EQ(next, 3u);
    }
    EXPECT_EQ(bench.completions(0).size() + bench.completions(1).size(), 8u * 6);
    EXPECT_GT(bench.nics[2]->counters().context_misses, 8);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContextsOf,
                         testing::Values(Variant{"Plain", false, {}, 0, false},
                                         Variant{"PciExpress", false, {}, 4, false},
                                         Variant{"GoingBack", true, {}, 0, true},
                                         Variant{"Repeating", true, 64_KiB, 0, true}),
                         [](const auto& test) { return test.param.name; });

TEST(Contexts, OfGroupsAndDatagramsMissToo) {
  BenchConfig config = with_entries(1);
  config.ends = 3;
  Bench bench(config);
  const std::uint32_t group = *bench.network.create_group({0, 1, 2}, {});
  std::vector<std::uint32_t> multicast;
  std::vector<std::uint32_t> datagram;
  for (const auto& nic : bench.nics) {
    multicast.push_back(nic->create_group_queue_pair(100, group, 0));
    datagram.push_back(nic->create_datagram_queue_pair(300));
    nic->attach(datagram.back(), group);
  }
  for (std::size_t end : {1U, 2U}) {
    bench.ring(end, receive(multicast[end], 0, 0, 0, 2));
    bench.ring(end, receive(datagram[end], 0x9000, 4096, 0, 2));
  }
  const auto data = pattern_bytes(2000, 1);
  bench.store(0, 0x1000, data);
  for (int i = 0; i < 2; ++i) {
    WorkRequest message = send(datagram[0], 0x1000, 100);
    message.peer = Packet::kFirstGroup + group;
    bench.ring_at(1_us, 0, message);
    bench.ring_at(1_us, 0, immediate(request(Verb::kMulticast, multicast[0], 0x1000, 0x4000, 2000), 1));
  }
  sc_core::sc_start();
  EXPECT_EQ(bench.packets.outstanding(), 0);
  EXPECT_EQ(bench.network.left_over(), std::vector<std::string>());
  for (std::size_t end : {1U, 2U}) {
    EXPECT_EQ(bench.completions(end).size(), 4u);
    EXPECT_EQ(bench.load(end, 0x4000, 2000), data);
    EXPECT_GE(bench.nics[end]->counters().context_misses, 2);
  }
  EXPECT_EQ(bench.nics[0]->counters().context_hits + bench.nics[0]->counters().context_misses, 4)
      << "none of them is acknowledged";
}

}  // namespace
}  // namespace weft::nic
