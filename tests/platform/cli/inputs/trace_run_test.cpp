// SPDX-License-Identifier: Apache-2.0
// What weft trace check says of a trace is what weft run does with it, and what weft trace repair makes of it runs.
// Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::CliTest;
using test::Ran;

constexpr int kTraceRanks = 4;
constexpr const char* kRingNetwork = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n";
constexpr const char* kRingSystem =
    R"({"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 1, "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"],
        "reduce-scatter-implementation": ["ring"], "all-to-all-implementation": ["ring"],
        "collective-optimization": "localBWAware", "local-mem-bw": 1600})";

json attributes(const json& values) {
  json all = json::array();
  for (const auto& [name, value] : values.items()) {
    const char* const kind = value.is_boolean() ? "bool_val" : value.is_string() ? "string_val" : "int64_val";
    all.push_back({{"name", name}, {kind, value}});
  }
  return all;
}

json node(int id, const char* type, const json& values, const json& more = json::object()) {
  json made = {{"id", id}, {"name", "n" + std::to_string(id)}, {"type", type}, {"attr", attributes(values)}};
  made.update(more);
  return made;
}

json work(int id, const json& dependencies = json::array()) {
  return node(id, "COMP_NODE", json::object(), {{"duration_micros", 5}, {"data_deps", dependencies}});
}

json sum(int id, int bytes = 4096, const json& more = json::object()) {
  json values = {{"comm_type", 0}, {"comm_size", bytes}};
  values.update(more);
  return node(id, "COMM_COLL_NODE", values);
}

json groups(const json& list) {
  return node(1, "METADATA_NODE", json::object(),
              {{"name", "## process_group:init ##"}, {"inputs", {{"values", "['" + list.dump() + "']"}}}});
}

/// Nodes by rank; the last ones are those of the ranks after it, too.
using Trace = std::vector<json>;

class TraceRun : public CliTest {
 protected:
  TraceRun() {
    write("network.yml", kRingNetwork);
    write("system.json", kRingSystem);
  }

  void trace(const Trace& ranks, int files = kTraceRanks) {
    for (int r = 0; r < files; ++r) {
      const json& nodes = ranks[std::min(static_cast<std::size_t>(r), ranks.size() - 1)];
      write("t." + std::to_string(r) + ".json", json{{"metadata", json::object()}, {"nodes", nodes}}.dump());
    }
    std::filesystem::remove_all(folder_ / "work");
    std::filesystem::create_directory(folder_ / "work");
    const Ran made = weft("trace convert ../t w");
    ASSERT_EQ(made.code, 0) << made.err;
    for (int r = 0; r < files; ++r) std::filesystem::remove(folder_ / ("t." + std::to_string(r) + ".json"));
  }
  /// By its arithmetic, or on the machine.
  Ran run(const std::string& prefix, bool on_machine) {
    const Ran imported =
        weft("import astra-sim --network ../network.yml --system ../system.json --out p.json --workload " + prefix +
             (on_machine ? "" : " --analytical unaware"));
    if (imported.code != 0) return imported;
    return weft(std::string("run p.json --json") + (on_machine ? " --data --timeline-ranks 0" : ""));
  }
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }
};

struct Broken {
  const char* what;
  Trace ranks;
  const char* found;  ///< in what check and run say
  int files = kTraceRanks;
};

