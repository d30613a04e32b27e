// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/repair.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/chakra.h"
#include "traces/chakra/kernels.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;
using test::chakra_node;
using test::ChakraTest;
using test::collective_node;
using test::message_node;
using Counts = std::vector<std::pair<Problem, std::uint64_t>>;

class ChakraRepair : public ChakraTest {
 protected:
  void ranks(const std::vector<std::vector<Node>>& all) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    for (std::size_t rank = 0; rank < all.size(); ++rank) write(all[rank], "w." + std::to_string(rank) + ".et");
  }
  /// What was done to w.0.et, ..., of which r.0.et, ... are made and pass the check.
  Counts mend(const CheckOptions& options = {}) {
    const std::vector<Mended> done = repair(find_trace(file("w")), file("r"), options);
    const CheckReport left = check(find_trace(file("r")), options);
    EXPECT_EQ(left.found, 0U) << left.findings[0].text();
    Counts counts;
    for (const Mended& each : done) counts.emplace_back(each.kind, each.count);
    return counts;
  }
  [[nodiscard]] std::vector<Node> mended(int rank) const { return read(file("r." + std::to_string(rank) + ".et")); }

  static Node with(Node node, Attribute attribute) {
    node.attributes.push_back(std::move(attribute));
    return node;
  }
};

TEST_F(ChakraRepair, LeavesAGoodTraceAsItIs) {
  ranks({{collective_node(0, CollectiveType::kAllReduce, 8), message_node(1, NodeType::kSend, 1, 0, 8)},
         {collective_node(0, CollectiveType::kAllReduce, 8), message_node(1, NodeType::kReceive, 0, 0, 8)}});
  EXPECT_EQ(mend(), Counts());
  for (const char* rank : {"0", "1"}) {
    EXPECT_EQ(bytes(file("w." + std::string(rank) + ".et")), bytes(file("r." + std::string(rank) + ".et")));
  }
}

TEST_F(ChakraRepair, MendsAGraph) {
  const auto lasting = [](Node node) {
    node.duration_micros = 1;
    return node;
  };
  Node control = lasting(chakra_node(3, {1, 2}));
  control.control_dependencies = {3, 4, 4};
  ranks({{lasting(chakra_node(1, {1, 7, 2})), lasting(chakra_node(2, {1})), control, lasting(chakra_node(4, {3})),
          lasting(chakra_node(4)), lasting(chakra_node(4, {3}))}});
  EXPECT_EQ(mend(), (Counts{{Problem::kDuplicateId, 2},
                            {Problem::kSelfDependency, 2},
                            {Problem::kDanglingDependency, 1},
                            {Problem::kCycle, 3}}));
  const std::vector<Node> nodes = mended(0);
  ASSERT_EQ(nodes.size(), 5U) << "the copy is gone";
  EXPECT_EQ(nodes[0].data_dependencies, std::vector<std::uint64_t>());
  EXPECT_EQ(nodes[1].data_dependencies, std::vector<std::uint64_t>({1}));
  EXPECT_EQ(nodes[2].data_dependencies, std::vector<std::uint64_t>({1, 2}));
  EXPECT_EQ(nodes[2].control_dependencies, std::vector<std::uint64_t>());
  EXPECT_EQ(nodes[3].data_dependencies, std::vector<std::uint64_t>({3}));
  EXPECT_EQ(nodes[4].id, 5U);
}

/// What was recorded stays: nodes come behind what they depend on, or before it in a file that is the other way round.
TEST_F(ChakraRepair, CutsCyclesWhereTheyGoAgainstTheFile) {
  const auto timed = [](std::uint64_t id, std::vector<std::uint64_t> dependencies) {
    Node node = chakra_node(id, std::move(dependencies));
    node.duration_micros = 1;
    return node;
  };
  // The damage is that 1 depends on 3; who walks from the last node meets the cycle at 2.
  std::vector<Node> nodes = {timed(1, {3}), timed(2, {1}), timed(3, {2}), timed(4, {2})};
  for (const bool reversed : {false, true}) {
    if (reversed) std::reverse(nodes.begin(), nodes.end());
    ranks({nodes});
    EXPECT_EQ(mend(), (Counts{{Problem::kCycle, 1}}));
    for (const Node& node : mended(0)) {
      const std::vector<std::uint64_t> kept =
          node.id == 1 ? std::vector<std::uint64_t>() : std::vector<std::uint64_t>({node.id == 4 ? 2 : node.id - 1});
      EXPECT_EQ(node.data_dependencies, kept) << node.id;
    }
  }
}

