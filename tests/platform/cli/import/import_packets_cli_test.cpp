// SPDX-License-Identifier: Apache-2.0
// weft import astra-sim with the networks of its packet simulators, and what its command line has beside files. Runs
// the binary.
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

/// Four ends and two switches; the second pair of ends is further away, and two links join the switches.
constexpr const char* kTopology =
    "6 2 6\n4 5\n0 4 400Gbps 500ns 0\n1 4 400Gbps 0.0005ms 0\n2 5 400Gbps 1us 0\n3 5 400Gbps 1us 0\n"
    "4 5 800Gbps 500ns 0\n5 4 800Gbps 500ns 0\n";
constexpr const char* kFatTree =
    "# of three tiers\nNodes 8\nTiers 3\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\n"
    "Downlink_Latency_ns 1000\n\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 1000\n"
    "Bundle 1\n\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nBundle 2\n";

json ring_system() {
  return {{"scheduling-policy", "LIFO"},
          {"endpoint-delay", 10},
          {"active-chunks-per-dimension", 1},
          {"preferred-dataset-splits", 4},
          {"all-reduce-implementation", {"ring"}},
          {"all-gather-implementation", {"ring"}},
          {"reduce-scatter-implementation", {"ring"}},
          {"all-to-all-implementation", {"ring"}},
          {"collective-optimization", "localBWAware"},
          {"local-mem-bw", 1600}};
}

class ImportPackets : public CliTest {
 protected:
  ImportPackets() {
    write("logical.json", R"({"logical-dims": ["4"]})");
    write("topology.txt", kTopology);
    write("fat-tree.topo", kFatTree);
    write("network.yml", "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n");
    write("system.json", ring_system().dump());
    write("t.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [{"id": 1, "name": "sum", "type": "COMM_COLL_NODE",
      "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 1048576}]}]})");
    std::filesystem::create_directories(folder_ / "traces");
    for (int r = 0; r < 8; ++r) {
      EXPECT_EQ(weft("trace convert ../t.json ../traces/w." + std::to_string(r) + ".et").code, 0);
    }
  }
  /// Traces of so many ranks.
  void keep(int ranks) {
    for (int r = ranks; r < 8; ++r) std::filesystem::remove(folder_ / "traces" / ("w." + std::to_string(r) + ".et"));
  }
  Ran import(const std::string& more) {
    return weft("import astra-sim --system ../system.json --workload ../traces/w --out p.json " + more);
  }
  json platform() { return json::parse(test::read_file(folder_ / "work/p.json")); }
};

TEST_F(ImportPackets, TopologyOfNs3BecomesAGraph) {
  keep(4);
  const Ran made = import("--network ../logical.json --ns3-topology ../topology.txt");
  ASSERT_EQ(made.code, 0) << made.err;
  const json machine = platform();
  EXPECT_EQ(machine["accelerators"], 4);
  EXPECT_EQ(machine["fabric"]["topology"], "graph");
  EXPECT_EQ(machine["fabric"]["link"], json({{"rate", "400000000000bps"}, {"propagation", "500000ps"}}));
  const json edges = machine["fabric"]["edges"];
  ASSERT_EQ(edges.size(), 5U);
  EXPECT_EQ(edges[0], "end0 - switch4");
  EXPECT_EQ(edges[2]["link"]["propagation"], "1000000ps");
  EXPECT_EQ(edges[4], json({{"between", "switch4 - switch5"},
                            {"link", {{"rate", "800000000000bps"}, {"propagation", "500000ps"}}},
                            {"links", 2}}));
  EXPECT_EQ(machine["collectives"]["dimensions"]["sizes"], json({4}));
  EXPECT_EQ(machine["nic"]["dma_rate"], "800000000000bps");
  const Ran ran = weft("run p.json --data --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  // A ring of 4 sends each byte 6 times a quarter; the slowest step has the flight of two longer links.
  const json result = json::parse(ran.out);
  const double us = result["simulated_us"];
  EXPECT_DOUBLE_EQ(us, result["last_finish_ns"].get<double>() * 1e-3);
  EXPECT_GT(us, 6 * (0.25 * (1 << 20) / 50e3 + 2));
  EXPECT_LT(us, 300);
}

TEST_F(ImportPackets, ConfigurationOfNs3NamesTheTopologyAndThePayload) {
  keep(4);
  write("config.txt",
        "ENABLE_QCN 1\nPACKET_PAYLOAD_SIZE 1000\n\nTOPOLOGY_FILE topology.txt\nKMAX_MAP 2 25000000000 400\n");
  const Ran made = import("--network ../logical.json --ns3-config ../config.txt");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("config.txt: ENABLE_QCN, KMAX_MAP have no effect"), std::string::npos) << made.err;
  EXPECT_EQ(platform()["fabric"]["mtu"], "1000B");
  EXPECT_EQ(weft("run p.json").code, 0);
  // Beside the other option the file that it names is not looked for.
  write("config.txt", "TOPOLOGY_FILE ../../scratch/topology/4_nodes.txt\n");
  EXPECT_EQ(import("--network ../logical.json --ns3-config ../config.txt --ns3-topology ../topology.txt").code, 0);
}

