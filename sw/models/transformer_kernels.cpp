// SPDX-License-Identifier: Apache-2.0
// The kernels of a step: the second half of transformer.h.
#include <iterator>
#include <utility>

#include "sw/models/transformer.h"

namespace weft::models {
namespace {

/// Bytes of a number in the precision of norms, rotations, losses and the optimizer.
constexpr std::int64_t kFp32 = 4;

/// A product with a weight, and the two of its backward pass.
struct Linear {
  std::string_view forward;
  std::string_view input_gradient;
  std::string_view weight_gradient;
  std::string_view bias_gradient;
};
constexpr Linear kWq{"wq", "wq.dgrad", "wq.wgrad", "wq.bias_grad"};
constexpr Linear kWk{"wk", "wk.dgrad", "wk.wgrad", "wk.bias_grad"};
constexpr Linear kWv{"wv", "wv.dgrad", "wv.wgrad", "wv.bias_grad"};
constexpr Linear kWo{"wo", "wo.dgrad", "wo.wgrad", "wo.bias_grad"};
constexpr Linear kGate{"w1_gate", "w1_gate.dgrad", "w1_gate.wgrad", "w1_gate.bias_grad"};
constexpr Linear kUp{"w3_up", "w3_up.dgrad", "w3_up.wgrad", "w3_up.bias_grad"};
constexpr Linear kDown{"w2_down", "w2_down.dgrad", "w2_down.wgrad", "w2_down.bias_grad"};
constexpr Linear kLmHead{"lm_head", "lm_head.dgrad", "lm_head.wgrad", "lm_head.bias_grad"};

/// Traffic of an elementwise operation for each element of its main operand.
struct PerElement {
  std::int64_t read = 0;
  std::int64_t written = 0;
  int launches = 1;
};

class KernelList {
 public:
  KernelList(const Transformer& model, UnitKind kind, const StepShape& shape)
      : model_(model),
        shape_(shape),
        tokens_(shape.tokens()),
        e_(shape.element_bytes),
        fused_(is_fused(kind, shape.fusion)),
        single_norms_(has_single_norms(model.norm, kind, shape.fusion)) {}

  std::vector<Kernel> take() { return std::move(kernels_); }

  void embedding() {
    const std::int64_t elements = tokens_ * model_.d_model;
    const bool has_positions = model_.positions > 0;
    elementwise("embedding", elements, {has_positions && fused_ ? 2 * e_ : e_, e_});
    if (has_positions && !fused_) elementwise("positions", elements, {2 * e_, e_});
  }

  void embedding_backward() {
    // The gradient of the whole table is cleared, then each token adds its row.
    const std::int64_t added = tokens_ * model_.d_model * e_;
    const std::int64_t table = model_.vocab * model_.d_model * e_;
    kernels_.push_back({"embedding.grad", Elementwise{2 * added, table + added, 2}});
    if (model_.positions == 0) return;
    kernels_.push_back({"positions.grad", Elementwise{added, model_.positions * model_.d_model * e_, 2}});
  }

  void block() {
    const std::int64_t d = model_.d_model;
    norm("attn_norm", false);
    linear(kWq, model_.query_width(), d);
    linear(kWk, model_.kv_width(), d);
    linear(kWv, model_.kv_width(), d);
    rotary("rotary");
    if (repeats_kv()) {
      const std::int64_t in = 2 * tokens_ * model_.kv_width() * e_;
      kernels_.push_back({"repeat_kv", Elementwise{in, 2 * tokens_ * model_.query_width() * e_, 2}});
    }
    attention("attention", false);
    linear(kWo, d, model_.query_width());
    if (!fused_) residual("attn_residual");
    norm("ffn_norm", fused_);
    if (model_.gated) linear(kGate, model_.ffn, d);
    linear(kUp, model_.ffn, d);
    activation();
    linear(kDown, d, model_.ffn);
    residual("ffn_residual");
  }

