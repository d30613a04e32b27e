// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/chakra.h"
#include "traces/chakra/check.h"
#include "traces/chakra/text/workload.h"
#include "traces/chakra/window.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;
using test::ChakraTest;

CheckOptions with_groups(const TextWorkload& workload, std::uint64_t ranks) {
  CheckOptions options;
  for (const RankGroup& group : groups_of(workload, ranks)) {
    options.groups[group.name].assign(group.ranks.begin(), group.ranks.end());
  }
  return options;
}

class ChakraText : public ChakraTest {
 protected:
  TextWorkload parse(const std::string& text) const { return read_text_workload(write_bytes(text, "w.txt")); }

  static std::vector<Node> nodes(const TextWorkload& workload, const TextConversion& conversion = {},
                                 std::uint64_t rank = 0) {
    std::vector<Node> nodes;
    generate(workload, rank, conversion, [&](const Node& node) { nodes.push_back(node); });
    return nodes;
  }

  /// "1 a_FWD <0": id, name, dependencies.
  static std::vector<std::string> summary(const std::vector<Node>& nodes) {
    std::vector<std::string> lines;
    for (const Node& node : nodes) {
      lines.push_back(std::to_string(node.id) + " " + node.name);
      for (const std::uint64_t id : node.data_dependencies) lines.back() += " <" + std::to_string(id);
    }
    return lines;
  }

  std::string refused_text(const std::string& text) const {
    return refused([&] { parse(text); });
  }
};

constexpr const char* kTwoLayers =
    "a -1 1500 ALLGATHER 10 2000 ALLREDUCE 20 3000 ALLREDUCE 30 5\n"
    "b -1 400 ALLGATHER 11 600 ALLREDUCE 21 1 NONE 0 5\n";

TEST_F(ChakraText, TimesAreNanoseconds) {
  const TextWorkload workload = parse(std::string("DATA\n2\n") + kTwoLayers);
  const std::vector<Node> exact = nodes(workload);
  EXPECT_EQ(exact[0].duration_micros, 2U);  // of 1.5
  EXPECT_EQ(exact[0].duration_nanos(), 1500U);
  EXPECT_EQ(exact[1].duration_micros, 0U);  // of 0.4
  EXPECT_EQ(exact[1].duration_nanos(), 400U);
  const Node& whole = exact.at(4);
  EXPECT_EQ(whole.name, "a_BWD_WG");
  EXPECT_EQ(whole.duration_micros, 3U);
  EXPECT_TRUE(whole.attributes.empty());
  TextConversion usual;
  usual.take_nanos_for_micros = true;
  EXPECT_EQ(nodes(workload, usual)[0].duration_micros, 1500U);
  EXPECT_EQ(nodes(workload, usual)[0].duration_nanos(), 1'500'000U);
}

