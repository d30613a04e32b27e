// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/models/kernels.h"

namespace weft::optimizers {

/// The products of Muon's Newton-Schulz iterations on a matrix, in their order. `symmetric`: of those whose result is
/// symmetric half is computed, and written twice.
[[nodiscard]] std::vector<models::Gemm> newton_schulz_products(std::int64_t rows, std::int64_t cols, int iterations,
                                                               bool symmetric = false);

}  // namespace weft::optimizers
