// SPDX-License-Identifier: Apache-2.0
// weft import astra-sim, and weft run of what it writes. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

constexpr const char* kNetwork =
    "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]\n";

json system_file() {
  return {{"scheduling-policy", "LIFO"},
          {"endpoint-delay", 10},
          {"active-chunks-per-dimension", 1},
          {"preferred-dataset-splits", 4},
          {"all-reduce-implementation", {"ring"}},
          {"collective-optimization", "localBWAware"},
          {"local-mem-bw", 1600},
          {"boost-mode", 0}};
}

/// An AllReduce of 1 MiB after 5 us of computing, on each of 8 ranks.
json trace() {
  return json::parse(R"({"metadata": {"version": "0.0.4"}, "nodes": [
    {"id": 0, "name": "work", "type": "COMP_NODE", "duration_micros": 5},
    {"id": 1, "name": "sum", "type": "COMM_COLL_NODE", "data_deps": [0],
     "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 1048576}]}]})");
}

class ImportCli : public CliTest {
 protected:
  ImportCli() {
    write("network.yml", kNetwork);
    write("system.json", system_file().dump());
    traces(trace());
  }

  void traces(const json& each) {
    for (int r = 0; r < 8; ++r) {
      write("t.json", each.dump());
      const std::string rank = std::to_string(r);
      EXPECT_EQ(weft("trace convert ../t.json w." + rank + ".et").code, 0);
    }
  }
  Ran import(const std::string& more = "--analytical unaware") {
    return weft("import astra-sim --network ../network.yml --system ../system.json --workload w --out p.json " + more);
  }
  /// Of the last end, in ns, by ASTRA-sim's arithmetic.
  std::int64_t finish() {
    const Ran imported = import();
    EXPECT_EQ(imported.code, 0) << imported.err;
    const Ran ran = weft("run p.json --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["last_finish_ns"];
  }
  static constexpr int kAllReduce = 64'440;  // ns, in ASTRA-sim
};

TEST_F(ImportCli, GivesTheTimesOfAstraSim) {
  const Ran made = import();
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "wrote p.json\n");
  EXPECT_NE(made.err.find("boost-mode has no effect in ASTRA-sim"), std::string::npos) << made.err;
  const json ran = json::parse(weft("run p.json --json").out);
  EXPECT_EQ(ran["first_finish_ns"], 5'000 + kAllReduce);
  EXPECT_EQ(ran["last_finish_ns"], 5'000 + kAllReduce);
  EXPECT_EQ(ran["finish_ns"].size(), 8U);
  EXPECT_EQ(ran["messages"], 4 * 8 * 14);
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work/out/p/summary.json"))["nodes"], 16);
  const Ran table = weft("run p.json --set analytical.collectives.endpoint_delay=0ns");
  EXPECT_NE(table.out.find("last end done            68840 ns"), std::string::npos) << table.out;
}

TEST_F(ImportCli, FollowsSchedulingAcrossAndWithinDimensions) {
  json system = system_file();
  system["inter-dimension-scheduling"] = "themis";
  system["intra-dimension-scheduling"] = "SmallestFirst";
  write("system.json", system.dump());
  const Ran made = import();
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("inter-dimension-scheduling is followed, though ASTRA-sim"), std::string::npos) << made.err;
  const json platform = json::parse(test::read_file(folder_ / "work/p.json"));
  EXPECT_EQ(platform["analytical"]["collectives"]["inter_dimension"], "themis");
  EXPECT_EQ(platform["analytical"]["collectives"]["intra_dimension"], "SmallestFirst");
  // In one dimension there is nothing to choose.
  EXPECT_EQ(json::parse(weft("run p.json --json").out)["last_finish_ns"], 5'000 + kAllReduce);
}

constexpr const char* kNetwork1 = R"({"topology-name": "Hierarchical", "topologies-per-dim": ["Ring"],
  "dimension-type": ["N"], "dimensions-count": 1, "units-count": [8], "links-count": [2], "link-latency": [500],
  "link-bandwidth": [25], "nic-latency": [0], "router-latency": [0], "hbm-latency": [500], "hbm-bandwidth": [370],
  "hbm-scale": [0]})";
constexpr const char* kSystem1 =
    "scheduling-policy: LIFO\nendpoint-delay: 10\nactive-chunks-per-dimension: 1\n\npreferred-dataset-splits: 4\n"
    "boost-mode: 0\nall-reduce-implementation: ring\ncollective-optimization: localBWAware\n"
    "intra-dimension-scheduling: FIFO\ninter-dimension-scheduling: baseline\n";

TEST_F(ImportCli, ReadsTheFilesOfVersionOne) {
  write("network.yml", kNetwork1);
  write("system.json", kSystem1);
  const Ran made = import();
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("local-mem-bw is not given: reductions pass a memory of 1600 GB/s"), std::string::npos)
      << made.err;
  // What they say is what the files of 2.0 say: both links of an end in a ring carry a message.
  EXPECT_EQ(json::parse(weft("run p.json --json").out)["last_finish_ns"], 5'000 + kAllReduce);
  json two = json::parse(kNetwork1);
  two["dimensions-count"] = 2;
  two["topologies-per-dim"] = {"Switch", "FullyConnected"};
  two["units-count"] = {2, 4};
  two["links-count"] = {6, 6};
  two["link-latency"] = {500, 700};
  two["link-bandwidth"] = {25, 10};
  two["nic-latency"] = {4, 3};
  two["router-latency"] = {10, 7};
  two["hbm-latency"] = {500, 700};
  two["hbm-bandwidth"] = {300, 20};
  two["hbm-scale"] = {1, 1};
  write("network.yml", two.dump());
  write("system.json", std::string(kSystem1).replace(std::string(kSystem1).find("ring"), 4, "halvingDoubling_direct"));
  ASSERT_EQ(import().code, 0);
  const json platform = json::parse(test::read_file(folder_ / "work/p.json"))["analytical"];
  EXPECT_EQ(platform["dimensions"][0]["bandwidth_GiBps"], 150);
  EXPECT_EQ(platform["dimensions"][1]["bandwidth_GiBps"], 20);
  EXPECT_EQ(platform["dimensions"][0]["latency_ns"], 500 + 4 + 10 / 2);
  EXPECT_EQ(platform["dimensions"][1]["latency_ns"], 700 + 2 * 3);
  EXPECT_EQ(platform["dimensions"][0]["all_reduce"], "halvingDoubling");
  EXPECT_EQ(platform["dimensions"][1]["all_reduce"], "direct");
  EXPECT_EQ(platform["dimensions"][1]["window"], 0);
}

TEST_F(ImportCli, ReadsNetworksByNameAndWindowsOfVersionOne) {
  write("network.yml", R"({"topology-name": "Ring_AllToAll_Switch", "use-fast-version": true, "dimensions-count": 3,
    "units-count": [2, 2, 2], "link-latency": [500, 500, 500], "link-bandwidth": [250, 25, 12.5]})");
  write("system.json", std::string(kSystem1).replace(std::string(kSystem1).find("ring"), 4, "direct_direct_ring") +
                           "direct-collective-window: 4\npacket-routing: software\n");
  const Ran made = import();
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("use-fast-version chooses a program"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("packet-routing has no effect"), std::string::npos) << made.err;
  const json dimensions = json::parse(test::read_file(folder_ / "work/p.json"))["analytical"]["dimensions"];
  EXPECT_EQ(dimensions[1]["block"], "FullyConnected");
  EXPECT_EQ(dimensions[1]["bandwidth_GiBps"], 25);
  EXPECT_EQ(dimensions[1]["window"], 4);
  EXPECT_EQ(dimensions[2]["block"], "Switch");
  EXPECT_EQ(dimensions[2]["window"], 0);
}

