// SPDX-License-Identifier: Apache-2.0
// A sick plane of a scale-up domain, and domains of UALink and scale-up Ethernet, as a user meets them. Runs the
// binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class PlanesCli : public test::CliTest {
 protected:
  PlanesCli() {
    // Links of 900 GB/s and headers of a ninth, in 18 planes: 800 GB/s of payload.
    write("domain.json", R"json({"name": "domain", "accelerators": 6, "per_node": 6, "accelerator": "gb200",
        "nic": "connectx-7", "fabric": {"topology": "switch"},
        "scale_up": {"part": "nvswitch-nvl72", "fabric": {"segment": "64KiB"}},
        "collectives": {"algorithm": "ring"}})json");
  }
  /// Times of a collective of 256 MiB, in us.
  double time(const std::string& op, const std::string& more = "", const std::string& machine = "../domain.json") {
    const json rows = weft_json("collective " + machine + " --op " + op + " --bytes 256MiB " + more)["rows"];
    EXPECT_EQ(rows.size(), 1u);
    return rows[0]["time_us"].get<double>();
  }
  static std::string down(const std::string& link, const std::string& more = "") {
    return R"(--set 'scale_up.fabric.faults=[{"link":")" + link + R"(","down":true)" + more + "}]'";
  }
  /// Of a run with posted answers, and one with packets, where faults make all answers packets.
  static constexpr const char* kPackets = "--set scale_up.port.posted=false";
};

constexpr double kOneOf18 = 18.0 / 17;

TEST_F(PlanesCli, AnAllToAllIsSlowedByItsShare) {
  const std::string direct = "--algorithm dimensions ";
  const double before = time("all_to_all", direct + kPackets);
  // One that is slower than the others also holds up what stands behind its packets.
  EXPECT_NEAR(time("all_to_all", direct + down("end1-plane3")) / before, kOneOf18 + 0.008, 0.012);
  EXPECT_NEAR(time("all_to_all", direct + down("plane3")) / before, kOneOf18, 0.005);
  EXPECT_NEAR(time("all_to_all", direct + down("plane3", R"(},{"link":"plane4","down":true)")) / before, 18.0 / 16,
              0.01);
}

/// Sums in switches lose the plane for all members. The adders of the part are as fast as links; cores send and take
/// at a rate of their own, which is left at that of links here.
TEST_F(PlanesCli, SumsInSwitchesLoseThePlane) {
  const std::string sums = "--algorithm in-network --set scale_up.port.group_rate=7200Gbps ";
  const double before = time("all_reduce", sums + kPackets);
  EXPECT_NEAR(time("all_reduce", sums + down("end1-plane3")) / before, kOneOf18, 0.01);
}

TEST_F(PlanesCli, WhatGoesDownInARunIsWaitedForUntilRoutesAvoidIt) {
  const double before = time("all_gather", kPackets);
  const std::string at = std::to_string(static_cast<int>(1.5 * before)) + "us";  // one before it warms up
  const double taken = time(
      "all_gather", "--set scale_up.fabric.reroute_after=50us " + down("end1-plane3", R"(,"from":")" + at + R"(")"));
  // What is in slots goes on for a while.
  EXPECT_GT(taken, before + 30);
  EXPECT_LT(taken, before * kOneOf18 + 50);
  const Ran stuck = weft("collective ../domain.json --op all_gather --bytes 256MiB " +
                         down("end1-plane3", R"(,"from":")" + at + R"(")"));
  EXPECT_EQ(stuck.code, 1);
  EXPECT_NE(stuck.err.find("end1-plane3 is down from " + at + " on"), std::string::npos) << stuck.err;
  EXPECT_NE(stuck.err.find("routes do not change: reroute_after is 0"), std::string::npos) << stuck.err;
}

TEST_F(PlanesCli, TheCriticalPathNamesWhatIsSick) {
  ASSERT_EQ(weft("collective ../domain.json --op all_to_all --algorithm dimensions --bytes 256MiB --why --out out " +
                 down("end1-plane3"))
                .code,
            0);
  std::string text = weft("why out").out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("The fault end1-plane3 left it"), std::string::npos) << text;
  EXPECT_NE(text.find("94.4 % of 7200Gbps"), std::string::npos) << text;
  EXPECT_NE(text.find("Links without their faults would save"), std::string::npos) << text;
  EXPECT_NE(text.find("(estimate): end1-plane3."), std::string::npos) << text;
}

/// Links with as many bytes at the same position in two nodes: those of one are busy for longer.
TEST_F(PlanesCli, AFaultOfOneNodeIsThatNodesAlone) {
  ASSERT_EQ(weft("collective ../domain.json --op all_gather --bytes 16MiB --set accelerators=12 --out out " +
                 down("plane0", R"(,"node":1)"))
                .code,
            0);
  std::istringstream table(test::read_file(folder_ / "work" / "out" / "links.csv"));
  std::map<std::string, double> busy;
  for (std::string line; std::getline(table, line);) {
    const std::size_t name = line.find(',');
    if (line.starts_with("port")) busy[line.substr(0, name)] = std::stod(line.substr(name + 1));
  }
  ASSERT_GT(busy["port2 out"], 0);
  EXPECT_NEAR(busy["port8 out"] / busy["port2 out"], kOneOf18, 0.005);
}

