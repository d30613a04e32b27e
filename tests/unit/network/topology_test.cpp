// SPDX-License-Identifier: Apache-2.0
// Every family of topologies: counts, ways and their lengths, packets from all to all.
#include "hw/fabric/topology/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/fabric/topology/measures.h"
#include "tests/support/benches/fabric_end.h"
#include "tests/support/benches/net.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

struct Family {
  std::string name;
  int ends;
  std::size_t switches;
  std::size_t links;  ///< between switches, both directions as one
  std::function<void(FabricConfig&)> set;
  /// Links from end to end, those of the ends included.
  std::function<int(int, int)> hops;
  bool shortest = true;  ///< else `hops` is a limit
};

int ring_way(int a, int b, int size) {
  const int up = ((b - a) % size + size) % size;
  return std::min(up, size - up);
}

FabricConfig config_of(const Family& family) {
  FabricConfig config;
  config.link.lanes = 4;
  family.set(config);
  return config;
}

/// Two triangles joined by an edge, with an end on each corner.
const std::vector<std::string> kTriangles = {"end0 - a0", "end1 - a1", "end2 - a2", "end3 - b0", "end4 - b1",
                                             "end5 - b2", "a0 - a1",   "a1 - a2",   "a2 - a0",   "b0 - b1",
                                             "b1 - b2",   "b2 - b0",   "a0 - b0"};

int torus_hops(int a, int b, const std::vector<int>& sizes) {
  int sum = 2;
  for (const int size : sizes) {
    sum += ring_way(a % size, b % size, size);
    a /= size;
    b /= size;
  }
  return sum;
}

int mesh_hops(int a, int b, const std::vector<int>& sizes) {
  int sum = 2;
  for (const int size : sizes) {
    sum += std::abs(a % size - b % size);
    a /= size;
    b /= size;
  }
  return sum;
}

/// Dimensions in which two routers differ.
int differences(int a, int b, const std::vector<int>& sizes) {
  int sum = 0;
  for (const int size : sizes) {
    sum += a % size != b % size ? 1 : 0;
    a /= size;
    b /= size;
  }
  return sum;
}

