// SPDX-License-Identifier: Apache-2.0
// Execution graphs on whole machines: what is computed, moved and waited for, with real data.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "platforms/machine/machine.h"
#include "sw/schedules/graph.h"
#include "tests/support/chakra.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"
#include "traces/chakra/kernels.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using chakra::Attribute;
using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;
using schedules::GraphConfig;
using schedules::GraphEngine;
using schedules::GraphResult;
using test::chakra_node;
using test::collective_node;
using test::message_node;

Node kernel_node(std::uint64_t id, std::uint64_t nanos, std::vector<std::uint64_t> after = {}) {
  Node node = chakra_node(id, std::move(after));
  node.set_duration_nanos(nanos);
  return node;
}

Node after(Node node, std::vector<std::uint64_t> dependencies) {
  node.data_dependencies = std::move(dependencies);
  return node;
}

Node of_group(Node node, const std::string& group) {
  node.attributes.push_back(Attribute::text("pg_name", group));
  return node;
}

class Graphs : public test::ChakraTest {
 protected:
  Graphs() {
    machine_.accelerators = 6;
    machine_.per_node = 1;
    machine_.data = true;
    machine_.fabric.topology = fabric::Shape::kSwitch;
    workload_.prefix = folder_ / "w";
  }

  void trace(int rank, const std::vector<Node>& nodes) { write(nodes, "w." + std::to_string(rank) + ".et"); }
  /// What is true of all ranks.
  void traces(const std::vector<Node>& nodes) {
    for (int r = 0; r < machine_.accelerators; ++r) trace(r, nodes);
  }

  GraphResult run() {
    test::fresh_kernel();
    Machine machine(machine_);
    GraphEngine engine(machine.ranks(), config_, machine_.collectives, machine_.accelerator.array.compute, workload_);
    engine.start();
    const test::ExpectReports reports;  // SystemC's own of what comes out of run()
    try {
      machine.run();
    } catch (const DeadlockError&) {
      unfinished_ = engine.unfinished();
      throw;
    }
    EXPECT_TRUE(reports.messages().empty());
    GraphResult result = engine.result();
    EXPECT_EQ(result.wrong, machine_.data ? 0 : -1);
    return result;
  }

  [[nodiscard]] std::string error() {
    return refused([this] { run(); });
  }

  MachineConfig machine_;
  GraphConfig config_;
  dimensions::Workload workload_;
  std::vector<std::string> unfinished_;
};

TEST_F(Graphs, KernelsOfARankFollowEachOther) {
  traces({kernel_node(0, 5000), kernel_node(1, 7000), kernel_node(2, 1000, {0, 1})});
  for (const Time finished : run().finished) {
    EXPECT_GE(finished, 13_us);
    EXPECT_LT(finished, 15_us);
  }
}

// Two nodes of 10 us each, one after the other or beside each other.
TEST_F(Graphs, KernelsOfSeveralStreamsShareTheArrayWhereTheirCoresFit) {
  const auto time = [this](int kernels, std::int64_t stream, std::int64_t cores) {
    config_.kernels = kernels;
    std::vector<Node> nodes = {kernel_node(0, 10'000), kernel_node(1, 10'000), kernel_node(2, 1000, {0, 1})};
    nodes[0].attributes.push_back(Attribute::integer("stream", 7));  // by CUDA's numbers
    nodes[1].attributes.push_back(Attribute::integer("stream", stream));
    for (Node& node : nodes) {
      if (cores > 0) node.attributes.push_back(Attribute::integer("cores", cores));
    }
    traces(nodes);
    return static_cast<double>(run().finished.front().count()) * 1e-6;
  };
  const std::int64_t half = machine_.accelerator.array.compute.sms / 2;
  const double turns = 21;
  const double together = 11;
  EXPECT_NEAR(time(2, 20, half), together, 0.5);
  EXPECT_NEAR(time(1, 20, half), turns, 0.5);
  EXPECT_NEAR(time(2, 7, half), turns, 0.5);
  EXPECT_NEAR(time(2, 20, half + 1), turns, 0.5);
  EXPECT_NEAR(time(2, 20, 0), turns, 0.5);
}

