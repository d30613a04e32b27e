// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hw/fabric/topology.h"

/// Pictures of a network. Parallel links are one line with their number.
namespace weft::platforms {

/// For Graphviz.
std::string to_dot(const fabric::Topology& topology, const std::string& name);

/// Drawn here: trees by levels, networks with coordinates as a grid whose further dimensions are tiles, all else on a
/// circle. Ends are drawn where there are at most 512.
std::string to_svg(const fabric::Topology& topology);

/// How busy the link of a port of a switch was, 0 to 1.
using Heat = std::function<double(std::uint32_t sw, std::size_t port)>;

/// The same with links coloured from cold to hot, of parallel ones the hottest, and a scale.
std::string to_svg(const fabric::Topology& topology, const Heat& heat);

}  // namespace weft::platforms