TEST_F(ImportPackets, ErrorRatesOfNs3AreFaults) {
  std::string topology = kTopology;
  topology.replace(topology.find("500ns 0"), 7, "500ns 0.25");
  write("topology.txt", topology);
  keep(4);
  ASSERT_EQ(import("--network ../logical.json --ns3-topology ../topology.txt").code, 0);
  EXPECT_EQ(platform()["fabric"]["faults"], json::parse(R"([{"link": "end0-switch4", "loss": 0.25}])"));
  const Ran ran = weft("run p.json --data --json --set fabric.faults.0.loss=0.02");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(json::parse(ran.out)["counters"]["nic"]["damaged"], 0);
}

/// Whatever the reader, the files may be packed with gzip.
TEST_F(ImportPackets, FilesMayBePacked) {
  const auto pack = [&](const std::string& name) {
    const std::string from = (folder_ / name).string();
    ASSERT_EQ(std::system(("gzip -c '" + from + "' > '" + from + ".gz'").c_str()), 0);
  };
  write("config.txt", "TOPOLOGY_FILE topology.txt.gz\n");
  for (const char* name :
       {"logical.json", "topology.txt", "fat-tree.topo", "network.yml", "system.json", "config.txt"}) {
    pack(name);
  }
  const std::string packed = "import astra-sim --system ../system.json.gz --workload ../traces/w --out p.json ";
  ASSERT_EQ(weft(packed + "--network ../network.yml.gz --htsim-topology ../fat-tree.topo.gz").code, 0);
  const json fat_tree = platform()["fabric"];
  ASSERT_EQ(import("--network ../network.yml --htsim-topology ../fat-tree.topo").code, 0);
  EXPECT_EQ(fat_tree, platform()["fabric"]);
  keep(4);
  const Ran made = weft(packed + "--network ../logical.json.gz --ns3-config ../config.txt.gz");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["fabric"]["edges"].size(), 5U);
}

/// Editors of other systems write one.
TEST_F(ImportPackets, FilesMayBeginWithAByteOrderMark) {
  keep(4);
  const std::string mark = "\xef\xbb\xbf";
  write("system.json", mark + ring_system().dump());
  write("topology.txt", mark + kTopology);
  write("logical.json", mark + R"({"logical-dims": ["4"]})");
  const Ran made = import("--network ../logical.json --ns3-topology ../topology.txt");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["fabric"]["edges"].size(), 5U);
}

