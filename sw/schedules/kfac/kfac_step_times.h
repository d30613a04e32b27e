// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "hw/core/quantity.h"
#include "sw/schedules/kfac/kfac_plan.h"

namespace weft::schedules {

/// When each rank ended each stage of its latest steps, and sent and had what it sends: whether steps repeat. Steps are
/// equal if all of this is by the same time later in one than in the other, on all ranks. Machines often come back to
/// where they were after several steps, as buffers and links are used in turn.
class KfacStepTimes {
 public:
  /// The longest cycle that is looked for.
  static constexpr std::size_t kMostSteps = 16;

  struct Cycle {
    std::size_t steps = 0;  ///< that repeat
    Time time;              ///< which they take
  };

  /// `within`: of a step's time, by which what is taken for equal may differ.
  KfacStepTimes(std::size_t ranks, double within) : ranks_(ranks, std::deque<Step>(1)), within_(within) {}

  /// Of the step that the rank is in.
  void stage_ended(std::size_t rank, Time at) { ranks_[rank].back().times.push_back(at); }
  void sent(std::size_t rank, Time from, Time to) {
    ranks_[rank].back().transfers.push_back(from);
    ranks_[rank].back().transfers.push_back(to);
  }
  void step_ended(std::size_t rank);

  /// Steps that all ranks have ended.
  [[nodiscard]] std::size_t ended() const { return ended_; }
  /// Of the last `steps` that all ranks have ended, the shortest cycle that has been passed twice at their end.
  [[nodiscard]] std::optional<Cycle> cycle(std::size_t steps) const;

 private:
  struct Step {
    std::vector<Time> times;
    std::vector<Time> transfers;
  };

  /// That each of a step is `shift` later than in the one `apart` steps before it.
  [[nodiscard]] bool repeats(std::size_t step, std::size_t apart, Time shift) const;
  [[nodiscard]] const Step& at(std::size_t rank, std::size_t step) const { return ranks_[rank][step - dropped_]; }

  std::vector<std::deque<Step>> ranks_;  ///< steps from `dropped_` on; the last is under way
  double within_;
  std::size_t ended_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace weft::schedules
