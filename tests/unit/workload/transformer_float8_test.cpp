// SPDX-License-Identifier: Apache-2.0
// Blocks whose linear layers are in float8: products, casts and what is computed again, counted by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sw/models/transformer.h"

namespace weft::models::float8_test {
namespace {

constexpr std::int64_t kTokens = 1024;
constexpr std::int64_t kWidth = 4096;
constexpr std::int64_t kKeys = 1024;
constexpr std::int64_t kHidden = 14336;

const Transformer& llama() {
  static const std::vector<Transformer> models = load_transformers();
  return find_transformer(models, "llama3-8b");
}

StepShape float8(Recompute recompute, bool weights = true, bool tokens = false) {
  StepShape shape;
  shape.sequence = kTokens;
  shape.recompute = recompute;
  shape.fusion = Fusion::kCompiledBlocks;
  shape.linear = LinearType::kFloat8;
  shape.float8_weights = weights;
  shape.float8_tokens = tokens;
  return shape;
}

std::vector<std::string> names_of(const std::vector<Kernel>& kernels, bool recomputed_alone = false) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels) {
    if (kernel.recompute || !recomputed_alone) names.emplace_back(kernel.name);
  }
  return names;
}

/// The last of a name, which in a backward pass is not one that is computed again.
const Kernel& named(const std::vector<Kernel>& kernels, std::string_view name) {
  const auto found = std::find_if(kernels.rbegin(), kernels.rend(), [&](const Kernel& k) { return k.name == name; });
  if (found == kernels.rend()) throw std::invalid_argument("no kernel " + std::string(name));
  return *found;
}

void expect_pass(const std::vector<Kernel>& kernels, std::string_view name, std::int64_t read, std::int64_t written,
                 int launches) {
  const auto& pass = std::get<Elementwise>(named(kernels, name).shape);
  EXPECT_EQ(pass.bytes_read, read) << name;
  EXPECT_EQ(pass.bytes_written, written) << name;
  EXPECT_EQ(pass.launches, launches) << name;
}

TEST(Float8, CastsWhatEntersProductsOnce) {
  const auto kernels = forward_kernels(llama(), UnitKind::kBlock, float8(Recompute::kNone));
  EXPECT_EQ(names_of(kernels),
            (std::vector<std::string>{"attn_norm", "attn_norm.cast", "wq", "wk", "wv", "rotary", "repeat_kv",
                                      "attention", "attention.cast", "wo", "ffn_norm", "ffn_norm.cast", "w1_gate",
                                      "w3_up", "swiglu", "hidden.cast", "w2_down", "ffn_residual"}));
  // The norm's kernel has found the largest value, of each part; a small one finds that of all.
  expect_pass(kernels, "attn_norm.cast", 2 * kTokens * kWidth, kTokens * kWidth, 2);
  expect_pass(kernels, "hidden.cast", 2 * kTokens * kHidden, kTokens * kHidden, 2);
  // Attention's has not: what it gives is read for that, too.
  expect_pass(kernels, "attention.cast", 4 * kTokens * kWidth, kTokens * kWidth, 3);
}

TEST(Float8, ProductsOfBlocksAloneAreOfOneByte) {
  const StepShape shape = float8(Recompute::kSelectiveOp);
  for (const UnitKind kind : {UnitKind::kBlock, UnitKind::kHead}) {
    auto kernels = forward_kernels(llama(), kind, shape);
    for (const Kernel& kernel : backward_kernels(llama(), kind, shape)) kernels.push_back(kernel);
    int products = 0;
    for (const Kernel& kernel : kernels) {
      const auto* gemm = std::get_if<Gemm>(&kernel.shape);
      if (gemm == nullptr) continue;
      ++products;
      EXPECT_EQ(gemm->element_bytes, kind == UnitKind::kBlock ? 1 : 2) << kernel.name;
    }
    EXPECT_EQ(products, kind == UnitKind::kBlock ? 7 + 3 + 14 : 3);
  }
  // Operands of a byte, a result of two.
  EXPECT_EQ(bytes_moved(Gemm{1, 10, 20, 30, 1}), 10 * 30 + 30 * 20 + 2 * 10 * 20);
  EXPECT_EQ(bytes_moved(Gemm{1, 10, 20, 30, 2}), 2 * (10 * 30 + 30 * 20 + 10 * 20));
}

