// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "hw/core/random.h"
#include "sw/schedules/fsdp_plan.h"

namespace weft::platforms {

/// A number for what kernels need of an accelerator: equal for equal needs.
class KernelDigest {
 public:
  void add(std::uint64_t value) { sum_ = mix(sum_ ^ value); }
  void add(const accelerator::KernelWork& work) {
    for (const std::int64_t value : {work.launch.count(), work.compute.count(), work.cache.count(), work.read.count(),
                                     work.written.count(), work.cached.count(), work.blocks, work.tiles}) {
      add(static_cast<std::uint64_t>(value));
    }
    for (const double value : {work.array_energy, work.moving_energy, work.clock})
      add(std::bit_cast<std::uint64_t>(value));
  }
  void add(const std::vector<schedules::PlannedKernel>& kernels) {
    for (const schedules::PlannedKernel& kernel : kernels) add(kernel.work);
  }
  [[nodiscard]] std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace weft::platforms
