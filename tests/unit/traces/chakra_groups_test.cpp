// SPDX-License-Identifier: Apache-2.0
// Process groups in the metadata of traces.
#include <gtest/gtest.h>

#include "tests/support/chakra.h"
#include "traces/chakra/check.h"

namespace weft::chakra {
namespace {

using test::chakra_node;
using test::ChakraTest;
using test::collective_node;
using Ranks = std::vector<std::uint64_t>;

Node metadata(const std::string& values) {
  Node node = chakra_node(1, {}, NodeType::kMetadata);
  node.name = "## process_group:init ##";
  node.inputs = InputOutput{values, "[[]]", "['String']", ""};
  return node;
}

/// As Python prints a list of the one text.
Node groups_node(const std::string& json) {
  return metadata("['" + json + "']");
}

std::string group(const std::string& name, const std::string& ranks) {
  return R"({"pg_name": ")" + name + R"(", "ranks": )" + ranks + "}";
}

Node sum_of(const std::string& name, std::uint64_t id = 2, std::int64_t bytes = 8) {
  Node node = collective_node(id, CollectiveType::kAllReduce, bytes);
  node.attributes.push_back(Attribute::text("pg_name", name));
  return node;
}

class ChakraGroups : public ChakraTest {
 protected:
  CheckReport check_ranks(const std::vector<std::vector<Node>>& ranks, const GroupTable::Named& groups = {}) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) write(ranks[rank], "w." + std::to_string(rank) + ".et");
    CheckOptions options;
    options.groups = groups;
    return check(find_trace(file("w")), options);
  }
  static std::vector<Problem> remarks(const CheckReport& report) {
    std::vector<Problem> kinds;
    for (const FindingKind& kind : report.remarks) kinds.push_back(kind.first.kind);
    return kinds;
  }
  static std::string problem(const CheckReport& report) {
    return report.kinds.empty() ? "" : report.kinds[0].first.problem + "; expected " + report.kinds[0].first.expected;
  }
};

TEST(ChakraProcessGroups, AreReadAsToolsWriteThem) {
  const std::string list =
      R"([{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [], "group_size": 4, )"
      R"("group_count": 3}, {"pg_name": "mesh_tp", "pg_desc": "it's tp", "pg_size": 2, "ranks": [3, 1]}])";
  std::string escaped = list;
  for (std::size_t at = 0; (at = escaped.find('"', at)) != std::string::npos; at += 2) escaped.insert(at, "\\");
  std::string quoted = list;
  quoted.insert(quoted.find("'s"), "\\");
  for (const std::string& values : {list, "[" + list + "]", "[[" + list + "]]", "[\"" + escaped + "\"]",
                                    "['" + quoted + "']", "('" + quoted + "',)"}) {
    SCOPED_TRACE(values);
    const Node node = metadata(values);
    ASSERT_TRUE(lists_process_groups(node));
    const ProcessGroupList read = process_groups_of(node);
    EXPECT_EQ(read.problem, "");
    EXPECT_FALSE(read.is_cut);
    ASSERT_EQ(read.groups.size(), 2U);
    EXPECT_EQ(read.groups[0].name, "0");
    EXPECT_EQ(read.groups[0].description, "default_pg");
    EXPECT_EQ(read.groups[0].ranks, std::nullopt);
    EXPECT_EQ(read.groups[0].size, 4U);
    EXPECT_EQ(read.groups[1].name, "mesh_tp");
    EXPECT_EQ(read.groups[1].description, "it's tp");
    EXPECT_EQ(read.groups[1].ranks, (Ranks{3, 1}));
    EXPECT_EQ(read.groups[1].size, 2U);
  }
}

TEST(ChakraProcessGroups, ListRanksInSeveralWays) {
  for (const char* ranks : {"[12, 3]", R"(["12", "3"])", R"({"3": 1, "12": 0})", R"("[12, 3]")"}) {
    const ProcessGroupList read = process_groups_of(groups_node("[" + group("1", ranks) + "]"));
    ASSERT_EQ(read.groups.size(), 1U) << read.problem;
    EXPECT_EQ(read.groups[0].ranks, (Ranks{12, 3})) << ranks;
  }
  const ProcessGroupList number = process_groups_of(metadata("[[{'pg_name': 7, 'ranks': [0, 1], 'pg_desc': None}]]"));
  ASSERT_EQ(number.groups.size(), 1U) << number.problem;
  EXPECT_EQ(number.groups[0].name, "7");
  const auto problem = [](const std::string& json) { return process_groups_of(groups_node(json)).problem; };
  EXPECT_EQ(problem("[" + group("1", "[-1]") + "]"), "ranks of group \"1\": expected a list of ranks, got [-1]");
  EXPECT_EQ(problem(R"([{"pg_name": "1"}])"), "ranks of group \"1\": expected a list of ranks, got nothing");
  EXPECT_EQ(problem(R"([{"pg_name": [], "ranks": []}])"), "pg_name: expected a text, got []");
  EXPECT_EQ(process_groups_of(metadata("nonsense")).problem,
            "expected a JSON list of groups with pg_name and ranks, got nonsense");
}

