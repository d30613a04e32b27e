// SPDX-License-Identifier: Apache-2.0
// What is found where ranks meet: messages, collectives, roots and orders.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/chakra_check.h"
#include "traces/chakra/statistics.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;
using test::chakra_node;
using test::ChakraCheck;
using test::collective_node;
using test::message_node;

TEST_F(ChakraCheck, FindsMessagesThatDoNotMeet) {
  const auto send = [](std::uint64_t id, std::int64_t to, std::int64_t tag, std::int64_t bytes) {
    return message_node(id, NodeType::kSend, to, tag, bytes);
  };
  const auto receive = [](std::uint64_t id, std::int64_t from, std::int64_t tag, std::int64_t bytes) {
    return message_node(id, NodeType::kReceive, from, tag, bytes);
  };
  EXPECT_EQ(
      found_in_ranks({{send(0, 1, 5, 8)}, {receive(7, 0, 5, 9)}}),
      Texts{
          "w.0.et: node 0 'n0': sends 8 bytes to rank 1 with tag 5; expected the 9 bytes that node 7 there receives"});
  EXPECT_EQ(
      found_in_ranks({{send(0, 1, 5, 8)}, {receive(7, 0, 6, 8)}}),
      (Texts{"w.0.et: node 0 'n0': sends to rank 1 what it does not receive; expected a COMM_RECV_NODE there with "
             "source 0, tag 5 and 8 bytes",
             "w.1.et: node 7 'n7': receives from rank 0 what it does not send; expected a COMM_SEND_NODE there with "
             "destination 1, tag 6 and 8 bytes"}));
  EXPECT_EQ(found_in_ranks({{send(0, 2, 5, 8)}, {}}),
            Texts{"w.0.et: node 0 'n0': attribute comm_dst is 2; expected a rank from 0 to 1"});
}

TEST_F(ChakraCheck, FindsCollectivesThatDiffer) {
  const auto reduce = [](std::uint64_t id, std::int64_t bytes) {
    return collective_node(id, CollectiveType::kAllReduce, bytes);
  };
  const auto in_group = [&](Node node, const std::string& group) {
    return with(std::move(node), Attribute::text("pg_name", group));
  };
  EXPECT_EQ(found_in_ranks({{reduce(0, 8), reduce(1, 16)}, {in_group(reduce(7, 8), "0"), reduce(9, 16)}}), Texts());
  EXPECT_EQ(
      found_in_ranks({{reduce(0, 8), reduce(1, 16)}, {reduce(0, 8), reduce(3, 17), reduce(4, 1)}}),
      (Texts{
          "w.1.et: node 3 'n3': collective 2 of all ranks is ALL_REDUCE of 17 bytes; expected ALL_REDUCE of 16 bytes, "
          "as in rank 0, node 1",
          "w.1.et: the rank issues 3 collectives of all ranks; expected 2, as rank 0 does"}));
  EXPECT_EQ(
      found_in_ranks({{reduce(0, 8)}, {collective_node(5, CollectiveType::kAllGather, 8)}}),
      Texts{"w.1.et: node 5 'n5': collective 1 of all ranks is ALL_GATHER of 8 bytes; expected ALL_REDUCE of 8 bytes, "
            "as in rank 0, node 0"});
  EXPECT_EQ(found_in_ranks({{reduce(0, 8)}, {}, {reduce(0, 8), reduce(1, 8)}}),
            (Texts{"w.1.et: the rank issues 0 collectives of all ranks; expected 1, as rank 0 does",
                   "w.2.et: the rank issues 2 collectives of all ranks; expected 1, as rank 0 does"}));
  EXPECT_EQ(found_in_ranks({{}, {reduce(0, 8)}}),
            Texts{"w.0.et: the rank issues 0 collectives of all ranks; expected 1, as rank 1 does"});
  // Who is not in a group issues nothing there.
  const std::vector<std::vector<Node>> some = {{in_group(reduce(0, 8), "3")}, {}, {in_group(reduce(0, 8), "3")}};
  EXPECT_EQ(found_in_ranks(some, {{"3", {0, 2}}}), Texts());
  EXPECT_EQ(found_in_ranks(some, {{"3", {0, 1, 2}}}),
            Texts{"w.1.et: the rank issues 0 collectives of group 3; expected 1, as rank 0 does"});
  EXPECT_EQ(
      found_in_ranks(some, {{"3", {0, 1}}}),
      (Texts{"w.2.et: node 0 'n0': is of group \"3\", to which rank 2 does not belong; expected ranks 0, 1 alone to "
             "name it",
             "w.1.et: the rank issues 0 collectives of group 3; expected 1, as rank 0 does"}));
  EXPECT_EQ(
      found_in_ranks({{in_group(reduce(0, 8), "3"), in_group(reduce(1, 8), "3")}, {}, {in_group(reduce(0, 8), "3")}},
                     {{"3", {2, 0}}}),
      Texts{"w.2.et: the rank issues 1 collectives of group 3; expected 2, as rank 0 does"});
  EXPECT_EQ(
      found_in_ranks({{in_group(reduce(0, 8), "3")}, {in_group(reduce(7, 9), "3")}}),
      (Texts{"w.0.et: node 0 'n0': is of group \"3\", which neither the metadata of the trace nor a groups file "
             "names; expected a node \"## process_group:init ##\" that lists it, or a groups file {\"3\": [ranks]}",
             "w.1.et: node 7 'n7': collective 1 of group 3 is ALL_REDUCE of 9 bytes; expected ALL_REDUCE of 8 "
             "bytes, as in rank 0, node 0"}));
  // Which ranks share some of the dimensions is not known here.
  const auto in_dimension = [&](Node node) {
    return with(std::move(node), Attribute::booleans("involved_dim", {true, false}));
  };
  EXPECT_EQ(found_in_ranks({{in_dimension(reduce(0, 8))}, {in_dimension(reduce(0, 9))}, {}, {}}), Texts());
}

