// SPDX-License-Identifier: Apache-2.0
// Faults of a whole network: which links they name, the routes around them, and what is cut off.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/fabric/fabric.h"
#include "hw/fabric/topology/deadlock.h"
#include "tests/support/benches/fabric_end.h"
#include "tests/support/benches/net.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

constexpr std::uint32_t kWireBytes = 4162;

/// 4 leaves of 4 ends under 4 spines.
FabricConfig tree() {
  FabricConfig config;
  config.topology = Shape::kFatTree;
  config.hosts_per_leaf = 4;
  config.radix = 8;
  config.spines = 4;
  return config;
}

FabricConfig tree_with(const std::vector<Fault>& faults, Time reroute_after = Time()) {
  FabricConfig config = tree();
  config.faults = faults;
  config.reroute_after = reroute_after;
  return config;
}

void expect_valid(const FabricConfig& config) {
  EXPECT_NO_THROW({ const Plan plan(config, 16, "fabric"); });
}

void expect_error(const FabricConfig& config, const std::string& path, const std::string& part) {
  try {
    const Plan plan(config, 16, "fabric");
    ADD_FAILURE() << "no error at " << path;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_NE(error.expected().find(part), std::string::npos) << error.expected();
  }
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(FaultNames, FindLinksEndsSwitchesAndAll) {
  const Topology topology = Topology::build(tree(), 16, "fabric");
  EXPECT_EQ(find_links(topology, "leaf0-spine1").size(), 2u);
  EXPECT_EQ(find_links(topology, "spine1-leaf0").size(), 2u);
  const auto one = find_links(topology, "leaf0>spine1");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_FALSE(one[0].from_end);
  EXPECT_EQ(topology.switches[one[0].index].name, "leaf0");
  const auto end = find_links(topology, "end3");
  ASSERT_EQ(end.size(), 2u);
  EXPECT_NE(end[0].from_end, end[1].from_end);
  EXPECT_EQ(find_links(topology, "end3>leaf0").size(), 1u);
  EXPECT_EQ(find_links(topology, "spine1").size(), 8u);
  EXPECT_EQ(find_links(topology, "leaf1").size(), 16u);
  EXPECT_EQ(find_links(topology, "*").size(), 2u * (16 + 16));
  for (const char* none : {"", "end16", "end", "end1x", "leaf9", "leaf0-leaf1", "end0-leaf1", "leaf0-", "leaf0>x"}) {
    EXPECT_TRUE(find_links(topology, none).empty()) << none;
  }
}

TEST(FaultErrors, SayWhatWasExpected) {
  expect_error(tree_with({{.link = "end0"}, {.link = "spine7"}}), "fabric.faults.1.link",
               "16 ends (end0 to end15), of 8 switches (leaf0 to spine3) or of 16 links between switches (such as "
               "leaf0-spine0), got \"spine7\"");
  expect_error(tree_with({{.loss = 1.5}}), "fabric.faults.0.loss", "from 0 to 1");
  expect_error(tree_with({{.bit_errors = -1}}), "fabric.faults.0.bit_errors", "from 0 to 1");
  expect_error(tree_with({{.rate = 0}}), "fabric.faults.0.rate", "more than 0 and at most 1, got 0");
  expect_error(tree_with({{.from = 5_us, .until = 2_us}}), "fabric.faults.0.until", "after 5us");
  FabricConfig replay = tree_with({{.link = "leaf0", .loss = 1}});
  replay.link.replay = true;
  expect_error(replay, "fabric.faults.0", "replays the others for ever");
  replay.faults[0].until = 3_us;
  expect_error(replay, "fabric.faults.0", "replays the others until 3us");
}

TEST(FaultErrors, ASegmentMustPassTheSlowestLinkInTime) {
  FabricConfig config = tree();
  config.link.rate = 1_Gbps;
  config.link.buffer = 2_MiB;
  config.segment = 512_KiB;
  expect_valid(config);  // 4.26 ms
  config.segment = 1_MiB;
  expect_error(config, "fabric.segment", "8523776ns to pass a link of leaf0 at 1Gbps, and a packet can hold 4290us");
  config.segment = 512_KiB;
  config.faults = {{.link = "end7>leaf1", .rate = 0.5}};
  expect_error(config, "fabric.faults.0.rate", "at least 0.998, or a smaller segment");
  // Two that each leave enough meet for a while.
  config.segment = 256_KiB;
  config.faults.push_back({.link = "end7", .from = 1_us, .until = 2_us, .rate = 0.8});
  expect_error(config, "fabric.faults.0.rate", "to pass a link of end7 at 1Gbps");
  config.faults[0].until = 1_us;
  expect_valid(config);
  for (const double rate : {1e-4, 1e-8, 1e-12, 1e-16, 1e-300}) {
    config.faults = {{.rate = rate}};
    expect_error(config, "fabric.faults.0.rate", "expected at least 0.499, or a smaller segment");
  }
}

TEST(FaultErrors, ASegmentIsNotToBlameForASlowInjection) {
  FabricConfig config;
  config.topology = Shape::kRing;
  config.injection = Rate(1);
  expect_error(config, "fabric.injection", "expected more: 4KiB and headers take 33296s");
}

TEST(FaultErrors, ASegmentMustPassTheCrossbarInTime) {
  FabricConfig config = tree();
  for (const double speedup : {1e-6, 1e-12, 1e-16, 1e-300}) {
    config.switch_config.speedup = speedup;
    expect_error(config, "fabric.switch.speedup", "or 0 for no limit: at an output's rate");
  }
  config.switch_config.speedup = 1e-3;
  expect_valid(config);
}

TEST(FaultErrors, ASegmentMustPassTheAddersInTime) {
  FabricConfig config = tree();
  config.segment = 1_MiB;
  config.link.buffer = 2_MiB;
  config.switch_config.reduction.clock = Frequency(1'000'000);
  expect_valid(config);  // it has no trees
  config.switch_config.reduction.trees = 1;
  expect_error(config, "fabric.switch.reduction.fp32", "16384us to pass an adder");
}

TEST(FaultErrors, ReductionsNeedLinksThatLoseNothing) {
  const auto expect_refused = [](FabricConfig config, const std::string& path, const std::string& part) {
    test::fresh_kernel();
    config.switch_config.reduction.trees = 4;
    Net net(config, 16);
    EXPECT_TRUE(net.network->create_group({0, 1, 5}, {}).has_value()) << "what is copied may be lost";
    try {
      (void)net.network->create_group({0, 1, 5}, {.reduces = true});
      ADD_FAILURE() << "no error at " << path;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path(), path);
      EXPECT_NE(error.expected().find(part), std::string::npos) << error.expected();
    }
  };
  expect_refused(tree_with({{.link = "end9", .rate = 0.5}, {.link = "spine0", .bit_errors = 1e-9}}),
                 "fabric.link.replay", "expected true, since faults.1 damages packets");
  FabricConfig lossy = tree();
  lossy.link.flow_control = FlowControl::kLossy;
  expect_refused(lossy, "fabric.link.flow_control", "expected credits or pfc, got lossy on links of leaf0");
  test::fresh_kernel();
  FabricConfig replays = tree_with({{.link = "spine0", .bit_errors = 1e-9}});
  replays.link.replay = true;
  replays.switch_config.reduction.trees = 4;
  Net net(replays, 16);
  EXPECT_TRUE(net.network->create_group({0, 1, 5}, {.reduces = true}).has_value());
}

