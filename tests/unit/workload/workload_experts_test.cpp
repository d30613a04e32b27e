// SPDX-License-Identifier: Apache-2.0
// Steps with experts as Megatron-Core cuts them: what is sent, reduced and kept, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sw/workloads/options.h"
#include "sw/workloads/workload.h"
#include "tests/support/workload.h"
#include "traces/chakra/exchange.h"

namespace weft::workloads {
namespace {

using chakra::Node;
using test::workload_config;

RankSums experts_sums(const WorkloadConfig& config, std::int64_t rank = 0) {
  return TransformerWorkload(config).generate(rank, [](const Node&) {});
}

WorkloadConfig catalogue(const std::string& model, const std::string& parallel, std::int64_t layers = 0) {
  StepOptions options;
  options.layers = layers;
  options.parallel = parallel;
  return options.config(find_decoder(models::load_transformers(), model));
}

/// Forward and backward, each token goes to 8 experts and comes back: of 58 blocks of DeepSeek-V3 on 4 stages, the
/// first 13 of 16 (3 have an MLP), the others 15.
TEST(ExpertSteps, DispatchAndCombineAreTokensTimesExperts) {
  WorkloadConfig config = catalogue("deepseek-v3", "pp=4,ep=64,dp=64");
  config.microbatches = 2;
  config.batch = 128;
  const std::int64_t exchange = std::int64_t{4096} * 8 * 7168 * 2;
  for (const auto& [rank, blocks] : {std::pair<int, int>{0, 13}, {64, 15}, {255, 15}}) {
    const RankSums sums = experts_sums(config, rank);
    EXPECT_EQ(sums.of(Purpose::kExpertParallel).bytes, 2 * 4 * blocks * exchange);
    EXPECT_EQ(sums.of(Purpose::kExpertParallel).nodes, 2 * 4 * blocks);
    EXPECT_EQ(sums.routed_tokens, 2 * blocks * 4096 * 8);
  }
}

/// 4 of 256 experts, once among 64 ranks; all else on all 64. Gradients of the experts then need nobody.
TEST(ExpertSteps, ExpertsAreReducedAmongTheirCopies) {
  const WorkloadConfig config = catalogue("deepseek-v3", "pp=4,ep=64,dp=64");
  const std::int64_t expert = std::int64_t{3} * 7168 * 2048;
  const std::int64_t block = unit_parameters(config.model, models::UnitKind::kExpertBlock);
  const RankSums sums = experts_sums(config, 64);
  EXPECT_EQ(sums.parameters, 15 * (block - 252 * expert));
  EXPECT_EQ(sums.of(Purpose::kGradients).bytes, 2 * 15 * (block - 256 * expert));
  // With half as many groups each expert is on two ranks.
  const WorkloadConfig twice = catalogue("deepseek-v3", "pp=4,ep=32,dp=64");
  EXPECT_EQ(experts_sums(twice, 64).parameters, 15 * (block - 248 * expert));
  EXPECT_EQ(experts_sums(twice, 64).of(Purpose::kGradients).bytes, 2 * 15 * (block - 248 * expert));
}

/// ZeRO stage 1: as many bytes of gradients, and the parameters again; of Adam's 12 bytes each rank has its share.
TEST(ExpertSteps, DistributedOptimizersScatterAndGatherOnce) {
  WorkloadConfig config = workload_config("ep=2,dp=4", 3);
  config.model.vocab = 104;
  test::set_experts(config, 8, 2);
  const RankSums whole = experts_sums(config);
  config.distributed_optimizer = true;
  config.gradient_bytes = 4;
  const RankSums sums = experts_sums(config);
  EXPECT_EQ(sums.parameters, whole.parameters);
  EXPECT_EQ(sums.of(Purpose::kGradients).bytes, 2 * whole.of(Purpose::kGradients).bytes);
  EXPECT_EQ(sums.of(Purpose::kParameters).bytes, 2 * whole.parameters);
  const std::int64_t experts = config.model.layers * 4 * 3 * 96 * 360;
  EXPECT_EQ(sums.parameter_bytes, 2 * whole.parameters);
  EXPECT_EQ(sums.gradient_bytes, 4 * whole.parameters);
  EXPECT_EQ(sums.optimizer_bytes, 12 * ((whole.parameters - experts) / 4 + experts / 2));
  EXPECT_EQ(sums.state_bytes, sums.parameter_bytes + sums.gradient_bytes + sums.optimizer_bytes);
}

/// 61 blocks on 4 stages: 16, 15, 15, 15; each once.
TEST(ExpertSteps, FirstStagesHaveTheBlocksThatRemain) {
  WorkloadConfig config = catalogue("deepseek-v3", "pp=4,ep=4,dp=4");
  std::int64_t next = 0;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(config.layers_of(stage), stage == 0 ? 16 : 15);
    EXPECT_EQ(config.first_layer(stage), next);
    next += config.layers_of(stage);
  }
  EXPECT_EQ(next, 61);
}

/// Two products of a block, what turns and joins their results, and with scales of blocks two casts are done again,
/// just before attention's backward pass.
TEST(ExpertSteps, LatentProjectionsAreMadeAgain) {
  WorkloadConfig config = catalogue("deepseek-v3", "pp=2,ep=4,dp=4", 6);
  config.batch = 8;
  config.microbatches = 2;
  const RankSums kept = experts_sums(config);
  config.recompute = models::Recompute::kLatentProjections;
  const RankSums again = experts_sums(config);
  const std::int64_t products = 2 * 4096 * (std::int64_t{1536} * 24576 + 512 * 32768);
  EXPECT_EQ(again.operations - kept.operations, 2 * 3 * products);
  EXPECT_EQ(again.nodes - kept.nodes, 2 * 3);
  EXPECT_LT(again.activation_bytes, kept.activation_bytes);
  const std::vector<Node> nodes = test::nodes_of(TransformerWorkload(config), 0);
  std::string before;
  for (const Node& node : nodes) {
    if (node.name.find("attention.core backward") != std::string::npos) {
      EXPECT_NE(before.find("attention.qkv again"), std::string::npos) << before;
    }
    before = node.name;
  }
  models::StepShape shape;
  shape.fusion = models::Fusion::kFused;
  shape.linear = models::LinearType::kMxfp8;
  shape.recompute = models::Recompute::kLatentProjections;
  std::vector<std::string> names;
  for (const models::Kernel& kernel : backward_kernels(config.model, models::UnitKind::kExpertBlock, shape)) {
    if (kernel.recompute) names.emplace_back(kernel.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"q_norm.cast", "wq", "kv_norm.cast", "wkv", "rotary", "latent_keys"}));
}