TEST_F(ImportCli, RefusesWhatVersionOneHasAndWeftNot) {
  const auto network = [&](const std::string& key, const json& value) {
    json file = json::parse(kNetwork1);
    file[key] = value;
    if (value.is_null()) file.erase(key);
    write("network.yml", file.dump());
    const Ran ran = import();
    EXPECT_EQ(ran.code, 2) << key;
    return ran.err;
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(network("nic-latency", {5}), "nic-latency.0: expected 0 in a ring, of which a message may pass several links");
  expect(network("hbm-scale", {2}), "hbm-scale.0: expected a memory that never takes longer than the links");
  expect(network("hbm-latency", {1, 2}), "hbm-latency: expected 1 values, as dimensions-count says, got 2");
  expect(network("links-count", {1}), "links-count.0: expected 2 or more links of a ring");
  expect(network("units-count", {8, 2}), "units-count: expected 1 values, as dimensions-count says, got 2");
  expect(network("link-bandwidth", {0}), "link-bandwidth.0: expected a rate above 0 in GB/s");
  expect(network("topologies-per-dim", {"Torus"}),
         "topologies-per-dim.0: expected one of Ring, FullyConnected, Switch");
  expect(network("dimensions-count", nullptr), "dimensions-count: expected how many dimensions");
  expect(network("links-cuont", {3}), "Did you mean \"links-count\"?");
  json odd = json::parse(kNetwork1);
  odd["links-count"] = {3};
  write("network.yml", odd.dump());
  expect(import().err, "links-count.0: of 3 links 2 are used, as in ASTRA-sim 1.0: a ring has as many each way");
  json full = json::parse(kNetwork1);
  full["topologies-per-dim"] = {"FullyConnected"};
  write("network.yml", full.dump());
  expect(import().err, "links-count.0: expected 7 or more links to the others");
  full.erase("topologies-per-dim");
  write("network.yml", full.dump());
  expect(import().err, "topology-name: expected Ring, AllToAll, FullyConnected and Switch, joined by _");

  write("network.yml", kNetwork1);
  const auto system = [&](const std::string& text) {
    write("system.json", text);
    const Ran ran = import();
    EXPECT_EQ(ran.code, 2) << text;
    return ran.err;
  };
  expect(system(std::string(kSystem1) + "inter-dimension: themis\n"), "inter-dimension");
  expect(system(std::string(kSystem1) + "themis\n"), "line 11: expected KEY: VALUE, got \"themis\"");
  expect(system(std::string(kSystem1) + "boost-mode: 1\n"), "line 11: expected each key once, got \"boost-mode\"");
  expect(system("scheduling-policy:\n"), "line 1: expected a value of scheduling-policy, got nothing");
  expect(system("scheduling-policy: LIFO\n"), "preferred-dataset-splits: expected 1 or more, got nothing");
}

TEST_F(ImportCli, ReadsANetworkInJson) {
  const std::int64_t by_yaml = finish();
  write("network.yml", R"({"topology": ["Ring"], "npus_count": [8], "bandwidth": [50.0], "latency": [500.0]})");
  EXPECT_EQ(finish(), by_yaml);
}

TEST_F(ImportCli, NamesTheFileOfAKeyThatAMachineHasNot) {
  for (const char* const key : {"replay-only", "model-shared-bus"}) {
    json system = system_file();
    system[key] = 1;
    write("system.json", system.dump());
    const Ran ran = import("");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("weft: ../system.json: " + std::string(key) + ": expected 0, or --analytical"),
              std::string::npos)
        << ran.err;
  }
}