std::vector<Broken> broken_traces() {
  const json send = node(1, "COMM_SEND_NODE", {{"comm_dst", 1}, {"comm_tag", 3}, {"comm_size", 64}});
  const json receive = node(1, "COMM_RECV_NODE", {{"comm_src", 0}, {"comm_tag", 3}, {"comm_size", 64}});
  const json none = json::array();
  return {
      {"itself", {{work(1, {1})}, none}, "node 1 'n1': depends on itself"},
      {"dangling", {{work(1, {7})}, none}, "depends on node 7, which is not in the file"},
      {"twice", {{work(1), work(1)}, none}, "the id is there more than once"},
      {"cycle", {{work(1, {2}), work(2, {1})}, none}, "waits for node 2 'n2', which waits for node 1 'n1'"},
      {"invalid", {{node(1, "INVALID_NODE", json::object())}, none}, "its type is INVALID_NODE"},
      {"no size", {{node(1, "COMM_COLL_NODE", {{"comm_type", 0}})}}, "COMM_COLL_NODE has no attribute comm_size"},
      {"no type", {{node(1, "COMM_COLL_NODE", {{"comm_size", 8}})}}, "COMM_COLL_NODE has no attribute comm_type"},
      {"negative size", {{sum(1, -4)}}, "attribute comm_size is -4; expected at least 0"},
      {"no peer", {{node(1, "COMM_SEND_NODE", {{"comm_size", 64}})}, none}, "COMM_SEND_NODE has no attribute comm_dst"},
      {"receives from nobody", {{node(1, "COMM_RECV_NODE", {{"comm_size", 64}})}, none}, "no attribute comm_src"},
      {"peer out of range",
       {{node(1, "COMM_SEND_NODE", {{"comm_dst", 4}, {"comm_size", 64}})}, none},
       "attribute comm_dst is 4; expected a rank from 0 to 3"},
      {"to itself",
       {{node(1, "COMM_SEND_NODE", {{"comm_dst", 0}, {"comm_size", 64}})}, none},
       "attribute comm_dst is 0; expected another rank than the file's own"},
      {"of another",
       {{node(1, "COMM_SEND_NODE", {{"comm_src", 2}, {"comm_dst", 1}, {"comm_size", 64}})}, {receive}, none},
       "attribute comm_src is 2; expected the file's own rank, 0"},
      {"lone send", {{send}, none}, "sends to rank 1 what it does not receive"},
      {"lone receive", {none, {receive}, none}, "receives from rank 0 what it does not send"},
      {"another tag",
       {{send}, {node(1, "COMM_RECV_NODE", {{"comm_src", 0}, {"comm_tag", 4}, {"comm_size", 64}})}, none},
       "sends to rank 1 what it does not receive"},
      {"message of two sizes",
       {{send}, {node(1, "COMM_RECV_NODE", {{"comm_src", 0}, {"comm_tag", 3}, {"comm_size", 65}})}, none},
       "sends 64 bytes to rank 1 with tag 3; expected the 65 bytes"},
      {"unknown group", {{sum(1, 64, {{"pg_name", "tp"}})}, none}, "is of group \"tp\", which neither"},
      {"not a member",
       {{groups({{{"pg_name", "1"}, {"ranks", {1, 2}}}}), sum(2, 64, {{"pg_name", "1"}})}, none},
       "is of group \"1\", to which rank 0 does not belong"},
      {"a rank that is not there",
       {{groups({{{"pg_name", "1"}, {"ranks", {0, 9}}}}), sum(2, 64, {{"pg_name", "1"}})}, none},
       "is of group \"1\", of ranks 0, 9, and rank 9 has no file; expected a trace and a machine of 10 ranks"},
      {"sizes that differ",
       {{sum(1, 64)}, {sum(1, 128)}},
       "is ALL_REDUCE of 128 bytes; expected ALL_REDUCE of 64 bytes"},
      {"types that differ", {{sum(1, 64)}, {sum(1, 64, {{"comm_type", 2}})}}, "is ALL_GATHER of 64 bytes; expected"},
      {"one more", {{sum(1)}, {sum(1), sum(2)}}, "the rank issues 2 collectives of all ranks; expected 1"},
      {"not all", {{sum(1)}, {sum(1)}, none}, "the rank issues 0 collectives of all ranks; expected 1"},
      {"root outside", {{sum(1, 64, {{"comm_type", 5}, {"root", 4}})}}, "its root is 4"},
      {"roots that differ",
       {{sum(1, 64, {{"comm_type", 5}, {"comm_root", 1}})}, {sum(1, 64, {{"comm_type", 5}, {"comm_root", 0}})}},
       "its root is 0; expected 1, as in rank 0"},
      {"no file", {{sum(1)}}, "has no file; expected files of all ranks from 0 to 3", 3},
      {"kind of a value",
       {{node(1, "MEM_LOAD_NODE", {{"tensor_size", "many"}})}, none},
       "attribute tensor_size is string_val"},
  };
}

