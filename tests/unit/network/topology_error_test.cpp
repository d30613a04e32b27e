// SPDX-License-Identifier: Apache-2.0
// What does not close, or has too few lanes or the wrong routing, and what is said of it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hw/fabric/topology/plan.h"
#include "hw/fabric/topology/topology.h"
#include "tests/support/benches/net.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

void expect_refusal(const FabricConfig& config, int ends, const std::string& path, const std::string& expected) {
  try {
    const Plan plan(config, ends, "fabric");
    FAIL() << "no error at " << path;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.expected(), expected);
  }
}

TEST(TopologyErrors, ParallelLinksOfAGraphAreEqual) {
  FabricConfig config;
  config.topology = Shape::kGraph;
  for (const char* between : {"end0 - a", "end1 - b", "a - b", "b - a"}) {
    config.edges.push_back({between, config.link, 1});
  }
  const Plan equal(config, 2, "fabric");
  config.edges[3].link.rate = 100_Gbps;
  expect_refusal(config, 2, "fabric.edges.3.link.rate",
                 "expected 400Gbps as on the other link between b and a, since routes would use both alike, or routing "
                 "adaptive; got 100Gbps");
  config.routing = Routing::kAdaptive;
  const Plan told_by_queues(config, 2, "fabric");
}

TEST(TopologyErrors, TurnsByFlowNeedACrossbarWithoutLimit) {
  FabricConfig config;
  config.topology = Shape::kSwitch;
  config.switch_config.flow_queues = 64;
  config.switch_config.speedup = 2;
  expect_refusal(config, 4, "fabric.switch.flow_queues",
                 "expected 0 with a speedup, which passes one packet of an input at a time, or a speedup of 0; got 64");
}

TEST(TopologyErrors, OfSizes) {
  FabricConfig config;
  config.topology = Shape::kTorus;
  expect_refusal(config, 16, "fabric.sizes", "expected the size of each dimension, such as [4, 4, 2]");
  config.sizes = {4, 3};
  expect_refusal(config, 16, "fabric.sizes", "expected sizes whose product is the 16 ends, got 4 x 3 = 12");
  config.sizes = {4000, 4000};
  expect_refusal(config, 16, "fabric.sizes", "expected at most 65533 routers, got 4000 x 4000 or more");
  config.topology = Shape::kHyperX;
  config.sizes = {4, 3};
  config.hosts_per_router = 2;
  expect_refusal(config, 12, "fabric.sizes",
                 "expected sizes whose product is the 12 ends over 2 hosts per router, got 4 x 3 = 12");
  config.topology = Shape::kDimensions;
  expect_refusal(config, 12, "fabric.dimensions", "expected at least one block, such as [\"Ring(4)\", \"Switch(2)\"]");
  config.dimensions = blocks({"Ring(4)", "Torus(3)"});
  config.link.lanes = 4;
  for (const char* block : {"Torus(3)", "Ring", "Ring()", "Ring(1)", "Ring(x)", "Ring(4", "Ring(4) ", ""}) {
    config.dimensions[1].block = block;
    expect_refusal(config, 12, "fabric.dimensions.1.block",
                   "Ring(N), Mesh(N), FullyConnected(N) or Switch(N) with N of at least 2");
  }
  config.dimensions = blocks({"Ring(4)"});
  config.dimensions[0].link.lanes = 2;
  expect_refusal(config, 4, "fabric.dimensions.0.link.lanes",
                 "expected 4 lanes as fabric.link has, since a switch has as many on each port; got 2");
  config.dimensions[0].link = link(400_Gbps, 10_ns, 4000_B, 4);
  expect_refusal(config, 4, "fabric.dimensions.0.link.buffer",
                 "expected room for at least one segment with its headers, 4162 bytes, got 4KB");
  config.dimensions[0].link = link(400_Gbps, 10_ns, 8000_B, 4);
  config.dimensions[0].link.shared = 64_KiB;
  config.dimensions[0].link.flow_control = FlowControl::kPfc;
  expect_refusal(config, 4, "fabric.dimensions.0.link.shared",
                 "expected 0B where flow_control is not credits; what such a switch shares is switch.buffer.shared");
}

TEST(TopologyErrors, OfLanes) {
  FabricConfig config;
  config.topology = Shape::kTorus;
  config.sizes = {4, 4};
  config.link.lanes = 1;
  expect_refusal(
      config, 16, "fabric.link.lanes",
      "expected at least 2, got 1: packets change lane at the dateline of a ring so that they cannot deadlock");
  config.link.lanes = 3;
  config.routing = Routing::kValiant;
  expect_refusal(config, 16, "fabric.link.lanes",
                 "expected at least 4, got 3: packets change lane at the dateline of a ring, and again half-way with "
                 "valiant so that they cannot deadlock");
  config.topology = Shape::kMesh;
  config.link.lanes = 1;
  expect_refusal(config, 16, "fabric.link.lanes",
                 "expected at least 2, got 1: packets change lane half-way with valiant so that they cannot deadlock");
  config.topology = Shape::kDragonfly;
  config.link.lanes = 2;
  expect_refusal(config, 16, "fabric.link.lanes",
                 "expected at least 3, got 2: packets change lane after a global link so that they cannot deadlock");
}

