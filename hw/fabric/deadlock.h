// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hw/fabric/fabric_config.h"
#include "hw/fabric/routing.h"
#include "hw/fabric/topology.h"

namespace weft::fabric {

/// Proves that packets cannot wait for each other in a circle: the channel dependency graph, whose vertices are lanes
/// of links and whose edges are the hops from one to the next that some route takes, has no cycle (Dally and Seitz
/// 1987). Routes are walked from every switch to every end, by all choices that a flow's hash or the state of queues
/// could make. Where packets take detours, the ways to every place are walked, and from there on the ways to every end:
/// more than any single packet does, never less.
///
/// Returns false, without looking, where the walk would be long (ends times switches above 2^20) and the shape is free
/// of deadlock by construction:
/// - switch, fat-tree: shortest ways go up and then down, and no link leads both ways in that order;
/// - ring, torus, dimensions: dimensions are taken in order, and within a ring a lane ends at the dateline;
/// - mesh, hyperx: dimensions are taken in order, and within one no packet turns;
/// - dragonfly: local and global links alternate, and the lane rises with each global link;
/// - valiant: the way to the detour and the way on use lanes of their own, each as above;
/// - up-down: links are ordered, first those up and then those down.
///
/// Throws ConfigError with the switches of a cycle and what to change, or for a graph with ends times switches above
/// 2^26 that is not routed up-down.
bool check_deadlock(const Topology& topology, const std::vector<Routes>& routes, const FabricConfig& config,
                    const std::string& path);

/// The switches along a cycle of channels, in order; empty if there is none.
std::vector<std::uint32_t> find_cycle(const Topology& topology, const std::vector<Routes>& routes, int lanes);

}  // namespace weft::fabric
