// SPDX-License-Identifier: Apache-2.0
// MPD-KFAC: inversions are distributed, one rank after the other, and inverses broadcast (Osawa et al., CVPR 2019;
// Pauloski et al., SC 2020; as in kfac_preconditioner_inv_mpd.py of github.com/shyhuai/kfac_pytorch).
#include "sw/schedules/kfac/methods/second_order.h"

namespace weft::schedules {

Schedule mpd_schedule() {
  return {.name = "mpd",
          .doc = "in turn",
          .second_order = SecondOrder{.placement = InversePlacement::kInTurn},
          .may_be_sparse = true,
          .make = [](const KfacConfig& config) { return std::make_unique<SecondOrderTrainer>(config); }};
}

}  // namespace weft::schedules
