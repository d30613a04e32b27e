// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/results/why/field_values.h"
#include "platforms/results/why/path_parts.h"

namespace weft::platforms {

/// What holds a run up, in sentences, by why.json: how long the critical path is and what of the run is not on it, then
/// what has the largest share: an accelerator, a host or a link by its name.
/// `values` are config.json's.
[[nodiscard]] std::string why_sentences(const nlohmann::ordered_json& why, const FieldValues& values,
                                        const PathParts& parts);

/// "10 % of 400Gbps": the rate of a link of why.json, one with a fault.
[[nodiscard]] std::string rate_text(const nlohmann::ordered_json& link);

}  // namespace weft::platforms
