// SPDX-License-Identifier: Apache-2.0
// Rings of kernels: what comes passes through staging buffers, and a thread of the host passes requests for the network
// on.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/machine/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/ring.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Algorithm;

MachineConfig kernels_of(int ranks, int per_node) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = per_node;
  config.accelerator.array.shared_cores = true;
  config.accelerator.array.relay = 10_us;
  return config;
}

/// Nodes, and what makes a ring wait: few slots for many chunks.
struct StagedCase {
  std::string name;
  int ranks;
  int per_node;
  Algorithm algorithm;
  int channels;
  Bytes chunk;
  int slots;
  int queue_pairs = 1;
};
std::ostream& operator<<(std::ostream& out, const StagedCase& c) {
  return out << c.name;
}

const StagedCase kStagedCases[] = {
    {"TwoRanks", 2, 1, Algorithm::kRing, 4, 512_KiB, 16}, {"OneNode", 8, 8, Algorithm::kRing, 8, 512_KiB, 16},
    {"FewSlots", 5, 1, Algorithm::kRing, 1, 256_B, 2},    {"FiveSlotsInPairs", 8, 4, Algorithm::kRing, 3, 512_B, 5},
    {"EightSlots", 12, 4, Algorithm::kRing, 2, 1_KiB, 8}, {"QueuePairs", 12, 4, Algorithm::kRing, 2, 1_KiB, 8, 3},
};

// Hierarchical has no Broadcast.
const StagedCase kTwoLevels{"Hierarchical", 12, 4, Algorithm::kHierarchical, 1, 256_B, 2};

class StagedRings : public testing::TestWithParam<std::tuple<CollectiveOp, StagedCase, Time>> {};

TEST_P(StagedRings, PutEveryByteInPlace) {
  const auto& [op, c, stall] = GetParam();
  MachineConfig config = kernels_of(c.ranks, c.per_node);
  config.collectives.algorithm = c.algorithm;
  config.collectives.channels = c.channels;
  config.collectives.chunk = c.chunk;
  config.collectives.slots = c.slots;
  config.collectives.queue_pairs = c.queue_pairs;
  config.stall = stall;
  config.data = true;
  Machine machine(config);
  for (const CollectiveResult& result : run_collective(machine, op, {77'777, 0, 1, 40'000, 3}, ElementType::kFp32)) {
    EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
  }
}

std::string staged_name(const testing::TestParamInfo<StagedRings::ParamType>& test) {
  const auto& [op, c, stall] = test.param;
  return c.name + "Op" + std::to_string(static_cast<int>(op)) + (stall > Time() ? "Stalled" : "");
}

INSTANTIATE_TEST_SUITE_P(Rings, StagedRings,
                         testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kAllReduce,
                                                          CollectiveOp::kBroadcast),
                                          testing::ValuesIn(kStagedCases), testing::Values(Time(), 3_us)),
                         staged_name);

INSTANTIATE_TEST_SUITE_P(TwoLevels, StagedRings,
                         testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kAllReduce),
                                          testing::Values(kTwoLevels), testing::Values(Time(), 3_us)),
                         staged_name);

/// Bytes that copy engines moved for an Allgather of `bytes`.
std::int64_t copied(const MachineConfig& config, std::uint64_t bytes) {
  test::fresh_kernel();
  Machine machine(config);
  run_collective(machine, CollectiveOp::kAllgather, {bytes}, ElementType::kFp32, nullptr, false);
  std::int64_t sum = 0;
  for (int r = 0; r < machine.size(); ++r) sum += machine.accelerator(r).counters().copied_bytes;
  return sum;
}

TEST(StagedRing, CopiesEveryBlockOnceAtEachOtherMember) {
  MachineConfig config = kernels_of(4, 4);
  EXPECT_EQ(copied(config, 1 << 20), 3 << 20);
  config.accelerator.array.shared_cores = false;
  EXPECT_EQ(copied(config, 1 << 20), 0);
}