TEST_F(Graphs, OperationsTakeLongerOnFewerCores) {
  const auto time = [this](std::optional<std::int64_t> cores) {
    Node node = chakra_node(0);
    node.attributes = {Attribute::integer("num_ops", 1'000'000'000'000)};
    if (cores) node.attributes.push_back(Attribute::integer("cores", *cores));
    traces({node});
    return static_cast<double>(run().finished.front().count()) * 1e-6;
  };
  const std::int64_t sms = machine_.accelerator.array.compute.sms;
  const double whole = time(std::nullopt);
  EXPECT_EQ(time(sms), whole);
  EXPECT_NEAR(time(sms / 2) / whole, 2, 0.02);
  const auto refusal = [&](std::int64_t cores) { return refused([&] { time(cores); }); };
  const std::string expected = "cores: expected 1 to the " + std::to_string(sms) + " of the accelerator, got ";
  EXPECT_NE(refusal(sms + 1).find(expected + std::to_string(sms + 1)), std::string::npos);
  EXPECT_NE(refusal(0).find(expected + "0"), std::string::npos);
}

TEST_F(Graphs, AKernelTakesTheLongerOfItsOperationsAndItsMemory) {
  const auto time = [this](double operations, std::int64_t bytes) {
    Node node = chakra_node(0);
    node.attributes = {Attribute::integer("num_ops", static_cast<std::int64_t>(operations)),
                       Attribute::integer("tensor_size", bytes)};
    traces({node});
    return run().finished.front();
  };
  const accelerator::ComputeConfig& compute = machine_.accelerator.array.compute;
  const double peak = static_cast<double>(compute.tensor_16bit.count()) * compute.sustained;
  const Time launched = compute.launch;
  const Time computed = time(1e12, 0) - launched;
  EXPECT_NEAR(static_cast<double>(computed.count()), 1e24 / peak, 3e6);
  const Time moved = time(1, 1 << 30) - launched;
  EXPECT_NEAR(static_cast<double>(moved.count()),
              static_cast<double>(transfer_time(1_GiB, machine_.accelerator.hbm.sustained()).count()), 5e6);
  EXPECT_LT(time(1e12, 1 << 30) - launched, computed + moved / 2);
}

