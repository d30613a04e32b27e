// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_steady.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::schedules {

void FsdpSteady::record(Probe& probe) {
  probe_ = &probe;
  track_ = probe.add_track("simulation", "left out");
}

void FsdpSteady::ended(FsdpStep& step, int number, int stage, std::size_t rank, SteadyRow::Sample sample,
                       const std::function<int()>& furthest) {
  const auto of = std::find_if(step.rows.begin(), step.rows.end(),
                               [stage](const FsdpStep::Row& row) { return stage >= row.begin && stage < row.end; });
  if (of == step.rows.end()) return;
  const auto place = static_cast<std::size_t>(of - step.rows.begin());
  Row& row = rows_.try_emplace({number, place}, ranks_).first->second;
  if (!row.times.end(rank, std::move(sample))) return;
  hooks_.ended(step.stages_before + static_cast<std::size_t>(stage));
  const auto unit = static_cast<std::size_t>(of->unit);
  if (!row.is_decided && row.times.has_periods(unit) && row.times.periods(unit).differ <= config_.tolerance) {
    decide(step, place, stage, row, furthest());
  }
  if (row.count == 0) return;
  if (stage == row.first - 1) account(step, number, stage, step.rows[place], row);
  if (config_.verify && stage == row.first + row.count - 1) {
    const auto begin = static_cast<std::size_t>(row.first - 1 - step.rows[place].begin);
    LeftOutPieces& left_out = *std::find_if(left_out_.begin(), left_out_.end(), [&](const LeftOutPieces& each) {
      return each.step == number && each.row == place;
    });
    left_out.off =
        left_out.time - (row.times.end_of(begin + static_cast<std::size_t>(row.count)) - row.times.end_of(begin));
  }
}

void FsdpSteady::decide(FsdpStep& step, std::size_t number, int stage, Row& row, int furthest) {
  row.is_decided = true;
  const FsdpStep::Row& of = step.rows[number];
  const int first = std::max(stage, furthest) + 1;
  const int count = (of.end - tail_ - first) / of.unit * of.unit;
  if (count <= 0) return;
  row.first = first;
  row.count = count;
  if (!config_.verify) step.leave_out(first, count);
}

void FsdpSteady::account(const FsdpStep& step, int number, int stage, const FsdpStep::Row& of, Row& row) {
  const auto unit = static_cast<std::size_t>(of.unit);
  const int times = row.count / of.unit;
  const auto last = static_cast<std::size_t>(stage - of.begin);
  const SteadyRow::Periods periods = row.times.periods(unit);
  LeftOutPieces left_out;
  left_out.what = of.forward ? "forward" : "backward";
  left_out.step = number;
  left_out.row = static_cast<std::size_t>(&of - step.rows.data());
  left_out.of = static_cast<std::size_t>(of.planned);
  left_out.pieces = static_cast<std::size_t>(row.count);
  left_out.time = (row.times.end_of(last) - row.times.end_of(last - unit)) * times;
  left_out.bound = (periods.longest - periods.shortest) * times;
  for (std::size_t part = 0; part < row.times.parts(); ++part) {
    left_out.parts.push_back(row.times.added(part, last - unit, last) * times);
  }
  if (!config_.verify) {
    const std::size_t mark = step.stages_before + static_cast<std::size_t>(stage);
    hooks_.left_out(mark - unit, mark, times);
    if (probe_ != nullptr) {
      const Time at = row.times.end_of(last);
      probe_->slice(track_, std::to_string(row.count) + " blocks, as those before", at, at + left_out.time);
      probe_->leave_out(at, left_out.time);
    }
  }
  left_out_.push_back(std::move(left_out));
}

Time FsdpSteady::time_of(int step) const {
  Time sum;
  for (const LeftOutPieces& each : left_out_) {
    if (each.step == step && !config_.verify) sum += each.time;
  }
  return sum;
}

}  // namespace weft::schedules