TEST_F(ImportCli, TakesGroupsMemoryAndOptions) {
  write("groups.json", R"({"3": [0, 1, 2, 3, 4, 5, 6, 7]})");
  write("memory.json", R"({"memory-type": "MEMORY_POOL", "remote-mem-latency": 1000, "remote-mem-bw": 100})");
  ASSERT_EQ(import("--groups ../groups.json --memory ../memory.json --analytical aware --rendezvous-protocol").code, 0);
  const json platform = json::parse(test::read_file(folder_ / "work/p.json"));
  EXPECT_EQ(platform["workload"]["groups"]["3"].size(), 8U);
  EXPECT_EQ(platform["analytical"]["end"]["remote_memory"], "pool");
  EXPECT_EQ(json::parse(weft("run p.json --json").out)["last_finish_ns"], 5'000 + 100'952);
}

TEST_F(ImportCli, PathsAreSeenFromThePlatform) {
  std::filesystem::create_directories(folder_ / "work/platforms");
  ASSERT_EQ(weft("import astra-sim --network ../network.yml --system ../system.json --workload w --analytical unaware "
                 "--out platforms/p.json")
                .code,
            0);
  const json platform = json::parse(test::read_file(folder_ / "work/platforms/p.json"));
  EXPECT_EQ(platform["workload"]["traces"], "../w");
  EXPECT_EQ(json::parse(weft("run platforms/p.json --json").out)["last_finish_ns"], 5'000 + kAllReduce);
}

// Each of two ends receives before it sends, which the files alone do not show.
TEST_F(ImportCli, SaysWhoWaitsForWhat) {
  traces(trace());
  for (const int rank : {0, 1}) {
    json waiting = trace();
    for (const char* type : {"COMM_RECV_NODE", "COMM_SEND_NODE"}) {
      const bool sends = std::string(type) == "COMM_SEND_NODE";
      waiting["nodes"].push_back({{"id", sends ? 3 : 2},
                                  {"name", "never"},
                                  {"type", type},
                                  {"data_deps", sends ? json{2} : json::array()},
                                  {"attr",
                                   {{{"name", sends ? "comm_dst" : "comm_src"}, {"int32_val", 1 - rank}},
                                    {{"name", "comm_tag"}, {"int32_val", 9}},
                                    {{"name", "comm_size"}, {"int64_val", 4}}}}});
    }
    write("t.json", waiting.dump());
    ASSERT_EQ(weft("trace convert ../t.json w." + std::to_string(rank) + ".et").code, 0);
  }
  ASSERT_EQ(import().code, 0);
  const Ran ran = weft("run p.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("w.0.et: node 3 'never': waits for itself by way of other ranks:"), std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("rank 1: node 3 'never', a send to rank 0, comes after node 2 'never', a receive from rank 0"),
            std::string::npos)
      << ran.err;
}

/// What is wrong with a trace is bad input, as in any other file, and says where.
TEST_F(ImportCli, RefusesWhatNobodyCanExecute) {
  ASSERT_EQ(import().code, 0);
  const auto with = [&](const json& type, const json& size) {
    json bad = trace();
    bad["nodes"][1]["attr"][0] = type;
    bad["nodes"][1]["attr"][1] = size;
    traces(bad);
    const Ran ran = weft("run p.json");
    EXPECT_EQ(ran.code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "work/out"));
    return ran.err;
  };
  const json all_reduce = {{"name", "comm_type"}, {"int64_val", 0}};
  const json bytes = {{"name", "comm_size"}, {"int64_val", 4}};
  EXPECT_NE(with({{"name", "comm_type"}, {"int64_val", 1}}, bytes).find("w.0.et: node 1 'sum' is a REDUCE"),
            std::string::npos);
  EXPECT_NE(with(all_reduce, {{"name", "comm_size"}, {"string_val", "4"}})
                .find("w.0.et: node 1 'sum': attribute comm_size is string_val; expected an integer"),
            std::string::npos);
  EXPECT_NE(with(all_reduce, {{"name", "comm_size"}, {"int64_val", std::int64_t{1} << 62}})
                .find("attribute comm_size is 4611686018427387904; expected at most 9007199254740992"),
            std::string::npos);
  EXPECT_NE(with(all_reduce, {{"name", "other"}, {"int64_val", 4}})
                .find("w.0.et: node 1 'sum': COMM_COLL_NODE has no attribute comm_size; expected a number of bytes"),
            std::string::npos);
}