// A run issues what is ready in the order of ids, wherever it stands in the file.
TEST_F(ChakraCheck, ComparesCollectivesInTheOrderOfTheirIssue) {
  const auto reduce = [](std::uint64_t id, std::int64_t bytes, std::vector<std::uint64_t> after = {}) {
    Node node = collective_node(id, CollectiveType::kAllReduce, bytes);
    node.data_dependencies = std::move(after);
    return node;
  };
  EXPECT_EQ(found_in_ranks({{reduce(1, 8), reduce(2, 16)}, {reduce(7, 16), reduce(3, 8)}}), Texts());
  EXPECT_EQ(found_in_ranks({{reduce(1, 8), reduce(2, 16)}, {reduce(3, 16, {7}), reduce(7, 8)}}), Texts());
  EXPECT_TRUE(check(find_trace(file("w"))).remarks.empty());
  EXPECT_EQ(found_in_ranks({{reduce(1, 8), reduce(2, 16)}, {reduce(7, 8), reduce(3, 16)}}), Texts());
  EXPECT_EQ(check(find_trace(file("w"))).remarks.at(0).first.kind, Problem::kCollectiveTimes);
}

TEST_F(ChakraCheck, FindsRootsThatDiffer) {
  const auto from = [](std::int64_t root, const char* attribute, CollectiveType type) {
    return with(collective_node(1, type, 8), Attribute::integer(attribute, root));
  };
  const auto broadcast = [&](std::int64_t root) { return from(root, "comm_root", CollectiveType::kBroadcast); };
  const Node plain = collective_node(1, CollectiveType::kBroadcast, 8);
  EXPECT_EQ(found_in_ranks({{broadcast(1)}, {broadcast(1)}}), Texts());
  EXPECT_EQ(found_in_ranks({{plain}, {broadcast(0)}}), Texts()) << "the first rank is meant";
  EXPECT_EQ(found_in_ranks({{broadcast(1)}, {broadcast(0)}}),
            Texts{"w.1.et: node 1 'n1': its root is 0; expected 1, as in rank 0, node 1"});
  EXPECT_EQ(found_in_ranks({{broadcast(5)}, {broadcast(5)}}),
            (Texts{"w.0.et: node 1 'n1': its root is 5; expected a rank of all ranks, by its number in the machine",
                   "w.1.et: node 1 'n1': its root is 5; expected a rank of all ranks, by its number in the machine"}));
  // Where tools write it; an AllReduce's peer is nobody's root.
  EXPECT_EQ(from(3, "root", CollectiveType::kGather).comm_root(), 3);
  EXPECT_EQ(from(3, "root_rank", CollectiveType::kScatter).comm_root(), 3);
  EXPECT_EQ(from(3, "comm_src", CollectiveType::kScatter).comm_root(), 3);
  EXPECT_EQ(from(3, "comm_dst", CollectiveType::kReduce).comm_root(), 3);
  EXPECT_EQ(from(3, "comm_src", CollectiveType::kReduce).comm_root(), std::nullopt);
  EXPECT_EQ(from(3, "comm_src", CollectiveType::kAllReduce).comm_root(), std::nullopt);
}

