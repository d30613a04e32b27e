// SPDX-License-Identifier: Apache-2.0
// The edges of what a user may set: within the documented limits a command runs, or says which field is at fault and
// what helps; and what is set without effect is told.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::CliTest;
using test::Ran;

using EdgesCli = CliTest;

std::string nested(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += R"({"nic":)";
  return text + "1" + std::string(depth, '}');
}

TEST_F(EdgesCli, ArithmeticDoesNotOverflow) {
  for (const auto& [what, arguments, message] : std::vector<test::BadInput>{
           {"no operations a second",
            "run ../small.json --set accelerator.compute.tensor_16bit=989FLOPS",
            {"accelerator.compute: expected rates at which each kernel ends within the 106 days"}},
           {"hardly any memory",
            "collective ../small.json --op all_reduce --set accelerator.hbm.stacks.count=0 --set "
            "accelerator.hbm.efficiency=1e-300",
            {"accelerator.hbm.efficiency: expected a share that leaves at least 1Mbps", "got 0bps"}},
           {"a clock of a picosecond",
            "collective ../small.json --op all_reduce --set accelerator.hbm.stacks.clock=1ps",
            {"accelerator.hbm.stacks.clock: expected 0ps or at least 100ps"}}}) {
    expect_refused({what, arguments, message});
  }
}

