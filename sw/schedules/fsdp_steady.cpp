// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_steady.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::schedules {
namespace {

/// Units of a row that are compared with so many others: buffers that are used in turn make every second one differ.
constexpr int kMostUnits = 2;

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

}  // namespace

FsdpSteady::FsdpSteady(const SteadyConfig& config, const FsdpPlan& plan, GatherAhead ahead, std::size_t ranks,
                       Schedule schedule, Hooks hooks)
    : config_(config),
      stages_(plan.stages.size()),
      plan_rows_(find_rows(plan, ahead)),
      ranks_(ranks),
      schedule_(std::move(schedule)),
      hooks_(std::move(hooks)) {}

void FsdpSteady::record(Probe& probe) {
  probe_ = &probe;
  track_ = probe.add_track("simulation", "left out");
}

std::size_t FsdpSteady::mark_of(int step, int stage) const {
  return static_cast<std::size_t>(step) * stages_ + static_cast<std::size_t>(stage);
}

void FsdpSteady::ended(int step, int stage, std::size_t rank, SteadyRow::Sample sample) {
  const auto of = std::find_if(plan_rows_.begin(), plan_rows_.end(),
                               [stage](const FsdpRow& row) { return stage >= row.begin && stage < row.end; });
  if (of == plan_rows_.end()) return;
  const auto place = static_cast<std::size_t>(of - plan_rows_.begin());
  Row& row = rows_.try_emplace({step, place}, ranks_).first->second;
  if (!row.times.end(rank, std::move(sample))) return;
  hooks_.ended(mark_of(step, stage));
  if (row.stretch == 0) {
    row.stretch = settled_stretch(*of, row);
    if (row.stretch > 0) decide(step, *of, stage, row);
  }
  if (row.from != row.to && stage == row.from - 1) account(step, place, stage, row);
  if (row.from != row.to && config_.verify && stage == row.to - 1) verify(step, place, row);
  const int last = row.to == of->end && !config_.verify ? row.from - 1 : of->end - 1;
  if (stage == last) rows_.erase({step, place});
}

std::size_t FsdpSteady::settled_stretch(const FsdpRow& of, const Row& row) const {
  for (int units = 1; units <= kMostUnits; ++units) {
    const auto stretch = static_cast<std::size_t>(of.unit * units);
    if (row.times.has_periods(stretch) && row.times.periods(stretch).differ <= config_.tolerance) return stretch;
  }
  return 0;
}

void FsdpSteady::decide(int step, const FsdpRow& of, int stage, Row& row) {
  const Held free = free_of(schedule_.held(step), stage + 1, of.end);
  const int stretch = static_cast<int>(row.stretch);
  row.from = free.from;
  row.to = free.from + std::max(0, free.to - free.from) / stretch * stretch;
  if (row.from < row.to && !config_.verify) schedule_.leave_out(step, row.from, row.to);
}

void FsdpSteady::account(int step, std::size_t place, int stage, const Row& row) {
  const FsdpRow& of = plan_rows_[place];
  const int stretch = static_cast<int>(row.stretch);
  const int times = (row.to - row.from) / stretch;
  const auto last = static_cast<std::size_t>(stage - of.begin);
  const SteadyRow::Periods periods = row.times.periods(row.stretch);
  LeftOutPieces left_out;
  left_out.what = of.forward ? "forward" : "backward";
  left_out.step = step;
  left_out.row = place;
  left_out.of = static_cast<std::size_t>(of.end - of.begin);
  left_out.pieces = static_cast<std::size_t>(row.to - row.from);
  const Time period = row.times.end_of(last) - row.times.end_of(last - row.stretch);
  left_out.time = period * times;
  // Ranks are no further apart than a block, since they gather its parameters together.
  left_out.bound = (periods.longest - periods.shortest) * times + std::min(periods.drift * times, period / stretch);
  left_out.busy = row.times.busy(last - row.stretch, last) * times;
  left_out.waited = row.times.waited(last - row.stretch, last);
  for (Time& each : left_out.waited) each = each * times;
  if (!config_.verify) {
    const std::size_t mark = mark_of(step, stage);
    hooks_.left_out(mark - row.stretch, mark, times);
    if (probe_ != nullptr) {
      const Time at = row.times.end_of(last);
      const std::string what = std::to_string(left_out.pieces) + " blocks, as those before";
      probe_->slice(track_, {.what = what, .from = at, .to = at + left_out.time});
      probe_->leave_out(at, left_out.time);
    }
  }
  left_out_.push_back(std::move(left_out));
}

void FsdpSteady::verify(int step, std::size_t place, const Row& row) {
  const int before = row.from - 1 - plan_rows_[place].begin;
  const int last = before + row.to - row.from;
  const auto end_of = [&row](int piece) { return row.times.end_of(static_cast<std::size_t>(piece)); };
  const auto left_out = std::find_if(left_out_.begin(), left_out_.end(),
                                     [=](const LeftOutPieces& each) { return each.step == step && each.row == place; });
  left_out->off = left_out->time - (end_of(last) - end_of(before));
}

Time FsdpSteady::time_of(int step) const {
  Time sum;
  for (const LeftOutPieces& each : left_out_) {
    if (each.step == step && !config_.verify) sum += each.time;
  }
  return sum;
}

}  // namespace weft::schedules
