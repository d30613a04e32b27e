// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// The accelerators of a machine that a job has: all of them, or some where several jobs run on it. Its ranks are
/// numbered from 0, in the order in which their places are given. No accelerator is of two shares.
class Share {
 public:
  /// All of the machine.
  explicit Share(Machine& machine);
  /// Those at `places`: rank 0 is at the first. `owner` stands before what their firmware is called.
  Share(Machine& machine, const std::vector<int>& places, const std::string& owner);
  // Jobs refer to it.
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// As of a machine of these accelerators alone: so many of them, and so many in each node as they have there, or one
  /// where nodes differ in that or the ranks of a node do not follow each other.
  [[nodiscard]] const MachineConfig& config() const { return config_; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  firmware::Rank& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const std::vector<firmware::Rank*>& ranks() const { return ranks_; }
  accelerator::Accelerator& accelerator(int index) { return machine_.accelerator(rank(index).place); }
  Machine& machine() { return machine_; }

 private:
  Machine& machine_;
  MachineConfig config_;
  std::vector<firmware::Rank*> ranks_;
};

/// What Share::config() is of such accelerators.
[[nodiscard]] MachineConfig config_of_share(const MachineConfig& machine, const std::vector<int>& places);

}  // namespace weft::platforms