TEST_F(EdgesCli, DeepJsonIsRefused) {
  write("deep.json", nested(40'000));
  write("lists.json", "{\"nic\": " + std::string(40'000, '[') + std::string(40'000, ']') + "}");
  write("fine.json", nested(20));
  expect_refused({"a platform", "run ../deep.json", {"../deep.json: line 1", "at most 256 arrays and objects"}});
  expect_refused({"a patch",
                  "collective ../small.json --op all_reduce --patch ../deep.json",
                  {"../deep.json: line 1", "at most 256 arrays and objects"}});
  expect_refused({"lists", "run ../lists.json", {"../lists.json: line 1", "at most 256 arrays and objects"}});
  expect_refused({"not so deep", "run ../fine.json", {"nic.nic"}});
  expect_refused({"a value",
                  ("collective ../small.json --op all_reduce --set nic=" + std::string(3'000, '[')).c_str(),
                  {"nic: "}});
}

TEST_F(EdgesCli, AnErrorInTheRunIsItsMessage) {
  const Ran ran = weft(
      "collective multicast-1024 --set accelerators=4 --op broadcast --bytes 2GiB --no-warmup --set "
      "collectives.multicast.chunk=64B");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("collectives.multicast.chunk: expected a larger one"), std::string::npos) << ran.err;
}

TEST_F(EdgesCli, WhatIsSetWithoutEffectIsTold) {
  const std::string command = "collective ../small.json --op all_reduce --bytes 64KiB ";
  const auto without_effect = [&](const std::string& sets) {
    std::string fields;
    const json result = json::parse(weft(command + sets + " --json").out);
    for (const json& each : result["without_effect"]) {
      fields += each["field"].get<std::string>() + ": " + each["because"].get<std::string>() + "\n";
    }
    return fields;
  };
  EXPECT_EQ(without_effect(""), "");
  EXPECT_EQ(without_effect("--set accelerator.hbm.efficiency=0.05 --set accelerator.hbm.latency=90us"),
            "accelerator.hbm.efficiency: accelerator.hbm.stacks say it\n"
            "accelerator.hbm.latency: accelerator.hbm.stacks say it\n");
  EXPECT_EQ(without_effect("--set scale_up.port.dcqcn.g=0.5"),
            "scale_up.port.dcqcn.g: scale_up.port.congestion is none\n");
  EXPECT_EQ(without_effect("--set scale_up.port.dcqcn.g=0.5 --set scale_up.port.congestion=dcqcn"),
            "scale_up.port.congestion: scale_up.fabric.switch.marking.min is 0B\n"
            "scale_up.port.dcqcn.g: scale_up.fabric.switch.marking.min is 0B\n");
  EXPECT_EQ(without_effect("--set nic.posted=true"),
            "nic.posted: only links within a node carry acknowledgements with data\n");
  EXPECT_EQ(without_effect("--set scale_up.port.posted=false --set scale_up.port.recovery=true"),
            "scale_up.port.posted: it repeats what is lost\n");
  EXPECT_EQ(without_effect("--set per_node=1 --set scale_up.fabric.link.rate=100Gbps"),
            "scale_up.fabric.link.rate: per_node is 1\n");
  EXPECT_EQ(without_effect("--set fabric.injection=100Gbps --set fabric.reroute_after=1us "
                           "--set fabric.switch.arbiter.clock=2GHz"),
            "fabric.injection: fabric.topology is fat-tree\n"
            "fabric.reroute_after: no link of fabric.faults goes down\n"
            "fabric.switch.arbiter.clock: fabric.switch.arbiter.implementation is model\n");
  EXPECT_EQ(without_effect("--set fabric.switch.arbiter.implementation=clocked "
                           "--set fabric.switch.arbitration.latency=9ns"),
            "fabric.switch.arbitration.latency: fabric.switch.arbiter has a clock\n");
  EXPECT_EQ(without_effect("--set accelerator.compute.sms=64 --set nic.power.idle=9W "
                           "--set accelerator.hbm.stacks.controller.ecc.cache=64 "
                           "--set accelerator.hbm.stacks.device.timing.rfc=600"),
            "accelerator.compute.sms: no kernel runs\n"
            "accelerator.hbm.stacks.controller.ecc.cache: accelerator.hbm.stacks.controller.ecc.mode is off\n"
            "accelerator.hbm.stacks.device.timing.rfc: accelerator.hbm.stacks.controller.refresh is per-bank\n"
            "nic.power.idle: energy is counted by weft run\n");
  EXPECT_EQ(without_effect("--set accelerators=2 --set fabric.hosts_per_leaf=1 --set nic.packet_cost=9ns "
                           "--set fabric.link.rate=100Gbps --set accelerator.relay=1us"),
            "accelerator.relay: nothing passed the network in this run\n"
            "fabric: nothing passed the network in this run\n"
            "nic: nothing passed the network in this run\n");
  // What a part of the catalogue says was not set by the user.
  EXPECT_EQ(without_effect("--set nic=connectx-6"), "");
  const Ran text = weft(command + "--set accelerator.hbm.efficiency=0.05");
  EXPECT_NE(text.out.find("# without effect in this run: accelerator.hbm.efficiency (accelerator.hbm.stacks say it)\n"),
            std::string::npos)
      << text.out;
  EXPECT_EQ(weft(command).out.find("without effect"), std::string::npos);
}

TEST_F(EdgesCli, SettingsThatContradictEachOtherAreRefused) {
  const std::string command = "collective ../small.json --op all_reduce --bytes 64KiB ";
  for (const auto& [sets, message] : std::vector<std::pair<std::string, std::string>>{
           {"--set nic.dcqcn.g=2", "nic.dcqcn.g: expected a number from 0 to 1, got 2"},
           {"--set fabric.switch.marking.min=10KiB --set fabric.switch.marking.max=1KiB",
            "fabric.switch.marking.max: expected at least switch.marking.min, which is 10KiB, got 1KiB"},
           {"--set fabric.switch.weights=[1,2,3,4,5,6,7]",
            "fabric.switch.weights: expected at most one for each of the 2 lanes (link.lanes), got 7"},
           {"--seed 99999999999999999999", "--seed: "},
           {"--set fabric.topology=graph --set 'fabric.edges=[\"end0 - a\",\"end1 - a\",\"end2 - a\",{\"between\": "
            "\"end3 - a\","
            "\"link\":{\"flow_control\":\"pfc\"}}]'",
            "fabric.edges.3.link.flow_control: expected credits as fabric.link has, since a switch has one kind of "
            "buffer "
            "for all of its ports; got pfc"}}) {
    const Ran ran = weft(command + sets);
    EXPECT_EQ(ran.code, 2) << sets;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  }
}

TEST_F(EdgesCli, CongestionControlByMarksAsksForMarks) {
  const std::string command = "collective ../small.json --op all_reduce --bytes 64KiB --no-warmup --json ";
  const Ran unmarked = weft(command + "--set nic.congestion=dctcp");
  EXPECT_EQ(unmarked.code, 2);
  EXPECT_NE(unmarked.err.find("fabric.switch.marking.min: expected more than 0B, since nic.congestion is dctcp, which "
                              "follows packets that switches mark; such as min and max of "),
            std::string::npos)
      << unmarked.err;
  for (const char* scheme :
       {"dctcp --set fabric.switch.marking.min=64KiB --set fabric.switch.marking.max=64KiB", "swift", "hpcc"}) {
    const Ran ran = weft(command + "--set nic.congestion=" + scheme);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(json::parse(ran.out)["without_effect"], json::array()) << scheme;
  }
}

/// Many are a line, not a page.
TEST_F(EdgesCli, WhatIsSetWithoutEffectIsBounded) {
  std::string sets;
  for (const char* field : {"g=0.5", "timer=100us", "minimum=1Gbps", "cnp_interval=5us", "rate_ai=1Gbps",
                            "rate_hai=2Gbps", "fast_recovery=3"}) {
    sets += std::string("--set nic.dcqcn.") + field + " ";
  }
  const Ran ran = weft("run ../small.json --out out " + sets);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find(" and 2 more, which without_effect in the JSON result lists\n"), std::string::npos) << ran.out;
  const json summary = json::parse(test::read_file(folder_ / "work" / "out" / "summary.json"));
  EXPECT_EQ(summary["without_effect"].size(), 7U);
}

}  // namespace
}  // namespace weft
