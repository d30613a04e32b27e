// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace weft::schedules {

/// Ends a run whose training has diverged: what comes behind is no number, and equals nothing. Losses are sums of all
/// that has been learnt from in a step.
inline void expect_finite_loss(const std::vector<double>& losses, std::size_t step, double rate) {
  if (std::isfinite(losses[step])) return;
  throw std::domain_error(
      fmt::format("loss before step {}: expected a finite number, got {}; before step 1 it was {:.4g}; a lower "
                  "workload.rate than {:g} helps",
                  step + 1, std::isnan(losses[step]) ? "no number" : "infinity", losses.front(), rate));
}

}  // namespace weft::schedules
