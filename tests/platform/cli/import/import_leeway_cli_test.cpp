// SPDX-License-Identifier: Apache-2.0
// weft import astra-sim: what a run does not need stops nothing, values are read as ASTRA-sim holds them, and what it
// would never end is remarked on. Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/import_cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::ImportCli;
using test::kNetwork;
using test::Ran;
using test::system_file;
using test::trace;

/// With the AllReduce of the usual trace as another collective, in a group if one is named.
json collective(int type, const std::string& group = "") {
  json made = trace();
  made["nodes"][1]["attr"][0]["int64_val"] = type;
  if (!group.empty()) made["nodes"][1]["attr"].push_back({{"name", "pg_name"}, {"string_val", group}});
  return made;
}

constexpr int kTypeAllReduce = 0;
constexpr int kTypeAllGather = 2;

class ImportLeeway : public ImportCli {
 protected:
  void expect_said(const Ran& ran, int code, const std::string& text) {
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_NE(ran.err.find(text), std::string::npos) << text << " in " << ran.err;
  }
};

TEST_F(ImportLeeway, GroupsThatNoNodeNamesStopNothing) {
  traces(collective(kTypeAllReduce, "1"));
  const std::string unused = R"("2": [8, 9], "3": [], "4": [1, 1], "5": "some")";
  write("w.groups.json", R"({"1": [0, 1, 2, 3, 4, 5, 6, 7]})");
  const std::string groups = "--groups ../w.groups.json";
  ASSERT_EQ(import(groups + " --analytical unaware").code, 0);
  const json alone = json::parse(weft("run p.json --json").out)["last_finish_ns"];
  write("w.groups.json", R"({"1": [0, 1, 2, 3, 4, 5, 6, 7], )" + unused + "}");
  const std::string remark = "4 groups that no node names are left out (../w.groups.json: 2.0: expected ";
  expect_said(import(groups + " --analytical unaware"), 0, remark);
  EXPECT_EQ(json::parse(weft("run p.json --json").out)["last_finish_ns"], alone);
  expect_said(import(groups), 0, remark);
  expect_said(weft("trace check w " + groups), 0, remark);
  // Where a platform has them itself.
  json platform = json::parse(test::read_file(folder_ / "work/p.json"));
  platform["workload"]["groups"]["2"] = {6, 7, 8};
  write("work/p.json", platform.dump());
  expect_said(weft("run p.json"), 0, "1 group that no node names is left out (p.json: workload.groups.2.2: expected ");
  std::filesystem::remove(folder_ / "work/p.json");  // edited by hand, it is not import's to replace
  // Those that nodes name are refused.
  for (const auto& [members, message] :
       {std::pair("[0, 8]", "1.1: expected \"all\", or a list of different ranks below 8, got 8"),
        {"[]", "1: expected \"all\", or a list of different ranks below 8, got an empty list"},
        {"[0, 2, 3, 2]", "1.3: expected \"all\", or a list of different ranks below 8, got rank 2 twice"}}) {
    write("w.groups.json", std::string(R"({"1": )") + members + "}");
    expect_said(import(groups), 2, std::string("w.groups.json: ") + message);
  }
}

TEST_F(ImportLeeway, RatesOfMemoriesThatNothingPassesStopNothing) {
  json system = system_file();
  system["all-gather-implementation"] = {"ring"};
  write("system.json", system.dump());
  traces(collective(kTypeAllGather));
  const std::int64_t with_all = finish();
  system.erase("local-mem-bw");
  write("system.json", system.dump());
  write("memory.json", R"({"memory-type": "PER_NPU_MEMORY_EXPANSION"})");
  const std::string arguments = "--memory ../memory.json --analytical unaware";
  const Ran made = import(arguments);
  expect_said(made, 0, "system.json: local-mem-bw is not given, and nothing in the traces needs it");
  expect_said(made, 0, "memory.json: remote-mem-bw is not given, and nothing in the traces needs it");
  EXPECT_EQ(json::parse(weft("run p.json --json").out)["last_finish_ns"], with_all);
  expect_said(import("--memory ../memory.json"), 2, "local-mem-bw: expected a rate above 0 in GB/s, which a machine");
  traces(trace());
  expect_said(
      import(arguments), 2,
      "system.json: local-mem-bw: expected a rate above 0 in GB/s, which nodes of the traces need, got 0 or none");
  json loads = collective(kTypeAllGather);
  loads["nodes"].push_back({{"id", 2}, {"name", "load"}, {"type", "MEM_LOAD_NODE"}});
  loads["nodes"][2]["attr"] = {{{"name", "tensor_size"}, {"uint64_val", 1000}}};
  traces(loads);
  expect_said(import(arguments), 2, "memory.json: remote-mem-bw: expected a rate above 0 in GB/s, which nodes of");
}

