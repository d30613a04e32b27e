// SPDX-License-Identifier: Apache-2.0
// D-KFAC: factors are averaged over all ranks behind the backward pass, and every rank inverts all of them, so that no
// inverse is sent. It is the baseline of Shi, Zhang and Li (ICDCS 2021, arXiv 2107.06533).
#include "sw/schedules/kfac/methods/second_order.h"

namespace weft::schedules {

Schedule d_schedule() {
  return {.name = "d",
          .doc = "all ranks invert all",
          .second_order = SecondOrder{},
          .may_be_sparse = true,
          .make = [](const KfacConfig& config) { return std::make_unique<SecondOrderTrainer>(config); }};
}

}  // namespace weft::schedules
