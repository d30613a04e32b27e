// SPDX-License-Identifier: Apache-2.0
// What is set and cannot be is refused with its limits, and what is set and changes nothing is named: no field that is
// named changes a result.
#include <gtest/gtest.h>

#include <algorithm>
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

using SettingsCli = CliTest;

const std::string kCollective = "collective ../small.json --op all_reduce --bytes 64KiB ";

TEST_F(SettingsCli, ValuesThatNothingHasAreRefused) {
  for (const auto& [sets, message] : std::vector<std::pair<std::string, std::string>>{
           {"--set nic.pcie.lanes=3", "nic.pcie.lanes: expected one of 1, 2, 4, 8, 12, 16 and 32, got 3"},
           {"--set nic.pcie.max_payload=129B", "nic.pcie.max_payload: expected a power of two, such as 128B, got 129B"},
           {"--set scale_up.port.pcie.max_read_request=4000B",
            "scale_up.port.pcie.max_read_request: expected a power of two, such as 2KiB, got 4KB"},
           {"--set nic.pcie.read_completion_boundary=96B",
            "nic.pcie.read_completion_boundary: expected a power of two, such as 64B, got 96B"},
           {"--set accelerator.compute.softmax_exposed=1.5",
            "accelerator.compute.softmax_exposed: expected a number from 0 to 1, got 1.5"},
           {"--set collectives.chunk=257B",
            "collectives.chunk: expected a multiple of 4 bytes, so that no element is cut in two, got 257B"},
           {"--set collectives.in_network.chunk=4100B",
            "collectives.in_network.chunk: expected a multiple of 32 bytes, so that no element is cut in two"},
           {"--set fabric.segment=4099B", "fabric.segment: expected a multiple of 4 bytes"},
           {"--set accelerator.hbm.stacks.device.timing.refi=1000000", "expected an integer from 1 to 262144"},
           {"--set seed=9223372036854775808",
            "seed: expected an integer from 0 to 9223372036854775807, got 9223372036854775808"},
           {"--set accelerator.compute.launch=99999999s",
            "accelerator.compute.launch: expected a time from \"0ps\" to \"9223372036854775807ps\", got \"99999999s\""},
           {"--set accelerator.compute.launch=5", "expected a time with its unit, such as \"1.5us\", got 5"},
           {"--set 'fabric={\"radix\": 4, \"radix\": 8}'", "--set: fabric.radix: expected each key once"},
           {"--set 'fabric.faults=[{\"loss\": 0, \"loss\": 1}]'", "expected each key once"}}) {
    const Ran ran = weft(kCollective + sets);
    EXPECT_EQ(ran.code, 2) << sets;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  }
  // The largest number of a unit that has no other limit can be read, and what is no JSON is text.
  EXPECT_EQ(weft(kCollective + "--set accelerator.compute.power.cap=9223372036854775807mW").code, 0);
  EXPECT_EQ(weft(kCollective + "--set 'description={not JSON'").code, 0);
}

TEST_F(SettingsCli, TimeoutsBelowTheRoundTripAreNamed) {
  const std::string far = kCollective +
                          "--set nic.recovery=true --set fabric.link.propagation=10us --set fabric.hosts_per_leaf=1 "
                          "--set accelerators=2 --set per_node=1 ";
  const Ran none = weft(far + "--set nic.ack_timeout=2us");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("nic.ack_timeout: expected at least 8"), std::string::npos) << none.err;
  EXPECT_NE(none.err.find("all repeats that nic.retry_limit allows would be over before it is here"), std::string::npos)
      << none.err;
  const Ran hasty = weft(far + "--set nic.ack_timeout=20us");
  EXPECT_EQ(hasty.code, 0);
  EXPECT_NE(hasty.err.find("nic.ack_timeout: 20us are over before an answer from the farthest end of fabric"),
            std::string::npos)
      << hasty.err;
  EXPECT_EQ(weft(far).err.find("ack_timeout"), std::string::npos);
}

