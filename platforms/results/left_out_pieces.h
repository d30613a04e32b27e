// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sw/schedules/steady.h"

namespace weft::platforms {

/// `steady` of summary.json: what a run has left out, or with steady.verify what it would have. Null where steady is
/// off.
[[nodiscard]] nlohmann::ordered_json steady_json(const std::vector<schedules::LeftOutPieces>& left_out,
                                                 const schedules::SteadyConfig& steady);
/// A line of a run's table.
[[nodiscard]] std::string steady_text(const std::vector<schedules::LeftOutPieces>& left_out,
                                      const schedules::SteadyConfig& steady);

}  // namespace weft::platforms
