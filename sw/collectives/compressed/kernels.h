// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
    const Time now = rank_.processor->now();
    taken_ += now - std::max(from, *until_);
    *until_ = now;
  }

  /// All of them together, from their launch to their end.
  [[nodiscard]] Time taken() const { return taken_; }
  /// Another runner on this stream has the same `until`. Kernels of a stream run one after the other: time in which a
  /// runner waits for those of another is the other's alone.
  void share(Time& until) { until_ = &until; }

 private:
  firmware::Rank& rank_;
  std::uint32_t stream_;
  firmware::CompletionQueue& ended_;
  Time taken_;
  Time own_until_;  ///< when kernels of the stream ended that were the last to be awaited
  Time* until_ = &own_until_;
};

}  // namespace weft::collectives
