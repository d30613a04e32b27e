// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "hw/core/quantity.h"

namespace weft {

/// What memory alone takes for a kernel's bytes, as a share of what the kernel computes at the full clock: which of the
/// two binds, and by how much. In steps of a 24th of an octave, 3 %, so that kernels of many sizes are of few shares.
class MemoryShare {
 public:
  MemoryShare() = default;  ///< no bytes
  MemoryShare(Time moving, Time computing) {
    if (moving <= Time()) return;
    const double steps =
        computing > Time()
            ? kSteps * std::log2(static_cast<double>(moving.count()) / static_cast<double>(computing.count()))
            : kMost;
    step_ = static_cast<int>(std::lround(std::clamp<double>(steps, kNone + 1, kMost)));
  }

  [[nodiscard]] int step() const { return step_; }
  [[nodiscard]] double value() const { return step_ == kNone ? 0 : std::exp2(static_cast<double>(step_) / kSteps); }

 private:
  static constexpr int kSteps = 24;
  static constexpr int kNone = -6 * kSteps;
  static constexpr int kMost = 6 * kSteps;

  int step_ = kNone;
};

}  // namespace weft
