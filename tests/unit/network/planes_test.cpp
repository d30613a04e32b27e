// SPDX-License-Identifier: Apache-2.0
// Planes of a network: what is left to packets between two ends and in groups when links of one plane are down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "hw/fabric/fabric.h"
#include "tests/support/benches/fabric_end.h"
#include "tests/support/benches/net.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

// 85 ns on 18 links of 400 Gb/s together, 90 ns on 17 of them, 95,625 ps on 16.
constexpr std::uint32_t kWire = 4250;
constexpr int kEnds = 4;

/// Four ends, each with a link to each of 18 switches.
FabricConfig planes_with(const std::vector<Fault>& faults, Time reroute_after = Time()) {
  FabricConfig config;
  config.topology = Shape::kSwitch;
  config.link = link(400_Gbps, 10_ns, 256_KiB, 2);
  config.planes.assign(18, 1);
  config.faults = faults;
  config.reroute_after = reroute_after;
  return config;
}

Fault down(const std::string& link, Time from = Time(), Time until = Time()) {
  Fault fault;
  fault.link = link;
  fault.from = from;
  fault.until = until;
  fault.down = true;
  return fault;
}

void expect_refused(const FabricConfig& config, const std::string& path, const std::string& part) {
  try {
    const Plan plan(config, kEnds, "scale_up.fabric");
    ADD_FAILURE() << "no error at " << path;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_NE(error.expected().find(part), std::string::npos) << error.expected();
  }
}

/// What each of many packets from one end to another takes.
Time each_takes(Net& net, std::uint32_t from, std::uint32_t to) {
  constexpr int kPackets = 100;
  net.script.at(1_us, [&net, from, to] {
    for (int i = 0; i < kPackets; ++i) net.ends[from]->send(from, to, kWire);
  });
  sc_core::sc_start();
  net.expect_nothing_left();
  const auto& came = net.ends[to]->arrivals;
  EXPECT_EQ(came.size(), static_cast<std::size_t>(kPackets));
  return Time((came.back().tail - came.front().tail).count() / (kPackets - 1));
}

Time each_takes(const FabricConfig& config, std::uint32_t from, std::uint32_t to) {
  test::fresh_kernel();
  Net net(config, kEnds);
  return each_takes(net, from, to);
}

TEST(PlaneNames, FindPlanesAndTheLinksOfAnEnd) {
  const FabricConfig config = planes_with({});
  const Topology topology = Topology::build(config, kEnds, "fabric");
  const auto plane = find_plane_links(topology, config, "plane17");
  ASSERT_TRUE(plane.has_value());
  EXPECT_EQ(plane->plane, 17u);
  EXPECT_EQ(plane->ends.size(), 4u);
  EXPECT_EQ(plane->directions.size(), 8u);
  for (const char* name : {"end2-plane3", "plane3-end2"}) {
    const auto links = find_plane_links(topology, config, name);
    ASSERT_TRUE(links.has_value()) << name;
    EXPECT_EQ(links->plane, 3u);
    EXPECT_EQ(links->ends, std::vector<std::uint32_t>{2});
    EXPECT_EQ(links->directions.size(), 2u);
  }
  const auto out = find_plane_links(topology, config, "end2>plane3");
  ASSERT_TRUE(out.has_value());
  ASSERT_EQ(out->directions.size(), 1u);
  EXPECT_TRUE(out->directions[0].from_end);
  const auto in = find_plane_links(topology, config, "plane3>end2");
  ASSERT_TRUE(in.has_value());
  ASSERT_EQ(in->directions.size(), 1u);
  EXPECT_FALSE(in->directions[0].from_end);
  for (const char* none : {"plane18", "plane", "planex", "end4-plane0", "end0-end1", "plane0-plane1", "-plane1", "*"}) {
    EXPECT_FALSE(find_plane_links(topology, config, none).has_value()) << none;
  }
  EXPECT_FALSE(find_plane_links(topology, FabricConfig(), "plane0").has_value());
}

