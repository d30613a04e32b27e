// SPDX-License-Identifier: Apache-2.0
#include "sw/models/transformer.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::models {
namespace {

class TensorList {
 public:
  explicit TensorList(const Transformer& model) : model_(model) {}

  void linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    tensors_.push_back({name, outputs, inputs});
    if (model_.bias) tensors_.push_back({name + "_bias", outputs, 1});
  }
  void norm(const std::string& name) { norm(name, model_.d_model); }
  void norm(const std::string& name, std::int64_t width) {
    tensors_.push_back({name, width, 1});
    if (model_.norm == Norm::kLayer) tensors_.push_back({name + "_bias", width, 1});
  }
  /// Of `count` MLPs, of which each tensor has all one after the other.
  void mlp(const std::string& prefix, std::int64_t count, std::int64_t width) {
    const auto product = [&](const std::string& name, std::int64_t outputs, std::int64_t inputs) {
      tensors_.push_back({prefix + name, count * outputs, inputs});
      if (model_.bias) tensors_.push_back({prefix + name + "_bias", count * outputs, 1});
    };
    if (model_.gated) product("w1_gate", width, model_.d_model);
    product("w3_up", width, model_.d_model);
    product("w2_down", model_.d_model, width);
  }
  void attention() {
    const std::int64_t d = model_.d_model;
    if (!model_.is_latent()) {
      linear("wq", model_.query_width(), d);
      linear("wk", model_.kv_width(), d);
      linear("wv", model_.kv_width(), d);
      linear("wo", d, model_.query_width());
      if (!model_.qk_norm) return;
      norm("q_norm", model_.head_dim);
      norm("k_norm", model_.head_dim);
      return;
    }
    if (model_.q_lora_rank > 0) linear("wq_a", model_.q_lora_rank, d);
    linear("wq", model_.query_width(), model_.q_lora_rank > 0 ? model_.q_lora_rank : d);
    linear("wkv_a", model_.kv_lora_rank + model_.qk_rope_head_dim, d);
    linear("wkv", model_.heads * (model_.qk_nope_head_dim + model_.v_head_dim), model_.kv_lora_rank);
    linear("wo", d, model_.attended_width());
    if (model_.q_lora_rank > 0) norm("q_norm", model_.q_lora_rank);
    norm("kv_norm", model_.kv_lora_rank);
  }
  void matrix(const std::string& name, std::int64_t rows, std::int64_t cols) { tensors_.push_back({name, rows, cols}); }

  std::vector<Tensor> take() { return std::move(tensors_); }

 private:
  const Transformer& model_;
  std::vector<Tensor> tensors_;
};

}  // namespace

std::vector<Tensor> unit_tensors(const Transformer& model, UnitKind kind) {
  TensorList list(model);
  const std::int64_t d = model.d_model;
  switch (kind) {
    case UnitKind::kEmbedding:
      list.matrix("tok_embeddings", model.vocab, d);
      if (model.positions > 0) list.matrix("pos_embeddings", model.positions, d);
      if (model.relative > 0) {
        if (model.encoder > 0) list.matrix("encoder_distances", model.relative, model.heads);
        list.matrix("distances", model.relative, model.heads);
      }
      break;
    case UnitKind::kEncoderBlock:
    case UnitKind::kBlock:
    case UnitKind::kExpertBlock:
      list.attention();
      if (crosses(model, kind)) {
        list.linear("cross_wq", model.query_width(), d);
        list.linear("cross_wk", model.kv_width(), d);
        list.linear("cross_wv", model.kv_width(), d);
        list.linear("cross_wo", d, model.query_width());
      }
      if (kind == UnitKind::kExpertBlock) {
        list.linear("router", model.experts, d);
        if (model.shared_ffn > 0) list.mlp("shared_", 1, model.shared_ffn);
        list.mlp("experts_", model.experts, model.expert_ffn);
      } else {
        list.mlp("", 1, model.ffn);
      }
      list.norm("attn_norm");
      if (crosses(model, kind)) list.norm("cross_norm");
      list.norm("ffn_norm");
      break;
    case UnitKind::kHead:
      if (model.encoder > 0) list.norm("encoder_norm");
      list.norm("norm");
      if (!model.tied) list.matrix("lm_head", model.vocab, d);
      break;
  }
  return list.take();
}

namespace {

std::int64_t elements_of(const std::vector<Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, const Tensor& tensor) { return sum + tensor.elements(); });
}

}  // namespace