TEST_F(ChakraCheck, ARootIsARankOrIsNotNamed) {
  const Node broadcast = with(collective_node(1, CollectiveType::kBroadcast, 8), Attribute::integer("comm_root", -1));
  EXPECT_EQ(found_in_ranks({{broadcast}, {broadcast}}),
            (Texts{"w.0.et: node 1 'n1': its root is -1; expected a rank of all ranks, by its number in the machine",
                   "w.1.et: node 1 'n1': its root is -1; expected a rank of all ranks, by its number in the machine"}));
}

/// Messages of equal ranks and tag meet by their sizes, in whatever order they are issued.
TEST_F(ChakraCheck, MatchesMessagesBySize) {
  const auto send = [](std::uint64_t id, std::int64_t bytes) { return message_node(id, NodeType::kSend, 1, 3, bytes); };
  const auto receive = [](std::uint64_t id, std::int64_t bytes) {
    return message_node(id, NodeType::kReceive, 0, 3, bytes);
  };
  EXPECT_EQ(
      found_in_ranks({{send(1, 100), send(2, 200), send(3, 8)}, {receive(4, 200), receive(5, 8), receive(6, 100)}}),
      Texts());
  EXPECT_EQ(
      found_in_ranks({{send(1, 100), send(2, 200), send(3, 300)}, {receive(4, 200), receive(5, 50)}}),
      (Texts{"w.0.et: node 1 'n1': sends 100 bytes to rank 1 with tag 3; expected the 50 bytes that node 5 there "
             "receives",
             "w.0.et: node 3 'n3': sends to rank 1 what it does not receive; expected a COMM_RECV_NODE there with "
             "source 0, tag 3 and 300 bytes"}));
}

/// Ranks of a group issue the same collectives: dependencies on one go against those on another, or times decide.
TEST_F(ChakraCheck, RefusesOrdersOfCollectivesThatDependenciesContradict) {
  const auto of = [](std::uint64_t id, std::int64_t bytes, std::vector<std::uint64_t> after = {}) {
    Node node = collective_node(id, CollectiveType::kAllReduce, bytes);
    node.data_dependencies = std::move(after);
    return node;
  };
  const auto remarks = [this] {
    Texts texts;
    for (const FindingKind& kind : check(find_trace(file("w"))).remarks) texts.push_back(kind.first.text());
    for (std::string& text : texts) text.erase(0, folder_.string().size() + 1);
    return texts;
  };
  const auto timed = [](std::uint64_t id, std::vector<std::uint64_t> after = {}) {
    return lasting(chakra_node(id, std::move(after)));
  };
  // Rank 1 would begin with the larger one if nothing took time, and may do otherwise.
  EXPECT_EQ(found_in_ranks({{of(1, 8), of(2, 16, {1})}, {timed(0), of(1, 16, {0}), of(2, 8)}}), Texts());
  EXPECT_EQ(remarks(),
            Texts{"w.1.et: node 1 'n1': collective 1 of all ranks is ALL_REDUCE of 16 bytes if nothing takes "
                  "time; expected ALL_REDUCE of 8 bytes, as in rank 0, node 1"});
  // What comes before them lasts differently.
  EXPECT_EQ(found_in_ranks({{timed(0), of(1, 8, {0}), of(2, 16)}, {timed(0), of(1, 8), of(2, 16, {0})}}), Texts());
  EXPECT_EQ(remarks(),
            Texts{"w.1.et: node 1 'n1': collective 1 of all ranks is ALL_REDUCE of 8 bytes by the durations before it; "
                  "expected ALL_REDUCE of 16 bytes, as in rank 0, node 2"});
  EXPECT_EQ(found_in_ranks({{timed(0), of(1, 8, {0}), of(2, 16)}, {timed(0), of(1, 8, {0}), of(2, 16)}}), Texts());
  EXPECT_EQ(remarks(), Texts());
  // By way of other nodes.
  const Texts against = {
      "w.0.et: node 3 'n3': waits for itself through other ranks:\n"
      "    rank 0: node 3 'n3', ALL_REDUCE of 16 bytes of all ranks, comes after node 1 'n1', ALL_REDUCE of 8 bytes of "
      "all ranks\n"
      "    rank 1: node 4 'n4', ALL_REDUCE of 8 bytes of all ranks, comes after node 1 'n1', ALL_REDUCE of 16 bytes of "
      "all ranks"};
  const std::vector<Node> first = {of(1, 8), timed(2, {1}), of(3, 16, {2})};
  EXPECT_EQ(found_in_ranks({first, {of(1, 16), timed(2, {1}), timed(3), of(4, 8, {2, 3})}}), against);
  EXPECT_EQ(check(find_trace(file("w"))).kinds[0].first.kind, Problem::kCollectiveOrder);
  // The contradiction is between two ranks, of which the lowest is none.
  EXPECT_EQ(
      found_in_ranks({{of(1, 8), of(2, 16)}, {of(1, 16), of(2, 8, {1})}, {of(1, 8), of(2, 16, {1})}}),
      Texts{"w.1.et: node 2 'n2': waits for itself through other ranks:\n"
            "    rank 1: node 2 'n2', ALL_REDUCE of 8 bytes of all ranks, comes after node 1 'n1', ALL_REDUCE of 16 "
            "bytes of all ranks\n"
            "    rank 2: node 2 'n2', ALL_REDUCE of 16 bytes of all ranks, comes after node 1 'n1', ALL_REDUCE of 8 "
            "bytes of all ranks"});
  // Round three ranks.
  const Texts circle = found_in_ranks({{of(1, 8), of(2, 16, {1}), of(3, 32)},
                                       {of(1, 16), of(2, 32, {1}), of(3, 8)},
                                       {of(1, 32), of(2, 8, {1}), of(3, 16)}});
  ASSERT_EQ(circle.size(), 1U);
  EXPECT_EQ(std::count(circle[0].begin(), circle[0].end(), '\n'), 3) << circle[0];
  // Of equal ones each may be the other.
  EXPECT_EQ(found_in_ranks({{of(1, 8), of(2, 8, {1}), of(3, 16, {2})}, {of(1, 8), of(2, 16), of(3, 8)}}), Texts());
}

