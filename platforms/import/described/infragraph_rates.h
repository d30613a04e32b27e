// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "platforms/import/described/infragraph.h"

namespace weft::platforms::described {

/// What links that join accelerators of a node carry. Rates are in GB/s, each way.
struct ScaleUpRates {
  double accelerator = 0;           ///< all links of one, of most accelerators; 0 if a link has no bandwidth
  double pair = 0;                  ///< between two, of most pairs; 0 unless links alone join each to each other one
  std::string unrated;              ///< the path of a link that has no bandwidth
  std::vector<std::string> uneven;  ///< what differs from most, for people
};
/// `joining`: edges within nodes, all of which have an accelerator at an end. Nodes have `per_node` accelerators each,
/// `accelerators` in all.
ScaleUpRates scale_up_rates(const Infrastructure& graph, const std::vector<GraphEdge>& joining,
                            std::size_t accelerators, std::size_t per_node);

}  // namespace weft::platforms::described
