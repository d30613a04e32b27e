// SPDX-License-Identifier: Apache-2.0
// What is found in a file, and of files as such.
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

/// A name is data of others: it neither breaks a message nor fills a screen.
TEST_F(ChakraCheck, NamesStayOnALine) {
  using namespace std::string_literals;
  Node node = chakra_node(1, {7});
  node.name = "a\x1b[31m\n\0\u202e"s + std::string(200'000, 'n');
  const Texts texts = found({node});
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(texts[0].starts_with("w.0.et: node 1 'a\\x1b[31m\\n\\x00\\xe2\\x80\\xaennn")) << texts[0];
  EXPECT_LT(texts[0].size(), 300U);
  EXPECT_TRUE(node.label().ends_with("nnn...'"));
}

/// With a roofline operations count in place of durations, so that nodes need them.
TEST_F(ChakraCheck, ARooflineNeedsOperations) {
  const fs::path trace = write({lasting(chakra_node(0)), with(with(chakra_node(1), Attribute::integer("num_ops", 8)),
                                                              Attribute::integer("tensor_size", 8))});
  CheckOptions options;
  EXPECT_EQ(check(find_trace(trace), options).found, 0U);
  options.roofline = true;
  const CheckReport report = check(find_trace(trace), options);
  EXPECT_EQ(texts(report), Texts{"w.0.et: node 0 'n0': COMP_NODE has no num_ops; expected the attributes num_ops and "
                                 "tensor_size"});
  EXPECT_EQ(report.kinds.at(0).first.kind, Problem::kOperations);
}

/// Where a duration counts, operations and bytes may be anything; on the CPU kernels and cores as well.
TEST_F(ChakraCheck, WhatARunDoesNotGoByStopsNothing) {
  const Attribute zero_cores = Attribute::integer("cores", 0);
  const std::vector<Attribute> operations = {
      Attribute::integer("num_ops", 1'000'000'000), Attribute::integer("num_ops", -1),
      Attribute::text("num_ops", "many"), Attribute::text("tensor_size", "8"), Attribute::integer("tensor_size", -8)};
  CheckOptions roofline;
  roofline.roofline = true;
  for (const Attribute& each : operations) {
    const Node timed = with(lasting(chakra_node(1)), each);
    const Node twice = with(timed, Attribute::integer(each.name, 77));
    const Node of_cpu = with(with(twice, Attribute::boolean("is_cpu_op", true)), zero_cores);
    EXPECT_EQ(found({timed}), Texts()) << each.name;
    EXPECT_EQ(found({twice}), Texts()) << each.name;
    EXPECT_EQ(found({of_cpu}), Texts()) << each.name;
    EXPECT_EQ(check(find_trace(write({of_cpu})), roofline).found, 0U) << each.name;
    EXPECT_EQ(check(find_trace(write({timed})), roofline).found, 1U) << each.name;
    const CheckReport untimed = check(find_trace(write({with(chakra_node(1), each)})));
    const bool is_count = each.value == Value(std::int64_t{1'000'000'000});
    // Without operations the bytes are not asked for either.
    EXPECT_EQ(untimed.found, is_count || each.name == "tensor_size" ? 0U : 1U) << each.name;
  }
  Node send = message_node(1, NodeType::kSend, 1, 0, 8);
  send.duration_micros = 10'000'000'000'000;
  const Node receive = with(message_node(1, NodeType::kReceive, 0, 0, 8), Attribute::text("is_cpu_op", "no"));
  EXPECT_EQ(found_in_ranks({{send}, {receive}}), Texts());
  Node broadcast = collective_node(1, CollectiveType::kBroadcast, 8);
  broadcast.duration_micros = send.duration_micros;
  EXPECT_EQ(found({broadcast}).size(), 1U) << "ASTRA-sim's arithmetic goes by it";
  const fs::path cores = write({with(lasting(chakra_node(1)), zero_cores)});
  EXPECT_EQ(check(find_trace(cores)).found, 1U);
  CheckOptions analytical;
  analytical.machine = false;
  EXPECT_EQ(check(find_trace(cores), analytical).found, 0U) << "only a machine has cores";
}

TEST_F(ChakraCheck, RootsThatContradictAndVersionsBeyondAreRemarkedOn) {
  Node broadcast = collective_node(0, CollectiveType::kBroadcast, 8);
  broadcast.attributes.push_back(Attribute::integer("comm_root", 0));
  broadcast.attributes.push_back(Attribute::integer("root", 1));
  Metadata metadata;
  metadata.version = "9.9";
  TraceWriter writer(file(), metadata);
  writer.write(broadcast);
  writer.close();
  const CheckReport report = check(find_trace(file()));
  EXPECT_EQ(report.found, 0U);
  ASSERT_EQ(report.remarks.size(), 2U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kTwoRoots);
  EXPECT_EQ(report.remarks[0].first.problem, "names comm_root 0 and root 1");
  EXPECT_EQ(report.remarks[1].first.problem, "is of version 9.9");
  // Of PyTorch, and no version at all.
  for (const char* const version : {"1.1.1-chakra.0.0.4", "1.0.0", ""}) {
    metadata.version = version;
    TraceWriter known(file(), metadata);
    known.write(lasting(chakra_node(0)));
    known.close();
    EXPECT_TRUE(check(find_trace(file())).remarks.empty()) << version;
  }
}

/// All ranks without a file are counted, and what has no file only by a slip of its name is named.
TEST_F(ChakraCheck, FilesOfRanksByOtherNames) {
  write({lasting(chakra_node(0))}, "w.5000.et");
  EXPECT_EQ(check(find_trace(file("w"))).found, 5000U);
  write({lasting(chakra_node(0))}, "w.01.et");
  EXPECT_EQ(refused([&] { find_trace(file("w")); }),
            "w: expected ranks without leading zeros, below 4294967296, got w.01.et: rename it to w.1.et");
  fs::rename(file("w.01.et"), file("w.99999999999.et"));
  EXPECT_EQ(refused([&] { find_trace(file("w")); }),
            "w: expected ranks without leading zeros, below 4294967296, got w.99999999999.et");
  fs::rename(file("w.99999999999.et"), file("w.old.et"));
  EXPECT_EQ(find_trace(file("w")).files.size(), 1U);
}

/// Whatever the nodes are that have it, on whichever ranks.
TEST_F(ChakraCheck, FindsAnIdThatIsThereTwice) {
  const Node reduce = collective_node(1, CollectiveType::kAllReduce, 8);
  const Node gather = collective_node(1, CollectiveType::kAllGather, 8);
  const Node root = collective_node(1, CollectiveType::kBroadcast, 8);
  const Node send = message_node(1, NodeType::kSend, 1, 0, 8);
  const Node receive = message_node(1, NodeType::kReceive, 0, 0, 8);
  const Node last = collective_node(2, CollectiveType::kAllReduce, 8);
  const auto is_found = [this](const std::vector<std::vector<Node>>& ranks) {
    const Texts texts = found_in_ranks(ranks);
    return std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
      return text.find("the id is there more than once; expected unique ids") != std::string::npos;
    });
  };
  for (const std::vector<Node>& twice : std::vector<std::vector<Node>>{{reduce, reduce},
                                                                       {reduce, gather},
                                                                       {root, root},
                                                                       {reduce, root},
                                                                       {reduce, reduce, reduce},
                                                                       {reduce, chakra_node(1)}}) {
    std::vector<Node> with_more = {twice.front(), last};
    with_more.insert(with_more.end(), twice.begin() + 1, twice.end());
    for (const std::vector<Node>& nodes : {twice, with_more}) {
      EXPECT_TRUE(is_found({nodes, nodes}));
      EXPECT_TRUE(is_found({nodes, nodes, nodes}));
      std::vector<Node> apart = nodes;
      for (std::size_t i = 0; i < apart.size(); ++i) apart[i].id = 10 + i;
      EXPECT_TRUE(is_found({nodes, apart}));
      EXPECT_TRUE(is_found({apart, nodes}));
    }
  }
  EXPECT_TRUE(is_found({{send, send}, {receive, receive}}));
  EXPECT_TRUE(is_found({{send, reduce}, {receive, reduce}}));
  EXPECT_TRUE(is_found({{reduce, send}, {chakra_node(0), receive, last}}));
}

TEST_F(ChakraCheck, FindsWhatIsWrongWithAGraph) {
  EXPECT_EQ(found({chakra_node(0), chakra_node(2, {0}), chakra_node(1, {2})}), Texts());
  EXPECT_EQ(found({chakra_node(1), chakra_node(2), chakra_node(1)}),
            Texts{"w.0.et: node 1 'n1': the id is there more than once; expected unique ids"});
  EXPECT_EQ(found({chakra_node(1, {7})}),
            Texts{"w.0.et: node 1 'n1': depends on node 7, which is not in the file; expected "
                  "dependencies on nodes of the file"});
  EXPECT_EQ(found({chakra_node(1, {1})}),
            Texts{"w.0.et: node 1 'n1': depends on itself; expected a graph without cycles"});
  EXPECT_EQ(
      found({chakra_node(0, {2}), chakra_node(1, {0}), chakra_node(2, {1}), chakra_node(3, {2})}),
      Texts{"w.0.et: node 0 'n0': waits for node 2 'n2', which waits for node 1 'n1', which waits for node 0 'n0'; "
            "expected a graph without cycles"});
}

TEST_F(ChakraCheck, WalksAChainAsLongAsTheFile) {
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 200'000; ++i) nodes.push_back(chakra_node(i, {i + 1}));
  nodes.push_back(chakra_node(200'000));
  EXPECT_EQ(found(nodes), Texts());
  nodes.back().data_dependencies = {0};
  const Texts cycle = found(nodes);
  ASSERT_EQ(cycle.size(), 1U);
  EXPECT_NE(cycle[0].find("... (200001 nodes), which waits for node 0 'n0'"), std::string::npos) << cycle[0];
}

TEST_F(ChakraCheck, FindsTypesAndAttributes) {
  const auto plain = [](NodeType type) { return chakra_node(4, {}, type); };
  const std::string node = "w.0.et: node 4 'n4': ";
  EXPECT_EQ(found({plain(static_cast<NodeType>(9))}),
            Texts{node + "its type is 9; expected a node type of the schema, 1 to 7"});
  EXPECT_EQ(found({plain(NodeType::kInvalid)}),
            Texts{node + "its type is INVALID_NODE; expected a type that can be executed"});
  EXPECT_EQ(found({plain(NodeType::kMetadata), chakra_node(5)}), Texts());
  EXPECT_EQ(found({plain(NodeType::kCollective)}),
            (Texts{node + "COMM_COLL_NODE has no attribute comm_type; expected a collective, 0 to 9",
                   node + "COMM_COLL_NODE has no attribute comm_size; expected a number of bytes"}));
  EXPECT_EQ(found({plain(NodeType::kSend)}),
            (Texts{node + "COMM_SEND_NODE has no attribute comm_dst; expected the rank to exchange with",
                   node + "COMM_SEND_NODE has no attribute comm_size; expected a number of bytes"}));
  EXPECT_EQ(found({plain(NodeType::kReceive)}),
            (Texts{node + "COMM_RECV_NODE has no attribute comm_src; expected the rank to exchange with",
                   node + "COMM_RECV_NODE has no attribute comm_size; expected a number of bytes"}));
  EXPECT_EQ(found({plain(NodeType::kMemoryLoad)}),
            Texts{node + "MEM_LOAD_NODE has no attribute tensor_size; expected a number of bytes"});
  EXPECT_EQ(found({with(plain(NodeType::kCompute), Attribute::integer("cores", 0))}),
            Texts{node + "attribute cores is 0; expected 1 or more, or none for all"});
  EXPECT_EQ(found({with(plain(NodeType::kMemoryStore), Attribute::integer("tensor_size", -1))}),
            Texts{node + "attribute tensor_size is -1; expected at least 0"});
  EXPECT_EQ(found({collective_node(4, CollectiveType::kAllReduce, -8)}),
            Texts{node + "attribute comm_size is -8; expected at least 0"});
  EXPECT_EQ(found({collective_node(4, static_cast<CollectiveType>(10), 8)}),
            Texts{node + "attribute comm_type is 10; expected a collective, 0 to 9"});
  EXPECT_EQ(found({with(plain(NodeType::kMemoryStore), Attribute::text("tensor_size", "8"))}),
            Texts{node + "attribute tensor_size is string_val; expected an integer"});
  EXPECT_EQ(found({with(message_node(4, NodeType::kSend, 1, 0, 8), Attribute::integer("comm_src", 3))}),
            Texts{node + "attribute comm_src is 3; expected the file's own rank, 0"});
  EXPECT_EQ(found({message_node(4, NodeType::kSend, 0, 0, 8)}),
            Texts{node + "attribute comm_dst is 0; expected another rank than the file's own"});
  EXPECT_EQ(found({message_node(4, NodeType::kReceive, -1, 0, 8)}),
            Texts{node + "attribute comm_src is -1; expected at least 0"});
  Node lasts = chakra_node(4);
  lasts.duration_micros = 10'000'000'000'000;
  EXPECT_EQ(found({lasts}), Texts{node + "duration_micros is 10000000000000; expected at most 9000000000000"});
  EXPECT_EQ(found({with(chakra_node(4), Attribute::natural("duration_nanos", 9'000'000'000'000'001))}),
            Texts{node + "attribute duration_nanos is 9000000000000001; expected at most 9000000000000000"});
  EXPECT_EQ(found({with(plain(NodeType::kCollective), Attribute::integer("comm_type", 9))}), Texts()) << "a barrier";
}

/// What the machine or ASTRA-sim's arithmetic has no place for.
TEST_F(ChakraCheck, FindsNumbersThatNoRunTakes) {
  EXPECT_EQ(found_in_ranks({{message_node(1, NodeType::kSend, 1, -1, 8)},
                            {message_node(1, NodeType::kReceive, 0, std::int64_t{1} << 32, 8)}}),
            (Texts{"w.0.et: node 1 'n1': attribute comm_tag is -1; expected 0 to 4294967295",
                   "w.1.et: node 1 'n1': attribute comm_tag is 4294967296; expected 0 to 4294967295"}));
  const auto of = [](CollectiveType type, std::int64_t bytes) {
    return std::vector<Node>{collective_node(1, type, bytes)};
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  EXPECT_EQ(found(of(CollectiveType::kAllReduce, kMost)), Texts());
  EXPECT_EQ(found(of(CollectiveType::kAllReduce, kMost + 1)),
            Texts{"w.0.et: node 1 'n1': attribute comm_size is 9007199254740993; expected at most 9007199254740992"});
  EXPECT_EQ(found_in_ranks({{message_node(1, NodeType::kSend, 1, 0, kMost + 1)},
                            {message_node(1, NodeType::kReceive, 0, 0, kMost + 1)}})
                .size(),
            2U);
  // Of an all-gather it is a rank's part.
  EXPECT_EQ(found_in_ranks({of(CollectiveType::kAllGather, kMost / 2), of(CollectiveType::kAllGather, kMost / 2)}),
            Texts());
  EXPECT_EQ(
      found_in_ranks({of(CollectiveType::kAllGather, kMost / 2 + 1), of(CollectiveType::kAllGather, kMost / 2 + 1)})
          .size(),
      2U);
}

TEST_F(ChakraCheck, AnAttributeIsThereOnce) {
  const Node node = collective_node(1, CollectiveType::kAllReduce, 8);
  EXPECT_EQ(found({with(node, Attribute::integer("comm_size", 16))}),
            Texts{"w.0.et: node 1 'n1': attribute comm_size is there twice, with different values; expected it once"});
  Node many = node;
  for (int i = 0; i < 32; ++i) many = with(many, Attribute::integer("x" + std::to_string(i % 20), i));
  EXPECT_EQ(found({with(many, Attribute::integer("comm_size", 16))}).size(), 1U);
  // Nothing is open where both say the same, or where nobody reads it.
  EXPECT_EQ(found({with(node, Attribute::integer("comm_size", 8))}), Texts());
  EXPECT_EQ(found({with(with(node, Attribute::integer("x", 8)), Attribute::integer("x", 9))}), Texts());
}

TEST_F(ChakraCheck, RemarksRanksThatDoNothing) {
  found_in_ranks({{}, {lasting(chakra_node(1))}, {}});
  const CheckReport report = check(find_trace(file("w")));
  EXPECT_EQ(report.found, 0U);
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kNoNodes);
  EXPECT_EQ(report.remarks[0].count, 2U);
}

TEST_F(ChakraCheck, FilesOfMoreRanksThanTheMachineHas) {
  const auto reduce = [] { return std::vector<Node>{collective_node(1, CollectiveType::kAllReduce, 8)}; };
  found_in_ranks({reduce(), reduce(), reduce(), reduce()});
  CheckOptions options;
  options.ranks = 2;
  EXPECT_EQ(texts(check(find_trace(file("w")), options)), (Texts{"w.2.et: is of rank 2; expected ranks from 0 to 1",
                                                                 "w.3.et: is of rank 3; expected ranks from 0 to 1"}));
}

/// A finding in a file does not make it read again where the node's name is known.
TEST_F(ChakraCheck, NamesNodesOfEveryKind) {
  write({chakra_node(1), chakra_node(2, {2}), with(chakra_node(3), Attribute::text("num_ops", "many"))});
  const CheckReport report = check(find_trace(file()));
  for (const std::vector<FindingKind>* kinds : {&report.kinds, &report.remarks}) {
    for (const FindingKind& kind : *kinds) EXPECT_EQ(kind.first.name, "n" + std::to_string(*kind.first.node));
  }
  EXPECT_EQ(report.kinds.size(), 2U);
  EXPECT_EQ(report.remarks.size(), 1U);
}

TEST_F(ChakraCheck, SortsKindsByWeightWithTheFirstPlaceOfEach) {
  Node self = chakra_node(3, {3, 9});
  self.type = NodeType::kInvalid;
  write({chakra_node(1), message_node(2, NodeType::kSend, 1, 0, 8), self}, "w.0.et");
  write({chakra_node(4, {8}), chakra_node(4), chakra_node(5, {6}), chakra_node(6, {5})}, "w.2.et");
  const CheckReport report = check(find_trace(file("w")));
  std::vector<std::pair<Problem, std::uint64_t>> kinds;
  for (const FindingKind& kind : report.kinds) kinds.emplace_back(kind.first.kind, kind.count);
  EXPECT_EQ(kinds, (std::vector<std::pair<Problem, std::uint64_t>>{{Problem::kMissingRank, 1},
                                                                   {Problem::kDuplicateId, 1},
                                                                   {Problem::kSelfDependency, 1},
                                                                   {Problem::kDanglingDependency, 2},
                                                                   {Problem::kCycle, 1},
                                                                   {Problem::kType, 1}}));
  EXPECT_EQ(report.found, 7U);
  EXPECT_EQ(report.kinds[3].first.node, 3U);
  EXPECT_EQ(describe(Problem::kDanglingDependency, 2),
            "2 dependencies are on nodes that are not in the file; weft trace repair leaves them out");
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kNoTime);
  EXPECT_EQ(report.remarks[0].count, 5U);
  EXPECT_EQ(report.remarks[0].first.node, 1U);
}

/// By operations and bytes: nodes that ASTRA-sim's roofline does not end.
TEST_F(ChakraCheck, CountsNodesOfARooflineWithoutBytesOrOperations) {
  const auto compute = [](std::uint64_t id, std::int64_t operations, std::int64_t bytes) {
    Node node = lasting(chakra_node(id));
    node.attributes = {Attribute::integer("num_ops", operations), Attribute::integer("tensor_size", bytes)};
    return node;
  };
  Node of_cpu = compute(5, 0, 0);
  of_cpu.attributes.push_back(Attribute::boolean("is_cpu_op", true));
  write({compute(1, 8, 8), compute(2, 8, 0), compute(3, 0, 8), compute(4, 0, 0), of_cpu});
  CheckOptions options;
  EXPECT_TRUE(check(find_trace(file()), options).remarks.empty());
  options.roofline = true;
  const CheckReport report = check(find_trace(file()), options);
  EXPECT_EQ(report.found, 0U);
  ASSERT_EQ(report.remarks.size(), 2U);
  EXPECT_EQ(report.remarks[0].first.kind, Problem::kNoBytes);
  EXPECT_EQ(report.remarks[0].count, 2U);
  EXPECT_EQ(report.remarks[0].first.node, 2U);
  EXPECT_EQ(report.remarks[1].first.kind, Problem::kNoOperations);
  EXPECT_EQ(report.remarks[1].count, 1U);
  EXPECT_EQ(report.remarks[1].first.node, 3U);
}

TEST_F(ChakraCheck, AFileOfAllRanksHasNoMessages) {
  CheckOptions options;
  options.ranks = 4;
  options.shared = true;
  const auto found_in = [&](const std::vector<Node>& nodes, const GroupTable::Named& groups) {
    options.groups = groups;
    return texts(check(find_trace(write(nodes)), options));
  };
  EXPECT_EQ(
      found_in({message_node(1, NodeType::kSend, 1, 0, 8)}, {}),
      Texts{"w.0.et: node 1 'n1': COMM_SEND_NODE is in a file that is the trace of all ranks; expected a file for "
            "each rank"});
  const Node sum = with(collective_node(1, CollectiveType::kAllReduce, 8), Attribute::text("pg_name", "1"));
  EXPECT_EQ(found_in({sum}, {{"1", {3, 2, 1, 0}}}), Texts());
  EXPECT_EQ(
      found_in({sum}, {{"1", {0, 1, 2}}}),
      Texts{"w.0.et: node 1 'n1': is of group \"1\", to which rank 3 does not belong; expected ranks 0, 1, 2 alone "
            "to name it"});
}

TEST_F(ChakraCheck, TakesAsManyRanksAsAMachineCanHave) {
  write({collective_node(1, CollectiveType::kAllReduce, 8)}, "v.4294967295.et");
  EXPECT_EQ(refused([&] { check(find_trace(file("v"))); }),
            "v.4294967295.et: is the trace of rank 4294967295: expected at most 16777216 ranks");
}

TEST_F(ChakraCheck, FindsMissingRanks) {
  write({chakra_node(0)}, "w.0.et");
  write({message_node(0, NodeType::kSend, 1, 0, 8)}, "w.3.et");
  write({chakra_node(0)}, "v.1.et");
  EXPECT_EQ(
      texts(check(find_trace(file("w")))),
      (Texts{
          "w.3.et: rank 1 has no file; expected files of all ranks from 0 to 3, as weft trace repair --ranks 4 writes",
          "w.3.et: rank 2 has no file; expected files of all ranks from 0 to 3, as weft trace repair --ranks 4 "
          "writes"}));
  EXPECT_EQ(refused([&] { find_trace(file("x")); }),
            "x: expected a file, or a prefix with files x.0.et, x.1.et, ...; there is neither");
}

TEST_F(ChakraCheck, KeepsSoManyFindings) {
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 50; ++i) nodes.push_back(chakra_node(i, {100}));
  CheckOptions options;
  options.most = 10;
  const CheckReport report = check(find_trace(write(nodes)), options);
  EXPECT_EQ(report.findings.size(), 10U);
  EXPECT_EQ(report.found, 50U);
  EXPECT_EQ(report.nodes, 50U);
}

TEST_F(ChakraCheck, AFileThatCannotBeReadIsNoFinding) {
  const std::string whole = bytes(write({chakra_node(0), chakra_node(1)}));
  write_bytes(whole.substr(0, whole.size() - 1), "w.1.et");
  EXPECT_NE(refused([&] { check(find_trace(file("w"))); }).find("w.1.et: byte "), std::string::npos);
}

TEST_F(ChakraCheck, CountsNodesBytesAndPaths) {
  Node compute = chakra_node(2, {0});
  compute.duration_micros = 5;
  compute.attributes = {Attribute::integer("num_ops", 1000), Attribute::boolean("is_cpu_op", true)};
  write({collective_node(0, CollectiveType::kAllReduce, 8), message_node(1, NodeType::kSend, 1, 0, 100), compute},
        "w.0.et");
  write({collective_node(0, CollectiveType::kAllReduce, 8)}, "w.1.et");
  const TraceStatistics sums = statistics(find_trace(file("w")));
  EXPECT_EQ(sums.ranks, 2U);
  EXPECT_EQ(sums.nodes, 4U);
  EXPECT_EQ(sums.fewest_nodes, 1U);
  EXPECT_EQ(sums.most_nodes, 3U);
  EXPECT_EQ(sums.by_type.at(7), 2U);
  EXPECT_EQ(sums.collectives.at(0).bytes, 16);
  EXPECT_EQ(sums.sends.bytes, 100);
  EXPECT_EQ(sums.operations, 1000);
  EXPECT_EQ(sums.cpu_operations, 1U);
  EXPECT_EQ(sums.longest_path, 2);
  EXPECT_EQ(sums.longest_path_nanos, 5000);
  EXPECT_EQ(statistics(find_trace(write({chakra_node(0, {1}), chakra_node(1)}))).longest_path, -1);
}

TEST_F(ChakraCheck, AstraSimsInputs) {
  if (test::skips_without_shared("astra", "ChakraCheck's other tests find the same in traces of their own")) return;
  const fs::path inputs = test::shared("astra/inputs/workload");
  EXPECT_EQ(check(find_trace(inputs / "Resnet50_DataParallel_8/Resnet50_DataParallel")).found, 0U);
  EXPECT_EQ(check(find_trace(inputs / "probe_incast8/w")).found, 0U);
  const CheckReport custom = check(find_trace(test::shared("astra") / "inputs/system/custom/custom_allreduce"));
  EXPECT_EQ(custom.found, 0U) << custom.findings[0].text();
  // One cycle in each of 8 files.
  const CheckReport cycles = check(find_trace(inputs / "probe_cycle8/w"));
  ASSERT_EQ(cycles.found, 8U);
  EXPECT_NE(cycles.findings[0].text().find("w.0.et: node 0 'n0': waits for node 1 'n1', which waits for node 0 'n0'"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::chakra
