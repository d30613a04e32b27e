// SPDX-License-Identifier: Apache-2.0
// Flows between accelerators: who sends to whom, how long that takes, and what arrives. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sw/schedules/flows/flows.h"
#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using schedules::Flow;
using schedules::FlowPattern;
using schedules::FlowsConfig;

std::vector<Flow> flows(FlowPattern pattern, int ranks, int servers = 1, std::int64_t seed = 1) {
  FlowsConfig config;
  config.pattern = pattern;
  config.servers = servers;
  return schedules::flows_of(config, ranks, seed);
}

TEST(FlowPatterns, AreWhatTheyAreCalled) {
  EXPECT_EQ(flows(FlowPattern::kShift, 3), (std::vector<Flow>{{0, 1}, {1, 2}, {2, 0}}));
  EXPECT_EQ(flows(FlowPattern::kIncast, 3), (std::vector<Flow>{{1, 0}, {2, 0}}));
  EXPECT_EQ(flows(FlowPattern::kAllToAll, 3), (std::vector<Flow>{{0, 1}, {0, 2}, {1, 2}, {1, 0}, {2, 0}, {2, 1}}));
  EXPECT_EQ(flows(FlowPattern::kWrite, 5, 2), (std::vector<Flow>{{0, 3}, {1, 4}, {2, 3}}));
  EXPECT_EQ(flows(FlowPattern::kRead, 5, 2), (std::vector<Flow>{{3, 0}, {4, 1}, {3, 2}}));
}

TEST(FlowPatterns, APermutationLeavesNobodyInPlace) {
  for (const int ranks : {2, 3, 7, 64}) {
    for (int seed = 1; seed < 20; ++seed) {
      std::set<int> targets;
      for (const Flow& flow : flows(FlowPattern::kPermutation, ranks, 1, seed)) {
        EXPECT_NE(flow.from, flow.to);
        targets.insert(flow.to);
      }
      EXPECT_EQ(targets.size(), static_cast<std::size_t>(ranks));
    }
  }
  EXPECT_NE(flows(FlowPattern::kPermutation, 64, 1, 1), flows(FlowPattern::kPermutation, 64, 1, 2));
}

class FlowsCli : public test::CliTest {
 protected:
  FlowsCli() {
    write("flows.json", R"({"accelerators": 8, "per_node": 2, "accelerator": "h100-sxm", "nic": "connectx-7",
        "fabric": {"topology": "switch"}, "workload": {"kind": "flows", "bytes": "1MiB"}})");
  }
  json flows(const std::string& options) { return run_json("../flows.json --set workload.pattern=" + options); }
};

/// A packet that was sent again over another path is nobody's concern, wherever the first one stays.
TEST_F(FlowsCli, EndsThoughPacketsStayBeforeADeadLink) {
  write("tree.json", R"({"accelerators": 16, "per_node": 1, "accelerator": "h100-sxm", "nic": {"part": "connectx-7",
        "transport": "uet", "congestion": "nscc", "uet": {"spray": "reps"}},
        "fabric": {"topology": "fat-tree", "radix": 8, "hosts_per_leaf": 4, "routing": "ecmp",
                   "link": {"flow_control": "lossy"}, "switch": {"buffer": {"trim": "150kB"},
                   "marking": {"min": "30kB", "max": "120kB", "probability": 1}}},
        "workload": {"kind": "flows", "pattern": "permutation", "bytes": "2MB"}})");
  const test::Ran later =
      weft(R"(run ../tree.json --json --set 'fabric.faults=[{"link":"leaf0-spine0","from":"10us","down":true}]')");
  ASSERT_EQ(later.code, 0) << later.err;
  const json result = json::parse(later.out);
  EXPECT_EQ(result["warnings"][0], "network: leaf0-spine0 is down from 10us on") << result["warnings"];
  EXPECT_NE(later.err.find("packets that nobody waits for are left before what is down"), std::string::npos)
      << later.err;
  // From the start it is avoided, by any transport.
  for (const char* transport : {"uet", "roce"}) {
    const test::Ran round =
        weft(std::string("run ../tree.json --set nic.uet.spray=oblivious --set nic.transport=") + transport +
             (transport[0] == 'r' ? " --set nic.congestion=none --set fabric.link.flow_control=credits "
                                    "--set fabric.switch.buffer.trim=0B --set fabric.switch.marking.probability=0"
                                  : "") +
             R"( --set 'fabric.faults=[{"link":"leaf0-spine0","down":true}]')");
    EXPECT_EQ(round.code, 0) << round.err;
  }
}

/// Eight ends on two leaves of a tree whose switches drop.
constexpr const char* kLossyTree = R"({"accelerators": 8, "per_node": 1, "accelerator": "h100-sxm",
    "nic": "connectx-7", "fabric": {"topology": "fat-tree", "radix": 8, "hosts_per_leaf": 4,
    "link": {"flow_control": "lossy"}}, "workload": {"kind": "flows", "pattern": "permutation", "bytes": "1MiB"}})";

TEST_F(FlowsCli, TrimmingNeedsATransportThatAsksForTheRest) {
  write("lossy.json", kLossyTree);
  const test::Ran roce = weft("run ../lossy.json --set nic.recovery=true --set fabric.switch.buffer.trim=256KiB");
  EXPECT_NE(roce.code, 0);
  EXPECT_NE(
      roce.err.find("fabric.switch.buffer.trim: expected 0B, since nic.transport is roce, which asks for no packet "
                    "that was cut to its header, got 256KiB: set nic.transport=uet for that, or 0B and "
                    "nic.recovery=true, which sends again what was dropped"),
      std::string::npos)
      << roce.err;
  const std::string uet = "run ../lossy.json --set nic.transport=uet --set fabric.routing=ecmp ";
  EXPECT_EQ(weft(uet + "--set fabric.switch.buffer.trim=256KiB").err.find("buffer.trim"), std::string::npos);
  const test::Ran large = weft(uet + "--set fabric.switch.buffer.trim=64MiB");
  EXPECT_EQ(large.code, 0);
  EXPECT_NE(large.err.find("fabric.switch.buffer.trim of 64MiB is more than a switch holds, which is "),
            std::string::npos)
      << large.err;
}

