// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/models/kernels.h"

/// What renews Shampoo's and SOAP's matrices, as kernels on `count` matrices of `n` by `n` in 32 bits. Those of a shape
/// run as one batch.
namespace weft::optimizers {

/// The inverse fourth root by the coupled Newton iteration (Guo and Higham, SIMAX 2006, algorithm for p = 4; Anil et
/// al., arXiv 2002.09018, appendix): T = (5 - M) / 4, M = T^4 M, X = X T.
void add_inverse_root(std::vector<models::Kernel>& kernels, std::int64_t n, std::int64_t count, int iterations);
/// The products of one of its iterations.
inline constexpr int kRootProducts = 4;

/// The orthogonal factor of a QR decomposition by Householder reflections, in panels of 64 columns as LAPACK's geqrf
/// and orgqr: a panel column by column, then the products that bring it to the columns behind it; and those for the
/// factor.
void add_orthogonal_factor(std::vector<models::Kernel>& kernels, std::int64_t n, std::int64_t count);

}  // namespace weft::optimizers
