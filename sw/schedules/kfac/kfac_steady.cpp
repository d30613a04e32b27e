// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_steady.h"

#include <algorithm>
#include <utility>

namespace weft::schedules {
namespace {

/// Pieces that are simulated where all goes well: three that are compared, and one that has begun behind them.
constexpr int kSimulated = 4;

std::vector<PiecesOfRow> intervals_of(const std::vector<KfacRow>& rows) {
  std::vector<PiecesOfRow> pieces;
  for (const KfacRow& row : rows) pieces.push_back({"steps", row.begin, row.pieces, 1, row.length});
  return pieces;
}

int left_out_of(const std::vector<KfacRow>& rows) {
  int sum = 0;
  for (const KfacRow& row : rows) sum += (row.pieces - kSimulated) * row.length;
  return sum;
}

}  // namespace

std::vector<KfacRow> find_intervals(int steps, const std::function<KfacUpdates(int step)>& updates) {
  std::vector<KfacUpdates> kinds;
  for (int step = 0; step < steps; ++step) kinds.push_back(updates(step));
  std::vector<KfacRow> best;
  for (int length = 1; length * (kSimulated + 1) <= steps; ++length) {
    std::vector<KfacRow> rows;
    for (int begin = 0; begin + length < steps;) {
      int end = begin + length;
      while (end < steps && kinds[static_cast<std::size_t>(end)] == kinds[static_cast<std::size_t>(end - length)])
        ++end;
      const int pieces = (end - begin) / length;
      if (pieces > kSimulated) {
        rows.push_back({begin, length, pieces});
        begin = rows.back().end();
      } else {
        begin = end - length + 1;
      }
    }
    if (left_out_of(rows) > left_out_of(best)) best = std::move(rows);
  }
  return best;
}

double simulated_share(const std::vector<KfacRow>& rows, int steps) {
  return steps > 0 ? 1 - static_cast<double>(left_out_of(rows)) / steps : 1;
}

KfacSteady::KfacSteady(const SteadyConfig& config, std::vector<KfacRow> rows, std::size_t ranks,
                       std::function<int()> begun, LeavingOut::Hooks hooks)
    : rows_(std::move(rows)),
      begun_(std::move(begun)),
      leaving_out_(config, intervals_of(rows_), ranks,
                   {[this](std::size_t row, int from) { return free(row, from); },
                    [this](std::size_t row, LeavingOut::Range range) {
                      const KfacRow& of = rows_[row];
                      gaps_.push_back({of.begin + range.from * of.length, of.begin + range.to * of.length, of.length});
                    }},
                   std::move(hooks)) {}

void KfacSteady::ended(int step, std::size_t rank, SteadyRow::Sample sample) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const KfacRow& of = rows_[row];
    if (step < of.begin || step >= of.end() || (step + 1 - of.begin) % of.length != 0) continue;
    leaving_out_.ended(row, (step - of.begin) / of.length, rank, std::move(sample));
    return;
  }
}

std::optional<KfacSteady::Gap> KfacSteady::gap_at(int step) const {
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [step](const Gap& each) { return each.from == step; });
  return gap != gaps_.end() ? std::optional(*gap) : std::nullopt;
}

std::size_t KfacSteady::longest() const {
  int most = 0;
  for (const KfacRow& row : rows_) most = std::max(most, row.length);
  return static_cast<std::size_t>(most);
}

LeavingOut::Range KfacSteady::free(std::size_t number, int from) const {
  const KfacRow& row = rows_[number];
  const int begun = begun_();
  while (from < row.pieces && row.begin + from * row.length < begun) ++from;
  return {from, row.pieces};
}

}  // namespace weft::schedules