/// Megatron-Bridge's layout of DeepSeek-V3 on 4 x 4 virtual stages, 15 of 4 and one of 1, beside the module for the
/// token after the next; and that of Llama 3.1 405B, whose first and last virtual stage have no layer.
TEST(StageLayers, AreAsTheyAreGiven) {
  WorkloadConfig config = catalogue("deepseek-v3", "pp=4,ep=4,dp=4");
  config.schedule = PipelineSchedule::kInterleaved;
  config.virtual_stages = 4;
  config.stage_layers = parse_stage_layers("4*15,1");
  for (std::int64_t stage = 0; stage < 16; ++stage) {
    EXPECT_EQ(config.layers_of(stage), stage < 15 ? 4 : 1);
    EXPECT_EQ(config.first_layer(stage), 4 * stage);
  }
  const std::vector<std::int64_t> layers = parse_stage_layers("0,1*126,0");
  ASSERT_EQ(layers.size(), 128U);
  EXPECT_EQ(layers.front() + layers.back(), 0);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), 1), 126);
  EXPECT_EQ(parse_stage_layers("5,7"), (std::vector<std::int64_t>{5, 7}));
  EXPECT_TRUE(parse_stage_layers("").empty());
}

/// As even as can be, said or not said, is the same step.
TEST(StageLayers, ThatAreEvenAreThoseOfNobodyWhoSays) {
  WorkloadConfig config = workload_config("pp=5,dp=2", 10);
  config.schedule = PipelineSchedule::kInterleaved;
  config.virtual_stages = 2;
  const TransformerWorkload even(config);
  config.stage_layers = parse_stage_layers("2*2,1*8");
  const TransformerWorkload said(config);
  for (std::int64_t rank = 0; rank < even.ranks(); ++rank) {
    const std::vector<Node> nodes = test::nodes_of(even, rank);
    EXPECT_FALSE(nodes.empty());
    EXPECT_TRUE(nodes == test::nodes_of(said, rank)) << rank;
  }
}

