// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// softmax(Q K^T) V without storing the scores (FlashAttention), in 16 bits. `backward` is the gradient pass alone,
/// which computes the scores again: five products for the two of the forward pass.
///
/// Rows of tiles are spread over the SMs; of the softmax a share is exposed. Left out: dropout, masks other than the
/// causal one, queries and keys of different length. Forward was compared with the H100 speeds of FlashAttention-3
/// (arXiv 2407.08608) at head sizes 64 and 128: mean error below 10 %; backward is not checked.
struct FlashAttention {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t seq = 0;
  std::int64_t head_dim = 128;
  bool causal = false;
  bool backward = false;
};

/// Throws std::invalid_argument on a negative dimension and on key heads that do not divide the heads.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const FlashAttention& shape);

}  // namespace weft::accelerator
