// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::schedules {

/// Steps of a run, one after the other.
struct StepSpan {
  int first = 0;
  int count = 0;

  [[nodiscard]] bool has(int step) const { return step >= first && step < first + count; }
};

}  // namespace weft::schedules
