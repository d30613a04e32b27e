// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/results/run_results.h"

namespace weft::platforms {

/// How `other` differs from `base`: {"from", "to", "before_us", "after_us", "difference_us", "warnings", "work",
/// "changed", "defaults_of_one", "configured", "by", "parts", "hint"}.
///
/// "warnings" are sentences: the runs are of different kinds, or one was ended early. "work" is what differs in what
/// was run (changed_work()), "changed" are fields whose values differ (changed_fields()); "configured" is false where a
/// run has no config.json. "parts" add up to the difference, the largest first: of two critical paths, what they spend
/// on each resource, with what it is about; else the parts of a step that both summaries have, or the times of a
/// collective's sizes, and the rest. "hint" is a sentence on what would tell more, or empty. Results of other versions
/// are compared as far as they have the same keys.
nlohmann::ordered_json compare_runs(const RunResults& base, const RunResults& other);
std::string compare_text(const nlohmann::ordered_json& comparison);

}  // namespace weft::platforms
