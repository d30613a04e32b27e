// SPDX-License-Identifier: Apache-2.0
// Collectives by the switches on whole machines: every byte in place, the traffic of the formula, the laws of their
// speed; Broadcast and Barrier beside them in rings.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/in_network/in_network.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AllReducePattern;

constexpr std::uint64_t kLowLatency = 4096;
const std::vector<std::uint64_t> kSizes = {4, 0, 1000, kLowLatency, 65540, (1 << 20) + 12};

struct Shape {
  std::string name;
  int ranks;
  int per_node;
  AllReducePattern pattern;
  bool staged = false;
};

MachineConfig machine_of(const Shape& shape) {
  MachineConfig config;
  config.accelerators = shape.ranks;
  config.per_node = shape.per_node;
  config.fabric.radix = 8;
  config.fabric.hosts_per_leaf = 4;
  config.fabric.switch_config.reduction.trees = 4;
  config.scale_up.fabric.switch_config.reduction.trees = 4;
  config.collectives.algorithm = "in-network";
  config.collectives.of<collectives::InNetworkMember::Config>().chunk = 64_KiB;
  config.collectives.of<collectives::InNetworkMember::Config>().all_reduce = shape.pattern;
  if (shape.staged) {
    // Small enough that the buffers are used again and again.
    config.collectives.of<collectives::InNetworkMember::Config>().staging.channels = 2;
    config.collectives.of<collectives::InNetworkMember::Config>().staging.chunk = 4_KiB;
    config.collectives.of<collectives::InNetworkMember::Config>().staging.slots = 2;
  }
  config.data = true;
  return config;
}

struct Moved {
  std::int64_t sent = 0;
  std::int64_t received = 0;
};

struct Outcome {
  std::vector<CollectiveResult> results;
  std::vector<Moved> moved;
};

Outcome collective(const MachineConfig& config, CollectiveOp op, const std::vector<std::uint64_t>& sizes,
                   ElementType type = ElementType::kFp32) {
  Machine machine(config);
  Outcome outcome;
  outcome.results = run_collective(machine, op, sizes, type);
  for (int r = 0; r < machine.size(); ++r) {
    const nic::AnyNic& nic = config.per_node > 1 ? *machine.scale_up_port(r) : machine.nic(r);
    outcome.moved.push_back({nic.counters().bytes_sent, nic.counters().bytes_received});
  }
  return outcome;
}

class InNetwork : public testing::TestWithParam<std::tuple<CollectiveOp, Shape>> {};

TEST_P(InNetwork, PutsEveryByteInPlace) {
  const auto& [op, shape] = GetParam();
  for (const Time stall : {Time(), 300_ns}) {
    test::fresh_kernel();
    MachineConfig config = machine_of(shape);
    config.stall = stall;
    const Outcome outcome = collective(config, op, kSizes);
    ASSERT_EQ(outcome.results.size(), kSizes.size());
    for (const CollectiveResult& result : outcome.results) EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
  }
}

TEST_P(InNetwork, MovesWhatTheFormulaSays) {
  const auto& [op, shape] = GetParam();
  constexpr std::int64_t kBytes = 960'000;  // divides by all
  const Outcome outcome = collective(machine_of(shape), op, {kBytes});
  const std::int64_t n = shape.ranks;
  for (int r = 0; n > 1 && r < shape.ranks; ++r) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    switch (op) {
      case CollectiveOp::kAllReduce:
        sent = shape.pattern == AllReducePattern::kUpDown ? kBytes : kBytes + kBytes / n;
        received = kBytes;
        break;
      case CollectiveOp::kReduceScatter:
        sent = kBytes;
        received = kBytes / n;
        break;
      case CollectiveOp::kAllgather:
        sent = kBytes / n;
        received = kBytes - kBytes / n;
        break;
      case CollectiveOp::kAllToAll:
      case CollectiveOp::kReduce:
      case CollectiveOp::kGather:
      case CollectiveOp::kScatter:
      case CollectiveOp::kBroadcast:
        sent = r == 0 ? kBytes : 0;
        received = r == 0 ? 0 : kBytes;
        break;
      case CollectiveOp::kBarrier:
      case CollectiveOp::kAllgatherReduceScatter:
        break;
    }
    // The first size runs twice.
    EXPECT_EQ(outcome.moved[static_cast<std::size_t>(r)].sent, 2 * sent) << "rank " << r;
    EXPECT_EQ(outcome.moved[static_cast<std::size_t>(r)].received, 2 * received) << "rank " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, InNetwork,
    testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce,
                                     CollectiveOp::kBroadcast, CollectiveOp::kBarrier),
                     testing::Values(Shape{"One", 1, 1, AllReducePattern::kUpDown},
                                     Shape{"Two", 2, 1, AllReducePattern::kUpDown},
                                     Shape{"FiveOnTree", 5, 1, AllReducePattern::kUpDown},
                                     Shape{"SixteenOnTree", 16, 1, AllReducePattern::kUpDown},
                                     Shape{"SixteenByMulticast", 16, 1, AllReducePattern::kReduceMulticast},
                                     Shape{"Node", 8, 8, AllReducePattern::kReduceMulticast},
                                     Shape{"StagedNode", 8, 8, AllReducePattern::kReduceMulticast, true})),
    [](const auto& test) {
      return std::string(weft::name_of(std::get<0>(test.param))) + "_" + std::get<1>(test.param).name;
    });

