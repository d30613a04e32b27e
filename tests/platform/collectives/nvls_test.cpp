// SPDX-License-Identifier: Apache-2.0
// AllReduces of `nccl` where switches reduce, on whole machines: NVLS, NVLSTree and CollNet, and when there are none.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/nccl/nccl_collectives.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;

constexpr std::uint64_t kLongBuffer = (1 << 20) + 12;

MachineConfig nccl_of(int ranks, int per_node) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = per_node;
  config.fabric.radix = 64;
  config.fabric.hosts_per_leaf = 32;
  config.fabric.segment = 64_KiB;
  config.scale_up.fabric.segment = 64_KiB;
  config.scale_up.fabric.switch_config.reduction.trees = 16;
  config.scale_up.fabric.switch_config.reduction.chunks = 1 << 16;
  config.scale_up.fabric.switch_config.reduction.fp32 = 512;
  config.collectives.algorithm = "nccl";
  config.collectives.protocol = collectives::Protocol::kSimple;
  config.collectives.of<collectives::NcclConfig>().nvls_channels = 2;  // its steps are short
  return config;
}

struct NcclRun {
  std::int64_t wrong = 0;
  std::string remark;
  bool within = false;  ///< switches of nodes took part
  bool across = false;  ///< those that join nodes did
  Time time;
};

bool has_added(fabric::Fabric& network) {
  for (std::size_t s = 0; s < network.switch_count(); ++s) {
    const fabric::ReductionEngine* engine = network.switch_at(s).engine();
    if (engine != nullptr && engine->counters().operands > 0) return true;
  }
  return false;
}

NcclRun nccl_run(MachineConfig config, CollectiveOp op, std::uint64_t bytes) {
  test::fresh_kernel();
  Machine machine(config);
  NcclRun outcome;
  for (const CollectiveResult& result : run_collective(machine, op, {bytes}, ElementType::kFp32, &outcome.remark)) {
    outcome.wrong += result.wrong;
    outcome.time = result.time;
  }
  outcome.across = has_added(machine.network());
  for (std::size_t n = 0; n < machine.node_count(); ++n) outcome.within |= has_added(machine.node_network(n));
  return outcome;
}

NcclRun nccl_sum(MachineConfig config, std::uint64_t bytes) {
  config.data = true;
  return nccl_run(config, CollectiveOp::kAllReduce, bytes);
}

/// The switches' own tree for short sums is SHARP's: NVLS copies what is short through its channels, too.
TEST(Nvls, ShortBuffersGoThroughItsChannels) {
  MachineConfig config = nccl_of(8, 8);
  config.data = true;
  const NcclRun few = nccl_run(config, CollectiveOp::kAllReduce, 1 << 10);
  EXPECT_TRUE(few.within);
  EXPECT_EQ(few.wrong, 0);
  EXPECT_GT(2 * few.time, nccl_run(config, CollectiveOp::kAllReduce, 8 << 10).time);
}

TEST(Nvls, SumsLongBuffersWithinANode) {
  for (const int ranks : {4, 8}) {
    const NcclRun outcome = nccl_sum(nccl_of(ranks, ranks), kLongBuffer);
    EXPECT_EQ(outcome.wrong, 0);
    EXPECT_EQ(outcome.remark, "");
    EXPECT_TRUE(outcome.within);
  }
  MachineConfig config = nccl_of(8, 8);
  config.collectives.protocol = collectives::Protocol::kAutomatic;
  EXPECT_FALSE(nccl_sum(config, 1024).within);  // in LL
}

TEST(Nvls, TakesAllgathersAndReduceScattersAndNoBroadcasts) {
  MachineConfig config = nccl_of(8, 8);
  config.data = true;
  for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kBroadcast}) {
    const NcclRun outcome = nccl_run(config, op, kLongBuffer);
    EXPECT_EQ(outcome.wrong, 0);
    EXPECT_EQ(outcome.within, op != CollectiveOp::kBroadcast) << static_cast<int>(op);
  }
}

TEST(Nvls, IsNotOfTwoNorWhereItIsOffNorWithoutRoomForReceives) {
  EXPECT_FALSE(nccl_sum(nccl_of(2, 2), kLongBuffer).within);
  EXPECT_FALSE(nccl_sum(nccl_of(8, 2), kLongBuffer).within);
  MachineConfig off = nccl_of(8, 8);
  off.collectives.of<collectives::NcclConfig>().nvls = false;
  EXPECT_FALSE(nccl_sum(off, kLongBuffer).within);
  MachineConfig shallow = nccl_of(8, 8);
  shallow.scale_up.port.receive_queue_depth = 2;
  const NcclRun outcome = nccl_sum(shallow, kLongBuffer);
  EXPECT_FALSE(outcome.within);
  EXPECT_EQ(outcome.wrong, 0);
}

TEST(Nvls, IsFasterThanRings) {
  MachineConfig config = nccl_of(8, 8);
  config.collectives.of<collectives::NcclConfig>().nvls_channels = 16;
  const Time nvls = nccl_run(config, CollectiveOp::kAllReduce, 64 << 20).time;
  config.collectives.of<collectives::NcclConfig>().nvls = false;
  EXPECT_LT(nvls, nccl_run(config, CollectiveOp::kAllReduce, 64 << 20).time);
}