/// Each of these is set alone: it is named, or not. What is named leaves digest and times as they are.
TEST_F(SettingsCli, WhatIsNamedChangesNothing) {
  const auto without = [](json result) {
    for (const char* key : {"without_effect", "wall_s", "cpu_s", "warnings", "simulator", "configuration"})
      result.erase(key);
    return result;
  };
  struct Case {
    std::string command;
    std::vector<std::string> named;
    std::vector<std::string> unnamed;
  };
  const std::string radix = "--set fabric.hosts_per_leaf=4 ";  // all on one leaf
  for (const auto& [command, named, unnamed] : std::vector<Case>{
           {kCollective + radix,
            {"nic.rnr_timer=99us",
             "nic.rnr_limit=1s",
             "nic.group_rate=1Gbps",
             "nic.work_queue.fetch=1",
             "fabric.link.lanes=4",
             "fabric.link.replay=true",
             "fabric.radix=128",
             "fabric.spines=3",
             "fabric.routing=ecmp",
             "fabric.switch.reduction.fp32=1",
             "accelerator.slice=2us",
             "accelerator.line_latency=1us",
             "workload.steps=2",
             "accelerator.hbm.stacks.device.geometry.channels=2",
             "remote_memory.kind=pool",
             "firmware.access_cycles=1",
             "firmware.port_cycles=1",
             "firmware.entry_cycles=1",
             "firmware.placement=pack",
             "nic.read_ahead=1TiB",
             "scale_up.port.read_ahead=1GiB"},
            {"nic.message_cost=99us", "fabric.link.rate=100Gbps", "nic.dma_rate=10Gbps", "collectives.chunk=4KiB",
             "firmware.clock=1GHz", "scale_up.port.read_latency=9us"}},
           {"collective dgx-h100 --op all_gather --bytes 64KiB --algorithm in-network --no-warmup ",
            {"collectives.chunk=64KiB", "collectives.slots=8", "collectives.channels=2", "collectives.piece=1MiB",
             "collectives.pieces=4", "collectives.in_network.lock=communicator", "collectives.in_network.window=128",
             "collectives.in_network.own_block=local", "collectives.in_network.staging.channels=0"},
            {"scale_up.port.message_cost=99us"}},
           {"collective dgx-h100 --op all_reduce --bytes 4MiB --no-warmup ",
            {"collectives.in_network.all_reduce=up-down", "collectives.in_network.staging.channels=4",
             "collectives.in_network.when_full=refuse", "collectives.piece=1MiB", "collectives.nccl.collnet=true",
             "collectives.channels=2"},
            {"collectives.in_network.chunk=16KiB", "collectives.in_network.staging.copy_engines=3",
             "collectives.nccl.nvls=false", "collectives.nccl.nvls_channels=4",
             "scale_up.fabric.switch.reduction.latency=1us"}},
           {"collective dgx-h100 --op all_reduce --bytes 64KiB --no-warmup ",
            {"collectives.nccl.nvls=false", "collectives.nccl.nvls_channels=4", "collectives.in_network.window=64"},
            {"collectives.channels=1", "collectives.protocol=simple"}},
           {"collective dgx-h100 --op all_reduce --bytes 4KiB --no-warmup ", {"collectives.channels=2"}, {}},
           {"collective dgx-h100 --op all_reduce --bytes 16MiB --no-warmup ",
            {},
            {"scale_up.fabric.switch.reduction.chunks=1", "collectives.in_network.window=65536"}},
           {"collective dgx-h100 --op all_gather --bytes 4MiB --no-warmup ",
            {"collectives.nccl.nvls=false", "collectives.nccl.pat=false"},
            {}},
           {"collective dgx-h100 --set per_node=1 --set accelerators=16 --op all_gather --bytes 16KiB --no-warmup ",
            {"collectives.nccl.nvls=false", "collectives.slots=64"},
            {"collectives.nccl.pat=false", "collectives.chunk=256B", "collectives.protocol=ll"}},
           {"collective dgx-h100 --set per_node=1 --set accelerators=16 --op all_gather --bytes 16KiB --set "
            "collectives.protocol=ll "
            "--no-warmup ",
            {"collectives.nccl.pat=false", "collectives.chunk=64KiB"},
            {}},
           {"collective dgx-h100 --op all_reduce --bytes 16MiB --algorithm in-network --type bf16 --no-warmup ",
            {"scale_up.fabric.switch.reduction.fp32=1", "scale_up.fabric.switch.reduction.int32=1",
             "scale_up.fabric.switch.reduction.low_latency_bytes=1"},
            {"scale_up.fabric.switch.reduction.bf16=1"}},
           {"collective dgx-h100 --op all_reduce --bytes 64B --algorithm in-network --no-warmup ",
            {"scale_up.fabric.switch.reduction.fp32=1"},
            {"scale_up.fabric.switch.reduction.low_latency=100us",
             "scale_up.fabric.switch.reduction.low_latency_bytes=1"}},
           {"collective llama3-8b-fsdp-64xh100 --set accelerators=16 --op all_to_all --algorithm dimensions --bytes "
            "1MiB --no-warmup ",
            {"collectives.dimensions.inter_dimension=themis", "collectives.dimensions.optimization=baseline",
             "collectives.dimensions.scheduling=FIFO"},
            {}},
           {"collective llama3-8b-fsdp-64xh100 --set accelerators=16 --op all_reduce --algorithm dimensions --bytes "
            "1MiB --no-warmup ",
            {"collectives.dimensions.scheduling=FIFO"},
            {"collectives.dimensions.optimization=baseline"}},
           {"run ../small.json --timeline-ranks 0 --out out ",
            {"accelerator.compute.panel_step=9us", "accelerator.compute.tensor_fp64=1TFLOPS",
             "accelerator.compute.lacks=fp8", "workload.offload.buffers=3", "workload.offload.piece=1MiB"},
            {"accelerator.compute.sustained=0.5", "accelerator.compute.power.idle=1W"}}}) {
    const json plain = json::parse(weft(command + "--json").out);
    EXPECT_EQ(plain["without_effect"], json::array()) << command;
    for (const std::string& set : named) {
      const json result = json::parse(weft(command + "--json --set " + set).out);
      EXPECT_EQ(result["without_effect"].size(), 1U) << set;
      if (result["without_effect"].empty()) continue;
      EXPECT_EQ(result["without_effect"][0]["field"], set.substr(0, set.find('='))) << set;
      json same = without(result);
      json expected = without(plain);
      if (plain.contains("simulator")) {
        same["digest"] = result["simulator"]["digest"];
        expected["digest"] = plain["simulator"]["digest"];
      }
      EXPECT_EQ(same, expected) << set;
    }
    for (const std::string& set : unnamed) {
      const json result = json::parse(weft(command + "--json --set " + set).out);
      EXPECT_EQ(result["without_effect"], json::array()) << set;
      EXPECT_NE(without(result), without(plain)) << set;
    }
  }
}

