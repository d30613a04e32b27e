// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "hw/accelerator/kernel.h"
#include "platforms/commands/kernel/shapes.h"
#include "platforms/machine/machine.h"

namespace weft::platforms {

/// A kernel for some SMs of an accelerator.
struct Placed {
  accelerator::KernelWork work;  ///< on a partition of that size
  std::int64_t sms = 0;
};

/// Both kernels on SMs of their own at one clock, as a GPU has one: the highest at which what both draw while they run
/// together is within the power cap.
[[nodiscard]] std::array<Placed, 2> place_beside(const accelerator::ComputeConfig& compute,
                                                 const std::array<KernelShape, 2>& shapes,
                                                 const std::array<std::int64_t, 2>& sms);

/// When each of two kernels ends that begin together.
struct Ends {
  std::array<Time, 2> alone;   ///< with nothing beside it
  std::array<Time, 2> beside;  ///< with the other one on other SMs
};

/// Simulates the kernels on the accelerator, each by itself and both together, which share its HBM: the Accelerator and
/// the Hbm of a machine, whose stream of requests goes on in slices that take turns. Once in a process.
[[nodiscard]] Ends run_beside(const AcceleratorPart& part, const std::array<Placed, 2>& kernels);

}  // namespace weft::platforms
