// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "sw/firmware/rank.h"

namespace weft::schedules {

/// The kernel of a collective, one at a time: where collectives are kernels of the array (`accelerator.shared_cores`),
/// it has as many SMs from before the first copy until it ends as its group says (Communicator::kernel_cores).
class CollectiveKernel {
 public:
  CollectiveKernel(firmware::Rank& rank, const std::string& what)
      : rank_(rank), has_cores_(rank.processor->create_completion_queue("cores for " + what)) {}

  /// Until it has its SMs, which blocks of other kernels may hold.
  firmware::Task begin(int cores) {
    cores_ = static_cast<std::uint32_t>(cores);
    if (cores_ == 0) co_return;
    rank_.accelerator.keep_cores(cores_, has_cores_, 0);
    co_await has_cores_.next();
  }
  void end() {
    if (cores_ != 0) rank_.accelerator.return_cores(cores_);
  }

 private:
  firmware::Rank& rank_;
  std::uint32_t cores_ = 0;
  firmware::CompletionQueue& has_cores_;
};

}  // namespace weft::schedules
