// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sw/collectives/algorithm.h"
#include "sw/firmware/rank.h"

namespace weft::schedules {

/// The kernel of a collective, one at a time: where collectives are kernels of the array (`accelerator.shared_cores`),
/// it has an SM for each copy engine from before the first copy until it ends. An algorithm that is the host's or the
/// interface's work has none.
class CollectiveKernel {
 public:
  CollectiveKernel(firmware::Rank& rank, bool on_host, const std::string& what)
      : rank_(rank),
        usual_(rank.staged && !on_host ? static_cast<std::uint32_t>(rank.copy_engines) : 0),
        has_cores_(rank.processor->create_completion_queue("cores for " + what)) {}

  /// Until it has its SMs, which blocks of other kernels may hold: as many as copy engines, or as `cores` says.
  firmware::Task begin(std::optional<int> cores = std::nullopt) {
    cores_ = usual_ != 0 && cores ? static_cast<std::uint32_t>(*cores) : usual_;
    if (cores_ == 0) co_return;
    rank_.accelerator.keep_cores(cores_, has_cores_, 0);
    co_await has_cores_.next();
  }
  void end() {
    if (cores_ != 0) rank_.accelerator.return_cores(cores_);
  }

 private:
  firmware::Rank& rank_;
  std::uint32_t usual_;
  std::uint32_t cores_ = 0;  ///< of the one that runs
  firmware::CompletionQueue& has_cores_;
};

}  // namespace weft::schedules
