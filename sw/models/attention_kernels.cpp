// SPDX-License-Identifier: Apache-2.0
// The kernels of attention, and of what makes its queries, keys and values.
#include "sw/models/kernel_list.h"

namespace weft::models {

using namespace names;

namespace {

/// Of an attention's four.
const Linear& linear_of(Attends to, const Linear& own, const Linear& cross) {
  return to == Attends::kOwn ? own : cross;
}

}  // namespace

void KernelList::attend(Attends to, bool adds_residual) {
  const std::int64_t d = model_.d_model;
  norm(kNorm.of(to), adds_residual);
  cast(kAttentionInput, tokens_ * d, kMadeHere);
  if (model_.is_latent()) {
    latent_projections();
  } else {
    linear(linear_of(to, kWq, kCrossWq), model_.query_width(), d);
    linear(linear_of(to, kWk, kCrossWk), model_.kv_width(), d);
    linear(linear_of(to, kWv, kCrossWv), model_.kv_width(), d);
    if (model_.qk_norm) norm("qk_norm", tokens_ * (model_.query_width() + model_.kv_width()), false);
    if (model_.has_rotary()) rotary("rotary");
  }
  if (repeats_kv()) {
    const std::int64_t in = 2 * tokens_ * model_.kv_width() * e_;
    kernels_.push_back({"repeat_kv", Elementwise{in, 2 * tokens_ * model_.query_width() * e_, 2}});
  }
  if (model_.relative > 0) {
    attention_by_operators(to);
  } else {
    attention(kFlash.of(to), false, to == Attends::kOwn && is_of_decoder(kind_));
  }
  cast(kAttentionOutput, tokens_ * model_.attended_width(), kMadeElsewhere);
  linear(linear_of(to, kWo, kCrossWo), d, model_.attended_width());
  dropout(kDropout.of(to), tokens_ * d);
  if (!fused_) residual(kResidual.of(to));
}

void KernelList::attend_backward(Attends to, int users) {
  const std::int64_t d = model_.d_model;
  dropout_backward(kDropoutGradient.of(to), tokens_ * d);
  linear_backward(linear_of(to, kWo, kCrossWo), d, model_.attended_width(),
                  {.gathers_gradient = true, .input = &kAttentionOutput});
  if (model_.relative > 0) {
    attention_backward_by_operators(to);
  } else {
    attention(kFlashGradient.of(to), true, to == Attends::kOwn && is_of_decoder(kind_));
  }
  if (repeats_kv()) {
    const std::int64_t out = 2 * tokens_ * model_.kv_width() * e_;
    kernels_.push_back({"repeat_kv.grad", Elementwise{2 * tokens_ * model_.query_width() * e_, out, 2}});
  }
  if (model_.is_latent()) {
    latent_projections_backward();
    return norm_backward(kNormGradient.of(to), 2, true);
  }
  if (model_.has_rotary()) rotary("rotary.grad");
  if (model_.qk_norm) norm_backward("qk_norm.grad", tokens_ * (model_.query_width() + model_.kv_width()), 1, false);
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

/// Keys are put together from what each head has and what is turned once for all. In one kernel, as
/// fused_apply_mla_rope_for_kv of Megatron-Core has it, values with them.
void KernelList::latent_projections() {
  const std::int64_t d = model_.d_model;
  const std::int64_t q_rank = model_.q_lora_rank;
  if (q_rank > 0) {
    linear(kWqA, q_rank, d);
    norm("q_norm", tokens_ * q_rank, false);
    cast(kLatentQueries, tokens_ * q_rank, kMadeHere);
  }
  linear(kWq, model_.query_width(), q_rank > 0 ? q_rank : d);
  linear(kWkvA, model_.kv_lora_rank + model_.qk_rope_head_dim, d);
  norm("kv_norm", tokens_ * model_.kv_lora_rank, false);
  cast(kLatentKeys, tokens_ * model_.kv_lora_rank, kMadeHere);
  linear(kWkv, model_.heads * (model_.qk_nope_head_dim + model_.v_head_dim), model_.kv_lora_rank);
  rotary("rotary");
  const std::int64_t made = model_.heads * (model_.qk_nope_head_dim + model_.v_head_dim) + model_.qk_rope_head_dim;
  const std::int64_t whole = model_.kv_width() + model_.value_width();
  kernels_.push_back({"latent_keys", Elementwise{tokens_ * made * e_, tokens_ * whole * e_, 1}});
}

void KernelList::latent_projections_backward() {
  const std::int64_t d = model_.d_model;
  const std::int64_t q_rank = model_.q_lora_rank;
  const std::int64_t made = model_.heads * (model_.qk_nope_head_dim + model_.v_head_dim) + model_.qk_rope_head_dim;
  const std::int64_t whole = model_.kv_width() + model_.value_width();
  kernels_.push_back({"latent_keys.grad", Elementwise{tokens_ * whole * e_, tokens_ * made * e_, 1}});
  rotary("rotary.grad");
  linear_backward(kWkv, model_.heads * (model_.qk_nope_head_dim + model_.v_head_dim), model_.kv_lora_rank,
                  {.input = &kLatentKeys});
  norm_backward("kv_norm.grad", tokens_ * model_.kv_lora_rank, 1, false);
  linear_backward(kWkvA, model_.kv_lora_rank + model_.qk_rope_head_dim, d, {.input = &kAttentionInput});
  linear_backward(kWq, model_.query_width(), q_rank > 0 ? q_rank : d,
                  {.input = q_rank > 0 ? &kLatentQueries : nullptr});
  if (q_rank == 0) return;
  norm_backward("q_norm.grad", tokens_ * q_rank, 1, false);
  linear_backward(kWqA, q_rank, d, {});
}

void KernelList::scores_product(std::string_view name, std::int64_t n, std::int64_t k) {
  kernels_.push_back({name, Gemm{shape_.sequences * model_.heads, shape_.sequence, n, k, shape_.element_bytes}});
}

/// Where weights of distances come to the scores, as Hugging Face's T5: queries, keys and values by heads, products,
/// weights of distances added, the softmax in 32 bits, dropout of its result, and the result by tokens.
void KernelList::attention_by_operators(Attends to) {
  elementwise(kLayout.of(to), tokens_ * model_.query_width(), {4 * e_, 4 * e_, 4});
  scores_product(kScores.of(to), shape_.sequence, model_.head_dim);
  PerElement each{2 * e_, e_};
  if (!fused_) each = {2 * e_ + e_ + kFp32 + kFp32, e_ + kFp32 + kFp32 + e_, 4};
  if (model_.dropout && !fused_) each = {each.read + e_, each.written + e_ + kMask, each.launches + 1};
  elementwise(kSoftmax.of(to), scores(), each);
  scores_product(kValues.of(to), model_.head_dim, shape_.sequence);
}

void KernelList::attention_backward_by_operators(Attends to) {
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

void KernelList::attention(std::string_view name, bool backward, bool to_earlier) {
  FlashAttention attention;
  attention.batch = shape_.sequences;
  attention.heads = model_.heads;
  attention.kv_heads = repeats_kv() ? model_.heads : model_.kv_heads;
  attention.queries = shape_.sequence;
  attention.keys = shape_.sequence;
  attention.head_dim = model_.head_dim;
  attention.value_dim = model_.value_dim() == model_.head_dim ? 0 : model_.value_dim();
  attention.window = to_earlier && shape_.window < shape_.sequence ? shape_.window : 0;
  attention.causal = shape_.causal && to_earlier;
  attention.backward = backward;
  attention.synchronous = shape_.attention == AttentionKernel::kFlash2;
  attention.element_bytes = shape_.element_bytes;
  kernels_.push_back({name, attention});
}

/// Queries and keys turned by their position; the gradient is turned back. Eager: to 32 bits, turn, and back; as
/// matrices: each number times two, and their sum.
void KernelList::rotary(std::string_view name) {
  const bool is_compiled = shape_.fusion == Fusion::kFused || (fused_ && shape_.code == Code::kFms);
  PerElement each{e_ + 2 * kFp32, 2 * kFp32 + e_, 6};
  if (shape_.code == Code::kFms) each = {e_ + 4 * kFp32, 4 * kFp32 + e_, 8};
  if (is_compiled) each = {e_, e_, 2};
  // Of latent attention the keys' part is turned where they are put together.
  const std::int64_t heads = model_.is_latent() ? model_.heads : model_.heads + model_.kv_heads;
  elementwise(name, tokens_ * heads * model_.rotary_dim(), each);
}

}  // namespace weft::models
