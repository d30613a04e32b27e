// SPDX-License-Identifier: Apache-2.0
// weft run --why of execution graphs and of several jobs: a late rank, a late host, and whose bytes passed a link. Runs
// the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class WhyGraphs : public test::CliTest {
 protected:
  WhyGraphs() { write("eight.json", machine(8, "").dump()); }

  /// Ends at leaves of four, with one uplink each.
  static json machine(int accelerators, const std::string& workload) {
    json all = {{"name", "eight"},
                {"accelerators", accelerators},
                {"per_node", 1},
                {"accelerator", {{"part", "h100-sxm"}, {"shared_cores", false}, {"relay", "0ns"}}},
                {"nic", "connectx-7"},
                {"fabric",
                 {{"topology", "fat-tree"},
                  {"radix", 16},
                  {"hosts_per_leaf", 4},
                  {"uplinks", 1},
                  {"link", {{"part", "ndr-400g"}, {"buffer", "256KiB"}}},
                  {"switch", "quantum-2"},
                  {"segment", "64KiB"}}}};
    if (!workload.empty()) all["workload"] = json::parse(workload);
    return all;
  }
  static json node(int id, const char* name, int micros, bool is_cpu, const std::vector<int>& behind) {
    return {{"id", id},
            {"name", name},
            {"type", "COMP_NODE"},
            {"duration_micros", micros},
            {"data_deps", behind},
            {"attr", {{{"name", "is_cpu_op"}, {"bool_val", is_cpu}}}}};
  }
  static json sum(int id, const std::vector<int>& behind, int bytes) {
    return {{"id", id},
            {"name", "sum"},
            {"type", "COMM_COLL_NODE"},
            {"data_deps", behind},
            {"attr",
             {{{"name", "is_cpu_op"}, {"bool_val", false}},
              {{"name", "comm_type"}, {"int64_val", 0}},
              {{"name", "comm_size"}, {"int64_val", bytes}},
              {{"name", "pg_name"}, {"string_val", "0"}}}}};
  }
  /// Of eight ranks, with what each computes.
  template <typename NodesOf>
  void write_traces(const NodesOf& nodes_of) {
    for (int rank = 0; rank < 8; ++rank) {
      write("trace." + std::to_string(rank) + ".json",
            json({{"metadata", {{"version", "0.0.4"}}}, {"nodes", nodes_of(rank)}}).dump());
    }
  }
  json why(const std::string& arguments) {
    const json plain = run_json(arguments);
    const Ran ran = weft("run --timeline-ranks 0 --out out --why --json " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(json::parse(ran.out)["simulator"]["digest"], plain["simulator"]["digest"]);
    const json path = json::parse(test::read_file(folder_ / "work" / "out" / "why.json"));
    std::int64_t all = 0;
    for (const json& piece : path["pieces"]) all += piece["ps"].get<std::int64_t>();
    EXPECT_EQ(all, path["until_ps"].get<std::int64_t>() - path["from_ps"].get<std::int64_t>());
    return path;
  }
  /// What weft why prints, in one line.
  std::string told(const std::string& more = "") {
    const Ran ran = weft("why out" + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  }
  static std::string joined(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
};

TEST_F(WhyGraphs, NameALateRank) {
  write_traces([](int rank) {
    return json{node(3, "forward", rank == 5 ? 900 : 400, false, {}), sum(6, {3}, 4 << 20),
                node(9, "update", 50, false, {6})};
  });
  for (const std::string library : {"dimensions", "communicators"}) {
    SCOPED_TRACE(library);
    const json path = why("../eight.json --traces ../trace --set workload.library=" + library);
    const std::string text = joined(told());
    EXPECT_NE(text.find(" long. accelerator5 computes 2.1 times as long as the median of the 8 "), std::string::npos)
        << text;
    EXPECT_NE(text.find("all ranks all_reduce of 4 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("1 of 1 for rank 5"), std::string::npos) << text;
    ASSERT_EQ(path["collectives"].size(), 1U);
    EXPECT_TRUE(path["overlapping"].empty());
    const json& spent = path["collectives"][0];
    EXPECT_EQ(spent["members"], 8);
    EXPECT_EQ(spent["calls"], 8);
    EXPECT_EQ(spent["last"][0]["rank"], 5);
    // Seven wait half a millisecond for it; what it was at is its kernel.
    EXPECT_NEAR(spent["late_ps"].get<double>(), 7 * 500e6, 0.1 * 7 * 500e6);
    EXPECT_NEAR(spent["last"][0]["ps"].get<double>(), 500e6, 0.1 * 500e6);
    EXPECT_EQ(spent["lateness"][0]["place"], "accelerator5");
    std::map<std::string, double> waits;
    for (const json& wait : path["waits"]) waits[wait["place"]] = wait["ps"].get<double>();
    ASSERT_EQ(waits.size(), 8U);
    EXPECT_NEAR(waits["accelerator0"] - waits["accelerator5"], 500e6, 0.1 * 500e6);
  }
}

/// A message that a rank waits for, whose sender computes before it sends it.
TEST_F(WhyGraphs, NameALateSender) {
  const auto message = [](int id, bool sends, int peer, const std::vector<int>& behind) {
    return json{{"id", id},
                {"name", "message"},
                {"type", sends ? "COMM_SEND_NODE" : "COMM_RECV_NODE"},
                {"data_deps", behind},
                {"attr",
                 {{{"name", sends ? "comm_dst" : "comm_src"}, {"int32_val", peer}},
                  {{"name", "comm_tag"}, {"int32_val", 1}},
                  {{"name", "comm_size"}, {"int64_val", 4 << 20}}}}};
  };
  write_traces([&](int rank) {
    json nodes = {node(3, "forward", rank == 2 ? 900 : 100, false, {})};
    if (rank < 7) nodes.push_back(message(4, true, rank + 1, {3}));
    if (rank > 0) nodes.push_back(message(5, false, rank - 1, {}));
    if (rank > 0) nodes.push_back(node(6, "use", 50, false, {5}));
    return nodes;
  });
  const json path = why("../eight.json --traces ../trace");
  ASSERT_EQ(path["overlapping"].size(), 1U);
  const json& sent = path["overlapping"][0];
  EXPECT_EQ(sent["group"], "ranks");
  EXPECT_EQ(sent["operation"], "send");
  EXPECT_EQ(sent["calls"], 7);
  EXPECT_EQ(sent["last"][0]["rank"], 2);
  EXPECT_EQ(sent["last"][0]["times"], 1);
  // All wait from the start, six of them for kernels of 100 us.
  constexpr double kAll = (900 + 6 * 100) * 1e6;
  EXPECT_NEAR(sent["last"][0]["ps"].get<double>(), 900e6, 0.02 * 900e6);
  EXPECT_NEAR(sent["late_ps"].get<double>(), kAll, 0.02 * kAll);
  EXPECT_EQ(sent["lateness"][0]["place"], "accelerator2");
  // Bytes at 400 Gb/s take 84 us.
  const double flown = (sent["ps"].get<double>() - sent["late_ps"].get<double>()) / 7;
  EXPECT_GT(flown, 84e6);
  EXPECT_LT(flown, 2 * 84e6);
  const std::string text = joined(told());
  EXPECT_NE(text.find(" long. accelerator2 computes "), std::string::npos) << text;
  EXPECT_NE(text.find("ranks send of 4 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 7 for rank 2"), std::string::npos) << text;
}

TEST_F(WhyGraphs, NameALateHost) {
  write_traces([](int rank) {
    return json{node(10, "loader", rank == 5 ? 900 : 100, true, {}), node(3, "forward", 400, false, {10}),
                sum(6, {3}, 4 << 20)};
  });
  why("../eight.json --traces ../trace");
  const std::string text = joined(told());
  EXPECT_NE(text.find(" long. The threads of firmware5 let time pass for 900 us, 9.0 times as long as the median of "
                      "the 8 (100 us)."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1 of 1 for rank 5"), std::string::npos) << text;
}

/// Several at a time are no chain, by which changes are estimated.
TEST_F(WhyGraphs, TellOfCollectivesSideBySide) {
  write_traces([](int) { return json{sum(6, {}, 4 << 20), sum(7, {}, 2 << 20), sum(8, {}, 1 << 20)}; });
  const json path = why("../eight.json --traces ../trace --set workload.communications=0");
  EXPECT_TRUE(path["collectives"].empty());
  ASSERT_EQ(path["overlapping"].size(), 3U);
  std::int64_t longest = 0;
  for (const json& spent : path["overlapping"]) {
    EXPECT_EQ(spent["calls"], 8);
    EXPECT_GT(spent["ps"], 0);
    longest = std::max(longest, spent["ps"].get<std::int64_t>() / 8);
  }
  EXPECT_LE(longest, path["until_ps"].get<std::int64_t>());
  const std::string text = told();
  EXPECT_NE(text.find("all ranks all_reduce of 2 MiB"), std::string::npos) << text;
  const json row = json::parse(weft("why out --what-if link=x2 --json").out)[0];
  EXPECT_LE(row["estimate_ps"], row["before_ps"]);
}

/// What a link has carried is counted by ends, to the byte.
TEST_F(WhyGraphs, NameTheJobsAndFlowsThatShareALink) {
  write("jobs.json", machine(8, R"json({"kind": "jobs", "alone": false, "jobs": [
      {"name": "a", "places": [0, 1, 4, 5],
       "workload": {"kind": "flows", "pattern": "all_to_all", "bytes": "8MB"}},
      {"name": "b", "places": [2, 3, 6, 7], "start": "100us",
       "workload": {"kind": "flows", "pattern": "all_to_all", "bytes": "2MB"}}]})json")
                         .dump());
  const json path = why("../jobs.json");
  const std::string text = joined(told());
  EXPECT_NE(text.find(" long. It leads to the end of job "), std::string::npos) << text;
  EXPECT_NE(text.find("It carried 80 % for a and 20 % for b."), std::string::npos) << text;
  EXPECT_NE(text.find("a 80 %, b 20 %"), std::string::npos) << text;
  EXPECT_NE(told(" --all").find(" a: flow of "), std::string::npos);
  std::int64_t shares = 0;
  for (const json& each : path["jobs"]["shares"]) shares += each["ps"].get<std::int64_t>();
  EXPECT_EQ(shares, path["until_ps"].get<std::int64_t>());
  std::map<std::string, std::int64_t> bytes;
  const std::string table = test::read_file(folder_ / "work" / "out" / "links.csv");
  bool any_between = false;
  for (const auto& [name, link] : path["links"].items()) {
    const std::size_t at = table.find("\n" + name + ",") + 1;
    ASSERT_NE(at, 0U) << name;
    std::string line = table.substr(at, table.find('\n', at) - at);
    line = line.substr(name.size() + 1);
    for (int column = 0; column < 2; ++column) line = line.substr(line.find(',') + 1);
    // All but acknowledgements, which have no data.
    const auto all = static_cast<double>(std::stoll(line));
    EXPECT_LE(link["carried"]["bytes"].get<double>(), all) << name;
    EXPECT_GT(link["carried"]["bytes"].get<double>(), 0.999 * all) << name;
    double share = 0;
    for (const json& job : link["carried"]["jobs"]) share += job["share"].get<double>();
    EXPECT_NEAR(share, 1, 1e-9) << name;
    if (link["joins"] != "between switches" || link["network"] != "fabric") continue;
    any_between = true;
    EXPECT_NEAR(link["carried"]["jobs"][0]["share"].get<double>(), 0.8, 0.01) << name;
    EXPECT_EQ(link["alike"]["links"], path["links"][name]["alike"]["links"]);
  }
  EXPECT_TRUE(any_between);
}

/// One formula, of which both what the run warns of and what the link is busy are measures.
TEST_F(WhyGraphs, ABufferLetsThroughWhatTheWarningSays) {
  write("starved.json", machine(8, R"json({"kind": "flows", "pattern": "shift", "bytes": "64MB"})json").dump());
  const std::string set = "../starved.json --set fabric.link.buffer=128KiB --set fabric.link.propagation=10us";
  const Ran ran = weft("run --timeline-ranks 0 --out out --why " + set);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json path = json::parse(test::read_file(folder_ / "work" / "out" / "why.json"));
  int links = 0;
  for (const auto& [name, link] : path["links"].items()) {
    if (link["network"] != "fabric" || link["joins"] != "from ends") continue;
    ++links;
    // Two segments in what a segment, the flight both ways and the switch take.
    const double fills = link["fills"];
    EXPECT_NEAR(fills, 2 * 1.33 / (20 + 0.22 + 1.33), 0.005) << name;
    EXPECT_NEAR(link["utilisation"].get<double>(), fills, 0.1 * fills) << name;
    char percent[32];
    std::snprintf(percent, sizeof percent, "fills %.3g %% of a link", 100 * fills);
    EXPECT_NE((ran.out + ran.err).find(percent), std::string::npos) << percent << "\n" << ran.out << ran.err;
  }
  EXPECT_GT(links, 0);
}

// Beside the field that sets a time stand those that have a part in it, where they are set.
TEST_F(WhyGraphs, FieldsWithAPartInATimeAreNamed) {
  const auto asked = [this](const std::string& settings) {
    const Ran ran =
        weft("collective ../eight.json --op all_gather --bytes 1MiB --algorithm ring --why --out out " + settings);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return weft("why out --all").out;  // where lines may be longer than a screen
  };
  const std::string with = asked(
      "--set fabric.switch.speedup=2 --set fabric.switch.crossbar.latency=50ns --set nic.context_cache.entries=1 ");
  EXPECT_NE(with.find("fabric.uplinks 1, fabric.switch.speedup 2"), std::string::npos) << with;
  EXPECT_NE(with.find("fabric.switch.crossbar.latency 50ns"), std::string::npos) << with;
  EXPECT_NE(with.find("nic.context_cache.entries 1"), std::string::npos) << with;
  const std::string without = asked("");
  EXPECT_EQ(without.find("speedup"), std::string::npos) << without;
  EXPECT_EQ(without.find("crossbar"), std::string::npos) << without;
  EXPECT_EQ(without.find("context_cache"), std::string::npos) << without;
}

}  // namespace
}  // namespace weft