TEST(ExpertLoads, NoTokenIsLostOrComesTwice) {
  for (const LoadKind kind : {LoadKind::kBalanced, LoadKind::kZipf, LoadKind::kDirichlet}) {
    for (const double skew : {0.1, 1.0, 4.0}) {
      for (const auto& [experts, top_k, tokens] :
           {std::tuple<int, int, int>{8, 2, 1000}, {128, 8, 4096}, {256, 8, 37}, {4, 4, 9}, {5, 3, 1}}) {
        const ExpertLoad load{kind, skew, 7};
        const std::vector<std::int64_t> counts = tokens_of_experts(load, experts, top_k, tokens, 3);
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), tokens * top_k);
        for (const std::int64_t count : counts) {
          EXPECT_GE(count, 0);
          EXPECT_LE(count, tokens);
        }
        EXPECT_EQ(counts, tokens_of_experts(load, experts, top_k, tokens, 3));
      }
    }
  }
  // Blocks and seeds differ; of the first two the second has half as many.
  const ExpertLoad zipf{LoadKind::kZipf, 1, 7};
  std::vector<std::int64_t> counts = tokens_of_experts(zipf, 64, 1, 100000, 0);
  EXPECT_NE(counts, tokens_of_experts(zipf, 64, 1, 100000, 1));
  EXPECT_NE(counts, tokens_of_experts({LoadKind::kZipf, 1, 8}, 64, 1, 100000, 0));
  std::sort(counts.rbegin(), counts.rend());
  EXPECT_NEAR(static_cast<double>(counts[0]) / static_cast<double>(counts[1]), 2, 0.01);
}

/// What a rank sends to another that one receives, on the way there and back; in all ranks as much as without.
TEST(ExpertLoads, RanksReceiveWhatOthersSend) {
  WorkloadConfig config = workload_config("ep=4,dp=4");
  test::set_experts(config, 8, 2);
  const std::int64_t even = experts_sums(config).of(Purpose::kExpertParallel).bytes;
  config.load = {LoadKind::kZipf, 1.5, 3};
  const TransformerWorkload workload(config);
  std::map<std::string, std::vector<chakra::Exchange>> exchanges;
  std::int64_t received = 0;
  std::int64_t most = 0;
  std::int64_t operations = 0;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const RankSums sums = workload.generate(rank, [&](const Node& node) {
      if (const auto exchange = chakra::exchange_of(node, 4)) exchanges[node.name].push_back(*exchange);
    });
    received += sums.routed_tokens;
    most = std::max(most, sums.routed_tokens);
    operations += sums.operations;
  }
  EXPECT_EQ(exchanges.size(), 4U * 12);
  std::int64_t bytes = 0;
  for (const auto& [name, ranks] : exchanges) {
    ASSERT_EQ(ranks.size(), 4U) << name;
    for (std::size_t from = 0; from < 4; ++from) {
      for (std::size_t to = 0; to < 4; ++to) {
        EXPECT_EQ(ranks[from].to[to], ranks[to].from[from]) << name;
        bytes += ranks[from].to[to];
      }
    }
  }
  EXPECT_EQ(bytes, 4 * even);
  EXPECT_EQ(received, 4 * 12 * 2 * config.tokens());
  EXPECT_GT(config.busiest_rank(), 1.2);
  EXPECT_GT(most, received / 4);
  config.load = {};
  EXPECT_EQ(config.busiest_rank(), 1);
  EXPECT_EQ(operations, 4 * experts_sums(config).operations);
}

}  // namespace
}  // namespace weft::workloads