std::vector<Family> families() {
  std::vector<Family> all;
  const auto add = [&all](Family family) { all.push_back(std::move(family)); };
  const auto torus = [](const std::vector<int>& sizes, Routing routing = Routing::kAuto) {
    return [=](FabricConfig& c) {
      c.topology = Shape::kTorus;
      c.sizes = sizes;
      c.routing = routing;
    };
  };
  const auto torus_way = [](const std::vector<int>& sizes) {
    return [=](int a, int b) { return torus_hops(a, b, sizes); };
  };
  add({"Torus4x4", 16, 16, 32, torus({4, 4}), torus_way({4, 4})});
  add({"Torus5x3x2", 30, 30, 75, torus({5, 3, 2}), torus_way({5, 3, 2})});
  add({"Torus8", 8, 8, 8, torus({8}), torus_way({8})});
  add({"Hypercube16", 16, 16, 32, torus({2, 2, 2, 2}), torus_way({2, 2, 2, 2})});
  add({"Torus6x4Adaptive", 24, 24, 48, torus({6, 4}, Routing::kAdaptive), torus_way({6, 4})});
  add({"Torus6x4Ecmp", 24, 24, 48, torus({6, 4}, Routing::kEcmp), torus_way({6, 4})});
  add({"Torus4x4Valiant", 16, 16, 32, torus({4, 4}, Routing::kValiant), [](int, int) { return 2 + 8; }, false});
  add({"Torus4x4UpDown", 16, 16, 32, torus({4, 4}, Routing::kUpDown), [](int, int) { return 2 + 8; }, false});
  add({"Mesh4x3", 12, 12, 17,
       [](FabricConfig& c) {
         c.topology = Shape::kMesh;
         c.sizes = {4, 3};
         c.link.lanes = 1;
       },
       [](int a, int b) {
         return mesh_hops(a, b, {4, 3});
       }});
  add({"Mesh3x3Valiant", 9, 9, 12,
       [](FabricConfig& c) {
         c.topology = Shape::kMesh;
         c.sizes = {3, 3};
         c.link.lanes = 2;
         c.routing = Routing::kValiant;
       },
       [](int, int) { return 2 + 8; }, false});
  add({"HyperX4x3By2", 24, 12, 4 * 3 + 3 * 6,
       [](FabricConfig& c) {
         c.topology = Shape::kHyperX;
         c.sizes = {4, 3};
         c.hosts_per_router = 2;
         c.link.lanes = 1;
       },
       [](int a, int b) {
         return 2 + differences(a / 2, b / 2, {4, 3});
       }});
  add({"RingFullSwitch", 4 * 3 * 2, 24 + 12, 4 * 6 + 3 * 8 + 24,
       [](FabricConfig& c) {
         c.topology = Shape::kDimensions;
         c.dimensions = blocks({"Ring(4)", "FullyConnected(3)", "Switch(2)"});
       },
       [](int a, int b) {
         return 2 + ring_way(a % 4, b % 4, 4) + (a / 4 % 3 != b / 4 % 3 ? 1 : 0) + (a / 12 != b / 12 ? 2 : 0);
       }});
  add({"SwitchMeshRing", 3 * 2 * 5, 30 + 10, 30 + 15 + 30,
       [](FabricConfig& c) {
         c.topology = Shape::kDimensions;
         c.dimensions = blocks({"Switch(3)", "Mesh(2)", "Ring(5)"});
       },
       [](int a, int b) {
         return 2 + (a % 3 != b % 3 ? 2 : 0) + (a / 3 % 2 != b / 3 % 2 ? 1 : 0) + ring_way(a / 6, b / 6, 5);
       }});
  add({"ParallelRings", 8, 8, 4 * 2 * 3 + 4,
       [](FabricConfig& c) {
         c.topology = Shape::kDimensions;
         c.dimensions = blocks({"Ring(4)", "Ring(2)"});
         c.dimensions[0].links = 3;
         c.routing = Routing::kAdaptive;
       },
       [](int a, int b) {
         return torus_hops(a, b, {4, 2});
       }});
  const auto tree = [](int per_leaf, int uplinks, int levels, int rails, Routing routing = Routing::kAuto) {
    return [=](FabricConfig& c) {
      c.topology = Shape::kFatTree;
      c.radix = 8;
      c.hosts_per_leaf = per_leaf;
      c.uplinks = uplinks;
      c.levels = levels;
      c.rails = rails;
      c.routing = routing;
      c.link.lanes = 1;
    };
  };
  const auto by_leaf = [](int a, int b, int per_leaf) { return a / per_leaf == b / per_leaf ? 2 : 4; };
  // 6 hosts over 2 uplinks: 3 to 1.
  add({"TreeOverSubscribed", 24, 4 + 1, 8, tree(6, 2, 2, 1), [=](int a, int b) { return by_leaf(a, b, 6); }});
  add({"TreeUnderSubscribed", 8, 4 + 3, 24, tree(2, 6, 2, 1), [=](int a, int b) { return by_leaf(a, b, 2); }});
  // 4 rails of 2 leaves: nodes 0 to 3 and 4 to 7.
  add({"TreeRails", 32, 8 + 4, 32, tree(4, 4, 2, 4),
       [](int a, int b) { return a % 4 == b % 4 && a / 16 == b / 16 ? 2 : 4; }});
  // The tree of Al-Fares et al. for k = 8: k^3/4 hosts, 5k^2/4 switches.
  const auto pods = [](int a, int b) { return a / 4 == b / 4 ? 2 : a / 16 == b / 16 ? 4 : 6; };
  add({"KAry8", 128, 80, 256, tree(4, 4, 3, 1), pods});
  add({"KAry8Adaptive", 128, 80, 256, tree(4, 4, 3, 1, Routing::kAdaptive), pods});
  add({"KAry8Ecmp", 128, 80, 256, tree(4, 4, 3, 1, Routing::kEcmp), pods});
  add({"KAry8UpDown", 128, 80, 256, tree(4, 4, 3, 1, Routing::kUpDown), [](int, int) { return 10; }, false});
  // Half of the uplinks at both levels: 2 planes, 4 pods of 4 leaves.
  add({"ThreeLevelsOverSubscribed", 64, 16 + 8 + 2, 32 + 16,
       [=](FabricConfig& c) {
         tree(4, 2, 3, 1)(c);
         c.pod_uplinks = 2;
       },
       pods});
  const auto dragonfly = [](int groups, int routers, int hosts, int global, Routing routing, int lanes) {
    return [=](FabricConfig& c) {
      c.topology = Shape::kDragonfly;
      c.groups = groups;
      c.routers_per_group = routers;
      c.hosts_per_router = hosts;
      c.global_links = global;
      c.routing = routing;
      c.link.lanes = lanes;
    };
  };
  const auto dragonfly_limit = [](int a, int b) { return a / 2 == b / 2 ? 2 : a / 8 == b / 8 ? 3 : 5; };
  // Balanced, a = 2p = 2h: 9 groups of 4 routers with 2 hosts, one link between each two groups.
  const std::size_t balanced = 9 * 6 + 36;
  add({"Dragonfly", 72, 36, balanced, dragonfly(9, 4, 2, 2, Routing::kAuto, 2), dragonfly_limit, false});
  add({"DragonflyAdaptive", 72, 36, balanced, dragonfly(9, 4, 2, 2, Routing::kAdaptive, 2), dragonfly_limit, false});
  add({"DragonflyValiant", 72, 36, balanced, dragonfly(9, 4, 2, 2, Routing::kValiant, 3), [](int, int) { return 7; },
       false});
  // Two links between each two of 5 groups.
  add({"DragonflySparse", 40, 20, 5 * 6 + 20, dragonfly(5, 4, 2, 2, Routing::kEcmp, 2), dragonfly_limit, false});
  add({"DragonflyOfRouters", 10, 5, 10, dragonfly(5, 1, 2, 4, Routing::kAuto, 1),
       [](int a, int b) { return a / 2 == b / 2 ? 2 : 3; }});
  add({"DragonflyPartly", 19, 12, 3 * 6 + 12, dragonfly(0, 4, 2, 2, Routing::kAuto, 2), dragonfly_limit, false});
  const auto graph = [](Routing routing) {
    return [=](FabricConfig& c) {
      c.topology = Shape::kGraph;
      c.edges = edges(kTriangles);
      c.routing = routing;
    };
  };
  const auto triangles = [](int a, int b) {
    if (a / 3 == b / 3) return 3;
    return 3 + (a % 3 != 0 ? 1 : 0) + (b % 3 != 0 ? 1 : 0);
  };
  add({"Graph", 6, 6, 7, graph(Routing::kAuto), triangles});
  add({"GraphUpDown", 6, 6, 7, graph(Routing::kUpDown), [](int, int) { return 7; }, false});
  return all;
}