TEST(FaultErrors, RoutesFromCoordinatesKnowNoWayRound) {
  FabricConfig torus;
  torus.topology = Shape::kTorus;
  torus.sizes = {4, 4};
  torus.faults = {{.link = "router3", .down = true}};
  expect_valid(torus);  // never rerouted, which is what it gets
  torus.reroute_after = 1_us;
  expect_error(torus, "fabric.reroute_after", "up-down as fabric.routing");
  torus.routing = Routing::kUpDown;
  EXPECT_EQ(Plan(torus, 16, "fabric").reroutings().size(), 1u);
}

TEST(FaultsOfANetwork, OfAnEndAreThoseOfItsOwnTransmitterToo) {
  Net net(tree_with({{.link = "end3", .loss = 1}}), 16);
  net.script.at(1_us, [&] {
    net.ends[3]->send(3, 8, kWireBytes);
    net.ends[8]->send(8, 3, kWireBytes);
    net.ends[8]->send(8, 4, kWireBytes);
  });
  sc_core::sc_start();
  EXPECT_EQ(net.ends[3]->transmitter().events().damaged, 1);
  EXPECT_EQ(net.ends[4]->arrivals.size(), 1u);
  EXPECT_EQ(net.network->outages(), std::vector<std::string>());
}

/// Sends `count` packets from every end to each of the others from 1 us on, and runs.
void flood(Net& net, int count) {
  net.all_to_all(count, kWireBytes);
  sc_core::sc_start();
}

