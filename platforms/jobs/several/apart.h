// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "hw/core/quantity.h"

namespace weft::platforms {

/// Simulations that this process could go on to, each in a copy of it, one after the other, while it goes on to
/// another itself: SystemC has one run for each process. The copies write nothing but their answers, and end with this
/// process. Before a run.
class Apart {
 public:
  /// `run(i)` is called in the i-th copy, and returns what it is asked for. Throws std::system_error where there can be
  /// no process.
  Apart(std::size_t count, const std::function<Time(std::size_t)>& run);
  /// Ends what is not done.
  ~Apart();
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  /// Waits for the answers; nothing for one whose run has failed.
  const std::vector<std::optional<Time>>& times();

 private:
  std::vector<std::optional<Time>> times_;
  pid_t child_ = 0;
  int answers_ = -1;
};

}  // namespace weft::platforms
