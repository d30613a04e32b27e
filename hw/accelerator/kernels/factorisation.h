// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// A = L L^T for symmetric positive definite matrices, `batch` of them side by side.
///
/// Blocked: panels of 128 columns from left to right. A panel's diagonal block is factored within one SM, a column
/// after the other, each a `panel_step` for its square root, division and rank-1 update; the rest of the panel is
/// solved, and the matrix to its right updated, by products (see gemm.h, on half of the square). An update is a product
/// over 128 only, so that loading what its tiles add to, and storing it, is not hidden behind a main loop: it goes at
/// the rate of HBM, or of L2 where half of that holds all matrices. So a matrix of a few hundred columns is bound by
/// the latency of its columns and a large one by its products and HBM: n^3 / 3 operations. Several matrices share the
/// latency, an SM each.
struct Cholesky {
  std::int64_t batch = 1;
  std::int64_t n = 0;
  DataType type = DataType::kFp32;
};

/// A^-1 of symmetric positive definite matrices: the factorisation, then both triangles solved against the identity, by
/// products too, as libraries do it; 7/3 n^3 operations in all.
///
/// One parameter, `panel_step`, was chosen for the sum of the 108 inversions of ResNet-50's factors (sizes 64 to 4,608)
/// that SPD-KFAC's authors publish for RTX 2080 Ti in float32, 274 ms. Held out: the 312 inversions of ResNet-152, 676
/// ms (-2 %); both networks' inversions distributed with load balancing (+5 and -2 %) and one after the other (-18 and
/// -5 %), see tests/unit/platform/kernel_published_test.cpp. Times of single sizes are not published; the cubic that
/// FACTS.md derives from the same sums is met within 12 % from 512 to 4,608. The published library may factor panels on
/// the host, and the step is then the way there and back; other parts inherit it. Left out: pivoting (LU), iterative
/// refinement, a look-ahead that overlaps a panel with the update before.
struct Inverse {
  std::int64_t batch = 1;
  std::int64_t n = 0;
  DataType type = DataType::kFp32;
};

/// Nothing to factor gives no work and no launch. Throws std::invalid_argument on a negative dimension and on 8-bit
/// operands.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Cholesky& shape);
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Inverse& shape);

}  // namespace weft::accelerator