TEST_F(TraceRun, RefusesWhatCheckFindsAndRunsWhatRepairMakesOfIt) {
  for (const Broken& broken : broken_traces()) {
    SCOPED_TRACE(broken.what);
    trace(broken.ranks, broken.files);
    const Ran checked = weft("trace check w --ranks 4");
    EXPECT_EQ(checked.code, 1) << checked.out;
    EXPECT_NE(checked.out.find(broken.found), std::string::npos) << checked.out;
    for (const bool on_machine : {false, true}) {
      const Ran ran = run("w", on_machine);
      EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
      EXPECT_NE(ran.err.find(broken.found), std::string::npos) << ran.err;
      EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
      EXPECT_FALSE(std::filesystem::exists(folder_ / "work/out"));
    }
    const Ran repaired = weft("trace repair w r --ranks 4");
    if (std::string(broken.found).find("is of group") != std::string::npos) {
      EXPECT_EQ(repaired.code, 2) << repaired.out;
      EXPECT_NE(repaired.err.find(broken.found), std::string::npos) << repaired.err;
      EXPECT_FALSE(std::filesystem::exists(folder_ / "work/r.0.et"));
      continue;
    }
    EXPECT_EQ(repaired.code, 0) << repaired.out << repaired.err;
    EXPECT_NE(repaired.out.find("wrote 4 files, r.0.et to r.3.et"), std::string::npos) << repaired.out;
    EXPECT_EQ(weft("trace check r").code, 0);
    for (const bool on_machine : {false, true}) {
      const Ran ran = run("r", on_machine);
      EXPECT_EQ(ran.code, 0) << ran.err;
    }
  }
}

struct Odd {
  const char* what;
  Trace ranks;
  const char* remark;
};

TEST_F(TraceRun, TakesWhatCheckRemarksOn) {
  const json list = groups({{{"pg_name", "0"}, {"pg_desc", "default_pg"}, {"ranks", json::array()}},
                            {{"pg_name", "4"}, {"pg_desc", "tp"}, {"ranks", {1, 0}}}});
  const std::vector<Odd> odd = {
      {"no time", {{node(1, "COMP_NODE", json::object()), work(2, {1})}}, "4 compute nodes take no time"},
      {"on the CPU",
       {{sum(1, 4096, {{"is_cpu_op", true}})}},
       "4 collectives and messages are marked as operations of the CPU"},
      {"description",
       {{list, sum(2, 64, {{"pg_name", "tp"}})}, {list, sum(2, 64, {{"pg_name", "tp"}})}, json::array()},
       "2 groups are found by their descriptions"},
      {"of others",
       {{list, sum(2, 64, {{"pg_name", "4"}})}, {sum(2, 64, {{"pg_name", "4"}})}, json::array()},
       "1 group is taken from the metadata of other ranks"},
  };
  for (const Odd& each : odd) {
    SCOPED_TRACE(each.what);
    trace(each.ranks);
    const Ran checked = weft("trace check w");
    EXPECT_EQ(checked.code, 0) << checked.out;
    EXPECT_NE(checked.out.find(std::string("remark: ") + each.remark), std::string::npos) << checked.out;
    for (const bool on_machine : {false, true}) {
      const Ran ran = run("w", on_machine);
      EXPECT_EQ(ran.code, 0) << ran.err;
      EXPECT_NE(ran.err.find(std::string("weft: warning: ") + each.remark), std::string::npos) << ran.err;
      const json summary = json::parse(ran.out);
      ASSERT_FALSE(summary["warnings"].empty());
      EXPECT_TRUE(summary["warnings"][0].get<std::string>().starts_with(each.remark)) << summary["warnings"];
    }
  }
}

