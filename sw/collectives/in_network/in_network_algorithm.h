// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/algorithm.h"
#include "sw/collectives/in_network/two_level.h"

namespace weft::collectives {

/// Of nodes of several members each, as a communicator's configuration has it.
[[nodiscard]] TwoLevel::Options two_level_options(const GroupSite& site);

/// Collectives of `ranks` by the switches: on one network, or within nodes and across them. Null where the switches'
/// tables are full.
[[nodiscard]] std::unique_ptr<Group> join_switches(const std::vector<firmware::Rank*>& ranks,
                                                   const TwoLevel::Options& options, const std::string& name);

}  // namespace weft::collectives
