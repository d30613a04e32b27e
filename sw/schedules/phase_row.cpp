// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/phase_row.h"

#include <algorithm>

namespace weft::schedules {

void PhaseRow::went(std::span<const std::string> phases, Time to) {
  const auto same = static_cast<std::size_t>(
      std::mismatch(open_.begin(), open_.end(), phases.begin(), phases.end()).first - open_.begin());
  for (; open_.size() > same; open_.pop_back()) probe_.end(row_, last_);
  for (const std::string& phase : phases.subspan(same)) {
    probe_.begin(row_, phase, last_);
    open_.push_back(phase);
  }
  last_ = to;
}

void PhaseRow::finish() {
  for (; !open_.empty(); open_.pop_back()) probe_.end(row_, last_);
}

}  // namespace weft::schedules
