// SPDX-License-Identifier: Apache-2.0
// Rings of kernels: what comes passes through staging buffers, and a thread of the host passes requests for the network
// on.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AlgorithmName;

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
  AlgorithmName algorithm;
  int channels;
  Bytes chunk;
  int slots;
  int queue_pairs = 1;
};
std::ostream& operator<<(std::ostream& out, const StagedCase& c) {
  return out << c.name;
}

const StagedCase kStagedCases[] = {
    {"TwoRanks", 2, 1, "ring", 4, 512_KiB, 16}, {"OneNode", 8, 8, "ring", 8, 512_KiB, 16},
    {"FewSlots", 5, 1, "ring", 1, 256_B, 2},    {"FiveSlotsInPairs", 8, 4, "ring", 3, 512_B, 5},
    {"EightSlots", 12, 4, "ring", 2, 1_KiB, 8}, {"QueuePairs", 12, 4, "ring", 2, 1_KiB, 8, 3},
};

// Hierarchical has no Broadcast.
const StagedCase kTwoLevels{"Hierarchical", 12, 4, "hierarchical", 1, 256_B, 2};

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

}  // namespace
}  // namespace weft::platforms