TEST_F(PlanesCli, TopologyListsFaults) {
  const std::string faults =
      "--set 'scale_up.fabric.faults=[{\"link\":\"plane3\",\"down\":true,\"from\":\"1ms\"},"
      "{\"link\":\"end1-plane0\",\"down\":true,\"links\":1},{\"link\":\"end2\",\"rate\":0.5},"
      "{\"link\":\"end3\",\"down\":true,\"node\":7}]' --set accelerators=48 ";
  const Ran table = weft("topology ../domain.json " + faults);
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("\n  at fault "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find(" plane3 down, from 1 ms on\n"), std::string::npos) << table.out;
  const json all = json::parse(weft("topology ../domain.json --json " + faults).out)["networks"];
  EXPECT_EQ(all[0]["faults"], json::array());
  EXPECT_EQ(all[1]["faults"], json({"plane3 down, from 1 ms on", "end1-plane0 1 link down", "end2 50 % of the rate"}));
}

TEST_F(PlanesCli, RefusesBadInput) {
  const auto refused = [this](const std::string& arguments, const std::string& path, const std::string& expected) {
    const Ran ran = weft("collective ../domain.json --op all_gather --bytes 1MiB " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.err.find(path), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(expected), std::string::npos) << ran.err;
  };
  refused(down("plane18"), "scale_up.fabric.faults.0.link", "of 18 planes (plane0 to plane17)");
  refused(down("end0-plane0", R"(,"links":2)"), "scale_up.fabric.faults.0.links", "expected at most 1");
  refused(down("end0-plane0", R"(,"node":1)"), "scale_up.fabric.faults.0.node",
          "expected a node from 0 to 0, or -1 for all, got 1");
  refused(R"(--set 'fabric.faults=[{"link":"end0","down":true,"node":0}]')", "fabric.faults.0.node",
          "expected -1, since this network joins all nodes, got 0");
  refused(R"(--set 'scale_up.fabric.faults=[{"link":"plane0","rate":0.5}]')", "scale_up.fabric.faults.0.rate",
          "of a plane, links can only be down");
  refused("--set scale_up.fabric.planes=[1,1] " + down("end0-plane0", R"(},{"link":"end2-plane1","down":true)"),
          "scale_up.fabric.faults", "end0 and end2 have none");
}

/// Of each profile: all collectives bring the right bytes, and a ring reaches what headers leave of the rate.
class ProfilesCli : public PlanesCli, public testing::WithParamInterface<std::pair<const char*, double>> {};

TEST_P(ProfilesCli, MoveRealBytes) {
  const std::string part = std::string("--set scale_up=") + GetParam().first + " ";
  for (const char* op : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast"}) {
    for (const char* faults : {"", R"(--set 'scale_up.fabric.faults=[{"link":"*","bit_errors":1e-7}]')"}) {
      const json rows =
          weft_json(std::string("collective ../domain.json --data --bytes 768KiB --op ") + op + " " +
                    (std::string(op) == "all_to_all" ? "--algorithm dimensions " : "") + part + faults)["rows"];
      ASSERT_EQ(rows.size(), 1u);
      EXPECT_EQ(rows[0]["wrong"], 0) << op << " " << faults;
    }
  }
}

TEST_P(ProfilesCli, ReachTheirShareOfTheRate) {
  const auto [part, efficiency] = GetParam();
  const json rows =
      weft_json(std::string("collective ../domain.json --op all_to_all --algorithm dimensions --bytes 1GiB "
                            "--set scale_up.fabric.segment=64KiB --set scale_up.part=") +
                part)["rows"];
  EXPECT_NEAR(rows[0]["busbw"].get<double>(), 900 * efficiency, 900 * 0.015);
}

TEST_P(ProfilesCli, RetryFlitsThatBitErrorsDamage) {
  const std::string part = std::string("--set scale_up.part=") + GetParam().first + " ";
  const double before = time("all_gather", part + kPackets);
  const std::string errors = R"(--set 'scale_up.fabric.faults=[{"link":"*","bit_errors":1e-6}]' )";
  const json result = weft_json("collective ../domain.json --op all_gather --bytes 256MiB " + part + errors);
  EXPECT_GT(result["rows"][0]["time_us"].get<double>(), 1.05 * before);
}

INSTANTIATE_TEST_SUITE_P(Profiles, ProfilesCli,
                         testing::Values(std::pair("ualink-200g", 256.0 / 275),
                                         std::pair("scale-up-ethernet-800g", 2048.0 / 2094)));

}  // namespace
}  // namespace weft