/// What has an effect, but not all that is set.
TEST_F(SettingsCli, ValuesThatCountAsLessSayAsWhat) {
  const std::string slots = "collective ../small.json --op all_reduce --bytes 64KiB --no-warmup ";
  const std::string counts = "weft: warning: collectives.slots: 64 counts as 32, the most that connections of trees";
  EXPECT_NE(weft(slots + "--algorithm tree --set collectives.slots=64").err.find(counts), std::string::npos);
  for (const char* whole :
       {"--algorithm tree --set collectives.slots=32", "--algorithm ring --set collectives.slots=64"}) {
    EXPECT_EQ(weft(slots + whole).err.find("counts as"), std::string::npos) << whole;
  }
  const std::string trees =
      "collective ../small.json --op all_gather --bytes 64KiB --no-warmup --algorithm multicast --set per_node=1 "
      "--set collectives.multicast.trees=";
  EXPECT_NE(weft(trees + "100").err.find("collectives.multicast.trees: 100 counts as 4, one for each member"),
            std::string::npos);
  EXPECT_EQ(weft(trees + "4").err.find("counts as"), std::string::npos);
}

/// What leads beyond simulated time, by way of what has no name.
TEST_F(SettingsCli, WhatIsTooLargeNamesItsLikelyCause) {
  const std::string one = "run ../small.json --timeline-ranks 0 --set accelerators=1 --set per_node=1 --set ";
  for (const std::string set : {"accelerator.compute.launch=9223372036854775807ps",
                                "accelerator.compute.tensor_16bit=1FLOPS", "accelerator.compute.operand_rate=1B/s",
                                "accelerator.compute.sustained=1e-16", "accelerator.hbm.core_rate=1bps"}) {
    const Ran ran = weft(one + set);
    EXPECT_EQ(ran.code, 2) << set;
    EXPECT_TRUE(ran.err.ends_with("; the likely cause is " + set + "\n")) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  // Those of the platform itself are no news.
  EXPECT_EQ(weft("run ../small.json --timeline-ranks 0 --seed 4611686018427387904").err, "");
}

/// A switch without room for a tree adds nothing up, and the field is why.
TEST_F(SettingsCli, WhatMakesSwitchesRefuseIsNotNamed) {
  const Ran ran = weft(
      "collective sharp-128 --set accelerators=8 --op all_reduce --bytes 1KiB --no-warmup "
      "--set fabric.switch.reduction.chunks=1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("the switches have no room"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("without effect"), std::string::npos) << ran.out;
}

TEST_F(SettingsCli, SharesThatLeaveNothingAreRefused) {
  const std::string node = "collective ../small.json --op all_reduce --bytes 64KiB --no-warmup ";
  for (const char* share : {"1e-8", "1e-16", "1e-300"}) {
    for (const auto& [set, message] : std::vector<std::pair<std::string, std::string>>{
             {"'fabric.faults=[{\"link\": \"*\", \"rate\": " + std::string(share) + "}]'",
              "fabric.faults.0.rate: expected at least "},
             {"fabric.switch.speedup=" + std::string(share), "fabric.switch.speedup: expected at least "},
             {"scale_up.fabric.switch.speedup=" + std::string(share),
              "scale_up.fabric.switch.speedup: expected at least "},
             {"accelerator.hbm.efficiency=" + std::string(share), "expected a share that leaves at least 1Mbps"},
             {"accelerator.compute.sparsity=" + std::string(share), "expected a number from 1 to 4, got "}}) {
      const Ran ran = weft(node + "--set " + set);
      EXPECT_EQ(ran.code, 2) << set;
      EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
      EXPECT_EQ(ran.err.find("0.000000"), std::string::npos) << ran.err;
    }
  }
  // A kernel that would not end.
  const Ran ran = weft("run ../small.json --timeline-ranks 0 --set accelerator.compute.sustained=1e-16");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("106 days"), std::string::npos) << ran.err;
  EXPECT_TRUE(nothing_written());
}

/// An option says it all; a list is one setting.
TEST_F(SettingsCli, EachSettingIsNamedOnce) {
  const auto named = [&](const std::string& more) {
    return json::parse(weft(kCollective + "--no-warmup --json " + more).out)["without_effect"];
  };
  const auto field = [](const char* path, const char* because) {
    return json::array({{{"field", path}, {"because", because}}});
  };
  EXPECT_EQ(named("--set collectives.algorithm=tree --algorithm ring"),
            field("collectives.algorithm", "--algorithm stands in its place"));
  EXPECT_EQ(named("--set seed=3 --seed 4"), field("seed", "--seed stands in its place"));
  EXPECT_EQ(named("--algorithm ring --seed 4"), json::array());
  EXPECT_EQ(named("--algorithm tree --set 'collectives.order=[1,0]'"),
            field("collectives.order", "collectives.algorithm is tree"));
}

TEST_F(SettingsCli, LinksThatAllHaveTheirOwnValueTakeNoOther) {
  write("edges.csv",
        "between,link.rate\nend0 - a,400Gbps\nend1 - a,400Gbps\nend2 - b,400Gbps\nend3 - b,400Gbps\na - b,200Gbps\n");
  write("graph.json", R"({"accelerators": 4, "per_node": 1, "accelerator": "h100-sxm", "nic": "connectx-7",
    "fabric": {"topology": "graph", "edges": "edges.csv", "segment": "64KiB"}})");
  const std::string run =
      "collective ../graph.json --op all_reduce --bytes 64KiB --no-warmup --json --set fabric.link.";
  const json rate = json::parse(weft(run + "rate=50Gbps").out);
  ASSERT_EQ(rate["without_effect"].size(), 1U);
  EXPECT_EQ(rate["without_effect"][0]["field"], "fabric.link.rate");
  const json propagation = json::parse(weft(run + "propagation=5us").out);
  EXPECT_EQ(propagation["without_effect"], json::array());
  EXPECT_GT(propagation["rows"][0]["time_us"], rate["rows"][0]["time_us"]);
}