/// What becomes of others because of it is mended with it.
TEST_F(ChakraRepair, AlignsRanksWithANodeThatHasNoOneMeaning) {
  const Node sum = collective_node(1, CollectiveType::kAllReduce, 8);
  ranks({{sum}, {with(sum, Attribute::integer("comm_size", 16))}});
  EXPECT_EQ(mend(), (Counts{{Problem::kAttribute, 1}, {Problem::kCollectiveOrder, 1}}));
}

TEST_F(ChakraRepair, MakesMetadataOfWhatCannotBeRun) {
  Node odd = chakra_node(2, {1});
  odd.type = static_cast<NodeType>(12);
  ranks({{chakra_node(1, {}, NodeType::kInvalid), odd, chakra_node(3, {2}, NodeType::kCollective),
          collective_node(4, CollectiveType::kAllReduce, -8), message_node(5, NodeType::kSend, 0, 0, 8),
          message_node(6, NodeType::kSend, 9, 0, 8), with(chakra_node(7), Attribute::text("num_ops", "many"))}});
  EXPECT_EQ(mend(), (Counts{{Problem::kType, 2}, {Problem::kAttribute, 3}, {Problem::kPeer, 2}}));
  for (const Node& node : mended(0)) EXPECT_EQ(node.type, NodeType::kMetadata) << node.id;
  EXPECT_EQ(mended(0)[2].data_dependencies, std::vector<std::uint64_t>({2})) << "order is kept";
}

/// What was measured stays, whatever is wrong beside it.
TEST_F(ChakraRepair, KeepsDurations) {
  const auto timed = [](std::uint64_t id, Attribute attribute) {
    Node node = with(chakra_node(id), std::move(attribute));
    node.duration_micros = 5;
    return node;
  };
  const Node twice = with(timed(6, Attribute::natural("duration_nanos", 4)), Attribute::natural("duration_nanos", 7));
  ranks({{timed(1, Attribute::integer("num_ops", 8)), timed(2, Attribute::text("num_ops", "many")),
          timed(3, Attribute::integer("cores", 0)), timed(4, Attribute::text("stream", "7")),
          timed(5, Attribute::text("kernels", "2")), twice, timed(7, Attribute::text("is_cpu_op", "no")),
          timed(8, Attribute::integer("duration_nanos", -1))}});
  EXPECT_EQ(mend(), (Counts{{Problem::kAttribute, 6}}));
  const std::vector<Node> nodes = mended(0);
  for (const Node& node : nodes) {
    EXPECT_EQ(node.type, NodeType::kCompute) << node.id;
    EXPECT_EQ(node.duration_nanos(), 5000U) << node.id;
    EXPECT_EQ(node.attributes.size(), node.id < 3 ? 1U : 0U) << node.id;
  }
}

/// What caps add to kernels is nothing that a run needs.
TEST_F(ChakraRepair, KeepsKernelsWhoseCapsAreNoNumbers) {
  Node node = chakra_node(1);
  const std::vector<KernelDemand> kernels = {{.compute_ps = 9}, {.compute_ps = 7, .capped_ps = 5}};
  set_kernels(node, kernels);
  EXPECT_EQ(kernels_of(node), kernels);
  Node odd = node;
  odd.id = 2;
  odd.attributes.back() = Attribute::text(kKernelsCapped, "5");
  ranks({{node, odd}});
  EXPECT_EQ(mend(), (Counts{{Problem::kAttribute, 1}}));
  EXPECT_EQ(kernels_of(mended(0)[0]), kernels);
  EXPECT_EQ(kernels_of(mended(0)[1]), (std::vector<KernelDemand>{{.compute_ps = 9}, {.compute_ps = 7}}));
}