TEST(PlaneErrors, SayWhatWasExpected) {
  FabricConfig config = planes_with({down("plane18")});
  expect_refused(config, "scale_up.fabric.faults.0.link",
                 "of 18 planes (plane0 to plane17), of links to them (such as end0-plane0), got \"plane18\"");
  config.planes.clear();
  config.faults = {down("plane0")};
  expect_refused(config, "scale_up.fabric.faults.0.link", "names no link; planes are those of scale_up.fabric.planes");
  expect_refused(planes_with({{.link = "plane1", .rate = 0.5}}), "scale_up.fabric.faults.0.rate",
                 "expected 1: of a plane");
  Fault also = down("plane1");
  also.rate = 0.5;
  expect_refused(planes_with({also}), "scale_up.fabric.faults.0.rate", "of a plane, links can only be down");
  also = down("plane1");
  also.bit_errors = 1e-9;
  expect_refused(planes_with({also}), "scale_up.fabric.faults.0.bit_errors", "expected 0: of a plane");
  also = down("plane1");
  also.loss = 0.1;
  expect_refused(planes_with({also}), "scale_up.fabric.faults.0.loss", "expected 0: of a plane");
  also = down("plane1");
  also.jitter = 1_us;
  expect_refused(planes_with({also}), "scale_up.fabric.faults.0.jitter", "expected 0s: of a plane");
  also = down("plane1");
  also.links = 2;
  expect_refused(planes_with({also}), "scale_up.fabric.faults.0.links",
                 "expected at most 1, the links of an end to plane1, got 2");
  also = down("end1");
  also.links = 1;
  expect_refused(planes_with({also}), "scale_up.fabric.faults.0.links", "end1 is no link to a plane");
}

/// 1 MiB takes 262 us at 32 Gb/s, and on the last of 18 links longer than a packet can hold.
TEST(PlaneErrors, ASegmentMustPassTheLastLinkInTime) {
  FabricConfig config = planes_with({});
  config.link.rate = 32_Gbps;
  config.link.buffer = 4_MiB;
  config.segment = 1_MiB;
  EXPECT_NO_THROW({ const Plan plan(config, kEnds, "fabric"); });
  config.faults = {down("plane3")};
  expect_refused(config, "scale_up.fabric.segment", "18 times as long on one of its links");
}

TEST(PlaneErrors, TwoEndsNeedAPlaneInCommon) {
  FabricConfig config = planes_with({down("end0-plane0"), down("end2-plane1", 5_us)}, 1_us);
  config.planes = {1, 1};
  expect_refused(config, "scale_up.fabric.faults", "end0 and end2 have none from 6us on");
  config.faults[1].until = 5500_ns;  // routes never know of it
  EXPECT_NO_THROW({ const Plan plan(config, kEnds, "fabric"); });
  config.faults = {down("plane0"), down("plane1")};
  expect_refused(config, "scale_up.fabric.faults", "end0 and end1 have none from 0ps on");
}

TEST(Planes, WithoutFaultsChangeNothing) {
  EXPECT_EQ(each_takes(planes_with({}), 0, 1), 85_ns);
}

TEST(Planes, OneLinkOfAnEndIsMissedByWhatTheEndSendsAndReceives) {
  const FabricConfig config = planes_with({down("end1-plane3")});
  EXPECT_EQ(each_takes(config, 0, 1), 90_ns);
  EXPECT_EQ(each_takes(config, 1, 2), 90_ns);
  EXPECT_EQ(each_takes(config, 0, 2), 85_ns);
}

TEST(Planes, AWholePlaneIsMissedByAll) {
  const FabricConfig config = planes_with({down("plane3")});
  for (std::uint32_t from = 0; from < kEnds; ++from) EXPECT_EQ(each_takes(config, from, (from + 1) % kEnds), 90_ns);
}