TEST_F(SettingsCli, ARunOfItsConfigurationNamesTheSame) {
  const std::string run = "run ../small.json --timeline-ranks 0 --json --set nic.dcqcn.g=0.5 --out one";
  const json one = json::parse(weft(run).out)["without_effect"];
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(json::parse(weft("run one/config.json --timeline-ranks 0 --json --out two").out)["without_effect"], one);
  EXPECT_EQ(json::parse(weft("run two/config.json --timeline-ranks 0 --json --out three").out)["without_effect"], one);
}

/// Selective repeat without a place for what comes ahead takes longer than going back.
TEST_F(SettingsCli, AShortReorderBufferIsNamed) {
  const std::string run =
      "collective ../small.json --op all_reduce --bytes 8MiB --no-warmup --algorithm ring --set per_node=1 "
      "--set fabric.segment=4KiB --set nic.recovery=true --set 'fabric.faults=[{\"loss\": 0.001}]' --set nic.reorder=";
  EXPECT_NE(weft(run + "4KiB").err.find("nic.reorder: 4KiB had no place for "), std::string::npos);
  EXPECT_EQ(weft(run + "4MiB").err, "");
  EXPECT_EQ(weft(run + "0B").err, "");
}

TEST_F(SettingsCli, NetworksThatNothingPassedAreNotWarnedOf) {
  const std::string starved =
      "collective dgx-h100 --op all_gather --bytes 64KiB --no-warmup --set fabric.link.buffer=8KiB "
      "--set fabric.link.propagation=100us --set fabric.segment=4KiB ";
  EXPECT_EQ(weft(starved + "--algorithm ring").err, "");
  EXPECT_NE(weft(starved + "--algorithm ring --set per_node=1").err.find("(fabric.link.buffer)"), std::string::npos);
}

}  // namespace
}  // namespace weft
