// SPDX-License-Identifier: Apache-2.0
// Collectives of some dimensions (involved_dim) on a network of 2 x 2: what a run refuses, and in which order one takes
// them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cli.h"

namespace weft::test {
namespace {

using nlohmann::json;

constexpr int kAllReduce = 0;
constexpr int kBarrier = 9;
constexpr const char* kUnaware = "--analytical unaware";
constexpr const char* kMachine = "";

json collective(int id, int type, const json& involved, const json& after = json::array()) {
  json attributes = {{{"name", "comm_type"}, {"int64_val", type}}, {{"name", "comm_size"}, {"int64_val", 4096}}};
  if (!involved.is_null()) attributes.push_back({{"name", "involved_dim"}, {"bool_list", involved}});
  return {{"id", id}, {"name", "sum"}, {"type", "COMM_COLL_NODE"}, {"data_deps", after}, {"attr", attributes}};
}

class InvolvedCli : public CliTest {
 protected:
  InvolvedCli() {
    write("network.yml",
          "topology: [ Ring, Ring ]\nnpus_count: [ 2, 2 ]\nbandwidth: [ 50, 50 ]\nlatency: [ 500, 500 ]\n");
    system({});
  }
  void system(const json& more) {
    json file = {{"scheduling-policy", "LIFO"},
                 {"endpoint-delay", 10},
                 {"active-chunks-per-dimension", 1},
                 {"preferred-dataset-splits", 1},
                 {"all-reduce-implementation", {"ring", "ring"}},
                 {"collective-optimization", "localBWAware"},
                 {"local-mem-bw", 1600},
                 {"boost-mode", 0}};
    if (!more.is_null()) file.update(more);
    write("system.json", file.dump());
  }
  void traces(const std::vector<json>& ranks) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const json file = {{"metadata", {{"version", "0.0.4"}}}, {"nodes", ranks[rank]}};
      write("w." + std::to_string(rank) + ".json", file.dump());
    }
  }
  Ran run(const std::string& how) {
    const Ran made =
        weft("import astra-sim --network ../network.yml --system ../system.json --workload ../w --out p.json " + how);
    EXPECT_EQ(made.code, 0) << made.err;
    return weft("run p.json --json");
  }
  /// The first two ranks begin one, the last two the other.
  void two_orders(int type) {
    const json after = {1};
    const json outer_last = {collective(1, kAllReduce, {true, false}), collective(2, type, {false, true}, after)};
    const json outer_first = {collective(1, type, {false, true}), collective(2, kAllReduce, {true, false}, after)};
    traces({outer_last, outer_last, outer_first, outer_first});
  }
};

TEST_F(InvolvedCli, ListsThatDifferAreRefused) {
  const json first = {collective(1, kAllReduce, {true, false})};
  traces({first, first, first, {collective(5, kAllReduce, {false, true})}});
  for (const char* how : {kUnaware, kMachine}) {
    const Ran ran = run(how);
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("w.3.json: node 5 'sum': involves dimension 1; expected dimension 0, as in rank 2, node 1, "
                           "ALL_REDUCE of 4096 bytes of ranks 2, 3 (dimension 0)"),
              std::string::npos)
        << ran.err;
  }
  const Ran plain = weft("trace check ../w");
  EXPECT_EQ(plain.code, 0);
  EXPECT_NE(plain.out.find("remark: 1 collective involves other dimensions than on another rank"), std::string::npos)
      << plain.out;
  const Ran with_network = weft("trace check ../w --network ../network.yml");
  EXPECT_EQ(with_network.code, 1);
  EXPECT_NE(with_network.out.find("4 ranks, 4 nodes, 2 findings"), std::string::npos) << with_network.out;
  EXPECT_EQ(weft("trace check ../w --network ../network.yml --ranks 3").err,
            "weft: --ranks: expected 4, as many as ../network.yml has ends, got 3\n");
  const Ran repaired = weft("trace repair ../w m");
  EXPECT_NE(repaired.out.find("nothing to mend"), std::string::npos) << repaired.out;
  EXPECT_NE(repaired.out.find("weft trace check --network FILE"), std::string::npos) << repaired.out;
  EXPECT_EQ(weft("trace repair ../w r --network ../network.yml").code, 0);
  EXPECT_EQ(weft("trace check r --network ../network.yml").code, 0);
}

