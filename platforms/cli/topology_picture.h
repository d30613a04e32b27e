// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "hw/fabric/topology.h"

/// Pictures of a network. Parallel links are one line with their number.
namespace weft::platforms {

/// For Graphviz.
std::string to_dot(const fabric::Topology& topology, const std::string& name);

/// Drawn here: trees by levels, networks with coordinates as a grid whose further dimensions are tiles, all else on a
/// circle. Ends are drawn where there are at most 512.
std::string to_svg(const fabric::Topology& topology);

}  // namespace weft::platforms