TEST(Rerouting, GoesRoundASpineThatIsDownFromTheStart) {
  for (const Routing routing : {Routing::kDmodk, Routing::kEcmp, Routing::kAdaptive, Routing::kUpDown}) {
    test::fresh_kernel();
    FabricConfig config = tree_with({{.link = "spine1", .down = true}}, 10_us);
    config.routing = routing;
    Net net(config, 16);
    flood(net, 5);
    net.expect_all_arrived(5);
    net.expect_nothing_left();
    for (std::size_t s = 0; s < net.network->switch_count(); ++s) {
      if (net.network->topology().switches[s].name == "spine1") {
        EXPECT_EQ(net.network->switch_at(s).counters().packets, 0);
      }
    }
  }
}

TEST(Rerouting, RoutesThatNeverChangeAvoidWhatIsDownAllTheTime) {
  Net net(tree_with({{.link = "spine1", .down = true}, {.link = "spine2-leaf0", .until = 1_ms, .down = true}}), 16);
  flood(net, 5);
  net.expect_all_arrived(5);
  net.expect_nothing_left();
  // What comes back is waited for.
  EXPECT_GT(net.dispatcher.now(), 1_ms);
  EXPECT_EQ(net.network->plan().reroutings().size(), 1u);
}

TEST(Rerouting, FindsWhatWaitsAnotherWay) {
  // All uplinks but one go, with packets in the queues of each.
  FabricConfig config = tree_with({{.link = "leaf0>spine1", .from = 3_us, .down = true},
                                   {.link = "leaf0-spine2", .from = 4_us, .down = true},
                                   {.link = "spine3-leaf0", .from = 5_us, .down = true}},
                                  2_us);
  Net net(config, 16);
  flood(net, 30);
  net.expect_all_arrived(30);
  net.expect_nothing_left();
  EXPECT_EQ(net.network->plan().reroutings().size(), 3u);
  EXPECT_EQ(net.network->plan().cut_off(1_ms), std::vector<std::uint32_t>());
}

TEST(Rerouting, ComesBack) {
  const auto last = [](Time until, Time reroute_after) {
    test::fresh_kernel();
    Net net(tree_with({{.link = "leaf0-spine1", .from = 3_us, .until = until, .down = true}}, reroute_after), 16);
    flood(net, 30);
    net.expect_all_arrived(30);
    net.expect_nothing_left();
    return net.dispatcher.now();
  };
  const Time waiting = last(500_us, Time());
  EXPECT_GT(waiting, 500_us);
  EXPECT_LT(last(500_us, 1_us), 400_us);
  EXPECT_LE(last(10_us, 1_us), last(500_us, 1_us));
  // Shorter than the subnet manager takes to act.
  EXPECT_EQ(last(10_us, 7_us), last(10_us, Time()));
}