TEST_F(ChakraRepair, RefusesCapsThatAreNotThoseOfTheKernels) {
  Node node = chakra_node(1);
  set_kernels(node, {{.compute_ps = 9}, {.compute_ps = 7}});
  EXPECT_EQ(node.attributes.size(), 1U) << "no cap adds anything";
  set_kernels(node, {{.compute_ps = 9}, {.compute_ps = 7, .capped_ps = 5}});
  Attribute& capped = node.attributes.back();
  ASSERT_EQ(capped.name, kKernelsCapped);
  for (const std::vector<std::int64_t>& wrong :
       std::vector<std::vector<std::int64_t>>{{5}, {0, 5, 0}, {0, -1}, {0, 8}}) {
    capped.value = wrong;
    try {
      static_cast<void>(kernels_of(node));
      ADD_FAILURE() << wrong.size();
    } catch (const AttributeError& error) {
      EXPECT_STREQ(
          error.what(),
          "node 1 'n1': attribute kernels_capped: expected a list of an integer for each kernel, from 0 to what "
          "it computes");
    }
  }
}

/// In one pass, with what the other side has of it.
TEST_F(ChakraRepair, DurationsThatNobodyAsksForStay) {
  const auto lasting = [](Node node) {
    node.duration_micros = 10'000'000'000'000;
    return node;
  };
  const auto all = [](std::uint64_t id, CollectiveType type) { return collective_node(id, type, 8); };
  ranks({{lasting(message_node(1, NodeType::kSend, 1, 0, 8)), lasting(all(2, CollectiveType::kAllReduce)),
          lasting(all(3, CollectiveType::kBroadcast)), lasting(chakra_node(4))},
         {message_node(1, NodeType::kReceive, 0, 0, 8), all(2, CollectiveType::kAllReduce),
          all(3, CollectiveType::kBroadcast)}});
  EXPECT_EQ(mend(), (Counts{{Problem::kAttribute, 2}}));
  const std::vector<Node> nodes = mended(0);
  EXPECT_EQ(nodes[0].type, NodeType::kSend);
  EXPECT_EQ(nodes[2].type, NodeType::kCollective);
  EXPECT_EQ(nodes[2].duration_micros, 0U);
  EXPECT_EQ(nodes[3].type, NodeType::kMetadata);
}

TEST_F(ChakraRepair, GivesTimesAndTakesCommunicationOffTheCpu) {
  ranks(
      {{chakra_node(1), with(collective_node(2, CollectiveType::kAllReduce, 8), Attribute::boolean("is_cpu_op", true)),
        with(chakra_node(3), Attribute::boolean("is_cpu_op", true))}});
  EXPECT_EQ(mend(), (Counts{{Problem::kNoTime, 1}, {Problem::kCpuCommunication, 1}}));
  EXPECT_EQ(mended(0)[0].duration_nanos(), 1U);
  EXPECT_FALSE(mended(0)[1].is_cpu_op());
  EXPECT_EQ(mended(0)[2].duration_nanos(), 0U);
  EXPECT_EQ(check(find_trace(file("r"))).remarks.size(), 0U);
}

TEST_F(ChakraRepair, MatchesMessages) {
  ranks({{message_node(0, NodeType::kSend, 1, 0, 8), message_node(1, NodeType::kSend, 1, 0, 9),
          message_node(2, NodeType::kSend, 1, 3, 1)},
         {message_node(0, NodeType::kReceive, 0, 0, 16), message_node(1, NodeType::kReceive, 2, 0, 1)},
         {}});
  EXPECT_EQ(mend(), (Counts{{Problem::kLoneMessage, 3}, {Problem::kMessageSize, 1}}));
  EXPECT_EQ(mended(0)[0].comm_size(), 16);
  EXPECT_EQ(mended(0)[1].type, NodeType::kMetadata);
  EXPECT_EQ(mended(1)[1].type, NodeType::kMetadata);
}

