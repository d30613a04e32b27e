// SPDX-License-Identifier: Apache-2.0
// Execution graphs on whole machines: what is computed, sent and waited for.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/graphs.h"
#include "traces/chakra/kernels.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using chakra::Attribute;
using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;
using schedules::GraphResult;
using test::after;
using test::chakra_node;
using test::collective_node;
using test::Graphs;
using test::kernel_node;
using test::message_node;
using test::of_group;

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

TEST_F(Graphs, AKernelMovesWhatItsSlicesCanAskFor) {
  const auto moving = [this](std::int64_t bytes) {
    Node node = chakra_node(0);
    node.attributes = {Attribute::integer("num_ops", 1), Attribute::integer("tensor_size", bytes)};
    traces({node});
    run();
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 52;
  EXPECT_NO_THROW(moving(kMost));
  EXPECT_NE(refused([&] { moving(kMost + 1); }).find("tensor_size: expected at most 4503599627370496 bytes"),
            std::string::npos);
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

TEST_F(Graphs, TheSameRunGivesTheSameTimes) {
  traces({kernel_node(0, 1000), collective_node(1, CollectiveType::kAllToAll, 100'000),
          after(collective_node(2, CollectiveType::kAllReduce, 50'000), {0})});
  EXPECT_EQ(run().finished, run().finished);
}

/// All of a group take part, as in ASTRA-sim, whatever dimensions a collective names.
TEST_F(Graphs, AGroupHasNoDimensionsToLeaveOut) {
  workload_.groups = {{"x", {0, 2}}};
  const Node plain = of_group(collective_node(3, CollectiveType::kAllReduce, 80'000), "x");
  Node some = plain;
  some.attributes.push_back(Attribute::booleans("involved_dim", {false, true}));
  const auto ran = [this](const Node& first, const Node& last) {
    traces({kernel_node(0, 1)});
    trace(0, {first});
    trace(2, {last});
    return run();
  };
  EXPECT_EQ(ran(some, plain).finished, ran(plain, plain).finished);
  EXPECT_EQ(ran(some, some).messages, ran(plain, plain).messages);
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
  trace(2, {of_group(collective_node(3, CollectiveType::kAllReduce, 8), "x")});
  workload_.groups = {{"x", {0, 1}}};
  EXPECT_EQ(error(), "w.2.et: node 3 'n3' is of group \"x\", to which rank 2 does not belong");
  trace(2, {chakra_node(1, {}, NodeType::kMemoryLoad)});
  EXPECT_EQ(error(),
            "w.2.et: node 1 'n1' moves remote memory, which this machine does not have: expected a "
            "remote_memory.kind, as weft import --memory sets it");
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

TEST_F(Graphs, TellWhoWaits) {
  traces({kernel_node(0, 1)});
  trace(4, {kernel_node(0, 1), message_node(1, NodeType::kReceive, 3, 5, 200)});
  EXPECT_THROW(run(), DeadlockError);
  ASSERT_EQ(unfinished_.size(), 2U);
  EXPECT_EQ(unfinished_[0], (folder_ / "w").string() + ": 1 of 6 ranks have not done their traces");
  EXPECT_EQ(unfinished_[1], "rank 4 has under way COMM_RECV_NODE node 1 'n1'");
}

}  // namespace
}  // namespace weft::platforms