TEST_F(ImportCli, RefusesOptionsWithoutEffect) {
  ASSERT_EQ(import().code, 0);
  for (const char* option : {"--vcd t.vcd", "--seed 3", "--data"}) {
    const Ran ran = weft(std::string("run p.json ") + option);
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_NE(ran.err.find("an analytical network"), std::string::npos) << ran.err;
  }
}

TEST_F(ImportCli, TakesCollectivesOfSomeDimensions) {
  // Of the first dimension: what a network of it alone takes. Of neither: nothing.
  const auto of = [this](const json& involved) {
    json some = trace();
    some["nodes"][1]["attr"].push_back({{"name", "involved_dim"}, {"bool_list", involved}});
    traces(some);
    return finish();
  };
  json system = system_file();
  system["all-reduce-implementation"] = {"ring", "ring"};
  write("system.json", system.dump());
  write("network.yml",
        "topology: [ Ring, Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50, 50 ]\nlatency: [ 500, 500 ]\n");
  EXPECT_EQ(of({true, true}), 5'000 + 43'040);  // in ASTRA-sim
  // Four chunks of a ring of 4: 7 delays, 6 steps of 64 KiB, 3 reductions.
  EXPECT_EQ(of({true, false}), 5'000 + 4 * (7 * 10 + 6 * 1'720 + 3 * 120));
  EXPECT_EQ(of({false, false}), 5'000);
}

