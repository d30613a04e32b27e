// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_step.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace weft::schedules {
namespace {

/// The longest pattern of blocks that is looked for, such as those of which every second computes again.
constexpr int kMostApart = 8;
/// Of a row, units.
constexpr int kFewest = 6;

bool alike(const std::vector<PlannedKernel>& a, const std::vector<PlannedKernel>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PlannedKernel& x, const PlannedKernel& y) {
    return std::string_view(x.label) == y.label && x.work == y.work;
  });
}

class Stages {
 public:
  explicit Stages(const FsdpPlan& plan) : plan_(plan), gather_of_(plan.stages.size(), nullptr) {
    for (const Gather& gather : plan.gathers) gather_of_[static_cast<std::size_t>(gather.first_use)] = &gather;
  }

  [[nodiscard]] bool is_block(int stage) const {
    const Stage& each = plan_.stages[static_cast<std::size_t>(stage)];
    return each.forward_of >= 0 || each.backward_of >= 0;
  }
  [[nodiscard]] bool alike(int a, int b) const {
    const Stage& one = plan_.stages[static_cast<std::size_t>(a)];
    const Stage& other = plan_.stages[static_cast<std::size_t>(b)];
    if (!is_block(a) || !is_block(b) || (one.forward_of >= 0) != (other.forward_of >= 0)) return false;
    if (!schedules::alike(one.kernels, other.kernels) || !schedules::alike(one.tail, other.tail)) return false;
    const Gather* gather = gather_of_[static_cast<std::size_t>(a)];
    const Gather* other_gather = gather_of_[static_cast<std::size_t>(b)];
    if ((gather == nullptr) != (other_gather == nullptr)) return false;
    if (gather != nullptr &&
        (gather->bytes != other_gather->bytes || !schedules::alike(gather->before, other_gather->before))) {
      return false;
    }
    if ((one.scatter < 0) != (other.scatter < 0)) return false;
    if (one.scatter < 0) return true;
    const Scatter& scatter = plan_.scatters[static_cast<std::size_t>(one.scatter)];
    const Scatter& other_scatter = plan_.scatters[static_cast<std::size_t>(other.scatter)];
    return scatter.elements == other_scatter.elements && schedules::alike(scatter.sums, other_scatter.sums);
  }

 private:
  const FsdpPlan& plan_;
  std::vector<const Gather*> gather_of_;  ///< by stage
};

}  // namespace

std::vector<FsdpStep::Row> find_rows(const FsdpPlan& plan) {
  const Stages stages(plan);
  const int all = static_cast<int>(plan.stages.size());
  // Blocks take buffers in turn, unless each has its own.
  const int buffers = plan.gathers.empty() || plan.block_buffers >= plan.blocks() ? 1 : plan.block_buffers;
  std::vector<FsdpStep::Row> rows;
  for (int begin = 0; begin < all;) {
    int next = begin + 1;
    for (int apart = 1; apart <= kMostApart; ++apart) {
      int end = begin + apart;
      while (end < all && stages.alike(end - apart, end)) ++end;
      const int unit = std::lcm(apart, buffers);
      if (end - begin < kFewest * unit) continue;
      const bool forward = plan.stages[static_cast<std::size_t>(begin)].forward_of >= 0;
      rows.push_back({begin, end, unit, forward, end - begin});
      next = end;
      break;
    }
    begin = next;
  }
  return rows;
}

FsdpStep::FsdpStep(const FsdpPlan& plan, std::vector<Row> its_rows, std::uint64_t stages_so_far,
                   std::uint64_t gathers_so_far, std::uint64_t scatters_so_far)
    : stages_before(stages_so_far),
      gathers_before(gathers_so_far),
      scatters_before(scatters_so_far),
      rows(std::move(its_rows)) {
  for (const Stage& stage : plan.stages) stages.push_back({&stage, stage.gathers_before, stage.scatter});
  for (const Gather& gather : plan.gathers) {
    gathers.push_back({&gather, static_cast<int>(gathers.size()), gather.first_use, gather.last_use});
  }
  for (const Scatter& scatter : plan.scatters) {
    scatters.push_back({&scatter, static_cast<int>(scatters.size()), scatter.after});
  }
}

void FsdpStep::leave_out(int first, int count) {
  const int end = first + count;
  const auto is_out = [=](int stage) { return stage >= first && stage < end; };
  // What lies behind moves up; what is in between counts as before it.
  const auto moved = [=](int stage) { return stage >= end ? stage - count : std::min(stage, first - 1); };
  const auto gathers_out = static_cast<int>(
      std::count_if(gathers.begin(), gathers.end(), [&](const DoneGather& each) { return is_out(each.first_use); }));
  const auto scatters_out = static_cast<int>(
      std::count_if(scatters.begin(), scatters.end(), [&](const DoneScatter& each) { return is_out(each.after); }));
  stages.erase(stages.begin() + first, stages.begin() + end);
  for (auto stage = stages.begin() + first; stage != stages.end(); ++stage) {
    stage->gathers_before -= gathers_out;
    if (stage->scatter >= 0) stage->scatter -= scatters_out;
  }
  std::erase_if(gathers, [&](const DoneGather& each) { return is_out(each.first_use); });
  for (DoneGather& each : gathers) {
    each.first_use = moved(each.first_use);
    each.last_use = moved(each.last_use);
  }
  std::erase_if(scatters, [&](const DoneScatter& each) { return is_out(each.after); });
  for (DoneScatter& each : scatters) each.after = moved(each.after);
  for (Row& row : rows) {
    if (row.begin >= end) row.begin -= count;
    if (row.end >= end) row.end -= count;
  }
}

}  // namespace weft::schedules
