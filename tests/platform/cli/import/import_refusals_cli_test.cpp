// SPDX-License-Identifier: Apache-2.0
// What weft import astra-sim and runs of what it writes refuse, and how they say where they stop. Runs the binary.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
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

/// A platform names its traces, which a run reads later.
TEST_F(ImportCli, RefusesTracesThatARunWouldNotFind) {
  const std::string begin =
      "import astra-sim --network ../network.yml --system ../system.json --out p.json --workload ";
  const Ran missing = weft(begin + "nothere");
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("nothere: expected a file, or a prefix with files nothere.0.et, nothere.1.et, ...; there "
                             "is neither"),
            std::string::npos)
      << missing.err;
  ASSERT_EQ(std::system(("mkfifo " + (folder_ / "work/pipe").string()).c_str()), 0);
  const Ran pipe = weft(begin + "pipe");
  EXPECT_EQ(pipe.code, 2);
  EXPECT_NE(pipe.err.find("--workload: expected files that stay, since the platform names them for weft run to read, "
                          "got \"pipe\", a pipe or a device"),
            std::string::npos)
      << pipe.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/p.json"));
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

TEST_F(ImportCli, RefusesTracesOfMoreRanks) {
  for (const char* mode : {"--analytical unaware", ""}) {
    ASSERT_EQ(import(mode).code, 0);
    ASSERT_EQ(weft("trace convert ../t.json w.8.et").code, 0);
    const Ran ran = weft("run p.json");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(
        ran.err.find("workload.traces: expected traces of 8 ranks, as many as there are accelerators, but there is "
                     "w.8.et"),
        std::string::npos)
        << ran.err;
    std::filesystem::remove(folder_ / "work/w.8.et");
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
         "npus_count: expected a whole number from 2 to 16777216, got 1");
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
  write("memory.json", R"({"memory-type": "BIG"})");
  expect(import("--analytical unaware --memory ../memory.json").err,
         "memory.json: memory-type: expected NO_MEMORY_EXPANSION");
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

json attribute(const char* name, const json& value) {
  return {{"name", name}, {value.is_string() ? "string_val" : "int64_val", value}};
}
json node(int id, const char* type, const json& after, const json& attributes) {
  return {{"id", id}, {"name", "never"}, {"type", type}, {"data_deps", after}, {"attr", attributes}};
}
json sum_of(int id, const char* group, const json& after = json::array()) {
  json attributes = {attribute("comm_type", 0), attribute("comm_size", 4096)};
  if (*group != '\0') attributes.push_back(attribute("pg_name", group));
  return node(id, "COMM_COLL_NODE", after, attributes);
}
json send_to(int rank, int id, const json& after) {
  return node(id, "COMM_SEND_NODE", after,
              {attribute("comm_dst", rank), attribute("comm_tag", 9), attribute("comm_size", 4)});
}
json receive_from(int rank, int id) {
  return node(id, "COMM_RECV_NODE", json::array(),
              {attribute("comm_src", rank), attribute("comm_tag", 9), attribute("comm_size", 4)});
}

/// Of which all ranks but the first two do what the others' last collective has them do.
class StuckEnds : public ImportCli {
 protected:
  Ran run_of(const json& first, const json& second) {
    for (int r = 0; r < 8; ++r) {
      const json nodes = r == 0 ? first : r == 1 ? second : json{sum_of(6, "")};
      write("t.json", json{{"metadata", json::object()}, {"nodes", nodes}}.dump());
      EXPECT_EQ(weft("trace convert ../t.json w." + std::to_string(r) + ".et").code, 0);
    }
    write("groups.json", R"({"pair": [0, 1]})");
    const Ran made = import("--analytical unaware --groups ../groups.json");
    EXPECT_EQ(made.code, 0) << made.err;
    return weft("run p.json");
  }
  const json work_ = {{"id", 5}, {"name", "work"}, {"type", "COMP_NODE"}, {"duration_micros", 3}};
};

TEST_F(StuckEnds, AreRefusedWhereDependenciesAreTheCause) {
  const Ran groups = run_of({sum_of(1, "pair"), sum_of(6, "", {1})}, {sum_of(1, ""), sum_of(6, "pair", {1})});
  EXPECT_EQ(groups.code, 2);
  EXPECT_NE(
      groups.err.find("rank 0: node 6 'never', ALL_REDUCE of 4096 bytes of all ranks, comes after node 1 'never', "
                      "ALL_REDUCE of 4096 bytes of group pair"),
      std::string::npos)
      << groups.err;
  const json all = sum_of(6, "");
  const Ran messages =
      run_of({receive_from(1, 2), send_to(1, 3, {2}), all}, {receive_from(0, 2), send_to(0, 3, {2}), all});
  EXPECT_EQ(messages.code, 2);
  EXPECT_NE(messages.err.find("w.0.et: node 3 'never': waits for itself through other ranks:"), std::string::npos)
      << messages.err;
  EXPECT_NE(
      messages.err.find("rank 1: node 3 'never', a send to rank 0, comes after node 2 'never', a receive from rank 0"),
      std::string::npos)
      << messages.err;
}

/// Times make the orders, which the files alone do not show. More places help nobody.
TEST_F(StuckEnds, SayInWhichCollectivesTheyWait) {
  const Ran ran =
      run_of({sum_of(1, "pair"), work_, sum_of(6, "", {5})}, {sum_of(6, ""), work_, sum_of(1, "pair", {5})});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(
      ran.err.find("Ends wait in collectives that other members of their groups have not begun: the all_reduce of "
                   "4096 bytes of all ends, which end 1 has begun and 1 member has not, the all_reduce of 4096 "
                   "bytes of group \"pair\", which end 0 has begun and 1 member has not"),
      std::string::npos)
      << ran.err;
  EXPECT_EQ(ran.err.find("hold the places"), std::string::npos) << ran.err;
}

TEST_F(StuckEnds, SayForWhichMessagesTheyWait) {
  const Ran ran = run_of({sum_of(6, ""), work_, send_to(1, 7, {5})}, {receive_from(0, 2), sum_of(6, "", {2})});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("8 of 8 ends have not done their traces"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("node 2 'never' waits for a message of end 0 with tag 9"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace weft
