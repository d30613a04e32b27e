// SPDX-License-Identifier: Apache-2.0
#include "sw/models/activations.h"

#include <algorithm>

namespace weft::models {
namespace {

constexpr std::int64_t kFp32Bytes = 4;
constexpr std::int64_t kTokenNumber = 8;
constexpr std::int64_t kMask = 1;

/// Of the model's width, on this rank.
std::int64_t width_of(const Transformer& model, const StepShape& shape) {
  return model.d_model / shape.sharers;
}

bool makes_latents_again(const StepShape& shape) {
  return shape.recompute == Recompute::kLatentProjections;
}

/// Whether products of blocks keep their inputs as they were cast for them. What is computed again is cast again.
bool keeps_casts(const StepShape& shape) {
  return shape.linear != LinearType::kPlain && (shape.recompute == Recompute::kNone || makes_latents_again(shape));
}

/// Of so many values that enter a product whose weight has a gradient, kept for that alone. With scales of blocks they
/// are cast along both directions, and the gradient's is kept.
std::int64_t of_operand(std::int64_t values, const StepShape& shape) {
  return keeps_casts(shape) ? scaled_bytes(values, scale_block(shape.linear)) : values * shape.element_bytes;
}

/// The same of values that are kept as they are, too, for another kernel.
std::int64_t of_shared_operand(std::int64_t values, const StepShape& shape) {
  return values * shape.element_bytes + (keeps_casts(shape) ? of_operand(values, shape) : 0);
}

/// Of a norm: its input and what it gives; eager operators keep the scaled one, too.
std::int64_t of_norm(const Transformer& model, UnitKind kind, const StepShape& shape) {
  const std::int64_t e = shape.element_bytes;
  const std::int64_t width = width_of(model, shape);
  const std::int64_t given = is_block(kind) ? of_operand(width, shape) : width * e;
  return width * (has_single_norms(model.norm, kind, shape.fusion) ? e : kFp32Bytes + e) + given;
}

/// Of attention: its output, and the logarithm of each row's sum.
std::int64_t of_attention_output(const Transformer& model, const StepShape& shape) {
  return of_shared_operand(model.attended_width(), shape) + (model.relative > 0 ? 0 : model.heads * kFp32Bytes);
}

/// Of what queries, keys and values are made from, besides the block's input: with latent attention the vectors before
/// and after their norms, with norms of queries and keys these before.
std::int64_t of_projections(const Transformer& model, const StepShape& shape) {
  if (model.is_latent()) {
    return (model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim) * shape.element_bytes +
           (makes_latents_again(shape) ? (model.q_lora_rank + model.kv_lora_rank) * shape.element_bytes
                                       : of_operand(model.q_lora_rank, shape) + of_operand(model.kv_lora_rank, shape));
  }
  return model.qk_norm ? (model.query_width() + model.kv_width()) * shape.element_bytes : 0;
}

/// Of an MLP of that width: up and what enters the down projection; with a gate that too, and eager its activation.
std::int64_t of_hidden(const Transformer& model, UnitKind kind, const StepShape& shape, std::int64_t width) {
  const std::int64_t others = 1 + (model.gated ? 1 + (is_fused(kind, shape.fusion) ? 0 : 1) : 0);
  return width * others * shape.element_bytes + of_operand(width, shape);
}

/// Of all tokens of a block with experts: scores of the router and its choice, what all tokens go to, and of each token
/// that comes to an expert what enters and what is hidden. The router's input is that of no other product: what enters
/// others is cast for each.
std::int64_t of_experts(const Transformer& model, UnitKind kind, const StepShape& shape) {
  const std::int64_t routed = shape.local_experts > 0 ? shape.routed_tokens : shape.tokens() * model.top_k;
  std::int64_t of_token =
      model.experts * (shape.element_bytes + kFp32Bytes + kMask) + of_hidden(model, kind, shape, model.shared_ffn);
  if (keeps_casts(shape)) {
    const std::int64_t width = width_of(model, shape);
    of_token += width * shape.element_bytes - (model.shared_ffn > 0 ? 0 : of_operand(width, shape));
  }
  return shape.tokens() * of_token +
         routed * (of_operand(model.d_model, shape) + of_hidden(model, kind, shape, model.expert_ffn));
}

/// Of attention by operators: the softmax, what of it is multiplied with the values, and which of that is left out.
std::int64_t of_scores(const Transformer& model, UnitKind kind, const StepShape& shape) {
  if (model.relative == 0) return 0;
  const bool fused = is_fused(kind, shape.fusion);
  return model.heads * shape.sequence *
         (shape.element_bytes + (fused ? 0 : kFp32Bytes) + (model.dropout && !fused ? kMask : 0));
}

/// Of what attention reads: queries, keys and values.
std::int64_t of_heads(const Transformer& model, const StepShape& shape) {
  const std::int64_t kv_width = shape.repeat_kv ? model.query_width() : model.kv_width();
  const std::int64_t values = shape.repeat_kv ? model.attended_width() : model.value_width();
  return (model.query_width() + kv_width + values) * shape.element_bytes;
}

/// Of a block that makes nothing again.
std::int64_t of_whole_block(const Transformer& model, UnitKind kind, const StepShape& shape) {
  const std::int64_t masks = model.dropout && !is_fused(kind, shape.fusion) ? kMask : 0;
  const std::int64_t attention = of_norm(model, kind, shape) + of_heads(model, shape) + of_projections(model, shape) +
                                 of_attention_output(model, shape) + of_scores(model, kind, shape) +
                                 masks * width_of(model, shape);
  const std::int64_t without_mlp = (crosses(model, kind) ? 2 : 1) * attention + of_norm(model, kind, shape);
  if (kind == UnitKind::kExpertBlock) return shape.tokens() * without_mlp + of_experts(model, kind, shape);
  return shape.tokens() *
         (without_mlp + of_hidden(model, kind, shape, model.ffn) + masks * model.ffn + masks * width_of(model, shape));
}

/// Of a block with recomputation.
std::int64_t of_kept_block(const Transformer& model, UnitKind kind, const StepShape& shape) {
  const std::int64_t e = shape.element_bytes;
  const std::int64_t input = width_of(model, shape) * e;
  switch (shape.recompute) {
    case Recompute::kFull:
      return shape.tokens() * input;
    case Recompute::kSelectiveOp: {
      // Every other product from the first: wq, wv, then gate and down, or up.
      const std::int64_t products =
          (crosses(model, kind) ? 2 : 1) * (model.query_width() + model.kv_width()) +
          (kind == UnitKind::kExpertBlock ? 0 : model.ffn + (model.gated ? width_of(model, shape) : 0));
      const std::int64_t kept =
          shape.tokens() * (input + products * e + (model.relative > 0 ? 0 : of_attention_output(model, shape)));
      if (kind != UnitKind::kExpertBlock) return kept;
      // What came from other ranks, and gate and up.
      const std::int64_t routed = shape.local_experts > 0 ? shape.routed_tokens : shape.tokens() * model.top_k;
      return kept + routed * e * (model.d_model + (model.gated ? 2 : 1) * model.expert_ffn);
    }
    case Recompute::kLatentProjections:
      return of_whole_block(model, kind, shape) - shape.tokens() * of_heads(model, shape);
    case Recompute::kNone:
    case Recompute::kSelectiveLayer:
      break;
  }
  return of_whole_block(model, kind, shape);
}

}  // namespace

std::int64_t kept_activations(const Transformer& model, UnitKind kind, const StepShape& shape) {
  const std::int64_t tokens = shape.tokens();
  const std::int64_t sides = model.encoder > 0 ? 2 : 1;
  const std::int64_t masks = model.dropout && !is_fused(kind, shape.fusion) ? kMask * width_of(model, shape) : 0;
  switch (kind) {
    case UnitKind::kEmbedding: {
      const std::int64_t distances = model.relative > 0 ? model.heads * shape.sequence * shape.element_bytes : 0;
      return tokens * sides * (kTokenNumber + masks + distances);
    }
    case UnitKind::kEncoderBlock:
    case UnitKind::kBlock:
    case UnitKind::kExpertBlock:
      return of_kept_block(model, kind, shape);
    case UnitKind::kHead:
      break;
  }
  const std::int64_t word = has_short_loss(kind, shape.fusion, shape.code) ? shape.element_bytes : kFp32Bytes;
  return tokens * (sides * (of_norm(model, kind, shape) + masks) + model.vocab * word);
}

std::int64_t recomputed_activations(const Transformer& model, UnitKind kind, const StepShape& shape) {
  if (shape.recompute == Recompute::kNone) return 0;
  // Selective recomputation also keeps what the whole block would not: projections before they are turned or copied.
  return std::max<std::int64_t>(0, of_whole_block(model, kind, shape) - of_kept_block(model, kind, shape));
}

}  // namespace weft::models
