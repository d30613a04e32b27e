// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/command.h"
#include "hw/accelerator/kernel.h"
#include "hw/accelerator/kernel_command.h"
#include "sw/models/kernels.h"
#include "traces/chakra/kernels.h"

namespace weft::schedules {

/// A model's kernels run in one stream, one after the other; what prepares shards for Allgathers, and sums for the
/// optimizer, in streams of their own.
constexpr std::uint32_t kComputeStream = 0;
constexpr std::uint32_t kGatherStream = 1;
constexpr std::uint32_t kSumStream = 2;

/// What a kernel of a layer table needs from an accelerator. Operands of 1, 2 and 4 bytes are FP8, BF16 and TF32.
/// Attention has as many keys as queries.
[[nodiscard]] accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& compute,
                                                  const models::Kernel& kernel);

using accelerator::kernel_command;

/// The same in a trace, and from it; a trace keeps no labels, nor energy below a nanojoule.
[[nodiscard]] chakra::KernelDemand kernel_demand(const accelerator::KernelWork& work);
[[nodiscard]] accelerator::Command kernel_command(std::uint32_t stream, const chakra::KernelDemand& kernel);

}  // namespace weft::schedules