TEST_F(ChakraRepair, TakesTheOtherOfTwoForAPeer) {
  const auto without_peer = [](NodeType type) {
    Node node = chakra_node(1, {}, type);
    node.attributes = {Attribute::integer("comm_size", 8), Attribute::text("pg_name", "p")};
    return node;
  };
  CheckOptions options;
  options.groups = {{"p", {2, 0}}};
  ranks({{without_peer(NodeType::kSend)}, {}, {without_peer(NodeType::kReceive)}});
  EXPECT_EQ(mend(options), (Counts{{Problem::kPeer, 2}}));
  EXPECT_EQ(mended(0)[0].comm_dst(), 2);
  EXPECT_EQ(mended(2)[0].comm_src(), 0);
  options.groups = {{"p", {2, 0, 1}}};
  EXPECT_EQ(mend(options), (Counts{{Problem::kPeer, 2}}));
  EXPECT_EQ(mended(0)[0].type, NodeType::kMetadata);
}

TEST_F(ChakraRepair, AlignsCollectives) {
  const auto reduce = [](std::uint64_t id, std::int64_t bytes) {
    return collective_node(id, CollectiveType::kAllReduce, bytes);
  };
  const auto gather = [](std::uint64_t id) { return collective_node(id, CollectiveType::kAllGather, 4); };
  // Rank 1 was recorded one collective later, and has another size once.
  ranks({{reduce(0, 10), reduce(1, 20), gather(2), reduce(3, 30), reduce(4, 40)},
         {reduce(10, 20), gather(11), reduce(12, 35), reduce(13, 40), gather(14)}});
  EXPECT_EQ(mend(), (Counts{{Problem::kCollectiveOrder, 2}, {Problem::kCollectiveSize, 1}}));
  EXPECT_EQ(mended(0)[0].type, NodeType::kMetadata);
  EXPECT_EQ(mended(0)[1].type, NodeType::kCollective);
  EXPECT_EQ(mended(0)[3].comm_size(), 35);
  EXPECT_EQ(mended(1)[4].type, NodeType::kMetadata);

  const auto from = [](std::int64_t root) {
    return with(collective_node(0, CollectiveType::kBroadcast, 8), Attribute::integer("root", root));
  };
  ranks({{from(1)}, {from(0)}, {from(9)}});
  EXPECT_EQ(mend(), (Counts{{Problem::kRoot, 2}}));
  EXPECT_EQ(mended(2)[0].comm_root(), 1);
  ranks({{from(9)}, {from(9)}});
  EXPECT_EQ(mend(), (Counts{{Problem::kRoot, 2}}));
  EXPECT_EQ(mended(1)[0].comm_root(), 0);
}

TEST_F(ChakraRepair, WritesMissingRanks) {
  const auto list = [](const std::string& ranks) {
    Node node = chakra_node(1, {}, NodeType::kMetadata);
    node.name = "## process_group:init ##";
    node.inputs =
        InputOutput{R"(['[{"pg_name": "0", "ranks": []}, {"pg_name": "1", "ranks": )" + ranks + R"(}]'])", "", "", ""};
    return node;
  };
  const auto sum = [](std::uint64_t id, const std::string& group, std::int64_t bytes) {
    return with(collective_node(id, CollectiveType::kAllReduce, bytes), Attribute::text("pg_name", group));
  };
  ranks({{list("[0, 1]"), sum(2, "1", 8), sum(3, "0", 8), message_node(4, NodeType::kSend, 2, 0, 8)},
         {list("[0, 1]"), sum(2, "1", 8), sum(3, "0", 8)},
         {list("[2, 3]"), sum(2, "1", 16), sum(3, "0", 8), message_node(4, NodeType::kReceive, 0, 0, 8)}});
  CheckOptions options;
  options.ranks = 5;
  EXPECT_EQ(mend(options), (Counts{{Problem::kMissingRank, 2}, {Problem::kGroup, 1}, {Problem::kCollectiveSize, 1}}));
  EXPECT_EQ(mended(3)[1].comm_size(), 16) << "of its own group";
  EXPECT_EQ(mended(3)[3].type, NodeType::kMetadata) << "messages are the original's";
  EXPECT_EQ(mended(4)[1].type, NodeType::kMetadata) << "it is in no group 1";
  EXPECT_EQ(mended(4)[2].type, NodeType::kCollective);
}

