// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "platforms/results/what_if/resource_change.h"
#include "platforms/results/why/field_values.h"

namespace weft::platforms {

/// What a simulation with the settings of changes is a simulation of: changes whose fields have limits may ask for more
/// than their settings make. `before` and `after` are why.json of both runs: of what passes the same bytes one behind
/// the other they have what that sustains, whichever of its fields binds.
[[nodiscard]] std::vector<ResourceChange> simulated_changes(const std::vector<ResourceChange>& changes,
                                                            const FieldValues& values,
                                                            const nlohmann::ordered_json& before,
                                                            const nlohmann::ordered_json& after);

}  // namespace weft::platforms
