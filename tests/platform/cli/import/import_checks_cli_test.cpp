// SPDX-License-Identifier: Apache-2.0
// weft import astra-sim writes no platform that no run takes: it refuses by the key or the option that is the cause, as
// the run would. Runs the binary.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/import_cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ImportCli;
using test::Ran;
using test::system_file;

constexpr const char* kMachine = "";
constexpr const char* kArithmetic = "--analytical unaware";

/// Of chakra's comm_type.
enum : int { kSum = 0, kGather = 2, kExchange = 6 };

class ImportChecks : public ImportCli {
 protected:
  /// Ranks that each do one collective, of a group if it is named.
  void write_traces(int ranks, int type, const std::string& group = "") {
    fs::remove_all(folder_ / "work");
    fs::create_directories(folder_ / "work");
    json attributes = {{{"name", "comm_type"}, {"int64_val", type}}, {{"name", "comm_size"}, {"int64_val", 4800}}};
    if (!group.empty()) attributes.push_back({{"name", "pg_name"}, {"string_val", group}});
    const json node = {{"id", 1}, {"name", "c"}, {"type", "COMM_COLL_NODE"}, {"attr", attributes}};
    const json trace = {{"metadata", json::object()}, {"nodes", json::array({node})}};
    for (int r = 0; r < ranks; ++r) write("work/w." + std::to_string(r) + ".json", trace.dump());
  }
  void write_network(const std::vector<int>& sizes) {
    const std::size_t count = sizes.size();
    write("network.json", json{{"topology", std::vector<std::string>(count, "Switch")},
                               {"npus_count", sizes},
                               {"bandwidth", std::vector<double>(count, 50)},
                               {"latency", std::vector<double>(count, 500)}}
                              .dump());
  }
  void write_system(const json& more = json::object()) {
    json system = system_file();
    system.update(more);
    write("system.json", system.dump());
  }
  Ran import(const std::string& more) {
    return weft("import astra-sim --network ../network.json --system ../system.json --workload w --out p.json " + more);
  }
  void expect_refused(const std::string& more, const std::string& begins) {
    const Ran ran = import(more);
    EXPECT_EQ(ran.code, 2) << more;
    EXPECT_TRUE(ran.err.starts_with("weft: " + begins)) << ran.err;
    EXPECT_FALSE(fs::exists(folder_ / "work/p.json"));
  }
  void expect_runs(const std::string& more) {
    const Ran ran = import(more);
    EXPECT_EQ(ran.code, 0) << more << ran.err;
    const Ran then = weft("run p.json --timeline-ranks 0");
    EXPECT_EQ(then.code, 0) << more << then.err;
    fs::remove(folder_ / "work/p.json");
  }
};

TEST_F(ImportChecks, OfSharedLinks) {
  write_network({2, 2});
  write_system();
  write_traces(4, kSum);
  expect_refused("--analytical aware", "--analytical aware: expected one dimension where links are shared");
  expect_runs(kArithmetic);
  expect_runs("--analytical cut-through");
  write_network({4});
  expect_runs("--analytical aware");
}

TEST_F(ImportChecks, OfTheOrderOfDimensions) {
  write_network({2, 2});
  write_traces(4, kSum);
  for (const char* const how : {kMachine, kArithmetic}) {
    write_system({{"collective-optimization", "baseline"}, {"inter-dimension-scheduling", "themis"}});
    expect_refused(how,
                   "../system.json: inter-dimension-scheduling: expected baseline, or collective-optimization "
                   "localBWAware beside it");
    write_system({{"inter-dimension-scheduling", "themis"}, {"all-reduce-implementation", {"ring", "ring"}}});
    expect_runs(how);
  }
}

TEST_F(ImportChecks, OfAlgorithmsAndSizes) {
  write_network({3});
  for (const char* const algorithm : {"halvingDoubling", "doubleBinaryTree", "oneHalvingDoubling"}) {
    json lists = {{"all-reduce-implementation", {algorithm}}};
    if (std::string(algorithm).starts_with("one")) {
      for (const char* const other : {"all-gather", "reduce-scatter", "all-to-all"})
        lists[std::string(other) + "-implementation"] = {"oneRing"};
    }
    write_system(lists);
    write_traces(3, kSum);
    expect_refused(kArithmetic, "../system.json: all-reduce-implementation: expected a power of two of members for ");
    expect_runs(kMachine);
    // What the traces do without stops nothing.
    lists["all-gather-implementation"] = {"ring"};
    if (std::string(algorithm).starts_with("one")) lists["all-gather-implementation"] = {"oneRing"};
    write_system(lists);
    write_traces(3, kGather);
    expect_runs(kArithmetic);
  }
}

