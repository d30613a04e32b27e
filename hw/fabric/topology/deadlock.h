// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/fabric/fabric_config.h"
#include "hw/fabric/topology/routing.h"
#include "hw/fabric/topology/spanning_tree.h"
#include "hw/fabric/topology/topology.h"

namespace weft::fabric {

/// Proves that packets cannot wait for each other in a cycle: the channel dependency graph has none (Dally and Seitz
/// 1987). Its vertices are lanes of links. Its edges are the hops from one to the next that some route takes. Routes
/// are walked from every switch to every end, by all choices that a flow's hash or the state of queues could make. If
/// packets take detours, the paths to every place are walked, and from there the paths to every end: more than any
/// single packet does, never less.
///
/// Returns false, without a walk, if that would be long (ends times switches above 2^20) and the shape is free of
/// deadlock by construction:
/// - switch, fat-tree: shortest paths go up and then down, and no link leads both ways in that order;
/// - ring, torus, dimensions: dimensions are taken in order, and within a ring a lane ends at the dateline;
/// - mesh, hyperx: dimensions are taken in order, and within one no packet turns;
/// - dragonfly: local and global links alternate, and the lane rises with each global link;
/// - valiant: the path to the detour and the path from there have their own lanes, each as above;
/// - up-down: links are ordered, first those up and then those down.
///
/// Throws ConfigError with the switches of a cycle and what to change, or for a graph with ends times switches above
/// 2^26 that is not routed up-down.
bool check_deadlock(const Topology& topology, const std::vector<Routes>& routes, const FabricConfig& config,
                    const std::string& path);

/// The switches along a cycle of channels, in order; empty if there is none.
std::vector<std::uint32_t> find_cycle(const Topology& topology, const std::vector<Routes>& routes, int lanes);

/// A group's tree and the lane that its packets take. Multicast floods it from anywhere; the results of reductions go
/// only down, and their operands wait for nothing, since the engine has a place for each.
struct TreeOnLane {
  const SpanningTree* tree;
  std::uint8_t lane;
  bool floods;
};
/// The same with the trees of groups; only of these if `routes` is null.
std::vector<std::uint32_t> find_cycle(const Topology& topology, const std::vector<Routes>* routes, int lanes,
                                      const std::vector<TreeOnLane>& trees);

/// The lane for another tree of a group, so that no packets can wait for each other in a cycle; or none.
/// - If each step to the root leads up a level, and unicast packets go up and then down (`up_and_down`), the group's
///   packets do so too. Multicast then takes the sender's lane (Switch::kSendersLane). Reductions take the last lane if
///   no unicast packet uses it: otherwise the engine would wait for a turn of all inputs with each packet, when these
///   are full.
/// - Else it takes a lane that no unicast packet uses and on which it closes no cycle with the trees that are there.
///   A single tree never does, since a packet does not turn back.
/// - Else the sender's lane, if the whole graph has no cycle and is small enough to be searched.
std::optional<std::uint8_t> find_lane(const Topology& topology, const std::vector<Routes>& routes, int lanes,
                                      bool up_and_down, std::vector<TreeOnLane> trees, const SpanningTree& tree,
                                      bool floods);

}  // namespace weft::fabric