TEST(Planes, TwoEndsThatMissDifferentPlanesMissBoth) {
  const FabricConfig different = planes_with({down("end1-plane3"), down("end2-plane5")});
  EXPECT_EQ(each_takes(different, 1, 2), Time(95'625));
  EXPECT_EQ(each_takes(different, 0, 2), 90_ns);
  EXPECT_EQ(each_takes(planes_with({down("end1-plane3"), down("end2-plane3")}), 1, 2), 90_ns);
}

/// The switches of an HGX H100 have 5, 4, 4 and 5 links to each accelerator.
TEST(Planes, HaveSeveralLinksOfAnEnd) {
  FabricConfig config = planes_with({down("end1-plane0")});
  config.planes = {5, 4, 4, 5};
  config.faults[0].links = 1;
  EXPECT_EQ(each_takes(config, 0, 1), 90_ns);
  // As many as are down in all of a plane's faults: 18 of 18 - 5.
  config.faults.push_back(down("plane0"));
  EXPECT_EQ(each_takes(config, 0, 1), Time(85'000 * 18 / 13 + 1));
  config.faults = {down("plane1")};
  EXPECT_EQ(each_takes(config, 0, 1), Time(85'000 * 18 / 14 + 1));
}

/// When the packets of a run of 300 arrive, from 1 us on.
std::vector<Time> arrivals(const FabricConfig& config, std::uint32_t from, std::uint32_t to, Time until) {
  test::fresh_kernel();
  Net net(config, kEnds);
  net.script.at(1_us, [&net, from, to] {
    for (int i = 0; i < 300; ++i) net.ends[from]->send(from, to, kWire);
  });
  sc_core::sc_start(to_delay(until));
  std::vector<Time> times;
  for (const auto& arrival : net.ends[to]->arrivals) times.push_back(arrival.tail);
  return times;
}

/// Between two times, how many come, which their spacing says.
int came(const std::vector<Time>& times, Time from, Time until) {
  return static_cast<int>(std::count_if(times.begin(), times.end(), [&](Time at) { return from < at && at <= until; }));
}

TEST(Planes, WhatGoesDownInARunIsWaitedForUntilRoutesAvoidIt) {
  const FabricConfig config = planes_with({down("end1-plane3", 8_us, 20_us)}, 1_us);
  const std::vector<Time> times = arrivals(config, 0, 1, 100_us);
  ASSERT_EQ(times.size(), 300u);
  EXPECT_EQ(came(times, 4_us, 7400_ns), 40);         // 3,400 / 85
  EXPECT_EQ(came(times, 8500_ns, 9_us), 0);          // what had begun has come
  EXPECT_EQ(came(times, 12'000_ns, 19'200_ns), 80);  // 7,200 / 90
  EXPECT_EQ(came(times, 19'200_ns, 20'100_ns), 10);  // routes still avoid it
  EXPECT_EQ(came(times, 22'000_ns, 23'700_ns), 20);  // 1,700 / 85
  // An end that has lost nothing does not wait.
  const std::vector<Time> others = arrivals(config, 0, 2, 100_us);
  for (std::size_t i = 1; i < others.size(); ++i) EXPECT_EQ(others[i] - others[i - 1], 85_ns);
}

TEST(Planes, AnOutageThatIsShorterThanRoutesTakeIsWaitedFor) {
  const std::vector<Time> times = arrivals(planes_with({down("plane0", 8_us, 9_us)}, 2_us), 0, 1, 100_us);
  ASSERT_EQ(times.size(), 300u);
  EXPECT_EQ(came(times, 8500_ns, 9_us), 0);
  EXPECT_EQ(came(times, 12'000_ns, 20'500_ns), 100);  // 8,500 / 85
}

TEST(Planes, WithoutReroutingWhatGoesDownIsWaitedForForEver) {
  test::fresh_kernel();
  Net net(planes_with({down("end1-plane3", 8_us)}), kEnds);
  net.script.at(1_us, [&net] {
    for (int i = 0; i < 300; ++i) net.ends[0]->send(0, 1, kWire);
  });
  sc_core::sc_start(to_delay(1_ms));
  EXPECT_LT(net.ends[1]->arrivals.size(), 90u);
  std::string text;
  for (const std::string& line : net.network->outages()) text += line + "\n";
  EXPECT_NE(text.find("end1-plane3 is down from 8us on"), std::string::npos) << text;
  EXPECT_NE(text.find("routes do not change: reroute_after is 0"), std::string::npos) << text;
}

TEST(Planes, LinksNameTheOutagesThatSlowedThemDown) {
  test::fresh_kernel();
  Net net(planes_with({down("end1-plane3"), down("end3-plane4")}), kEnds);
  each_takes(net, 0, 1);
  EXPECT_EQ(net.network->faults_of(net.ends[0]->transmitter()), std::vector<std::string>{"end1-plane3"});
  EXPECT_EQ(net.network->faults_of(net.ends[2]->transmitter()), std::vector<std::string>());
  EXPECT_NEAR(net.ends[0]->transmitter().rate_had(), 17.0 / 18, 1e-9);
}

/// 64,000 bytes are 1.28 us at 400 Gb/s, and 100 flits of 640 bytes. Each flit that is damaged goes again when its
/// refusal is back, with all that follows: after the 12.8 ns that it took and twice 10 ns of flight.
TEST(LinkReplay, SendsFromTheDamagedFlitOnAgain) {
  FabricConfig config;
  config.topology = Shape::kSwitch;
  config.link = link(400_Gbps, 10_ns, 256_KiB, 2);
  config.link.replay = true;
  config.link.replay_unit = 640_B;
  config.faults = {{.link = "end0", .bit_errors = 1e-6}};
  test::fresh_kernel();
  Net net(config, 2);
  constexpr int kPackets = 1000;
  net.script.at(1_us, [&net] {
    for (int i = 0; i < kPackets; ++i) net.ends[0]->send(0, 1, 64'000);
  });
  sc_core::sc_start();
  net.expect_nothing_left();
  const auto& came = net.ends[1]->arrivals;
  ASSERT_EQ(came.size(), static_cast<std::size_t>(kPackets));
  const std::int64_t again = net.ends[0]->transmitter().events().replayed;
  // 100,000 flits, of which exp(-0.00512) pass at the first time and so on: 513 are expected, in a variance of as many.
  EXPECT_NEAR(static_cast<double>(again), 100'000 * (std::exp(5120e-6) - 1), 4 * std::sqrt(513));
  const Time last = net.ends[0]->transmitter().free_at();
  EXPECT_EQ(last, 1_us + kPackets * 1280_ns + again * Time(32'800));
  EXPECT_EQ(net.ends[0]->transmitter().busy(), kPackets * 1280_ns + again * Time(12'800));
}

TEST(LinkReplay, WhatIsSentAgainMustArriveAtATime) {
  FabricConfig config;
  config.topology = Shape::kSwitch;
  config.link.replay = true;
  config.segment = 64_KiB;
  config.faults = {{.bit_errors = 1e-5}};  // of the segment, exp(-5.3) is below a hundredth
  expect_refused(config, "scale_up.fabric.faults.0", "a hundredth of the largest packets to arrive undamaged");
  config.link.replay_unit = 640_B;
  EXPECT_NO_THROW({ const Plan plan(config, kEnds, "fabric"); });
  config.faults[0].bit_errors = 1e-3;
  expect_refused(config, "scale_up.fabric.faults.0", "a hundredth of 640B to arrive undamaged");
}

/// Members of a sum, all of them, send 100 operands each, and what comes back takes so long each.
Time each_sum_takes(FabricConfig config, const std::vector<std::uint32_t>& members, int fp32 = 512) {
  test::fresh_kernel();
  config.switch_config.reduction.trees = 1;
  config.switch_config.reduction.fp32 = fp32;
  Net net(config, kEnds);
  const auto group = net.network->create_group(members, {.reduces = true, .window = 100});
  EXPECT_TRUE(group.has_value());
  net.script.at(1_us, [&] {
    for (std::uint32_t i = 0; i < 100; ++i) {
      for (const std::uint32_t end : members) {
        Packet* packet = net.packets.take();
        packet->source = end;
        packet->destination = Packet::kFirstGroup + *group;
        packet->opcode = Opcode::kReduce;
        packet->wire_bytes = kWire;
        packet->payload_bytes = 4096;
        packet->immediate = UINT32_MAX;
        packet->psn = i;
        net.ends[end]->send(packet);
      }
    }
  });
  sc_core::sc_start();
  net.expect_nothing_left();
  const auto& came = net.ends[members.front()]->arrivals;
  EXPECT_EQ(came.size(), 100u);
  return Time((came.back().tail - came.front().tail).count() / 99);
}

TEST(Planes, ASumLosesThePlanesOfAllItsMembers) {
  const std::vector<std::uint32_t> all = {0, 1, 2, 3};
  EXPECT_EQ(each_sum_takes(planes_with({}), all), 85_ns);
  EXPECT_EQ(each_sum_takes(planes_with({down("end1-plane3")}), all), 90_ns);
  EXPECT_EQ(each_sum_takes(planes_with({down("end1-plane3"), down("end2-plane5")}), all), Time(95'625));
  // Of those who are no members nothing is lost.
  EXPECT_EQ(each_sum_takes(planes_with({down("end1-plane3")}), {0, 2, 3}), 85_ns);
}

/// 4 KiB at 32 bytes a cycle of 1 ns are 128 ns, and the adders of 17 of 18 switches take 18 / 17 of that.
TEST(Planes, TheAddersOfASwitchThatIsDownAreMissed) {
  EXPECT_EQ(each_sum_takes(planes_with({}), {0, 1}, 32), 128_ns);
  EXPECT_EQ(each_sum_takes(planes_with({down("plane3")}), {0, 1}, 32), Time(128'000 * 18 / 17 + 1));
}

TEST(Planes, AGroupNeedsAPlaneOfAllMembers) {
  test::fresh_kernel();
  FabricConfig config = planes_with({down("end0-plane0"), down("end1-plane1"), down("end2-plane2", 5_us)}, 1_us);
  config.planes = {1, 1, 1};
  Net net(config, kEnds);
  EXPECT_TRUE(net.network->create_group({0, 1, 3}, {}).has_value());
  EXPECT_FALSE(net.network->create_group({0, 1, 2}, {}).has_value());
}

}  // namespace
}  // namespace weft::fabric