TEST_F(ImportChecks, OfAlgorithmsAndOperations) {
  write_network({4});
  for (const auto& [type, key, algorithm] : {std::tuple(kGather, "all-gather-implementation", "doubleBinaryTree"),
                                             {kExchange, "all-to-all-implementation", "halvingDoubling"},
                                             {kExchange, "all-to-all-implementation", "doubleBinaryTree"}}) {
    write_system({{key, {algorithm}}});
    write_traces(4, type);
    for (const char* const how : {kMachine, kArithmetic}) {
      expect_refused(how, std::string("../system.json: ") + key + ": expected ");
    }
    write_traces(4, kSum);
    for (const char* const how : {kMachine, kArithmetic}) expect_runs(how);
  }
}

/// Groups have the algorithm of the first dimension where it is the only one.
TEST_F(ImportChecks, OfGroups) {
  write_network({4});
  write_system({{"all-reduce-implementation", {"halvingDoubling"}}});
  write_traces(4, kSum, "1");
  write("work/groups.json", R"({"1": [0, 1, 2]})");
  write("work/w.3.json", R"({"metadata": {}, "nodes": []})");
  expect_refused("--groups groups.json --analytical unaware",
                 "../system.json: all-reduce-implementation: expected a power of two of members ");
  expect_runs("--groups groups.json");
  write("work/groups.json", R"({"1": [0, 1]})");
  write("work/w.2.json", R"({"metadata": {}, "nodes": []})");
  expect_runs("--groups groups.json --analytical unaware");
}

TEST_F(ImportChecks, OfRanks) {
  write_network({4});
  write_system();
  for (const char* const how : {kMachine, kArithmetic}) {
    write_traces(5, kSum);
    expect_refused(how,
                   "--workload: expected traces of 4 ranks, as many as the network has ends, but there is w.4.json");
    write_traces(3, kSum);
    expect_refused(how,
                   "--workload: w: rank 3 has no file; expected files of all ranks from 0 to 3, as many as the network "
                   "has ends: weft trace repair w TO --ranks 4 ");
    write_traces(4, kSum);
    fs::remove(folder_ / "work/w.2.json");
    expect_refused(how, "--workload: w: rank 2 has no file; expected files of all ranks from 0 to 3, ");
  }
}

/// Whatever lies under the name, a run reads it as traces; each rank's file is looked at.
TEST_F(ImportChecks, OfFilesThatAreNoTraces) {
  write_network({4});
  write_system();
  write_traces(4, kSum);
  for (const auto& [text, what] :
       {std::pair("%PDF-1.4\n%", "expected a Chakra trace, got a PDF document"),
        {"$timescale 1ns $end\n", "expected a Chakra trace, got a VCD waveform; weft vcd info "},
        {"a,b\n1,2\n", "expected a Chakra trace, got a table in CSV"},
        {R"({"accelerators": 4})", "expected a Chakra trace, got a platform; weft run "},
        {R"({"1": [0, 1]})", "expected a Chakra trace, got a file of communicator groups; name it with --groups"},
        {"", "is empty: expected a Chakra trace"}}) {
    for (const char* const how : {kMachine, kArithmetic}) {
      write("work/x", text);
      const std::string begin = "import astra-sim --network ../network.json --system ../system.json --out p.json ";
      const Ran alone = weft(begin + "--workload x " + how);
      EXPECT_EQ(alone.code, 2) << text;
      EXPECT_TRUE(alone.err.starts_with(std::string("weft: x: ") + what)) << alone.err;
      fs::copy_file(folder_ / "work/x", folder_ / "work/w.2.json", fs::copy_options::overwrite_existing);
      const Ran among = weft(begin + "--workload w " + how);
      EXPECT_EQ(among.code, 2) << text;
      EXPECT_TRUE(among.err.starts_with(std::string("weft: w.2.json: ") + what)) << among.err;
      EXPECT_FALSE(fs::exists(folder_ / "work/p.json"));
    }
  }
}

/// A pipe's name says nothing of where a platform came from.
TEST_F(ImportChecks, ADescriptionNamesFilesAlone) {
  write_network({4});
  write_system();
  write_traces(4, kSum);
  ASSERT_EQ(import(kMachine).code, 0);
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work/p.json"))["description"],
            "From ASTRA-sim: network.json, system.json, w");
  ASSERT_EQ(std::system(("mkfifo " + (folder_ / "fifo").string()).c_str()), 0);
  const Ran ran = weft("--version > /dev/null; (cat ../network.json > ../fifo &) ; timeout 100 " WEFT_BINARY
                       " import astra-sim --network ../fifo --system ../system.json --workload w --out q.json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work/q.json"))["description"], "From ASTRA-sim: system.json, w");
}

}  // namespace
}  // namespace weft
