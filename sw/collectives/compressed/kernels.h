// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_command.h"
#include "sw/compression/kernel.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/task.h"

namespace weft::collectives {

/// Runs the kernels of a compressor on a stream of its rank, and waits for them.
class KernelRunner {
 public:
  KernelRunner(firmware::Rank& rank, std::uint32_t stream)
      : rank_(rank), stream_(stream), ended_(rank.processor->create_completion_queue("kernels of a compressor")) {}

  firmware::Task run(compression::Kernels kernels) {  // NOLINT(performance-unnecessary-value-param): coroutines keep it
    if (kernels.empty()) co_return;
    const Time from = rank_.processor->now();
    for (const compression::Kernel& kernel : kernels) {
      const accelerator::KernelWork work = compression::kernel_work(rank_.accelerator.compute(), kernel);
      rank_.accelerator.submit(accelerator::kernel_command(stream_, kernel.name.data(), work));
    }
    rank_.accelerator.notify(stream_, ended_, 0);
    co_await ended_.next();
    taken_ += rank_.processor->now() - from;
  }

  /// All of them together, from their launch to their end.
  [[nodiscard]] Time taken() const { return taken_; }

 private:
  firmware::Rank& rank_;
  std::uint32_t stream_;
  firmware::CompletionQueue& ended_;
  Time taken_;
};

}  // namespace weft::collectives