/// ASTRA-sim's reader of YAML takes all of these.
TEST_F(ImportLeeway, NumbersOfYamlHaveItsNotations) {
  const std::int64_t plain = finish();
  write("network.yml", "topology: [ Ring ]\nnpus_count: [ 0x8 ]\nbandwidth: [ +50. ]\nlatency: [ .5e3 ]\n");
  EXPECT_EQ(finish(), plain);
  write("network.yml", "topology: [ Ring ]\nnpus_count: [ 010 ]\nbandwidth: [ 5e1 ]\nlatency: [ 0500.0 ]\n");
  EXPECT_EQ(finish(), plain);
  for (const char* rate : {".inf", ".nan", "fast", "0", "50GB"}) {
    write("network.yml",
          std::string("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ ") + rate + " ]\nlatency: [ 500.0 ]\n");
    expect_said(import(), 2, "network.yml: bandwidth: expected a rate above 0");
  }
}

/// L, o, g and G pass a 32-bit number, L, o and g an integer; what a remote memory has is an integer.
TEST_F(ImportLeeway, ValuesAreThoseThatAstraSimHolds) {
  json system = system_file();
  system.update({{"model-shared-bus", 1}, {"L", 1.5}, {"o", 0}, {"g", 0}, {"G", 0.01}, {"local-reduction-delay", 2.5}});
  write("system.json", system.dump());
  write("memory.json",
        R"({"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 7.5, "remote-mem-bw": 33.3})");
  const Ran made = import("--memory ../memory.json --analytical unaware");
  for (const char* remark : {"L 1.5 counts as 1 ns, as in ASTRA-sim", "local-reduction-delay 2.5 counts as 2 ns,",
                             "remote-mem-latency 7.5 counts as 7 ns,", "remote-mem-bw 33.3 counts as 33 GB/s,"}) {
    expect_said(made, 0, remark);
  }
  const json end = json::parse(test::read_file(folder_ / "work/p.json"))["analytical"]["end"];
  EXPECT_EQ(end["bus"]["ns_per_byte"], static_cast<double>(0.01F));
  EXPECT_EQ(end["bus"]["latency_ns"], 1);
  EXPECT_EQ(end["bus"]["reduction_ns"], 2);
  EXPECT_EQ(end["remote_latency_ns"], 7);
  EXPECT_EQ(end["remote_GBps"], 33);
  write("memory.json", R"({"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 0.5})");
  expect_said(import("--memory ../memory.json --analytical unaware"), 0, "remote-mem-bw 0.5 is below 1 GB/s");
}

/// A byte takes 0.01 ns. As a 64-bit number, 125,000 more of them take 1,250 ns, and as the 32-bit number that
/// ASTRA-sim holds, which is below, 1,249.
TEST_F(ImportLeeway, TheSharedBusCountsIn32Bits) {
  json system = system_file();
  system.update({{"model-shared-bus", 1}, {"L", 1}, {"o", 0}, {"g", 0}, {"G", 0.01}, {"local-mem-bw", 1}});
  system["preferred-dataset-splits"] = 1;
  write("system.json", system.dump());
  json sum = trace();
  sum["nodes"][1]["attr"][1]["int64_val"] = 8 * 125'001;
  traces(sum);
  ASSERT_EQ(import().code, 0);
  const json platform = json::parse(test::read_file(folder_ / "work/p.json"));
  const auto ends_at = [&](double ns_per_byte) {
    json other = platform;
    other["analytical"]["end"]["bus"]["ns_per_byte"] = ns_per_byte;
    write("work/q.json", other.dump());
    return json::parse(weft("run q.json --json").out)["last_finish_ns"].get<std::int64_t>();
  };
  const auto ran = json::parse(weft("run p.json --json").out)["last_finish_ns"].get<std::int64_t>();
  EXPECT_EQ(ran, ends_at(static_cast<double>(0.01F)));
  EXPECT_NE(ran, ends_at(0.01));
}