/// Rates that no machine has are those of the file, not others.
TEST_F(ImportPackets, RatesBeyondThoseOfAMachineAreRefused) {
  const std::string yml = "--network ../network.yml ";
  for (const auto& [bandwidth, got] : {std::pair("0.05", "got 0.05"), {"200000", "got 200000"}}) {
    write("network.yml",
          "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ " + std::string(bandwidth) + " ]\nlatency: [ 500.0 ]\n");
    const Ran refused = import(yml);
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("bandwidth: expected 0.116415 to 116415 GB/s"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find(got), std::string::npos) << refused.err;
    EXPECT_EQ(import(yml + "--analytical unaware").code, 0);
    std::filesystem::remove(folder_ / "work/p.json");
  }
  write("network.yml", "topology: [ FullyConnected ]\nnpus_count: [ 8 ]\nbandwidth: [ 50000 ]\nlatency: [ 500.0 ]\n");
  const Ran made = import(yml);
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("the memory of an accelerator has 125000 GB/s, the most that there is"), std::string::npos)
      << made.err;
  EXPECT_EQ(weft("run p.json").code, 0);
  json system = ring_system();
  system["local-mem-bw"] = 0.3;
  write("system.json", system.dump());
  EXPECT_NE(import(yml).err.find("local-mem-bw: expected 0.375 to 125000 GB/s"), std::string::npos);
  system["local-mem-bw"] = 1600;
  system["peak-perf"] = 0.0001;
  write("system.json", system.dump());
  const Ran refused = import(yml);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("system.json give is beyond what Weft has: p.json: accelerator.compute.tensor_16bit"),
            std::string::npos)
      << refused.err;
}

TEST_F(ImportPackets, GroupsBesideTheTracesAreTaken) {
  write("traces/w.groups.json", R"({"1": [0, 1], "2": [4, 5, 6]})");
  const Ran made = import("--network ../network.yml");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("w.groups.json, which lies beside the traces"), std::string::npos) << made.err;
  EXPECT_EQ(platform()["workload"]["groups"], json::parse(R"({"1": [0, 1], "2": [4, 5, 6]})"));
  write("mine.json", R"({"7": [0, 1]})");
  ASSERT_EQ(import("--network ../network.yml --groups ../mine.json").code, 0);
  EXPECT_EQ(platform()["workload"]["groups"], json::parse(R"({"7": [0, 1]})"));
}

TEST_F(ImportPackets, KeysOfHtsimWithoutMeaningAreNamed) {
  std::string tree = kFatTree;
  tree.replace(tree.find("Radix_Down 2"), 12, "Queue_up 100\nOversubscribed 4\nRadix_Down 2");
  write("fat-tree.topo", tree);
  const Ran made = import("--network ../network.yml --htsim-topology ../fat-tree.topo");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("fat-tree.topo: oversubscribed, queue_up have no effect"), std::string::npos) << made.err;
}

TEST_F(ImportPackets, EndsThatNobodyUsesAreLeftOut) {
  keep(2);
  write("logical.json", R"({"logical-dims": [2]})");
  ASSERT_EQ(import("--network ../logical.json --ns3-topology ../topology.txt").code, 0);
  EXPECT_EQ(platform()["accelerators"], 2);
  EXPECT_EQ(platform()["fabric"]["edges"].size(), 3U);
  EXPECT_EQ(weft("run p.json").code, 0);
}

TEST_F(ImportPackets, FatTreeOfHtsimBecomesAGraph) {
  const Ran made = import("--network ../network.yml --htsim-topology ../fat-tree.topo");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("bandwidth and latency have no effect: links are those of ../fat-tree.topo"),
            std::string::npos)
      << made.err;
  std::map<std::string, int> links;
  std::set<std::string> between;
  const json machine = platform();
  for (const json& edge : machine["fabric"]["edges"]) {
    const std::string name = edge.is_string() ? edge.get<std::string>() : edge["between"].get<std::string>();
    EXPECT_TRUE(between.insert(name).second) << name;
    const int count = edge.is_string() ? 1 : edge.value("links", 1);
    links[name.substr(0, 3)] += count;
    const std::string upper = name.substr(name.find(" - ") + 3);
    links["to " + upper] += count;
  }
  EXPECT_EQ(links["end"], 8);
  EXPECT_EQ(links["tor"], 4 * 2);
  EXPECT_EQ(links["agg"], 4 * 4);
  for (const char* lower : {"tor0", "tor3", "agg0", "agg3"}) EXPECT_EQ(links["to " + std::string(lower)], 2) << lower;
  for (const char* core : {"core0", "core1", "core2", "core3"}) {
    EXPECT_EQ(links["to " + std::string(core)], 4) << core;
  }
  EXPECT_EQ(machine["fabric"]["link"]["rate"], "200000000000bps");
  EXPECT_EQ(weft("run p.json --data").code, 0);
}