class Families : public testing::TestWithParam<Family> {};

TEST_P(Families, HaveTheirSwitchesAndLinks) {
  const Family& family = GetParam();
  const Topology topology = Topology::build(config_of(family), family.ends, "fabric");
  std::size_t ports = 0;
  std::set<std::string> names;
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    names.insert(topology.switches[s].name);
    for (std::size_t p = 0; p < topology.switches[s].ports.size(); ++p) {
      const Topology::Neighbour& port = topology.switches[s].ports[p];
      if (port.is_end) continue;
      ++ports;
      const Topology::Neighbour& back = topology.switches[port.index].ports[port.port];
      EXPECT_EQ(std::pair(back.index, std::size_t{back.port}), std::pair(s, p));
      EXPECT_EQ(back.link, port.link);
    }
  }
  EXPECT_EQ(topology.switches.size(), family.switches);
  EXPECT_EQ(names.size(), family.switches);
  EXPECT_EQ(ports, 2 * family.links);
  EXPECT_EQ(topology.ends.size(), static_cast<std::size_t>(family.ends));
}

/// Links from end to end by the routes, with whatever is drawn for the packet.
int hops_of(const Plan& plan, std::uint32_t from, std::uint32_t to, std::uint32_t psn) {
  const Topology& topology = plan.topology();
  Packet packet;
  packet.source = from;
  packet.destination = to;
  packet.psn = psn;
  auto [at, input] = topology.ends[from];
  for (int hops = 1; hops < 100; ++hops) {
    const Routes& routes = plan.routes()[at];
    if (routes.detours()) routes.arrive(packet, input);
    const std::uint16_t port = routes.port(packet);
    packet.lane = routes.lane(packet, input, port);
    EXPECT_LT(packet.lane, plan.config().link.lanes);
    const Topology::Neighbour& next = topology.switches[at].ports[port];
    if (next.is_end) return next.index == to ? hops + 1 : -1;
    at = next.index;
    input = next.port;
  }
  return -2;
}

