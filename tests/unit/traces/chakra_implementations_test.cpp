// SPDX-License-Identifier: Apache-2.0
// Files that are executed in place of collectives, what joins all ranks of a group whatever it involves, and traces of
// which durations alone are read.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/chakra_check.h"
#include "traces/chakra/check.h"

namespace weft::chakra {
namespace {

using test::chakra_node;
using test::ChakraCheck;
using test::collective_node;
using test::message_node;

/// Two to four ranks w.R.et, each with an AllReduce of 64 bytes, and an implementation c.
class Implementations : public ChakraCheck {
 protected:
  using Files = std::vector<std::vector<Node>>;

  static Node send(std::uint64_t id, std::int64_t peer, std::int64_t bytes = 8) {
    return message_node(id, NodeType::kSend, peer, 0, bytes);
  }
  static Node receive(std::uint64_t id, std::int64_t peer, std::int64_t bytes = 8) {
    return message_node(id, NodeType::kReceive, peer, 0, bytes);
  }
  static Node in_group(Node node, const std::string& group) {
    return with(std::move(node), Attribute::text("pg_name", group));
  }

  CheckReport checked(const Files& own, const GroupTable::Named& groups = {}, std::uint32_t ranks = 2) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::vector<Node> nodes;
      if (groups.empty()) nodes.push_back(collective_node(0, CollectiveType::kAllReduce, 64));
      for (const auto& [name, members] : groups) {
        const bool is_member = std::find(members.begin(), members.end(), rank) != members.end();
        if (is_member) nodes.push_back(in_group(collective_node(0, CollectiveType::kAllReduce, 64), name));
      }
      write(nodes, "w." + std::to_string(rank) + ".et");
    }
    for (std::size_t place = 0; place < own.size(); ++place) write(own[place], "c." + std::to_string(place) + ".et");
    CheckOptions options;
    options.groups = groups;
    options.implementations.by_type[CollectiveType::kAllReduce] = file("c");
    return check(find_trace(file("w")), options);
  }
  Texts found(const Files& own, const GroupTable::Named& groups = {}, std::uint32_t ranks = 2) {
    return texts(checked(own, groups, ranks));
  }
};

constexpr const char* kParts =
    "; expected COMM_SEND_NODEs, COMM_RECV_NODEs and COMP_NODEs, which the implementation of a collective is made of";

TEST_F(Implementations, AreSendsReceivesAndComputeNodes) {
  const std::vector<Node> first = {send(0, 1), lasting(chakra_node(1, {0}))};
  EXPECT_EQ(found({first, {receive(0, 0)}}), Texts());
  EXPECT_EQ(found({first, {receive(0, 0), collective_node(1, CollectiveType::kAllReduce, 8)}}),
            Texts{std::string("c.1.et: node 1 'n1': is an ALL_REDUCE in the implementation of ALL_REDUCE") + kParts});
  EXPECT_EQ(found({first, {receive(0, 0), collective_node(1, CollectiveType::kBroadcast, 8)}}),
            Texts{std::string("c.1.et: node 1 'n1': is a BROADCAST in the implementation of ALL_REDUCE") + kParts});
  EXPECT_EQ(found({first, {receive(0, 0), chakra_node(1, {}, NodeType::kMemoryLoad)}}),
            Texts{std::string("c.1.et: node 1 'n1': is a MEM_LOAD_NODE in the implementation of ALL_REDUCE") + kParts});
  EXPECT_EQ(found({first, {receive(0, 0), chakra_node(1, {7}, NodeType::kMetadata)}}),
            Texts{"c.1.et: node 1 'n1': depends on node 7, which is not in the file; expected dependencies on nodes of "
                  "the file"});
}

TEST_F(Implementations, MayNotBeTheTraceItself) {
  CheckOptions options;
  checked({});
  options.implementations.by_node[0] = file("w");
  const Texts itself = texts(check(find_trace(file("w")), options));
  ASSERT_EQ(itself.size(), 2U);
  EXPECT_EQ(itself[0],
            std::string("w.0.et: node 0 'n0': is an ALL_REDUCE in the implementation of ALL_REDUCE") + kParts);
}

