// SPDX-License-Identifier: Apache-2.0
// Orders of collectives that all ranks can follow.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/graphs.h"
#include "traces/chakra/check.h"

namespace weft::platforms {
namespace {

using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;
using schedules::GraphResult;
using test::after;
using test::collective_node;
using test::Graphs;
using test::kernel_node;
using test::message_node;
using test::of_group;

/// Without dependencies between the groups, which one a rank begins first is open.
class JoinedGraphs : public Graphs {
 protected:
  GraphResult run_joined() {
    chakra::CheckOptions options;
    options.groups = workload_.groups;
    options.order = true;
    const chakra::CheckReport report = chakra::check(chakra::find_trace(workload_.prefix), options);
    EXPECT_EQ(report.found, 0U);
    workload_.order = report.order;
    EXPECT_NE(workload_.order, nullptr);
    return run();
  }
  static Node reduce(std::uint64_t id, const std::string& group, std::vector<std::uint64_t> dependencies = {}) {
    return after(of_group(collective_node(id, CollectiveType::kAllReduce, 4800), group), std::move(dependencies));
  }
};

/// Rank 4 cannot begin the second one before the first has ended, for which it takes its time.
TEST_F(JoinedGraphs, TakeAnOrderThatAllCanFollow) {
  const auto wide = [](std::uint64_t id, std::vector<std::uint64_t> dependencies = {}) {
    return after(collective_node(id, CollectiveType::kAllGather, 600), std::move(dependencies));
  };
  for (const int communications : {1, 2, 0}) {
    config_.communications = communications;
    traces({kernel_node(0, 50'000), reduce(1, "", {0}), wide(2)});
    trace(4, {kernel_node(0, 200'000), reduce(1, "", {0}), wide(2, {1})});
    const GraphResult done = run_joined();
    EXPECT_EQ(done.collectives, 12U);
    // Without an order they begin with the second one.
    workload_.order = nullptr;
    EXPECT_THROW(run(), DeadlockError);
  }
}

TEST_F(JoinedGraphs, HoldBackWhatOthersWaitFor) {
  workload_.groups = {{"a", {0, 1}}, {"b", {1, 2}}, {"c", {0, 2}}, {"d", {0, 1, 2, 3, 4, 5}}};
  const std::vector<Node> others = {reduce(9, "d")};
  traces(others);
  const auto on_three = [&](std::vector<Node> zero, std::vector<Node> one, std::vector<Node> two) {
    int rank = 0;
    for (std::vector<Node>* nodes : {&zero, &one, &two}) {
      nodes->push_back(reduce(9, "d"));
      trace(rank++, *nodes);
    }
  };
  // A circle of three groups by the ids alone.
  on_three({reduce(1, "a"), reduce(2, "c")}, {reduce(1, "b"), reduce(2, "a")}, {reduce(1, "c"), reduce(2, "b")});
  EXPECT_THROW(run(), DeadlockError);
  EXPECT_EQ(run_joined().collectives, 12U);
  // A send that comes behind what its receiver begins after it.
  const auto message = [](std::uint64_t id, NodeType type, std::int64_t peer) {
    return message_node(id, type, peer, 0, 800);
  };
  workload_.order = nullptr;
  on_three({reduce(1, "a"), message(2, NodeType::kSend, 1)}, {message(1, NodeType::kReceive, 0), reduce(2, "a", {1})},
           {});
  EXPECT_THROW(run(), DeadlockError);
  EXPECT_EQ(run_joined().messages, 1U);
}

/// A root begins a sum behind its broadcast, and a rank to which another one forwards it the other way round. The
/// groups beside them need an order all the same.
TEST_F(JoinedGraphs, TakeAnOrderBesideRootsThatEndEarly) {
  workload_.groups = {{"x", {0, 1, 2, 3, 4, 5}}, {"y", {0, 3}}, {"a", {1, 2}}, {"b", {2, 4}}, {"c", {1, 4}}};
  const auto to_root = [](std::uint64_t id, std::vector<std::uint64_t> dependencies = {}) {
    Node node = after(of_group(collective_node(id, CollectiveType::kReduce, 4800), "x"), std::move(dependencies));
    node.attributes.push_back(chakra::Attribute::integer("comm_root", 1));
    return node;
  };
  trace(0, {to_root(1), reduce(2, "y", {1})});
  trace(1, {reduce(1, "a"), reduce(2, "c"), to_root(3)});
  trace(2, {reduce(1, "b"), reduce(2, "a"), to_root(3)});
  trace(3, {reduce(1, "y"), to_root(2, {1})});
  trace(4, {reduce(1, "c"), reduce(2, "b"), to_root(3)});
  trace(5, {to_root(1)});
  for (const int communications : {1, 2, 0}) {
    config_.communications = communications;
    EXPECT_EQ(run_joined().collectives, 14U);
  }
  config_.communications = 1;
  workload_.order = nullptr;
  EXPECT_THROW(run(), DeadlockError);
}

/// Twenty programs of overlapping groups, each rank's in its own order, with and without a limit.
TEST_F(JoinedGraphs, RandomOrdersEnd) {
  machine_.data = false;
  std::mt19937 random(7);
  const auto below = [&random](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  for (int program = 0; program < 20; ++program) {
    workload_.groups.clear();
    for (const char* group : {"a", "b", "c", "d"}) {
      std::vector<std::uint32_t> members;
      for (std::uint32_t r = 0; r < 6; ++r) {
        if (below(2) == 0) members.push_back(r);
      }
      if (members.size() < 2) members = {0, 5};
      workload_.groups[group] = members;
    }
    std::vector<std::vector<Node>> ranks(6);
    std::uint64_t count = 0;
    for (std::uint64_t id = 0; id < 8; ++id) {
      const std::string group(1, static_cast<char>('a' + below(4)));
      for (const std::uint32_t r : workload_.groups[group]) {
        Node node =
            of_group(collective_node(id, CollectiveType::kAllReduce, 96 * (1 + static_cast<std::int64_t>(id))), group);
        // A rank's dependencies go with the order of the program; what takes no part in them goes as times have it.
        ranks[r].push_back(kernel_node(100 + id, 1000 * below(50)));
        node.data_dependencies = {100 + id};
        if (id > 0 && below(3) == 0) {
          for (const Node& each : ranks[r]) {
            if (each.id < id) node.data_dependencies.push_back(each.id);
          }
        }
        ranks[r].push_back(node);
        ++count;
      }
    }
    // Lower ids go first on a rank: here they are in no order.
    for (int r = 0; r < 6; ++r) {
      std::vector<std::uint64_t> names = {0, 1, 2, 3, 4, 5, 6, 7};
      std::shuffle(names.begin(), names.end(), random);
      for (Node& node : ranks[static_cast<std::size_t>(r)]) {
        if (node.id < 100) node.id = names[node.id];
        for (std::uint64_t& id : node.data_dependencies) {
          if (id < 100) id = names[id];
        }
      }
      trace(r, ranks[static_cast<std::size_t>(r)]);
    }
    chakra::CheckOptions options;
    options.groups = workload_.groups;
    options.order = true;
    const chakra::CheckReport report = chakra::check(chakra::find_trace(workload_.prefix), options);
    ASSERT_EQ(report.found, 0U) << program;
    workload_.order = report.order;
    for (const int communications : {1, 2, 0}) {
      SCOPED_TRACE(program);
      config_.communications = communications;
      EXPECT_EQ(run().collectives, count);
    }
  }
}

}  // namespace
}  // namespace weft::platforms