TEST(Float8, DoesTheOperationsOfPlainLayers) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelectiveOp, Recompute::kFull}) {
    StepShape plain = float8(recompute);
    plain.linear = LinearType::kPlain;
    for (const bool weights : {false, true}) {
      EXPECT_EQ(step_flops(llama(), float8(recompute, weights), true), step_flops(llama(), plain, true));
    }
  }
}

TEST(Float8, TransposesForTheGradients) {
  const auto kernels = backward_kernels(llama(), UnitKind::kBlock, float8(Recompute::kNone));
  const std::vector<std::string> names = names_of(kernels);
  EXPECT_EQ((std::vector<std::string>(names.begin(), names.begin() + 6)),
            (std::vector<std::string>{"w2_down.grad_cast", "w2_down.weight_transposed", "hidden.transposed",
                                      "w2_down.dgrad", "w2_down.wgrad", "swiglu.grad"}));
  // Cast both ways, each from the tensor itself; before, what comes from the block behind is read for its largest
  // value.
  expect_pass(kernels, "w2_down.grad_cast", 6 * kTokens * kWidth, 2 * kTokens * kWidth, 3);
  expect_pass(kernels, "w3_up.grad_cast", 4 * kTokens * kHidden, 2 * kTokens * kHidden, 2);
  expect_pass(kernels, "wo.grad_cast", 4 * kTokens * kWidth, 2 * kTokens * kWidth, 2);
  expect_pass(kernels, "wv.grad_cast", 4 * kTokens * kKeys, 2 * kTokens * kKeys, 2);
  expect_pass(kernels, "w2_down.weight_transposed", kWidth * kHidden, kWidth * kHidden, 1);
  expect_pass(kernels, "hidden.transposed", kTokens * kHidden, kTokens * kHidden, 1);
  // Three products have the same input.
  EXPECT_EQ(std::count(names.begin(), names.end(), "attn_norm.transposed"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "ffn_norm.transposed"), 1);
  // Without copies of keys and values for each head, attention gives their gradients.
  StepShape shape = float8(Recompute::kNone);
  shape.repeat_kv = false;
  expect_pass(backward_kernels(llama(), UnitKind::kBlock, shape), "wv.grad_cast", 6 * kTokens * kKeys,
              2 * kTokens * kKeys, 3);
}

TEST(Float8, CastsAgainWhatIsMultipliedAgain) {
  const auto again = [](const StepShape& shape) {
    return names_of(backward_kernels(llama(), UnitKind::kBlock, shape), true);
  };
  // Of each input's products at least one is not kept, but for the down projection's.
  const std::vector<std::string> selective = {"attn_norm",     "attn_norm.cast", "wk",    "rotary",
                                              "repeat_kv",     "attention.cast", "wo",    "ffn_norm",
                                              "ffn_norm.cast", "w3_up",          "swiglu"};
  EXPECT_EQ(again(float8(Recompute::kSelectiveOp)), selective);
  const std::vector<std::string> with_weights = {"attn_norm", "attn_norm.cast", "wk.weight_cast", "wk",
                                                 "rotary",    "repeat_kv",      "attention.cast", "wo.weight_cast",
                                                 "wo",        "ffn_norm",       "ffn_norm.cast",  "w3_up.weight_cast",
                                                 "w3_up",     "swiglu"};
  EXPECT_EQ(again(float8(Recompute::kSelectiveOp, false)), with_weights);
  EXPECT_EQ(again(float8(Recompute::kFull)).back(), "swiglu");
  // Selective recomputation has kept the largest values.
  const auto kernels = backward_kernels(llama(), UnitKind::kBlock, float8(Recompute::kSelectiveOp));
  expect_pass(kernels, "attention.cast", 2 * kTokens * kWidth, kTokens * kWidth, 1);
  expect_pass(kernels, "hidden.transposed", 2 * kTokens * kHidden, kTokens * kHidden, 1);
  expect_pass(backward_kernels(llama(), UnitKind::kBlock, float8(Recompute::kFull)), "attention.cast",
              4 * kTokens * kWidth, kTokens * kWidth, 3);
  // Where every product that it enters is kept, nothing is cast again.
  StepShape gpt = float8(Recompute::kSelectiveOp);
  const std::vector<Transformer> models = load_transformers();
  const auto of_gpt = names_of(backward_kernels(find_transformer(models, "gpt2"), UnitKind::kBlock, gpt), true);
  EXPECT_EQ(of_gpt, (std::vector<std::string>{"attn_norm", "attn_norm.cast", "wk", "attention.cast", "wo", "ffn_norm",
                                              "gelu"}));
}

