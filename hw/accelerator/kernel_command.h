// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/command.h"
#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// Launches a kernel. `label` is kept by the caller for the run.
[[nodiscard]] Command kernel_command(std::uint32_t stream, const char* label, const KernelWork& work);

}  // namespace weft::accelerator