/// A list that the traces do not need stops nothing; one that they need and that is missing is named.
TEST_F(ImportCli, NeedsTheAlgorithmsOfItsTracesAlone) {
  json system = system_file();
  system["all-reduce-implementation"] = {"ring", "ring"};
  system["all-to-all-implementation"] = {"direct"};
  write("system.json", system.dump());
  write("network.yml",
        "topology: [ Ring, Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50, 50 ]\nlatency: [ 500, 500 ]\n");
  const std::string short_list = "all-to-all-implementation has 1 algorithm, and the network 2 dimensions: ";
  const std::string left_out = short_list + "the operation leaves out the last one, as in ASTRA-sim\n";
  const Ran analytical = import();
  EXPECT_NE(analytical.err.find(left_out), std::string::npos) << analytical.err;
  EXPECT_EQ(analytical.err.find("stand"), std::string::npos) << analytical.err;
  EXPECT_EQ(finish(), 5'000 + 43'040);
  // In the machine none is left out.
  const Ran machine = import("");
  EXPECT_EQ(machine.code, 0);
  EXPECT_NE(machine.err.find(short_list + "a ring stands in for the last one\n"), std::string::npos) << machine.err;
  EXPECT_NE(machine.err.find("system.json: all-gather-implementation, reduce-scatter-implementation are not given: "
                             "rings stand in\n"),
            std::string::npos)
      << machine.err;
  EXPECT_EQ(machine.err.find("leaves out"), std::string::npos) << machine.err;
  for (const json& none : {json(), json::array()}) {
    system["all-reduce-implementation"] = none;
    if (none.is_null()) system.erase("all-reduce-implementation");
    write("system.json", system.dump());
    ASSERT_EQ(import().code, 0);
    const Ran ran = weft("run p.json");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("p.json: analytical.dimensions.0.all_reduce: expected the algorithm of a collective that is "
                           "in the traces (all-reduce-implementation in ASTRA-sim's system file)"),
              std::string::npos)
        << ran.err;
  }
}

TEST_F(ImportCli, SaysWhereAstraSimWouldHaveStopped) {
  json system = system_file();
  system["endpoint-delay"] = 0;
  write("system.json", system.dump());
  json at_once = trace();
  at_once["nodes"][1].erase("data_deps");
  at_once["nodes"].erase(0);
  traces(at_once);
  ASSERT_EQ(import().code, 0);
  const Ran ran = weft("run p.json");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("something ends at 0 ns"), std::string::npos) << ran.err;
}

/// A late rank of three dimensions, with fewer active chunks than a collective has.
TEST_F(ImportCli, SaysWhichKeyAvoidsThatChunksWaitForEachOther) {
  json system = system_file();
  system["all-reduce-implementation"] = {"ring", "ring", "ring"};
  system["preferred-dataset-splits"] = 2;
  write("system.json", system.dump());
  write("network.yml",
        "topology: [ Ring, Ring, Ring ]\nnpus_count: [ 2, 2, 2 ]\nbandwidth: [ 50, 50, 50 ]\n"
        "latency: [ 500, 500, 500 ]\n");
  json late = trace();
  late["nodes"][0]["duration_micros"] = 50;
  write("t.json", late.dump());
  EXPECT_EQ(weft("trace convert ../t.json w.0.et").code, 0);
  ASSERT_EQ(import().code, 0);
  const Ran hangs = weft("run p.json");
  EXPECT_EQ(hangs.code, 1);
  EXPECT_NE(hangs.err.find("active-chunks-per-dimension of at least preferred-dataset-splits"), std::string::npos)
      << hangs.err;
  EXPECT_EQ(weft("run p.json --set analytical.collectives.active_chunks=2").code, 0);
  ASSERT_EQ(import("--analytical cut-through").code, 0);
  EXPECT_EQ(weft("run p.json").code, 0);
}