  /// What of `forward`, a whole block, has to be done again.
  void recomputed(std::vector<Kernel> forward) {
    if (shape_.recompute == Recompute::kNone) return;
    // The last two are the down projection and the residual sum: nothing in the block needs their results.
    if (shape_.early_stop) forward.resize(forward.size() - 2);
    int products = 0;
    for (Kernel& kernel : forward) {
      const bool is_product = std::holds_alternative<Gemm>(kernel.shape);
      if (is_product) ++products;
      const bool is_kept = shape_.recompute == Recompute::kSelectiveOp &&
                           ((is_product && products % 2 == 1) || std::holds_alternative<FlashAttention>(kernel.shape));
      if (is_kept) continue;
      kernel.recompute = true;
      kernels_.push_back(kernel);
    }
  }

  void block_backward() {
    const std::int64_t d = model_.d_model;
    linear_backward(kDown, d, model_.ffn);
    activation_backward();
    linear_backward(kUp, model_.ffn, d);
    if (model_.gated) linear_backward(kGate, model_.ffn, d);
    norm_backward("ffn_norm.grad", model_.gated ? 2 : 1, true);
    linear_backward(kWo, d, model_.query_width());
    attention("attention.grad", true);
    if (repeats_kv()) {
      const std::int64_t out = 2 * tokens_ * model_.kv_width() * e_;
      kernels_.push_back({"repeat_kv.grad", Elementwise{2 * tokens_ * model_.query_width() * e_, out, 2}});
    }
    rotary("rotary.grad");
    linear_backward(kWv, model_.kv_width(), d);
    linear_backward(kWk, model_.kv_width(), d);
    linear_backward(kWq, model_.query_width(), d);
    norm_backward("attn_norm.grad", 3, true);
  }

  void head() {
    norm("norm", false);
    gemm(kLmHead.forward, tokens_, model_.vocab, model_.d_model);
    // Eager: to 32 bits; then the largest, the sum of exponentials and the result of each row, which is too long to be
    // kept on the chip. Fused: the first two alone, on the logits as they are.
    elementwise("loss", tokens_ * model_.vocab,
                fused_ ? PerElement{2 * e_, 0} : PerElement{e_ + 3 * kFp32, 2 * kFp32, 3});
  }

  void head_backward() {
    // Eager: a cleared gradient, its sum over each row, the softmax's gradient, and back to the logits' type.
    elementwise("loss.grad", tokens_ * model_.vocab,
                fused_ ? PerElement{e_, e_} : PerElement{4 * kFp32, 2 * kFp32 + e_, 4});
    gemm(kLmHead.input_gradient, tokens_, model_.d_model, model_.vocab);
    gemm(kLmHead.weight_gradient, model_.vocab, model_.d_model, tokens_);
    norm_backward("norm.grad", 1, false);
  }

 private:
  [[nodiscard]] bool repeats_kv() const { return shape_.repeat_kv && model_.kv_heads < model_.heads; }

  void gemm(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k) {
    kernels_.push_back({name, Gemm{1, m, n, k, shape_.element_bytes}});
  }

  void elementwise(std::string_view name, std::int64_t elements, PerElement each) {
    kernels_.push_back({name, Elementwise{elements * each.read, elements * each.written, each.launches}});
  }

  /// A bias is added where the product is written and costs nothing.
  void linear(const Linear& names, std::int64_t outputs, std::int64_t inputs) {
    gemm(names.forward, tokens_, outputs, inputs);
  }

  void linear_backward(const Linear& names, std::int64_t outputs, std::int64_t inputs) {
    gemm(names.input_gradient, tokens_, inputs, outputs);
    gemm(names.weight_gradient, outputs, inputs, tokens_);
    if (model_.bias) elementwise(names.bias_gradient, tokens_ * outputs, {e_, 0});
  }