TEST(InNetworkTypes, AllReduceAdds) {
  for (const auto& [name, type] : enum_names(ElementType())) {
    test::fresh_kernel();
    const MachineConfig config = machine_of({"", 12, 1, AllReducePattern::kUpDown});
    const Outcome outcome = collective(config, CollectiveOp::kAllReduce, {1000, 65536}, type);
    for (const CollectiveResult& result : outcome.results) EXPECT_EQ(result.wrong, 0) << name;
  }
}

/// Of NVLink SHARP: a port sends and receives (n + 1) / n of the buffer at its rate B for groups.
TEST(InNetworkLaw, ReduceMulticastHasABusBandwidthOfTwiceNMinusOneOverNPlusOne) {
  for (const int n : {4, 8}) {
    test::fresh_kernel();
    MachineConfig config = machine_of({"", n, n, AllReducePattern::kReduceMulticast});
    config.data = false;
    config.scale_up.port.group_rate = 300_GBps;
    config.scale_up.fabric.switch_config.reduction.fp32 = 512;
    config.collectives.of<collectives::InNetworkMember::Config>().chunk = 256_KiB;
    const CollectiveResult result = collective(config, CollectiveOp::kAllReduce, {256 << 20}).results[0];
    const double law = 2.0 * (n - 1) / (n + 1) * 300;
    EXPECT_NEAR(result.busbw_GBps, law, 0.05 * law) << n;
  }
}