TEST_F(ImportLeeway, CollectivesThatAstraSimNeverEndsAreRemarkedOn) {
  write("network.yml",
        "topology: [ Ring, Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50, 50 ]\nlatency: [ 500, 500 ]\n");
  json system = system_file();
  const auto ran = [&](const json& involved) {
    write("system.json", system.dump());
    json some = trace();
    some["nodes"][1]["attr"].push_back({{"name", "involved_dim"}, {"bool_list", involved}});
    traces(some);
    EXPECT_EQ(import().code, 0);
    return weft("run p.json");
  };
  const std::string outer =
      "has an involved_dim without the first dimension, and joins all ends; in ASTRA-sim it never";
  for (const char* algorithm : {"oneRing", "oneDirect", "oneHalvingDoubling"}) {
    system["all-reduce-implementation"] = {algorithm};
    expect_said(ran({false, true}), 0, outer);
    EXPECT_EQ(ran({true, false}).err.find(outer), std::string::npos) << algorithm;
  }
  // An implementation of its own runs once, and ASTRA-sim waits for as many chunks as splits.
  write("own.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [
    {"id": 0, "name": "instead", "type": "COMP_NODE", "duration_micros": 7}]})");
  for (int r = 0; r < 8; ++r) {
    ASSERT_EQ(weft("trace convert ../own.json ../own." + std::to_string(r) + ".et").code, 0);
  }
  const std::string chunks = "ASTRA-sim waits for further chunks of it, so that it never ends";
  system["all-reduce-implementation-custom"] = {"own"};
  expect_said(ran({true, true}), 0, chunks);
  system["preferred-dataset-splits"] = 1;
  // Its compute nodes take their durations with a roofline, too.
  system.update({{"roofline-enabled", 1}, {"peak-perf", 1}});
  const Ran whole = ran({true, true});
  EXPECT_EQ(whole.err.find(chunks), std::string::npos) << whole.err;
}