TEST(ChakraProcessGroups, AreNotLookedForInEndlessNests) {
  const std::string deep(100'000, '[');
  EXPECT_NE(process_groups_of(metadata(deep + "\"pg_name\"" + std::string(deep.size(), ']'))).problem, "");
  // Nor shown.
  for (const std::string before : {"[{\"pg_name\": ", "[{\"pg_name\": \"1\", \"ranks\": "}) {
    const ProcessGroupList read = process_groups_of(metadata(before + deep + std::string(deep.size(), ']') + "}]"));
    EXPECT_TRUE(read.groups.empty());
    EXPECT_EQ(read.problem.find("expected a JSON list of groups with pg_name and ranks, got " + before), 0U)
        << read.problem;
  }
}

TEST(ChakraProcessGroups, OfAListThatIsCutAreTheWholeOnes) {
  const ProcessGroupList read = process_groups_of(
      metadata("['[" + group("1", "[0, 1]") + ", " + group("2", "[0, 2]") + ", {\"pg_name\": \"3\", \"ra"));
  EXPECT_TRUE(read.is_cut);
  ASSERT_EQ(read.groups.size(), 2U);
  EXPECT_EQ(read.groups[1].ranks, (Ranks{0, 2}));
}

/// A quotation mark is missing, and the list is whole.
TEST(ChakraProcessGroups, OfAListThatIsNoJsonAreNotCut) {
  for (const std::string around : {"[", "['["}) {
    const std::string behind = around == "[" ? "]" : "]']";
    const ProcessGroupList read =
        process_groups_of(metadata(around + group("1", "[0, 1]") + ", {pg_name\": \"2\", \"ranks\": [0, 1]}" + behind));
    EXPECT_FALSE(read.is_cut);
    EXPECT_EQ(read.problem, "expected a JSON list of groups, of which some entry is none");
    ASSERT_EQ(read.groups.size(), 1U);
  }
}

TEST(ChakraProcessGroups, AreKnownByTheNodesNameOrWhatMetadataSay) {
  Node node = groups_node("[]");
  EXPECT_TRUE(lists_process_groups(node));
  node.type = NodeType::kCompute;  // older converters
  EXPECT_TRUE(lists_process_groups(node));
  node.name = "something";
  EXPECT_FALSE(lists_process_groups(node));
  node.type = NodeType::kMetadata;
  EXPECT_FALSE(lists_process_groups(node));
  node.inputs->values = "[" + group("1", "[]") + "]";
  EXPECT_TRUE(lists_process_groups(node));
  node.inputs.reset();
  EXPECT_FALSE(lists_process_groups(node));
}

TEST_F(ChakraGroups, ANameIsAGroupOfARank) {
  std::vector<std::vector<Node>> ranks;
  for (const char* members : {"[1, 0]", "[1, 0]", "[2, 3]", "[2, 3]"}) {
    ranks.push_back({groups_node("[" + group("0", "[]") + "," + group("1", members) + "," + group("9", "[]") + "]"),
                     sum_of("1"), sum_of("0", 3), sum_of("9", 4)});
  }
  const CheckReport report = check_ranks(ranks);
  EXPECT_EQ(report.found, 0U) << problem(report);
  EXPECT_EQ(remarks(report), std::vector<Problem>());
  EXPECT_EQ(report.groups, (GroupTable::Named{{"1", {1, 0}}, {"1 of rank 2", {2, 3}}, {"9", {0, 1, 2, 3}}}));
  const std::map<std::string, std::string> key = {{"1", "1 of rank 2"}};
  EXPECT_EQ(report.keys, (std::map<std::uint32_t, std::map<std::string, std::string>>{{2, key}, {3, key}}));
  // Sizes are compared within each.
  ranks[3][1] = sum_of("1", 2, 9);
  EXPECT_EQ(problem(check_ranks(ranks)),
            "collective 1 of group 1 of rank 2 is ALL_REDUCE of 9 bytes; expected ALL_REDUCE of 8 bytes, as in rank 2, "
            "node 2");
}

TEST_F(ChakraGroups, TheFileGoesBeforeThem) {
  const std::vector<Node> rank = {groups_node("[" + group("1", "[0, 1]") + "," + group("2", "[1, 0]") + "]"),
                                  sum_of("1"), sum_of("2", 3)};
  const CheckReport report = check_ranks({rank, rank}, {{"1", {1, 0}}});
  EXPECT_EQ(report.found, 0U) << problem(report);
  EXPECT_EQ(remarks(report), std::vector<Problem>{Problem::kGroupsFile});
  EXPECT_EQ(report.remarks[0].count, 2U) << "one of each trace";
  EXPECT_EQ(report.groups, (GroupTable::Named{{"1", {1, 0}}, {"2", {1, 0}}}));
}

TEST_F(ChakraGroups, AreFoundWhereOthersListThem) {
  const Node list = groups_node("[" + group("1", "[0, 2]") + "]");
  const CheckReport report = check_ranks({{list, sum_of("1")}, {list}, {sum_of("1")}});
  EXPECT_EQ(report.found, 0U) << problem(report);
  EXPECT_EQ(remarks(report), std::vector<Problem>{Problem::kGroupOfOtherRanks});
  EXPECT_EQ(
      problem(check_ranks({{list}, {groups_node("[" + group("1", "[1, 2]") + "]")}, {sum_of("1")}})),
      "is of group \"1\", which its own metadata does not name, and other ranks name as ranks 0, 2 and as ranks 1, "
      "2; expected one group of that name with rank 2");
}

TEST_F(ChakraGroups, AreFoundByTheirDescription) {
  const Node list = groups_node(R"([{"pg_name": "0", "pg_desc": "default_pg", "ranks": []},)"
                                R"({"pg_name": "5", "pg_desc": "tp", "ranks": [1, 0]}])");
  const std::vector<Node> rank = {list, sum_of("tp"), sum_of("default_pg", 3)};
  const CheckReport report = check_ranks({rank, rank});
  EXPECT_EQ(report.found, 0U) << problem(report);
  EXPECT_EQ(remarks(report), std::vector<Problem>{Problem::kGroupByDescription});
  EXPECT_EQ(report.groups, (GroupTable::Named{{"5", {1, 0}}}));
  EXPECT_EQ(report.keys.at(0), (std::map<std::string, std::string>{{"tp", "5"}, {"default_pg", ""}}));
  // Without any list, it is still everybody.
  EXPECT_EQ(check_ranks({{sum_of("default_pg")}, {sum_of("default_pg")}}).found, 0U);
}

TEST_F(ChakraGroups, RemarkWhatDoesNotFit) {
  const auto rank = [](const std::string& json) {
    return std::vector<Node>{groups_node("[" + json + "]"), sum_of("1")};
  };
  EXPECT_EQ(remarks(check_ranks({rank(group("1", "[0, 1]")), rank(group("1", "[1, 0]"))})),
            std::vector<Problem>{Problem::kGroupOrder});
  const std::string larger = R"({"pg_name": "0", "ranks": [], "group_size": 8},)" + group("1", "[0, 1]");
  EXPECT_EQ(remarks(check_ranks({rank(larger), rank(larger)})), std::vector<Problem>{Problem::kGroupSize});
  const std::string some = group("0", "[0]") + "," + group("1", "[0, 1]");
  EXPECT_EQ(remarks(check_ranks({rank(some), rank(some)})), std::vector<Problem>{Problem::kEverybody});
  const std::string cut = group("1", "[0, 1]") + ",{";
  EXPECT_EQ(remarks(check_ranks({rank(cut), rank(cut)})), std::vector<Problem>{Problem::kGroupsCut});
  const std::string wrong = group("1", "[0, 1]") + "," + group("2", "[-1]");
  EXPECT_EQ(remarks(check_ranks({rank(wrong), rank(wrong)})), std::vector<Problem>{Problem::kGroupsUnread});
}

TEST_F(ChakraGroups, RefuseWhatCannotBeAGroup) {
  const auto refusal = [this](const std::string& first, const std::string& second) {
    const auto rank = [](const std::string& json) {
      return std::vector<Node>{groups_node("[" + json + "]"), sum_of("1")};
    };
    return problem(check_ranks({rank(first), rank(second)}));
  };
  const std::string both = group("1", "[0, 1]");
  EXPECT_EQ(
      refusal(group("1", "[0, 1, 8]"), both),
      "is of group \"1\", of ranks 0, 1, 8, and rank 8 has no file; expected a trace and a machine of 9 ranks, whose "
      "files weft trace repair --ranks 9 writes");
  EXPECT_EQ(refusal(group("1", "[0, 1000000000]"), both),
            "is of group \"1\", of ranks 0, 1000000000; expected ranks below 2");
  EXPECT_EQ(refusal(group("1", "[1]"), both),
            "is of group \"1\", to which rank 0 does not belong; expected ranks 1 alone to name it");
  EXPECT_EQ(refusal(group("1", "[0, 1, 0]"), both),
            "is of group \"1\", which has a rank twice; expected different ranks");
  EXPECT_EQ(refusal(both + "," + group("1", "[]"), both),
            "is of group \"1\", which the metadata of rank 0 lists twice, with different ranks; expected one list of "
            "ranks, or a groups file");
  EXPECT_EQ(refusal(group("1", "[0]"), both),
            "is of group \"1\", ranks 0, 1 by the metadata of rank 1 and ranks 0 by that of rank 0; expected the same "
            "ranks, or a groups file {\"1\": [ranks]}");
  const std::string two = R"({"pg_name": "5", "pg_desc": "1", "ranks": [0, 1]},)"
                          R"({"pg_name": "6", "pg_desc": "1", "ranks": [0, 1]})";
  EXPECT_EQ(refusal(two, two),
            "is of group \"1\", which is no pg_name but the pg_desc of 2 groups, \"5\", \"6\"; expected the pg_name of "
            "one of them");
  // What nobody uses may be anything.
  EXPECT_EQ(check_ranks({{groups_node("[" + group("1", "[77]") + "]")}}).found, 0U);
}

}  // namespace
}  // namespace weft::chakra
