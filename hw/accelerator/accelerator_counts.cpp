// SPDX-License-Identifier: Apache-2.0
// What an accelerator counts of its kernels.
#include "hw/accelerator/accelerator.h"

namespace weft::accelerator {

void Accelerator::count(Time now, const Running& kernel, const Command& command) {
  ++counters_.kernels;
  counters_.computing += Time(command.compute_ps);
  counters_.energy += command.energy;
  if (command.cached > 0) {
    counters_.cached_bytes += static_cast<std::int64_t>(command.cached);
    counters_.missed_bytes += static_cast<std::int64_t>(std::min(command.cached, command.read + command.written));
  }
  if (command.read + command.written == 0) {
    counters_.taken += now - kernel.began;
    counters_.calculated += Time(command.launch_ps + scaled(command.compute_ps, pace_, kEvenPace));
    return;
  }
  const std::uint32_t kind = kinds_.number(command);
  if (kind == KernelKinds::kMost) {
    ++counters_.of_no_kind;
    return;
  }
  if (counters_.of_kind.size() <= kind) {
    counters_.of_kind.resize(kind + 1);
    counters_.taken_of_kind.resize(kind + 1);
  }
  ++counters_.of_kind[kind];
  counters_.taken_of_kind[kind] += now - kernel.began;
  counters_.taken += now - kernel.began;
}

void Accelerator::count_busy(Time now) {
  if (free_cores_ < config_.compute.sms) counters_.busy += now - counted_;
  counted_ = now;
}

}  // namespace weft::accelerator
