// SPDX-License-Identifier: Apache-2.0
// Rings whose connections between nodes have several queue pairs.
#include <gtest/gtest.h>

#include <string>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/in_turn.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Protocol;

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
  MachineConfig config;
  config.accelerators = 16;
  config.per_node = 4;
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
  const auto check = [](MachineConfig config, CollectiveOp op, const std::string& what) {
    for (const int slots : {2, 16}) {
      test::fresh_kernel();
      config.collectives.chunk = 4_KiB;
      config.collectives.slots = slots;
      config.fabric.faults = {{.link = "spine1", .rate = 0.02}};
      config.data = true;
      Machine machine(config);
      for (const CollectiveResult& result : run_collective(machine, op, {300'000, 0, 40'000}, ElementType::kFp32)) {
        EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes, operation " << static_cast<int>(op) << ", " << slots
                                   << " slots, " << what;
      }
    }
  };
  for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kAllReduce, CollectiveOp::kBroadcast}) {
    check(hashed(true, 5), op, "staged");
    check(hashed(false, 5), op, "straight");
    for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128}) {
      MachineConfig config = hashed(true, 5);
      config.collectives.protocol = protocol;
      check(config, op, protocol == Protocol::kLl ? "words" : "lines");
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
  for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl128}) {
    const auto with = [protocol](MachineConfig config) {
      config.collectives.protocol = protocol;
      return config;
    };
    MachineConfig even = with(hashed(true, 1));
    even.fabric.routing = fabric::Routing::kDmodk;
    const Time best = time_of(even);
    const Time one = time_of(with(hashed(true, 1)));
    const Time many = time_of(with(hashed(true, 16)));
    EXPECT_GT(one, best);
    EXPECT_LT(many, one);
    EXPECT_GE(many, best);
  }
}

}  // namespace
}  // namespace weft::platforms
