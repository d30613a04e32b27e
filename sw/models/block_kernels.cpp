// SPDX-License-Identifier: Apache-2.0
// The kernels of MLPs, experts and linear layers, and of whole blocks.
#include "sw/models/kernel_list.h"

namespace weft::models {

using namespace names;

void KernelList::block() {
  attend(Attends::kOwn, false);
  if (crosses(model_, kind_)) attend(Attends::kCross, fused_);
  norm("ffn_norm", fused_);
  if (kind_ == UnitKind::kExpertBlock) {
    experts();
  } else {
    mlp();
  }
  residual("ffn_residual");
}

void KernelList::block_backward() {
  if (kind_ == UnitKind::kExpertBlock) {
    experts_backward();
    // Whose gradients come: the router's, the tokens', and those of what all go to.
    norm_backward("ffn_norm.grad", model_.shared_ffn > 0 ? 3 : 2, true);
  } else {
    mlp_backward();
    norm_backward("ffn_norm.grad", model_.gated ? 2 : 1, true);
  }
  if (crosses(model_, kind_)) {
    attend_backward(Attends::kCross, 1);
    // Gradients by keys and by values come to those of other layers.
    elementwise("encoder_sum.grad", tokens_ * model_.d_model,
                fused_ ? PerElement{3 * e_, e_} : PerElement{4 * e_, 2 * e_, 2});
  }
  attend_backward(Attends::kOwn, 3);
}

// MLPs ---------------------------------------------------------------------------------------------------------------

void KernelList::mlp() {
  cast(kFfnInput, tokens_ * model_.d_model, kMadeHere);
  if (model_.gated) linear(kGate, model_.ffn, model_.d_model);
  linear(kUp, model_.ffn, model_.d_model);
  activation(model_.gated ? "swiglu" : "gelu", tokens_ * model_.ffn);
  dropout("hidden_dropout", tokens_ * model_.ffn);
  cast(kHidden, tokens_ * model_.ffn, kMadeHere);
  linear(kDown, model_.d_model, model_.ffn);
  dropout("ffn_dropout", tokens_ * model_.d_model);
}

void KernelList::mlp_backward() {
  const std::int64_t d = model_.d_model;
  dropout_backward("ffn_dropout.grad", tokens_ * d);
  linear_backward(kDown, d, model_.ffn, {.gradient = kMadeElsewhere, .gathers_gradient = true, .input = &kHidden});
  dropout_backward("hidden_dropout.grad", tokens_ * model_.ffn);
  activation_backward(model_.gated ? "swiglu.grad" : "gelu.grad", tokens_ * model_.ffn);
  linear_backward(kUp, model_.ffn, d, {.input = &kFfnInput, .gathers_input = true});
  if (model_.gated) linear_backward(kGate, model_.ffn, d, {});
}

void KernelList::activation(std::string_view name, std::int64_t elements) {
  if (model_.gated) {
    elementwise(name, elements, fused_ ? PerElement{2 * e_, e_} : PerElement{3 * e_, 2 * e_, 2});
  } else {
    elementwise(name, elements, {e_, e_});
  }
}

void KernelList::activation_backward(std::string_view name, std::int64_t elements) {
  if (model_.gated) {
    elementwise(name, elements, fused_ ? PerElement{3 * e_, 2 * e_} : PerElement{6 * e_, 3 * e_, 3});
  } else {
    elementwise(name, elements, {2 * e_, e_});
  }
}

// Experts ------------------------------------------------------------------------------------------------------------

/// As Megatron-Core has them (megatron/core/transformer/moe): the router's product and one fused kernel that chooses;
/// a copy of each token for each of its experts; gate and up in one product, and all experts' products in one kernel;
/// weights of experts are multiplied with in the activation; the sum of a token's results. Tokens that came from other
/// ranks are brought together by expert, and back.
void KernelList::experts() {
  const std::int64_t d = model_.d_model;
  const std::int64_t ups = model_.gated ? 2 : 1;
  gemm(kRouter.forward, tokens_, model_.experts, d);
  elementwise("router.choice", tokens_ * model_.experts, {e_, kFp32 + kMask});
  if (!comes_once()) {
    elementwise("permute", tokens_ * d, {e_, model_.top_k * e_});
  } else if (shape_.float8_dispatch) {
    elementwise("permute", tokens_ * d, {e_, kFloat8});
  }
  if (model_.shared_ffn > 0) {
    cast(kSharedInput, tokens_ * d, kMadeElsewhere);
    linear(kSharedUp, ups * model_.shared_ffn, d);
    activation("shared_activation", tokens_ * model_.shared_ffn);
    cast(kSharedHidden, tokens_ * model_.shared_ffn, kMadeElsewhere);
    linear(kSharedDown, d, model_.shared_ffn);
  }
  spread_by_expert("experts_sort");
  cast_of_experts(kExpertsInput, routed() * d);
  grouped(kExpertsUp, ups * model_.expert_ffn, d);
  activation("experts_activation", routed() * model_.expert_ffn);
  cast_of_experts(kExpertsHidden, routed() * model_.expert_ffn);
  grouped(kExpertsDown, d, model_.expert_ffn);
  join_of_experts("experts_unsort");
  // What all tokens go to is added here.
  const std::int64_t shared = model_.shared_ffn > 0 ? tokens_ : 0;
  kernels_.push_back({"unpermute", Elementwise{(returned() + shared) * d * e_, tokens_ * d * e_, 1}});
}

/// A copy of what came for each of its experts that are here, by expert.
void KernelList::spread_by_expert(std::string_view name) {
  const std::int64_t d = model_.d_model;
  if (!comes_once()) {
    if (sorts()) elementwise(name, routed() * d, {e_, e_});
    return;
  }
  const std::int64_t read = shape_.arrived_tokens * d * (shape_.float8_dispatch ? kFloat8 : e_);
  kernels_.push_back({name, Elementwise{read, routed() * d * e_, 1}});
}

/// The way back.
void KernelList::join_of_experts(std::string_view name) {
  const std::int64_t d = model_.d_model;
  if (!comes_once()) {
    if (sorts()) elementwise(name, routed() * d, {e_, e_});
    return;
  }
  kernels_.push_back({name, Elementwise{routed() * d * e_, shape_.arrived_tokens * d * e_, 1}});
}

void KernelList::experts_backward() {
  const std::int64_t d = model_.d_model;
  const std::int64_t ups = model_.gated ? 2 : 1;
  if (!comes_once()) {
    elementwise("unpermute.grad", tokens_ * d, {e_, model_.top_k * e_});
  } else if (shape_.float8_dispatch) {
    elementwise("unpermute.grad", tokens_ * d, {e_, kFloat8});
  }
  if (model_.shared_ffn > 0) {
    linear_backward(kSharedDown, d, model_.shared_ffn, {.gradient = kMadeElsewhere, .input = &kSharedHidden});
    activation_backward("shared_activation.grad", tokens_ * model_.shared_ffn);
    linear_backward(kSharedUp, ups * model_.shared_ffn, d, {.input = &kSharedInput});
  }
  spread_by_expert("experts_unsort.grad");
  grouped_backward(kExpertsDown, d, model_.expert_ffn, {.gradient = kMadeElsewhere, .input = &kExpertsHidden});
  activation_backward("experts_activation.grad", routed() * model_.expert_ffn);
  grouped_backward(kExpertsUp, ups * model_.expert_ffn, d, {.input = &kExpertsInput});
  join_of_experts("experts_sort.grad");
  kernels_.push_back({"permute.grad", Elementwise{returned() * d * e_, tokens_ * d * e_, 1}});
  elementwise("router.choice_grad", tokens_ * model_.experts, {2 * kFp32 + kMask, e_});
  gemm(kRouter.input_gradient, tokens_, d, model_.experts);
  gemm(kRouter.weight_gradient, model_.experts, d, tokens_);
}

namespace {

/// So many products of m rows, and what does not divide: some have a row more.
Gemm of_rows(std::int64_t groups, std::int64_t rows, std::int64_t n, std::int64_t k) {
  Gemm gemm{groups, rows / groups, n, k};
  gemm.more_m = rows % groups;
  return gemm;
}

Gemm of_sums(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t terms) {
  Gemm gemm{groups, m, n, terms / groups};
  gemm.more_k = terms % groups;
  return gemm;
}

}  // namespace

void KernelList::grouped(const Linear& names, std::int64_t outputs, std::int64_t inputs) {
  if (casts_weights()) {
    elementwise(names.weight_cast, local_experts() * outputs * inputs, scaled({e_, kFloat8}, kMadeElsewhere));
  }
  product(names.forward, of_experts(of_rows(local_experts(), routed(), outputs, inputs)), Accumulation::kFast);
}

Gemm KernelList::of_experts(Gemm shape) const {
  shape.launches = launches_of_experts();
  return shape;
}

void KernelList::cast_of_experts(const Operand& names, std::int64_t elements) {
  const std::size_t from = kernels_.size();
  cast(names, elements, kMadeElsewhere);
  split_casts(from);
}

/// Of a tensor whose scale is that of its largest value, that value is cleared first.
void KernelList::split_casts(std::size_t from) {
  if (shape_.expert_kernels == ExpertKernels::kGrouped) return;
  for (std::size_t i = from; i < kernels_.size(); ++i) {
    auto& pass = std::get<Elementwise>(kernels_[i].shape);
    const bool clears = te_ && kernels_[i].name.ends_with("cast");
    pass.launches = (pass.launches + (clears ? 1 : 0)) * launches_of_experts();
  }
}

void KernelList::grouped_backward(const Linear& names, std::int64_t outputs, std::int64_t inputs, const Backward& how) {
  Backward its = how;
  if (shape_.expert_kernels == ExpertKernels::kEach) its.gradient = kMadeElsewhere;
  const std::size_t from = kernels_.size();
  if (float8_) casts_backward(names, {routed(), local_experts()}, outputs, inputs, its);
  if (blocks_ > 0) cast_blocks(names.gradient_cast, routed() * outputs);
  split_casts(from);
  product(names.input_gradient, of_experts(of_rows(local_experts(), routed(), inputs, outputs)), Accumulation::kFull);
  product(names.weight_gradient, of_experts(of_sums(local_experts(), outputs, inputs, routed())), Accumulation::kFull);
  if (model_.bias) elementwise(names.bias_gradient, routed() * outputs, {e_, 0});
}

// Products -----------------------------------------------------------------------------------------------------------

void KernelList::product(std::string_view name, Gemm shape, Accumulation accumulation) {
  shape.element_bytes = float8_ || blocks_ > 0 ? static_cast<int>(kFloat8) : shape_.element_bytes;
  shape.scale_block = blocks_;
  shape.fast_accumulation = accumulation == Accumulation::kFast;
  kernels_.push_back({name, shape});
}

/// A tensor's largest value is found before it is cast, in a kernel that reads all of it and a small one. The first is
/// one with the elementwise kernel that makes the tensor; what comes from products, attention or other ranks is read
/// once more.
PerElement KernelList::scaled(PerElement each, Origin origin) const {
  if (keeps_scales_) return each;
  return {each.read + (origin == kMadeHere ? 0 : e_), each.written, each.launches + (origin == kMadeHere ? 1 : 2)};
}

/// Tensor cores take float8 operands along the dimension that is summed alone: the weight is transposed for the
/// gradient of the input, gradient and input are for that of the weight. Tensors cast both ways are read twice
/// (PyTorch issue 133242). Of experts, each has its scales, and a kernel casts the tensors of all. Transformer Engine
/// writes both ways at once, but for what is gathered; tensor cores that take any layout spare the second.
void KernelList::casts_backward(const Linear& names, Products of, std::int64_t outputs, std::int64_t inputs,
                                const Backward& how) {
  if (how.gathers_gradient && shape_.float8_tokens) {
    elementwise(names.gradient_cast, of.rows * outputs, scaled({e_, kFloat8}, how.gradient));
    if (!te_ || !shape_.fp8_any_layout) elementwise(names.gradient_transposed, of.rows * outputs, {kFloat8, kFloat8});
  } else if (te_) {
    const std::int64_t ways = shape_.fp8_any_layout ? 1 : 2;
    elementwise(names.gradient_cast, of.rows * outputs, scaled({e_, ways * kFloat8}, how.gradient));
  } else {
    elementwise(names.gradient_cast, of.rows * outputs, scaled({2 * e_, 2 * kFloat8}, how.gradient));
  }
  if (!shape_.transposed_weights) {
    elementwise(names.weight_transposed, of.weights * outputs * inputs,
                {shape_.float8_weights ? kFloat8 : e_, kFloat8});
  }
  if (how.input == nullptr) return;
  const bool was_written_so = shape_.fp8_any_layout || !how.gathers_input || !shape_.float8_tokens;
  if (te_ && was_written_so) return;
  // What is kept or gathered is so in float8, what was computed again is not.
  const bool is_cast = shape_.recompute == Recompute::kNone || (how.gathers_input && shape_.float8_tokens);
  elementwise(how.input->transposed, of.rows * inputs, {is_cast ? kFloat8 : e_, kFloat8});
}

void KernelList::linear_backward(const Linear& names, std::int64_t outputs, std::int64_t inputs, const Backward& how) {
  if (float8_) casts_backward(names, {tokens_, 1}, outputs, inputs, how);
  if (blocks_ > 0) cast_blocks(names.gradient_cast, tokens_ * outputs);
  product(names.input_gradient, {1, tokens_, inputs, outputs}, Accumulation::kFull);
  product(names.weight_gradient, {1, outputs, inputs, tokens_}, Accumulation::kFull);
  if (model_.bias) elementwise(names.bias_gradient, tokens_ * outputs, {e_, 0});
}

/// A bias is added where the product is written and costs nothing.
void KernelList::linear(const Linear& names, std::int64_t outputs, std::int64_t inputs) {
  if (casts_weights()) {
    elementwise(names.weight_cast, outputs * inputs, scaled({e_, kFloat8}, kMadeElsewhere));
  }
  product(names.forward, {1, tokens_, outputs, inputs}, Accumulation::kFast);
}

void KernelList::cast(const Operand& names, std::int64_t elements, Origin origin) {
  const bool is_gathered = shape_.float8_tokens && (names.cast == kAttentionInput.cast || names.cast == kFfnInput.cast);
  const std::int64_t ways = te_ && !shape_.fp8_any_layout && !is_gathered ? 2 : 1;
  if (float8_) elementwise(names.cast, elements, scaled({e_, ways * kFloat8}, origin));
  if (blocks_ > 0) cast_blocks(names.cast, elements);
}

void KernelList::cast_blocks(std::string_view name, std::int64_t elements) {
  const bool has_tensor_scale = blocks_ == kNvfp4Block;
  kernels_.push_back({name, Elementwise{(has_tensor_scale ? 2 : 1) * elements * e_, 2 * scaled_bytes(elements, blocks_),
                                        has_tensor_scale ? 2 : 1}});
}

std::vector<Kernel> weight_cast_kernels(LinearType type, std::int64_t weights) {
  constexpr std::int64_t kFp32 = 4;
  const int block = scale_block(type);
  if (block == 0) return {};
  const int passes = block == kNvfp4Block ? 2 : 1;
  return {{"weights.cast", Elementwise{passes * weights * kFp32, 2 * scaled_bytes(weights, block), passes}}};
}

}  // namespace weft::models
