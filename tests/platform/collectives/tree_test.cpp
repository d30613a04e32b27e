// SPDX-License-Identifier: Apache-2.0
// AllReduces through double binary trees: every byte in place, none too many on the wire, and what a hop takes.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AlgorithmName;
using collectives::Protocol;

MachineConfig trees_of(int ranks, int per_node) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = per_node;
  config.collectives.algorithm = "tree";
  return config;
}

/// What the chunks of a tree pass.
struct TreeCase {
  std::string name;
  int ranks;
  int per_node;
  int channels;
  Bytes chunk;
  int slots;
};
std::ostream& operator<<(std::ostream& out, const TreeCase& c) {
  return out << c.name;
}

const TreeCase kTreeCases[] = {
    {"OneRank", 1, 1, 4, 512_KiB, 16},     {"TwoRanks", 2, 1, 4, 512_KiB, 16}, {"FiveNodes", 5, 1, 2, 32_KiB, 2},
    {"SixteenNodes", 16, 1, 1, 32_KiB, 3}, {"OneNode", 8, 8, 8, 512_KiB, 16},  {"TwoNodes", 8, 4, 8, 64_KiB, 2},
    {"ThreeNodes", 12, 4, 3, 33_KiB, 40},  {"SevenNodes", 14, 2, 2, 512_B, 2},
};

enum class Kind : std::uint8_t { kDirect, kStaged, kWords, kLines };

class Trees : public testing::TestWithParam<std::tuple<TreeCase, Kind, Time>> {};

TEST_P(Trees, PutEveryByteInPlaceAndMoveNoneTwice) {
  const auto& [c, kind, stall] = GetParam();
  MachineConfig config = trees_of(c.ranks, c.per_node);
  config.collectives.channels = c.channels;
  config.collectives.chunk = c.chunk;
  config.collectives.slots = c.slots;
  if (kind == Kind::kWords) config.collectives.protocol = Protocol::kLl;
  if (kind == Kind::kLines) config.collectives.protocol = Protocol::kLl128;
  config.accelerator.array.shared_cores = kind == Kind::kStaged;
  config.accelerator.array.relay = 10_us;
  config.stall = stall;
  config.data = true;
  Machine machine(config);
  const std::vector<std::uint64_t> sizes = {77'777, 0, 1, 400'000, 3};
  std::int64_t sum = 0;
  for (const CollectiveResult& result : run_collective(machine, CollectiveOp::kAllReduce, sizes, ElementType::kFp32)) {
    EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
    sum += static_cast<std::int64_t>(result.bytes);
  }
  std::int64_t received = 0;
  for (int r = 0; r < machine.size(); ++r) {
    received += machine.nic(r).counters().bytes_received;
    if (const nic::AnyNic* port = machine.scale_up_port(r)) received += port->counters().bytes_received;
  }
  sum += static_cast<std::int64_t>(sizes.front());  // run once more before
  const std::int64_t data = 2 * (c.ranks - 1) * sum;
  if (kind == Kind::kLines) {
    // A chunk's last line may not be full.
    EXPECT_GE(received, data * 128 / 120);
    EXPECT_LE(received, data * 128 / 100 + 128 * 64 * c.ranks);
  } else {
    EXPECT_EQ(received, kind == Kind::kWords ? 2 * data : data);
  }
}

std::string tree_name(const testing::TestParamInfo<Trees::ParamType>& test) {
  const auto& [c, kind, stall] = test.param;
  const char* kinds[] = {"Direct", "Staged", "Words", "Lines"};
  return c.name + kinds[static_cast<int>(kind)] + (stall > Time() ? "Stalled" : "");
}

INSTANTIATE_TEST_SUITE_P(All, Trees,
                         testing::Combine(testing::ValuesIn(kTreeCases),
                                          testing::Values(Kind::kDirect, Kind::kStaged, Kind::kWords, Kind::kLines),
                                          testing::Values(Time(), 3_us)),
                         tree_name);

std::vector<CollectiveResult> sum(const MachineConfig& config, const std::vector<std::uint64_t>& sizes) {
  test::fresh_kernel();
  Machine machine(config);
  return run_collective(machine, CollectiveOp::kAllReduce, sizes, ElementType::kFp32);
}