/// On d tiers of switches a sum passes 2d links and 2d - 1 switches, each of which passes on what it has while the rest
/// comes: what is left is the time of all bytes on one link. A lock of the tree comes before that, and passes as many.
TEST(InNetworkLaw, StreamedSumsTakeTheirPathAndTheirBytes) {
  constexpr std::int64_t kSegment = 4096;
  constexpr std::int64_t kHeader = 64;
  for (const int tiers : {1, 2, 3}) {
    MachineConfig config = machine_of({"", 8, 1, AllReducePattern::kUpDown});
    config.data = false;
    config.nic.message_cost = config.nic.packet_cost = config.nic.read_latency = config.nic.write_latency = Time();
    config.nic.dma_rate = Rate(1'000'000'000'000'000);
    config.nic.group_rate = Rate(1'000'000'000'000'000);
    config.accelerator.hbm.latency = Time();
    config.firmware.wake_cycles = config.firmware.post_cycles = config.firmware.poll_cycles = 0;
    config.fabric.levels = tiers == 3 ? 3 : 2;
    config.fabric.hosts_per_leaf = tiers == 1 ? 8 : 2;
    config.fabric.radix = 16;
    config.fabric.leaves_per_pod = tiers == 3 ? 2 : 0;
    config.fabric.segment = config.fabric.mtu = Bytes(kSegment);
    config.fabric.header = Bytes(kHeader);
    config.fabric.switch_config.latency = 200_ns;
    config.fabric.switch_config.reduction.latency = Time();
    config.fabric.switch_config.reduction.fp32 = 4096;
    config.fabric.switch_config.reduction.chunks = 4096;
    config.fabric.link.propagation = 20_ns;
    config.collectives.of<collectives::InNetworkMember::Config>().lock = collectives::TreeLock::kCommunicator;
    const auto wire = [](std::int64_t bytes) { return Bytes(bytes + kHeader * ((bytes + kSegment - 1) / kSegment)); };
    for (const std::int64_t bytes : {8 << 10, 64 << 10, 1 << 20}) {
      test::fresh_kernel();
      const CollectiveResult result =
          collective(config, CollectiveOp::kAllReduce, {static_cast<std::uint64_t>(bytes)}).results[0];
      const Rate rate = config.fabric.link.rate;
      const Time law = 2 * tiers * config.fabric.link.propagation +
                       (2 * tiers - 1) * config.fabric.switch_config.latency + transfer_time(wire(bytes), rate);
      const auto expected = static_cast<double>(law.count());
      EXPECT_NEAR(static_cast<double>(result.time.count()), expected, 0.01 * expected) << tiers << " " << bytes;
      config.collectives.of<collectives::InNetworkMember::Config>().lock = collectives::TreeLock::kCollective;
      test::fresh_kernel();
      EXPECT_GT(collective(config, CollectiveOp::kAllReduce, {static_cast<std::uint64_t>(bytes)}).results[0].time,
                result.time + (2 * tiers - 1) * config.fabric.switch_config.latency);
      config.collectives.of<collectives::InNetworkMember::Config>().lock = collectives::TreeLock::kCommunicator;
    }
  }
}

TEST(InNetworkErrors, NameWhatIsMissing) {
  const auto message = [](const MachineConfig& config) {
    test::fresh_kernel();
    Machine machine(config);
    try {
      run_collective(machine, CollectiveOp::kAllReduce, {1024}, ElementType::kFp32);
    } catch (const ConfigError& error) {
      return error.path() + ": " + error.expected();
    }
    return std::string("no error");
  };
  MachineConfig config = machine_of({"", 8, 1, AllReducePattern::kUpDown});
  config.fabric.switch_config.reduction.trees = 0;
  EXPECT_NE(message(config).find("reduction.trees of the network's switch is 0"), std::string::npos) << message(config);
  config = machine_of({"", 8, 4, AllReducePattern::kUpDown});
  config.fabric.switch_config.reduction.trees = 0;
  config.scale_up.fabric.switch_config.reduction.trees = 0;
  EXPECT_NE(message(config).find("reduction.trees is 0 in both networks"), std::string::npos) << message(config);
  config = machine_of({"", 8, 1, AllReducePattern::kUpDown});
  config.collectives.of<collectives::InNetworkMember::Config>().when_full = collectives::WhenFull::kRefuse;
  config.fabric.switch_config.reduction.trees = 1;
  EXPECT_NE(message(config).find("no room for the reduction trees"), std::string::npos) << message(config);
  config.fabric.switch_config.reduction.trees = 2;
  config.fabric.switch_config.reduction.chunks = 100;
  EXPECT_NE(message(config).find("no room for the reduction trees"), std::string::npos) << message(config);
}

// --- Within nodes and across them ---

/// Which of the two networks reduces.
struct Levels {
  std::string name;
  int ranks;
  int per_node;
  bool within;
  bool across;
};

MachineConfig machine_of(const Levels& levels) {
  MachineConfig config = machine_of(Shape{"", levels.ranks, levels.per_node, AllReducePattern::kUpDown});
  config.scale_up.fabric.switch_config.reduction.trees = levels.within ? 8 : 0;
  config.fabric.switch_config.reduction.trees = levels.across ? 3 * levels.per_node : 0;
  config.fabric.switch_config.reduction.chunks = 1 << 16;
  config.collectives.chunk = 16_KiB;
  config.collectives.piece = 64_KiB;
  config.collectives.pieces = 5;
  return config;
}

class TwoLevels : public testing::TestWithParam<std::tuple<CollectiveOp, Levels>> {};

TEST_P(TwoLevels, PutEveryByteInPlace) {
  const auto& [op, levels] = GetParam();
  for (const Time stall : {Time(), 300_ns}) {
    test::fresh_kernel();
    MachineConfig config = machine_of(levels);
    config.stall = stall;
    Machine machine(config);
    std::string remark;
    for (const CollectiveResult& result : run_collective(machine, op, kSizes, ElementType::kFp32, &remark)) {
      EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
    }
    EXPECT_EQ(remark, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, TwoLevels,
                         testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kReduceScatter,
                                                          CollectiveOp::kAllReduce, CollectiveOp::kBroadcast,
                                                          CollectiveOp::kBarrier),
                                          testing::Values(Levels{"Switches", 16, 4, true, true},
                                                          Levels{"SwitchesThenRings", 6, 2, true, false},
                                                          Levels{"RingsThenSwitches", 15, 5, false, true})),
                         [](const auto& test) {
                           return std::string(weft::name_of(std::get<0>(test.param))) + "_" +
                                  std::get<1>(test.param).name;
                         });

/// Each interface sends its share of the buffer up the tree once, and nothing else leaves a node.
TEST(TwoLevelTraffic, IsAnEighthOfTheBufferByEachInterface) {
  constexpr std::int64_t kBytes = 8 << 20;
  MachineConfig config = machine_of(Levels{"", 32, 8, true, true});
  config.data = false;
  config.collectives.pieces = 4;
  Machine machine(config);
  run_collective(machine, CollectiveOp::kAllReduce, {kBytes}, ElementType::kFp32);
  for (int r = 0; r < machine.size(); ++r) {
    EXPECT_EQ(machine.nic(r).counters().bytes_sent, 2 * kBytes / 8) << "rank " << r;  // the first size runs twice
    EXPECT_EQ(machine.nic(r).counters().bytes_received, 2 * kBytes / 8) << "rank " << r;
  }
}

TEST(TwoLevelErrors, UnevenNodesAreRefused) {
  MachineConfig config = machine_of(Levels{"", 8, 4, true, true});
  Machine machine(config);
  std::vector<firmware::Rank*> ranks = machine.ranks();
  ranks.pop_back();
  try {
    const collectives::Communicator communicator(ranks, config.collectives, "uneven");
    FAIL() << "uneven nodes";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.expected(), "uneven: in-network needs the same number of members in every node; expected ring");
  }
}

// --- Full tables ---

/// Trees for one communicator and no more: the second runs in rings and says so.
TEST(FullTables, LeaveTheNextCommunicatorRings) {
  for (const int per_node : {1, 4}) {
    test::fresh_kernel();
    MachineConfig config = machine_of(Levels{"", 8, per_node, true, true});
    config.scale_up.fabric.switch_config.reduction.trees = 4;
    config.fabric.switch_config.reduction.trees = 2 * per_node;
    Machine machine(config);
    const collectives::Communicator first(machine.ranks(), config.collectives, "first");
    EXPECT_EQ(first.remark(), "");
    std::string remark;
    const auto results = run_collective(machine, CollectiveOp::kAllReduce, {65540}, ElementType::kFp32, &remark);
    EXPECT_EQ(remark,
              "the switches have no room for the reduction trees of collectives, so that ring runs in "
              "place of in-network");
    EXPECT_EQ(results[0].wrong, 0);
  }
}

TEST(HierarchicalErrors, ABroadcastNamesWhatHasOne) {
  MachineConfig config;
  config.accelerators = 4;
  config.per_node = 2;
  config.collectives.algorithm = "hierarchical";
  Machine machine(config);
  try {
    run_collective(machine, CollectiveOp::kBroadcast, {1024}, ElementType::kFp32);
    FAIL() << "a hierarchical Broadcast";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.expected(),
              "expected ring, tree, nccl, in-network, multicast, deepep or dimensions for broadcast, or a tree in "
              "collectives.broadcast.algorithm, got hierarchical");
  }
}

