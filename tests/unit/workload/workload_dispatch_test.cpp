// SPDX-License-Identifier: Apache-2.0
// Tokens that come to experts once to a rank and across the network once to a node: how many, by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sw/workloads/expert_load.h"
#include "sw/workloads/expert_spread.h"
#include "sw/workloads/options.h"
#include "sw/workloads/workload.h"
#include "tests/support/workload.h"
#include "traces/chakra/exchange.h"

namespace weft::workloads {
namespace {

using chakra::Node;

double choose(double of, int count) {
  double result = 1;
  for (int i = 0; i < count; ++i) result *= (of - i) / (i + 1);
  return result;
}

/// 256 experts on 64 ranks of 8 nodes, of which a token goes to 8, in 4 nodes at the most: DeepSeek-V3.
SpreadProblem deepseek(std::int64_t limit) {
  return {std::vector<std::int64_t>(256, 128), 4096, 8, 64, 8, limit};
}

TEST(ExpertSpreads, EvenOnesAreTheClosedForms) {
  ExpertSpread spread;
  ASSERT_TRUE(spread_experts(deepseek(4), spread));
  // 4 of 8 nodes, with 128 experts, of which 96 are in the others, and 124 on other ranks.
  const auto of_node = std::llround(4096 * 4.0 / 8 * (1 - choose(96, 8) / choose(128, 8)));
  const auto of_rank = std::llround(4096 * 4.0 / 8 * (1 - choose(124, 8) / choose(128, 8)));
  EXPECT_EQ(spread.nodes, std::vector<std::int64_t>(8, of_node));
  EXPECT_EQ(spread.ranks, std::vector<std::int64_t>(64, of_rank));
  EXPECT_EQ(of_node, 1858);
  EXPECT_EQ(of_rank, 471);
  // Anywhere: 8 of 256, of which 224 are in other nodes.
  ASSERT_TRUE(spread_experts(deepseek(0), spread));
  EXPECT_EQ(spread.nodes.front(), std::llround(4096 * (1 - choose(224, 8) / choose(256, 8))));
  EXPECT_EQ(spread.ranks.front(), std::llround(4096 * (1 - choose(252, 8) / choose(256, 8))));
}

/// A token's one expert: nothing to count once. All experts of a node: each token comes to it.
TEST(ExpertSpreads, SimpleOnesAreExact) {
  ExpertSpread spread;
  ASSERT_TRUE(spread_experts({{10, 20, 30, 40}, 100, 1, 4, 2, 0}, spread));
  EXPECT_EQ(spread.ranks, (std::vector<std::int64_t>{10, 20, 30, 40}));
  EXPECT_EQ(spread.nodes, (std::vector<std::int64_t>{30, 70}));
  // Experts 0 and 1 get all tokens; the third of each is 2 or 3.
  ASSERT_TRUE(spread_experts({{100, 100, 25, 75}, 100, 3, 4, 2, 0}, spread));
  EXPECT_EQ(spread.ranks, (std::vector<std::int64_t>{100, 100, 25, 75}));
  EXPECT_EQ(spread.nodes, (std::vector<std::int64_t>{100, 100}));
  // Two of four experts with shares 1, 1/3, 1/3, 1/3: the first and one of the others. In two nodes of two the first
  // has all tokens, the other two thirds.
  ASSERT_TRUE(spread_experts({{300, 100, 100, 100}, 300, 2, 4, 2, 0}, spread));
  EXPECT_EQ(spread.nodes, (std::vector<std::int64_t>{300, 200}));
}

/// Of each pair of experts with weights 2, 1, 1 and 1 the first has its chance: pairs with it weigh 2, others 1, so
/// that it is in 6 of 9, the others in 4 of 9. On nodes {0, 1} and {2, 3} a token misses the first only as {2, 3}, 1 of
/// 9, the second only as {0, 1}, 2 of 9.
TEST(ExpertSpreads, UnevenOnesFollowTheirWeights) {
  ExpertSpread spread;
  ASSERT_TRUE(spread_experts({{6000, 4000, 4000, 4000}, 9000, 2, 4, 2, 0}, spread));
  EXPECT_NEAR(static_cast<double>(spread.nodes[0]), 8000, 1);
  EXPECT_NEAR(static_cast<double>(spread.nodes[1]), 7000, 1);
  // One node: pairs {0, 1} weigh 2, {2, 3} 1. Experts get what these say, 2/3 and 1/3, and no other numbers are
  // possible.
  ASSERT_TRUE(spread_experts({{6000, 6000, 3000, 3000}, 9000, 2, 4, 2, 1}, spread));
  EXPECT_NEAR(static_cast<double>(spread.nodes[0]), 6000, 1);
  EXPECT_NEAR(static_cast<double>(spread.nodes[1]), 3000, 1);
  EXPECT_FALSE(spread_experts({{6000, 4000, 4000, 4000}, 9000, 2, 4, 2, 1}, spread));
}

TEST(ExpertSpreads, SkewedOnesKeepTheirBounds) {
  for (const LoadKind kind : {LoadKind::kZipf, LoadKind::kDirichlet}) {
    for (const std::int64_t limit : {0, 4}) {
      SpreadProblem problem = deepseek(limit);
      problem.experts = tokens_of_experts({kind, 0.8, 5}, 256, 8, 4096, 7);
      ExpertSpread spread;
      ASSERT_TRUE(spread_experts(problem, spread)) << static_cast<int>(kind) << ' ' << limit;
      for (std::size_t n = 0; n < 8; ++n) {
        std::int64_t most = 0;
        std::int64_t all = 0;
        for (std::size_t r = n * 8; r < n * 8 + 8; ++r) {
          most = std::max(most, spread.ranks[r]);
          all += spread.ranks[r];
        }
        EXPECT_GE(spread.nodes[n], most);
        EXPECT_LE(spread.nodes[n], all);
        EXPECT_LE(spread.nodes[n], 4096);
      }
      EXPECT_LE(spread.all_of_nodes(), 4096 * (limit > 0 ? limit : 8) + 8);
      EXPECT_GT(spread.all_of_nodes(), 4096 * 2);
    }
  }
}

WorkloadConfig deepseek_step() {
  StepOptions options;
  options.parallel = "pp=2,ep=64,dp=64";
  options.dispatcher = Dispatcher::kDeepEp;
  options.node_limit = 4;
  options.float8_dispatch = true;
  WorkloadConfig config = options.config(find_decoder(models::load_transformers(), "deepseek-v3"));
  config.per_node = 8;
  return config;
}

/// Of 4096 tokens 471 come to each rank and 1,858 to each node: 7,168 bytes and 56 scales there, and 2 bytes a number
/// back, forward and backward.
TEST(DispatchedTokens, AreThoseOfTheSpread) {
  const WorkloadConfig config = deepseek_step();
  std::vector<chakra::Tokens> all;
  std::vector<std::string> names;
  const RankSums sums = TransformerWorkload(config).generate(128 - 1, [&](const Node& node) {
    if (const auto tokens = chakra::tokens_of(node, 64)) {
      all.push_back(*tokens);
      names.push_back(node.name);
    }
  });
  ASSERT_EQ(all.size(), 30U * 2 * 4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool combines = names[i].find("combine forward") != std::string::npos ||
                          names[i].find("dispatch gradient") != std::string::npos;
    EXPECT_EQ(all[i].combines, combines) << names[i];
    const std::int64_t token = combines ? 7168 * 2 : 7168 + 4 * 56;
    EXPECT_EQ(all[i].members, std::vector<std::int64_t>(64, 471 * token));
    EXPECT_EQ(all[i].nodes, std::vector<std::int64_t>(8, 1858 * token));
  }
  EXPECT_EQ(sums.of(Purpose::kExpertParallel).bytes, std::int64_t{30} * 2 * 2 * 64 * 471 * (7168 * 3 + 224));
}

/// Fewer copies are made and summed where tokens come once; products are the same.
TEST(DispatchedTokens, SpareCopiesAndNoProducts) {
  WorkloadConfig config = deepseek_step();
  const RankSums once = TransformerWorkload(config).generate(0, [](const Node&) {});
  config.dispatcher = Dispatcher::kAllToAll;
  config.node_limit = 0;
  config.float8_dispatch = false;
  const RankSums each = TransformerWorkload(config).generate(0, [](const Node&) {});
  EXPECT_EQ(once.operations, each.operations);
  EXPECT_EQ(once.routed_tokens, each.routed_tokens);
  EXPECT_LT(once.of(Purpose::kExpertParallel).bytes, each.of(Purpose::kExpertParallel).bytes);
}

std::string refused_dispatch(const WorkloadConfig& config) {
  try {
    config.check();
    static_cast<void>(config.spread());
  } catch (const WorkloadError& error) {
    return error.what();
  }
  return "";
}

TEST(DispatchedTokens, RefuseWhatTheyCannot) {
  WorkloadConfig config = deepseek_step();
  config.per_node = 24;
  EXPECT_EQ(refused_dispatch(config), "--dispatcher: expected alltoall, as the 64 ranks of ep do not fill nodes of 24");
  config = deepseek_step();
  config.dispatcher = Dispatcher::kAllToAll;
  EXPECT_EQ(refused_dispatch(config), "--float8-dispatch: expected --dispatcher deepep");
  config = deepseek_step();
  config.load = {LoadKind::kZipf, 4, 1};
  config.node_limit = 1;
  EXPECT_NE(refused_dispatch(config).find("--node-limit: expected more nodes or a load that is more even"),
            std::string::npos)
      << refused_dispatch(config);
}

// Modules that predict the token after the next ----------------------------------------------------------------------

/// A block with experts, a product of 14,336 by 7,168 and three norms: 11.6 of the 14 B parameters that DeepSeek-V3's
/// weights have for it, the rest of which are copies of the embedding and the head.
TEST(Predictions, HaveTheirParametersAndOperations) {
  models::Transformer model = test::model("deepseek-v3");
  const std::int64_t block = unit_parameters(model, models::UnitKind::kExpertBlock);
  EXPECT_EQ(prediction_parameters(model), block + std::int64_t{2} * 7168 * 7168 + 3 * 7168);
  EXPECT_NEAR(static_cast<double>(prediction_parameters(model) + 2 * 129280 * 7168) / 1e9, 14, 0.6);
  const std::int64_t without = megatron_flops_per_token(model, 4096);
  models::Transformer longer = model;
  ++longer.layers;
  const std::int64_t of_block = megatron_flops_per_token(longer, 4096) - without;
  model.mtp = 1;
  EXPECT_EQ(megatron_flops_per_token(model, 4096) - without,
            of_block + std::int64_t{6} * (2 * 7168 * 7168 + 129280 * 7168));
}

TEST(Predictions, AreOnTheLastStage) {
  StepOptions options;
  options.parallel = "pp=4,ep=8,dp=8";
  WorkloadConfig config = options.config(find_decoder(models::load_transformers(), "deepseek-v3"));
  const auto sums = [&config](std::int64_t rank) {
    return TransformerWorkload(config).generate(rank, [](const Node&) {});
  };
  const RankSums first = sums(0);
  const RankSums last = sums(31);
  config.model.mtp = 1;
  const RankSums with_first = sums(0);
  const RankSums with_last = sums(31);
  const std::int64_t expert = std::int64_t{3} * 7168 * 2048;
  const std::int64_t table = std::int64_t{129280} * 7168;
  // Of its 256 experts 32 are here; and a copy of the embedding, whose gradients are summed with the first stage's.
  EXPECT_EQ(with_last.parameters - last.parameters, prediction_parameters(config.model) - 224 * expert + table);
  EXPECT_EQ(with_first.parameters, first.parameters);
  EXPECT_EQ(with_first.of(Purpose::kTiedEmbedding).bytes, 2 * table);
  EXPECT_EQ(with_last.of(Purpose::kTiedEmbedding).bytes, 2 * table);
  // Its operations are a block's, a head's, and three of the product's.
  models::Transformer longer = test::model("deepseek-v3");
  ++longer.layers;
  EXPECT_GT(with_last.operations, last.operations);
  EXPECT_EQ(with_last.routed_tokens - last.routed_tokens, std::int64_t{4} * 4096 * 8);
  const std::int64_t more = with_last.activation_bytes - last.activation_bytes;
  EXPECT_GT(more, std::int64_t{4} * 4096 * 7168 * 2);
  // With both ends on one rank there is no copy.
  config.schedule = PipelineSchedule::kDualPipe;
  config.microbatches = 8;
  config.batch = 64;
  EXPECT_EQ(sums(0).of(Purpose::kTiedEmbedding).bytes, 0);
}

}  // namespace
}  // namespace weft::workloads