TEST_F(ChakraText, EachParallelismEmitsItsCollectives) {
  const auto of = [&](const std::string& head, std::uint64_t passes = 1) {
    TextConversion conversion;
    conversion.passes = passes;
    return summary(nodes(parse(head + "\n2\n" + kTwoLayers), conversion));
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(of("DATA", 2), (Lines{"0 a_FWD", "1 b_FWD <0", "2 b_BWD_WG <1", "3 b_BWD_IG <2", "4 a_BWD_WG <3",
                                  "5 a_BWD_WG_ALL_REDUCE <4", "6 a_FWD <4 <5", "7 b_FWD <6", "8 b_BWD_WG <7",
                                  "9 b_BWD_IG <8", "10 a_BWD_WG <9", "11 a_BWD_WG_ALL_REDUCE <10"}));
  EXPECT_EQ(of("MODEL"),
            (Lines{"0 a_FWD", "1 a_FWD_ALL_GATHER <0", "2 b_FWD <1", "3 b_FWD_ALL_GATHER <2", "4 b_BWD_IG <3",
                   "5 b_BWD_IG_ALL_REDUCE <4", "6 b_BWD_WG <4", "7 a_BWD_IG <6 <5", "8 a_BWD_WG <7"}));
  EXPECT_EQ(of("HYBRID_DATA_MODEL").back(), "9 a_BWD_WG_ALL_REDUCE <8");
  EXPECT_EQ(of("HYBRID_MODEL_DATA"), of("HYBRID_DATA_MODEL"));
  EXPECT_EQ(of("MICRO", 2), (Lines{"0 a_WG_ALL_REDUCE", "1 a_WG_ALL_REDUCE <0"}));
  EXPECT_EQ(of("DISTRIBUTED_INFERENCE").size(), 4U);
}

TEST_F(ChakraText, TransformersHaveGroups) {
  const TextWorkload workload = parse(std::string("HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n2\n") + kTwoLayers);
  TextConversion conversion;
  conversion.ranks = 6;
  std::vector<std::vector<std::uint64_t>> ranks;
  for (const RankGroup& group : groups_of(workload, 6)) ranks.push_back(group.ranks);
  EXPECT_EQ(ranks, (std::vector<std::vector<std::uint64_t>>{{0, 1}, {2, 3}, {4, 5}, {0, 2, 4}, {1, 3, 5}}));
  const std::vector<Node> of_rank_3 = nodes(workload, conversion, 3);
  // Blocking: the weight gradient waits for the exchange of the input's.
  EXPECT_EQ(summary(of_rank_3)[7], "7 a_BWD_IG <6");
  EXPECT_EQ(summary(of_rank_3)[9], "9 a_BWD_WG <8");
  EXPECT_EQ(of_rank_3[1].pg_name(), "2");
  EXPECT_EQ(of_rank_3[10].name, "a_BWD_WG_ALL_REDUCE");
  EXPECT_EQ(of_rank_3[10].pg_name(), "5");
  // A group of one has nobody to talk to, and one of all needs no name.
  conversion.ranks = 2;
  for (const Node& node : nodes(workload, conversion)) {
    EXPECT_EQ(node.pg_name(), "");
    EXPECT_EQ(node.name.find("WG_ALL"), std::string::npos);
  }
  EXPECT_TRUE(groups_of(workload, 2).empty());
  EXPECT_EQ(refused([&] { groups_of(workload, 3); }),
            "w.txt:1: model_parallel_NPU_group: expected a divisor of the number of ranks, 3, got 2");

  conversion.ranks = 6;
  convert_text_workload(workload, file("t"), conversion);
  EXPECT_EQ(files_of_prefix(file("t")).size(), 7U);
  EXPECT_EQ(nlohmann::json::parse(bytes(groups_file(file("t")))), nlohmann::json::parse(R"(
    {"1": [0, 1], "2": [2, 3], "3": [4, 5], "4": [0, 2, 4], "5": [1, 3, 5]})"));
  EXPECT_EQ(check(find_trace(file("t")), with_groups(workload, 6)).found, 0U);
}

TEST_F(ChakraText, RecomputesFromCheckpoints) {
  const std::string layer = " -1 1000 NONE 0 1000 NONE 0 1000 NONE 0 1\n";
  const TextWorkload workload = parse(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 checkpoints: 1 1 checkpoint_initiates: 1 3\n4\na" +
      layer + "b" + layer + "c" + layer + "d" + layer);
  std::string order;
  for (const Node& node : nodes(workload)) order += node.name + " ";
  EXPECT_EQ(
      order,
      "a_FWD b_FWD c_FWD d_FWD b_FWD c_FWD d_BWD_IG d_BWD_WG c_BWD_IG c_BWD_WG b_BWD_IG b_BWD_WG a_BWD_IG a_BWD_WG ");
}

TEST_F(ChakraText, NamesTheLineThatIsWrong) {
  const std::string layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
  EXPECT_EQ(refused_text(""), "w.txt: expected a parallelism, got the end of the file");
  EXPECT_NE(refused_text("PIPE\n").find("w.txt:1: expected a parallelism, one of MICRO, DATA, "), std::string::npos);
  EXPECT_EQ(
      refused_text("DATA 3\n"),
      "w.txt:1: expected the end of the line, or a word such as model_parallel_NPU_group:, got 3: the number of layers "
      "is the next line");
  EXPECT_EQ(refused_text("HYBRID_TRANSFORMER\n1\n"),
            "w.txt:1: expected model_parallel_NPU_group:, got the end of the line");
  EXPECT_EQ(refused_text("HYBRID_DLRM\n1\n"),
            "w.txt:1: expected the index of the last bottom layer, got the end of the line");
  EXPECT_EQ(refused_text("HYBRID_DLRM 1\n1\n" + layer), "w.txt:1: expected a layer from 0 to 0, got 1");
  EXPECT_EQ(refused_text("DATA\n0\n"), "w.txt:2: expected at least 1 layer, got 0");
  EXPECT_EQ(refused_text("DATA\n99999999999\n"),
            "w.txt:2: expected the number of layers, at most 1000000, got 99999999999");
  EXPECT_EQ(refused_text("DATA\n2\n" + layer), "w.txt:3: expected layer 2 of 2, got the end of the file");
  EXPECT_EQ(refused_text("DATA\n1\n" + layer + " more"), "w.txt:3: expected the end of the line, got more");
  EXPECT_EQ(refused_text("DATA\n1\na -1 -5 NONE 0\n"),
            "w.txt:3: expected forward: a compute time in nanoseconds, at most 9000000000000000, got -5");
  EXPECT_EQ(
      refused_text("DATA\n1\na -1 5 GATHER 0\n"),
      "w.txt:3: forward: expected one of NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, BROADCAST, for other "
      "groups with _EP or _DP_EP behind it, got GATHER");
  EXPECT_EQ(refused_text("DATA ep: 2 ep: 4\n1\n" + layer), "w.txt:1: expected each word once, got ep: twice");
  EXPECT_EQ(refused_text("DATA\n1\ncaf\xe9 -1 1 NONE 0 1 NONE 0 1 NONE 0 1"),
            "w.txt:3: expected a text workload, got the byte 0xe9, which is not UTF-8");
  EXPECT_EQ(refused_text("DATA\n1\n" + std::string(1, '\0') + layer),
            "w.txt:3: expected a text workload, got a zero byte");
  EXPECT_EQ(refused_text("HYBRID_CUSTOMIZED\n1\n" + layer),
            "w.txt:3: expected the layer's parallelism, got the end of the line");
  EXPECT_EQ(refused_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 checkpoint_initiates: 1 0\n1\n" +
                         layer),
            "w.txt:1: layer 0 runs again from a checkpoint, and none is before it");
  // What no run takes.
  EXPECT_EQ(refused_text("DATA\n1\na -1 9000000000000001 NONE 0 1 NONE 0 1 NONE 0 1"),
            "w.txt:3: expected forward: a compute time in nanoseconds, at most 9000000000000000, got 9000000000000001");
  EXPECT_EQ(refused_text("DATA\n1\na -1 1 ALLREDUCE 9007199254740993 1 NONE 0 1 NONE 0 1"),
            "w.txt:3: expected forward: a size in bytes, at most 9007199254740992, got 9007199254740993");
  TextConversion conversion;
  conversion.ranks = 4;
  const TextWorkload large = parse("MODEL\n1\na -1 1 ALLGATHER 2251799813685249 9000000000000000 NONE 0 1 NONE 0 1");
  EXPECT_EQ(refused([&] { convert_text_workload(large, file("large"), conversion); }),
            "w.txt: layer a: expected at most 2251799813685248 bytes of each of 4 ranks, got 2251799813685249");
  conversion.ranks = 1;
  conversion.take_nanos_for_micros = true;
  EXPECT_EQ(refused([&] { convert_text_workload(large, file("large"), conversion); }),
            "w.txt: layer a: expected at most 9000000000000 microseconds, got 9000000000000000");
  EXPECT_FALSE(fs::exists(rank_file(file("large"), 0)));
}

/// As AICB writes them: words of their own in the first line, and groups of experts.
TEST_F(ChakraText, SimAiHasGroupsOfExperts) {
  const std::string layers =
      "4\n"
      "gather -1 1 NONE 0 1 NONE 0 1 ALLGATHER 33554433 0\n"
      "norm\t-1\t1\tBROADCAST\t16384\t1\tNONE\t0\t1\tNONE\t0\t0\n"
      "attention -1 500 ALLREDUCE 16777216 500 ALLREDUCE 16777216 1 NONE 0 0\n"
      "experts -1 700 ALLTOALL_EP 8388608 700 ALLTOALL_EP 8388608 1 REDUCESCATTER_DP_EP 67108864 0\n";
  const auto header = [](const std::string& words) {
    return "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 " + words +
           " checkpoints: 0 checkpoint_initiates: 0\n";
  };
  const TextWorkload workload = parse(header("ep: 2 pp: 1 vpp: 2 ga: 1 all_gpus: 8") + layers);
  EXPECT_EQ(workload.ranks, 8U);
  using RankLists = std::vector<std::vector<std::uint64_t>>;
  const auto groups = [](const TextWorkload& of, std::uint64_t ranks) {
    RankLists list;
    for (const RankGroup& group : groups_of(of, ranks)) list.push_back(group.ranks);
    return list;
  };
  EXPECT_EQ(groups(workload, 8), (RankLists{{0, 1},
                                            {2, 3},
                                            {4, 5},
                                            {6, 7},
                                            {0, 2, 4, 6},
                                            {1, 3, 5, 7},
                                            {0, 2},
                                            {1, 3},
                                            {4, 6},
                                            {5, 7},
                                            {0, 4},
                                            {1, 5},
                                            {2, 6},
                                            {3, 7}}));
  TextConversion conversion;
  conversion.ranks = 8;
  std::map<std::string, std::pair<std::string, std::int64_t>> of_rank_5;
  for (const Node& node : nodes(workload, conversion, 5)) {
    if (node.type == NodeType::kCollective) of_rank_5[node.name] = {node.pg_name(), *node.comm_size()};
  }
  using NameAndBytes = std::pair<std::string, std::int64_t>;
  EXPECT_EQ(of_rank_5["attention_FWD_ALL_REDUCE"], (NameAndBytes{"3", 16777216}));
  EXPECT_EQ(of_rank_5["norm_FWD_BROADCAST"], (NameAndBytes{"3", 16384}));
  EXPECT_EQ(of_rank_5["experts_BWD_IG_ALL_TO_ALL"], (NameAndBytes{"10", 8388608}));
  EXPECT_EQ(of_rank_5["experts_BWD_WG_REDUCE_SCATTER"], (NameAndBytes{"12", 67108864}));
  // Chakra counts what a rank of the 4 has before an all-gather.
  EXPECT_EQ(of_rank_5["gather_BWD_WG_ALL_GATHER"], (NameAndBytes{"6", 8388609}));
  EXPECT_EQ(
      remarks_of(workload, conversion),
      (std::vector<std::string>{
          "the size of an ALLGATHER is what each rank has after it, as SimAI counts (1 of the file's): comm_size, "
          "what it has before, is that by the ranks of its group",
          "the size of 1 ALLGATHER is no multiple of the ranks of its group: each rank's part is rounded up to whole "
          "bytes"}));

  // Stages of a pipeline lie between ranks of tensor-parallel groups and those of data-parallel ones.
  const TextWorkload staged =
      parse(header("expert_parallel_npu_group: 1 pp: 2 all_gpus: 8 pp_comm: 4096.0 new: 7") + layers);
  EXPECT_EQ(
      groups(staged, 8),
      (RankLists{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  conversion.ranks = 16;
  const std::vector<std::string> remarks = remarks_of(staged, conversion);
  ASSERT_EQ(remarks.size(), 6U);
  EXPECT_EQ(remarks[0],
            "2 of the file's 7 collectives are left out (2 ALL_TO_ALL): an expert-parallel group (ep) is of one rank");
  EXPECT_NE(remarks[3].find("4096 bytes"), std::string::npos);
  EXPECT_EQ(remarks[4], "all_gpus: 8 in the file, and 16 ranks are written");
  EXPECT_EQ(remarks[5], "new: 7: in the first line, is not read");

  EXPECT_EQ(refused([&] { groups_of(workload, 6); }),
            "w.txt:1: ep: expected a divisor of the ranks of a data-parallel group, 3, got 2");
  EXPECT_EQ(refused([&] { groups_of(staged, 6); }),
            "w.txt:1: pp: expected a divisor of the number of tensor-parallel groups, 3, got 2");
  EXPECT_EQ(refused_text(header("all_gpus: 8") + layers),
            "w.txt:6: forward: ALLTOALL_EP: expected ep: in the first line, the ranks of an expert-parallel group");
  EXPECT_EQ(refused_text(header("all_gpus: 0") + layers), "w.txt:1: all_gpus: expected at least 1, got 0");
}

/// Where nobody says how experts and stages lie among groups, nothing is guessed.
TEST_F(ChakraText, GroupsThatNobodyDefinesAreRefused) {
  const auto of = [&](const std::string& head, const std::string& collective) {
    return parse(head + "\n1\na -1 1 NONE 0 1 NONE 0 1 " + collective + " 8 1\n");
  };
  const auto said = [&](const std::string& head, std::uint64_t ranks) {
    return refused([&] { groups_of(of(head, "ALLREDUCE"), ranks); });
  };
  const std::string helps =
      "expected a parallelism whose tensor-parallel groups are of neighbours, such as "
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD: how its groups lie among those of HYBRID_MODEL_DATA is said nowhere";
  EXPECT_EQ(said("HYBRID_MODEL_DATA model_parallel_NPU_group: 1 ep: 4", 4), "w.txt:1: ep: " + helps);
  EXPECT_EQ(said("HYBRID_MODEL_DATA model_parallel_NPU_group: 2 pp: 2", 8), "w.txt:1: pp: " + helps);
  EXPECT_EQ(
      said("DATA ep: 2 pp: 1", 4),
      "w.txt:1: ep: expected model_parallel_NPU_group: beside it, the ranks of a tensor-parallel group, 1 for none");
  EXPECT_EQ(said("HYBRID_DATA_MODEL pp: 2", 4).substr(0, 13), "w.txt:1: pp: ");
  // Of one expert and one stage it has all groups that it names.
  const TextWorkload one = of("HYBRID_MODEL_DATA model_parallel_NPU_group: 2 ep: 1 pp: 1", "ALLREDUCE_DP_EP");
  std::vector<std::vector<std::uint64_t>> ranks;
  for (const RankGroup& group : groups_of(one, 8)) ranks.push_back(group.ranks);
  EXPECT_EQ(ranks, (std::vector<std::vector<std::uint64_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  TextConversion conversion;
  conversion.ranks = 8;
  EXPECT_EQ(nodes(one, conversion, 5).back().pg_name(), "2");
  const TextWorkload plain = of("HYBRID_MODEL_DATA model_parallel_NPU_group: 2", "ALLREDUCE");
  ranks.clear();
  for (const RankGroup& group : groups_of(plain, 8)) ranks.push_back(group.ranks);
  EXPECT_EQ(ranks,
            (std::vector<std::vector<std::uint64_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST_F(ChakraText, LinesBehindTheLastLayerAreCounted) {
  const TextWorkload workload = parse(std::string("DATA\n\n1\n") + kTwoLayers + "\nmore\n\n");
  EXPECT_EQ(workload.layers.size(), 1U);
  EXPECT_EQ(remarks_of(workload, {}).back(), "2 lines behind the 1 layer that line 3 counts are not read");
}

/// What a group of one rank drops is said, also of files that have no words of SimAI's.
TEST_F(ChakraText, CountsWhatAGroupOfOneRankDrops) {
  const TextWorkload workload = parse(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 checkpoints: 0 checkpoint_initiates: 0\n2\n"
      "norm -1 1000 BROADCAST 16384 1000 NONE 0 1 NONE 0 0\n"
      "layer -1 1000 NONE 0 1000 ALLGATHER 4194304 1 REDUCESCATTER 8388608 0\n");
  TextConversion conversion;
  conversion.ranks = 8;
  EXPECT_EQ(remarks_of(workload, conversion),
            (std::vector<std::string>{"2 of the file's 3 collectives are left out (1 ALL_GATHER, 1 BROADCAST): a "
                                      "tensor-parallel group (model_parallel_NPU_group) is of one rank"}));
  EXPECT_EQ(nodes(workload, conversion).back().name, "norm_BWD_WG");
  conversion.ranks = 1;
  EXPECT_EQ(remarks_of(workload, conversion).size(), 2U);
}

/// Each parallelism exchanges in some passes alone. What the others have is counted.
TEST_F(ChakraText, CountsCollectivesOfPassesThatExchangeNothing) {
  const std::string layers =
      "\n2\nl1 -1 5000 ALLREDUCE 4096 0 ALLGATHER 64 7000 REDUCESCATTER 128 0\n"
      "l2 -1 5000 ALLTOALL 4096 6000 ALLREDUCE 64 7000 ALLREDUCE 128 0\n";
  const auto remarks = [&](const std::string& head) {
    TextConversion conversion;
    conversion.ranks = 4;
    return remarks_of(parse(head + layers), conversion);
  };
  const std::string first =
      "1 of the file's 6 collectives is left out (1 ALL_GATHER): nobody needs the input gradient of "
      "the first layer";
  EXPECT_EQ(remarks("DATA"),
            (std::vector<std::string>{
                "2 of the file's 6 collectives are left out (1 ALL_REDUCE, 1 ALL_TO_ALL): DATA exchanges nothing in "
                "the forward pass",
                "2 of the file's 6 collectives are left out (1 ALL_GATHER, 1 ALL_REDUCE): DATA exchanges nothing in "
                "the input gradient"}));
  EXPECT_EQ(remarks("MODEL"),
            (std::vector<std::string>{
                first,
                "2 of the file's 6 collectives are left out (1 ALL_REDUCE, 1 REDUCE_SCATTER): MODEL exchanges "
                "nothing in the weight gradient"}));
  EXPECT_EQ(remarks("HYBRID_DATA_MODEL model_parallel_NPU_group: 2"), std::vector<std::string>{first});
  EXPECT_EQ(remarks("HYBRID_DATA_MODEL"),
            (std::vector<std::string>{
                first,
                "HYBRID_DATA_MODEL without model_parallel_NPU_group: N in the first line: no group is known, and "
                "every collective is of all ranks"}));
  const TextWorkload customized = parse(
      "HYBRID_CUSTOMIZED model_parallel_NPU_group: 1\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0 HYBRID_DATA_MODEL\n"
      "b -1 1 NONE 0 1 NONE 0 1 NONE 0 0 DATA\n");
  EXPECT_EQ(
      remarks_of(customized, {}),
      std::vector<std::string>{"HYBRID_CUSTOMIZED: the parallelism behind each layer is not followed: all exchange "
                               "as in HYBRID_DATA_MODEL, b as well"});
  EXPECT_EQ(
      remarks("HYBRID_DLRM 0")[0],
      "1 of the file's 6 collectives is left out (1 ALL_REDUCE): HYBRID_DLRM exchanges nothing but the embedding's "
      "ALLTOALL in the forward pass");
  EXPECT_EQ(remarks("HYBRID_TRANSFORMER model_parallel_NPU_group: 2"), std::vector<std::string>());
}

/// What no node has is said with its sum: 500 us of an update are no trifle.
TEST_F(ChakraText, CountsTimesThatAreLeftOut) {
  const auto remarks = [this](const std::string& head, bool as_micros = false) {
    TextConversion conversion;
    conversion.ranks = 2;
    conversion.take_nanos_for_micros = as_micros;
    return remarks_of(parse(head + "\n2\na -1 1000 NONE 0 2000 NONE 0 3000 ALLREDUCE 64 500000\n"
                                   "b -1 100 NONE 0 200 NONE 0 300 ALLREDUCE 64 250000\n"),
                      conversion);
  };
  const auto update = [](const std::string& time) {
    return "the time of the weights' update in the last column, " + time +
           " a rank and step, is left out: ASTRA-sim 1.0 has each collective of a layer end so much later, the usual "
           "converter leaves it out";
  };
  const std::string of_input =
      "the compute time of the first layer's input gradient, 2000 ns a rank and step, is left out: nobody needs the "
      "gradient of the network's input";
  EXPECT_EQ(remarks("DATA"), (std::vector<std::string>{update("750000 ns"), of_input}));
  EXPECT_EQ(remarks("DATA", true)[0], update("750000 us"));
  EXPECT_EQ(remarks("HYBRID_TRANSFORMER model_parallel_NPU_group: 2").front(), update("750000 ns"));
  EXPECT_EQ(remarks("MICRO"),
            (std::vector<std::string>{update("750000 ns"),
                                      "the compute time of the passes, 6600 ns a rank and step, is left out: MICRO "
                                      "computes nothing"}));
  EXPECT_EQ(remarks("DISTRIBUTED_INFERENCE").back(),
            "the compute time of gradients, 5500 ns a rank and step, is left out: DISTRIBUTED_INFERENCE has forward "
            "passes alone");
  // Of one layer, too.
  const TextWorkload one = parse("DATA\n1\na -1 1000 NONE 0 2000 NONE 0 3000 ALLREDUCE 64 0\n");
  EXPECT_EQ(remarks_of(one, {}), std::vector<std::string>{of_input});
  // What is there and what is left out is all that the file has.
  const TextWorkload two =
      parse("DATA\n2\na -1 1 NONE 0 20 NONE 0 300 ALLREDUCE 64 0\nb -1 1 NONE 0 20 NONE 0 300 NONE 0 0\n");
  std::uint64_t computed = 0;
  for (const Node& node : nodes(two)) computed += node.duration_nanos();
  EXPECT_EQ(computed, 2 * 321 - 20);
  EXPECT_NE(remarks_of(two, {}).front().find(", 20 ns a rank"), std::string::npos);
  EXPECT_EQ(refused_text("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 99999999999999999999\n").substr(0, 47),
            "w.txt:3: expected the time of the weights' upda");
}

/// The same graphs as the usual converter's, its error in the unit included; ids count from 0 in each rank here.
TEST_F(ChakraText, AgreesWithTheUsualConverter) {
  if (test::skips_without_shared("astra", "ChakraText's other tests check the nodes of workloads of their own")) return;
  TextConversion conversion;
  conversion.ranks = 8;
  conversion.take_nanos_for_micros = true;
  for (const char* const sample :
       {"DLRM_HybridParallel", "MLP_HybridParallel_Data_Model", "MLP_HybridParallel_Model_Data", "MLP_ModelParallel",
        "Resnet50_DataParallel", "microAllReduce", "microAllToAll"}) {
    const std::string name = sample;
    const TextWorkload workload = read_text_workload(test::shared("astra") / "text_workloads" / (name + ".txt"));
    for (std::uint64_t rank = 0; rank < conversion.ranks; ++rank) {
      SCOPED_TRACE(name + " " + std::to_string(rank));
      const std::vector<Node> theirs =
          read(test::shared("astra") / "inputs/workload" / (name + "_8") / (name + "." + std::to_string(rank) + ".et"));
      const std::vector<Node> ours = nodes(workload, conversion, rank);
      ASSERT_EQ(ours.size(), theirs.size());
      const std::uint64_t first = theirs[0].id;
      for (std::size_t i = 0; i < ours.size(); ++i) {
        std::vector<std::uint64_t> dependencies = theirs[i].data_dependencies;
        for (std::uint64_t& id : dependencies) id -= first;
        EXPECT_EQ(ours[i].data_dependencies, dependencies) << theirs[i].name;
        EXPECT_EQ(ours[i].id, theirs[i].id - first);
        EXPECT_EQ(ours[i].type, theirs[i].type);
        EXPECT_EQ(ours[i].duration_micros, theirs[i].duration_micros);
        EXPECT_EQ(ours[i].comm_type(), theirs[i].comm_type());
        EXPECT_EQ(ours[i].comm_size(), theirs[i].comm_size());
      }
    }
  }
}

/// All samples, with several passes, can be worked off and have nothing to be found.
TEST_F(ChakraText, SamplesCanBeExecuted) {
  if (test::skips_without_shared("astra", "ChakraText's other tests check the nodes of workloads of their own")) return;
  TextConversion conversion;
  conversion.ranks = 8;
  conversion.passes = 3;
  int samples = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(test::shared("astra") / "text_workloads")) {
    SCOPED_TRACE(entry.path());
    ++samples;
    const TextWorkload workload = read_text_workload(entry.path());
    convert_text_workload(workload, file("s"), conversion);
    const CheckReport report = check(find_trace(file("s")), with_groups(workload, 8));
    EXPECT_EQ(report.found, 0U) << report.findings[0].text();
    TraceWindow window(file("s.7.et"));
    std::uint64_t executed = 0;
    for (; const Node* node = window.next(); ++executed) window.complete(node->id);
    EXPECT_EQ(executed * 8, report.nodes);
    EXPECT_TRUE(window.done());
  }
  EXPECT_EQ(samples, 10);
}

}  // namespace
}  // namespace weft::chakra