TEST_F(ImportPackets, FatTreeOfTwoTiersHasSpines) {
  write("fat-tree.topo",
        "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns "
        "100\n"
        "Switch_Latency_ns 300\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 4\nBundle 2\nDownlink_Latency_ns 200\n"
        "Switch_Latency_ns 300\n");
  ASSERT_EQ(import("--network ../network.yml --htsim-topology ../fat-tree.topo").code, 0);
  const json machine = platform();
  EXPECT_EQ(machine["fabric"]["edges"].size(), 8U + 2 * 2);
  EXPECT_EQ(machine["fabric"]["edges"][11]["between"], "tor1 - spine1");
  EXPECT_EQ(machine["fabric"]["edges"][11]["links"], 2);
  EXPECT_EQ(machine["fabric"]["switch"]["latency"], "300000ps");
  EXPECT_EQ(weft("run p.json").code, 0);
}

TEST_F(ImportPackets, MemoryOfANodeIsSharedByItsAccelerators) {
  write("memory.json",
        R"({"memory-type": "PER_NODE_MEMORY_EXPANSION", "num-nodes": 2, "num-npus-per-node": 4,
            "remote-mem-latency": 1000, "remote-mem-bw": 100})");
  write("t.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [{"id": 1, "name": "load", "type": "MEM_LOAD_NODE",
      "attr": [{"name": "tensor_size", "uint64_val": 1048576}]}]})");
  for (int r = 0; r < 8; ++r) {
    ASSERT_EQ(weft("trace convert ../t.json ../traces/w." + std::to_string(r) + ".et").code, 0);
  }
  const auto last_us = [&] {
    const Ran ran = weft("run p.json --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["simulated_us"].get<double>();
  };
  ASSERT_EQ(import("--network ../network.yml --memory ../memory.json").code, 0);
  EXPECT_EQ(platform()["remote_memory"]["kind"], "per-node");
  EXPECT_EQ(platform()["remote_memory"]["sharers"], 4);
  EXPECT_EQ(platform()["per_node"], 1);  // all talk over the same links
  const double shared = last_us();
  const double transfer = 1048576 / 100e3;  // us, of one accelerator
  EXPECT_GT(shared, 4 * transfer);
  EXPECT_LT(shared, 5 * transfer);
  for (const auto& [setting, message] :
       {std::pair("remote_memory.sharers=3",
                  "remote_memory.sharers: expected a divisor of accelerators, which is 8, got 3"),
        {"remote_memory.kind=pool", "remote_memory.sharers: expected 0, since remote_memory.kind is pool"}}) {
    const Ran ran = weft(std::string("run p.json --set ") + setting);
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  }
  write("memory.json", R"({"memory-type": "PER_NODE_MEMORY_EXPANSION", "num-nodes": 3, "num-npus-per-node": 3,
            "remote-mem-latency": 1000, "remote-mem-bw": 100})");
  std::filesystem::remove_all(folder_ / "work");
  std::filesystem::create_directories(folder_ / "work");
  const Ran refused = import("--network ../network.yml --memory ../memory.json");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("num-npus-per-node: expected a divisor of the 8 ends, got 3"), std::string::npos)
      << refused.err;
}