TEST_F(ImportCli, TakesTheSharedBus) {
  json system = system_file();
  system.update({{"model-shared-bus", 1}, {"L", 10}, {"o", 10}, {"g", 10}, {"G", 0.001}});
  write("system.json", system.dump());
  EXPECT_EQ(finish(), 106'348 + 5'000);
  EXPECT_NE(import("").err.find("model-shared-bus: expected 0, or --analytical"), std::string::npos);
}

TEST_F(ImportCli, TakesWindowsAndJoinedDimensions) {
  json system = system_file();
  system["all-reduce-implementation"] = {"oneRing"};
  write("system.json", system.dump());
  EXPECT_EQ(finish(), kAllReduce + 5'000);
  ASSERT_EQ(import("").code, 0);
  EXPECT_EQ(weft("run p.json --data").code, 0);
  system["all-reduce-implementation"] = {"direct7"};
  write("system.json", system.dump());
  const std::int64_t all = finish();
  system["all-reduce-implementation"] = {"direct2"};
  write("system.json", system.dump());
  EXPECT_GT(finish(), all);
  EXPECT_NE(import("").err.find("expected direct without a window, or --analytical"), std::string::npos);
  const std::int64_t two_at_a_time = finish();
  system["all-to-all-implementation"] = {"direct3"};  // another operation has another window
  write("system.json", system.dump());
  EXPECT_EQ(finish(), two_at_a_time);
  const json dimension = json::parse(test::read_file(folder_ / "work/p.json"))["analytical"]["dimensions"][0];
  EXPECT_EQ(dimension["all_reduce_window"], 2);
  EXPECT_EQ(dimension["all_to_all_window"], 3);
}

TEST_F(ImportCli, TakesImplementationsOfSingleNodes) {
  // Node 1's own: everybody computes for 7 us.
  write("own.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [
    {"id": 0, "name": "instead", "type": "COMP_NODE", "duration_micros": 7}]})");
  for (int r = 0; r < 8; ++r) {
    ASSERT_EQ(weft("trace convert ../own.json own." + std::to_string(r) + ".et").code, 0);
  }
  write("nodes.yml", "1: work/own\n");
  json system = system_file();
  system["per-node-custom-implementation"] = "nodes.yml";
  write("system.json", system.dump());
  EXPECT_EQ(finish(), 12'000);
  for (const char* wrong : {"x: work/own\n", "- 1\n", "1: [a]\n"}) {
    write("nodes.yml", wrong);
    const Ran ran = import();
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("nodes.yml: "), std::string::npos) << ran.err;
  }
}

TEST_F(ImportCli, RefusesTracesOfMoreRanks) {
  ASSERT_EQ(weft("trace convert ../t.json w.8.et").code, 0);
  for (const char* mode : {"--analytical unaware", ""}) {
    ASSERT_EQ(import(mode).code, 0);
    const Ran ran = weft("run p.json");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(
        ran.err.find("workload.traces: expected traces of 8 ranks, as many as there are accelerators, but there is "
                     "w.8.et"),
        std::string::npos)
        << ran.err;
  }
}

