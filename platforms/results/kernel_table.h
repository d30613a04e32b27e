// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/results/summary.h"

namespace weft::platforms {

/// The kernels of all accelerators by name, for a roofline: `kernels`, longest first, each with `name`, `count`,
/// `time_us`, `flops` (null where nobody has counted them: of traces) and `hbm_bytes`; and the peaks of an accelerator.
/// Kernels that ask for exactly the same are one row, with all of their names. Kernels that move nothing, and kinds
/// beyond KernelKinds::kMost, are left out. Since `since`, or the beginning of the run.
[[nodiscard]] nlohmann::ordered_json kernel_table(Machine& machine, const Baseline* since);

}  // namespace weft::platforms
