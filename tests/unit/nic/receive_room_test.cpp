// SPDX-License-Identifier: Apache-2.0
// A host that is slower than its network, on links that pause.
#include "hw/nic/receive_room.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

constexpr std::uint64_t kBytes = 4 << 20;

/// Two ends write to a third.
struct Incast {
  Time ended;
  std::int64_t most_held = 0;  ///< in the switch
};

Incast incast(fabric::FlowControl flow_control, Rate dma_rate) {
  test::fresh_kernel();
  BenchConfig config;
  config.ends = 3;
  config.network.link.flow_control = flow_control;
  config.nic.dma_rate = dma_rate;
  Bench bench(config);
  std::vector<std::vector<std::byte>> sent;
  for (std::size_t end = 0; end < 2; ++end) {
    sent.push_back(pattern_bytes(kBytes, end));
    bench.store(end, 0, sent.back());
    const Connection pair = bench.connect(end, 2);
    bench.ring_at(Time(), end, write(pair.a, 0, end * kBytes, kBytes));
  }
  bench.run();
  Incast result;
  for (std::size_t end = 0; end < 2; ++end) {
    EXPECT_EQ(bench.load(2, end * kBytes, kBytes), sent[end]);
    EXPECT_EQ(bench.completions(end).size(), 1U);
    result.ended = std::max(result.ended, bench.completions(end).back().at);
  }
  if (const auto* buffer = dynamic_cast<fabric::Switch&>(bench.network.switch_at(0)).buffer(); buffer != nullptr) {
    result.most_held = buffer->counters().most;
  }
  return result;
}

TEST(ReceiveRoom, PausesTheSwitchSoThatAllComesAsFastAsTheHostTakesIt) {
  // What lies in the interface when its last packet comes is acknowledged, and not yet with the host.
  const auto rest = static_cast<double>(fabric::LinkConfig::kLeastBuffer.count()) + (64 << 10);
  const double taken = 2.0 * kBytes - rest;
  const Incast slow = incast(fabric::FlowControl::kPfc, 100_Gbps);
  EXPECT_GE(slow.ended.count(), taken * 8 * 10);  // ps
  EXPECT_LE(slow.ended.count(), 2.0 * kBytes * 8 * 10 * 1.02);
  EXPECT_GT(slow.most_held, static_cast<std::int64_t>(kBytes) / 8) << "what waits is in the switch";
  const Incast credits = incast(fabric::FlowControl::kCredits, 100_Gbps);
  EXPECT_NEAR(static_cast<double>(slow.ended.count()), static_cast<double>(credits.ended.count()),
              0.03 * static_cast<double>(credits.ended.count()));
}

TEST(ReceiveRoom, ChangesNothingWhereTheHostIsFaster) {
  const Incast fast = incast(fabric::FlowControl::kPfc, 800_Gbps);
  const double wire = 2.0 * kBytes * 8 / 400e9 * 1e12 * (4096.0 + 66) / 4096;
  EXPECT_NEAR(static_cast<double>(fast.ended.count()), wire, 0.03 * wire);
}

}  // namespace
}  // namespace weft::nic