/// Files and peers of an implementation of its own are numbered within the group: 0 sends to 1, which are ranks 5
/// and 6.
TEST_F(ImportLeeway, ImplementationsOfGroupsAreNumberedWithinThem) {
  json own = trace();
  for (const int place : {0, 1}) {
    own["nodes"] = {{{"id", 1},
                     {"name", "message"},
                     {"type", place == 0 ? "COMM_SEND_NODE" : "COMM_RECV_NODE"},
                     {"attr",
                      {{{"name", "comm_src"}, {"int32_val", 0}},
                       {{"name", "comm_dst"}, {"int32_val", 1}},
                       {{"name", "comm_tag"}, {"int32_val", 5}},
                       {{"name", "comm_size"}, {"int64_val", 1000}}}}}};
    write("own.json", own.dump());
    ASSERT_EQ(weft("trace convert ../own.json ../own." + std::to_string(place) + ".et").code, 0);
  }
  json system = system_file();
  system["preferred-dataset-splits"] = 1;
  system["all-reduce-implementation-custom"] = {"own"};
  write("system.json", system.dump());
  for (const int r : {5, 6}) {
    json in_group = collective(kTypeAllReduce, "both");
    in_group["nodes"].erase(0);
    in_group["nodes"][0].erase("data_deps");
    // Rank 5 has had one of another group before, so that its second meets rank 6's first.
    if (r == 5) {
      json before = in_group["nodes"][0];
      before["id"] = 0;
      before["attr"][2]["string_val"] = "before";
      in_group["nodes"][0]["data_deps"] = {0};
      in_group["nodes"] = {before, in_group["nodes"][0]};
    }
    write("t.json", in_group.dump());
    ASSERT_EQ(weft("trace convert ../t.json w." + std::to_string(r) + ".et").code, 0);
  }
  json before = collective(kTypeAllReduce, "before");
  before["nodes"].erase(0);
  before["nodes"][0].erase("data_deps");
  write("t.json", before.dump());
  ASSERT_EQ(weft("trace convert ../t.json w.7.et").code, 0);
  json computes = trace();
  computes["nodes"].erase(1);
  for (int r = 0; r < 5; ++r) {
    write("t.json", computes.dump());
    ASSERT_EQ(weft("trace convert ../t.json w." + std::to_string(r) + ".et").code, 0);
  }
  write("groups.json", R"({"both": [5, 6], "before": [5, 7]})");
  ASSERT_EQ(import("--analytical unaware --groups ../groups.json").code, 0);
  const Ran ran = weft("run p.json --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json finish = json::parse(ran.out)["finish_ns"];
  constexpr int kHop = 518;  // of 1,000 bytes, in ASTRA-sim
  constexpr int kTwoHops = 1'018;
  EXPECT_EQ(finish[7], kTwoHops);
  EXPECT_EQ(finish[6], kTwoHops + kHop);
  EXPECT_EQ(finish[0], 5'000);
  ASSERT_EQ(import("--groups ../groups.json").code, 0);
  EXPECT_EQ(weft("run p.json --data").code, 0);
}

TEST_F(ImportLeeway, NodesThatARooflineOfAstraSimDoesNotEndAreCounted) {
  json system = system_file();
  system.update({{"roofline-enabled", 1}, {"peak-perf", 1}, {"local-mem-bw", 1}});
  write("system.json", system.dump());
  const auto compute = [](int id, int operations, int bytes) {
    return json{
        {"id", id},
        {"name", "k" + std::to_string(id)},
        {"type", "COMP_NODE"},
        {"attr",
         {{{"name", "num_ops"}, {"uint64_val", operations}}, {{"name", "tensor_size"}, {"uint64_val", bytes}}}}};
  };
  json nodes = trace();
  nodes["nodes"] = {compute(1, 1'000'000, 0), compute(2, 0, 1'000), compute(3, 1'000'000, 1)};
  traces(nodes);
  const std::string no_bytes = "8 compute nodes move no bytes";
  const std::string no_operations = "8 compute nodes have no operations";
  const std::string first = "w.0.et: node 1 'k1': attribute tensor_size is 0; expected 1 or more";
  for (const auto& [name, text] : {std::pair("bytes", no_bytes), {"operations", no_operations}, {"place", first}}) {
    const Ran checked = weft("trace check w --roofline");
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_NE(checked.out.find(text), std::string::npos) << name << checked.out;
    EXPECT_EQ(weft("trace check w").out.find(text), std::string::npos) << name;
    EXPECT_EQ(import().code, 0);
    expect_said(weft("run p.json"), 0, text);
  }
  EXPECT_EQ(json::parse(weft("run p.json --json").out)["last_finish_ns"], 1'000 + 1'000 + 1'000);
  system["replay-only"] = 1;  // durations count
  write("system.json", system.dump());
  EXPECT_EQ(import().code, 0);
  EXPECT_EQ(weft("run p.json").err.find("compute nodes have no operations"), std::string::npos);
}

/// Metadata takes no time, and so no turn: what comes after it begins in the order of ids.
TEST_F(ImportLeeway, MetadataMakesNoOtherOrder) {
  json system = system_file();
  system["all-gather-implementation"] = {"ring"};
  system["reduce-scatter-implementation"] = {"ring"};
  write("system.json", system.dump());
  const auto of = [](int type, int id, const json& behind) {
    return json{{"id", id},
                {"name", "c" + std::to_string(id)},
                {"type", "COMM_COLL_NODE"},
                {"data_deps", behind},
                {"attr", {{{"name", "comm_type"}, {"int64_val", type}}, {{"name", "comm_size"}, {"int64_val", 4096}}}}};
  };
  constexpr int kReduceScatter = 7;
  for (int r = 0; r < 8; ++r) {
    json each = trace();
    each["nodes"] = {{{"id", 1}, {"name", "groups"}, {"type", "METADATA_NODE"}},
                     of(kTypeAllGather, 2, {1}),
                     of(kReduceScatter, 3, r == 0 ? json{2} : json::array())};
    write("t.json", each.dump());
    ASSERT_EQ(weft("trace convert ../t.json w." + std::to_string(r) + ".et").code, 0);
  }
  EXPECT_EQ(weft("trace check w").code, 0);
  ASSERT_EQ(import().code, 0);
  expect_said(weft("run p.json"), 0, "a trace has metadata nodes, which take no time and at which ASTRA-sim stops");
}

TEST_F(ImportLeeway, SaysWhatAFileIsThatIsNoneOfItsKinds) {
  for (const auto& [text, message] :
       {std::pair("/* ours */ {\"endpoint-delay\": 10}",
                  "system.json: line 1: expected an object of JSON, which has no "
                  "comments, got a comment"),
        {"// ours\n{}", "system.json: line 1: expected an object of JSON, which has no comments, got a comment"},
        {"[]", "system.json: "},
        {"[{\"endpoint-delay\": 10}]", "system.json: "}}) {
    write("system.json", text);
    const Ran ran = import();
    expect_said(ran, 2, message);
    EXPECT_EQ(ran.err.find("KEY: VALUE"), std::string::npos) << ran.err;
  }
  write("system.json", system_file().dump());
  const std::string expected =
      "network.yml: expected topology and npus_count, logical-dims (of ns-3) or dimensions-count (of version 1.0), "
      "got ";
  write("network.yml", "{}");
  expect_said(import(), 2, expected + "an empty object");
  write("network.yml", R"({"logical-dim": ["8"]})");
  expect_said(import(), 2, expected + "\"logical-dim\"");
}

}  // namespace
}  // namespace weft
