// SPDX-License-Identifier: Apache-2.0
#include "sw/models/activations.h"

#include <algorithm>

namespace weft::models {
namespace {

constexpr std::int64_t kFp32Bytes = 4;
constexpr std::int64_t kTokenNumber = 8;

/// Of a norm: its input and what it gives; eager operators keep the scaled one, too.
std::int64_t of_norm(const Transformer& model, UnitKind kind, const StepShape& shape) {
  const std::int64_t e = shape.element_bytes;
  return model.d_model * (has_single_norms(model.norm, kind, shape.fusion) ? 2 * e : kFp32Bytes + 2 * e);
}

/// Of attention: its output, and the logarithm of each row's sum.
std::int64_t of_attention_output(const Transformer& model, const StepShape& shape) {
  return model.query_width() * shape.element_bytes + model.heads * kFp32Bytes;
}

/// Of a block that makes nothing again, for each token.
std::int64_t of_whole_block(const Transformer& model, const StepShape& shape) {
  const std::int64_t e = shape.element_bytes;
  const std::int64_t kv_width = shape.repeat_kv ? model.query_width() : model.kv_width();
  const std::int64_t attention = (model.query_width() + 2 * kv_width) * e + of_attention_output(model, shape);
  // Up and what enters the down projection; with a gate that too, and eager its activation.
  const std::int64_t hidden = 2 + (model.gated ? 1 + (is_fused(UnitKind::kBlock, shape.fusion) ? 0 : 1) : 0);
  return 2 * of_norm(model, UnitKind::kBlock, shape) + attention + hidden * model.ffn * e;
}

/// Of a block with recomputation, for each token.
std::int64_t of_kept_block(const Transformer& model, const StepShape& shape) {
  const std::int64_t e = shape.element_bytes;
  const std::int64_t input = model.d_model * e;
  switch (shape.recompute) {
    case Recompute::kFull:
      return input;
    case Recompute::kSelectiveOp: {
      // Every other product from the first: wq, wv, then gate and down, or up.
      const std::int64_t products =
          model.query_width() + model.kv_width() + model.ffn + (model.gated ? model.d_model : 0);
      return input + products * e + of_attention_output(model, shape);
    }
    case Recompute::kNone:
    case Recompute::kSelectiveLayer:
      break;
  }
  return of_whole_block(model, shape);
}

}  // namespace

std::int64_t kept_activations(const Transformer& model, UnitKind kind, const StepShape& shape) {
  const std::int64_t tokens = shape.tokens();
  switch (kind) {
    case UnitKind::kEmbedding:
      return tokens * kTokenNumber;
    case UnitKind::kBlock:
      return tokens * of_kept_block(model, shape);
    case UnitKind::kHead:
      break;
  }
  const std::int64_t word = is_fused(kind, shape.fusion) ? shape.element_bytes : kFp32Bytes;
  return tokens * (of_norm(model, kind, shape) + model.vocab * word);
}

std::int64_t recomputed_activations(const Transformer& model, const StepShape& shape) {
  if (shape.recompute == Recompute::kNone) return 0;
  // Selective recomputation also keeps what the whole block would not: projections before they are turned or copied.
  return std::max<std::int64_t>(0, shape.tokens() * (of_whole_block(model, shape) - of_kept_block(model, shape)));
}

}  // namespace weft::models
