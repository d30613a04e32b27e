// SPDX-License-Identifier: Apache-2.0
// Collectives with an implementation of their own, those that join all ranks whatever they involve, and traces of which
// durations alone are read: a check, a run of either kind and an import agree on them. Runs the binary.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/support/files.h"
#include "tests/support/import_cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::ImportCli;
using test::Ran;
using test::system_file;
using test::trace;

/// "" is Weft's machine.
constexpr std::array<const char*, 3> kRunners = {"--analytical unaware", "--analytical aware", ""};

class ImportImplementations : public ImportCli {
 protected:
  /// A ring of 8 that passes 1,000 bytes on once, and computes 7 us after that.
  static json part(int rank) {
    const auto message = [](int id, const char* type, const char* peer, int other) {
      return json{{"id", id},
                  {"name", "m" + std::to_string(id)},
                  {"type", type},
                  {"attr", {{{"name", peer}, {"int64_val", other}}, {{"name", "comm_size"}, {"int64_val", 1000}}}}};
    };
    json made = trace();
    made["nodes"] = {message(1, "COMM_SEND_NODE", "comm_dst", (rank + 1) % 8),
                     message(2, "COMM_RECV_NODE", "comm_src", (rank + 7) % 8),
                     {{"id", 3}, {"name", "add"}, {"type", "COMP_NODE"}, {"data_deps", {2}}, {"duration_micros", 7}}};
    return made;
  }
  void write_part(int rank, const json& part) {
    write("part.json", part.dump());
    ASSERT_EQ(weft("trace convert ../part.json ../own." + std::to_string(rank) + ".et").code, 0);
  }
  void implement(const json& more = json::object()) {
    for (int rank = 0; rank < 8; ++rank) write_part(rank, part(rank));
    json system = system_file();
    system["preferred-dataset-splits"] = 1;
    system["all-reduce-implementation-custom"] = {"own"};
    system.update(more);
    write("system.json", system.dump());
  }
  /// The platform is there from before: import and run refuse it alike.
  void expect_refused(const std::string& text) {
    const Ran checked = weft("trace check w --system ../system.json");
    EXPECT_EQ(checked.code, 1);
    EXPECT_NE(checked.out.find(text), std::string::npos) << checked.out;
    for (const char* runner : kRunners) {
      const Ran imported = import(runner);
      EXPECT_EQ(imported.code, 2);
      EXPECT_NE(imported.err.find(text), std::string::npos) << imported.err;
    }
    for (const char* platform : {"p0.json", "p1.json", "p2.json"}) {
      const Ran ran = weft(std::string("run ") + platform + " --out refused");
      EXPECT_EQ(ran.code, 2);
      EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
      EXPECT_FALSE(std::filesystem::exists(folder_ / "work/refused"));
    }
  }
  void keep_platforms() {
    int number = 0;
    for (const char* runner : kRunners) {
      ASSERT_EQ(import(runner).code, 0);
      std::filesystem::rename(folder_ / "work/p.json", folder_ / ("work/p" + std::to_string(number++) + ".json"));
    }
  }
  /// Of the last rank, in ns, and what was said.
  std::pair<double, std::string> run(const std::string& runner) {
    const Ran imported = import(runner);
    EXPECT_EQ(imported.code, 0) << imported.err;
    const Ran ran = weft("run p.json --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return {ran.code == 0 ? json::parse(ran.out)["last_finish_ns"].get<double>() : 0, ran.err};
  }
};

TEST_F(ImportImplementations, AreRefusedForWhatTheyCannotHave) {
  implement();
  keep_platforms();
  json bad = part(1);
  bad["nodes"].push_back(trace()["nodes"][1]);
  bad["nodes"][3]["id"] = 4;
  bad["nodes"][3]["data_deps"] = {3};
  write_part(1, bad);
  expect_refused(
      "own.1.et: node 4 'sum': is an ALL_REDUCE in the implementation of ALL_REDUCE; expected COMM_SEND_NODEs, "
      "COMM_RECV_NODEs and COMP_NODEs");
  bad = part(1);
  bad["nodes"][1]["attr"][1]["int64_val"] = 999;
  write_part(1, bad);
  expect_refused("own.0.et: node 1 'm1': sends 1000 bytes to rank 1 with tag 0; expected the 999 bytes");
  std::filesystem::remove(folder_ / "own.1.et");
  expect_refused("ALL_REDUCE has the implementation ");
}

TEST_F(ImportImplementations, WithoutNodesAreRemarkedOn) {
  implement();
  json none = part(0);
  none["nodes"] = json::array();
  for (int rank = 0; rank < 8; ++rank) write_part(rank, none);
  for (const char* runner : kRunners) {
    EXPECT_NE(run(runner).second.find("8 files of collectives' own implementations have no nodes"), std::string::npos);
  }
}

/// A roofline is for the trace's own compute nodes.
TEST_F(ImportImplementations, TakeTheirDurationsWithARoofline) {
  json computes = trace();
  computes["nodes"][0]["attr"] = {{{"name", "num_ops"}, {"int64_val", 5'000'000}},
                                  {{"name", "tensor_size"}, {"int64_val", 1000}}};
  traces(computes);
  implement({{"roofline-enabled", 1}, {"peak-perf", 1}});
  for (const char* runner : kRunners) {
    const double finish = run(runner).first;
    EXPECT_GT(finish, 12'000) << runner;
    EXPECT_LT(finish, 20'000) << runner;
  }
}

/// The table of collectives has them like others.
TEST_F(ImportImplementations, AreWatched) {
  implement();
  ASSERT_EQ(import("").code, 0);
  const Ran ran = weft("run p.json --why --out out");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json why = json::parse(test::read_file(folder_ / "work/out/why.json"));
  ASSERT_EQ(why["collectives"].size(), 1U);
  const json& its = why["collectives"][0];
  EXPECT_EQ(its["operation"], "all_reduce");
  EXPECT_EQ(its["calls"], 8);
  // Beside the messages, what each computes behind them.
  EXPECT_GT(its["ps"].get<double>(), 8 * 7e6);
  // Its messages are its own.
  EXPECT_TRUE(why["overlapping"].empty());
}

TEST_F(ImportImplementations, AlgorithmsOfAllDimensionsJoinAll) {
  write("network.yml",
        "topology: [ Ring, Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50, 50 ]\nlatency: [ 500, 500 ]\n");
  json system = system_file();
  for (const char* operation : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"}) {
    system[std::string(operation) + "-implementation"] = {"oneRing"};
  }
  write("system.json", system.dump());
  for (const char* runner : {"--analytical unaware", ""}) {
    const double whole = run(runner).first;
    for (const json& involved : {json::array({false, true}), json::array({true, false}), json::array({true})}) {
      json some = trace();
      some["nodes"][1]["attr"].push_back({{"name", "involved_dim"}, {"bool_list", involved}});
      traces(some);
      const auto [finish, said] = run(runner);
      EXPECT_EQ(finish, whole) << runner << involved;
      EXPECT_EQ(said.find("left out"), std::string::npos) << said;
      EXPECT_EQ(said.find("only one rank"), std::string::npos) << said;
      const bool is_said =
          said.find("join all ranks of their groups, whatever their involved_dim") != std::string::npos;
      EXPECT_EQ(is_said, involved.size() == 2) << said;
    }
    traces(trace());
  }
}

TEST_F(ImportImplementations, GroupsJoinAllWhateverTheyInvolve) {
  json grouped = trace();
  grouped["nodes"][1]["attr"].push_back({{"name", "pg_name"}, {"string_val", "1"}});
  traces(grouped);
  write("groups.json", R"({"1": [0, 1, 2, 3, 4, 5, 6, 7]})");
  for (const char* runner : {"--analytical unaware --groups ../groups.json", "--groups ../groups.json"}) {
    traces(grouped);
    const double whole = run(runner).first;
    json some = grouped;
    some["nodes"][1]["attr"].push_back({{"name", "involved_dim"}, {"bool_list", json::array({false})}});
    traces(some);
    const auto [finish, said] = run(runner);
    EXPECT_EQ(finish, whole);
    EXPECT_NE(said.find("8 collectives join all ranks of their groups, whatever their involved_dim"), std::string::npos)
        << said;
  }
  // Who does not take part is missed.
  json without = trace();
  without["nodes"].erase(1);
  write("t.json", without.dump());
  ASSERT_EQ(weft("trace convert ../t.json w.3.et").code, 0);
  const std::string missed = "w.3.et: the rank issues 0 collectives of group 1; expected 1, as rank 0 does";
  const Ran checked = weft("trace check w --groups ../groups.json");
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.out.find(missed), std::string::npos) << checked.out;
  for (const char* runner : {"--analytical unaware", ""}) {
    ASSERT_EQ(import(std::string(runner) + " --groups ../groups.json").code, 0);
    const Ran ran = weft("run p.json");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(missed), std::string::npos) << ran.err;
  }
}

/// As ASTRA-sim, which asks a node for its duration alone, and whether it is the CPU's.
TEST_F(ImportImplementations, AReplayReadsDurationsAlone) {
  json system = system_file();
  system.update({{"replay-only", 1}, {"roofline-enabled", 1}});
  system.erase("local-mem-bw");
  write("system.json", system.dump());
  json odd = trace();
  odd["nodes"][0]["attr"] = {{{"name", "num_ops"}, {"string_val", "many"}}};
  odd["nodes"][1]["attr"] = {{{"name", "comm_size"}, {"string_val", "some"}}};
  odd["nodes"][1]["duration_micros"] = 3;
  traces(odd);
  json gather = trace();
  gather["nodes"][1]["attr"][0]["int64_val"] = 3;
  write("t.json", gather.dump());
  ASSERT_EQ(weft("trace convert ../t.json w.1.et").code, 0);
  // Two on the network one after the other, and one of them on the CPU beside the other.
  json two = odd;
  two["nodes"].push_back(odd["nodes"][1]);
  two["nodes"][2]["id"] = 2;
  two["nodes"][2]["data_deps"] = {0};
  write("t.json", two.dump());
  ASSERT_EQ(weft("trace convert ../t.json w.2.et").code, 0);
  two["nodes"][2]["attr"].push_back({{"name", "is_cpu_op"}, {"bool_val", true}});
  write("t.json", two.dump());
  ASSERT_EQ(weft("trace convert ../t.json w.3.et").code, 0);
  EXPECT_EQ(weft("trace check w").code, 1);
  EXPECT_EQ(weft("trace check w --system ../system.json").code, 0);
  ASSERT_EQ(import().code, 0);
  const Ran ran = weft("run p.json --json --timeline t.pftrace");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json finish = json::parse(ran.out)["finish_ns"];
  EXPECT_EQ(finish[0], 8000);
  EXPECT_EQ(finish[1], 5001);
  EXPECT_EQ(finish[2], 11'000);
  EXPECT_EQ(finish[3], 8000);
  EXPECT_NE(ran.err.find("1 node has no duration, and takes 1 ns"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("GATHER"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace weft