TEST_F(ImportCli, RefusesByName) {
  const auto with = [&](const std::string& key, const json& value) {
    json system = system_file();
    system[key] = value;
    write("system.json", system.dump());
    const Ran ran = import();
    EXPECT_EQ(ran.code, 2) << key;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "work/p.json"));
    return ran.err;
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(with("all-reduce-implementation", {"ring", "ring"}),
         "system.json: all-reduce-implementation: expected as many algorithms as the network has dimensions, 1, got 2");
  expect(with("all-reduce-implementation", {"ringo"}),
         "all-reduce-implementation: expected ring, direct (direct4: with a window of 4), halvingDoubling, "
         "doubleBinaryTree, oneRing, oneDirect or oneHalvingDoubling, got \"ringo\"");
  expect(with("all-reduce-implementation", {"ring4"}), "got \"ring4\"");
  expect(with("all-reduce-implementation", {"direct0"}), "got \"direct0\"");
  expect(with("per-node-custom-implementation", "no.yml"),
         "no.yml: expected ids of nodes with a prefix of Chakra files each, got no such file");
  expect(with("scheduling-policy", "RANDOM"), "scheduling-policy: expected one of LIFO, FIFO, EXPLICIT");
  expect(with("inter-dimension-scheduling", "offlineGreedy"),
         "inter-dimension-scheduling: expected one of baseline, themis, got \"offlineGreedy\"");
  expect(with("intra-dimension-scheduling", "RG"),
         "intra-dimension-scheduling: expected one of FIFO, SmallestFirst, SCF, got \"RG\"");
  expect(with("preferred-dataset-splits", 0), "preferred-dataset-splits: expected an integer from 1");
  expect(with("prefered-dataset-splits", 4), "Did you mean \"preferred-dataset-splits\"?");
  expect(with("local-mem-bw", -1), "local-mem-bw: expected a number from 0");
  expect(with("roofline-enabled", 1), "peak-perf: expected TFLOPS above 0");

  write("system.json", system_file().dump());
  const auto network = [&](const std::string& text) {
    write("network.yml", text);
    const Ran ran = import();
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  expect(network("topology: [ Torus ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"),
         "network.yml: topology: expected each of Ring, FullyConnected, Switch, got Torus");
  expect(network("topology: [ Ring ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"),
         "npus_count: expected 1 values");
  expect(network("topology: [ Ring ]\nnpus_count: [ 1 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n"),
         "npus_count: expected a whole number above 1, got 1");
  expect(network("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 0 ]\nlatency: [ 5 ]\n"),
         "bandwidth: expected a rate above 0 in GB/s, got 0");
  expect(network("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 1e10 ]\nlatency: [ 5 ]\n"),
         "network.yml: bandwidth: expected a rate above 0, to 1e9 GB/s, got 1e10");
  expect(network("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 1e13 ]\n"),
         "network.yml: latency: expected 0 to 1e12 ns, got 1e13");
  expect(network("topology: [ Ring\n"), "network.yml: line 2: expected YAML");
  expect(network("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\n"),
         "network.yml: latency: expected a list of values, one a dimension, got nothing");
  write("network.yml", kNetwork);
  write("groups.json", R"({"1": [0, 8]})");
  expect(import("--analytical unaware --groups ../groups.json").err,
         "groups.json: 1.1: expected \"all\", or a list of different ranks below 8, got 8");
  write("memory.json", R"({"memory-type": "BIG"})");
  expect(import("--analytical unaware --memory ../memory.json").err,
         "memory.json: memory-type: expected NO_MEMORY_EXPANSION");
  write("memory.json", R"({"memory-type": "MEMORY_POOL"})");
  expect(import("--analytical unaware --memory ../memory.json").err,
         "memory.json: remote-mem-bw: expected a rate in GB/s");
  const auto nodes = [&](const json& file) {
    write("memory.json", file.dump());
    return import("--analytical unaware --memory ../memory.json").err;
  };
  json memory = {{"memory-type", "PER_NODE_MEMORY_EXPANSION"}, {"remote-mem-bw", 100}, {"num-nodes", 3}};
  expect(nodes(memory), "memory.json: num-npus-per-node: expected 1 or more, got nothing");
  memory["num-npus-per-node"] = 2;
  expect(nodes(memory), "memory.json: num-nodes: expected at least 4, with num-npus-per-node 2 each");
  expect(import("--analytical unaware --num-queues-per-dim 0").err, "--num-queues-per-dim");
  expect(
      weft("import astra-sim --network ../network.yml --system ../system.json --workload w --out ../network.yml").err,
      "--out: expected another file than ../network.yml, which is read, got \"../network.yml\"");
  const std::string memory_as_system = "import astra-sim --network ../network.yml --system ../memory.json --workload w";
  expect(
      weft(memory_as_system + " --out p.json").err,
      "memory.json: expected a system file of ASTRA-sim, got a remote memory file of ASTRA-sim; weft import astra-sim "
      "--memory ");
  write("ns3.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n");
  for (const auto& [file, what] : {std::pair("../system.json", "a system file of ASTRA-sim; "),
                                   {"../small.json", "a platform; weft run "},
                                   {"w.0.et", "a Chakra trace; weft trace info w.0.et"},
                                   {"../ns3.txt", "a topology of ns-3; weft import astra-sim --ns3-topology "}}) {
    expect(
        weft(std::string("import astra-sim --system ../system.json --workload w --out p.json --network ") + file).err,
        std::string("expected a network file of ASTRA-sim, got ") + what);
  }
  expect(weft("import astra-sim --network ../network.yml --system ../network.yml --workload w --out p.json").err,
         "network.yml: expected a system file of ASTRA-sim, got a network file of ASTRA-sim; ");
  expect(weft("run ../ns3.txt").err, "ns3.txt: expected a platform in JSON, got a topology of ns-3; ");
}