/// By way of several groups and of messages.
TEST_F(ChakraCheck, FindsRanksThatWaitForEachOther) {
  const auto of = [](std::uint64_t id, const std::string& group, std::vector<std::uint64_t> after = {}) {
    Node node = with(collective_node(id, CollectiveType::kAllReduce, 8), Attribute::text("pg_name", group));
    node.data_dependencies = std::move(after);
    return node;
  };
  const auto message = [](std::uint64_t id, NodeType type, std::int64_t peer, std::vector<std::uint64_t> after) {
    Node node = message_node(id, type, peer, 0, 64);
    node.data_dependencies = std::move(after);
    return node;
  };
  const auto send = [&](std::uint64_t id, std::int64_t peer, std::vector<std::uint64_t> after = {}) {
    return message(id, NodeType::kSend, peer, std::move(after));
  };
  const auto receive = [&](std::uint64_t id, std::int64_t peer, std::vector<std::uint64_t> after = {}) {
    return message(id, NodeType::kReceive, peer, std::move(after));
  };
  const GroupTable::Named two = {{"a", {0, 1}}, {"b", {0, 1}}};
  EXPECT_EQ(
      found_in_ranks({{of(1, "a"), of(2, "b", {1})}, {of(1, "b"), lasting(chakra_node(2, {1})), of(3, "a", {2})}}, two),
      Texts{"w.0.et: node 2 'n2': waits for itself through other ranks:\n"
            "    rank 0: node 2 'n2', ALL_REDUCE of 8 bytes of group b, comes after node 1 'n1', ALL_REDUCE of 8 "
            "bytes of group a\n"
            "    rank 1: node 3 'n3', ALL_REDUCE of 8 bytes of group a, comes after node 1 'n1', ALL_REDUCE of 8 "
            "bytes of group b"});
  CheckOptions options;
  options.groups = two;
  EXPECT_EQ(check(find_trace(file("w")), options).kinds[0].first.kind, Problem::kCircle);
  const GroupTable::Named three = {{"a", {0, 1}}, {"b", {1, 2}}, {"c", {0, 2}}};
  const std::vector<Node> first = {of(1, "a"), of(2, "c", {1})};
  EXPECT_EQ(found_in_ranks({first, {of(1, "a"), of(2, "b", {1})}, {of(1, "c"), of(2, "b", {1})}}, three), Texts());
  EXPECT_EQ(found_in_ranks({first, {of(1, "b"), of(2, "a", {1})}, {of(1, "c"), of(2, "b", {1})}}, three).size(), 1U);

  // A receive before a barrier that its sender passes first.
  EXPECT_EQ(
      found_in_ranks({{receive(1, 1), of(2, "", {1})}, {of(1, ""), send(2, 0, {1})}}),
      Texts{"w.0.et: node 2 'n2': waits for itself through other ranks:\n"
            "    rank 0: node 2 'n2', ALL_REDUCE of 8 bytes of all ranks, comes after node 1 'n1', a receive from "
            "rank 1\n"
            "    rank 1: node 2 'n2', a send to rank 0, comes after node 1 'n1', ALL_REDUCE of 8 bytes of all "
            "ranks"});
  EXPECT_EQ(found_in_ranks({{receive(1, 1), of(2, "", {1})}, {of(1, ""), send(2, 0)}}), Texts());
  // Both receive first; sends wait for nobody.
  EXPECT_EQ(found_in_ranks({{receive(1, 1), send(2, 1, {1})}, {receive(1, 0), send(2, 0, {1})}}).size(), 1U);
  EXPECT_EQ(found_in_ranks({{send(1, 1), receive(2, 1, {1})}, {send(1, 0), receive(2, 0, {1})}}), Texts());

  // Equal ones are as they are begun: rank 0 begins with the second, since the first waits for rank 1's first.
  EXPECT_EQ(found_in_ranks({{receive(1, 1), of(2, "", {1}), of(3, "")}, {of(1, ""), send(2, 0, {1}), of(3, "")}}),
            Texts());
}