TEST_F(Graphs, EveryKindOfCollectiveLeavesTheRightBytes) {
  std::vector<Node> nodes;
  for (const CollectiveType type : {CollectiveType::kAllReduce, CollectiveType::kAllGather,
                                    CollectiveType::kReduceScatter, CollectiveType::kAllToAll}) {
    for (const std::int64_t bytes : {4, 1000, 300'000}) nodes.push_back(collective_node(nodes.size(), type, bytes));
  }
  nodes.push_back(collective_node(nodes.size(), CollectiveType::kBarrier, 0));
  nodes.back().attributes.pop_back();
  for (const int communications : {1, 3, 0}) {
    SCOPED_TRACE(communications);
    config_.communications = communications;
    traces(nodes);
    const GraphResult result = run();
    EXPECT_EQ(result.nodes, 6 * nodes.size());
    EXPECT_EQ(result.collectives, 6 * nodes.size());
  }
}

/// From any rank of a group and to it; without a root, from its first rank.
TEST_F(Graphs, CollectivesWithARootLeaveTheRightBytes) {
  workload_.groups = {{"some", {4, 1, 3}}};
  std::vector<std::vector<Node>> nodes(6);
  std::uint64_t count = 0;
  for (const CollectiveType type :
       {CollectiveType::kBroadcast, CollectiveType::kReduce, CollectiveType::kGather, CollectiveType::kScatter}) {
    for (const std::int64_t bytes : {4, 1000, 300'000}) {
      for (const std::int64_t root : {-1, 3}) {
        for (const bool all : {true, false}) {
          Node node = collective_node(count++, type, bytes);
          if (root >= 0) node.attributes.push_back(Attribute::integer("comm_root", root));
          if (!all) node = of_group(node, "some");
          for (const std::size_t rank :
               all ? std::vector<std::size_t>{0, 1, 2, 3, 4, 5} : std::vector<std::size_t>{1, 3, 4}) {
            nodes[rank].push_back(node);
          }
        }
      }
    }
  }
  for (const auto library : {schedules::Library::kDimensions, schedules::Library::kCommunicators}) {
    config_.library = library;
    for (int r = 0; r < 6; ++r) trace(r, nodes[static_cast<std::size_t>(r)]);
    EXPECT_EQ(run().collectives, count / 2 * (6 + 3));
  }
}

TEST_F(Graphs, ARootSendsToAllAndWaitsForNobody) {
  machine_.data = false;
  const auto finish = [this](CollectiveType type, int late) {
    const Node node = collective_node(1, type, 1 << 20);
    for (int r = 0; r < 6; ++r) trace(r, {kernel_node(0, r == late ? 1'000'000 : 1), after(node, {0})});
    return run().finished;
  };
  machine_.collectives.dimensions.splits = 1;
  const std::vector<Time> down = finish(CollectiveType::kBroadcast, 0);
  for (int r = 1; r < 6; ++r) EXPECT_GT(down[static_cast<std::size_t>(r)], 1_ms);
  const std::vector<Time> up = finish(CollectiveType::kReduce, 5);
  EXPECT_GT(up[0], 1_ms);
  EXPECT_LT(up[1], 1_ms);
}

TEST_F(Graphs, CommunicationIsNoOperationOfTheCpu) {
  const auto on_cpu = [](Node node) {
    node.attributes.push_back(Attribute::boolean("is_cpu_op", true));
    return node;
  };
  for (int r = 0; r < 6; ++r) {
    std::vector<Node> nodes = {on_cpu(collective_node(0, CollectiveType::kAllReduce, 300'000))};
    if (r == 0) nodes.push_back(on_cpu(message_node(1, NodeType::kSend, 1, 0, 1000)));
    if (r == 1) nodes.push_back(on_cpu(message_node(1, NodeType::kReceive, 0, 0, 1000)));
    trace(r, nodes);
  }
  const GraphResult result = run();
  EXPECT_EQ(result.collectives, 6U);
  EXPECT_EQ(result.messages, 1U);
}

TEST_F(Graphs, ANodeWithoutADurationOrOperationsTakesNoTime) {
  traces({chakra_node(0), kernel_node(1, 5000, {0})});
  EXPECT_LT(run().finished.front(), 6_us);
}

/// By its name, each rank means its own group.
TEST_F(Graphs, ANameMayBeAnotherGroupOnAnotherRank) {
  workload_.groups = {{"1", {0, 2, 4}}, {"1 of rank 1", {5, 3, 1}}};
  for (const std::uint32_t rank : {1, 3, 5}) workload_.keys[rank] = {{"1", "1 of rank 1"}};
  for (int r = 0; r < 6; ++r) {
    trace(r, {of_group(collective_node(0, CollectiveType::kAllReduce, r % 2 == 0 ? 60'000 : 90'000), "1")});
  }
  EXPECT_EQ(run().collectives, 6U);
}

/// As the experts of a rank that has all of its own.
TEST_F(Graphs, AGroupOfOneRankLeavesTheRightBytes) {
  for (int r = 0; r < 6; ++r) {
    std::vector<Node> nodes;
    for (const CollectiveType type : {CollectiveType::kAllReduce, CollectiveType::kAllGather,
                                      CollectiveType::kReduceScatter, CollectiveType::kAllToAll}) {
      nodes.push_back(of_group(collective_node(nodes.size(), type, 4096), std::to_string(r + 1)));
    }
    trace(r, nodes);
  }
  for (std::uint32_t r = 0; r < 6; ++r) workload_.groups[std::to_string(r + 1)] = {r};
  for (const auto library : {schedules::Library::kDimensions, schedules::Library::kCommunicators}) {
    config_.library = library;
    EXPECT_EQ(run().collectives, 24U);
  }
}

TEST_F(Graphs, CommunicatorsLeaveTheRightBytes) {
  std::vector<Node> nodes;
  for (const CollectiveType type : {CollectiveType::kAllReduce, CollectiveType::kAllGather,
                                    CollectiveType::kReduceScatter, CollectiveType::kAllToAll}) {
    for (const std::int64_t bytes : {4, 1000, 300'000}) {
      nodes.push_back(collective_node(nodes.size(), type, bytes));
      nodes.push_back(of_group(collective_node(nodes.size(), type, bytes), "others"));
    }
  }
  nodes.push_back(collective_node(nodes.size(), CollectiveType::kBarrier, 0));
  nodes.back().attributes.pop_back();
  traces(nodes);
  config_.library = schedules::Library::kCommunicators;
  config_.communications = 0;
  machine_.per_node = 2;
  machine_.accelerator.array.shared_cores = true;
  workload_.groups = {{"others", {0, 1, 2, 3, 4, 5}}};
  for (const auto algorithm : {collectives::Algorithm::kRing, collectives::Algorithm::kHierarchical}) {
    machine_.collectives.algorithm = algorithm;
    const GraphResult result = run();
    EXPECT_EQ(result.nodes, 6 * nodes.size());
    EXPECT_EQ(result.collectives, 6 * nodes.size());
  }
}

TEST_F(Graphs, ACommunicatorDoesOneCollectiveAtATime) {
  machine_.data = false;
  config_.communications = 0;
  config_.library = schedules::Library::kCommunicators;
  workload_.groups = {{"other", {0, 1, 2, 3, 4, 5}}};
  const auto time = [this](const std::vector<Node>& nodes) {
    traces(nodes);
    return run().finished.front();
  };
  const Node first = collective_node(0, CollectiveType::kAllGather, 4000);
  Node second = collective_node(1, CollectiveType::kAllGather, 4000);
  const Time one = time({first});
  EXPECT_GT(time({first, second}), one + one * 9 / 10);
  EXPECT_LT(time({first, of_group(second, "other")}), one + one / 2);
}

// What a collective's kernel takes from what is computed beside it: nothing where cores are its own.
TEST_F(Graphs, KernelsOfCommunicatorsKeepCores) {
  machine_.data = false;
  machine_.accelerator.array.copy_engines = 20;
  machine_.accelerator.array.compute.sms = 100;
  config_.library = schedules::Library::kCommunicators;
  const auto time = [this](bool shares, const std::vector<Node>& nodes) {
    machine_.accelerator.array.shared_cores = shares;
    traces(nodes);
    return static_cast<double>(run().finished.front().count()) * 1e-6;
  };
  const Node collective = collective_node(0, CollectiveType::kAllReduce, 64 << 20);
  // -1: its duration alone.
  const auto beside = [&](bool shares, std::int64_t blocks) {
    Node kernel = kernel_node(1, 20'000'000);
    if (blocks >= 0) chakra::set_kernels(kernel, {{.compute_ps = 20'000'000'000, .blocks = blocks}});
    return time(shares, {collective, kernel});
  };
  constexpr double kAlone = 20'000;
  constexpr double kNear = 60;  // a slice
  const double collective_time = time(true, {collective});
  ASSERT_GT(collective_time, 2000);
  for (const std::int64_t blocks : {-1, 0, 100}) EXPECT_NEAR(beside(false, blocks), kAlone, kNear);
  // While the collective runs, four fifths of the cores are left.
  for (const std::int64_t blocks : {-1, 0}) EXPECT_NEAR(beside(true, blocks), kAlone + collective_time / 5, kNear);
  // Persistent blocks that find no core begin when it has ended.
  EXPECT_NEAR(beside(true, 100), kAlone + collective_time, kNear);
  EXPECT_NEAR(beside(true, 80), kAlone, kNear);
}

TEST_F(Graphs, KernelsOfANodeFollowEachOtherAndUseTheMemory) {
  machine_.data = false;
  Node node = kernel_node(0, 77);
  const std::int64_t bytes = 1 << 30;
  chakra::set_kernels(node,
                      {{.launch_ps = 3'000'000, .compute_ps = 50'000'000}, {.launch_ps = 2'000'000, .read = bytes}});
  const Time moved = transfer_time(Bytes(bytes), machine_.accelerator.hbm.sustained());
  const auto time = [&](schedules::ComputeTime compute) {
    config_.compute = compute;
    traces({node});
    return run().finished.front();
  };
  for (const auto compute : {schedules::ComputeTime::kAuto, schedules::ComputeTime::kKernels}) {
    EXPECT_GE(time(compute), 55_us + moved);
    EXPECT_LT(time(compute), 60_us + moved);
  }
  EXPECT_LT(time(schedules::ComputeTime::kDuration), 5_us);
}

TEST_F(Graphs, GroupsOfSomeRanksRunBesideEachOther) {
  workload_.groups = {{"even", {0, 2, 4}}, {"odd", {5, 3, 1}}, {"first", {0, 1}}};
  for (int r = 0; r < 6; ++r) {
    std::vector<Node> nodes = {
        of_group(collective_node(0, CollectiveType::kAllReduce, 60'000), r % 2 == 0 ? "even" : "odd"),
        of_group(collective_node(1, CollectiveType::kAllGather, 10'000), r % 2 == 0 ? "even" : "odd")};
    if (r < 2) nodes.push_back(of_group(collective_node(2, CollectiveType::kReduceScatter, 10'000), "first"));
    trace(r, nodes);
  }
  EXPECT_EQ(run().collectives, 14U);
}

TEST_F(Graphs, CommunicationRunsBesideComputing) {
  const auto time = [this](bool waits) {
    traces({collective_node(0, CollectiveType::kAllReduce, 8 << 20),
            kernel_node(1, 1'000'000, waits ? std::vector<std::uint64_t>{0} : std::vector<std::uint64_t>{})});
    return run().finished.front();
  };
  machine_.data = false;
  const Time beside = time(false);
  const Time behind = time(true);
  EXPECT_LT(beside, 1010_us);
  EXPECT_GT(behind, 1100_us);
}

/// 0 sends to 1, which sends on to 2: tags in another order than they are asked for, several with the same one.
TEST_F(Graphs, MessagesMatchByTagAndInOrder) {
  trace(0, {message_node(0, NodeType::kSend, 1, 7, 1000), message_node(1, NodeType::kSend, 1, 8, 2000),
            message_node(2, NodeType::kSend, 1, 7, 3000), message_node(3, NodeType::kSend, 1, 9, 0)});
  trace(1,
        {message_node(0, NodeType::kReceive, 0, 8, 2000), after(message_node(1, NodeType::kReceive, 0, 7, 1000), {0}),
         after(message_node(2, NodeType::kReceive, 0, 7, 3000), {1}),
         after(message_node(3, NodeType::kReceive, 0, 9, 0), {2}),
         after(message_node(4, NodeType::kSend, 2, -1, 100'000), {2})});
  trace(2, {message_node(0, NodeType::kReceive, 1, -1, 100'000)});
  for (int r = 3; r < 6; ++r) trace(r, {kernel_node(0, 1)});
  config_.communications = 0;
  EXPECT_EQ(run().messages, 5U);
}

/// A thousand messages between all pairs at random: each comes once, and right.
TEST_F(Graphs, ManyMessagesAllCome) {
  std::vector<std::vector<Node>> nodes(6);
  std::uint64_t state = 1;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  for (int i = 0; i < 1000; ++i) {
    const auto from = draw(6);
    const auto to = (from + 1 + draw(5)) % 6;
    const auto tag = static_cast<std::int64_t>(draw(4));
    const auto bytes = static_cast<std::int64_t>(draw(20'000));
    nodes[from].push_back(message_node(nodes[from].size(), NodeType::kSend, static_cast<std::int64_t>(to), tag, bytes));
    nodes[to].push_back(
        message_node(nodes[to].size(), NodeType::kReceive, static_cast<std::int64_t>(from), tag, bytes));
  }
  for (int r = 0; r < 6; ++r) trace(r, nodes[static_cast<std::size_t>(r)]);
  for (const int communications : {1, 0}) {
    config_.communications = communications;
    machine_.stall = communications == 0 ? 2_us : 0_us;
    EXPECT_EQ(run().messages, 1000U);
  }
}

TEST_F(Graphs, ASendTakesItsBytesTime) {
  machine_.data = false;
  trace(0, {message_node(0, NodeType::kSend, 1, 0, 100'000'000)});
  trace(1, {message_node(0, NodeType::kReceive, 0, 0, 100'000'000)});
  for (int r = 2; r < 6; ++r) trace(r, {kernel_node(0, 1)});
  const GraphResult result = run();
  const Time least = transfer_time(Bytes(100'000'000), machine_.fabric.link.rate);
  EXPECT_GT(result.finished[0], least);
  EXPECT_LT(result.finished[0], least + least / 20);
  EXPECT_NEAR(static_cast<double>(result.finished[1].count()), static_cast<double>(result.finished[0].count()), 1e6);
}

TEST_F(Graphs, TheCpuDoesOneThingAtATime) {
  Node cpu = kernel_node(0, 4000);
  cpu.attributes.push_back(Attribute::boolean("is_cpu_op", true));
  Node more = cpu;
  more.id = 1;
  traces({cpu, more, kernel_node(2, 5000)});
  const Time finished = run().finished.front();
  EXPECT_GE(finished, 8_us);
  EXPECT_LT(finished, 10_us);
}

/// A ring of three that passes everything on, in place of the AllReduce.
TEST_F(Graphs, ACollectiveCanHaveAnImplementationOfItsOwn) {
  machine_.accelerators = 3;
  traces({collective_node(0, CollectiveType::kAllReduce, 9000),
          after(collective_node(1, CollectiveType::kAllReduce, 9000), {0})});
  for (int r = 0; r < 3; ++r) {
    write({message_node(0, NodeType::kSend, (r + 1) % 3, 0, 9000),
           message_node(1, NodeType::kReceive, (r + 2) % 3, 0, 9000), kernel_node(2, 2000, {1}),
           after(message_node(3, NodeType::kSend, (r + 1) % 3, 1, 9000), {2}),
           after(message_node(4, NodeType::kReceive, (r + 2) % 3, 1, 9000), {2})},
          "ring." + std::to_string(r) + ".et");
  }
  workload_.custom = {{dimensions::Operation::kAllReduce, folder_ / "ring"}};
  const GraphResult result = run();
  EXPECT_EQ(result.messages, 12U);
  EXPECT_EQ(result.nodes, 3U * (2 + 2 * 5));
  EXPECT_GE(result.finished.front(), 4_us);
}

TEST_F(Graphs, ACollectiveMayInvolveSomeDimensions) {
  machine_.collectives.dimensions.sizes = {3, 2};
  const auto time = [this](const std::vector<bool>& involved, CollectiveType type) {
    std::vector<Node> nodes;
    for (std::uint64_t id = 0; id < 3; ++id) {
      nodes.push_back(collective_node(id, type, 60'000));
      nodes.back().attributes.push_back(Attribute::booleans("involved_dim", involved));
    }
    traces(nodes);
    return run().finished.front();
  };
  for (const CollectiveType type : {CollectiveType::kAllReduce, CollectiveType::kAllToAll}) {
    const Time all = time({true, true}, type);
    EXPECT_EQ(time({true, true, false}, type), all);  // there is no third one
    EXPECT_EQ(time({true}, type), time({true, false}, type));
    EXPECT_EQ(time({}, type), time({false, false}, type));
    EXPECT_LT(time({false, true}, type), time({true, false}, type));
    EXPECT_LT(time({true, false}, type), all);
  }
  EXPECT_LT(time({false, false}, CollectiveType::kAllReduce), 10_us);
}

TEST_F(Graphs, TheSameRunGivesTheSameTimes) {
  traces({kernel_node(0, 1000), collective_node(1, CollectiveType::kAllToAll, 100'000),
          after(collective_node(2, CollectiveType::kAllReduce, 50'000), {0})});
  EXPECT_EQ(run().finished, run().finished);
}

// --- What is wrong with the input ---

TEST_F(Graphs, RefuseWhatNobodyCanExecute) {
  traces({kernel_node(0, 1)});
  Node gather = collective_node(3, CollectiveType::kGather, 8);
  gather.attributes.push_back(Attribute::integer("comm_root", 6));
  trace(2, {gather});
  EXPECT_EQ(error(), "w.2.et: node 3 'n3' has the root 6: expected a rank of its group, by its number in the machine");
  trace(2, {of_group(collective_node(3, CollectiveType::kAllReduce, 8), "x")});
  EXPECT_EQ(
      error(),
      "w.2.et: node 3 'n3' is of group \"x\", which neither the metadata of the trace nor the workload's groups name");
  workload_.groups = {{"x", {0, 2}}};
  Node some = of_group(collective_node(3, CollectiveType::kAllReduce, 8), "x");
  some.attributes.push_back(Attribute::booleans("involved_dim", {false}));
  trace(2, {some});
  EXPECT_EQ(error(), "w.2.et: node 3 'n3' leaves dimensions out (involved_dim), of which its group \"x\" has one");
  trace(2, {of_group(collective_node(3, CollectiveType::kAllReduce, 8), "x")});
  workload_.groups = {{"x", {0, 1}}};
  EXPECT_EQ(error(), "w.2.et: node 3 'n3' is of group \"x\", to which rank 2 does not belong");
  trace(2, {chakra_node(1, {}, NodeType::kMemoryLoad)});
  EXPECT_EQ(error(), "w.2.et: node 1 'n1' moves remote memory, which this machine does not have");
  trace(2, {message_node(1, NodeType::kSend, 6, 0, 8)});
  EXPECT_EQ(error(), "w.2.et: node 1 'n1' comm_dst: expected a rank below 6, got 6");
  Node alone = chakra_node(1, {}, NodeType::kReceive);
  alone.attributes = {Attribute::integer("comm_size", 8)};
  trace(2, {alone});
  EXPECT_EQ(error(), "w.2.et: node 1 'n1' says in comm_src no other rank to exchange with");
  trace(2, {chakra_node(1)});
  config_.compute = schedules::ComputeTime::kOperations;
  for (const int r : {0, 1, 3, 4, 5}) trace(r, {});
  EXPECT_EQ(error(), "w.2.et: node 1 'n1' has no num_ops");
  config_.compute = schedules::ComputeTime::kAuto;
  Node node = kernel_node(1, 5);
  chakra::set_kernels(node, {{.launch_ps = -1}});
  trace(2, {node});
  const std::string list = ": attribute kernels: expected a list of 8 integers of 0 or more for each kernel";
  EXPECT_EQ(error(), "w.2.et: node 1 'n1'" + list);
  node.attributes = {Attribute::integer("kernels", 5)};
  trace(2, {node});
  EXPECT_EQ(error(), "w.2.et: node 1 'n1'" + list);
  traces({kernel_node(0, 1)});
  config_.compute = schedules::ComputeTime::kKernels;
  EXPECT_EQ(error(), "w.0.et: node 0 'n0' has no kernels");
}

/// Which `weft trace check` refuses before.
TEST_F(Graphs, WaitForCollectivesThatDifferBetweenRanks) {
  traces({collective_node(0, CollectiveType::kAllReduce, 800)});
  for (const Node& node :
       {collective_node(0, CollectiveType::kAllReduce, 900), collective_node(0, CollectiveType::kAllGather, 100)}) {
    trace(4, {node});
    EXPECT_THROW(run(), DeadlockError);
    ASSERT_GE(unfinished_.size(), 2U);
    EXPECT_EQ(unfinished_[1],
              "rank 4 could begin COMM_COLL_NODE node 0 'n0', but the next collective of its group is all_reduce of "
              "800 bytes, which rank 0 has begun with node 0: dependencies that give all ranks one order help");
  }
}

/// After the Allgather rank 4 has nothing but the ReduceScatter, and the others the AllReduce before it.
TEST_F(Graphs, TakeTheOrderOfTheRankThatIsFirst) {
  for (const int communications : {1, 0}) {
    config_.communications = communications;
    const auto nodes = [](std::uint64_t us) {
      return std::vector<Node>{kernel_node(0, us * 1000),
                               after(collective_node(1, CollectiveType::kAllReduce, 4800), {0}),
                               collective_node(3, CollectiveType::kAllGather, 600),
                               collective_node(4, CollectiveType::kReduceScatter, 4800)};
    };
    traces(nodes(1));
    trace(4, nodes(200));
    const GraphResult done = run();
    EXPECT_TRUE(unfinished_.empty());
    EXPECT_EQ(done.collectives, 18U);
    for (const Time finished : done.finished) EXPECT_GE(finished, 200_us);
  }
}

/// Of equal ranks and tag, in whatever order they are issued.
TEST_F(Graphs, MatchMessagesBySize) {
  traces({kernel_node(0, 1)});
  trace(0, {message_node(0, NodeType::kSend, 1, 5, 100), message_node(1, NodeType::kSend, 1, 5, 200),
            message_node(2, NodeType::kSend, 1, 5, 100)});
  Node late = message_node(2, NodeType::kReceive, 0, 5, 100);
  late.data_dependencies = {0};
  trace(1, {message_node(0, NodeType::kReceive, 0, 5, 200), message_node(1, NodeType::kReceive, 0, 5, 100), late});
  const GraphResult done = run();
  EXPECT_EQ(done.messages, 3U);
  EXPECT_EQ(done.wrong, 0);
}

TEST_F(Graphs, MessagesOfDifferentSizesDoNotMeet) {
  traces({kernel_node(0, 1)});
  trace(0, {message_node(0, NodeType::kSend, 1, 5, 100)});
  trace(1, {message_node(0, NodeType::kReceive, 0, 5, 200)});
  EXPECT_THROW(run(), DeadlockError);
  // What is sent waits in the receiver's memory.
  ASSERT_EQ(unfinished_.size(), 2U);
  EXPECT_EQ(unfinished_[1], "rank 1 has under way COMM_RECV_NODE node 0 'n0'");
}

/// As check() takes it from other ranks.
TEST_F(Graphs, TakeARootThatOtherRanksName) {
  traces({chakra_node(0, {}, NodeType::kMetadata)});
  Node from = collective_node(3, CollectiveType::kBroadcast, 64);
  traces({from});
  from.attributes.push_back(Attribute::integer("comm_root", 2));
  trace(0, {from});
  for (const std::uint32_t rank : {1U, 2U, 3U, 4U, 5U}) workload_.roots[rank][3] = 2;
  EXPECT_EQ(run().wrong, 0);
}

TEST_F(Graphs, TellWhoWaits) {
  traces({kernel_node(0, 1)});
  trace(4, {kernel_node(0, 1), message_node(1, NodeType::kReceive, 3, 5, 200)});
  EXPECT_THROW(run(), DeadlockError);
  ASSERT_EQ(unfinished_.size(), 2U);
  EXPECT_EQ(unfinished_[0], (folder_ / "w").string() + ": 1 of 6 ranks have not done their traces");
  EXPECT_EQ(unfinished_[1], "rank 4 has under way COMM_RECV_NODE node 1 'n1'");
}

/// Two groups of the same ranks, whose collectives one rank begins in another order.
TEST_F(Graphs, TellWhichLimitMakesRanksWaitForEachOther) {
  workload_.groups = {{"a", {0, 1}}, {"b", {0, 1}}};
  traces({kernel_node(0, 1)});
  const auto collective = [](std::uint64_t id, const std::string& group) {
    return of_group(collective_node(id, CollectiveType::kAllReduce, 800), group);
  };
  trace(0, {collective(0, "a"), collective(1, "b")});
  trace(1, {collective(0, "b"), collective(1, "a")});
  EXPECT_THROW(run(), DeadlockError);
  ASSERT_EQ(unfinished_.size(), 4U);
  EXPECT_EQ(unfinished_[1],
            "rank 0 and 1 more could begin more, the former COMM_COLL_NODE node 1 'n1', but workload.communications is "
            "1: ranks that begin collectives or sends in a different order wait for each other; "
            "workload.communications=0 lets any number be under way");
  config_.communications = 0;
  EXPECT_EQ(run().collectives, 4U);
}

}  // namespace
}  // namespace weft::platforms
