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
  // In float8.
  std::string_view weight_cast;
  std::string_view weight_transposed;
  std::string_view gradient_cast;
  std::string_view gradient_transposed;
};
#define WEFT_LINEAR(name)                                                                                  \
  {                                                                                                        \
    name, name ".dgrad", name ".wgrad", name ".bias_grad", name ".weight_cast", name ".weight_transposed", \
        name ".grad_cast", name ".grad_transposed"                                                         \
  }
constexpr Linear kWq = WEFT_LINEAR("wq");
constexpr Linear kWk = WEFT_LINEAR("wk");
constexpr Linear kWv = WEFT_LINEAR("wv");
constexpr Linear kWo = WEFT_LINEAR("wo");
constexpr Linear kGate = WEFT_LINEAR("w1_gate");
constexpr Linear kUp = WEFT_LINEAR("w3_up");
constexpr Linear kDown = WEFT_LINEAR("w2_down");
constexpr Linear kLmHead = WEFT_LINEAR("lm_head");
constexpr Linear kCrossWq = WEFT_LINEAR("cross_wq");
constexpr Linear kCrossWk = WEFT_LINEAR("cross_wk");
constexpr Linear kCrossWv = WEFT_LINEAR("cross_wv");
constexpr Linear kCrossWo = WEFT_LINEAR("cross_wo");
constexpr Linear kWqA = WEFT_LINEAR("wq_a");
constexpr Linear kWkvA = WEFT_LINEAR("wkv_a");
constexpr Linear kWkv = WEFT_LINEAR("wkv");
constexpr Linear kRouter = WEFT_LINEAR("router");
constexpr Linear kSharedUp = WEFT_LINEAR("shared_up");
constexpr Linear kSharedDown = WEFT_LINEAR("shared_down");
constexpr Linear kExpertsUp = WEFT_LINEAR("experts_up");
constexpr Linear kExpertsDown = WEFT_LINEAR("experts_down");
#undef WEFT_LINEAR

/// What enters products, cast to float8; transposed for the gradients of weights.
struct Operand {
  std::string_view cast;
  std::string_view transposed;
};
constexpr Operand kAttentionInput{"attn_norm.cast", "attn_norm.transposed"};
constexpr Operand kAttentionOutput{"attention.cast", "attention.transposed"};
constexpr Operand kFfnInput{"ffn_norm.cast", "ffn_norm.transposed"};
constexpr Operand kHidden{"hidden.cast", "hidden.transposed"};
constexpr Operand kLatentQueries{"q_norm.cast", "q_norm.transposed"};
constexpr Operand kLatentKeys{"kv_norm.cast", "kv_norm.transposed"};
constexpr Operand kSharedInput{"shared_input.cast", "shared_input.transposed"};
constexpr Operand kSharedHidden{"shared_hidden.cast", "shared_hidden.transposed"};
constexpr Operand kExpertsInput{"experts_input.cast", "experts_input.transposed"};
constexpr Operand kExpertsHidden{"experts_hidden.cast", "experts_hidden.transposed"};

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
