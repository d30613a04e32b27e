// SPDX-License-Identifier: Apache-2.0
// SPD-KFAC: factors are computed and sent while the network computes, merged where that is sooner by measured costs;
// and inversions are balanced over ranks, but for those that everyone does sooner than an inverse is sent (Shi, Zhang
// and Li, "Accelerating Distributed K-FAC with Smart Parallelism of Computing and Communication Tasks", ICDCS 2021,
// arXiv 2107.06533).
#include "sw/schedules/kfac/methods/second_order.h"

namespace weft::schedules {

Schedule spd_schedule() {
  return {
      .name = "spd",
      .doc = "pipelined, fused by cost, balanced",
      .second_order =
          SecondOrder{.pipelined = true, .fusion = FactorFusion::kDynamic, .placement = InversePlacement::kBalanced},
      .may_be_sparse = true,
      .make = [](const KfacConfig& config) { return std::make_unique<SecondOrderTrainer>(config); }};
}

}  // namespace weft::schedules
