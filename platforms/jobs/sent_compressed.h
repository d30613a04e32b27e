// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "platforms/results/format.h"
#include "sw/collectives/compressed/collectives.h"

namespace weft::platforms {

/// What a rank sent in compressed collectives in all that was simulated of a run, the mean over ranks. A line of the
/// run's table; empty if nothing was compressed.
inline std::string compressed_text(const collectives::CompressedAmount& amount, int ranks) {
  if (amount.plain == 0) return {};
  return fmt::format("sent compressed         {:>10}  {:.3g} % of {}, by a rank in all that was simulated\n",
                     short_bytes(amount.sent / ranks), 100 * amount.sent / amount.plain,
                     short_bytes(amount.plain / ranks));
}

/// The same for summary.json; null if nothing was compressed.
inline nlohmann::ordered_json compressed_json(const collectives::CompressedAmount& amount, int ranks) {
  if (amount.plain == 0) return nullptr;
  return {{"sent_bytes", amount.sent / ranks}, {"plain_bytes", amount.plain / ranks}};
}

}  // namespace weft::platforms
