// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernel_command.h"

#include <algorithm>

namespace weft::accelerator {
namespace {

/// With the last-level cache, which is as slow as the array under a cap of its clock: HBM can be the faster one then.
Time on_the_array(const KernelWork& work) {
  return work.clock < 1 ? std::max(work.compute, work.cache) : work.compute;
}

}  // namespace

Command kernel_command(std::uint32_t stream, const char* label, const KernelWork& work) {
  Command command;
  command.operation = Operation::kKernel;
  command.stream = stream;
  command.launch_ps = work.launch.count();
  command.compute_ps = on_the_array(work).count();
  // A part without a lower clock pauses at the full one.
  if (work.clock < 1 || work.paused > Time())
    command.capped_ps = std::max(Time(), on_the_array(work) - work.uncapped.compute).count();
  command.read = static_cast<std::uint64_t>(work.read.count());
  command.written = static_cast<std::uint64_t>(work.written.count());
  command.cached = static_cast<std::uint64_t>(work.cached.count());
  command.blocks = static_cast<std::uint32_t>(work.blocks);
  command.tiles = static_cast<std::uint32_t>(work.tiles);
  // Joules of what belongs to the kernel: HBM counts its own.
  command.energy = work.array_energy + work.moving_energy;
  command.flops = work.flops;
  command.label = label;
  return command;
}

}  // namespace weft::accelerator
