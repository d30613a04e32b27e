// SPDX-License-Identifier: Apache-2.0
// How packets choose among paths, and whether they can wait for each other in a cycle.
#include "hw/fabric/topology/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "hw/fabric/topology/deadlock.h"
#include "tests/support/benches/fabric_end.h"
#include "tests/support/benches/net.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

/// When the last packet of all has arrived, with `packets` from each end `s` to `to(s)`.
template <typename To>
Time last_arrival(const FabricConfig& config, int ends, int packets, const To& to) {
  test::fresh_kernel();
  Net net(config, ends);
  net.script.at(1_us, [&] {
    for (int i = 0; i < packets; ++i) {
      for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(ends); ++s) {
        if (to(s) != s) net.ends[s]->send(s, to(s), 4162);
      }
    }
  });
  sc_core::sc_start();
  net.expect_nothing_left();
  Time last;
  for (const auto& end : net.ends) {
    for (const auto& arrival : end->arrivals) last = std::max(last, arrival.tail);
  }
  return last - 1_us;
}

TEST(Adaptive, SpreadsWhatDmodkPutsOnOneUplink) {
  // All of a leaf send to ends whose number leaves the same remainder: with dmodk all by the same one of four uplinks.
  FabricConfig config;
  config.radix = 8;
  config.hosts_per_leaf = 4;
  config.spines = 4;
  const auto to = [](std::uint32_t s) { return s < 4 ? 4 + 4 * s : s; };
  config.routing = Routing::kDmodk;
  const Time fixed = last_arrival(config, 32, 200, to);
  config.routing = Routing::kAdaptive;
  const Time adaptive = last_arrival(config, 32, 200, to);
  const Time packet = 4162 * 20_ps;
  EXPECT_GE(fixed, 800 * packet);
  EXPECT_LE(adaptive, 205 * packet + 5_us);
}

TEST(Adaptive, TakesTheFirstOfIdleOutputs) {
  FabricConfig config;
  config.radix = 8;
  config.hosts_per_leaf = 4;
  config.spines = 4;
  config.routing = Routing::kAdaptive;
  Net net(config, 8);
  net.script.at(1_us, [&] { net.ends[0]->send(0, 7, 1000); });
  net.script.at(2_us, [&] { net.ends[1]->send(1, 6, 1000); });
  sc_core::sc_start();
  EXPECT_EQ(net.network->switch_at(0).transmitter(4).counters().packets, 2);
}

FabricConfig dragonfly(Routing routing) {
  FabricConfig config;
  config.topology = Shape::kDragonfly;
  config.groups = 9;
  config.routers_per_group = 4;
  config.hosts_per_router = 2;
  config.global_links = 2;
  config.link.lanes = 3;
  config.routing = routing;
  return config;
}

TEST(Valiant, BeatsShortestWaysWhenAGroupSendsToItsNeighbour) {
  // Eight hosts share the one link between two groups; by way of the seven others they share almost as many links as
  // they are (Kim et al. 2008).
  const auto to = [](std::uint32_t s) { return (s + 8) % 72; };
  const Time minimal = last_arrival(dragonfly(Routing::kAuto), 72, 40, to);
  const Time valiant = last_arrival(dragonfly(Routing::kValiant), 72, 40, to);
  EXPECT_GE(minimal, 320 * 4162 * 20_ps);
  EXPECT_LE(valiant * 2, minimal);
}

