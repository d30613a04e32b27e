// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// All eigenvalues and eigenvectors of symmetric matrices, `batch` of them side by side, by the steps of LAPACK's
/// syevd, which libraries for GPUs follow (cuSOLVER's syevd, MAGMA's; from memory, not checked):
///
/// - reduction to a tridiagonal matrix in panels of 64 columns, 4/3 n^3 operations: each column needs a reflection, a
///   `panel_step`, and a product of what is left of the matrix with a vector, which reads half of the square, from HBM
///   or from L2 if half of that holds all matrices; the panel then updates what is right of it by a product;
/// - divide and conquer, 4/3 n^3: two halves are merged by a product for each, from blocks of 64 on; all eigenvalues
///   count, as if none were close to another (no deflation);
/// - the reflections on the vectors, panel by panel, 2 n^3, by products.
///
/// 14/3 n^3 operations in all; an iteration by QR, in place of divide and conquer, would be about 9 n^3. Products have
/// the rates of products (gemm.h) and the matrix-vector products that of the memory, so that half of the reduction, and
/// most of the time of a large matrix, is bound by reading it n times. No parameter is chosen for it, and nothing was
/// measured. Left out: the secular equations' own operations, workspaces.
struct SymmetricEigen {
  std::int64_t batch = 1;
  std::int64_t n = 0;
  DataType type = DataType::kFp32;
};

/// Nothing to decompose gives no work and no launch. Throws std::invalid_argument on a negative dimension and on
/// operands of less than 32 bits.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const SymmetricEigen& shape);

}  // namespace weft::accelerator
