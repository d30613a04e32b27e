// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::platforms {

enum class WhyText { kBrief, kScreen, kAll };

/// What why_summary() has, for people: sentences and what the path goes to; then a tree and tables, the worst first.
/// `values` are config.json's, of which tables name those that set a time; null where they are not known.
std::string why_text(const nlohmann::ordered_json& why, const nlohmann::ordered_json& values,
                     WhyText how_much = WhyText::kScreen);

}  // namespace weft::platforms
