// SPDX-License-Identifier: Apache-2.0
// What a step keeps in memory, against published formulas and by hand.
#include "sw/models/activations.h"

#include <gtest/gtest.h>

namespace weft::models {
namespace {

StepShape shape_of(std::int64_t sequences, std::int64_t sequence, Recompute recompute, Fusion fusion) {
  StepShape shape;
  shape.sequences = sequences;
  shape.sequence = sequence;
  shape.recompute = recompute;
  shape.fusion = fusion;
  return shape;
}

TEST(Activations, OfAGptBlockAreKorthikantis) {
  const Transformer model = find_transformer(load_transformers(), "gpt3-175b");
  const StepShape shape = shape_of(2, 2048, Recompute::kNone, Fusion::kFused);
  const std::int64_t sbh = 2 * 2048 * model.d_model;
  const std::int64_t logarithms = 2 * 2048 * model.heads * 4;
  EXPECT_EQ(kept_activations(model, UnitKind::kBlock, shape), 32 * sbh + logarithms);
  EXPECT_EQ(recomputed_activations(model, UnitKind::kBlock, shape), 0);
}

TEST(Activations, OfALlamaBlockByHand) {
  const Transformer model = find_transformer(load_transformers(), "llama3-8b");
  const std::int64_t tokens = 8192;
  const auto kept = [&](Recompute recompute, Fusion fusion) {
    return kept_activations(model, UnitKind::kBlock, shape_of(1, tokens, recompute, fusion));
  };
  EXPECT_EQ(kept(Recompute::kFull, Fusion::kEager), tokens * 2 * 4096);
  // The input; wq, wv, gate and down; attention's output and its logarithms.
  EXPECT_EQ(kept(Recompute::kSelectiveOp, Fusion::kEager),
            tokens * (2 * (4096 + 4096 + 1024 + 14336 + 4096 + 4096) + 4 * 32));
  // Two norms in and out; queries, repeated keys and values, output and logarithms; gate, up and their product.
  const std::int64_t fused = 2 * (4 * 4096) + 2 * (4 * 4096) + 4 * 32 + 2 * (3 * 14336);
  EXPECT_EQ(kept(Recompute::kNone, Fusion::kFused), tokens * fused);
  EXPECT_EQ(kept(Recompute::kNone, Fusion::kCompiledBlocks), tokens * fused);
  EXPECT_EQ(kept(Recompute::kNone, Fusion::kEager), tokens * (fused + 2 * (4 - 2 + 2) * 4096 + 2 * 14336));
  EXPECT_EQ(kept(Recompute::kNone, Fusion::kFusedNorms), tokens * (fused + 2 * 14336));
}

/// What enters a product alone is kept as it was cast; what attention gives is kept as it was, too.
TEST(Activations, OfCastLayersAreOfFewerBits) {
  const Transformer llama = find_transformer(load_transformers(), "llama3-8b");
  const auto kept = [&](LinearType linear, Recompute recompute) {
    StepShape shape = shape_of(1, 8192, recompute, Fusion::kFused);
    shape.linear = linear;
    return kept_activations(llama, UnitKind::kBlock, shape) / 8192;
  };
  // Norms' inputs; queries, repeated keys and values, output and logarithms; gate and up.
  const std::int64_t others = 2 * (2 * 4096) + 2 * (4 * 4096) + 4 * 32 + 2 * (2 * 14336);
  const std::int64_t operands = 3 * 4096 + 14336;
  EXPECT_EQ(kept(LinearType::kPlain, Recompute::kNone), others + 2 * (operands - 4096));
  EXPECT_EQ(kept(LinearType::kFloat8, Recompute::kNone), others + operands);
  EXPECT_EQ(kept(LinearType::kMxfp8, Recompute::kNone), others + operands + operands / 32);
  EXPECT_EQ(kept(LinearType::kNvfp4, Recompute::kNone), others + operands / 2 + operands / 16);
  for (const Recompute recompute : {Recompute::kSelectiveOp, Recompute::kFull}) {
    EXPECT_EQ(kept(LinearType::kFloat8, recompute), kept(LinearType::kPlain, recompute));
  }
}

TEST(Activations, OfCastExpertsAreOfFewerBits) {
  const Transformer model = find_transformer(load_transformers(), "deepseek-v3");
  StepShape shape = shape_of(1, 4096, Recompute::kNone, Fusion::kFused);
  shape.repeat_kv = false;
  const auto kept = [&](LinearType linear) {
    shape.linear = linear;
    return kept_activations(model, UnitKind::kExpertBlock, shape) / 4096;
  };
  // Both norms give what is cast, and the latter the router's input, too; latent queries and keys; attention's output;
  // eight experts and the shared one each cast what enters them and what is hidden.
  const std::int64_t alone = 7168 + 1536 + 512 + 8 * (7168 + 2048) + 2048;
  const std::int64_t besides = 128 * 128 + 7168;
  EXPECT_EQ(kept(LinearType::kPlain) - kept(LinearType::kMxfp8),
            2 * alone - (alone + besides) - (alone + besides) / 32);
}

/// Of latent attention, all but queries, keys and values is kept, and the vectors behind the norms as they were.
TEST(Activations, OfLatentProjectionsThatAreMadeAgain) {
  const Transformer model = find_transformer(load_transformers(), "deepseek-v3");
  StepShape shape = shape_of(1, 4096, Recompute::kNone, Fusion::kFused);
  for (const auto& [linear, latents] : {std::pair(LinearType::kPlain, 0), {LinearType::kMxfp8, 1536 + 512}}) {
    shape.linear = linear;
    shape.recompute = Recompute::kNone;
    const std::int64_t whole = kept_activations(model, UnitKind::kExpertBlock, shape);
    shape.recompute = Recompute::kLatentProjections;
    const std::int64_t kept = kept_activations(model, UnitKind::kExpertBlock, shape);
    const std::int64_t heads = 4096 * 2 * (128 * (192 + 192 + 128));
    EXPECT_EQ(recomputed_activations(model, UnitKind::kExpertBlock, shape), heads);
    // 16 bits in place of 8 and a byte for 32.
    EXPECT_EQ(whole - kept, heads - 4096 * (latents - latents / 32));
  }
}

TEST(Activations, RecomputationMakesTheRestAgain) {
  const Transformer model = find_transformer(load_transformers(), "llama3-70b");
  const StepShape whole = shape_of(1, 4096, Recompute::kNone, Fusion::kFused);
  StepShape full = whole;
  full.recompute = Recompute::kFull;
  EXPECT_EQ(kept_activations(model, UnitKind::kBlock, full) + recomputed_activations(model, UnitKind::kBlock, full),
            kept_activations(model, UnitKind::kBlock, whole));
}

TEST(Activations, OfTheHeadAreMostlyTheLoss) {
  const Transformer model = find_transformer(load_transformers(), "llama3-8b");
  StepShape shape = shape_of(1, 1000, Recompute::kFull, Fusion::kFused);
  EXPECT_EQ(kept_activations(model, UnitKind::kHead, shape), 1000 * (2 * 2 * 4096 + 2 * 128'256));
  shape.fusion = Fusion::kEager;
  EXPECT_EQ(kept_activations(model, UnitKind::kHead, shape), 1000 * ((4 + 2 + 2) * 4096 + 4 * 128'256));
  shape.fusion = Fusion::kCompiledBlocks;
  EXPECT_EQ(kept_activations(model, UnitKind::kHead, shape), 1000 * ((4 + 2 + 2) * 4096 + 4 * 128'256));
  shape.code = Code::kFms;
  EXPECT_EQ(kept_activations(model, UnitKind::kHead, shape), 1000 * ((4 + 2 + 2) * 4096 + 2 * 128'256));
  EXPECT_EQ(kept_activations(model, UnitKind::kEmbedding, shape), 8000);
}

TEST(Activations, OfAttentionByOperatorsAreItsScores) {
  const Transformer model = find_transformer(load_transformers(), "t5-3b");
  constexpr std::int64_t kTokens = 512;
  StepShape shape = shape_of(1, kTokens, Recompute::kNone, Fusion::kEager);
  // Norm, queries, keys, values and output of 4096, the softmax in 32 bits, in 16 and its mask, and that of the
  // sublayer.
  const std::int64_t attention = 8 * 1024 + 4 * 2 * 4096 + 32 * kTokens * (4 + 2 + 1) + 1024;
  const std::int64_t mlp = 8 * 1024 + (2 * 2 + 1) * 16384 + 1024;
  EXPECT_EQ(kept_activations(model, UnitKind::kEncoderBlock, shape), kTokens * (attention + mlp));
  EXPECT_EQ(kept_activations(model, UnitKind::kBlock, shape), kTokens * (2 * attention + mlp));
  // Both sides' token numbers, masks and what distances add.
  EXPECT_EQ(kept_activations(model, UnitKind::kEmbedding, shape), 2 * kTokens * (8 + 1024 + 32 * kTokens * 2));
  shape.recompute = Recompute::kFull;
  EXPECT_EQ(recomputed_activations(model, UnitKind::kBlock, shape), kTokens * (2 * attention + mlp - 2 * 1024));
}

}  // namespace
}  // namespace weft::models