TEST(Nvls, GoesThroughTreesAcrossNodes) {
  for (const int nodes : {2, 3}) {
    MachineConfig config = nccl_of(4 * nodes, 4);
    // From 2.28 on a hop between nodes counts more, so that only longer ones go there.
    config.collectives.of<collectives::NcclConfig>().version = collectives::NcclVersion::k2_27;
    for (const Time stall : {Time(), 300_ns}) {
      config.stall = stall;
      const NcclRun outcome = nccl_sum(config, 4 * kLongBuffer);
      EXPECT_EQ(outcome.wrong, 0) << nodes << " nodes";
      EXPECT_EQ(outcome.remark, "");
      EXPECT_TRUE(outcome.within) << nodes << " nodes";
      EXPECT_FALSE(outcome.across);
    }
  }
}

/// Releases before 2.21 have eight heads at the most (NCCL_MAX_NVLS_ARITY): members that are none send nothing across.
TEST(Nvls, HasNoMoreHeadsThanItsRelease) {
  constexpr int kPerNode = 10;
  constexpr int kHeads = 8;
  constexpr std::uint64_t kBytes = 4 << 20;
  MachineConfig config = nccl_of(2 * kPerNode, kPerNode);
  config.collectives.of<collectives::NcclConfig>().version = collectives::NcclVersion::k2_20;
  const NcclRun outcome = nccl_sum(config, kBytes);
  EXPECT_EQ(outcome.wrong, 0);
  EXPECT_EQ(outcome.remark, "");
  EXPECT_EQ(nccl_sum(nccl_of(kPerNode, kPerNode), kBytes).wrong, 0);
  test::fresh_kernel();
  Machine machine(config);
  run_collective(machine, CollectiveOp::kAllReduce, {kBytes}, ElementType::kFp32);
  for (int r = 0; r < machine.size(); ++r) {
    // Of its part, half goes up one tree and half comes down the other; the first size runs twice.
    const std::int64_t part = r % kPerNode < kHeads ? 2 * static_cast<std::int64_t>(kBytes) / kHeads : 0;
    EXPECT_GE(machine.nic(r).counters().bytes_sent, part) << "rank " << r;
    EXPECT_LT(machine.nic(r).counters().bytes_sent, part + part / 10 + 1) << "rank " << r;
  }
}

/// Copies into staging and out of it are stages of their own: with one copy engine each they bind.
TEST(Nvls, AcrossNodesIsBoundByItsCopies) {
  constexpr std::uint64_t kBytes = 64 << 20;
  MachineConfig config = nccl_of(8, 4);
  config.collectives.of<collectives::NcclConfig>().version = collectives::NcclVersion::k2_27;
  config.collectives.of<collectives::NcclConfig>().nvls_channels = 16;
  auto& staging = config.collectives.of<collectives::InNetworkMember::Config>().staging;
  staging.copy_engines = 1;
  const Time bound = transfer_time(Bytes(kBytes), config.accelerator.array.copy_rate);
  const Time one = nccl_run(config, CollectiveOp::kAllReduce, kBytes).time;
  // 64 MiB are eight steps of 16 channels, 4 heads and 128 KiB: the last goes on when all have been copied in.
  EXPECT_GT(one, bound + bound / 8);
  EXPECT_LT(one, bound + bound / 2);
  staging.copy_engines = 6;
  EXPECT_LT(2 * nccl_run(config, CollectiveOp::kAllReduce, kBytes).time, one);
}

TEST(Collnet, SumsAcrossNodesWhereItIsOn) {
  for (const bool nvls : {true, false}) {
    for (const int per_node : {1, 4}) {
      MachineConfig config = nccl_of(4 * per_node, per_node);
      config.fabric.switch_config.reduction.trees = 16;
      config.fabric.switch_config.reduction.chunks = 1 << 16;
      config.collectives.of<collectives::NcclConfig>().nvls = nvls;
      EXPECT_FALSE(nccl_sum(config, 64 << 10).across);  // it is off where nobody sets it
      config.collectives.of<collectives::NcclConfig>().collnet = true;
      const NcclRun outcome = nccl_sum(config, 64 << 10);
      EXPECT_EQ(outcome.wrong, 0);
      EXPECT_TRUE(outcome.across) << per_node << " a node";
      EXPECT_EQ(outcome.within, nvls && per_node > 2);
    }
  }
}

TEST(Nvls, WithoutRoomInTheSwitchesIsRingsAndSaysSo) {
  MachineConfig config = nccl_of(8, 8);
  config.scale_up.fabric.switch_config.reduction.trees = 1;
  const NcclRun outcome = nccl_sum(config, kLongBuffer);
  EXPECT_EQ(outcome.wrong, 0);
  EXPECT_FALSE(outcome.within);
  EXPECT_EQ(
      outcome.remark,
      "the switches have no room for the reduction trees of collectives by nvls, so that it takes rings or trees");
}

/// A lost operand would be lost for good, and rings have the interfaces repeat what they lose.
TEST(Collnet, OverLinksThatLosePacketsIsRingsAndSaysSo) {
  MachineConfig config = nccl_of(4, 1);
  config.fabric.switch_config.reduction.trees = 16;
  config.fabric.faults = {{.loss = 0.001}};
  config.nic.recovery = true;
  config.collectives.of<collectives::NcclConfig>().collnet = true;
  const NcclRun outcome = nccl_sum(config, 64 << 10);
  EXPECT_EQ(outcome.wrong, 0);
  EXPECT_FALSE(outcome.across);
  EXPECT_EQ(outcome.remark,
            "the switches cannot sum for collectives by collnet (fabric.link.replay: expected true, since faults.0 "
            "damages packets: the network adds packets, and nothing sends an operand again), so that it takes rings "
            "or trees");
}

}  // namespace
}  // namespace weft::platforms
