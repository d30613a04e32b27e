// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/models/kernels.h"
#include "sw/models/transformer.h"
#include "sw/optimizers/optimizer.h"

/// Kernels that go through parameters element by element, and what several optimizers have of them.
namespace weft::optimizers {

inline constexpr std::int64_t kFp32 = 4;
inline constexpr std::int64_t kBf16 = 2;

/// Norm and clipping of as many gradients in 32 bits.
void add_clipping(std::vector<models::Kernel>& kernels, std::int64_t elements);
/// AdamW on as many parameters, gradients and moments in 32 bits; not fused as PyTorch's default for GPUs, operator by
/// operator over lists of tensors.
void add_adam(std::vector<models::Kernel>& kernels, std::int64_t elements, models::Fusion fusion);

/// Of a holding, what is not a block's matrix: as many elements as the rank has gradients of.
[[nodiscard]] std::int64_t other_share(const Holding& holding);

/// Of `count` things that `ranks` share, what one of them has at most.
[[nodiscard]] constexpr std::int64_t share_of(std::int64_t count, std::int64_t ranks) {
  return (count + ranks - 1) / ranks;
}

}  // namespace weft::optimizers
