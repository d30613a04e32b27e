// SPDX-License-Identifier: Apache-2.0
// Collectives of execution graphs on whole machines: their bytes, groups, roots and order.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sw/collectives/line/dimensional.h"
#include "tests/support/graphs.h"
#include "traces/chakra/exchange.h"
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
  machine_.collectives.of<collectives::DimensionsConfig>().splits = 1;
  const std::vector<Time> down = finish(CollectiveType::kBroadcast, 0);
  for (int r = 1; r < 6; ++r) EXPECT_GT(down[static_cast<std::size_t>(r)], 1_ms);
  const std::vector<Time> up = finish(CollectiveType::kReduce, 5);
  EXPECT_GT(up[0], 1_ms);
  EXPECT_LT(up[1], 1_ms);
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

/// Numbers of a rank's parts to and from each of six.
chakra::Exchange uneven_parts(std::int64_t rank) {
  chakra::Exchange exchange;
  for (std::int64_t other = 0; other < 6; ++other) {
    exchange.to.push_back(4 * ((rank * 7 + other * 3) % 5) * 1000);
    exchange.from.push_back(4 * ((other * 7 + rank * 3) % 5) * 1000);
  }
  return exchange;
}

/// As NCCL makes AllToAlls; with parts that differ, and some that are empty, too.
TEST_F(Graphs, AllToAllsAreSentAndReceived) {
  for (int r = 0; r < 6; ++r) {
    std::vector<Node> nodes;
    for (std::uint64_t i = 0; i < 4; ++i) {
      nodes.push_back(of_group(collective_node(i, CollectiveType::kAllToAll, 60'000), "all"));
      if (i % 2 == 1) chakra::set_exchange(nodes.back(), uneven_parts(r));
    }
    trace(r, nodes);
  }
  workload_.groups = {{"all", {0, 1, 2, 3, 4, 5}}};
  machine_.per_node = 2;
  config_.library = schedules::Library::kCommunicators;
  machine_.collectives.algorithm = "nccl";
  const GraphResult result = run();
  EXPECT_EQ(result.collectives, 24U);
  EXPECT_EQ(result.wrong, 0);
  // Nobody else exchanges parts that differ.
  config_.library = schedules::Library::kDimensions;
  EXPECT_NE(error().find("AllToAll whose parts differ: expected workload.library communicators"), std::string::npos);
}

TEST_F(Graphs, PartsOfAnAllToAllAreOneForEachMember) {
  Node node = of_group(collective_node(0, CollectiveType::kAllToAll, 60'000), "all");
  chakra::set_exchange(node, {{4, 4}, {4, 4}});
  traces({node});
  workload_.groups = {{"all", {0, 1, 2, 3, 4, 5}}};
  EXPECT_NE(error().find("send_bytes: expected a list of 6 integers"), std::string::npos) << error();
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
  for (const auto algorithm : {"ring", "hierarchical"}) {
    machine_.collectives.algorithm = algorithm;
    const GraphResult result = run();
    EXPECT_EQ(result.nodes, 6 * nodes.size());
    EXPECT_EQ(result.collectives, 6 * nodes.size());
  }
}

// Ranks whose other groups differ have allocated differently when a group's communicator comes.
TEST_F(Graphs, CommunicatorsOfOverlappingGroupsLeaveTheRightBytes) {
  config_.library = schedules::Library::kCommunicators;
  config_.communications = 0;
  workload_.groups = {{"a", {0, 2, 3}}, {"b", {1, 2}}, {"c", {2, 4, 5}}};
  for (const auto algorithm : {"ring", "tree", "nccl", "dimensions"}) {
    machine_.collectives.algorithm = algorithm;
    for (const CollectiveType type :
         {CollectiveType::kAllReduce, CollectiveType::kReduceScatter, CollectiveType::kAllGather}) {
      const auto collective = [&](std::uint64_t id, const char* group) {
        return of_group(collective_node(id, type, 64 << 10), group);
      };
      for (const auto& [rank, groups] :
           std::vector<std::pair<int, std::string>>{{0, "a"}, {1, "b"}, {2, "abc"}, {3, "a"}, {4, "c"}, {5, "c"}}) {
        std::vector<chakra::Node> nodes;
        for (const char group : groups) nodes.push_back(collective(nodes.size(), std::string(1, group).c_str()));
        trace(rank, nodes);
      }
      run();
    }
  }
}

/// All groups of six ranks, in nodes of two and of three, in and out of order: those that fill the nodes that they
/// have, those that fill the first or the last one, and those that are one rank of each. Each does all collectives.
TEST_F(Graphs, GroupsOfAllShapesLeaveTheRightBytes) {
  constexpr std::uint32_t kRanks = 6;
  constexpr CollectiveType kTypes[] = {
      CollectiveType::kAllReduce, CollectiveType::kAllGather, CollectiveType::kReduceScatter,
      CollectiveType::kAllToAll,  CollectiveType::kBroadcast, CollectiveType::kReduce,
      CollectiveType::kGather,    CollectiveType::kScatter,   CollectiveType::kBarrier};
  std::vector<std::vector<Node>> nodes(kRanks);
  std::uint64_t id = 0;
  for (std::uint32_t set = 1; set < 1U << kRanks; ++set) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      if ((set >> r & 1) != 0) members.push_back(r);
    }
    std::vector<std::vector<std::uint32_t>> lists = {members};
    if (members.size() > 2) {
      std::rotate(members.begin(), members.begin() + 1, members.end());
      lists.push_back(members);
    }
    for (const auto& list : lists) {
      const std::string group = "g" + std::to_string(workload_.groups.size());
      workload_.groups[group] = list;
      for (const CollectiveType type : kTypes) {
        const Node node = of_group(collective_node(id++, type, 840), group);
        for (const std::uint32_t r : list) {
          nodes[r].push_back(!nodes[r].empty() ? after(node, {nodes[r].back().id}) : node);
        }
      }
    }
  }
  for (std::uint32_t r = 0; r < kRanks; ++r) trace(static_cast<int>(r), nodes[r]);
  for (const auto library : {schedules::Library::kDimensions, schedules::Library::kCommunicators}) {
    for (const int per_node : {1, 2, 3}) {
      SCOPED_TRACE(std::string(name_of(library)) + ", per node: " + std::to_string(per_node));
      config_.library = library;
      machine_.per_node = per_node;
      std::uint64_t all = 0;
      for (const auto& each : nodes) all += each.size();
      EXPECT_EQ(run().collectives, all);
    }
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
  // Its nodes have durations, whatever the trace's cost.
  config_.compute = schedules::ComputeTime::kOperations;
  EXPECT_EQ(run().finished, result.finished);
  write({collective_node(7, CollectiveType::kAllReduce, 8)}, "ring.1.et");
  EXPECT_EQ(error(),
            "ring.1.et: node 7 'n7' is of type COMM_COLL_NODE, which no implementation of a collective has: expected "
            "COMM_SEND_NODEs, COMM_RECV_NODEs and COMP_NODEs");
}

TEST_F(Graphs, CollectivesJoinAllWhateverTheyInvolve) {
  const auto time = [this](const std::vector<bool>& involved, const std::string& group) {
    Node node = of_group(collective_node(0, CollectiveType::kAllReduce, 60'000), group);
    if (!involved.empty()) node.attributes.push_back(Attribute::booleans("involved_dim", involved));
    traces({node});
    return run().finished.front();
  };
  workload_.groups = {{"x", {0, 1, 2, 3, 4, 5}}};
  EXPECT_EQ(time({false}, "x"), time({}, "x"));
  using dimensions::Algorithm;
  collectives::DimensionsConfig& dimensions = machine_.collectives.of<collectives::DimensionsConfig>();
  dimensions.sizes = {3, 2};
  dimensions.all_reduce = dimensions.all_gather = {Algorithm::kOneRing};
  dimensions.reduce_scatter = dimensions.all_to_all = {Algorithm::kOneRing};
  const Time all = time({true, true}, "");
  for (const std::vector<bool>& involved : {std::vector<bool>{false, true}, {true, false}, {true}, {}}) {
    EXPECT_EQ(time(involved, ""), all);
  }
}

TEST_F(Graphs, ACollectiveMayInvolveSomeDimensions) {
  machine_.collectives.of<collectives::DimensionsConfig>().sizes = {3, 2};
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
