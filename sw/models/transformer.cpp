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
  void norm(const std::string& name) {
    tensors_.push_back({name, model_.d_model, 1});
    if (model_.norm == Norm::kLayer) tensors_.push_back({name + "_bias", model_.d_model, 1});
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
      list.linear("wq", model.query_width(), d);
      list.linear("wk", model.kv_width(), d);
      list.linear("wv", model.kv_width(), d);
      list.linear("wo", d, model.query_width());
      if (crosses(model, kind)) {
        list.linear("cross_wq", model.query_width(), d);
        list.linear("cross_wk", model.kv_width(), d);
        list.linear("cross_wv", model.kv_width(), d);
        list.linear("cross_wo", d, model.query_width());
      }
      if (model.gated) list.linear("w1_gate", model.ffn, d);
      list.linear("w3_up", model.ffn, d);
      list.linear("w2_down", d, model.ffn);
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
  std::int64_t sum = unit_parameters(model, UnitKind::kEmbedding) + unit_parameters(model, UnitKind::kHead) +
                     model.layers * unit_parameters(model, UnitKind::kBlock);
  if (model.encoder > 0) sum += model.encoder * unit_parameters(model, UnitKind::kEncoderBlock);
  return sum;
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
    add(block_kind(model, block), of_block);
  }
  return sum;
}

std::int64_t convention_flops_per_token(const Transformer& model, std::int64_t sequence, bool with_embedding) {
  std::int64_t parameters = total_parameters(model);
  if (!with_embedding) {
    // A tied embedding is multiplied with in the head; only its positions are merely looked up.
    parameters -= unit_parameters(model, UnitKind::kEmbedding) - (model.tied ? model.vocab * model.d_model : 0);
  }
  return 6 * parameters + 12 * model.attentions() * model.query_width() * sequence;
}

}  // namespace weft::models
