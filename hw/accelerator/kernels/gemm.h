// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// C[b] = A[b] B[b] for b < batch, with A of m by k, B of k by n and both cold in HBM.
///
/// A matrix product is cut into output tiles, one per SM at a time: the last wave of tiles costs as much as a full one,
/// and a tile at an edge as much as a whole one. A tile takes a latency to fill and drain its pipeline, a main loop at
/// the slower of its tensor cores and the delivery of operands from L2, and the write of its result, which nothing
/// hides. The tile and the number of parts that k is cut into are those that this model finds fastest, for which a
/// library searches too. Left out: clocks that rise during short kernels, launches that overlap the kernel before, L2
/// slices and conflicts.
///
/// With `sparse`, two of four neighbours along k in A are 0 and not stored: half of A and two bits for each value that
/// is stored are read, and tensor cores run `sparsity` times as fast in terms of the dense product. `flops` counts what
/// is computed, half of it. Checked only against the data sheets' statement that the peak doubles.
///
/// Without `fast_accumulation` tensor cores pass what they have summed of 8-bit operands to vector units every few
/// steps, which takes time and energy by `full_accumulation`; other operands do not need it.
///
/// Checked against 1,125 published H100 products (traces/published/h100_gemm.csv), of which a third, whole shapes,
/// stayed out of the fit; tests/published/gemm_fit.cpp prints the fitted defaults and their errors. Held out, the
/// mean error is 4 % for 16-bit (within 3 % over 100 GFLOP), 6 % for 8-bit and 17 % for float32 operands. The 8-bit
/// rows exceed the part's peak as they stand: they are compared through a model of how they were recorded
/// (tests/published/gemm_table.h). For float32 the library switches between kernels in ways that this model does not
/// follow. float32 on vector units was compared with the 108 factor products of ResNet-50 on RTX 2080 Ti
/// (tests/unit/platform/kernel_published_test.cpp): their sum is 4 % too long and the mean error 11 %; only the largest
/// split of k, 32, was chosen with them in sight.
struct Gemm {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DataType type = DataType::kBf16;
  bool sparse = false;
  bool fast_accumulation = true;
};

/// How gemm() cut a product.
struct GemmPlan {
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
  std::int64_t split_k = 1;  ///< parts of k computed side by side and summed by a second kernel
  std::int64_t units = 0;    ///< tiles x parts
  std::int64_t waves = 0;    ///< units over SMs, rounded up
  Time reduction{};          ///< the second kernel, which the work includes; 0 without
};

/// A shape with nothing to write gives no work and no launch. Throws std::invalid_argument on a negative dimension, and
/// on a sparse product where the type or the part has none.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Gemm& shape, GemmPlan* plan = nullptr);

}  // namespace weft::accelerator