TEST(Valiant, DrawsByFlowNumberAndSeed) {
  const FabricConfig config = dragonfly(Routing::kValiant);
  const auto drawn = [&](std::uint64_t seed) {
    const Plan plan(config, 72, "fabric", seed);
    std::vector<std::uint16_t> all;
    for (std::uint32_t psn = 0; psn < 500; ++psn) {
      Packet packet;
      packet.source = 3;
      packet.destination = 40;
      packet.psn = psn;
      plan.routes()[plan.topology().ends[3].first].arrive(packet, 1);
      all.push_back(packet.via);
    }
    return all;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  // Every group but its own and that of the destination, evenly; those two mean the shortest way.
  const std::vector<std::uint16_t> all = drawn(1);
  for (std::uint16_t group = 1; group < 9; ++group) {
    const auto count = std::count(all.begin(), all.end(), group);
    if (group == 5) {
      EXPECT_EQ(count, 0);
    } else {
      EXPECT_NEAR(static_cast<double>(count), 500.0 / 9, 30) << group;
    }
  }
}

TEST(Valiant, DoesNotDetourWithinARouterOrAGroup) {
  const Plan plan(dragonfly(Routing::kValiant), 72, "fabric", 1);
  for (std::uint32_t psn = 0; psn < 100; ++psn) {
    Packet packet;
    packet.destination = 7;
    packet.psn = psn;
    plan.routes()[0].arrive(packet, 0);
    EXPECT_EQ(packet.via, Packet::kNowhere);
  }
}

TEST(Valiant, HasNowhereToGoByBetweenTwoGroups) {
  FabricConfig config = dragonfly(Routing::kValiant);
  config.groups = 2;
  for (const int routers : {1, 4}) {
    config.routers_per_group = routers;
    config.link.lanes = routers > 1 ? 2 : 1;
    const Plan plan(config, 4 * routers, "fabric", 1);
    EXPECT_FALSE(plan.routes()[0].detours());
    EXPECT_GT(last_arrival(config, 4 * routers, 1,
                           [&](std::uint32_t s) {
                             return (s + 2 * static_cast<std::uint32_t>(routers)) %
                                    (4 * static_cast<std::uint32_t>(routers));
                           }),
              Time());
  }
}

/// Two leaves of 8 hosts, each with as many uplinks.
FabricConfig two_leaves(int spines) {
  FabricConfig config;
  config.radix = 16;
  config.hosts_per_leaf = 8;
  config.spines = spines;
  config.routing = Routing::kEcmp;
  return config;
}

TEST(Ecmp, KeepsAFlowAndSpreadsFlows) {
  const FabricConfig config = two_leaves(8);
  const Plan plan(config, 16, "fabric");
  const Plan again(config, 16, "fabric");
  std::set<std::uint16_t> ports;
  for (std::uint32_t pair = 0; pair < 64; ++pair) {
    Packet packet;
    packet.destination = 12;
    packet.queue_pair = pair;
    const std::uint16_t port = plan.routes()[0].port(packet);
    EXPECT_EQ(again.routes()[0].port(packet), port);
    packet.psn = 17;
    EXPECT_EQ(plan.routes()[0].port(packet), port);
    ports.insert(port);
  }
  EXPECT_GE(ports.size(), 6u);
}

TEST(Ecmp, FlowsThatShareALinkNeedNotShareTheNext) {
  const Plan plan(two_leaves(2), 16, "fabric");
  Packet packet;
  packet.destination = 12;
  const std::uint16_t uplink = plan.routes()[0].port(packet);
  const std::uint32_t spine = plan.topology().switches[0].ports[uplink].index;
  std::set<std::uint16_t> onwards;
  for (; packet.queue_pair < 256; ++packet.queue_pair) {
    if (plan.routes()[0].port(packet) == uplink) onwards.insert(plan.routes()[spine].port(packet));
  }
  EXPECT_EQ(onwards.size(), 4u) << "links from the spine to the other leaf";
}

TEST(Ecmp, SeedDrawsAnew) {
  const auto drawn = [](std::uint64_t seed) {
    const Plan plan(two_leaves(8), 16, "fabric", seed);
    std::vector<std::uint16_t> all;
    Packet packet;
    packet.destination = 12;
    for (; packet.queue_pair < 64; ++packet.queue_pair) all.push_back(plan.routes()[0].port(packet));
    return all;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(Dmodk, SpreadsOverBothLevelsOfUplinks) {
  // A shift by one pod of a k-ary fat tree: every host has a way of its own (Zahavi 2012).
  FabricConfig config;
  config.radix = 8;
  config.hosts_per_leaf = 4;
  config.levels = 3;
  const Time time = last_arrival(config, 128, 100, [](std::uint32_t s) { return (s + 16) % 128; });
  EXPECT_EQ(time, 6 * 10_ns + 5 * 220_ns + 100 * 4162 * 20_ps);
}

TEST(Dmodk, SpreadsARailOverItsUplinks) {
  // Four rails on leaves of four: end i of node n to end i of a node on the rail's other leaf.
  FabricConfig config;
  config.radix = 8;
  config.hosts_per_leaf = 4;
  config.rails = 4;
  const Time time = last_arrival(config, 32, 100, [](std::uint32_t s) { return (s + 16) % 32; });
  EXPECT_EQ(time, 4 * 10_ns + 3 * 220_ns + 100 * 4162 * 20_ps);
}

TEST(DimensionOrder, UsesAllParallelLinks) {
  FabricConfig config;
  config.topology = Shape::kDimensions;
  config.dimensions = {{"FullyConnected(2)", link(), 4}};
  config.routing = Routing::kAdaptive;
  const Time time = last_arrival(config, 2, 400, [](std::uint32_t s) { return 1 - s; });
  EXPECT_LE(time, 101 * 4162 * 20_ps + 3 * 220_ns);
}

// --- Deadlock ---

FabricConfig square(Routing routing) {
  FabricConfig config;
  config.topology = Shape::kGraph;
  config.routing = routing;
  for (const char* between : {"end0 - a", "end1 - b", "end2 - c", "end3 - d", "a - b", "b - c", "c - d", "d - a"}) {
    config.edges.push_back({between, link(), 1});
  }
  return config;
}

std::string error_of(const FabricConfig& config, int ends) {
  try {
    const Plan plan(config, ends, "fabric");
    return "no error";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Deadlock, IsRefusedInARingOfShortestWays) {
  // What a torus in dimension order would be without datelines.
  for (const Routing routing : {Routing::kEcmp, Routing::kAdaptive}) {
    const std::string error = error_of(square(routing), 4);
    const std::string head =
        "fabric.routing: expected up-down, or a graph without this cycle of links that packets could fill and then "
        "wait "
        "for each other for ever: ";
    ASSERT_EQ(error.substr(0, head.size()), head);
    const std::string cycle = error.substr(head.size());
    EXPECT_TRUE(cycle == "a -> b -> c -> d -> a" || cycle == "b -> c -> d -> a -> b" ||
                cycle == "a -> d -> c -> b -> a" || cycle == "d -> c -> b -> a -> d" ||
                cycle == "c -> d -> a -> b -> c" || cycle == "d -> a -> b -> c -> d" ||
                cycle == "c -> b -> a -> d -> c" || cycle == "b -> a -> d -> c -> b")
        << cycle;
  }
}

TEST(Deadlock, IsNotPossibleUpAndDown) {
  EXPECT_EQ(error_of(square(Routing::kUpDown), 4), "no error");
}

TEST(Deadlock, IsFoundInATorusWhoseLanesDoNotChange) {
  FabricConfig config;
  config.topology = Shape::kTorus;
  config.sizes = {4, 4};
  const Topology good = Topology::build(config, 16, "fabric");
  EXPECT_EQ(find_cycle(good, good.routes(Routing::kAuto), 2), std::vector<std::uint32_t>());
  Topology bad = Topology::build(config, 16, "fabric");
  bad.lanes_change = false;
  EXPECT_EQ(find_cycle(bad, bad.routes(Routing::kAuto), 2).size(), 4u);
}

TEST(Deadlock, IsFoundWhereDetoursShareLanes) {
  FabricConfig config;
  config.topology = Shape::kMesh;
  config.sizes = {3, 3};
  config.routing = Routing::kValiant;
  Topology mesh = Topology::build(config, 9, "fabric");
  EXPECT_EQ(find_cycle(mesh, mesh.routes(Routing::kValiant), 2).size(), 0u);
  mesh.second_lane = 0;
  EXPECT_NE(find_cycle(mesh, mesh.routes(Routing::kValiant), 2).size(), 0u);
}

TEST(Deadlock, IsNotSearchedForWhereTheShapeExcludesIt) {
  FabricConfig config;
  config.topology = Shape::kTorus;
  config.sizes = {16, 16, 16};
  EXPECT_FALSE(Plan(config, 4096, "fabric").checked());
}

}  // namespace
}  // namespace weft::fabric
