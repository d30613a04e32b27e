// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "hw/fabric/topology/topology.h"

namespace weft::fabric {

/// Properties of a network that are known before any packet moves.
struct Measures {
  std::size_t ends = 0;
  std::size_t switches = 0;
  std::size_t links = 0;     ///< between switches, both directions as one
  int diameter = 0;          ///< most links on a shortest path from end to end, including those of the ends
  double average_hops = 0;   ///< links on a shortest path, the mean over all pairs of two ends
  bool all_pairs = true;     ///< else paths from a sample of 1024 switches were measured
  Rate bisection;            ///< in one direction, across the cut
  std::string bisection_by;  ///< which cut it is
};

/// Measures shortest paths: in closed form with coordinates (distances in the dimensions add up), else by breadth-first
/// search. Routes of up-down and valiant are longer.
///
/// Bisection bandwidth is the smallest capacity of a cut that halves the ends, over these halves: with coordinates,
/// straight cuts across each dimension (exact for tori, meshes and HyperX whose size in some dimension is even; Dally
/// and Towles 2004); in trees, halves of the leaves and of the nodes (exact, leaves being alike); in a dragonfly,
/// halves of the groups; in a graph, regions grown from up to 64 switches, so that it is an upper bound. Switches stand
/// on the side that costs least, one by one.
Measures measure(const Topology& topology);

}  // namespace weft::fabric
