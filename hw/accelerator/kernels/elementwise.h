// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// A pass over memory that does a little arithmetic: activation, residual. HBM or, with many operations, the vector
/// units bound it. Left out: passes too small to occupy every SM, operands that are still in L2.
struct Elementwise {
  std::int64_t elements = 0;
  Bytes read{};
  Bytes written{};
  double flops_per_element = 1;
  double doubles_per_element = 0;  ///< operations in 64 bits
};

/// Device memory to device memory by a kernel (copy engines have a module of their own).
struct Copy {
  Bytes size{};
};

/// A pass over nothing gives no work and no launch. Throws std::invalid_argument on a negative size.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Elementwise& shape);
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Copy& shape);

}  // namespace weft::accelerator
