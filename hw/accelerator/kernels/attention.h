// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// softmax(Q K^T) V without storing the scores (FlashAttention), in 16 bits. `backward` is the gradient pass alone,
/// which computes the scores again: five products for the two of the forward pass. With `type` kFp8, Q, K and V have 8
/// bits and the result 16; no library has the gradient of that.
///
/// Rows of tiles are spread over the SMs; of the softmax a share is exposed. A score takes one exponential
/// (`special_functions`) and a few operations of the float32 lanes that `vector_fp32` makes. `synchronous` is a kernel
/// that waits for each product before the softmax, with instructions of the generation before, as FlashAttention-2 is
/// on Hopper: all of the softmax is exposed. Left out: dropout, masks other than the causal one.
///
/// A sequence has `keys` keys and values, as many as queries if that is 0. A causal mask then ends with the last key:
/// the last query sees all keys and each one before it one key less, as in FlashAttention since 2.1. Few queries
/// before a long cache are decoded: those of all heads that share keys fill one tile of 64 rows, and where that leaves
/// SMs idle the keys are cut into parts that a second kernel adds up (flash-decoding).
///
/// Forward was compared with the H100 speeds of FlashAttention-3 (arXiv 2407.08608) at head sizes 64 and 128: mean
/// error below 10 %. In fp8 the "close to 1.2
/// PFLOPS" of its abstract are met within 15 % at head size 256, nothing fitted. Of FlashAttention-2, nothing of which
/// was used to fit, are published for long sequences: 35 % of H100's peak forward (abstract of arXiv 2407.08608), at
/// most 335 TFLOPS on H100 forward and backward, at most 73 % of A100's peak forward and 63 % backward (arXiv
/// 2307.08691). kernel_test compares. On an H100 measured for docs/accuracy decoding takes 9 to 22 % longer than
/// here.
struct FlashAttention {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t seq = 0;
  std::int64_t head_dim = 128;
  bool causal = false;
  bool backward = false;
  bool synchronous = false;
  std::int64_t keys = 0;
  DataType type = DataType::kBf16;
};

/// Throws std::invalid_argument on a negative dimension, on key heads that do not divide the heads, on causal queries
/// of which some see no key, on types of more than 16 bits and on gradients in 8.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const FlashAttention& shape);

}  // namespace weft::accelerator
