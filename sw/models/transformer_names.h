// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// How the kernels of transformer_kernels.cpp are called.
namespace weft::models::names {

/// A product with a weight, and the two of its backward pass.
struct Linear {
  std::string_view forward;
  std::string_view input_gradient;
  std::string_view weight_gradient;
  std::string_view bias_gradient;
  // In float8, which the head and cross attention are not.
  std::string_view weight_cast{};
  std::string_view weight_transposed{};
  std::string_view gradient_cast{};
  std::string_view gradient_transposed{};
};
constexpr Linear kWq{"wq",           "wq.dgrad",          "wq.wgrad",
                     "wq.bias_grad", "wq.weight_cast",    "wq.weight_transposed",
                     "wq.grad_cast", "wq.grad_transposed"};
constexpr Linear kWk{"wk",           "wk.dgrad",          "wk.wgrad",
                     "wk.bias_grad", "wk.weight_cast",    "wk.weight_transposed",
                     "wk.grad_cast", "wk.grad_transposed"};
constexpr Linear kWv{"wv",           "wv.dgrad",          "wv.wgrad",
                     "wv.bias_grad", "wv.weight_cast",    "wv.weight_transposed",
                     "wv.grad_cast", "wv.grad_transposed"};
constexpr Linear kWo{"wo",           "wo.dgrad",          "wo.wgrad",
                     "wo.bias_grad", "wo.weight_cast",    "wo.weight_transposed",
                     "wo.grad_cast", "wo.grad_transposed"};
constexpr Linear kGate{"w1_gate",           "w1_gate.dgrad",          "w1_gate.wgrad",
                       "w1_gate.bias_grad", "w1_gate.weight_cast",    "w1_gate.weight_transposed",
                       "w1_gate.grad_cast", "w1_gate.grad_transposed"};
constexpr Linear kUp{"w3_up",           "w3_up.dgrad",          "w3_up.wgrad",
                     "w3_up.bias_grad", "w3_up.weight_cast",    "w3_up.weight_transposed",
                     "w3_up.grad_cast", "w3_up.grad_transposed"};
constexpr Linear kDown{"w2_down",           "w2_down.dgrad",          "w2_down.wgrad",
                       "w2_down.bias_grad", "w2_down.weight_cast",    "w2_down.weight_transposed",
                       "w2_down.grad_cast", "w2_down.grad_transposed"};
constexpr Linear kLmHead{"lm_head", "lm_head.dgrad", "lm_head.wgrad", "lm_head.bias_grad"};

constexpr Linear kCrossWq{"cross_wq", "cross_wq.dgrad", "cross_wq.wgrad", "cross_wq.bias_grad"};
constexpr Linear kCrossWk{"cross_wk", "cross_wk.dgrad", "cross_wk.wgrad", "cross_wk.bias_grad"};
constexpr Linear kCrossWv{"cross_wv", "cross_wv.dgrad", "cross_wv.wgrad", "cross_wv.bias_grad"};
constexpr Linear kCrossWo{"cross_wo", "cross_wo.dgrad", "cross_wo.wgrad", "cross_wo.bias_grad"};

/// What enters products, cast to float8; transposed for the gradients of weights.
struct Operand {
  std::string_view cast;
  std::string_view transposed;
};
constexpr Operand kAttentionInput{"attn_norm.cast", "attn_norm.transposed"};
constexpr Operand kAttentionOutput{"attention.cast", "attention.transposed"};
constexpr Operand kFfnInput{"ffn_norm.cast", "ffn_norm.transposed"};
constexpr Operand kHidden{"hidden.cast", "hidden.transposed"};

/// To which sequence a block attends: its own or, behind an encoder, that one's.
enum class Attends { kOwn, kCross };
struct Names {
  std::string_view own;
  std::string_view cross;

  [[nodiscard]] constexpr std::string_view of(Attends to) const { return to == Attends::kOwn ? own : cross; }
};
constexpr Names kNorm{"attn_norm", "cross_norm"};
constexpr Names kNormGradient{"attn_norm.grad", "cross_norm.grad"};
constexpr Names kFlash{"attention", "cross_attention"};
constexpr Names kFlashGradient{"attention.grad", "cross_attention.grad"};
constexpr Names kLayout{"attn_layout", "cross_layout"};
constexpr Names kLayoutGradient{"attn_layout.grad", "cross_layout.grad"};
constexpr Names kScores{"scores", "cross_scores"};
constexpr Names kSoftmax{"softmax", "cross_softmax"};
constexpr Names kSoftmaxGradient{"softmax.grad", "cross_softmax.grad"};
constexpr Names kValues{"values", "cross_values"};
constexpr Names kValuesGradient{"values.grad", "cross_values.grad"};
constexpr Names kWeightsGradient{"weights.grad", "cross_weights.grad"};
constexpr Names kQueriesGradient{"queries.grad", "cross_queries.grad"};
constexpr Names kKeysGradient{"keys.grad", "cross_keys.grad"};
constexpr Names kDropout{"attn_dropout", "cross_dropout"};
constexpr Names kDropoutGradient{"attn_dropout.grad", "cross_dropout.grad"};
constexpr Names kResidual{"attn_residual", "cross_residual"};

}  // namespace weft::models::names
