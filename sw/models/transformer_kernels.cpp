// SPDX-License-Identifier: Apache-2.0
// The kernels of a step: the second half of transformer.h.
#include <iterator>
#include <utility>

#include "sw/models/transformer.h"
#include "sw/models/transformer_names.h"

namespace weft::models {

using namespace names;

namespace {

/// Bytes of a number in the precision of norms, rotations, losses and the optimizer.
constexpr std::int64_t kFp32 = 4;
constexpr std::int64_t kMask = 1;
constexpr std::int64_t kFloat8 = 1;

/// Of an attention's four.
const Linear& linear_of(Attends to, const Linear& own, const Linear& cross) {
  return to == Attends::kOwn ? own : cross;
}

/// Traffic of an elementwise operation for each element of its main operand.
struct PerElement {
  std::int64_t read = 0;
  std::int64_t written = 0;
  int launches = 1;
};

class KernelList {
 public:
  /// `again`: of the forward pass, for what of it is computed again.
  KernelList(const Transformer& model, UnitKind kind, const StepShape& shape, bool again = false)
      : model_(model),
        kind_(kind),
        shape_(shape),
        tokens_(shape.tokens()),
        e_(shape.element_bytes),
        fused_(is_fused(kind, shape.fusion)),
        float8_(shape.linear == LinearType::kFloat8),
        keeps_scales_(again && shape.recompute == Recompute::kSelectiveOp),
        single_norms_(has_single_norms(model.norm, kind, shape.fusion)) {}

  std::vector<Kernel> take() { return std::move(kernels_); }

  void embedding() {
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

  void embedding_backward() {
    dropout_backward("embedding_dropout.grad", looked_up() * model_.d_model);
    if (model_.relative > 0) elementwise("distances.grad", tables() * scores(), {e_, 0});
    // The gradient of the whole table is cleared, then each token adds its row.
    const std::int64_t added = looked_up() * model_.d_model * e_;
    const std::int64_t table = model_.vocab * model_.d_model * e_;
    kernels_.push_back({"embedding.grad", Elementwise{2 * added, table + added, 2}});
    if (model_.positions == 0) return;
    kernels_.push_back({"positions.grad", Elementwise{added, model_.positions * model_.d_model * e_, 2}});
  }

  void block() {
    attend(Attends::kOwn, false);
    if (crosses(model_, kind_)) attend(Attends::kCross, fused_);
    norm("ffn_norm", fused_);
    cast(kFfnInput, tokens_ * model_.d_model, kMadeHere);
    if (model_.gated) linear(kGate, model_.ffn, model_.d_model);
    linear(kUp, model_.ffn, model_.d_model);
    activation();
    dropout("hidden_dropout", tokens_ * model_.ffn);
    cast(kHidden, tokens_ * model_.ffn, kMadeHere);
    linear(kDown, model_.d_model, model_.ffn);
    dropout("ffn_dropout", tokens_ * model_.d_model);
    residual("ffn_residual");
  }

  /// What of `forward`, a whole block, has to be done again.
  void recomputed(std::vector<Kernel> forward) {
    if (shape_.recompute == Recompute::kNone) return;
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
      const bool counts = is_product(kernel) && std::get<Gemm>(kernel.shape).batch == 1;
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
      if (kept[i]) continue;
      forward[i].recompute = true;
      kernels_.push_back(forward[i]);
    }
  }

  void block_backward() {
    const std::int64_t d = model_.d_model;
    dropout_backward("ffn_dropout.grad", tokens_ * d);
    linear_backward(kDown, d, model_.ffn, {.gradient = kMadeElsewhere, .gathers_gradient = true, .input = &kHidden});
    dropout_backward("hidden_dropout.grad", tokens_ * model_.ffn);
    activation_backward();
    linear_backward(kUp, model_.ffn, d, {.input = &kFfnInput, .gathers_input = true});
    if (model_.gated) linear_backward(kGate, model_.ffn, d, {});
    norm_backward("ffn_norm.grad", model_.gated ? 2 : 1, true);
    if (crosses(model_, kind_)) {
      attend_backward(Attends::kCross, 1);
      // Gradients by keys and by values come to those of other layers.
      elementwise("encoder_sum.grad", tokens_ * d, fused_ ? PerElement{3 * e_, e_} : PerElement{4 * e_, 2 * e_, 2});
    }
    attend_backward(Attends::kOwn, 3);
  }

