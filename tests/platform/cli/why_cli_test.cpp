// SPDX-License-Identifier: Apache-2.0
// weft run --why and weft why: the critical path adds up, changes nothing, and names what holds a run up. Runs the
// binary.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class WhyCli : public test::CliTest {
 protected:
  WhyCli() {
    // Eight ends at two switches.
    write("two.json", R"json({"name": "two", "accelerators": 8, "per_node": 1, "accelerator": "h100-sxm",
        "nic": "connectx-7",
        "fabric": {"topology": "graph", "segment": "16KiB", "link": {"rate": "400Gbps", "propagation": "500ns"},
                   "edges": ["end0 - a", "end1 - a", "end2 - a", "end3 - a", "end4 - b", "end5 - b", "end6 - b",
                             {"between": "end7 - b", "link": {"rate": "400Gbps"}}, "a - b", "a - b", "a - b", "a - b"]},
        "workload": {"kind": "fsdp", "model": "nano", "sequences": 1, "sequence": 128}})json");
  }
  json why(const std::string& arguments) {
    const Ran ran = weft("run --timeline-ranks 0 --out out --why " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(test::read_file(folder_ / "work" / "out" / "why.json"));
  }
  static std::int64_t sum(const json& why) {
    std::int64_t all = 0;
    for (const json& piece : why["pieces"]) all += piece["ps"].get<std::int64_t>();
    return all;
  }
  /// What most of the path goes to, by one of the names of pieces.
  static std::string worst(const json& why, const std::string& by, bool on_link = false) {
    std::map<std::string, std::int64_t> sums;
    for (const json& piece : why["pieces"]) {
      if (!on_link || piece["on_link"] == true) sums[piece[by]] += piece["ps"].get<std::int64_t>();
    }
    std::string name;
    for (const auto& [each, ps] : sums) {
      if (name.empty() || ps > sums[name]) name = each;
    }
    return name;
  }
};

TEST_F(WhyCli, AddsUpToTheRunAndChangesNothing) {
  for (const std::string platform : {"../small.json --set workload.model=nano", "../two.json"}) {
    SCOPED_TRACE(platform);
    const json plain = run_json(platform);
    const json path = why(platform);
    const json with = json::parse(weft("run --why --json " + platform).out);
    EXPECT_EQ(with["simulator"]["digest"], plain["simulator"]["digest"]);
    EXPECT_EQ(path["from_ps"], 0);
    EXPECT_DOUBLE_EQ(path["until_ps"].get<double>() * 1e-6, plain["simulated_us"].get<double>());
    EXPECT_EQ(sum(path), path["until_ps"].get<std::int64_t>());
  }
}

TEST_F(WhyCli, NamesASlowLink) {
  const json path = why("../two.json --set fabric.edges.7.link.rate=20Gbps");
  EXPECT_EQ(worst(path, "kind"), "queue");
  EXPECT_EQ(worst(path, "place", true), "network.b.out7");
  const Ran told = weft("why out");
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_TRUE(told.out.starts_with("The critical path is ")) << told.out;
  EXPECT_NE(told.out.find("The link that holds it up most is network.b.out7"), std::string::npos) << told.out;
  EXPECT_EQ(json::parse(weft("why out --json").out), path);
  EXPECT_EQ(json::parse(weft("why out/why.json --json").out), path);
}

TEST_F(WhyCli, NamesTheMemoryThatKernelsWaitFor) {
  EXPECT_EQ(worst(why("../two.json --set accelerator.hbm.rate=100Gbps"), "kind"), "memory");
  EXPECT_NE(weft("why out").out.find("waiting for HBM, "), std::string::npos);
}

TEST_F(WhyCli, NamesAStarvedBuffer) {
  const json path =
      why("../two.json --set fabric.edges.7.link.propagation=20us --set fabric.edges.7.link.buffer=64KiB");
  EXPECT_EQ(worst(path, "place", true), "network.b.out7");
  std::int64_t credit = 0;
  for (const json& piece : path["pieces"]) {
    if (piece["kind"] == "credit" && piece["place"] == "network.b.out7") credit += piece["ps"].get<std::int64_t>();
  }
  EXPECT_GT(credit, sum(path) / 5);
  EXPECT_NE(weft("why out").out.find("packets that wait for room in a buffer"), std::string::npos);
}

TEST_F(WhyCli, RefusesByName) {
  write("other.json", "{}");
  Ran ran = weft("why ../other.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: ../other.json: expected why.json of weft run --why, got another object\n");
  weft("run ../small.json --set workload.model=nano --out plain");
  ran = weft("why plain");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: OUT: plain has no why.json, which weft run --why writes\n");
  ran = weft("run themis-2d-sw-sw --why");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: --why: expected a machine of modules, got an analytical network\n");
}

}  // namespace
}  // namespace weft
