// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// softmax(Q K^T) V without storing the scores (FlashAttention), in 16 bits. `backward` is the gradient pass alone,
/// which computes the scores again: five products for the two of the forward pass.
///
/// Rows of tiles are spread over the SMs; of the softmax a share is exposed. `synchronous` is a kernel that waits for
/// each product before the softmax, with instructions of the generation before, as FlashAttention-2 is on Hopper: all
/// of the softmax is exposed. Left out: dropout, masks other than the causal one, queries and keys of different length.
///
/// Forward was compared with the H100 speeds of FlashAttention-3 (arXiv 2407.08608) at head sizes 64 and 128: mean
/// error below 10 %. Of FlashAttention-2, nothing of which was used to fit, are published for long sequences: 35 % of
/// H100's peak forward (abstract of arXiv 2407.08608), at most 335 TFLOPS on H100 forward and backward, at most 73 % of
/// A100's peak forward and 63 % backward (arXiv 2307.08691). kernel_test compares.
struct FlashAttention {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t seq = 0;
  std::int64_t head_dim = 128;
  bool causal = false;
  bool backward = false;
  bool synchronous = false;
};

/// Throws std::invalid_argument on a negative dimension and on key heads that do not divide the heads.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const FlashAttention& shape);

}  // namespace weft::accelerator