TEST_F(FlowsCli, WarnsWhereNoSwitchFollowsEntropy) {
  write("lossy.json", kLossyTree);
  const std::string warning =
      "nic.transport is uet, whose packets are to take one of 128 paths each, and fabric.routing is auto, with which "
      "all of a queue pair take the same path; fabric.routing=ecmp spreads them";
  const std::string uet = "run ../lossy.json --set nic.transport=uet ";
  const test::Ran kept = weft(uet);
  EXPECT_NE(kept.err.find(warning), std::string::npos) << kept.err;
  for (const char* other : {"--set fabric.routing=ecmp", "--set fabric.routing=adaptive", "--set nic.uet.paths=1",
                            "--set fabric.topology=switch", "--set nic.transport=roce --set nic.recovery=true"}) {
    const test::Ran ran = weft(uet + other);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err.find("whose packets are to take"), std::string::npos) << other << ran.err;
  }
}

/// What a gap lets come before it is filled: in `reorder_wait`, and until what is asked for is here.
TEST_F(FlowsCli, WarnsOfAReorderBufferThatIsShorterThanItsWait) {
  write("lossy.json", kLossyTree);
  const std::string lost =
      R"(run ../lossy.json --set workload.bytes=8MiB --set nic.recovery=true --set 'fabric.faults=[{"link":"*","loss":0.001}]' )";
  const test::Ran small = weft(lost + "--set nic.reorder=1MiB");
  EXPECT_EQ(small.code, 0);
  const std::string said = "nic.reorder_wait of 20us, three times, and two round trips ";
  const std::size_t at = small.err.find(said);
  ASSERT_NE(at, std::string::npos) << small.err;
  const std::string enough =
      small.err.substr(at + said.size(), small.err.find(' ', at + said.size()) - at - said.size());
  EXPECT_NE(enough, "1MiB");
  const test::Ran large = weft(lost + "--json --set nic.reorder=" + enough);
  EXPECT_EQ(large.err.find("nic.reorder"), std::string::npos) << large.err;
  const json ran = json::parse(large.out);
  EXPECT_EQ(ran["counters"]["nic"]["dropped"], 0) << "what it names suffices";
}

TEST_F(FlowsCli, TheTableHasWhatWasSentAgain) {
  write("lossy.json", kLossyTree);
  EXPECT_EQ(weft("run ../lossy.json --set nic.recovery=true").out.find("timeouts"), std::string::npos);
  const test::Ran ran = weft(
      R"(run ../lossy.json --set nic.recovery=true --set nic.ack_timeout=50us --set 'fabric.faults=[{"link":"*","loss":0.01}]')");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("\npackets sent again  "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\ntimeouts  "), std::string::npos) << ran.out;
}

TEST_F(FlowsCli, BytesArrive) {
  for (const char* pattern : {"shift", "permutation", "incast", "all_to_all", "write", "read"}) {
    const json ran = flows(std::string(pattern) + " --data --set workload.messages=2");
    EXPECT_EQ(ran["wrong"], 0) << pattern;
    EXPECT_EQ(ran["messages"], 2 * ran["flows"].get<int>()) << pattern;
  }
}

/// Seven flows of 1 MiB into one port of 400 Gb/s: 147 us, and headers.
TEST_F(FlowsCli, AnIncastHasTheRateOfAPort) {
  const json ran = flows("incast --set per_node=1");
  const double least = 7 * 8 * 1048576 / 400e3;
  EXPECT_GT(ran["last_us"], least);
  EXPECT_LT(ran["last_us"], 1.08 * least);
  EXPECT_EQ(ran["flows"], 7);
  EXPECT_LE(ran["completion_us"]["max"], ran["last_us"]);
  EXPECT_LE(ran["completion_us"]["min"], ran["completion_us"]["median"]);
  EXPECT_NEAR(ran["goodput_gbps"].get<double>(), 7 * 8 * 1048.576 / ran["last_us"].get<double>(), 0.01);
}

TEST_F(FlowsCli, CheckpointsComeAtTheirTimes) {
  const json ran = flows("write --set workload.servers=2 --set workload.messages=4 --set workload.every=2ms");
  EXPECT_EQ(ran["flows"], 6);
  EXPECT_GT(ran["last_us"], 6000);
  EXPECT_LT(ran["last_us"], 6500);
  // What takes longer than that begins at once when the one before it has ended.
  const json late = flows("write --set workload.messages=4 --set workload.every=1us --set workload.bytes=4MiB");
  const double sum = 4 * late["completion_us"]["max"].get<double>();
  EXPECT_LT(late["last_us"], 1.01 * sum);
}

TEST_F(FlowsCli, RefuseWhatCannotBe) {
  expect_refused({"one alone",
                  "run ../flows.json --set accelerators=1 --set per_node=1",
                  {"workload.pattern: expected at least 2 accelerators"}});
  expect_refused({"servers alone",
                  "run ../flows.json --set workload.pattern=read --set workload.servers=8",
                  {"workload.servers: expected fewer servers than the 8 accelerators"}});
}

}  // namespace
}  // namespace weft
