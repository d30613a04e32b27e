// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// What a machine did when: its counters, read now and then while it runs. Reading them posts no event, so that a run
/// is the same with it and without.
class UseOverTime {
 public:
  /// Rows that are kept, at most: where more come, each second one goes, and from then on fewer are taken.
  static constexpr std::size_t kMost = 512;
  /// Accelerators that have a column of their own, at most: evenly from all.
  static constexpr int kColumns = 64;

  explicit UseOverTime(Machine& machine);

  /// Between events, often: some of the calls read the counters.
  void look();

  /// over_time.csv up to the end of the run. Each row is of the time from the row before it on: `until_us`;
  /// `computing`, the share of that time in which accelerators' core arrays had a kernel; what ends send into each
  /// network and what the memories of all accelerators move, in GB/s; `power_w`, of all that has figures for it; and
  /// `computing` of single accelerators.
  [[nodiscard]] std::string table(Time end);

 private:
  /// Sums from the beginning on.
  struct Sample {
    Time at;
    std::int64_t fabric = 0;    ///< bytes
    std::int64_t scale_up = 0;  ///< bytes
    std::int64_t memory = 0;    ///< bytes
    double energy = 0;          ///< joules
    Time computing;             ///< of all accelerators
    std::vector<Time> of_accelerators;
  };

  [[nodiscard]] Sample sample(Time at) const;

  Machine& machine_;
  std::vector<int> shown_;
  std::uint64_t looks_ = 0;
  std::uint64_t stride_ = 1;
  std::vector<Sample> samples_;
};

}  // namespace weft::platforms