Time gather(const MachineConfig& config) {
  test::fresh_kernel();
  Machine machine(config);
  return run_collective(machine, CollectiveOp::kAllgather, {4096}, ElementType::kFp32, nullptr, false)[0].time;
}

// Entering is a message, and so is each of n - 1 steps; with staging there is one more, of credits, at the end.
TEST(StagedRing, EachMessageOverTheNetworkTakesTheRelay) {
  MachineConfig config = kernels_of(4, 1);
  for (const bool staged : {true, false}) {
    config.accelerator.array.shared_cores = staged;
    config.accelerator.array.relay = Time();
    const Time without = gather(config);
    config.accelerator.array.relay = 7_us;
    EXPECT_EQ(gather(config), without + (staged ? 5 : 4) * 7_us) << staged;
  }
}

TEST(StagedRing, NothingWithinANodeIsRelayed) {
  MachineConfig config = kernels_of(4, 4);
  const Time with = gather(config);
  config.accelerator.array.relay = Time();
  EXPECT_EQ(with, gather(config));
}

TEST(InTurn, CountsWhatIsThereBeforeTheFirstThatIsMissing) {
  collectives::InTurn chunks(3);
  chunks.add(1);
  chunks.add(1);
  EXPECT_EQ(chunks.count(), 0);  // 1 and 4
  chunks.add(0);
  EXPECT_EQ(chunks.count(), 2);  // 0 as well
  chunks.add(2);
  EXPECT_EQ(chunks.count(), 3);
  chunks.add(0);
  EXPECT_EQ(chunks.count(), 5);
}

/// Four nodes of four, each with a leaf of its own, and four spines, between which a hash chooses.
MachineConfig hashed(bool staged, int queue_pairs) {
  MachineConfig config = kernels_of(16, 4);
  config.accelerator.array.shared_cores = staged;
  config.fabric.topology = fabric::Shape::kFatTree;
  config.fabric.radix = 8;
  config.fabric.hosts_per_leaf = 4;
  config.fabric.spines = 4;
  config.fabric.routing = fabric::Routing::kEcmp;
  config.collectives.channels = 4;
  config.collectives.queue_pairs = queue_pairs;
  return config;
}

// A slow way lets the chunks of other queue pairs overtake.
TEST(QueuePairs, PutEveryByteInPlaceWhereTheyOvertakeEachOther) {
  for (const bool staged : {true, false}) {
    for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kAllReduce, CollectiveOp::kBroadcast}) {
      for (const int slots : {2, 16}) {
        test::fresh_kernel();
        MachineConfig config = hashed(staged, 5);
        config.collectives.chunk = 4_KiB;
        config.collectives.slots = slots;
        config.fabric.faults = {{.link = "spine1", .rate = 0.02}};
        config.data = true;
        Machine machine(config);
        for (const CollectiveResult& result : run_collective(machine, op, {300'000, 0, 40'000}, ElementType::kFp32)) {
          EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes, operation " << static_cast<int>(op) << ", " << slots
                                     << " slots, " << (staged ? "staged" : "straight");
        }
      }
    }
  }
}

// Four flows leave a leaf. By one queue pair each, some share a link; by 16, each uses all four.
TEST(QueuePairs, SpreadAFlowOverTheWaysOfAHash) {
  const auto time_of = [](const MachineConfig& config) {
    test::fresh_kernel();
    Machine machine(config);
    return run_collective(machine, CollectiveOp::kAllgather, {64 << 20}, ElementType::kFp32, nullptr, false)[0].time;
  };
  MachineConfig even = hashed(true, 1);
  even.fabric.routing = fabric::Routing::kDmodk;
  const Time best = time_of(even);
  const Time one = time_of(hashed(true, 1));
  const Time many = time_of(hashed(true, 16));
  EXPECT_GT(one, best);
  EXPECT_LT(many, one);
  EXPECT_GE(many, best);
}

}  // namespace
}  // namespace weft::platforms