/// Nodes of one id are nodes of their own.
TEST_F(ChakraCheck, ComparesRanksWhoseGraphsCannotBeWorkedOff) {
  const auto of = [](std::uint64_t id, std::int64_t bytes, std::vector<std::uint64_t> after = {}) {
    Node node = collective_node(id, CollectiveType::kAllReduce, bytes);
    node.data_dependencies = std::move(after);
    return node;
  };
  const auto message = [](std::uint64_t id, NodeType type, std::int64_t peer, std::vector<std::uint64_t> after = {}) {
    Node node = message_node(id, type, peer, 0, 64);
    node.data_dependencies = std::move(after);
    return node;
  };
  const std::string twice = "the id is there more than once; expected unique ids";
  EXPECT_EQ(found_in_ranks({{of(1, 8), of(1, 8)}, {of(1, 8), of(2, 8)}}), Texts{"w.0.et: node 1 'n1': " + twice});
  EXPECT_EQ(found_in_ranks({{of(1, 8), of(1, 16)}, {of(1, 16), of(1, 8)}}),
            (Texts{"w.0.et: node 1 'n1': " + twice, "w.1.et: node 1 'n1': " + twice}));
  EXPECT_EQ(found_in_ranks({{message(1, NodeType::kSend, 1), message(1, NodeType::kSend, 1)},
                            {message(1, NodeType::kReceive, 0), message(1, NodeType::kReceive, 0)}}),
            (Texts{"w.0.et: node 1 'n1': " + twice, "w.1.et: node 1 'n1': " + twice}));
  // The first of two equal messages waits for itself, the second does not.
  const std::string cycle = "waits for node 2 'n2', which waits for node 1 'n1'; expected a graph without cycles";
  EXPECT_EQ(found_in_ranks({{message(1, NodeType::kSend, 1, {2}), chakra_node(2, {1}), message(3, NodeType::kSend, 1)},
                            {message(1, NodeType::kReceive, 0), message(2, NodeType::kReceive, 0)}}),
            Texts{"w.0.et: node 1 'n1': " + cycle});
  EXPECT_EQ(found_in_ranks({{of(1, 8, {2}), chakra_node(2, {1}), of(3, 16)}, {of(1, 16), of(2, 8)}}),
            Texts{"w.0.et: node 1 'n1': " + cycle});
}

/// A long one stays short.
TEST_F(ChakraCheck, NamesACircleInTenLines) {
  constexpr std::int64_t kRanks = 20;
  std::vector<std::vector<Node>> ranks;
  for (std::int64_t r = 0; r < kRanks; ++r) {
    Node sent = message_node(2, NodeType::kSend, (r + 1) % kRanks, 0, 64);
    sent.data_dependencies = {1};
    ranks.push_back({message_node(1, NodeType::kReceive, (r + kRanks - 1) % kRanks, 0, 64), sent});
  }
  const Texts circle = found_in_ranks(ranks);
  ASSERT_EQ(circle.size(), 1U);
  EXPECT_EQ(std::count(circle[0].begin(), circle[0].end(), '\n'), 9) << circle[0];
  EXPECT_NE(circle[0].find("and so on, over 12 more ranks"), std::string::npos) << circle[0];
}

