// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "hw/core/probe.h"
#include "sw/schedules/fsdp_step.h"
#include "sw/schedules/steady.h"

namespace weft::schedules {

/// Finds blocks of steps that need not be simulated. When all ranks have ended two stretches of a row of equal blocks
/// that differ by no more than the tolerance, those blocks that no rank has begun are left out but for the last ones,
/// which no longer gather ahead. What they would have taken and counted is what the last stretch before them did, so
/// many times.
class FsdpSteady {
 public:
  /// Who counts what the machine does: `ended` is called with rising marks, and `left_out` says that what was counted
  /// between two of the last 16 comes so many times more.
  struct Hooks {
    std::function<void(std::size_t mark)> ended;
    std::function<void(std::size_t from, std::size_t to, int times)> left_out;
  };

  /// `tail`: blocks of each row to keep at its end.
  FsdpSteady(const SteadyConfig& config, std::size_t ranks, int tail, Hooks hooks)
      : config_(config), ranks_(ranks), tail_(tail), hooks_(std::move(hooks)) {}

  void record(Probe& probe);

  /// A rank has ended a stage of a step. `furthest` tells the last stage of the step that some rank has begun or waits
  /// to begin.
  void ended(FsdpStep& step, int number, int stage, std::size_t rank, SteadyRow::Sample sample,
             const std::function<int()>& furthest);

  [[nodiscard]] const std::vector<LeftOutPieces>& left_out() const { return left_out_; }
  /// Of a step.
  [[nodiscard]] Time time_of(int step) const;
  [[nodiscard]] bool verifies() const { return config_.verify; }

 private:
  struct Row {
    explicit Row(std::size_t ranks) : times(ranks) {}
    SteadyRow times;
    bool is_decided = false;
    int first = 0;  ///< of those that are left out, and how many
    int count = 0;
  };

  void decide(FsdpStep& step, std::size_t number, int stage, Row& row, int furthest);
  void account(const FsdpStep& step, int number, int stage, const FsdpStep::Row& of, Row& row);

  SteadyConfig config_;
  std::size_t ranks_;
  int tail_;
  Hooks hooks_;
  Probe* probe_ = nullptr;
  int track_ = 0;
  std::map<std::pair<int, std::size_t>, Row> rows_;  ///< by step and row
  std::vector<LeftOutPieces> left_out_;
};

}  // namespace weft::schedules