TEST_P(Families, HaveWaysAsLongAsTheyShouldBe) {
  const Family& family = GetParam();
  const Plan plan(config_of(family), family.ends, "fabric", 1);
  EXPECT_TRUE(plan.checked());
  for (int a = 0; a < family.ends; ++a) {
    for (int b = 0; b < family.ends; ++b) {
      if (a == b) continue;
      const int hops = hops_of(plan, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 3);
      const int expected = family.hops(a, b);
      if (family.shortest) {
        ASSERT_EQ(hops, expected) << a << " to " << b;
      } else {
        ASSERT_GE(hops, 2) << a << " to " << b;
        ASSERT_LE(hops, expected) << a << " to " << b;
      }
    }
  }
}

TEST_P(Families, AreMeasuredAsTheirWaysAre) {
  const Family& family = GetParam();
  if (!family.shortest) return;
  const Measures measures = measure(Topology::build(config_of(family), family.ends, "fabric"));
  int longest = 0;
  double sum = 0;
  for (int a = 0; a < family.ends; ++a) {
    for (int b = 0; b < family.ends; ++b) {
      if (a == b) continue;
      longest = std::max(longest, family.hops(a, b));
      sum += family.hops(a, b);
    }
  }
  EXPECT_EQ(measures.diameter, longest);
  EXPECT_NEAR(measures.average_hops, sum / (family.ends * (family.ends - 1)), 1e-9);
  EXPECT_EQ(measures.links, family.links);
  EXPECT_TRUE(measures.all_pairs);
}

TEST(Bisection, IsAsByHand) {
  const auto links = [](const std::string& name) {
    for (const Family& family : families()) {
      if (family.name != name) continue;
      return measure(Topology::build(config_of(family), family.ends, "fabric")).bisection / 400_Gbps;
    }
    ADD_FAILURE() << name;
    return std::int64_t{0};
  };
  EXPECT_EQ(links("Torus4x4"), 8);                   // two links of each of four rings
  EXPECT_EQ(links("Torus8"), 2);                     // two links of a ring
  EXPECT_EQ(links("Hypercube16"), 8);                // n / 2
  EXPECT_EQ(links("Torus6x4Ecmp"), 8);               // across the longer dimension
  EXPECT_EQ(links("Mesh4x3"), 3);                    // one link of each of three lines
  EXPECT_EQ(links("HyperX4x3By2"), 12);              // 2 x 2 links of each of three routers' lines
  EXPECT_EQ(links("KAry8"), 64);                     // full: half of the hosts
  EXPECT_EQ(links("TreeOverSubscribed"), 4);         // the uplinks of two leaves
  EXPECT_EQ(links("ThreeLevelsOverSubscribed"), 8);  // the uplinks of two pods: 2 switches with 2 each
  EXPECT_EQ(links("TreeUnderSubscribed"), 4);        // the hosts themselves
  EXPECT_EQ(links("TreeRails"), 16);
  EXPECT_EQ(links("Graph"), 1);               // the edge between the triangles
  EXPECT_EQ(links("DragonflyOfRouters"), 5);  // the hosts themselves: links among five routers are more
}

