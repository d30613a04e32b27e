// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/leaving_out.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace weft::schedules {
namespace {

/// Units of a row that are compared with so many others: buffers that are used in turn make every second one differ.
constexpr int kMostUnits = 2;
/// The bound of what is left out of a row in which ranks are far apart, in tolerances, as a share of the row's time.
constexpr double kMostBound = 2.5;

/// Two periods may be alike by chance: the bound is that of the latest so many, and no less than a part of the
/// tolerance.
constexpr std::size_t kPeriods = 3;
constexpr double kLeastBound = 0.125;

}  // namespace

LeavingOut::LeavingOut(const SteadyConfig& config, std::vector<PiecesOfRow> rows, std::size_t ranks, Schedule schedule,
                       Hooks hooks)
    : config_(config), all_(std::move(rows)), ranks_(ranks), schedule_(std::move(schedule)), hooks_(std::move(hooks)) {
  std::size_t mark = 0;
  for (const PiecesOfRow& row : all_) {
    marks_.push_back(mark);
    mark += static_cast<std::size_t>(row.pieces);
  }
}

void LeavingOut::record(Probe& probe) {
  probe_ = &probe;
  track_ = probe.add_track("simulation", "left out");
}

void LeavingOut::ended(std::size_t number, int piece, std::size_t rank, SteadyRow::Sample sample) {
  Row& row = rows_.try_emplace(number, ranks_).first->second;
  if (!row.times.end(rank, std::move(sample))) return;
  hooks_.ended(marks_[number] + static_cast<std::size_t>(piece));
  const PiecesOfRow& of = all_[number];
  if (row.stretch == 0) {
    row.stretch = settled_stretch(of, row);
    if (row.stretch > 0) decide(number, piece, row);
  }
  const bool leaves_out = row.out.from != row.out.to;
  if (leaves_out && piece == row.out.from - 1) account(number, piece, row);
  if (leaves_out && config_.verify && piece == row.out.to - 1) verify(number, row);
  const int last = row.out.to == of.pieces && leaves_out && !config_.verify ? row.out.from - 1 : of.pieces - 1;
  if (piece == last) rows_.erase(number);
}

std::size_t LeavingOut::settled_stretch(const PiecesOfRow& of, const Row& row) const {
  for (int units = 1; units <= kMostUnits; ++units) {
    const auto stretch = static_cast<std::size_t>(of.unit * units);
    if (row.times.has_periods(stretch) && row.times.periods(stretch).differ <= config_.tolerance) return stretch;
  }
  return 0;
}

void LeavingOut::decide(std::size_t number, int piece, Row& row) {
  const PiecesOfRow& of = all_[number];
  const Range free = schedule_.free(number, piece + 1);
  const int stretch = static_cast<int>(row.stretch);
  int times = std::max(0, free.to - free.from) / stretch;
  if (of.far_apart) {
    // Where ranks go on to draw apart or together, no more than leaves the time certain.
    const Time all = row.times.periods(row.stretch).longest / stretch * of.pieces;
    const Time most(static_cast<std::int64_t>(kMostBound * config_.tolerance * static_cast<double>(all.count())));
    while (times > 0 && bound(of, row, row.times.ended() - 1, times) > most) --times;
  }
  if (times * stretch < of.fewest) times = 0;
  row.out = {free.from, free.from + times * stretch};
  if (row.out.from < row.out.to && !config_.verify) schedule_.leave_out(number, row.out);
}

void LeavingOut::account(std::size_t number, int piece, const Row& row) {
  const PiecesOfRow& of = all_[number];
  const int stretch = static_cast<int>(row.stretch);
  const int times = (row.out.to - row.out.from) / stretch;
  const auto last = static_cast<std::size_t>(piece);
  LeftOutPieces left_out;
  left_out.what = of.what;
  left_out.step = of.step;
  left_out.row = number;
  left_out.of = static_cast<std::size_t>(of.pieces * of.covers);
  left_out.pieces = static_cast<std::size_t>((row.out.to - row.out.from) * of.covers);
  const Time period = row.times.end_of(last) - row.times.end_of(last - row.stretch);
  left_out.time = period * times;
  left_out.bound = bound(of, row, last, times);
  left_out.busy = row.times.busy(last - row.stretch, last) * times;
  left_out.waited = row.times.waited(last - row.stretch, last);
  for (Time& each : left_out.waited) each = each * times;
  if (!config_.verify) {
    const std::size_t mark = marks_[number] + last;
    hooks_.left_out(mark - row.stretch, mark, times);
    if (probe_ != nullptr) {
      const Time at = row.times.end_of(last);
      const std::string what = std::to_string(left_out.pieces) + " " + of.what + ", as those before";
      probe_->slice(track_, {.what = what, .from = at, .to = at + left_out.time});
      probe_->leave_out(at, left_out.time);
    }
  }
  left_out_.push_back(std::move(left_out));
}

Time LeavingOut::bound(const PiecesOfRow& of, const Row& row, std::size_t last, int times) const {
  const auto period = [&](std::size_t end) { return row.times.end_of(end) - row.times.end_of(end - row.stretch); };
  Time shortest = period(last);
  Time longest = shortest;
  for (std::size_t i = 1; i < kPeriods && (i + 1) * row.stretch <= last; ++i) {
    shortest = std::min(shortest, period(last - i * row.stretch));
    longest = std::max(longest, period(last - i * row.stretch));
  }
  const Time mean = row.times.mean_end_of(last) - row.times.mean_end_of(last - row.stretch);
  const Time drift = std::max(mean, period(last)) - std::min(mean, period(last));
  const Time least(
      static_cast<std::int64_t>(kLeastBound * config_.tolerance * static_cast<double>(period(last).count())));
  const Time apart = of.far_apart ? kNever : period(last) / static_cast<std::int64_t>(row.stretch);
  return std::max(longest - shortest, least) * times + std::min(drift * times, apart);
}

void LeavingOut::verify(std::size_t number, const Row& row) {
  const auto end_of = [&row](int piece) { return row.times.end_of(static_cast<std::size_t>(piece)); };
  const auto left_out =
      std::find_if(left_out_.begin(), left_out_.end(), [=](const LeftOutPieces& each) { return each.row == number; });
  left_out->off = left_out->time - (end_of(row.out.to - 1) - end_of(row.out.from - 1));
}

Time LeavingOut::time_of(int step) const {
  Time sum;
  for (const LeftOutPieces& each : left_out_) {
    if (each.step == step && !config_.verify) sum += each.time;
  }
  return sum;
}

Time LeavingOut::time() const {
  Time sum;
  for (const LeftOutPieces& each : left_out_) {
    if (!config_.verify) sum += each.time;
  }
  return sum;
}

}  // namespace weft::schedules
