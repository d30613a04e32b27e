// SPDX-License-Identifier: Apache-2.0
// Trees of groups: how they spread over links and switches that serve them equally well.
#include "hw/fabric/topology/spanning_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "hw/fabric/topology/plan.h"

namespace weft::fabric {
namespace {

std::vector<std::uint32_t> all_of(const Topology& topology) {
  std::vector<std::uint32_t> ends(topology.ends.size());
  std::iota(ends.begin(), ends.end(), 0U);
  return ends;
}

SpanningTree::Route route_of(const Plan& plan) {
  return [&plan](std::uint32_t sw, std::uint32_t end) {
    Packet packet;
    packet.source = packet.destination = end;
    return plan.routes()[sw].port(packet);
  };
}

/// As a network does it.
SpanningTree add_tree(const Plan& plan, const std::vector<std::uint32_t>& ends, LinkLoads& loads, std::uint32_t number,
                      int weight = 1) {
  const SpanningTree::Route route = route_of(plan);
  const std::uint32_t root = SpanningTree::roots(plan.topology(), route, ends, loads, {}, number).front();
  SpanningTree tree = SpanningTree::build(plan.topology(), route, ends, loads, {}, root);
  loads.add(plan.topology(), tree, weight);
  return tree;
}

FabricConfig fat_tree(int radix, int hosts_per_leaf) {
  FabricConfig config;
  config.topology = Shape::kFatTree;
  config.radix = radix;
  config.hosts_per_leaf = hosts_per_leaf;
  return config;
}

/// The least and the largest load of the links from switches of a level up.
std::pair<int, int> loads_up(const Topology& topology, const LinkLoads& loads, int level) {
  std::pair<int, int> found{INT32_MAX, 0};
  for (std::uint32_t sw = 0; sw < topology.switches.size(); ++sw) {
    if (topology.switches[sw].level != level) continue;
    for (std::uint16_t p = 0; p < topology.switches[sw].ports.size(); ++p) {
      const Topology::Neighbour& to = topology.switches[sw].ports[p];
      if (to.is_end || topology.switches[to.index].level < level) continue;
      found.first = std::min(found.first, loads.of(sw, p));
      found.second = std::max(found.second, loads.of(sw, p));
    }
  }
  return found;
}

/// 4 leaves of 4 ends with 4 uplinks each, to one spine, to two or to four.
TEST(SpanningTrees, SpreadEvenlyOverTheUplinksOfLeaves) {
  for (const int spines : {1, 2, 4}) {
    FabricConfig config = fat_tree(16, 4);
    config.spines = spines;
    const Plan plan(config, 16, "fabric");
    const std::vector<std::uint32_t> ends = all_of(plan.topology());
    LinkLoads loads;
    for (int trees = 1; trees <= 12; ++trees) {
      const SpanningTree tree = add_tree(plan, ends, loads, static_cast<std::uint32_t>(trees));
      EXPECT_EQ(tree.links(), 16U + 4U);
      EXPECT_EQ(tree.branches.at(tree.root).port_of_end.size(), 16U);
      EXPECT_EQ(loads_up(plan.topology(), loads, 0), std::pair(trees / 4, (trees + 3) / 4)) << spines << " " << trees;
    }
  }
}

/// Two pods of 4 leaves; 2 upper switches in each, and 2 links from each of these to each of 2 spines of its plane.
TEST(SpanningTrees, SpreadOverThreeLevels) {
  FabricConfig config = fat_tree(16, 2);
  config.levels = 3;
  config.leaves_per_pod = 4;
  config.spines = 4;
  const Plan plan(config, 16, "fabric");
  const std::vector<std::uint32_t> ends = all_of(plan.topology());
  LinkLoads loads;
  for (int trees = 1; trees <= 16; ++trees) {
    add_tree(plan, ends, loads, 0);
    EXPECT_LE(loads_up(plan.topology(), loads, 0).second, (trees + 1) / 2) << trees;
    EXPECT_LE(loads_up(plan.topology(), loads, 1).second, (trees + 7) / 8) << trees;
  }
}

TEST(SpanningTrees, OfGroupsThatAreGoneCountNoMore) {
  FabricConfig config = fat_tree(8, 4);
  const Plan plan(config, 8, "fabric");
  const std::vector<std::uint32_t> ends = all_of(plan.topology());
  LinkLoads loads;
  const SpanningTree first = add_tree(plan, ends, loads, 0);
  const SpanningTree second = add_tree(plan, ends, loads, 0);
  EXPECT_NE(first.branches.at(0).parent, second.branches.at(0).parent);
  loads.add(plan.topology(), second, -1);
  loads.add(plan.topology(), first, -1);
  EXPECT_TRUE(loads.empty());
}

/// What carries little is in nobody's way: two trees for long messages do not meet where there are two links.
TEST(SpanningTrees, OfShortMessagesLeaveTheLinksToLongOnes) {
  FabricConfig config = fat_tree(8, 4);
  config.uplinks = 2;
  const Plan plan(config, 8, "fabric");
  const std::vector<std::uint32_t> ends = all_of(plan.topology());
  LinkLoads loads;
  const SpanningTree first = add_tree(plan, ends, loads, 0, 16);
  add_tree(plan, ends, loads, 1, 1);
  const SpanningTree second = add_tree(plan, ends, loads, 2, 16);
  EXPECT_EQ(loads_up(plan.topology(), loads, 0), std::pair(16, 17));
  for (const std::uint32_t leaf : {0U, 1U}) {
    EXPECT_NE(first.branches.at(leaf).parent, second.branches.at(leaf).parent);
  }
}

/// Only links of one kind stand for each other, and none that is avoided.
TEST(SpanningTrees, TakeALinkLikeTheOneOfTheRoute) {
  Topology topology;
  topology.links.emplace_back();
  const std::uint32_t slow = topology.add_link(LinkConfig());
  topology.add_switch("a");
  topology.add_switch("b");
  for (const std::uint32_t sw : {0U, 0U, 1U}) topology.attach_end(sw);
  const std::uint16_t port = topology.connect(0, 1, 0, 3).first;
  topology.connect(0, 1, slow, 3);
  const SpanningTree::Route route = [&](std::uint32_t sw, std::uint32_t end) {
    if (topology.ends[end].first == sw) return topology.ends[end].second;
    return sw == 0 ? port : std::uint16_t{1};  // b has one end, then the links
  };
  const SpanningTree::Avoided avoided = {{0, static_cast<std::uint16_t>(port + 1)}};
  LinkLoads loads;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < 4; ++i) {
    const SpanningTree tree = SpanningTree::build(topology, route, {0, 1, 2}, loads, avoided, 0);
    ports.push_back(tree.branches.at(0).children.back());
    loads.add(topology, tree, 1);
  }
  const auto last = static_cast<std::uint16_t>(port + 2);
  EXPECT_EQ(ports, (std::vector<std::uint16_t>{port, last, port, last}));
}

}  // namespace
}  // namespace weft::fabric
