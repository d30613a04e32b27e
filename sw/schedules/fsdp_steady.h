// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "hw/core/probe.h"
#include "sw/schedules/fsdp_rows.h"
#include "sw/schedules/steady.h"

namespace weft::schedules {

/// Finds blocks of steps that need not be simulated. When all ranks have ended two stretches of a row of equal blocks
/// that differ by no more than the tolerance, those blocks that no rank has begun are left out. What they would have
/// taken and counted is what the last stretch before them did, so many times.
class FsdpSteady {
 public:
  /// Who counts what the machine does: `ended` is called with rising marks, and `left_out` says that what was counted
  /// between two of the last 16 comes so many times more.
  struct Hooks {
    std::function<void(std::size_t mark)> ended;
    std::function<void(std::size_t from, std::size_t to, int times)> left_out;
  };
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

  FsdpSteady(const SteadyConfig& config, const FsdpPlan& plan, GatherAhead ahead, std::size_t ranks, Schedule schedule,
             Hooks hooks);

  void record(Probe& probe);

  /// A rank has ended a stage of a step.
  void ended(int step, int stage, std::size_t rank, SteadyRow::Sample sample);

  [[nodiscard]] const std::vector<LeftOutPieces>& left_out() const { return left_out_; }
  /// Of a step.
  [[nodiscard]] Time time_of(int step) const;
  [[nodiscard]] bool verifies() const { return config_.verify; }

 private:
  struct Row {
    explicit Row(std::size_t ranks) : times(ranks) {}
    SteadyRow times;
    std::size_t stretch = 0;  ///< stages in which it repeats itself; 0 until it does
    int from = 0;             ///< what is left out; nothing if these are equal
    int to = 0;
  };

  [[nodiscard]] std::size_t settled_stretch(const FsdpRow& of, const Row& row) const;
  void decide(int step, const FsdpRow& of, int stage, Row& row);
  void account(int step, std::size_t place, int stage, const Row& row);
  void verify(int step, std::size_t place, const Row& row);
  [[nodiscard]] std::size_t mark_of(int step, int stage) const;

  SteadyConfig config_;
  std::size_t stages_;
  std::vector<FsdpRow> plan_rows_;
  std::size_t ranks_;
  Schedule schedule_;
  Hooks hooks_;
  Probe* probe_ = nullptr;
  int track_ = 0;
  std::map<std::pair<int, std::size_t>, Row> rows_;  ///< by step and row
  std::vector<LeftOutPieces> left_out_;
};

}  // namespace weft::schedules
