// SPDX-License-Identifier: Apache-2.0
// An analytical network whose links are shared in several dimensions.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sw/analytical/network.h"
#include "tests/support/kernel.h"

namespace weft::analytical {
namespace {

/// A ring of 6, a switch of 4 and 3 that are fully connected.
std::vector<Dimension> cube() {
  return {{Block::kRing, 6, 10, 100}, {Block::kSwitch, 4, 20, 200}, {Block::kFullyConnected, 3, 5, 300}};
}

struct CutThroughBench final : sc_core::sc_module, Actor {
  CutThroughBench(std::vector<Dimension> dimensions, Congestion congestion, bool rendezvous = false,
                  Bytes segment = Bytes(1000))
      : sc_module(sc_core::sc_module_name("bench")),
        dispatcher("dispatcher"),
        network(dispatcher, std::move(dimensions), congestion, "network", rendezvous, segment),
        actor(network.agenda().add(*this)) {}
  void start_of_simulation() override { start(); }
  void act(Time now, std::uint64_t what) override { arrived[what] = now.count(); }
  void send(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint64_t data = 0) {
    network.mailboxes().send(Time(), {data, from, to, bytes}, {});
    network.mailboxes().receive(Time(), {data, from, to, bytes}, Entry(actor, data));
  }
  std::map<std::uint64_t, std::int64_t>& run(std::function<void()> what) {
    start = std::move(what);
    sc_core::sc_start();
    return arrived;
  }

  Dispatcher dispatcher;
  Network network;
  std::uint32_t actor;
  std::function<void()> start;
  std::map<std::uint64_t, std::int64_t> arrived;  ///< ps
};

TEST(CutThrough, AloneAMessageTakesTheTimeWithoutCongestion) {
  for (const bool rendezvous : {false, true}) {
    for (std::uint32_t to : {1U, 3U, 5U, 6U, 18U, 24U, 48U}) {
      std::int64_t times[2] = {};
      std::int64_t carried[2] = {};
      for (const Congestion congestion : {Congestion::kUnaware, Congestion::kCutThrough}) {
        test::fresh_kernel();
        CutThroughBench bench(cube(), congestion, rendezvous);
        const int i = congestion == Congestion::kUnaware ? 0 : 1;
        times[i] = bench.run([&] { bench.send(0, to, 4500); })[0];
        for (std::size_t d = 0; d < 3; ++d) carried[i] += bench.network.carried(d);
      }
      // Whole nanoseconds without congestion, of the request and of the message.
      EXPECT_GE(times[1], times[0]) << "to " << to;
      EXPECT_LT(times[1], times[0] + 2'000) << "to " << to;
      EXPECT_EQ(carried[0], carried[1]) << "to " << to;
    }
  }
}

TEST(CutThrough, GoesThroughDimensionsInTheirOrder) {
  test::fresh_kernel();
  CutThroughBench bench(cube(), Congestion::kCutThrough);
  // One link of the ring, the switch, a private link that is the slowest: latencies, and the bytes at its rate.
  const auto arrived = bench.run([&] { bench.send(0, 1 + 6 * 2 + 24 * 1, 500); })[0];
  EXPECT_EQ(arrived, (100 + 2 * 200 + 300 + 500 / 5) * 1000);
  EXPECT_EQ(bench.network.carried(0), 500);
  EXPECT_EQ(bench.network.carried(1), 500);
  EXPECT_EQ(bench.network.carried(2), 500);
}

TEST(CutThrough, MessagesShareLinksBySegments) {
  test::fresh_kernel();
  CutThroughBench bench(cube(), Congestion::kCutThrough);
  const auto& arrived = bench.run([&] {
    bench.send(0, 1, 10'000, 1);  // alone 1,000 ns and the latency
    bench.send(0, 1, 1'000, 2);   // after the first segment
    bench.send(0, 5, 1'000, 3);   // the other way round
    bench.send(0, 6, 2'000, 4);   // another dimension
    bench.send(12, 6, 2'000, 5);  // into the same port of the switch
  });
  EXPECT_EQ(arrived.at(1), (1'100 + 100) * 1000);
  EXPECT_EQ(arrived.at(2), (200 + 100) * 1000);
  EXPECT_EQ(arrived.at(3), (100 + 100) * 1000);
  EXPECT_EQ(std::max(arrived.at(4), arrived.at(5)), (4'000 / 20 + 400) * 1000);
}

TEST(CutThrough, LinksOfOneEnd) {
  test::fresh_kernel();
  const CutThroughBench bench(cube(), Congestion::kCutThrough);
  EXPECT_EQ(bench.network.bytes_per_ns(0), 10);
  EXPECT_EQ(bench.network.bytes_per_ns(1), 20);
  EXPECT_EQ(bench.network.bytes_per_ns(2), 2 * 5);
  EXPECT_EQ(bench.network.latency(1), Time(400'000));
}

TEST(CutThrough, SaysHowManyLinksItCanTell) {
  test::fresh_kernel();
  Dispatcher dispatcher("dispatcher");
  const std::vector<Dimension> many(28, {Block::kRing, 2, 10, 100});
  try {
    const Network network(dispatcher, many, Congestion::kCutThrough, "analytical");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "analytical.congestion");
    EXPECT_NE(error.expected().find("268435456 ends in 28 dimensions"), std::string::npos) << error.expected();
  }
}

}  // namespace
}  // namespace weft::analytical
