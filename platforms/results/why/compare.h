// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/results/run_results.h"

namespace weft::platforms {

/// How `other` differs from `base`: {"from", "to", "before_us", "after_us", "difference_us", "changed", "parts"}.
///
/// "changed" are fields whose values differ. "parts" add up to the difference, the largest first: of two critical
/// paths, what they spend on each resource, with what it is about; else the parts of a step that both summaries have,
/// and the rest. Results of other versions are compared as far as they have the same keys.
nlohmann::ordered_json compare_runs(const RunResults& base, const RunResults& other);
std::string compare_text(const nlohmann::ordered_json& comparison);

}  // namespace weft::platforms