// In a tree over 16 nodes a leaf is four hops from the root. Who has sent it the sum from its buffer waits for a slot
// to come back; what has flags was sent from a slot.
TEST(Tree, EachHopBetweenNodesTakesTheRelayOfItsProtocol) {
  MachineConfig config = trees_of(16, 1);
  accelerator::Accelerator::Config& array = config.accelerator.array;
  array.shared_cores = true;
  for (const auto& [protocol, relay] :
       {std::pair(Protocol::kSimple, 7_us), std::pair(Protocol::kLl, 3_us), std::pair(Protocol::kLl128, 5_us)}) {
    config.collectives.protocol = protocol;
    array.relay = array.word_relay = array.line_relay = Time();
    const Time without = sum(config, {4096})[0].time;
    array.relay = 7_us;
    array.word_relay = 3_us;
    array.line_relay = 5_us;
    EXPECT_EQ(sum(config, {4096})[0].time, without + (protocol == Protocol::kSimple ? 9 : 8) * relay);
  }
}

// Up a chain of eight and down: 14 hops.
TEST(Tree, EachHopOfLinesTakesTheirLatency) {
  MachineConfig config = trees_of(8, 8);
  for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl, Protocol::kLl128}) {
    config.collectives.protocol = protocol;
    config.accelerator.array.line_latency = Time();
    const Time without = sum(config, {4096})[0].time;
    config.accelerator.array.line_latency = 2_us;
    EXPECT_EQ(sum(config, {4096})[0].time, without + (protocol == Protocol::kLl128 ? 14 * 2_us : Time()));
  }
}

// Within a node words with flags wait for no memory and, as lines with flags, for no copy's start.
TEST(Tree, WhatHasFlagsInANodeWaitsForNoStart) {
  MachineConfig config = trees_of(8, 8);
  const auto spent = [&config](Protocol protocol, Time latency, Time overhead) {
    config.collectives.protocol = protocol;
    config.accelerator.hbm.latency = latency;
    config.accelerator.array.copy_overhead = overhead;
    return sum(config, {1024})[0].time;
  };
  EXPECT_EQ(spent(Protocol::kLl, 500_ns, 1_us), spent(Protocol::kLl, Time(), Time()));
  EXPECT_EQ(spent(Protocol::kLl128, 500_ns, 1_us), spent(Protocol::kLl128, 500_ns, Time()));
  EXPECT_GT(spent(Protocol::kLl128, 500_ns, Time()), spent(Protocol::kLl128, Time(), Time()) + 7 * 500_ns);
  EXPECT_GT(spent(Protocol::kSimple, 500_ns, 1_us), spent(Protocol::kSimple, Time(), Time()) + 14 * 1_us);
}

TEST(Tree, IsAtTheLinksRateWhereRingsAre) {
  MachineConfig config = trees_of(32, 4);
  config.fabric.segment = 64_KiB;
  config.scale_up.fabric.segment = 64_KiB;
  const std::vector<std::uint64_t> size = {256 << 20};
  const double tree = sum(config, size)[0].busbw_GBps;
  config.collectives.algorithm = "ring";
  const double ring = sum(config, size)[0].busbw_GBps;
  EXPECT_GT(tree, 0.8 * ring);
  EXPECT_LT(tree, 1.05 * ring);
}

TEST(Nccl, TakesTreesForShortBuffersAndRingsForLongOnes) {
  MachineConfig config = trees_of(32, 4);
  config.fabric.segment = 256_KiB;
  config.scale_up.fabric.segment = 256_KiB;
  const auto times = [&](const AlgorithmName& algorithm, const std::vector<std::uint64_t>& sizes) {
    config.collectives.algorithm = algorithm;
    return sum(config, sizes);
  };
  const std::vector<std::uint64_t> both = {1024, 1 << 30};
  config.collectives.protocol = Protocol::kLl;
  const auto tree = times("tree", {1024});
  config.collectives.protocol = Protocol::kAutomatic;
  const auto ring = times("ring", both);
  const auto nccl = times("nccl", both);
  EXPECT_EQ(nccl[0].time, tree[0].time);
  EXPECT_LT(nccl[0].time, ring[0].time / 5);
  EXPECT_NEAR(nccl[1].busbw_GBps, ring[1].busbw_GBps, 0.01);
}

// Nobody leaves before the last has entered, by trees as by rings.
TEST(Tree, HasABarrier) {
  MachineConfig config = trees_of(12, 4);
  Machine machine(config);
  const auto results = run_collective(machine, CollectiveOp::kBarrier, {0, 0}, ElementType::kFp32);
  test::fresh_kernel();
  config.collectives.algorithm = "ring";
  Machine rings(config);
  EXPECT_LT(results[1].time, run_collective(rings, CollectiveOp::kBarrier, {0, 0}, ElementType::kFp32)[1].time);
}

}  // namespace
}  // namespace weft::platforms
