// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/results/format.h"
#include "sw/collectives/tally.h"

namespace weft::platforms {

/// For summary.json: `operation`, `ranks`, `bytes`, `count` and `time_us` of each kind of collective.
[[nodiscard]] inline nlohmann::ordered_json collective_table(const collectives::CollectiveTally& tally) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [kind, sum] : tally.sums()) {
    rows.push_back({{"operation", kind.operation},
                    {"ranks", kind.ranks},
                    {"bytes", kind.bytes},
                    {"count", sum.count},
                    {"time_us", to_us(sum.time)}});
  }
  return rows;
}

}  // namespace weft::platforms
