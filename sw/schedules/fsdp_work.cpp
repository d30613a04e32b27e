// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_work.h"

#include <numeric>

namespace weft::schedules {

std::vector<double> work_of_stages(const FsdpPlan& plan) {
  constexpr double kKernel = 1 << 20;
  std::vector<double> work;
  const auto add_kernels = [&](const std::vector<PlannedKernel>& kernels) {
    work.back() += kKernel * static_cast<double>(kernels.size());
  };
  for (const Stage& stage : plan.stages) {
    work.push_back(0);
    add_kernels(stage.kernels);
    if (plan.updates.front().observes) add_kernels(stage.observed);
    add_kernels(stage.tail);
  }
  work.push_back(0);
  for (const PlannedPiece& piece : plan.updates.front().pieces) {
    add_kernels(piece.kernels);
    if (piece.exchange) work.back() += static_cast<double>(piece.exchange->bytes);
  }
  for (const Gather& gather : plan.gathers) {
    work[static_cast<std::size_t>(gather.first_use)] += static_cast<double>(gather.bytes);
  }
  // Sums are moved in the longer type, in as much longer chunks.
  constexpr double kElement = 2;
  for (const Scatter& scatter : plan.scatters) {
    work[static_cast<std::size_t>(scatter.after)] += kElement * static_cast<double>(scatter.elements);
  }
  return work;
}

double share_of_settled(const FsdpPlan& plan, const std::vector<FsdpRow>& rows) {
  constexpr int kUnits = 6;
  const std::vector<double> work = work_of_stages(plan);
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  double left_out = 0;
  for (const FsdpRow& row : rows) {
    for (int stage = row.begin + kUnits * row.unit; stage < row.end; ++stage) {
      left_out += work[static_cast<std::size_t>(stage)];
    }
  }
  return all > 0 ? 1 - left_out / all : 1;
}

}  // namespace weft::schedules
