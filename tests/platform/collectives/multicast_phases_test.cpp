// SPDX-License-Identifier: Apache-2.0
// The phases of a multicast Broadcast or Allgather: what they add up to, and whose they are.
#include <gtest/gtest.h>

#include <cstdint>

#include "sw/collectives/multicast/multicast.h"
#include "tests/support/multicast.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using namespace test_multicast;
using collectives::MulticastTransport;

Time sum_of(const MulticastTimes& times) {
  Time sum;
  MulticastTimes::each([&](const char* /*name*/, auto field) { sum += times.*field; });
  return sum;
}

/// The phases of the rank that ends last are its whole time.
TEST(MulticastPhases, AddUpToTheTime) {
  for (const auto transport : {MulticastTransport::kDatagram, MulticastTransport::kConnection}) {
    for (const auto op : {CollectiveOp::kAllgather, CollectiveOp::kBroadcast}) {
      MachineConfig config = machine_of(12);
      config.collectives.of<collectives::MulticastConfig>().transport = transport;
      config.collectives.entry = 3_us;
      for (const CollectiveResult& result : collective(config, op, {4, 1000, 65540, 1 << 20})) {
        ASSERT_TRUE(result.phases.has_value());
        EXPECT_EQ(sum_of(*result.phases), result.time);
        MulticastTimes::each([&](const char* name, auto field) { EXPECT_GE(*result.phases.*field, Time()) << name; });
        EXPECT_GT(result.phases->barrier, 3_us);
        EXPECT_EQ(result.phases->cutoff, Time());
        EXPECT_EQ(result.phases->recovery, Time());
        EXPECT_GT(result.phases->handshake, Time());
        const double share = op == CollectiveOp::kAllgather ? 11.0 / 12 : 1.0;
        const auto least = static_cast<std::int64_t>(static_cast<double>(result.bytes / 12 * 12) * share);
        EXPECT_GE(result.phases->fast_path, transfer_time(Bytes(least), config.fabric.link.rate));
      }
    }
  }
}

/// One link loses packets: whoever is behind it waits for its timer, fetches, and is the last.
TEST(MulticastPhases, SayWhoseCutOffAndRecoveryItWas) {
  constexpr int kLosing = 3;
  MachineConfig config = machine_of(8);
  config.nic.recovery = true;
  config.fabric.faults = {loss(0.02, "end3")};
  const CollectiveResult result = collective(config, CollectiveOp::kBroadcast, {4 << 20})[0];
  EXPECT_EQ(result.wrong, 0);
  ASSERT_GT(totals(result).missing, 0);
  ASSERT_TRUE(result.phases.has_value());
  EXPECT_EQ(result.phases->rank, kLosing);
  EXPECT_EQ(sum_of(*result.phases), result.time);
  // The timer is five times what 4 MiB and a turn take, of which the fast path is about one.
  const Time whole =
      transfer_time(4_MiB, config.fabric.link.rate) + config.collectives.of<collectives::MulticastConfig>().activation;
  EXPECT_NEAR(static_cast<double>((result.phases->fast_path + result.phases->cutoff).count()),
              5.0 * static_cast<double>(whole.count()), 1e6);
  EXPECT_GT(result.phases->cutoff, result.phases->fast_path);
  EXPECT_GT(result.phases->recovery, Time());
  EXPECT_LT(result.phases->handshake, result.phases->recovery);
}

/// They are the Allgather's beside a ReduceScatter, and nobody's of what is no multicast.
TEST(MulticastPhases, AreThoseOfADistribution) {
  const MachineConfig config = machine_of(4);
  const CollectiveResult both = collective(config, CollectiveOp::kAllgatherReduceScatter, {1 << 20})[0];
  ASSERT_TRUE(both.phases.has_value());
  EXPECT_LE(sum_of(*both.phases), both.time);
  MachineConfig offloaded = config;
  offloaded.dpa.cores = 4;
  offloaded.dpa.threads = 4;
  offloaded.collectives.of<collectives::MulticastConfig>().placement = collectives::MulticastPlacement::kDpa;
  const CollectiveResult by_nic = collective(offloaded, CollectiveOp::kBroadcast, {1 << 20})[0];
  ASSERT_TRUE(by_nic.phases.has_value());
  EXPECT_EQ(sum_of(*by_nic.phases), by_nic.time);
  EXPECT_FALSE(collective(config, CollectiveOp::kBarrier, {4})[0].phases.has_value());
  EXPECT_FALSE(collective(config, CollectiveOp::kAllReduce, {4096})[0].phases.has_value());
  EXPECT_FALSE(collective(machine_of(1), CollectiveOp::kBroadcast, {4096})[0].phases.has_value());
}

}  // namespace
}  // namespace weft::platforms
