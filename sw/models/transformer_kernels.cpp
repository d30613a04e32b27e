// SPDX-License-Identifier: Apache-2.0
// The kernels of a step: embedding, head, norms and what is computed again.
#include <utility>
#include <variant>

#include "sw/models/kernel_list.h"

namespace weft::models {

using namespace names;

void KernelList::embedding() {
  const std::int64_t elements = looked_up() * model_.d_model;
  const bool has_positions = model_.positions > 0;
  elementwise("embedding", elements, {has_positions && fused_ ? 2 * e_ : e_, e_});
  if (has_positions && !fused_) elementwise("positions", elements, {2 * e_, e_});
  if (model_.relative > 0) {
    // Of each pair of tokens the weight of its distance, for all heads and sequences, with the mask.
    elementwise("distances", tables() * scores(), {e_, 2 * e_, 2});
  }
  dropout("embedding_dropout", elements);
}

void KernelList::embedding_backward() {
  dropout_backward("embedding_dropout.grad", looked_up() * model_.d_model);
  if (model_.relative > 0) elementwise("distances.grad", tables() * scores(), {e_, 0});
  // The gradient of the whole table is cleared, then each token adds its row.
  const std::int64_t added = looked_up() * model_.d_model * e_;
  const std::int64_t table = model_.vocab * model_.d_model * e_;
  kernels_.push_back({"embedding.grad", Elementwise{2 * added, table + added, 2}});
  if (model_.positions == 0) return;
  kernels_.push_back({"positions.grad", Elementwise{added, model_.positions * model_.d_model * e_, 2}});
}

/// From behind the norms of the latent vectors, cast again, to what attention reads.
void KernelList::latent_projections_again(std::vector<Kernel> forward) {
  for (Kernel& kernel : forward) {
    const bool is_made_again = kernel.name == kLatentQueries.cast || kernel.name == kWq.forward ||
                               kernel.name == kLatentKeys.cast || kernel.name == kWkv.forward ||
                               kernel.name == "rotary" || kernel.name == "latent_keys" || kernel.name == "repeat_kv";
    if (!is_made_again) continue;
    kernel.recompute = true;
    kernels_.push_back(kernel);
  }
}

/// What of `forward`, a whole block, has to be done again.
void KernelList::recomputed(std::vector<Kernel> forward) {
  if (shape_.recompute == Recompute::kNone) return;
  if (shape_.recompute == Recompute::kLatentProjections) return latent_projections_again(std::move(forward));
  // Nothing in the block needs what the last product, the down projection, and those behind it give.
  const auto is_product = [](const Kernel& kernel) { return std::holds_alternative<Gemm>(kernel.shape); };
  const auto is_cast = [](const Kernel& kernel) { return kernel.name.ends_with("cast"); };
  if (shape_.early_stop) {
    while (!is_product(forward.back())) forward.pop_back();
    forward.pop_back();
    while (is_cast(forward.back())) forward.pop_back();
  }
  std::vector<bool> kept;
  int products = 0;
  for (const Kernel& kernel : forward) {
    // Products of scores and values are batches, which are not kept.
    // Those of experts are, and routers and what all tokens go to are cheap.
    const bool is_of_experts = kernel.name.starts_with("experts_");
    const bool is_cheap = kernel.name.starts_with("router") || kernel.name.starts_with("shared_");
    const bool counts = is_product(kernel) && !is_cheap && (is_of_experts || std::get<Gemm>(kernel.shape).batch == 1);
    if (counts) ++products;
    kept.push_back(shape_.recompute == Recompute::kSelectiveOp &&
                   ((counts && products % 2 == 1) || std::holds_alternative<FlashAttention>(kernel.shape)));
  }
  // A weight is cast for the product behind it, what enters products for all up to the next cast of its kind.
  bool weight_is_needed = false;
  bool input_is_needed = false;
  for (std::size_t i = forward.size(); i-- > 0;) {
    if (is_product(forward[i])) {
      weight_is_needed = !kept[i];
      input_is_needed = input_is_needed || !kept[i];
    } else if (forward[i].name.ends_with(".weight_cast")) {
      kept[i] = !weight_is_needed;
    } else if (is_cast(forward[i])) {
      kept[i] = !input_is_needed;
      input_is_needed = false;
    }
  }
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (kept[i] || (shape_.early_stop && forward[i].name == kSharedDown.forward)) continue;
    forward[i].recompute = true;
    kernels_.push_back(forward[i]);
  }
}

void KernelList::head() {
  if (model_.encoder > 0) {
    norm("encoder_norm", false);
    dropout("encoder_dropout", tokens_ * model_.d_model);
  }
  norm("norm", false);
  dropout("dropout", tokens_ * model_.d_model);
  gemm(kLmHead.forward, tokens_, model_.vocab, model_.d_model);
  // Eager: to 32 bits, or as they are; then the largest, the sum of exponentials and the result of each row, which is
  // too long to be kept on the chip. Fused: the first two alone.
  PerElement each{e_ + 3 * kFp32, 2 * kFp32, 3};
  if (shape_.code == Code::kFms) each = {3 * e_, e_, 2};
  if (fused_) each = {2 * e_, 0};
  elementwise("loss", tokens_ * model_.vocab, each);
}

