// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sw/models/transformer.h"

/// What a training step of a transformer keeps in memory between its forward and its backward pass.
///
/// Counted, of one micro-batch of one rank: every tensor that a backward kernel of transformer_kernels.cpp reads and
/// that is no parameter, once, in the type in which it is kept. So a block without recomputation keeps the inputs of
/// both norms and what they give; queries, keys and values as attention reads them (copied to one per query head with
/// `repeat_kv`), its output, and a 32-bit logarithm for each head and token; what gate and up projections give, and
/// what enters the down projection. With experts the router's scores and its choice, the tokens that came to the
/// experts, what gate and up projections give of them and what enters the down projection; what experts give is not
/// kept, as their weights are multiplied with before. Where linear layers are cast and nothing is computed again, what
/// enters one is kept as it was cast for the gradient of the weight; what another kernel needs, such as attention its
/// output and a router its input, is kept as it was, too. With latent attention the vectors of queries, keys and
/// values, too, before and after their norms. Eager work keeps, as PyTorch's operators do, for each RMSNorm its input
/// in 32 bits in place of 16 and the scaled one besides, and the activated gate. With recomputation a block keeps its
/// input and what Recompute says. Attention by operators keeps the softmax in 32 bits and in 16 in place of the
/// logarithm, and dropout a byte an element. The embedding keeps token numbers of 64 bits and what distances add to
/// scores; the head its norm's tensors and the loss's logarithms of each word, in 32 bits if eager.
///
/// For GPT's blocks, fused, without dropout and without a stored attention matrix, this is 32 s b h bytes and the
/// logarithms: the 34 s b h of Korthikanti et al. (Reducing Activation Recomputation in Large Transformer Models, 2022,
/// section 4) less two masks.
///
/// Left out: gradients of activations and workspace of kernels, which live for a kernel or two, numbers of one for each
/// token (roots of mean squares), fragmentation.
namespace weft::models {

/// Bytes that stay until the unit's backward pass.
std::int64_t kept_activations(const Transformer& model, UnitKind kind, const StepShape& shape);

/// Bytes that a block's backward pass makes again, and holds while it runs.
std::int64_t recomputed_activations(const Transformer& model, UnitKind kind, const StepShape& shape);

}  // namespace weft::models
