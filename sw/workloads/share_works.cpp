// SPDX-License-Identifier: Apache-2.0
// What a rank computes beside the passes over its share of the network.
#include "sw/models/shard_kernels.h"
#include "sw/workloads/parts.h"

namespace weft::workloads {

using models::Elementwise;
using models::Kernel;

Work RankShare::work_of(const std::vector<Kernel>& kernels) const {
  Work sum;
  for (const Kernel& kernel : kernels) add(sum, kernel);
  return sum;
}

std::vector<Kernel> RankShare::weight_casts(std::int64_t weights) const {
  if (weights == 0) return {};
  if (config_.has_transformer_engine()) {
    // For the largest value, and to be cast.
    constexpr int kReads = 2;
    constexpr std::int64_t kFp32 = 4;
    return {
        {"weights.cast", Elementwise{kReads * weights * kFp32, (config_.fp8_any_layout ? 1 : 2) * weights, kReads}}};
  }
  return models::weight_cast_kernels(config_.linear, weights);
}

Work RankShare::cast(const models::Shard& shard) const {
  return work_of(models::kernels_before_gather(shard, false));
}

Work RankShare::copy(std::int64_t read, std::int64_t written) const {
  Work sum;
  add(sum, {"copy", Elementwise{read, written, 1}});
  return sum;
}

}  // namespace weft::workloads
