// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/elementwise.h"

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {

KernelWork kernel_work(const ComputeConfig& config, const Elementwise& shape) {
  require_not_negative("elementwise", {shape.elements, shape.read.count(), shape.written.count()});
  if (shape.elements == 0 && shape.read == Bytes(0) && shape.written == Bytes(0)) return {};
  const auto elements = static_cast<double>(shape.elements);
  return streaming_work(config, static_cast<double>(shape.read.count()), static_cast<double>(shape.written.count()),
                        elements * shape.flops_per_element, 1, 0, elements * shape.doubles_per_element);
}

KernelWork kernel_work(const ComputeConfig& config, const Copy& shape) {
  return kernel_work(config, Elementwise{.elements = 0, .read = shape.size, .written = shape.size});
}

}  // namespace weft::accelerator