  void head() {
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

  void head_backward() {
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

 private:
  [[nodiscard]] bool repeats_kv() const { return shape_.repeat_kv && model_.kv_heads < model_.heads; }

  void gemm(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k) {
    kernels_.push_back({name, Gemm{1, m, n, k, shape_.element_bytes}});
  }

  /// Of a linear layer. torchao sums gradients without fast accumulation (gemm_config_grad_input, _grad_weight).
  enum class Accumulation { kFast, kFull };
  void product(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k, Accumulation accumulation) {
    const int element_bytes = float8_ ? static_cast<int>(kFloat8) : shape_.element_bytes;
    kernels_.push_back({name, Gemm{1, m, n, k, element_bytes, accumulation == Accumulation::kFast}});
  }

  // Float8. A tensor's largest value is found before it is cast, in a kernel that reads all of it and a small one. The
  // first is one with the elementwise kernel that makes the tensor; what comes from products, attention or other ranks
  // is read once more.
  enum Origin { kMadeHere, kMadeElsewhere };
  [[nodiscard]] PerElement scaled(PerElement each, Origin origin) const {
    if (keeps_scales_) return each;
    return {each.read + (origin == kMadeHere ? 0 : e_), each.written, each.launches + (origin == kMadeHere ? 1 : 2)};
  }

  void cast(const Operand& names, std::int64_t elements, Origin origin) {
    if (float8_) elementwise(names.cast, elements, scaled({e_, kFloat8}, origin));
  }

  void elementwise(std::string_view name, std::int64_t elements, PerElement each) {
    kernels_.push_back({name, Elementwise{elements * each.read, elements * each.written, each.launches}});
  }

  /// A bias is added where the product is written and costs nothing.
  void linear(const Linear& names, std::int64_t outputs, std::int64_t inputs) {
    if (float8_ && !shape_.float8_weights) {
      elementwise(names.weight_cast, outputs * inputs, scaled({e_, kFloat8}, kMadeElsewhere));
    }
    product(names.forward, tokens_, outputs, inputs, Accumulation::kFast);
  }

  /// What a linear layer's backward pass works with, in float8.
  struct Backward {
    Origin gradient = kMadeHere;
    bool gathers_gradient = false;   ///< with sequence parallelism
    const Operand* input = nullptr;  ///< that has to be transposed; null where a layer before has done so
    bool gathers_input = false;
  };

  void linear_backward(const Linear& names, std::int64_t outputs, std::int64_t inputs, const Backward& how) {
    if (float8_) casts_backward(names, outputs, inputs, how);
    product(names.input_gradient, tokens_, inputs, outputs, Accumulation::kFull);
    product(names.weight_gradient, outputs, inputs, tokens_, Accumulation::kFull);
    if (model_.bias) elementwise(names.bias_gradient, tokens_ * outputs, {e_, 0});
  }

  /// Tensor cores take float8 operands along the dimension that is summed alone: the weight is transposed for the
  /// gradient of the input, gradient and input are for that of the weight. Tensors cast both ways are read twice
  /// (PyTorch issue 133242).
  void casts_backward(const Linear& names, std::int64_t outputs, std::int64_t inputs, const Backward& how) {
    if (how.gathers_gradient && shape_.float8_tokens) {
      elementwise(names.gradient_cast, tokens_ * outputs, scaled({e_, kFloat8}, how.gradient));
      elementwise(names.gradient_transposed, tokens_ * outputs, {kFloat8, kFloat8});
    } else {
      elementwise(names.gradient_cast, tokens_ * outputs, scaled({2 * e_, 2 * kFloat8}, how.gradient));
    }
    elementwise(names.weight_transposed, outputs * inputs, {shape_.float8_weights ? kFloat8 : e_, kFloat8});
    if (how.input == nullptr) return;
    // What is kept or gathered is so in float8, what was computed again is not.
    const bool is_cast = shape_.recompute == Recompute::kNone || (how.gathers_input && shape_.float8_tokens);
    elementwise(how.input->transposed, tokens_ * inputs, {is_cast ? kFloat8 : e_, kFloat8});
  }

  /// Tokens of the source, and behind an encoder of the target.
  [[nodiscard]] std::int64_t looked_up() const { return tokens_ * (model_.encoder > 0 ? 2 : 1); }
  /// Of relative positions.
  [[nodiscard]] std::int64_t tables() const { return model_.encoder > 0 ? 2 : 1; }
  [[nodiscard]] std::int64_t scores() const { return tokens_ * shape_.sequence * model_.heads; }

  void attend(Attends to, bool adds_residual) {
    const std::int64_t d = model_.d_model;
    norm(kNorm.of(to), adds_residual);
    cast(kAttentionInput, tokens_ * d, kMadeHere);
    linear(linear_of(to, kWq, kCrossWq), model_.query_width(), d);
    linear(linear_of(to, kWk, kCrossWk), model_.kv_width(), d);
    linear(linear_of(to, kWv, kCrossWv), model_.kv_width(), d);
    if (model_.has_rotary()) rotary("rotary");
    if (repeats_kv()) {
      const std::int64_t in = 2 * tokens_ * model_.kv_width() * e_;
      kernels_.push_back({"repeat_kv", Elementwise{in, 2 * tokens_ * model_.query_width() * e_, 2}});
    }
    if (model_.relative > 0) {
      attention_by_operators(to);
    } else {
      attention(kFlash.of(to), false, to == Attends::kOwn && kind_ == UnitKind::kBlock);
    }
    cast(kAttentionOutput, tokens_ * model_.query_width(), kMadeElsewhere);
    linear(linear_of(to, kWo, kCrossWo), d, model_.query_width());
    dropout(kDropout.of(to), tokens_ * d);
    if (!fused_) residual(kResidual.of(to));
  }

  void attend_backward(Attends to, int users) {
    const std::int64_t d = model_.d_model;
    dropout_backward(kDropoutGradient.of(to), tokens_ * d);
    linear_backward(linear_of(to, kWo, kCrossWo), d, model_.query_width(),
                    {.gathers_gradient = true, .input = &kAttentionOutput});
    if (model_.relative > 0) {
      attention_backward_by_operators(to);
    } else {
      attention(kFlashGradient.of(to), true, to == Attends::kOwn && kind_ == UnitKind::kBlock);
    }
    if (repeats_kv()) {
      const std::int64_t out = 2 * tokens_ * model_.kv_width() * e_;
      kernels_.push_back({"repeat_kv.grad", Elementwise{2 * tokens_ * model_.query_width() * e_, out, 2}});
    }
    if (model_.has_rotary()) rotary("rotary.grad");
    // Attention itself gives what is neither summed over repeated heads nor turned.
    const Origin values = repeats_kv() ? kMadeHere : kMadeElsewhere;
    const Origin keys = model_.has_rotary() ? kMadeHere : values;
    const Origin queries = model_.has_rotary() ? kMadeHere : kMadeElsewhere;
    linear_backward(linear_of(to, kWv, kCrossWv), model_.kv_width(), d,
                    {.gradient = values, .input = &kAttentionInput, .gathers_input = true});
    linear_backward(linear_of(to, kWk, kCrossWk), model_.kv_width(), d, {.gradient = keys});
    linear_backward(linear_of(to, kWq, kCrossWq), model_.query_width(), d, {.gradient = queries});
    norm_backward(kNormGradient.of(to), users, true);
  }

  void scores_product(std::string_view name, std::int64_t n, std::int64_t k) {
    kernels_.push_back({name, Gemm{shape_.sequences * model_.heads, shape_.sequence, n, k, shape_.element_bytes}});
  }

  /// Where weights of distances come to the scores, as Hugging Face's T5: queries, keys and values by heads, products,
  /// weights of distances added, the softmax in 32 bits, dropout of its result, and the result by tokens.
  void attention_by_operators(Attends to) {
    elementwise(kLayout.of(to), tokens_ * model_.query_width(), {4 * e_, 4 * e_, 4});
    scores_product(kScores.of(to), shape_.sequence, model_.head_dim);
    PerElement each{2 * e_, e_};
    if (!fused_) each = {2 * e_ + e_ + kFp32 + kFp32, e_ + kFp32 + kFp32 + e_, 4};
    if (model_.dropout && !fused_) each = {each.read + e_, each.written + e_ + kMask, each.launches + 1};
    elementwise(kSoftmax.of(to), scores(), each);
    scores_product(kValues.of(to), model_.head_dim, shape_.sequence);
  }

  void attention_backward_by_operators(Attends to) {
    scores_product(kWeightsGradient.of(to), shape_.sequence, model_.head_dim);
    scores_product(kValuesGradient.of(to), model_.head_dim, shape_.sequence);
    // Eager: to 32 bits, the softmax's gradient, and back; then what the weights of distances get.
    PerElement each{2 * e_ + e_, 2 * e_};
    if (!fused_) each = {e_ + 2 * kFp32 + kFp32 + 2 * e_, kFp32 + kFp32 + e_ + e_, 4};
    if (model_.dropout && !fused_) each = {each.read + e_ + kMask, each.written + e_, each.launches + 1};
    elementwise(kSoftmaxGradient.of(to), scores(), each);
    scores_product(kQueriesGradient.of(to), model_.head_dim, shape_.sequence);
    scores_product(kKeysGradient.of(to), model_.head_dim, shape_.sequence);
    elementwise(kLayoutGradient.of(to), tokens_ * model_.query_width(), {4 * e_, 4 * e_, 4});
  }

  void attention(std::string_view name, bool backward, bool to_earlier) {
    FlashAttention attention;
    attention.batch = shape_.sequences;
    attention.heads = model_.heads;
    attention.kv_heads = repeats_kv() ? model_.heads : model_.kv_heads;
    attention.queries = shape_.sequence;
    attention.keys = shape_.sequence;
    attention.head_dim = model_.head_dim;
    attention.causal = shape_.causal && to_earlier;
    attention.backward = backward;
    attention.synchronous = shape_.attention == AttentionKernel::kFlash2;
    attention.element_bytes = shape_.element_bytes;
    kernels_.push_back({name, attention});
  }

  /// Its mask is a byte an element; a fused one is drawn again from its seed.
  void dropout(std::string_view name, std::int64_t elements) {
    if (model_.dropout && !fused_) elementwise(name, elements, {e_, e_ + kMask});
  }
  void dropout_backward(std::string_view name, std::int64_t elements) {
    if (model_.dropout && !fused_) elementwise(name, elements, {e_ + kMask, e_});
  }

  /// Queries and keys turned by their position; the gradient is turned back. Eager: to 32 bits, turn, and back; as
  /// matrices: each number times two, and their sum.
  void rotary(std::string_view name) {
    const bool is_compiled = shape_.fusion == Fusion::kFused || (fused_ && shape_.code == Code::kFms);
    PerElement each{e_ + 2 * kFp32, 2 * kFp32 + e_, 6};
    if (shape_.code == Code::kFms) each = {e_ + 4 * kFp32, 4 * kFp32 + e_, 8};
    if (is_compiled) each = {e_, e_, 2};
    elementwise(name, tokens_ * (model_.query_width() + model_.kv_width()), each);
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
  const UnitKind kind_;
  const StepShape& shape_;
  const std::int64_t tokens_;
  const std::int64_t e_;
  const bool fused_;
  const bool float8_;
  const bool keeps_scales_;  ///< selective recomputation has them in its list
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
    case UnitKind::kEncoderBlock:
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
    case UnitKind::kEncoderBlock:
    case UnitKind::kBlock: {
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