TEST(TopologyErrors, OfTrees) {
  FabricConfig config;
  config.radix = 8;
  config.hosts_per_leaf = 6;
  config.uplinks = 4;
  expect_refusal(config, 24, "fabric.hosts_per_leaf",
                 "expected at most 4 of radix 8, so that its 4 uplinks fit; got 6");
  config.rails = 5;
  expect_refusal(config, 24, "fabric.rails", "expected a divisor of the 24 ends, got 5");
  config.rails = 1;
  config.hosts_per_leaf = 4;
  config.levels = 3;
  config.leaves_per_pod = 6;
  expect_refusal(config, 128, "fabric.leaves_per_pod",
                 "expected at most 2 of radix 8, so that the 6 uplinks of an upper switch of a pod fit; got 6");
  config.leaves_per_pod = 4;
  config.spines = 6;
  expect_refusal(config, 128, "fabric.spines",
                 "the fat tree does not close: expected a multiple of the 4 planes of spines, got 6");
  config.spines = 12;
  expect_refusal(config, 128, "fabric.spines",
                 "the fat tree does not close: expected planes of a divisor of the 4 uplinks of a pod's switch, got 4 "
                 "planes of 3");
  config.spines = 8;
  expect_refusal(
      config, 128, "fabric.radix",
      "the fat tree does not close: 8 pods with 2 links to each of 8 spines need a radix of 16, got 8; expected "
      "more leaves per pod, more spines or a larger radix");
}

TEST(TopologyErrors, OfDragonflies) {
  FabricConfig config;
  config.topology = Shape::kDragonfly;
  config.groups = 2;
  expect_refusal(config, 12, "fabric.groups", "expected enough for 12 ends, 3 of 4, got 2");
  config.groups = 10;
  expect_refusal(config, 12, "fabric.global_links",
                 "expected at least 3, so that a group of 4 routers reaches the 9 others, got 2");
}

TEST(TopologyErrors, OfGraphs) {
  FabricConfig config;
  config.topology = Shape::kGraph;
  expect_refusal(config, 2, "fabric.edges", "expected the edges of the graph, such as [\"end0 - a\", \"end1 - a\"]");
  const auto with = [&](const std::vector<std::string>& between) { config.edges = edges(between, 2); };
  for (const char* wrong : {"end0-a", "end0 a", "end0 - ", " - a", "end0 - a b", "end0 - a.b"}) {
    with({wrong});
    expect_refusal(config, 2, "fabric.edges.0.between",
                   "two names of letters, digits and _ with a dash between, such as \"end0 - leaf0\"");
  }
  with({"a - a"});
  expect_refusal(config, 2, "fabric.edges.0.between", "two names that differ, since a link joins two");
  with({"end0 - end1"});
  expect_refusal(config, 2, "fabric.edges.0.between", "at least one switch");
  with({"end0 - a", "end2 - a"});
  expect_refusal(config, 2, "fabric.edges.1.between",
                 "ends from end0 to end1 (edges are for one number of accelerators; fabric.topology=switch takes any)");
  with({"end0 - a", "b - end0"});
  expect_refusal(config, 2, "fabric.edges.1.between", "one link for each end");
  with({"end0 - a"});
  expect_refusal(config, 2, "fabric.edges", "expected an edge for each of the 2 ends, got none for end1");
  with({"end0 - a", "end1 - b"});
  expect_refusal(config, 2, "fabric.edges", "expected a connected graph, but b cannot be reached from end0");
}

TEST(TopologyErrors, OfRouting) {
  FabricConfig config;
  config.topology = Shape::kSwitch;
  config.routing = Routing::kValiant;
  expect_refusal(
      config, 4, "fabric.routing",
      "expected auto, dmodk, ecmp, adaptive or up-down, got valiant: it needs a dragonfly, or a network with "
      "coordinates (torus, mesh, dimensions, hyperx)");
  config.routing = Routing::kDimensionOrder;
  expect_refusal(config, 4, "fabric.routing",
                 "expected auto, dmodk, ecmp, adaptive or up-down, got dimension-order: it needs a network with "
                 "coordinates (torus, mesh, dimensions, hyperx)");
}

}  // namespace
}  // namespace weft::fabric