TEST(Rerouting, ItselfTakesNoTime) {
  // What is to happen long after the last packet does not keep the run going.
  Net net(tree_with({{.link = "leaf0-spine1", .from = 1000_ms, .down = true}}, 1_us), 16);
  flood(net, 2);
  net.expect_all_arrived(2);
  EXPECT_LT(net.dispatcher.now(), 1_ms);
}

TEST(Rerouting, FallsBackToUpDownWhereItCouldDeadlock) {
  // Shortest ways between leaves without a spine in common turn upwards again in another leaf.
  const char* const missing[] = {"leaf0-spine0", "leaf0-spine2", "leaf1-spine1", "leaf1-spine3"};
  FabricConfig config = tree_with({}, 2_us);
  config.routing = Routing::kEcmp;
  config.mtu = 256_B;
  config.segment = 256_B;
  config.header = Bytes();
  config.link.buffer = 256_B;
  config.link.lanes = 1;
  Topology rest = Topology::build(config, 16, "fabric");
  for (const char* name : missing) {
    config.faults.push_back({.link = name, .down = true});
    for (const Direction& each : find_links(rest, name)) {
      rest.switches[each.index].ports[each.port].out_of_service = true;
    }
  }
  EXPECT_FALSE(find_cycle(rest, rest.routes(config.routing), 1).empty());
  Net net(config, 16);
  ASSERT_EQ(net.network->plan().reroutings().size(), 1u);
  EXPECT_TRUE(find_cycle(rest, net.network->plan().reroutings()[0].routes, 1).empty());
  net.all_to_all(20, 256);
  sc_core::sc_start();
  net.expect_all_arrived(20);
  net.expect_nothing_left();
}