TEST(InNetwork, DeadlocksNameGroups) {
  test::fresh_kernel();
  MachineConfig config;
  config.accelerators = 4;
  config.per_node = 1;
  config.fabric.switch_config.reduction.trees = 8;
  config.collectives.algorithm = "in-network";
  config.fabric.faults = {{.link = "end1", .from = 1_us, .down = true}};
  Machine machine(config);
  try {
    run_collective(machine, CollectiveOp::kAllReduce, {1 << 20}, ElementType::kFp32);
    FAIL() << "expected a deadlock";
  } catch (const DeadlockError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(" to group "), std::string::npos) << text;
    EXPECT_EQ(text.find(" to end "), std::string::npos) << text;
  }
}

// --- The same in rings ---

class Rings : public testing::TestWithParam<std::tuple<CollectiveOp, std::pair<int, int>>> {};

TEST_P(Rings, BroadcastAndMeet) {
  const auto& [op, shape] = GetParam();
  MachineConfig config;
  config.accelerators = shape.first;
  config.per_node = shape.second;
  config.collectives.chunk = 16_KiB;
  config.data = true;
  Machine machine(config);
  const auto results = run_collective(machine, op, kSizes, ElementType::kFp32);
  for (const CollectiveResult& result : results) EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
}

INSTANTIATE_TEST_SUITE_P(All, Rings,
                         testing::Combine(testing::Values(CollectiveOp::kBroadcast, CollectiveOp::kBarrier),
                                          testing::Values(std::pair(1, 1), std::pair(2, 1), std::pair(5, 1),
                                                          std::pair(16, 4), std::pair(8, 8))));

}  // namespace
}  // namespace weft::platforms