TEST(Float8, CastsWeightsThatNobodyHasGathered) {
  const StepShape shape = float8(Recompute::kNone, false);
  const auto forward = forward_kernels(llama(), UnitKind::kBlock, shape);
  expect_pass(forward, "wq.weight_cast", 4 * kWidth * kWidth, kWidth * kWidth, 3);
  expect_pass(forward, "w2_down.weight_cast", 4 * kWidth * kHidden, kWidth * kHidden, 3);
  expect_pass(backward_kernels(llama(), UnitKind::kBlock, shape), "wq.weight_transposed", 2 * kWidth * kWidth,
              kWidth * kWidth, 1);
}

/// Transformer Engine's: one kernel writes both ways, and one way is all where products take any layout.
TEST(Float8, TransformerEngineCastsBothWaysAtOnceOrOneWay) {
  StepShape shape = float8(Recompute::kNone);
  shape.casts = Casts::kTransformerEngine;
  shape.transposed_weights = true;
  for (const bool any_layout : {false, true}) {
    shape.fp8_any_layout = any_layout;
    const std::int64_t ways = any_layout ? 1 : 2;
    const auto forward = forward_kernels(llama(), UnitKind::kBlock, shape);
    expect_pass(forward, "attn_norm.cast", 2 * kTokens * kWidth, ways * kTokens * kWidth, 2);
    expect_pass(forward, "attention.cast", 4 * kTokens * kWidth, ways * kTokens * kWidth, 3);
    expect_pass(forward, "hidden.cast", 2 * kTokens * kHidden, ways * kTokens * kHidden, 2);
    const auto backward = backward_kernels(llama(), UnitKind::kBlock, shape);
    expect_pass(backward, "w2_down.grad_cast", 4 * kTokens * kWidth, ways * kTokens * kWidth, 3);
    expect_pass(backward, "w3_up.grad_cast", 2 * kTokens * kHidden, ways * kTokens * kHidden, 2);
    for (const std::string& name : names_of(backward)) EXPECT_FALSE(name.ends_with("transposed")) << name;
  }
  // What has been gathered in one byte, and one way, is transposed.
  shape.float8_tokens = true;
  shape.fp8_any_layout = false;
  expect_pass(forward_kernels(llama(), UnitKind::kBlock, shape), "ffn_norm.cast", 2 * kTokens * kWidth,
              kTokens * kWidth, 2);
  const auto gathered = backward_kernels(llama(), UnitKind::kBlock, shape);
  expect_pass(gathered, "ffn_norm.transposed", kTokens * kWidth, kTokens * kWidth, 1);
  expect_pass(gathered, "w2_down.grad_transposed", kTokens * kWidth, kTokens * kWidth, 1);
  shape.fp8_any_layout = true;
  for (const std::string& name : names_of(backward_kernels(llama(), UnitKind::kBlock, shape))) {
    EXPECT_FALSE(name.ends_with("transposed")) << name;
  }
}