/// In any order of messages others have nothing before their root, and a root gives to somebody.
TEST_F(ChakraCheck, FindsCirclesByWayOfRootsThatStopAMachine) {
  const auto of = [](std::uint64_t id, CollectiveType type, const std::string& group, std::int64_t root,
                     std::vector<std::uint64_t> after = {}) {
    Node node = with(collective_node(id, type, 8), Attribute::text("pg_name", group));
    if (has_root(type)) node.attributes.push_back(Attribute::integer("comm_root", root));
    node.data_dependencies = std::move(after);
    return node;
  };
  /// Rank 0 begins the sum before the collective with a root, and rank 1 the other way round, as `others` do.
  const auto circle = [&](CollectiveType type, std::int64_t root, int others) {
    const auto sum = CollectiveType::kAllReduce;
    std::vector<std::vector<Node>> ranks = {{of(1, sum, "b", 0), of(2, type, "a", root, {1})}};
    for (int rank = 0; rank <= others; ++rank) ranks.push_back({of(1, type, "a", root), of(2, sum, "b", 0, {1})});
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) all.push_back(rank);
    CheckOptions options;
    options.groups = {{"a", all}, {"b", all}};
    const std::size_t found = found_in_ranks(ranks, options.groups).size();
    const CheckReport report = check(find_trace(file("w")), options);
    const auto remarks_circle = [](const CheckReport& each) {
      return std::any_of(each.remarks.begin(), each.remarks.end(),
                         [](const FindingKind& kind) { return kind.first.kind == Problem::kRootedCircle; });
    };
    EXPECT_EQ(remarks_circle(report), found == 0);
    if (found > 0) {
      EXPECT_EQ(report.kinds[0].first.kind, Problem::kCircle);
    }
    // In ASTRA-sim's arithmetic what has a root waits for nobody.
    options.machine = false;
    const CheckReport analytical = check(find_trace(file("w")), options);
    EXPECT_EQ(analytical.found, 0U);
    EXPECT_TRUE(remarks_circle(analytical));
    return found;
  };
  for (const auto type : {CollectiveType::kBroadcast, CollectiveType::kScatter}) {
    EXPECT_EQ(circle(type, 0, 0), 1U) << "rank 1 waits for its root";
    EXPECT_EQ(circle(type, 1, 0), 1U) << "the root has nobody to send to";
    EXPECT_EQ(circle(type, 0, 2), 1U);
    EXPECT_EQ(circle(type, 1, 2), 0U) << "the root may send to others";
  }
  for (const auto type : {CollectiveType::kReduce, CollectiveType::kGather}) {
    EXPECT_EQ(circle(type, 0, 0), 1U);
    EXPECT_EQ(circle(type, 1, 0), 1U);
    EXPECT_EQ(circle(type, 0, 2), 0U) << "ranks may send to others than the root";
    EXPECT_EQ(circle(type, 1, 2), 1U) << "the root waits for all";
  }
  // Where nobody names a root, it is the group's first rank.
  const auto broadcast = [&](std::uint64_t id, std::vector<std::uint64_t> after) {
    Node node = of(id, CollectiveType::kBroadcast, "a", 0, std::move(after));
    node.attributes.pop_back();
    return node;
  };
  const auto sum = [&](std::uint64_t id, std::vector<std::uint64_t> after) {
    return of(id, CollectiveType::kAllReduce, "b", 0, std::move(after));
  };
  const std::vector<std::vector<Node>> unnamed = {
      {sum(1, {}), broadcast(2, {1})}, {broadcast(1, {}), sum(2, {1})}, {broadcast(1, {}), sum(2, {1})}};
  EXPECT_EQ(found_in_ranks(unnamed, {{"a", {0, 1, 2}}, {"b", {0, 1, 2}}}).size(), 1U);
  EXPECT_EQ(found_in_ranks(unnamed, {{"a", {2, 0, 1}}, {"b", {0, 1, 2}}}), Texts());
}