TEST(Partition, IsReportedWithWhatIsDownAndWhoIsCutOff) {
  for (const Time reroute_after : {0_us, 2_us}) {
    test::fresh_kernel();
    Net net(tree_with({{.link = "leaf1", .from = 3_us, .down = true}}, reroute_after), 16);
    flood(net, 10);
    EXPECT_EQ(net.dispatcher.pending(), 0u);
    const std::string text = text_of(net.network->outages());
    EXPECT_NE(text.find("leaf1 is down from 3us on\n"), std::string::npos) << text;
    EXPECT_NE(text.find("no path leads to 4 of 16 ends, end4, end5, end6, end7\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("dropped") == std::string::npos, reroute_after == Time()) << text;
    // Those who are left do not suffer, once there are routes without it.
    if (reroute_after == Time()) continue;
    for (std::size_t d : {0, 1, 2, 3, 8, 15}) {
      std::map<std::uint32_t, int> from;
      for (const auto& arrival : net.ends[d]->arrivals) ++from[arrival.source];
      for (std::uint32_t s : {0, 1, 8, 9, 15}) EXPECT_EQ(from[s], s == d ? 0 : 10) << s << " to " << d;
    }
  }
}

TEST(Partition, NamesAllThatGoesOnKeepingItDown) {
  const Fault first{.link = "leaf1", .from = 3_us, .until = 30_us, .down = true};
  const Fault second{.link = "leaf1", .from = 25_us, .down = true};
  for (const bool swapped : {false, true}) {
    test::fresh_kernel();
    Net net(tree_with(swapped ? std::vector{second, first} : std::vector{first, second}), 16);
    flood(net, 10);
    const std::string text = text_of(net.network->outages());
    EXPECT_NE(text.find("leaf1 is down from 3us until 30us\n"), std::string::npos) << text;
    EXPECT_NE(text.find("leaf1 is down from 25us on\n"), std::string::npos) << text;
  }
}

TEST(Partition, ThatIsOverIsReportedWithWhatItDropped) {
  Net net(tree_with({{.link = "leaf1", .from = 3_us, .until = 20_us, .down = true}}, 2_us), 16);
  flood(net, 10);
  ASSERT_GT(net.dispatcher.now(), 20_us);
  const std::string text = text_of(net.network->outages());
  EXPECT_TRUE(text.starts_with("network: leaf1 was down from 3us until 20us\nnetwork: switches dropped ")) << text;
}

TEST(Partition, SaysThatRoutesDoNotChange) {
  {
    // It waited until that was over.
    Net net(tree_with({{.link = "spine0-leaf0", .from = 1_us, .until = 1000_ms, .down = true}}), 16);
    flood(net, 1);
    net.expect_all_arrived(1);
    EXPECT_GT(net.dispatcher.now(), 1000_ms);
    EXPECT_EQ(net.network->outages(), std::vector<std::string>());
    EXPECT_EQ(text_of(net.network->outages(true)), "network: spine0-leaf0 was down from 1us until 1s\n");
  }
  test::fresh_kernel();
  Net net(tree_with({{.link = "spine0", .from = 1_ps, .down = true}}), 16);
  flood(net, 1);
  EXPECT_EQ(text_of(net.network->outages()),
            "network: spine0 is down from 1ps on\n"
            "network: all ends could be reached by other paths, but routes do not change: reroute_after is 0\n");
  EXPECT_FALSE(net.network->left_over().empty());
}

/// Multicast packets from `source` to `group`, one each microsecond from 1 us on.
void multicast(Net& net, std::uint32_t source, std::uint32_t group, int packets, Time from = 1_us) {
  for (int i = 0; i < packets; ++i) {
    net.script.at(from + i * 1_us,
                  [&net, source, group] { net.ends[source]->send(source, Packet::kFirstGroup + group, kWireBytes); });
  }
}

TEST(Groups, GetAnotherTreeWhenTheirsIsAvoided) {
  // Each spine in turn is gone for a while; the root of the tree is one of them.
  FabricConfig config = tree_with({}, 2_us);
  for (int s = 0; s < 4; ++s) {
    config.faults.push_back({.link = "spine" + std::to_string(s),
                             .from = Time((20 + 20 * s) * 1'000'000LL),
                             .until = Time((35 + 20 * s) * 1'000'000LL),
                             .down = true});
  }
  Net net(config, 16);
  const auto group = net.network->create_group({0, 4, 8, 12}, {});
  ASSERT_TRUE(group.has_value());
  std::set<std::uint32_t> roots;
  for (int us : {10, 30, 50, 70, 90, 110}) {
    net.script.at(Time(us * 1'000'000LL), [&] { roots.insert(net.network->tree(*group).root); });
  }
  multicast(net, 0, *group, 100);
  multicast(net, 8, *group, 100);
  sc_core::sc_start();
  EXPECT_GT(roots.size(), 1u);
  // Only what waits for a spine before routes change, for 2 us of each of its outages, is lost, and nothing comes
  // twice.
  for (const std::size_t end : {4U, 12U}) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> times;
    for (const auto& arrival : net.ends[end]->arrivals) ++times[{arrival.source, arrival.number}];
    for (const auto& [packet, count] : times) EXPECT_EQ(count, 1);
    EXPECT_GE(times.size(), 200u - 2 * 4 * 2);
  }
  net.expect_nothing_left();
}

TEST(Groups, ReachThoseWhoAreLeft) {
  Net net(tree_with({{.link = "leaf1", .from = 20_us, .down = true}}, 2_us), 16);
  const auto group = net.network->create_group({0, 4, 8}, {});
  multicast(net, 0, *group, 100);
  sc_core::sc_start();
  EXPECT_EQ(net.ends[8]->arrivals.size(), 100u);
  EXPECT_LT(net.ends[4]->arrivals.size(), 30u);
  net.expect_nothing_left();
}

TEST(Groups, ReduceAgainAfterTheirTreeIsAvoided) {
  FabricConfig config = tree_with({{.link = "spine0", .from = 20_us, .down = true}}, 2_us);
  config.switch_config.reduction.trees = 1;
  config.switch_config.reduction.chunks = 4;
  Net net(config, 16);
  const auto group = net.network->create_group({0, 4, 8, 12}, {.reduces = true, .window = 4});
  ASSERT_TRUE(group.has_value());
  EXPECT_EQ(net.network->topology().switches[net.network->tree(*group).root].name, "spine0");
  std::uint32_t chunk = 0;
  const auto reduce = [&](Time at, const std::vector<std::uint32_t>& ends) {
    net.script.at(at, [&net, &chunk, ends, group] {
      for (const std::uint32_t end : ends) {
        Packet* packet = net.packets.take();
        packet->source = end;
        packet->destination = Packet::kFirstGroup + *group;
        packet->opcode = Opcode::kReduce;
        packet->psn = chunk;
        packet->immediate = UINT32_MAX;
        packet->wire_bytes = kWireBytes;
        net.ends[end]->send(packet);
      }
      ++chunk;
    });
  };
  for (const Time at : {1_us, 10_us, 30_us, 40_us}) reduce(at, {0, 4, 8, 12});
  sc_core::sc_start(to_delay(100_us));
  for (const std::size_t end : {0U, 4U, 8U, 12U}) EXPECT_EQ(net.ends[end]->arrivals.size(), 4u) << end;
  net.expect_nothing_left();
  EXPECT_NE(text_of(net.network->outages()).find("group 0 has another tree from 22us on"), std::string::npos);
}

TEST(Groups, AReductionInFlightOverADeadTreeIsReported) {
  FabricConfig config = tree_with({{.link = "spine0", .from = 1100_ns, .down = true}}, 2_us);
  config.switch_config.reduction.trees = 1;
  Net net(config, 16);
  const auto group = net.network->create_group({0, 4, 8, 12}, {.reduces = true, .window = 4});
  net.script.at(1_us, [&] {
    for (const std::uint32_t end : {0U, 4U, 8U, 12U}) {
      Packet* packet = net.packets.take();
      packet->source = end;
      packet->destination = Packet::kFirstGroup + *group;
      packet->opcode = Opcode::kReduce;
      packet->wire_bytes = kWireBytes;
      net.ends[end]->send(packet);
    }
  });
  sc_core::sc_start();
  EXPECT_EQ(net.dispatcher.pending(), 0u);
  for (const auto& end : net.ends) EXPECT_TRUE(end->arrivals.empty());
  const std::string text = text_of(net.network->outages());
  EXPECT_NE(text.find("switches dropped 4 packets"), std::string::npos) << text;
  EXPECT_NE(text.find("group 0 has another tree from 3100ns on: what was on its way"), std::string::npos) << text;
}

TEST(Groups, AReductionWithAMemberCutOffHasNoTree) {
  FabricConfig config = tree_with({{.link = "leaf1", .from = 5_us, .down = true}}, 2_us);
  config.switch_config.reduction.trees = 1;
  Net net(config, 16);
  ASSERT_TRUE(net.network->create_group({0, 4, 8}, {.reduces = true, .window = 4}).has_value());
  net.script.at(10_us, [&] { net.ends[0]->send(0, Packet::kFirstGroup, kWireBytes); });
  sc_core::sc_start();
  net.expect_nothing_left();
  const std::string text = text_of(net.network->outages());
  EXPECT_NE(text.find("group 0 has no tree from 7us on, since no other one"), std::string::npos) << text;
}

TEST(Groups, AvoidWhatIsDownAndRefuseWhoIsCutOff) {
  FabricConfig config = tree_with({{.link = "spine0", .down = true}, {.link = "end5", .down = true}}, 1_us);
  Net net(config, 16);
  for (int i = 0; i < 8; ++i) {
    const auto group = net.network->create_group({0, 4, 8, 12}, {});
    ASSERT_TRUE(group.has_value());
    for (const auto& [sw, branch] : net.network->tree(*group).branches) {
      EXPECT_NE(net.network->topology().switches[sw].name, "spine0");
    }
  }
  EXPECT_FALSE(net.network->create_group({0, 5, 8}, {}).has_value());
}

}  // namespace
}  // namespace weft::fabric