TEST_F(Implementations, HaveAFileForEachRankAndNoneThatNobodyNeeds) {
  EXPECT_EQ(found({{}}), Texts{"w.0.et: node 0 'n0': ALL_REDUCE has the implementation " + file("c").string() +
                               ", of which there is no c.1.et; expected a file for each of its 2 ranks"});
  EXPECT_EQ(found({{send(0, 1)}, {receive(0, 0)}, {collective_node(1, CollectiveType::kAllReduce, 8)}}), Texts());
  const CheckReport empty = checked({{}, {}});
  EXPECT_EQ(empty.found, 0U);
  ASSERT_EQ(empty.remarks.size(), 1U);
  EXPECT_EQ(empty.remarks[0].first.kind, Problem::kEmptyImplementation);
  EXPECT_EQ(empty.remarks[0].count, 2U);
  // Of a collective that is not in the trace nothing is looked at.
  CheckOptions options;
  options.implementations.by_type[CollectiveType::kAllGather] = file("none");
  EXPECT_EQ(check(find_trace(file("w")), options).found, 0U);
}

TEST_F(Implementations, MessagesMeet) {
  EXPECT_EQ(found({{send(0, 1)}, {receive(0, 0, 16)}}),
            Texts{"c.0.et: node 0 'n0': sends 8 bytes to rank 1 with tag 0; expected the 16 bytes that node 0 there "
                  "receives"});
  EXPECT_EQ(found({{send(0, 1)}, {lasting(chakra_node(0))}}),
            Texts{"c.0.et: node 0 'n0': sends to rank 1 what it does not receive; expected a COMM_RECV_NODE there with "
                  "source 0, tag 0 and 8 bytes"});
  EXPECT_EQ(found({{send(0, 2)}, {receive(0, 0)}}, {}, 2).front(),
            "c.0.et: node 0 'n0': attribute comm_dst is 2; expected a rank from 0 to 1");
  // All that is ready is under way at a time.
  const CheckReport crossed = checked({{receive(0, 1), send(1, 1)}, {receive(0, 0), send(1, 0)}});
  EXPECT_EQ(crossed.found, 0U);
  EXPECT_TRUE(crossed.remarks.empty());
}

/// The file is that of the place among the sorted ranks, the peer that of the place in the list.
TEST_F(Implementations, OfGroupsAreNumberedWithinThem) {
  const Files plain = {{send(0, 1)}, {receive(0, 0)}};
  EXPECT_EQ(found(plain, {{"g", {2, 3}}}, 4), Texts());
  EXPECT_EQ(found({{send(0, 0)}, {receive(0, 1)}}, {{"g", {3, 2}}}, 4), Texts());
  EXPECT_EQ(found(plain, {{"g", {3, 2}}}, 4),
            (Texts{"c.0.et: node 0 'n0': attribute comm_dst is 1; expected another place in the group's list than "
                   "that of rank 2, which reads this file",
                   "c.1.et: node 0 'n0': attribute comm_src is 0; expected another place in the group's list than "
                   "that of rank 3, which reads this file"}));
  // Several groups that number their ranks alike have one finding.
  EXPECT_EQ(found({{send(0, 1)}, {}}, {{"g", {0, 1}}, {"h", {2, 3}}}, 4).size(), 1U);
}

/// A rank that only sends in its part waits for nobody; one that receives waits for whom its messages come from.
TEST_F(Implementations, WaitAsTheirMessagesSay) {
  const auto node = [](Node each, std::vector<std::uint64_t> after) {
    each.data_dependencies = std::move(after);
    return each;
  };
  const auto ran = [&](const Files& own, std::vector<std::uint64_t> after) {
    checked(own);
    const Node together = collective_node(2, CollectiveType::kAllReduce, 64);
    write({together, node(send(3, 1), std::move(after))}, "w.0.et");
    write({receive(1, 0), node(together, {1})}, "w.1.et");
    CheckOptions options;
    options.implementations.by_type[CollectiveType::kAllReduce] = file("c");
    return check(find_trace(file("w")), options);
  };
  const Files one_way = {{send(0, 1)}, {receive(0, 0)}};
  const Files both_ways = {{send(0, 1), receive(1, 1)}, {receive(0, 0), send(1, 0)}};
  for (const std::vector<std::uint64_t>& after : {std::vector<std::uint64_t>{2}, std::vector<std::uint64_t>()}) {
    const CheckReport free = ran(one_way, after);
    EXPECT_EQ(texts(free), Texts());
    EXPECT_TRUE(free.remarks.empty()) << free.remarks[0].first.text();
  }
  EXPECT_EQ(ran(both_ways, {2}).kinds.at(0).first.kind, Problem::kCircle);
  EXPECT_EQ(ran(both_ways, {}).remarks.at(0).first.kind, Problem::kTurns);
  // By way of a third rank.
  checked({{receive(0, 2)}, {send(0, 2)}, {receive(0, 1), node(send(1, 0), {0})}}, {}, 3);
  const Node together = collective_node(2, CollectiveType::kAllReduce, 64);
  write({together, node(send(3, 1), {2})}, "w.0.et");
  write({receive(1, 0), node(together, {1})}, "w.1.et");
  CheckOptions options;
  options.implementations.by_type[CollectiveType::kAllReduce] = file("c");
  write({together}, "w.2.et");
  EXPECT_EQ(check(find_trace(file("w")), options).kinds.at(0).first.kind, Problem::kCircle);
}

