// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sw/analytical/network.h"
#include "sw/dimensions/plan.h"

namespace weft::platforms {

/// Measures one AllReduce of all ends in ASTRA-sim's arithmetic, an algorithm for each dimension: messages per second,
/// and what it takes of memory.
nlohmann::ordered_json analytical_load(const std::string& what, const std::vector<analytical::Dimension>& dimensions,
                                       const std::vector<dimensions::Algorithm>& algorithms,
                                       analytical::Congestion congestion, int chunks);

}  // namespace weft::platforms
