// SPDX-License-Identifier: Apache-2.0
// Links whose stores are posted: what has no payload comes when packets would have brought it through an idle network,
// and in the same order.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/nic/nic.h"
#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;
using test::pattern_bytes;

void post_stores(Bench& bench) {
  const fabric::FabricConfig& network = bench.config_.network;
  const Time way = 2 * network.link.propagation + network.switch_config.total_latency() +
                   transfer_time(Bytes(network.wire_bytes(0)), network.link.rate);
  std::vector<Nic::Neighbour> all;
  for (const auto& nic : bench.nics) all.push_back({nic.get(), way});
  for (const auto& nic : bench.nics) nic->post_stores(all);
}

struct Ends {
  Bench::Entries sender;
  Bench::Entries receiver;
  std::int64_t packets = 0;
};

/// The same messages with posted stores and with packets.
template <typename Messages>
void expect_alike(const Messages& messages, std::int64_t packets_saved) {
  Ends ends[2];
  for (const bool posted : {false, true}) {
    test::fresh_kernel();
    Bench bench;
    if (posted) post_stores(bench);
    const Connection pair = bench.connect(0, 1);
    messages(bench, pair);
    bench.run();
    Ends& result = ends[posted ? 1 : 0];
    result = {bench.completions(0), bench.completions(1)};
    for (const auto& nic : bench.nics) result.packets += nic->counters().packets_sent;
  }
  for (const auto& entries : {&Ends::sender, &Ends::receiver}) {
    ASSERT_EQ((ends[0].*entries).size(), (ends[1].*entries).size());
    for (std::size_t i = 0; i < (ends[0].*entries).size(); ++i) {
      EXPECT_EQ((ends[0].*entries)[i].at, (ends[1].*entries)[i].at) << i;
      EXPECT_EQ((ends[0].*entries)[i].entry.id, (ends[1].*entries)[i].entry.id) << i;
      EXPECT_EQ((ends[0].*entries)[i].entry.immediate, (ends[1].*entries)[i].entry.immediate) << i;
    }
  }
  EXPECT_EQ(ends[0].packets - ends[1].packets, packets_saved);
}

TEST(PostedStores, AcknowledgementsTakeTheirTime) {
  expect_alike([](Bench& bench, const Connection& pair) { bench.ring_at(1_us, 0, write(pair.a, 0, 0, 9000)); }, 1);
}

TEST(PostedStores, SoDoMessagesWithoutBytes) {
  expect_alike(
      [](Bench& bench, const Connection& pair) {
        bench.ring_at(Time(), 1, receive(pair.b, 0, 0, 0, 2));
        bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 0, 0, 7), 5));
        bench.ring_at(9_us, 0, immediate(send(pair.a, 0, 0, 8), 6));
      },
      4);
}

/// A reading has its own way, and a message without an immediate is none that anybody waits for.
TEST(PostedStores, OthersAreAsTheyWere) {
  expect_alike(
      [](Bench& bench, const Connection& pair) {
        bench.ring_at(1_us, 0, read(pair.a, 0, 0, 5000));
        bench.ring_at(9_us, 0, write(pair.a, 0, 0, 0));
      },
      1);
}

TEST(PostedStores, NothingOvertakes) {
  Bench bench;
  post_stores(bench);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 1, receive(pair.b, 0, 0, 0, 30));
  std::uint32_t sent = 0;
  for (int round = 0; round < 10; ++round) {
    bench.store(0, sent, pattern_bytes(100'000, sent));
    bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 0, 100'000), sent++));
    bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 0, 0), sent++));
    bench.ring_at(1_us, 0, immediate(write(pair.a, 0, 0, 0), sent++));
  }
  bench.run();
  const auto got = bench.completions(1);
  ASSERT_EQ(got.size(), sent);
  for (std::uint32_t i = 0; i < sent; ++i) EXPECT_EQ(got[i].entry.immediate, i);
}

/// Those that find no receive are sent again, and what was on its way behind them does not take their place.
TEST(PostedStores, WhatIsRefusedIsRepeatedInOrder) {
  Bench bench;
  post_stores(bench);
  const Connection pair = bench.connect(0, 1);
  constexpr std::uint32_t kMessages = 40;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    bench.ring_at(1_us + i * 50_ns, 0, immediate(write(pair.a, 0, 0, 0, i), i));
    bench.ring_at(1_us + i * 120_ns, 1, receive(pair.b, 0, 0));
  }
  bench.run();
  EXPECT_GT(bench.nics[1]->counters().not_ready, 0);
  const auto got = bench.completions(1);
  ASSERT_EQ(got.size(), kMessages);
  for (std::uint32_t i = 0; i < kMessages; ++i) EXPECT_EQ(got[i].entry.immediate, i);
  EXPECT_EQ(bench.completions(0).size(), kMessages);
}

}  // namespace
}  // namespace weft::nic