TEST_P(Families, CarryPacketsFromAllToAll) {
  const Family& family = GetParam();
  Net net(config_of(family), family.ends);
  net.all_to_all(1, 500);
  sc_core::sc_start();
  net.expect_all_arrived(1);
  net.expect_nothing_left();
}

TEST_P(Families, DoNotDeadlockWithBuffersOfOnePacket) {
  const Family& family = GetParam();
  FabricConfig config = config_of(family);
  config.mtu = 256_B;
  config.segment = 256_B;
  config.header = Bytes();
  config.link.buffer = 256_B;
  for (DimensionConfig& dimension : config.dimensions) dimension.link.buffer = 256_B;
  for (EdgeConfig& edge : config.edges) edge.link.buffer = 256_B;
  const int packets = family.ends > 64 ? 2 : 10;
  Net net(config, family.ends);
  net.all_to_all(packets, 256);
  sc_core::sc_start();
  net.expect_all_arrived(packets);
  net.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(families()),
                         [](const auto& test) { return test.param.name; });

// --- Links ---

TEST(Injection, IsTheSumOfTheRoutersLinks) {
  FabricConfig config;
  config.topology = Shape::kDimensions;
  config.dimensions = blocks({"Ring(4)", "Mesh(2)"});
  config.dimensions[0].link.rate = 200_Gbps;
  config.dimensions[0].links = 2;
  config.dimensions[1].link.rate = 100_Gbps;
  config.link.lanes = 4;
  const Plan plan(config, 8, "fabric");
  EXPECT_EQ(plan.end_link(3).rate, 900_Gbps);
  EXPECT_EQ(plan.end_link(3).propagation, Time());
  EXPECT_EQ(plan.end_config(3).link.rate, 900_Gbps);
  const Topology& topology = plan.topology();
  EXPECT_EQ(topology.link_of(topology.switches[0].ports[1]).rate, 200_Gbps);
  EXPECT_EQ(topology.link_of(topology.switches[0].ports.back()).rate, 100_Gbps);

  config.injection = 50_Gbps;
  EXPECT_EQ(Plan(config, 8, "fabric").end_link(0).rate, 50_Gbps);
}

TEST(Injection, IsTheLinkOfARing) {
  FabricConfig config;
  config.topology = Shape::kRing;
  EXPECT_EQ(Plan(config, 8, "fabric").end_link(0).rate, config.link.rate);
  EXPECT_EQ(Plan(config, 8, "fabric").end_link(0).propagation, config.link.propagation);
  config.injection = 800_Gbps;
  EXPECT_EQ(Plan(config, 8, "fabric").end_link(0).rate, 800_Gbps);
}

TEST(Dimensions, HaveLinksOfTheirOwn) {
  // One packet along a ring at 200 Gb/s and 50 ns, then across a switch at 100 Gb/s and 20 ns.
  FabricConfig config;
  config.topology = Shape::kDimensions;
  config.dimensions = blocks({"Ring(4)", "Switch(2)"});
  config.dimensions[0].link = link(200_Gbps, 50_ns, 256_KiB, 2);
  config.dimensions[1].link = link(100_Gbps, 20_ns, 256_KiB, 2);
  Net net(config, 8);
  net.script.at(1_us, [&] { net.ends[0]->send(0, 5, 1000); });
  sc_core::sc_start();
  ASSERT_EQ(net.ends[5]->arrivals.size(), 1u);
  // Router 0, router 1, hub, router 5. Only where a link is faster than the one before must a packet wait to be whole:
  // at 100 Gb/s the last byte comes 80 ns after the first one, and at 500 Gb/s it takes 16 ns.
  EXPECT_EQ(net.ends[5]->arrivals[0].tail, 1_us + 4 * 220_ns + 50_ns + 2 * 20_ns + 80_ns);
  net.expect_nothing_left();
}

// --- What does not close ---

}  // namespace
}  // namespace weft::fabric