TEST_F(ChakraRepair, OfOneFileMendsTheFile) {
  write({chakra_node(1, {1}, NodeType::kMetadata)}, "one.et");
  const std::vector<Mended> done = repair(find_trace(file("one.et")), file("two.et"), {});
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].text(),
            "dependencies of a node on itself, left out: 1 (the first in " + file("one.et").string() + ", node 1)");
  EXPECT_EQ(check(find_trace(file("two.et"))).found, 0U);
}

/// Group 1 and "tp", its description, are one: what a rank issues by either name is one sequence.
TEST_F(ChakraRepair, AGroupMayGoByTwoNames) {
  const auto list = [] {
    Node node = chakra_node(9, {}, NodeType::kMetadata);
    node.name = "## process_group:init ##";
    node.inputs = InputOutput{R"([{"pg_name": "1", "pg_desc": "tp", "ranks": [0, 1]}])", "", "", ""};
    return node;
  };
  const auto sum = [](std::uint64_t id, const char* group, std::int64_t bytes) {
    return with(collective_node(id, CollectiveType::kAllReduce, bytes), Attribute::text("pg_name", group));
  };
  ranks({{sum(1, "1", 8), sum(2, "tp", 16), sum(3, "1", 32), list()},
         {sum(1, "tp", 8), sum(2, "1", 16), sum(3, "tp", 32), list()}});
  EXPECT_EQ(check(find_trace(file("w"))).found, 0U);
  ranks({{sum(1, "1", 8), sum(2, "tp", 16), list()}, {sum(1, "tp", 8), list()}});
  EXPECT_EQ(check(find_trace(file("w"))).found, 1U);
  EXPECT_EQ(mend(), (Counts{{Problem::kCollectiveOrder, 1}}));
  EXPECT_EQ(mended(0)[0].type, NodeType::kCollective);
  EXPECT_EQ(mended(0)[1].type, NodeType::kMetadata);
}

/// An attribute that is wrong there does not take the groups away.
TEST_F(ChakraRepair, KeepsTheListOfGroups) {
  Node list = chakra_node(9, {}, NodeType::kMetadata);
  list.name = "## process_group:init ##";
  list.inputs = InputOutput{R"([{"pg_name": "1", "ranks": [0, 1]}])", "", "", ""};
  list.attributes = {Attribute::text("is_cpu_op", "yes")};
  const Node sum = with(collective_node(1, CollectiveType::kAllReduce, 8), Attribute::text("pg_name", "1"));
  // A node that only speaks of groups becomes no list of them.
  Node talk = with(sum, Attribute::text("comm_tag", "x"));
  talk.id = 2;
  talk.attributes[1] = Attribute::integer("comm_size", -1);
  talk.inputs = InputOutput{R"([{"pg_name": "1", "ranks": [1]}])", "", "", ""};
  ranks({{list, sum, talk}, {list, sum}});
  EXPECT_EQ(mend(), (Counts{{Problem::kAttribute, 1}}));
  EXPECT_EQ(mended(0)[0], list);
  EXPECT_EQ(mended(0)[2].inputs, std::nullopt);
}

/// What was done is said in words of its kind.
TEST_F(ChakraRepair, SaysWhatItDid) {
  Node marked = with(collective_node(1, CollectiveType::kAllReduce, 8), Attribute::boolean("is_cpu_op", true));
  ranks({{chakra_node(0), marked}, {chakra_node(0), collective_node(1, CollectiveType::kAllReduce, 16)}});
  std::vector<std::string> texts;
  for (const Mended& each : repair(find_trace(file("w")), file("r"), {})) {
    texts.push_back(each.text().substr(0, each.text().find(',')));
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts,
            (std::vector<std::string>{"collectives and messages marked as operations of the CPU",
                                      "collectives of other sizes on other ranks", "compute nodes without a time"}));
}