/// Behind a circle of one group, which can be mended, stands one that cannot.
TEST_F(ChakraCheck, FindsCirclesBehindOthers) {
  const auto sum = [](std::uint64_t id, std::int64_t size, std::vector<std::uint64_t> after) {
    Node node = collective_node(id, CollectiveType::kAllReduce, size);
    node.data_dependencies = std::move(after);
    return node;
  };
  const auto message = [](std::uint64_t id, NodeType type, std::int64_t peer, std::vector<std::uint64_t> after) {
    Node node = message_node(id, type, peer, 0, 8);
    node.data_dependencies = std::move(after);
    return node;
  };
  const auto kinds = [this] {
    std::vector<Problem> found;
    for (const FindingKind& kind : check(find_trace(file("w"))).kinds) found.push_back(kind.first.kind);
    return found;
  };
  found_in_ranks({{sum(1, 8, {}), sum(2, 16, {1}), sum(3, 32, {2}), message(4, NodeType::kSend, 1, {3})},
                  {sum(1, 16, {}), sum(2, 8, {1}), message(3, NodeType::kReceive, 0, {2}), sum(4, 32, {3})}});
  EXPECT_EQ(kinds(), (std::vector<Problem>{Problem::kCollectiveOrder, Problem::kCircle}));
  found_in_ranks({{sum(1, 8, {}), sum(2, 16, {1}), sum(3, 32, {2}), message(4, NodeType::kSend, 1, {3})},
                  {sum(1, 16, {}), sum(2, 8, {1}), sum(3, 32, {2}), message(4, NodeType::kReceive, 0, {3})}});
  EXPECT_EQ(kinds(), (std::vector<Problem>{Problem::kCollectiveOrder}));
}

/// All ranks of a group take part, whatever dimensions a collective names; of everybody those do that it names.
TEST_F(ChakraCheck, CollectivesOfGroupsLeaveNoDimensionsOut) {
  const auto across = [](std::uint64_t id, const std::string& group) {
    Node node = with(collective_node(id, CollectiveType::kReduceScatter, 8), Attribute::text("pg_name", group));
    node.attributes.push_back(Attribute::booleans("involved_dim", {false}));
    return node;
  };
  const GroupTable::Named groups = {{"1", {0, 1}}};
  EXPECT_EQ(found_in_ranks({{across(1, "1")}, {}}, groups),
            Texts{"w.1.et: the rank issues 0 collectives of group 1; expected 1, as rank 0 does"});
  EXPECT_EQ(found_in_ranks({{across(1, "0")}, {}}, groups), Texts());
  EXPECT_EQ(found_in_ranks({{across(1, "1"), across(2, "1")}, {across(1, "1"), across(2, "1")}}, groups), Texts());
  CheckOptions options;
  options.groups = groups;
  const CheckReport report = check(find_trace(file("w")), options);
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kAllDimensions);
  EXPECT_EQ(report.remarks[0].count, 4U);
}

/// What a root sends it may send before the others receive it.
TEST_F(ChakraCheck, RemarksCirclesByWayOfRoots) {
  const auto from = [](std::uint64_t id, const std::string& group, std::vector<std::uint64_t> after = {}) {
    Node node = with(collective_node(id, CollectiveType::kBroadcast, 8), Attribute::text("pg_name", group));
    node.attributes.push_back(Attribute::integer("comm_root", 0));
    node.data_dependencies = std::move(after);
    return node;
  };
  CheckOptions options;
  options.groups = {{"a", {0, 1, 2}}, {"b", {0, 1, 2}}};
  const std::vector<Node> as_root = {from(1, "a"), from(2, "b", {1})};
  EXPECT_EQ(found_in_ranks({as_root, {from(1, "b"), from(2, "a", {1})}, as_root}, options.groups), Texts());
  const CheckReport report = check(find_trace(file("w")), options);
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kRootedCircle);
  options.groups = {{"a", {0, 1}}, {"b", {0, 1}}, {"c", {0, 1}}};
  // Within one group the order is the same on all ranks, and a root does not help.
  const auto sum = [](std::uint64_t id, std::vector<std::uint64_t> after = {}) {
    Node node = with(collective_node(id, CollectiveType::kAllReduce, 8), Attribute::text("pg_name", "a"));
    node.data_dependencies = std::move(after);
    return node;
  };
  const Texts contradict = {
      "w.0.et: node 2 'n2': waits for itself through other ranks:\n"
      "    rank 0: node 2 'n2', BROADCAST of 8 bytes of group a, comes after node 1 'n1', ALL_REDUCE of 8 bytes of "
      "group a\n"
      "    rank 1: node 2 'n2', ALL_REDUCE of 8 bytes of group a, comes after node 1 'n1', BROADCAST of 8 bytes of "
      "group a"};
  EXPECT_EQ(found_in_ranks({{sum(1), from(2, "a", {1})}, {from(1, "a"), sum(2, {1})}}, options.groups), contradict);
  EXPECT_EQ(check(find_trace(file("w")), options).kinds[0].first.kind, Problem::kCollectiveOrder);
  // Beside a circle of two groups, in which the root has nobody else to send to.
  EXPECT_EQ(found_in_ranks({{from(3, "b"), from(4, "c", {3}), sum(1), from(2, "a", {1})},
                            {from(3, "c"), from(4, "b", {3}), from(1, "a"), sum(2, {1})}},
                           options.groups)
                .size(),
            2U);
  EXPECT_EQ(found_in_ranks({{sum(1), from(2, "a", {1})}, {from(1, "a"), sum(2)}}, options.groups), Texts());
}

