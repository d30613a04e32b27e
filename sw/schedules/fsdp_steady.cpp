// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_steady.h"

#include <algorithm>
#include <utility>

namespace weft::schedules {
namespace {

/// Of the stages from `from` to before `to`, those that begin first and of which none is held, nor lies between held
/// ones.
FsdpSteady::Held free_of(std::vector<FsdpSteady::Held> held, int from, int to) {
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  for (const FsdpSteady::Held& each : held) {
    if (each.to < from) continue;
    if (each.from > from) return {from, std::min(to, each.from)};
    from = each.to + 1;
  }
  return {from, to};
}

std::vector<PiecesOfRow> rows_of(const std::vector<FsdpRow>& plan_rows, int steps) {
  std::vector<PiecesOfRow> rows;
  for (int step = 0; step < steps; ++step) {
    for (const FsdpRow& row : plan_rows) {
      rows.push_back({row.forward ? "forward blocks" : "backward blocks", step, row.end - row.begin, row.unit, 1});
    }
  }
  return rows;
}

}  // namespace

FsdpSteady::FsdpSteady(const SteadyConfig& config, const FsdpPlan& plan, GatherAhead ahead, int steps,
                       std::size_t ranks, Schedule schedule, LeavingOut::Hooks hooks)
    : plan_rows_(find_rows(plan, ahead)),
      schedule_(std::move(schedule)),
      leaving_out_(config, rows_of(plan_rows_, steps), ranks,
                   {[this](std::size_t row, int from) { return free(row, from); },
                    [this](std::size_t row, LeavingOut::Range range) {
                      const int begin = plan_row(row).begin;
                      schedule_.leave_out(step_of(row), begin + range.from, begin + range.to);
                    }},
                   std::move(hooks)) {}

void FsdpSteady::ended(int step, int stage, std::size_t rank, SteadyRow::Sample sample) {
  const auto of = std::find_if(plan_rows_.begin(), plan_rows_.end(),
                               [stage](const FsdpRow& row) { return stage >= row.begin && stage < row.end; });
  if (of == plan_rows_.end()) return;
  const auto row = static_cast<std::size_t>(step) * plan_rows_.size() +
                   static_cast<std::size_t>(std::distance(plan_rows_.begin(), of));
  leaving_out_.ended(row, stage - of->begin, rank, std::move(sample));
}

LeavingOut::Range FsdpSteady::free(std::size_t row, int from) const {
  const FsdpRow& of = plan_row(row);
  const Held free = free_of(schedule_.held(step_of(row)), of.begin + from, of.end);
  return {free.from - of.begin, free.to - of.begin};
}

}  // namespace weft::schedules
