// SPDX-License-Identifier: Apache-2.0
// In-network collectives with all of their options, on one, two and three levels of switches, for odd numbers of
// members and over parallel links: every byte in place, whatever is drawn.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/in_network/in_network.h"
#include "tests/support/kernel.h"
#include "tests/support/random_network.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AllReducePattern;
using collectives::OwnBlock;
using collectives::TreeLock;
using test::Draw;

struct Machines {
  int ranks;
  int per_node;
  int levels;  ///< of the fat tree among the nodes
};
const std::vector<Machines> kMachines = {{2, 1, 2}, {5, 1, 2},  {9, 1, 3},  {16, 1, 3}, {7, 7, 2},  {8, 8, 2},
                                         {6, 2, 2}, {15, 5, 2}, {12, 3, 3}, {16, 4, 3}, {16, 8, 2}, {10, 2, 3}};

MachineConfig draw_machine(Draw& draw) {
  const Machines shape = draw.of(kMachines);
  MachineConfig config;
  config.accelerators = shape.ranks;
  config.per_node = shape.per_node;
  config.fabric.levels = shape.levels;
  config.fabric.radix = shape.levels == 3 ? 8 : 16;
  config.fabric.hosts_per_leaf = shape.levels == 3 ? 2 : 4;
  config.fabric.uplinks = shape.levels == 3 ? 2 : 4;
  if (shape.levels == 3) config.fabric.leaves_per_pod = 4;
  if (shape.levels == 2 && draw.chance(0.5)) config.fabric.spines = draw.of<int>({1, 2});  // with parallel links
  // One of the two networks may leave its part to rings.
  const int reduces = shape.per_node > 1 && shape.per_node < shape.ranks ? draw(0, 3) : 0;
  config.fabric.switch_config.reduction.trees = reduces == 1 ? 0 : 32;
  config.fabric.switch_config.reduction.chunks = 1 << 16;
  config.scale_up.fabric.switch_config.reduction.trees = reduces == 2 ? 0 : 32;
  config.scale_up.fabric.switch_config.reduction.chunks = 1 << 16;
  config.stall = draw.of<Time>({Time(), Time(), 300_ns});
  config.data = true;
  auto& options = config.collectives;
  options.algorithm = "in-network";
  options.chunk = 16_KiB;
  options.piece = draw.of<Bytes>({256_B, 4_KiB, 64_KiB});
  options.pieces = draw(1, 5);
  auto& in_network = options.of<collectives::InNetworkMember::Config>();
  in_network.own_block = draw.of<OwnBlock>({OwnBlock::kNetwork, OwnBlock::kLocal, OwnBlock::kLocal});
  in_network.all_reduce = draw.of<AllReducePattern>({AllReducePattern::kUpDown, AllReducePattern::kReduceMulticast});
  in_network.low_latency_limit = draw.of<Bytes>({0_B, 4_KiB, 1_MiB});
  in_network.low_latency_window = draw.of<int>({1, 8});
  in_network.window = draw.of<int>({1, 16, 256});
  in_network.lock = draw.of<TreeLock>({TreeLock::kCommunicator, TreeLock::kCollective});
  in_network.chunk = draw.of<Bytes>({256_B, 4_KiB, 64_KiB});
  if (draw.chance(0.3)) {
    in_network.staging.channels = draw(1, 3);
    in_network.staging.chunk = 4_KiB;
    in_network.staging.slots = draw(1, 3);
    in_network.staging.copy_engines = draw(1, 4);
  }
  const int depth = draw.of<int>({0, 0, 1, 2, 5});
  config.nic.send_queue_depth = config.scale_up.port.send_queue_depth = depth;
  return config;
}

void expect_all_in_place(std::uint64_t seed) {
  test::fresh_kernel();
  Draw draw(seed, "in-network options");
  const MachineConfig config = draw_machine(draw);
  const auto op = draw.of<CollectiveOp>({CollectiveOp::kReduceScatter, CollectiveOp::kReduceScatter,
                                         CollectiveOp::kAllReduce, CollectiveOp::kAllReduce, CollectiveOp::kAllgather,
                                         CollectiveOp::kBroadcast, CollectiveOp::kBarrier});
  const auto type = draw.of<ElementType>({ElementType::kFp32, ElementType::kBf16, ElementType::kInt32});
  const std::uint64_t unit = size_of(type);
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back(static_cast<std::uint64_t>(draw(0, draw.of<int>({3000, 80'000}))) * unit);
  Machine machine(config);
  for (const CollectiveResult& result : run_collective(machine, op, sizes, type)) {
    EXPECT_EQ(result.wrong, 0) << weft::name_of(op) << " of " << result.bytes << " bytes on " << config.accelerators
                               << " in nodes of " << config.per_node;
  }
}

/// Sums keep their order beside other traffic of their outputs, whichever operand of each came last.
TEST(InNetworkOptions, PutEveryByteInPlaceWhereFlowsTakeTurns) {
  for (const OwnBlock own_block : {OwnBlock::kNetwork, OwnBlock::kLocal}) {
    test::fresh_kernel();
    MachineConfig config;
    config.accelerators = 8;
    config.per_node = 1;
    config.fabric.radix = 8;
    config.fabric.hosts_per_leaf = 4;
    config.fabric.switch_config.flow_queues = 4;
    config.fabric.switch_config.reduction.trees = 64;
    config.collectives.algorithm = "in-network";
    config.collectives.of<collectives::InNetworkMember::Config>().own_block = own_block;
    config.data = true;
    Machine machine(config);
    const std::vector<std::uint64_t> sizes = {71'656, 200'000};
    for (const CollectiveResult& result :
         run_collective(machine, CollectiveOp::kAllgatherReduceScatter, sizes, ElementType::kFp32)) {
      EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes, own block by the " << weft::name_of(own_block);
    }
  }
}

TEST(InNetworkOptions, PutEveryByteInPlace) {
  for (const std::uint64_t seed : test::seeds(120)) {
    SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed));
    ASSERT_NO_THROW(expect_all_in_place(seed));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::platforms