TEST_F(Implementations, CountOperationsWithoutTime) {
  const Node counted = with(chakra_node(1), Attribute::integer("num_ops", 1'000'000));
  const CheckReport report = checked({{send(0, 1), counted}, {receive(0, 0), counted}});
  EXPECT_EQ(report.found, 0U);
  EXPECT_EQ(report.own_without_time, 2U);
  EXPECT_EQ(report.operations_without_time, 0U);
}

// --- Collectives that join all ranks of their group ---

TEST_F(Implementations, GroupsJoinAllWhateverTheyInvolve) {
  const auto some = [](Node node, std::vector<bool> involved) {
    return with(std::move(node), Attribute::booleans("involved_dim", std::move(involved)));
  };
  const Node alone = in_group(some(collective_node(0, CollectiveType::kReduceScatter, 8), {false}), "1");
  EXPECT_EQ(found_in_ranks({{alone}, {}}, {{"1", {0, 1}}}),
            Texts{"w.1.et: the rank issues 0 collectives of group 1; expected 1, as rank 0 does"});
  EXPECT_EQ(found_in_ranks({{alone}, {alone}}, {{"1", {0, 1}}}), Texts());
  CheckOptions options;
  options.groups = {{"1", {0, 1}}};
  const CheckReport report = check(find_trace(file("w")), options);
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kAllDimensions);
  EXPECT_EQ(report.remarks[0].count, 2U);
  EXPECT_EQ(report.remarks[0].first.problem_text(),
            "node 0 'n0': leaves dimensions out in its involved_dim; expected none");

  // Of everybody, what is left out is said beside what is not.
  const Node whole = collective_node(0, CollectiveType::kAllReduce, 8);
  const Node part = some(whole, {false, true});
  EXPECT_EQ(found_in_ranks({{whole}, {part}}),
            Texts{"w.1.et: node 0 'n0': involves no dimension; expected all dimensions, as in rank 0, node 0, "
                  "ALL_REDUCE of 8 bytes of all ranks"});
  EXPECT_EQ(found_in_ranks({{part}, {whole}}),
            Texts{"w.0.et: node 0 'n0': involves no dimension; expected all dimensions, as in rank 1, node 0, "
                  "ALL_REDUCE of 8 bytes of all ranks"});
  // Where the algorithm takes all dimensions for one, both are the same.
  CheckOptions joined;
  joined.one_dimension = {CollectiveType::kAllReduce};
  const CheckReport same = check(find_trace(file("w")), joined);
  EXPECT_EQ(same.found, 0U);
  ASSERT_EQ(same.remarks.size(), 1U);
  EXPECT_EQ(same.remarks[0].first.kind, Problem::kAllDimensions);
}

// --- Durations alone ---

TEST_F(Implementations, AReplayReadsDurationsAlone) {
  Node without_type = chakra_node(0, {}, NodeType::kCollective);
  without_type.duration_micros = 3;
  found_in_ranks({{without_type, lasting(chakra_node(1, {}, NodeType::kInvalid)), send(2, 7)},
                  {lasting(collective_node(0, CollectiveType::kGather, -1)),
                   with(lasting(chakra_node(1)), Attribute::text("num_ops", "x"))}});
  CheckOptions options;
  EXPECT_GT(check(find_trace(file("w")), options).found, 3U);
  options.replay = true;
  const CheckReport replayed = check(find_trace(file("w")), options);
  EXPECT_EQ(texts(replayed), Texts());
  ASSERT_EQ(replayed.remarks.size(), 1U);
  EXPECT_EQ(replayed.remarks[0].first.text(),
            file("w.0.et").string() + ": node 2 'n2': COMM_SEND_NODE has no duration; expected duration_micros");
  // The graph is one all the same.
  found_in_ranks({{lasting(chakra_node(0, {5})), lasting(chakra_node(1, {}, NodeType{9}))}});
  EXPECT_EQ(texts(check(find_trace(file("w")), options)),
            (Texts{"w.0.et: node 1 'n1': its type is 9; expected a node type of the schema, 1 to 7",
                   "w.0.et: node 0 'n0': depends on node 5, which is not in the file; expected dependencies on nodes "
                   "of the file"}));
}

}  // namespace
}  // namespace weft::chakra
