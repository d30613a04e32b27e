// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/accelerator/kernels/gemm.h"

namespace weft::accelerator {

/// A product within another kernel: what it takes from HBM and how many of its operations are asked for may differ from
/// those of a plain one.
struct Product {
  Gemm shape;
  double a = 0;  ///< bytes of A in HBM, for one matrix of the batch
  double b = 0;
  double flops = 0;  ///< useful ones of the whole batch
};

[[nodiscard]] Product plain_product(const Gemm& shape);

/// The shape is checked and has results.
[[nodiscard]] KernelWork product_work(const ComputeConfig& config, const Product& product, GemmPlan* plan = nullptr);

}  // namespace weft::accelerator