/// In a file that is the trace of all ranks.
TEST_F(InvolvedCli, RootsOfAllRanksAreMended) {
  constexpr int kBroadcast = 5;
  json of_some = collective(1, kBroadcast, {true, false});
  of_some["attr"].push_back({{"name", "comm_root"}, {"int64_val", 0}});
  json of_all = collective(2, kBroadcast, {true, true});
  of_all["attr"].push_back({{"name", "comm_root"}, {"int64_val", 9}});
  write("one.json", json{{"metadata", {{"version", "0.0.4"}}}, {"nodes", {of_some, of_all}}}.dump());
  const Ran found = weft("trace check ../one.json --network ../network.yml --json");
  EXPECT_EQ(found.code, 1);
  const json report = json::parse(found.out);
  EXPECT_EQ(report["ranks"], 4);
  ASSERT_EQ(report["findings"].size(), 2U);
  EXPECT_EQ(report["findings"][0]["problem"], "its root is 0");
  EXPECT_EQ(report["findings"][0]["expected"], "none, since each rank's dimension 0 joins other ranks");
  EXPECT_EQ(report["findings"][1]["problem"], "its root is 9");
  EXPECT_EQ(report["findings"][1]["expected"], "a rank from 0 to 3");
  const Ran repaired = weft("trace repair ../one.json mended.json --network ../network.yml");
  EXPECT_EQ(repaired.code, 0) << repaired.out;
  EXPECT_NE(repaired.out.find("or the group's first: 2 (the first in ../one.json, node 1)"), std::string::npos)
      << repaired.out;
  const json mended = json::parse(read_file(folder_ / "work" / "mended.json"))["nodes"];
  EXPECT_EQ(mended[0].dump().find("comm_root"), std::string::npos) << mended[0];
  EXPECT_NE(mended[1].dump().find(R"({"int64_val":0,"name":"comm_root"})"), std::string::npos) << mended[1];
  EXPECT_NE(
      weft("trace check mended.json --network ../network.yml").out.find("4 ranks by one file, 2 nodes, no findings"),
      std::string::npos);
}

/// A network file in braces is YAML all the same.
TEST_F(InvolvedCli, FlowStyleOfYamlIsRead) {
  write("flow.yml", "{topology: [Ring, Ring], npus_count: [2, 2], bandwidth: [50, 50], latency: [500, 500]}\n");
  const json first = {collective(1, kAllReduce, {true, false})};
  traces({first, first, first, first});
  EXPECT_EQ(weft("trace check ../w --network ../flow.yml").out, "4 ranks, 4 nodes, no findings\n");
  for (const auto& [behind, place] :
       {std::pair{"", "line 1: expected YAML"},
        {"}\nlatency: [1, 1]\n", "line 2: expected "},
        {"} extra", "line 1: expected "},
        {"},", "line 1: expected nothing behind "},  // where yaml-cpp finds documents without end
        {"}\n---\na: 1\n", "line 3: expected nothing behind ASTRA-sim's network file, with "}}) {
    write(
        "flow.yml",
        std::string("{topology: [Ring, Ring], npus_count: [2, 2], bandwidth: [50, 50], latency: [500, 500]") + behind);
    const Ran ran = weft("trace check ../w --network ../flow.yml");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(std::string("../flow.yml: ") + place), std::string::npos) << ran.err;
  }
  write("flow.yml", "{\"topology\": [\"Ring\", \"Ring\"], \"npus_count\": [2, 2]");
  EXPECT_NE(weft("trace check ../w --network ../flow.yml").err.find("../flow.yml: line 1, column 52: expected JSON"),
            std::string::npos);
  EXPECT_EQ(
      weft("trace check ../w --network ../none.yml").err,
      "weft: ../none.yml: expected ASTRA-sim's network file, with topology, npus_count, bandwidth and latency, got "
      "no such file\n");
}

