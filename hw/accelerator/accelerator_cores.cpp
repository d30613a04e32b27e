// SPDX-License-Identifier: Apache-2.0
// Which cores of the array kernels and collectives have.
#include <algorithm>

#include "hw/accelerator/accelerator.h"

namespace weft::accelerator {

void Accelerator::keep_cores(Time now, const Command& command) {
  asking_.push_back(command);
  grant_cores(now);
}

void Accelerator::grant_cores(Time now) {
  while (!asking_.empty()) {
    const std::int64_t left = config_.compute.sms - kept_cores_ - asking_.front().cores;
    if (config_.shared_cores && left < 0) return;
    if (std::any_of(running_.begin(), running_.end(),
                    [&](const Running& kernel) { return kernel.active && fills(kernel, now, left); })) {
      return;
    }
    kept_cores_ += asking_.front().cores;
    notify(now, asking_.front());
    asking_.pop_front();
  }
}

bool Accelerator::fills(const Running& kernel, Time now, std::int64_t cores) const {
  if (kernel.done == kernel.slices) return false;
  if (kernel.blocks > std::max<std::int64_t>(0, cores)) return true;
  if (kernel.tiles == 0 || now <= kernel.wave_from) return false;
  const std::int64_t wave = scaled(kernel.done, waves(kernel.tiles, kernel.cores), kernel.slices);
  return std::min(kernel.cores, kernel.tiles - wave * kernel.cores) > std::max<std::int64_t>(0, cores);
}

void Accelerator::return_cores(Time now, std::int64_t cores) {
  kept_cores_ -= cores;
  for (Running& kernel : running_) {
    if (!kernel.active || kernel.late == 0) continue;
    kernel.late = std::max<std::int64_t>(0, kernel.late - cores);
    if (kernel.late == 0) kernel.late_from = now;
  }
  grant_cores(now);
}

}  // namespace weft::accelerator