TEST_F(ImportPackets, ScalesAreThoseOfAstraSimsCommandLine) {
  const auto delay = [&](const std::string& more) {
    const Ran made = import("--network ../network.yml --analytical unaware " + more);
    EXPECT_EQ(made.code, 0) << made.err;
    const Ran ran = weft("run p.json --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return std::pair(json::parse(ran.out)["last_finish_ns"].get<int>(), made.err);
  };
  constexpr int kDelays = 4 * 15;  // a ring of 8: before each of 14 messages and at the end, for each chunk
  const int plain = delay("").first;
  EXPECT_EQ(plain, 64'440);
  EXPECT_EQ(delay("--injection-scale 2.5").first, plain + kDelays * 15);
  EXPECT_EQ(delay("--injection-scale 0.19").first, plain - kDelays * 9);  // whole nanoseconds
  for (const char* option : {"--comm-scale", "--compute-scale"}) {
    const auto [time, remarks] = delay(std::string(option) + " 3");
    EXPECT_EQ(time, plain) << option;
    EXPECT_NE(remarks.find(std::string(option) + " has no effect, as in ASTRA-sim"), std::string::npos) << remarks;
  }
  json system = ring_system();
  system["endpoint-delay"] = 10.75;
  write("system.json", system.dump());
  const auto [whole, said] = delay("");
  EXPECT_EQ(whole, plain);
  EXPECT_NE(said.find("endpoint-delay 10.75 counts as 10 ns, as in ASTRA-sim"), std::string::npos) << said;
  // A delay that the file leaves out is not scaled.
  system.erase("endpoint-delay");
  write("system.json", system.dump());
  EXPECT_EQ(delay("--injection-scale 2").first, plain);
}

TEST_F(ImportPackets, RefusesByName) {
  write("6.txt", "8 4 2 2 8 H100\n");
  write("early.txt", "3 1 2\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n");
  write("double.txt",
        "6 2 6\n4 5\n0 4 1Gbps 1us 0\n0 5 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 5 1Gbps 1us 0\n3 5 1Gbps 1us 0\n"
        "4 5 1Gbps 1us 0\n");
  write("direct.txt", "4 0 4\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 3 1Gbps 1us 0\n3 0 1Gbps 1us 0\n");
  write("cut.txt", "6 2 4\n4 5\n0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 5 1Gbps 1us 0\n3 5 1Gbps 1us 0\n");
  write("short.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n");
  write("rate.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 fast 1us 0\n");
  write("delay.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1year 0\n");
  write("fast.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1e300Gbps 1us 0\n");
  write("slow.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 0.1bps 1us 0\n");
  write("long.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1e300s 0\n");
  write("node.txt", "3 1 2\n2\n0 2 1Gbps 1us 0\n1 7 1Gbps 1us 0\n");
  write("apart.txt", "3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n1 2 2Gbps 1us 0\n");
  write("no.txt", "TOPOLOGY_FILE no/such.txt\n");
  write("none.txt", "ENABLE_QCN 1\n");
  write("dims.json", R"({"logical-dims": ["0"]})");
  write("many.json", R"({"logical-dims": ["8"]})");
  write("tiers.topo", "Nodes 8\nTiers 4\n");
  write("key.topo", "Nodes 8\nTier 0\nRadix 4\n");
  write("third.topo", "Nodes 8\nTiers 2\nTier 0\nRadix_Down 4\nTier 2\nRadix_Down 4\n");
  write("loss.txt", "3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n1 2 1Gbps 1us 0.1\n");
  std::string tree = kFatTree;
  write("radix.topo", tree.replace(tree.find("Radix_Down 4"), 12, "Radix_Down 8"));
  tree = kFatTree;
  write("up.topo", tree.replace(tree.find("Radix_Up 2"), 10, "Radix_Up 16777216"));
  tree = kFatTree;
  write("speed.topo", tree.replace(tree.find("Downlink_speed_Gbps 200"), 23, "Downlink_speed_Gbps 2000000"));
  const std::string begin = "import astra-sim --system ../system.json --workload ../traces/w --out p.json ";
  const std::string logical = "--network ../logical.json ";
  const std::string yml = "--network ../network.yml ";
  for (const auto& [what, arguments, message] :
       std::vector<std::tuple<const char*, std::string, std::vector<const char*>>>{
           {"no links", logical, {"logical.json: logical-dims: expected --ns3-topology FILE"}},
           {"no arithmetic",
            logical + "--ns3-topology ../topology.txt --analytical unaware",
            {"--analytical: expected", "topology.txt are for packets"}},
           {"two networks",
            yml + "--ns3-topology ../topology.txt --htsim-topology ../fat-tree.topo",
            {"--htsim-topology: expected no --ns3-topology"}},
           {"another simulator's", logical + "--ns3-topology ../6.txt", {"6.txt: line 1: expected", "\"H100\""}},
           {"switches before ends",
            logical + "--ns3-topology ../early.txt",
            {"early.txt: line 2: expected switches with"}},
           {"links that are not there", logical + "--ns3-topology ../short.txt", {"expected 2 links, got 1"}},
           {"a rate",
            logical + "--ns3-topology ../rate.txt",
            {"rate.txt: line 4: expected a rate from 1Gbps to 1000Tbps, such as 400Gbps, got \"fast\""}},
           {"a delay", logical + "--ns3-topology ../delay.txt", {"delay.txt: line 4: expected a delay", "\"1year\""}},
           {"two links at an end",
            logical + "--ns3-topology ../double.txt",
            {"double.txt: end0 - switch5: expected one link for each end", "a switch of its own"}},
           {"no switch",
            logical + "--ns3-topology ../direct.txt",
            {"direct.txt: end0 - end1: expected at least one switch", "network.yml of Ring"}},
           {"a rate beyond links",
            logical + "--ns3-topology ../fast.txt",
            {"fast.txt: line 4: expected a rate from 1Gbps to 1000Tbps, got \"1e300Gbps\""}},
           {"a rate below links",
            logical + "--ns3-topology ../slow.txt",
            {"slow.txt: line 4: expected a rate from 1Gbps to 1000Tbps, got \"0.1bps\""}},
           {"a delay beyond links",
            logical + "--ns3-topology ../long.txt",
            {"long.txt: line 4: expected a delay of at most 1ms, got \"1e300s\""}},
           {"a speed beyond links",
            yml + "--htsim-topology ../speed.topo",
            {"speed.topo: line 7: expected downlink_speed_gbps of at most 1000000, got 2000000"}},
           {"two parts", logical + "--ns3-topology ../cut.txt", {"cut.txt: expected a connected graph"}},
           {"a node",
            logical + "--ns3-topology ../node.txt",
            {"node.txt: line 4: expected the number of a node below 3"}},
           {"parallel links",
            logical + "--ns3-topology ../apart.txt",
            {"apart.txt: line 5: expected the rate, delay and error rate", "got \"2Gbps 1us 0\""}},
           {"parallel links that lose",
            logical + "--ns3-topology ../loss.txt",
            {"loss.txt: line 5: expected the rate, delay and error rate", "got \"1Gbps 1us 0.1\""}},
           {"no file",
            logical + "--ns3-topology ../missing.txt",
            {"missing.txt: expected ns-3's topology", "got no such file"}},
           {"no such topology",
            logical + "--ns3-config ../no.txt",
            {"no.txt: TOPOLOGY_FILE: expected a file relative"}},
           {"no topology",
            logical + "--ns3-config ../none.txt",
            {"none.txt: expected TOPOLOGY_FILE, or --ns3-topology"}},
           {"a dimension",
            "--network ../dims.json --ns3-topology ../topology.txt",
            {"dims.json: logical-dims.0: expected a list of numbers of ranks"}},
           {"too many ends",
            "--network ../many.json --ns3-topology ../topology.txt",
            {"topology.txt: expected at least the 8 ends of ../many.json, got 4"}},
           {"tiers", yml + "--htsim-topology ../tiers.topo", {"tiers.topo: line 2: expected 2 or 3 tiers, got 4"}},
           {"a tier beyond", yml + "--htsim-topology ../third.topo", {"third.topo: line 5: expected tiers below 2"}},
           {"a key of a tier",
            yml + "--htsim-topology ../key.topo",
            {"key.topo: line 3: expected one of", "\"radix\""}},
           {"a radix",
            yml + "--htsim-topology ../radix.topo",
            {"radix.topo: line 21: expected radix_down 4 in tier 2", "got 8"}},
           {"links beyond any memory",
            yml + "--htsim-topology ../up.topo",
            {"up.topo: line 9: expected at most 4194304 links of a tier, got 67108864"}},
           {"a scale", yml + "--injection-scale x", {"--injection-scale"}},
           {"no scale", yml + "--injection-scale nan", {"--injection-scale: expected a number, got nan"}}}) {
    const std::string all = begin + arguments;
    expect_refused({what, all.c_str(), message});
  }
}

}  // namespace
}  // namespace weft
