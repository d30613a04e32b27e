// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/core/fields.h"

namespace weft::schedules {

/// Fields of the schedule kaisa.
struct KaisaConfig {
  double gradient_worker_fraction = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("gradient_worker_fraction", gradient_worker_fraction,
          "Share of the ranks that have the inverses of a layer and precondition its gradient, at least one rank. 1: "
          "all ranks (COMM-OPT); 1 over the ranks: one rank (MEM-OPT)",
          kShareAboveZero);
  }
};

}  // namespace weft::schedules
