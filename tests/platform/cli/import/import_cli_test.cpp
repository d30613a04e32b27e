// SPDX-License-Identifier: Apache-2.0
// weft import astra-sim, and weft run of what it writes. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/import_cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::ImportCli;
using test::kNetwork;
using test::Ran;
using test::system_file;
using test::trace;

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

TEST_F(ImportCli, ReadsANetworkInJson) {
  const std::int64_t by_yaml = finish();
  write("network.yml", R"({"topology": ["Ring"], "npus_count": [8], "bandwidth": [50.0], "latency": [500.0]})");
  EXPECT_EQ(finish(), by_yaml);
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
    const Ran ran = import();
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("system.json: all-reduce-implementation: expected the algorithm of a collective that is in "
                           "the traces (all-reduce-implementation in ASTRA-sim's system file)"),
              std::string::npos)
        << ran.err;
  }
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

}  // namespace
}  // namespace weft
