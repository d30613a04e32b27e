// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sw/schedules/fsdp_rows.h"
#include "sw/schedules/leaving_out.h"

namespace weft::schedules {

/// Rows of equal blocks of FSDP's steps, of which some need not be simulated (LeavingOut).
class FsdpSteady {
 public:
  /// Stages of a step, from one to another, that a thread has begun or waits for: none of these can be left out, nor
  /// some of those in between.
  struct Held {
    int from;
    int to;
  };
  /// Who knows what threads hold, and leaves out stages from one to before another of a step.
  struct Schedule {
    std::function<std::vector<Held>(int step)> held;
    std::function<void(int step, int from, int to)> leave_out;
  };

  FsdpSteady(const SteadyConfig& config, const FsdpPlan& plan, GatherAhead ahead, int steps, std::size_t ranks,
             Schedule schedule, LeavingOut::Hooks hooks);

  void record(Probe& probe) { leaving_out_.record(probe); }

  /// A rank has ended a stage of a step.
  void ended(int step, int stage, std::size_t rank, SteadyRow::Sample sample);

  [[nodiscard]] const LeavingOut& rows() const { return leaving_out_; }

 private:
  [[nodiscard]] LeavingOut::Range free(std::size_t row, int from) const;
  [[nodiscard]] const FsdpRow& plan_row(std::size_t row) const { return plan_rows_[row % plan_rows_.size()]; }
  [[nodiscard]] int step_of(std::size_t row) const { return static_cast<int>(row / plan_rows_.size()); }

  std::vector<FsdpRow> plan_rows_;  ///< of each step
  Schedule schedule_;
  LeavingOut leaving_out_;
};

}  // namespace weft::schedules
