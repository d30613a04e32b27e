// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "hw/fabric/topology/topology.h"
#include "platforms/results/pictures/topology_layout.h"

/// Pictures of a network. Parallel links are one line, the thicker the more they are.
namespace weft::platforms {

/// For Graphviz.
std::string to_dot(const fabric::Topology& topology, const std::string& name);

/// Drawn here (see Layout), with a caption that says what is seen. Ends are a row below their switch.
std::string to_svg(const fabric::Topology& topology);

/// The same with links and ends coloured from cold to hot, of what is one line the hottest, and a scale; `meaning` says
/// what it is of.
std::string to_svg(const fabric::Topology& topology, const Heat& heat,
                   const std::string& meaning = "of the time a link was sending, in its busier direction");

}  // namespace weft::platforms