/// Of sequence parallelism: what is gathered is in float8 before, in one order alone.
TEST(Float8, GatheredTokensAreTransposedFromOneByte) {
  const auto kernels = backward_kernels(llama(), UnitKind::kBlock, float8(Recompute::kFull, true, true));
  expect_pass(kernels, "ffn_norm.transposed", kTokens * kWidth, kTokens * kWidth, 1);
  expect_pass(kernels, "hidden.transposed", 2 * kTokens * kHidden, kTokens * kHidden, 1);
  expect_pass(kernels, "w2_down.grad_cast", 4 * kTokens * kWidth, kTokens * kWidth, 3);
  expect_pass(kernels, "w2_down.grad_transposed", kTokens * kWidth, kTokens * kWidth, 1);
  expect_pass(kernels, "w1_gate.grad_cast", 4 * kTokens * kHidden, 2 * kTokens * kHidden, 2);
}

/// Of 16 experts that a rank has: products of all in one kernel, as are casts. Tokens come from others, and are read
/// for their largest values.
TEST(Float8, ExpertsAreCastTogether) {
  const std::vector<Transformer> models = load_transformers();
  const Transformer& qwen = find_transformer(models, "qwen3-30b-a3b");
  StepShape shape = float8(Recompute::kNone, false);
  shape.fusion = Fusion::kFused;
  shape.repeat_kv = false;
  shape.local_experts = 16;
  shape.routed_tokens = 8 * kTokens;
  constexpr std::int64_t kRouted = 8 * kTokens;
  constexpr std::int64_t kModel = 2048;
  constexpr std::int64_t kExpert = 768;
  constexpr std::int64_t kWeights = 16 * kExpert * kModel;
  const auto forward = forward_kernels(qwen, UnitKind::kExpertBlock, shape);
  expect_pass(forward, "experts_input.cast", 4 * kRouted * kModel, kRouted * kModel, 3);
  expect_pass(forward, "experts_hidden.cast", 4 * kRouted * kExpert, kRouted * kExpert, 3);
  expect_pass(forward, "experts_up.weight_cast", 4 * 2 * kWeights, 2 * kWeights, 3);
  expect_pass(forward, "experts_down.weight_cast", 4 * kWeights, kWeights, 3);
  const auto backward = backward_kernels(qwen, UnitKind::kExpertBlock, shape);
  expect_pass(backward, "experts_down.grad_cast", 6 * kRouted * kModel, 2 * kRouted * kModel, 3);
  expect_pass(backward, "experts_up.grad_cast", 4 * kRouted * 2 * kExpert, 2 * kRouted * 2 * kExpert, 2);
  expect_pass(backward, "experts_up.weight_transposed", 2 * 2 * kWeights, 2 * kWeights, 1);
  expect_pass(backward, "experts_down.weight_transposed", 2 * kWeights, kWeights, 1);
  expect_pass(backward, "experts_input.transposed", kRouted * kModel, kRouted * kModel, 1);
  expect_pass(backward, "experts_hidden.transposed", kRouted * kExpert, kRouted * kExpert, 1);
  StepShape plain = shape;
  plain.linear = LinearType::kPlain;
  EXPECT_EQ(step_flops(qwen, shape, true), step_flops(qwen, plain, true));
}

TEST(Float8, WeightsAreTheMatricesOfABlock) {
  EXPECT_EQ(linear_weights(llama(), UnitKind::kBlock).size(), 7U);
  EXPECT_EQ(linear_parameters(llama(), UnitKind::kBlock), unit_parameters(llama(), UnitKind::kBlock) - 2 * kWidth);
  EXPECT_EQ(linear_parameters(llama(), UnitKind::kHead), 0);
  EXPECT_EQ(linear_parameters(llama(), UnitKind::kEmbedding), 0);
}

}  // namespace
}  // namespace weft::models::float8_test