// The AllReduce takes what one without is_cpu_op does, not the node's recorded time.
/// Where durations count, operations alone take next to no time, and a warning says so.
TEST_F(TraceRun, OperationsWithoutTimeAreRemarkedOn) {
  trace({{node(1, "COMP_NODE", {{"num_ops", 1'000'000'000}, {"tensor_size", 1'000'000}}), sum(2)}});
  const Ran arithmetic = run("w", false);
  EXPECT_NE(arithmetic.err.find("4 compute nodes have num_ops and no duration, and take 1 ns, as in ASTRA-sim with "
                                "roofline-enabled 0"),
            std::string::npos)
      << arithmetic.err;
  EXPECT_NE(run("w", true).err.find("4 compute nodes have num_ops and no duration, and take no time"),
            std::string::npos);
  EXPECT_EQ(weft("run p.json --set workload.compute=operations --timeline-ranks 0").err.find("num_ops"),
            std::string::npos);
}

/// Of two collectives, times decide which one a rank could begin first.
TEST_F(TraceRun, AMachineTakesAnOrderThatAllCanFollow) {
  const auto after = [](json made, const json& ids) {
    made["data_deps"] = ids;
    return made;
  };
  const auto work_of = [&](int id, int micros) {
    json made = work(id);
    made["duration_micros"] = micros;
    return made;
  };
  // Rank 0 has 64 bytes before 128 always, the others as their work ends.
  const auto first = [&](int micros) {
    return json{work_of(1, micros), after(sum(2, 64), {1}), after(sum(3, 128), {2})};
  };
  const auto others = [&](int small, int large) {
    return json{work_of(1, large),
                after(node(2, "COMP_NODE", {{"is_cpu_op", true}}, {{"duration_micros", small}}), json::array()),
                after(sum(4, 128), {1}), after(sum(5, 64), {2})};
  };
  trace({first(5), others(5, 5000)});
  EXPECT_EQ(weft("trace check w").code, 0);
  EXPECT_EQ(run("w", true).code, 0);
  // They hold 128 back, since rank 0 has begun 64.
  trace({first(5), others(5000, 50)});
  EXPECT_EQ(run("w", true).code, 0);
  // They could begin with 128 long before, and rank 0 cannot.
  trace({first(500), others(5000, 5)});
  EXPECT_EQ(weft("trace check w").code, 0);
  const Ran ran = run("w", true);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("wrong"), 0);
}

/// Rank 0 has one group before the other, rank 1 the other way round, and nothing but the limit of one at a time minds.
TEST_F(TraceRun, RanksThatTakeTurnsInOtherOrdersAreRemarkedOn) {
  const json both = groups({{{"pg_name", "a"}, {"ranks", {0, 1}}}, {{"pg_name", "b"}, {"ranks", {0, 1}}}});
  const auto of = [](int id, const char* group) { return sum(id, 64, {{"pg_name", group}}); };
  trace({{both, of(2, "a"), of(3, "b")}, {both, of(2, "b"), of(3, "a")}, json::array()});
  const Ran checked = weft("trace check w");
  EXPECT_EQ(checked.code, 0);
  EXPECT_NE(checked.out.find("remark: 1 rank takes its collectives and sends in an order in which ranks wait"),
            std::string::npos)
      << checked.out;
  EXPECT_EQ(run("w", true).code, 0);
  const Ran arithmetic = run("w", false);
  EXPECT_EQ(arithmetic.code, 1);
  EXPECT_NE(arithmetic.err.find("take collectives of several groups in different orders"), std::string::npos)
      << arithmetic.err;
}

TEST_F(TraceRun, RefusesRanksThatWaitForEachOther) {
  const auto message = [](int id, bool sends, const json& after) {
    return node(id, sends ? "COMM_SEND_NODE" : "COMM_RECV_NODE",
                {{sends ? "comm_dst" : "comm_src", sends ? 0 : 1}, {"comm_tag", 0}, {"comm_size", 64}},
                {{"data_deps", after}});
  };
  const auto barrier = [](int id, const json& after) {
    json made = sum(id, 64);
    made["data_deps"] = after;
    return made;
  };
  const json none = json::array();
  trace({{message(1, false, none), barrier(2, {1})}, {barrier(1, none), message(2, true, {1})}, {barrier(1, none)}});
  const char* const circle =
      "waits for itself through other ranks:\n"
      "    rank 0: node 2 'n2', ALL_REDUCE of 64 bytes of all ranks, comes after node 1 'n1', a receive from rank 1\n"
      "    rank 1: node 2 'n2', a send to rank 0, comes after node 1 'n1', ALL_REDUCE of 64 bytes of all ranks";
  const Ran checked = weft("trace check w");
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.out.find(circle), std::string::npos) << checked.out;
  for (const bool on_machine : {true, false}) {
    const Ran ran = run("w", on_machine);
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(circle), std::string::npos) << ran.err;
  }
  const Ran repaired = weft("trace repair w mended");
  EXPECT_EQ(repaired.code, 1);
  EXPECT_NE(repaired.out.find("weft trace repair leaves it, since nothing says which"), std::string::npos)
      << repaired.out;
}

/// What has a root ends on some ranks before others begin it, or not: a machine that stops says that it may.
TEST_F(TraceRun, AMachineThatStopsSaysWhatMayBeWhy) {
  const auto from = [](int id, const char* group, const json& after) {
    json made = sum(id, 1 << 20, {{"comm_type", 5}, {"comm_root", 0}, {"pg_name", group}});
    made["data_deps"] = after;
    return made;
  };
  const json none = json::array();
  const json as_root = {from(1, "1", none), from(2, "2", {1})};
  trace({as_root, {from(1, "2", none), from(2, "1", {1})}, as_root});
  write("work/w.groups.json", R"({"1": [0, 1, 2, 3], "2": [0, 1, 2, 3]})");
  EXPECT_EQ(weft("trace check w").code, 0);
  const Ran ran = run("w", true);
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("deadlock: nothing can happen any more"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("warning: 1 cycle of ranks that wait for each other, unless collectives with a root end"),
            std::string::npos)
      << ran.err;
}

/// Messages of equal ranks and tag meet by size, on the machine as in ASTRA-sim's arithmetic.
TEST_F(TraceRun, MessagesMeetBySize) {
  const auto message = [](int id, bool sends, int bytes) {
    return node(id, sends ? "COMM_SEND_NODE" : "COMM_RECV_NODE",
                {{sends ? "comm_dst" : "comm_src", sends ? 1 : 0}, {"comm_tag", 3}, {"comm_size", bytes}});
  };
  trace({{message(1, true, 64), message(2, true, 4096)}, {message(1, false, 4096), message(2, false, 64)}, {work(1)}});
  EXPECT_EQ(weft("trace check w").out, "4 ranks, 6 nodes, no findings\n");
  for (const bool on_machine : {false, true}) EXPECT_EQ(run("w", on_machine).code, 0);
}

TEST_F(TraceRun, TimesOfCollectivesOnTheCpuAreTheNetworks) {
  for (const bool on_machine : {false, true}) {
    trace({{sum(1, 1 << 20)}});
    const json plain = json::parse(run("w", on_machine).out);
    trace({{sum(1, 1 << 20, {{"is_cpu_op", true}})}});
    EXPECT_EQ(json::parse(run("w", on_machine).out)["finish_ns"], plain["finish_ns"]);
  }
}

// ASTRA-sim knows BROADCAST alone of those with a root, by its recorded duration. The machine sends what they send.
TEST_F(TraceRun, TakesCollectivesWithARoot) {
  const auto rooted = [](int type, int micros) {
    json made = sum(1, 4096, {{"comm_type", type}});
    made["duration_micros"] = micros;
    return Trace{{made}};
  };
  for (const auto& [type, name] : {std::pair{5, "BROADCAST"}, {1, "REDUCE"}, {3, "GATHER"}, {4, "SCATTER"}}) {
    SCOPED_TRACE(name);
    trace(rooted(type, 70));
    const Ran machine = run("w", true);
    EXPECT_NE(machine.err.find("4 collectives name no root, and take the first rank of their group"), std::string::npos)
        << machine.err;
    EXPECT_EQ(json::parse(machine.out)["wrong"], 0);
    EXPECT_GT(json::parse(machine.out)["last_finish_ns"], 1000);
    const Ran arithmetic = run("w", false);
    if (type == 5) {
      EXPECT_NE(arithmetic.err.find("4 BROADCAST: the recorded duration, as in ASTRA-sim"), std::string::npos);
      EXPECT_EQ(json::parse(arithmetic.out)["last_finish_ns"], 70'000);
    } else {
      EXPECT_EQ(arithmetic.code, 2);
      EXPECT_NE(arithmetic.err.find(std::string("node 1 'n1' is a ") + name + ": ASTRA-sim's arithmetic has"),
                std::string::npos);
      EXPECT_NE(weft("trace check w").out.find("remark: 4 collectives are REDUCEs, GATHERs or SCATTERs"),
                std::string::npos);
    }
  }
  trace(rooted(5, 0));
  const Ran ran = run("w", false);
  EXPECT_NE(ran.err.find("4 BROADCAST without a recorded duration: 1 ns, as in ASTRA-sim"), std::string::npos);
  EXPECT_EQ(json::parse(ran.out)["last_finish_ns"], 1);
}

TEST_F(TraceRun, WhatAstraSimHasNotIsRemarkedOn) {
  trace({{sum(1, 0, {{"comm_type", 9}}), sum(2, 4096, {{"comm_type", 8}})}});
  const Ran ran = run("w", false);
  EXPECT_NE(ran.err.find("4 BARRIER: an ALL_REDUCE of no bytes"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("4 REDUCE_SCATTER_BLOCK: a REDUCE_SCATTER"), std::string::npos) << ran.err;
}

// Rings of 2 and of everybody, by PyTorch's lists: what a groups file gives, and it goes before them.
TEST_F(TraceRun, TakesTheGroupsOfTheTrace) {
  const auto rank = [](const json& tp, const char* name) {
    return json{groups({{{"pg_name", "0"}, {"ranks", json::array()}}, {{"pg_name", "1"}, {"ranks", tp}}}),
                sum(2, 1 << 20, {{"pg_name", name}}), sum(3, 4096, {{"pg_name", "0"}})};
  };
  const Trace by_metadata = {rank({0, 1}, "1"), rank({0, 1}, "1"), rank({2, 3}, "1"), rank({2, 3}, "1")};
  json lists = {{"1", {0, 1}}, {"2", {2, 3}}};
  write("groups.json", lists.dump());
  for (const bool on_machine : {false, true}) {
    trace(by_metadata);
    const Ran ran = run("w", on_machine);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json finish = json::parse(ran.out)["finish_ns"];
    EXPECT_EQ(finish[0], finish[3]);
    trace({rank({0, 1}, "1"), rank({0, 1}, "1"), rank({0, 1}, "2"), rank({0, 1}, "2")});
    ASSERT_EQ(
        weft(std::string("import astra-sim --network ../network.yml --system ../system.json --workload w --groups "
                         "../groups.json --out p.json") +
             (on_machine ? "" : " --analytical unaware"))
            .code,
        0);
    const Ran by_file = weft("run p.json --json --timeline-ranks 0");
    ASSERT_EQ(by_file.code, 0) << by_file.err;
    EXPECT_EQ(json::parse(by_file.out)["finish_ns"], finish);
    EXPECT_NE(by_file.err.find("4 traces name process groups, and the groups file goes before them"), std::string::npos)
        << by_file.err;
  }
}

TEST_F(TraceRun, RepairNeverOverwritesItsInput) {
  trace({{work(1, {1})}, json::array()});
  const std::string before = test::read_file(folder_ / "work/w.0.et");
  for (const char* arguments : {"trace repair w w", "trace repair w ./w", "trace repair w.0.et ../work/w.0.et"}) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.err.find("TO: expected another file than "), std::string::npos) << ran.err;
    EXPECT_EQ(test::read_file(folder_ / "work/w.0.et"), before);
  }
  EXPECT_EQ(weft("trace repair w w.0.et/r").code, 2);
  EXPECT_EQ(weft("trace repair w new/r").code, 0) << "its folder is made";
  const Ran ran = weft("trace repair w r");
  EXPECT_EQ(ran.out,
            "dependencies of a node on itself, left out: 1 (the first in w.0.et, node 1)\n"
            "wrote 4 files, r.0.et to r.3.et\n");
  const json report = json::parse(weft("trace repair w s --json").out);
  EXPECT_EQ(report["mended"][0]["count"], 1);
  EXPECT_EQ(report["left"], 0);
  EXPECT_EQ(weft("trace repair r t").out,
            "nothing to mend in the 4 ranks that there are; --ranks N, if there are to be more\nwrote 4 files, t.0.et "
            "to t.3.et\n");
}

}  // namespace
}  // namespace weft