std::int64_t unit_parameters(const Transformer& model, UnitKind kind) {
  return elements_of(unit_tensors(model, kind));
}

std::vector<Tensor> linear_weights(const Transformer& model, UnitKind kind) {
  if (kind == UnitKind::kEmbedding || kind == UnitKind::kHead) return {};
  std::vector<Tensor> tensors = unit_tensors(model, kind);
  std::erase_if(tensors, [](const Tensor& tensor) { return tensor.cols == 1; });
  return tensors;
}

std::int64_t linear_parameters(const Transformer& model, UnitKind kind) {
  return elements_of(linear_weights(model, kind));
}

std::int64_t total_parameters(const Transformer& model) {
  std::int64_t sum = unit_parameters(model, UnitKind::kEmbedding) + unit_parameters(model, UnitKind::kHead);
  for (std::int64_t block = 0; block < model.blocks(); ++block) {
    sum += unit_parameters(model, block_kind(model, block));
  }
  return sum;
}

bool is_routed(const Tensor& tensor) {
  return tensor.name.starts_with("experts_");
}

namespace {

/// Of experts that a token does not go to.
std::int64_t passed_by(const Transformer& model) {
  if (!model.has_experts()) return 0;
  std::int64_t of_block = 0;
  for (const Tensor& tensor : unit_tensors(model, UnitKind::kExpertBlock)) {
    if (is_routed(tensor)) of_block += tensor.elements() / model.experts * (model.experts - model.top_k);
  }
  return (model.layers - model.dense_layers) * of_block;
}

/// A tied embedding is multiplied with in the head; only its positions are merely looked up.
std::int64_t looked_up(const Transformer& model) {
  return unit_parameters(model, UnitKind::kEmbedding) - (model.tied ? model.vocab * model.d_model : 0);
}

}  // namespace

std::int64_t active_parameters(const Transformer& model) {
  return total_parameters(model) - passed_by(model) - looked_up(model);
}

std::int64_t step_flops(const Transformer& model, const StepShape& shape, bool with_recompute) {
  std::int64_t sum = 0;
  const auto add = [&](UnitKind kind, const StepShape& of) {
    for (const Kernel& kernel : forward_kernels(model, kind, of)) sum += flops(kernel);
    for (const Kernel& kernel : backward_kernels(model, kind, of)) {
      if (with_recompute || !kernel.recompute) sum += flops(kernel);
    }
  };
  add(UnitKind::kEmbedding, shape);
  add(UnitKind::kHead, shape);
  for (std::int64_t block = 0; block < model.blocks(); ++block) {
    StepShape of_block = shape;
    of_block.recompute = recompute_of(shape.recompute, block);
    of_block.window = model.window_of(block - model.encoder);
    add(block_kind(model, block), of_block);
  }
  return sum;
}

std::int64_t convention_flops_per_token(const Transformer& model, std::int64_t sequence, bool with_embedding) {
  const std::int64_t parameters = total_parameters(model) - passed_by(model) - (with_embedding ? 0 : looked_up(model));
  // 12 a pair of tokens: each of a head's numbers in the scores, and each of its values.
  return 6 * parameters + 6 * model.attentions() * (model.query_width() + model.attended_width()) * sequence;
}

std::int64_t megatron_flops_per_token(const Transformer& model, std::int64_t sequence) {
  // Multiplications and additions of a forward pass: a head each for the next token and those after it.
  std::int64_t products = (1 + model.mtp) * model.d_model * model.vocab + model.mtp * 2 * model.d_model * model.d_model;
  std::int64_t pairs = 0;  // of tokens, with a factor of two
  for (std::int64_t block = 0; block < model.blocks() + model.mtp; ++block) {
    const UnitKind kind = block_kind(model, block);
    for (const Tensor& tensor : linear_weights(model, kind)) {
      if (tensor.name == "router") continue;
      products += is_routed(tensor) ? tensor.elements() / model.experts * model.top_k : tensor.elements();
    }
    const std::int64_t window = model.window_of(block - model.encoder);
    const bool is_cut = window > 0 && window < sequence;
    pairs += is_of_decoder(kind) ? (is_cut ? 2 * window - window * window / sequence : sequence) : 2 * sequence;
    if (crosses(model, kind)) pairs += 2 * sequence;
  }
  return 6 * products + 3 * pairs * (model.query_width() + model.attended_width());
}

}  // namespace weft::models