/// Nothing but that each rank does one thing at a time makes them wait for each other.
TEST_F(ChakraCheck, RemarksTurnsThatWaitForEachOther) {
  const auto of = [](std::uint64_t id, const std::string& group) {
    return with(collective_node(id, CollectiveType::kAllReduce, 8), Attribute::text("pg_name", group));
  };
  CheckOptions options;
  options.groups = {{"a", {0, 1}}, {"b", {0, 1}}};
  const auto remarks = [&] { return check(find_trace(file("w")), options).remarks; };
  EXPECT_EQ(found_in_ranks({{of(1, "a"), of(2, "b")}, {of(1, "b"), of(2, "a")}}, options.groups), Texts());
  ASSERT_EQ(remarks().size(), 1U);
  EXPECT_EQ(remarks()[0].first.kind, Problem::kTurns);
  EXPECT_EQ(remarks()[0].first.problem, "ALL_REDUCE of 8 bytes of group b never has its turn if nothing takes time");
  EXPECT_EQ(found_in_ranks({{of(1, "a"), of(2, "b")}, {of(1, "a"), of(2, "b")}}, options.groups), Texts());
  EXPECT_TRUE(remarks().empty());
}

TEST_F(ChakraCheck, FindsMetadataThatDisagreeAboutAGroup) {
  const auto list = [](const std::string& ranks) {
    Node node = chakra_node(1, {}, NodeType::kMetadata);
    node.name = "## process_group:init ##";
    node.inputs = InputOutput{R"([{"pg_name": "1", "ranks": )" + ranks + "}]", "", "", ""};
    return node;
  };
  const Node sum = with(collective_node(2, CollectiveType::kAllReduce, 8), Attribute::text("pg_name", "1"));
  const auto told = [&](const std::string& here, const std::string& there) {
    return Texts{"w.0.et: node 2 'n2': is of group \"1\", " + here + " by the metadata of rank 0 and " + there +
                 "; expected the same ranks, or a groups file {\"1\": [ranks]}"};
  };
  EXPECT_EQ(found_in_ranks({{list("[0, 1]"), sum}, {list("[0, 1, 2]")}, {}}),
            told("ranks 0, 1", "ranks 0, 1, 2 by that of rank 1"));
  EXPECT_EQ(found_in_ranks({{list("[0, 1]"), sum}, {list("[2]")}, {}}),
            told("ranks 0, 1", "for rank 1 a group to which rank 1 does not belong"));
  EXPECT_EQ(found_in_ranks({{list("[0, 1]"), sum}, {list("[1, 0]"), sum}, {}}), Texts()) << "the order is a remark";
}

/// Ranks that name none take the root that others name.
TEST_F(ChakraCheck, TakesARootThatSomeRanksName) {
  const auto from = [](std::int64_t root) {
    Node node = collective_node(7, CollectiveType::kBroadcast, 8);
    if (root >= 0) node.attributes.push_back(Attribute::integer("comm_root", root));
    return node;
  };
  EXPECT_EQ(found_in_ranks({{from(-1)}, {from(1)}, {from(-1)}}), Texts());
  const CheckReport report = check(find_trace(file("w")));
  EXPECT_EQ(report.roots,
            (std::map<std::uint32_t, std::map<std::uint64_t, std::uint32_t>>{{0, {{7, 1}}}, {2, {{7, 1}}}}));
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kRootOfOthers);
  EXPECT_EQ(found_in_ranks({{from(-1)}, {from(1)}, {from(2)}}),
            Texts{"w.2.et: node 7 'n7': its root is 2; expected 1, as in rank 1, node 7"});
}

}  // namespace
}  // namespace weft::chakra