/// One rank's wrong size does not become everybody's.
TEST_F(ChakraRepair, TakesTheSizeThatMostRanksHave) {
  const auto of = [](std::int64_t size) {
    return std::vector<Node>{collective_node(0, CollectiveType::kAllReduce, size)};
  };
  ranks({of(8), of(kMostBytes), of(8), of(16)});
  EXPECT_EQ(mend(), (Counts{{Problem::kCollectiveSize, 2}}));
  for (const int rank : {0, 1, 2, 3}) EXPECT_EQ(mended(rank)[0].comm_size(), 8);
  ranks({of(8), of(16), of(16), of(8)});
  EXPECT_EQ(mend(), (Counts{{Problem::kCollectiveSize, 2}}));
  EXPECT_EQ(mended(0)[0].comm_size(), 16);
}

TEST_F(ChakraRepair, MessagesMeetBySize) {
  ranks({{message_node(1, NodeType::kSend, 1, 0, 8), message_node(2, NodeType::kSend, 1, 0, 16)},
         {message_node(1, NodeType::kReceive, 0, 0, 16), message_node(2, NodeType::kReceive, 0, 0, 4)}});
  EXPECT_EQ(mend(), (Counts{{Problem::kMessageSize, 1}}));
  EXPECT_EQ(mended(0)[0].comm_size(), 8);
  EXPECT_EQ(mended(1)[0].comm_size(), 16);
  EXPECT_EQ(mended(1)[1].comm_size(), 8);
  CheckOptions options;
  options.ranks = 1;
  EXPECT_EQ(refused([&] { repair(find_trace(file("w")), file("r"), options); }),
            "w.1.et: is the trace of rank 1: expected none beyond the 1 ranks that there are to be");
}

/// Orders that no dependency makes are left alone; those that contradict each other are not.
TEST_F(ChakraRepair, LeavesOrdersThatTimesDecide) {
  const auto of = [](std::uint64_t id, std::int64_t bytes, std::vector<std::uint64_t> after = {}) {
    Node node = collective_node(id, CollectiveType::kAllReduce, bytes);
    node.data_dependencies = std::move(after);
    return node;
  };
  ranks({{of(1, 8), of(2, 16, {1})}, {of(1, 16), of(2, 8)}});
  EXPECT_EQ(mend(), Counts());
  ranks({{of(1, 8), of(2, 16, {1})}, {of(1, 16), of(2, 8, {1})}});
  EXPECT_EQ(mend(), (Counts{{Problem::kCollectiveOrder, 2}}));
  // A root does not wait, but has its place in the order.
  const auto from = [](std::uint64_t id, std::vector<std::uint64_t> after = {}) {
    Node node = collective_node(id, CollectiveType::kBroadcast, 8);
    node.attributes.push_back(Attribute::integer("comm_root", 0));
    node.data_dependencies = std::move(after);
    return node;
  };
  ranks({{of(1, 8), from(2, {1})}, {from(1), of(2, 8, {1})}});
  EXPECT_EQ(mend(), (Counts{{Problem::kCollectiveOrder, 2}}));
}

TEST_F(ChakraRepair, OfATraceOfAllRanksLeavesMessagesOut) {
  write({message_node(1, NodeType::kSend, 1, 0, 8)}, "one.et");
  CheckOptions options;
  options.ranks = 4;
  options.shared = true;
  const std::vector<Mended> done = repair(find_trace(file("one.et")), file("two.et"), options);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].kind, Problem::kSharedMessage);
  EXPECT_EQ(check(find_trace(file("two.et")), options).found, 0U);
}

TEST_F(ChakraRepair, DoesNotGuessGroups) {
  ranks({{with(collective_node(1, CollectiveType::kAllReduce, 8), Attribute::text("pg_name", "1"))}});
  EXPECT_EQ(
      refused([&] { repair(find_trace(file("w")), file("r"), {}); }),
      "w.0.et: node 1 'n1': is of group \"1\", which neither the metadata of the trace nor a groups file names; "
      "expected a node \"## process_group:init ##\" that lists it, or a groups file {\"1\": [ranks]}; 1 group is not "
      "what the rank needs; a groups file says which ranks are in a group (PREFIX.groups.json, or --groups)");
  EXPECT_FALSE(fs::exists(file("r.0.et")));
}

}  // namespace
}  // namespace weft::chakra