/// As the folders of other results.
TEST_F(ImportCli, MakesTheFolderOfThePlatform) {
  const std::string begin = "import astra-sim --network ../network.yml --workload w --out no/such/p.json --system ";
  EXPECT_EQ(weft(begin + "../network.yml").code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/no"));
  EXPECT_EQ(weft(begin + "../system.json").code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "work/no/such/p.json"));
}

/// A platform beside the traces that reads as one more rank, or as their groups, would stop all that take the prefix.
TEST_F(ImportCli, ThePlatformIsNoFileOfTheTraces) {
  const auto to = [this](const std::string& out) {
    return weft(
        "import astra-sim --network ../network.yml --system ../system.json --workload w --analytical unaware "
        "--out " +
        out);
  };
  for (const char* const name : {"w.8.json", "w.64.json", "w.8.json.gz"}) {
    const Ran ran = to(name);
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(ran.err.starts_with("weft: --out: expected a name that no reader takes for rank ")) << ran.err;
    EXPECT_NE(ran.err.find(std::string(" of the trace \"w\", which has w.0.et, got \"") + name + "\""),
              std::string::npos)
        << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "work" / name));
  }
  EXPECT_EQ(to("w.groups.json").err,
            "weft: --out: expected a name that no reader takes for the groups of the trace \"w\", got "
            "\"w.groups.json\"\n");
  // Of no trace, and no rank.
  for (const char* const name : {"p.1.json", "w.json", "w.x.json", "p.2.json"}) {
    EXPECT_EQ(to(name).code, 0) << name;
    EXPECT_EQ(weft(std::string("run ") + name).code, 0) << name;
  }
}

/// Not the conversion that the run has made.
TEST_F(ImportCli, MessagesNameTheJsonOfAllRanks) {
  write("one.0.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [
    {"id": 1, "name": "load", "type": "MEM_LOAD_NODE", "attr": [{"name": "tensor_size", "int64_val": 4096}]}]})");
  for (const char* const how : {"--analytical unaware", ""}) {
    ASSERT_EQ(weft(std::string("import astra-sim --network ../network.yml --system ../system.json --workload "
                               "../one.0.json --out p.json ") +
                   how)
                  .code,
              0);
    const Ran ran = weft("run p.json");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("one.0.json: node 1 'load' moves remote memory, "), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find(".weft-"), std::string::npos) << ran.err;
  }
}

/// Ends that wait for each other in two collectives: more places help nobody.
TEST_F(ImportCli, SaysWhichCollectivesEndsWaitIn) {
  const auto reduce = [](int id, const char* group, const json& after) {
    json attributes = {{{"name", "comm_type"}, {"int64_val", 0}}, {{"name", "comm_size"}, {"int64_val", 4096}}};
    if (*group != '\0') attributes.push_back({{"name", "pg_name"}, {"string_val", group}});
    return json{{"id", id}, {"name", "sum"}, {"type", "COMM_COLL_NODE"}, {"data_deps", after}, {"attr", attributes}};
  };
  for (int r = 0; r < 8; ++r) {
    const bool other = r == 1;
    json nodes = {reduce(1, other ? "" : "pair", json::array()), reduce(2, other ? "pair" : "", {1})};
    if (r > 1) nodes = {reduce(1, "", json::array())};
    write("t.json", json{{"metadata", json::object()}, {"nodes", nodes}}.dump());
    ASSERT_EQ(weft("trace convert ../t.json w." + std::to_string(r) + ".et").code, 0);
  }
  write("groups.json", R"({"pair": [0, 1]})");
  ASSERT_EQ(import("--analytical unaware --groups ../groups.json").code, 0);
  const Ran ran = weft("run p.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("rank 0: node 2 'sum', ALL_REDUCE of 4096 bytes of all ranks, comes after node 1 'sum', "
                         "ALL_REDUCE of 4096 bytes of group pair"),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(ran.err.find("hold the places"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace weft