void KernelList::head_backward() {
  // Eager: a cleared gradient, its sum over each row, the softmax's gradient, and back to the logits' type.
  PerElement each{4 * kFp32, 2 * kFp32 + e_, 4};
  if (shape_.code == Code::kFms) each = {3 * e_, 2 * e_, 3};
  if (fused_) each = {e_, e_};
  elementwise("loss.grad", tokens_ * model_.vocab, each);
  gemm(kLmHead.input_gradient, tokens_, model_.d_model, model_.vocab);
  gemm(kLmHead.weight_gradient, model_.vocab, model_.d_model, tokens_);
  dropout_backward("dropout.grad", tokens_ * model_.d_model);
  norm_backward("norm.grad", 1, false);
  if (model_.encoder > 0) {
    dropout_backward("encoder_dropout.grad", tokens_ * model_.d_model);
    norm_backward("encoder_norm.grad", 1, false);
  }
}

/// Its mask is a byte an element; a fused one is drawn again from its seed.
void KernelList::dropout(std::string_view name, std::int64_t elements) {
  if (model_.dropout && !fused_) elementwise(name, elements, {e_, e_ + kMask});
}

void KernelList::dropout_backward(std::string_view name, std::int64_t elements) {
  if (model_.dropout && !fused_) elementwise(name, elements, {e_ + kMask, e_});
}

void KernelList::norm(std::string_view name, std::int64_t elements, bool adds_residual) {
  PerElement each{e_, e_};
  if (adds_residual) each = {2 * e_, 2 * e_};
  if (!single_norms_) {
    // To 32 bits, square, mean, (epsilon and root of a number a token,) scale, back, times the weight.
    each.read = e_ + kFp32 + kFp32 + kFp32 + kFp32 + e_;
    each.written = kFp32 + kFp32 + 0 + kFp32 + e_ + e_;
    each.launches = 8;
  }
  elementwise(name, elements, each);
}

/// The gradient of a norm whose output went to `users` products, which first adds up theirs, and joins the
/// residual's.
void KernelList::norm_backward(std::string_view name, std::int64_t elements, int users, bool joins_residual) {
  const int sums = users - 1 + (joins_residual ? 1 : 0);
  PerElement each;
  if (fused_) {
    // One pass over the input and all gradients; a second, small kernel adds up the weight's.
    each = {(2 + sums) * e_, e_, 2};
  } else {
    if (model_.norm == Norm::kLayer) {
      // The input's gradient and the weights', each from the input and the output's gradient.
      each = {4 * e_, e_, 2};
    } else if (single_norms_) {
      each = {2 * e_, e_, 2};
    } else {
      // Operator by operator from the last: times the weight, the weight's gradient and its sum over tokens, to 32
      // bits; the scale's two operands and the sum of one; the mean's, the square's two, the sum of both ways to the
      // input; back. Four more launches on a number a token.
      each.read = e_ + 2 * e_ + e_ + e_ + kFp32 + 2 * kFp32 + kFp32 + kFp32 + 2 * kFp32 + 2 * kFp32 + kFp32;
      each.written = e_ + e_ + kFp32 + kFp32 + kFp32 + kFp32 + kFp32 + kFp32 + kFp32 + e_;
      each.launches = 16;
    }
    each.read += sums * 2 * e_;
    each.written += sums * e_;
    each.launches += sums;
  }
  elementwise(name, elements, each);
}

std::vector<Kernel> forward_kernels(const Transformer& model, UnitKind kind, const StepShape& shape) {
  KernelList list(model, kind, shape);
  switch (kind) {
    case UnitKind::kEmbedding:
      list.embedding();
      break;
    case UnitKind::kEncoderBlock:
    case UnitKind::kBlock:
    case UnitKind::kExpertBlock:
      list.block();
      break;
    case UnitKind::kHead:
      list.head();
      break;
  }
  return list.take();
}

std::vector<Kernel> backward_kernels(const Transformer& model, UnitKind kind, const StepShape& shape) {
  KernelList list(model, kind, shape);
  switch (kind) {
    case UnitKind::kEmbedding:
      list.embedding_backward();
      break;
    case UnitKind::kEncoderBlock:
    case UnitKind::kBlock:
    case UnitKind::kExpertBlock: {
      KernelList again(model, kind, shape, true);
      again.block();
      list.recomputed(again.take());
      list.block_backward();
      break;
    }
    case UnitKind::kHead:
      list.head_backward();
      break;
  }
  return list.take();
}

}  // namespace weft::models
