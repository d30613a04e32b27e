// SPDX-License-Identifier: Apache-2.0
// Collectives on interfaces whose queues hold few requests: firmware waits for a place, and every byte is in place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/multicast/multicast.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AlgorithmName;

MachineConfig machine_of(const AlgorithmName& algorithm, int send, int receive) {
  MachineConfig config;
  config.accelerators = 8;
  config.per_node = 2;
  config.fabric.radix = 8;
  config.fabric.hosts_per_leaf = 4;
  config.fabric.switch_config.reduction.trees = 32;
  config.scale_up.fabric.switch_config.reduction.trees = 32;
  config.collectives.algorithm = algorithm;
  config.collectives.chunk = 4_KiB;
  config.collectives.of<collectives::MulticastConfig>().queue_depth = 16;
  config.data = true;
  for (nic::NicConfig* nic : {&config.nic, &config.scale_up.port}) {
    nic->send_queue_depth = send;
    nic->receive_queue_depth = receive;
  }
  return config;
}

class QueueDepths : public testing::TestWithParam<AlgorithmName> {};

TEST_P(QueueDepths, AreNotOverrun) {
  for (const int depth : {1, 2, 3, 64}) {
    // Multicast that finds no receive is lost, and in-network collectives have no way to repeat it.
    const int receive = GetParam() == "in-network" ? std::max(depth, 3) : depth;
    for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce,
                                  CollectiveOp::kBroadcast, CollectiveOp::kBarrier}) {
      if (op == CollectiveOp::kBroadcast && GetParam() == "hierarchical") continue;
      test::fresh_kernel();
      Machine machine(machine_of(GetParam(), depth, receive));
      for (const CollectiveResult& result : run_collective(machine, op, {60'004, 12}, ElementType::kFp32)) {
        EXPECT_EQ(result.wrong, 0) << weft::name_of(op) << " of " << result.bytes << " bytes at depth " << depth;
      }
      for (int r = 0; r < machine.size(); ++r) EXPECT_EQ(machine.nic(r).counters().overruns, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, QueueDepths,
                         testing::Values("ring", "tree", "nccl", "hierarchical", "in-network", "multicast",
                                         "dimensions"),
                         [](const auto& test) {
                           std::string name(weft::name_of(test.param));
                           std::erase(name, '-');
                           return name;
                         });

/// What waits for a place costs time, and a queue that is deep enough costs none.
TEST(QueueDepth, CostsTimeWhereItIsTooSmall) {
  const auto time = [](int depth) {
    test::fresh_kernel();
    MachineConfig config = machine_of("ring", depth, 0);
    config.data = false;
    Machine machine(config);
    return run_collective(machine, CollectiveOp::kAllReduce, {1 << 20}, ElementType::kFp32)[0].time;
  };
  const Time any = time(0);
  EXPECT_GT(time(1), any);
  EXPECT_EQ(time(1'000'000), any);
}

std::string refusal(const MachineConfig& config) {
  test::fresh_kernel();
  try {
    Machine machine(config);
    run_collective(machine, CollectiveOp::kAllgather, {1024}, ElementType::kFp32);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

/// Ten members and more, whose receives nearly fill the queue: nobody waits for a place that is free and not told of.
TEST(QueueDepth, HoldsWhatItIsSaidToHold) {
  for (const auto& [members, least] : {std::pair{9, 9}, {10, 10}, {17, 19}}) {
    EXPECT_EQ(nic::NicConfig::depth_for(members - 1), least);
    for (const AlgorithmName algorithm : {"in-network", "multicast"}) {
      if (algorithm == "multicast" && members != 10) continue;
      for (const int depth : {8, 9, 10, 11, 16, least}) {
        MachineConfig config = machine_of(algorithm, 0, depth);
        config.accelerators = members;
        config.per_node = 1;
        config.fabric.radix = 32;
        config.fabric.hosts_per_leaf = 32;
        if (algorithm == "in-network" && depth < least) {
          EXPECT_NE(refusal(config).find("nic.receive_queue_depth: expected 0, or at least " + std::to_string(least) +
                                         " for collectives.algorithm in-network"),
                    std::string::npos)
              << members << " members at depth " << depth;
          continue;
        }
        for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kAllReduce, CollectiveOp::kBroadcast}) {
          test::fresh_kernel();
          Machine machine(config);
          for (const CollectiveResult& result : run_collective(machine, op, {60'004, 12, 60'004}, ElementType::kFp32)) {
            EXPECT_EQ(result.wrong, 0) << weft::name_of(op) << " of " << result.bytes << " bytes by "
                                       << weft::name_of(algorithm) << ", " << members << " members at depth " << depth;
          }
          if (algorithm != "in-network") continue;
          for (int r = 0; r < machine.size(); ++r) EXPECT_EQ(machine.nic(r).counters().no_receive, 0);
        }
      }
    }
  }
}

TEST(QueueDepth, OfReceivesSaysWhyOneOfEachOtherIsNotEnough) {
  MachineConfig config = machine_of("in-network", 0, 9);
  config.accelerators = 10;
  config.per_node = 1;
  config.fabric.radix = 32;
  config.fabric.hosts_per_leaf = 32;
  const std::string message = refusal(config);
  EXPECT_NE(message.find("since multicast that finds none is lost, and of 9 places it can count on 8, since free ones "
                         "are reported 2 at a time"),
            std::string::npos)
      << message;
}

TEST(QueueDepth, OfReceivesMustHoldOnesOfAllOthersInTheNetwork) {
  const std::string message = refusal(machine_of("in-network", 0, 2));
  EXPECT_NE(message.find("nic.receive_queue_depth: expected 0, or at least 3 for collectives.algorithm in-network"),
            std::string::npos)
      << message;
}

/// What a run with too small a depth says is the least that works, and with it the run is the one without a depth.
TEST(QueueDepth, OfCompletionsIsToldExactly) {
  for (const AlgorithmName algorithm : {"ring", "dimensions", "in-network"}) {
    const auto run = [&](int depth) {
      test::fresh_kernel();
      MachineConfig config = machine_of(algorithm, 0, 0);
      config.firmware.completion_queue_depth = depth;
      Machine machine(config);
      return run_collective(machine, CollectiveOp::kAllReduce, {64 << 10}, ElementType::kFp32).front().time;
    };
    const auto refused = [&](int depth) -> std::string {
      try {
        run(depth);
      } catch (const ConfigError& error) {
        return error.what();
      }
      return "";
    };
    const std::string message = refused(1);
    const std::string said = "firmware.completion_queue_depth: expected at least ";
    ASSERT_NE(message.find(said), std::string::npos) << message;
    const int least = std::stoi(message.substr(message.find(said) + said.size()));
    EXPECT_GT(least, 1);
    EXPECT_NE(message.find(", got 1: so many completions waited in a queue of firmware"), std::string::npos) << message;
    EXPECT_EQ(run(least), run(0));
    EXPECT_NE(refused(least - 1), "");
  }
}

TEST(QueueDepth, IsNotForThreadsThatPoll) {
  MachineConfig config = machine_of("ring", 4, 0);
  config.firmware.wait = firmware::Wait::kPoll;
  const std::string message = refusal(config);
  EXPECT_NE(message.find("firmware.wait: expected event, since nic.send_queue_depth is 4"), std::string::npos)
      << message;
}

TEST(Polling, ThatKeepsAllHardwareThreadsIsRefused) {
  MachineConfig config = machine_of("multicast", 0, 0);
  config.firmware.wait = firmware::Wait::kPoll;
  config.firmware.cores = 1;
  const std::string message = refusal(config);
  EXPECT_NE(message.find("firmware.wait: expected event, or firmware.threads="), std::string::npos) << message;
  config.firmware.threads = 16;
  EXPECT_EQ(refusal(config), "none");
}

TEST(Overtaking, IsRefusedWithoutRecovery) {
  MachineConfig config = machine_of("ring", 0, 0);
  config.fabric.routing = fabric::Routing::kAdaptive;
  const std::string message = refusal(config);
  EXPECT_EQ(message.find("nic.recovery: expected true, since fabric.routing is adaptive: packets of a queue pair "
                         "overtake each other, and what comes ahead of its turn would be dropped and not sent again; "
                         "nic.reorder="),
            0U)
      << message;
  EXPECT_NE(message.find("KiB beside it keeps them"), std::string::npos) << message;
  config.nic.recovery = true;
  EXPECT_EQ(refusal(config), "none");
  // One way is no choice.
  config.nic.recovery = false;
  config.accelerators = 4;
  EXPECT_EQ(refusal(config), "none");
}

TEST(Rerouting, IsRefusedWithoutRecovery) {
  MachineConfig config = machine_of("ring", 0, 0);
  config.fabric.spines = 2;
  config.fabric.faults = {{.link = "leaf0-spine0", .from = 3_us, .until = 50_us, .down = true}};
  EXPECT_EQ(refusal(config), "none") << "who waits for the link keeps its turn";
  config.fabric.reroute_after = 2_us;
  EXPECT_EQ(refusal(config),
            "nic.recovery: expected true, since fabric.reroute_after changes routes at 5us: packets on their way then "
            "can overtake each other or find no path left, and would be dropped and not sent again");
  config.nic.recovery = true;
  EXPECT_EQ(refusal(config), "none");
  // What is down from the start is avoided from the start.
  config.nic.recovery = false;
  config.fabric.faults[0].from = config.fabric.faults[0].until = Time();
  EXPECT_EQ(refusal(config), "none");
}

}  // namespace
}  // namespace weft::platforms