TEST_F(InvolvedCli, ListsThatNameTheSameDimensionsAreOne) {
  const auto finish = [this](const json& other, const char* how) {
    const json first = {collective(1, kAllReduce, {true, false})};
    const json second = {collective(1, kAllReduce, other)};
    traces({first, second, first, second});
    const Ran ran = run(how);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const json result = json::parse(ran.out);
    return result["last_finish_ns"];
  };
  for (const char* how : {kUnaware, kMachine}) {
    const json same = finish({true, false}, how);
    EXPECT_EQ(finish({true}, how), same);
    EXPECT_EQ(finish({true, false, true}, how), same);
  }
}

/// Without dependencies a machine takes an order that all can follow, also where ranks would wait for each other.
TEST_F(InvolvedCli, AMachineOrdersThem) {
  const json first = {collective(1, kAllReduce, {true, false}), collective(2, kAllReduce, {false, true})};
  const json last = {collective(1, kAllReduce, {false, true}), collective(2, kAllReduce, {true, false})};
  traces({first, last, last, first});
  EXPECT_EQ(run(kMachine).code, 0);
  EXPECT_EQ(run(kUnaware).code, 1);
}

/// ASTRA-sim counts what an end issues of all dimensions together.
TEST_F(InvolvedCli, TheArithmeticSaysWhichItNumbersAlike) {
  two_orders(kBarrier);
  const Ran machine = run(kMachine);
  EXPECT_EQ(machine.code, 0) << machine.err;
  const std::string warning = "has a collective of all ranks or of some dimensions at another number than others";
  EXPECT_NE(machine.err.find(warning), std::string::npos) << machine.err;
  const Ran ran = run(kUnaware);
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("Ends began the barrier of 0 bytes of all ends in dimension 1 at different numbers, end 2 as "
                         "number 1 with node 1 and end 0 as number 2 with node 2. ASTRA-sim numbers the collectives"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("the barrier of 0 bytes of all ends in dimension 1, which end 2 has begun and 1 member has "
                         "not"),
            std::string::npos)
      << ran.err;
}

/// The ends of one exchange with those of another what happen to be messages of both.
TEST_F(InvolvedCli, TheArithmeticDoesNotMixThem) {
  const json small_first = {collective(1, kAllReduce, {true, false}), collective(2, kAllReduce, {true, true})};
  const json large_first = {collective(1, kAllReduce, {true, true}), collective(2, kAllReduce, {true, false})};
  traces({small_first, large_first, small_first, large_first});
  system({{"collective-optimization", "baseline"}});
  const Ran ran = run(kUnaware);
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("Ends of a group began different collectives: as number 1 of all ends end 0 began node 1, "
                         "all_reduce of 4096 bytes in dimension 0, and end 1 began node 1, all_reduce of 4096 bytes"),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(run(kMachine).code, 0);
}

TEST_F(InvolvedCli, OperationsOfImplementationsAreCounted) {
  system({{"all-reduce-implementation-custom", {"c"}}});
  const json counted = {
      {"id", 1}, {"name", "add"}, {"type", "COMP_NODE"}, {"attr", {{{"name", "num_ops"}, {"int64_val", 1000}}}}};
  for (int rank = 0; rank < 4; ++rank) {
    write("c." + std::to_string(rank) + ".json",
          json{{"metadata", json::object()}, {"nodes", json::array({counted})}}.dump());
  }
  traces(std::vector<json>(4, json::array({collective(1, kAllReduce, nullptr)})));
  for (const char* how : {kUnaware, kMachine}) {
    const Ran ran = run(how);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(
        ran.err.find("4 compute nodes of collectives' own implementations have num_ops and no duration, and take "),
        std::string::npos)
        << ran.err;
  }
}

}  // namespace
}  // namespace weft::test
