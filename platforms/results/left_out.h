// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

#include "platforms/results/summary.h"

namespace weft::platforms {

/// Counts what a run leaves out because it would be equal to what it has simulated.
class LeftOut {
 public:
  static constexpr std::size_t kKept = 17;

  explicit LeftOut(Machine& machine) : machine_(machine) {}

  /// Keeps the counters of now as those of `mark`; marks ascend.
  void mark(std::size_t mark);
  /// What was counted between two of the last kKept marks comes so many times more.
  void leave_out(std::size_t from, std::size_t to, int times);

  [[nodiscard]] bool any() const { return any_; }
  /// What all of it would have taken.
  [[nodiscard]] Time time() const { return Time() - sum_.at; }
  /// `since`, or the beginning of the run, less all that was left out: what has been counted since contains it. Where
  /// there is any.
  [[nodiscard]] Baseline moved(const Baseline* since) const;

 private:
  Machine& machine_;
  Baseline sum_;  ///< the beginning, where nothing was counted, less all that was left out
  bool any_ = false;
  std::map<std::size_t, Baseline> marks_;
};

/// Whether a machine does the same again whenever it has done the same twice: nothing in it is random, and no clock of
/// RTL, of banks or of outages has a grid of its own.
[[nodiscard]] bool repeats_itself(const MachineConfig& config);

}  // namespace weft::platforms
