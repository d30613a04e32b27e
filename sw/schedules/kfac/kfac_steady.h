// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sw/schedules/kfac/schedule.h"
#include "sw/schedules/leaving_out.h"

namespace weft::schedules {

/// Intervals of steps: so many steps, which the row's pieces are one behind the other.
struct KfacRow {
  int begin = 0;
  int length = 1;
  int pieces = 0;

  [[nodiscard]] int end() const { return begin + length * pieces; }
};

/// Rows of equal intervals of those steps, of the length by which the most steps can be left out: single steps of one
/// kind, those from one update of factors to the next, or from one of inverses to the next.
std::vector<KfacRow> find_intervals(int steps, const std::function<KfacUpdates(int step)>& updates);
/// About which share of the steps is simulated.
double simulated_share(const std::vector<KfacRow>& rows, int steps);

/// Intervals of steps that need not be simulated, since they repeat (LeavingOut).
class KfacSteady {
 public:
  /// Steps from one to before another, which repeat those before them, `cycle` at a time.
  struct Gap {
    int from;
    int to;
    int cycle;
  };

  /// `begun` gives the first step that no rank has begun.
  KfacSteady(const SteadyConfig& config, std::vector<KfacRow> rows, std::size_t ranks, std::function<int()> begun,
             LeavingOut::Hooks hooks);

  void record(Probe& probe) { leaving_out_.record(probe); }
  void ended(int step, std::size_t rank, SteadyRow::Sample sample);
  /// What is left out from that step on.
  [[nodiscard]] std::optional<Gap> gap_at(int step) const;
  /// The longest cycle that there may be.
  [[nodiscard]] std::size_t longest() const;
  [[nodiscard]] const LeavingOut& rows() const { return leaving_out_; }

 private:
  [[nodiscard]] LeavingOut::Range free(std::size_t row, int from) const;

  std::vector<KfacRow> rows_;
  std::function<int()> begun_;
  std::vector<Gap> gaps_;
  LeavingOut leaving_out_;
};

}  // namespace weft::schedules
