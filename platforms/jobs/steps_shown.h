// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "sw/schedules/step_span.h"

namespace weft::platforms {

/// Which steps of a run of so many a result is of, and whether they are as many as they repeat after.
inline std::string steps_text(const schedules::StepSpan& shown, int steps, std::int64_t period) {
  const int last = shown.first + shown.count;
  std::string text = shown.count == 1 ? fmt::format("step {} of {}", last, steps)
                                      : fmt::format("mean of steps {} to {} of {}", shown.first + 1, last, steps);
  if (shown.count < period) text += fmt::format(", not the {} after which they repeat", period);
  return text;
}

inline nlohmann::ordered_json steps_json(const schedules::StepSpan& shown) {
  return {{"first", shown.first + 1}, {"count", shown.count}};
}

}  // namespace weft::platforms