  void attention(std::string_view name, bool backward) {
    FlashAttention attention;
    attention.batch = shape_.sequences;
    attention.heads = model_.heads;
    attention.kv_heads = repeats_kv() ? model_.heads : model_.kv_heads;
    attention.queries = shape_.sequence;
    attention.keys = shape_.sequence;
    attention.head_dim = model_.head_dim;
    attention.causal = shape_.causal;
    attention.backward = backward;
    attention.synchronous = shape_.attention == AttentionKernel::kFlash2;
    attention.element_bytes = shape_.element_bytes;
    kernels_.push_back({name, attention});
  }

  /// Queries and keys turned by their position; the gradient is turned back. Eager: to 32 bits, turn, and back.
  void rotary(std::string_view name) {
    if (model_.positions > 0) return;
    elementwise(
        name, tokens_ * (model_.query_width() + model_.kv_width()),
        shape_.fusion == Fusion::kFused ? PerElement{e_, e_, 2} : PerElement{e_ + 2 * kFp32, 2 * kFp32 + e_, 6});
  }

  void residual(std::string_view name) { elementwise(name, tokens_ * model_.d_model, {2 * e_, e_}); }

  void norm(std::string_view name, bool adds_residual) {
    PerElement each{e_, e_};
    if (adds_residual) each = {2 * e_, 2 * e_};
    if (!single_norms_) {
      // To 32 bits, square, mean, (epsilon and root of a number a token,) scale, back, times the weight.
      each.read = e_ + kFp32 + kFp32 + kFp32 + kFp32 + e_;
      each.written = kFp32 + kFp32 + 0 + kFp32 + e_ + e_;
      each.launches = 8;
    }
    elementwise(name, tokens_ * model_.d_model, each);
  }

  /// The gradient of a norm whose output went to `users` products, which first adds up theirs, and joins the
  /// residual's.
  void norm_backward(std::string_view name, int users, bool joins_residual) {
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
    elementwise(name, tokens_ * model_.d_model, each);
  }

  void activation() {
    if (model_.gated) {
      elementwise("swiglu", tokens_ * model_.ffn, fused_ ? PerElement{2 * e_, e_} : PerElement{3 * e_, 2 * e_, 2});
    } else {
      elementwise("gelu", tokens_ * model_.ffn, {e_, e_});
    }
  }

  void activation_backward() {
    if (model_.gated) {
      elementwise("swiglu.grad", tokens_ * model_.ffn,
                  fused_ ? PerElement{3 * e_, 2 * e_} : PerElement{6 * e_, 3 * e_, 3});
    } else {
      elementwise("gelu.grad", tokens_ * model_.ffn, {2 * e_, e_});
    }
  }

  const Transformer& model_;
  const StepShape& shape_;
  const std::int64_t tokens_;
  const std::int64_t e_;
  const bool fused_;
  const bool single_norms_;
  std::vector<Kernel> kernels_;
};

}  // namespace

std::vector<Kernel> forward_kernels(const Transformer& model, UnitKind kind, const StepShape& shape) {
  KernelList list(model, kind, shape);
  switch (kind) {
    case UnitKind::kEmbedding:
      list.embedding();
      break;
    case UnitKind::kBlock:
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
    case UnitKind::kBlock:
      list.recomputed(forward_kernels(model, kind, shape));
      list.block_backward();
      break;
    case UnitKind::kHead:
      list.head_backward();
      break;
  }
  return list.take();
}

std::vector<Kernel> optimizer_kernels(std::int64_t parameters, Fusion fusion) {
  const std::int64_t bytes = parameters * kFp32;
  // Fused: parameter, gradient and both moments in; all but the gradient out. Eager: decay of the parameter, the first
  // moment's mean, the second's decay and sum, its root, two corrections of that, and the step.
  const Elementwise adam = fusion == Fusion::kFused
                               ? Elementwise{4 * bytes, 3 * bytes, 1}
                               : Elementwise{(1 + 2 + 1 + 2 + 1 + 1 + 1 + 3) * bytes, 8 * bytes, 8};
  return {{"grad_norm", Elementwise{bytes, 0, 1}}, {"grad_clip", Elementwise{bytes, bytes, 1}}, {"adam", adam}};
}

}  // namespace weft::models
