// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// How firmware says that a collective's kernel is on the accelerator. Such a kernel keeps its cores from its start to
/// its end, also while it waits for others, and shares them with no other kernel (a maintainer's word in NVIDIA/nccl
/// issue 689). Where copy engines are SMs of the array, kernels lack those kept as they lack the engines that work,
/// which are the same ones.
namespace weft::accelerator {

/// Semaphores that count cores, both from the beginning: as many are kept as the first is ahead of the second.
constexpr std::uint32_t kCoresTaken = 14;
constexpr std::uint32_t kCoresReturned = 15;

}  // namespace weft::accelerator
