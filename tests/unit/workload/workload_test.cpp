// SPDX-License-Identifier: Apache-2.0
// Generated workloads: what is communicated, by the textbooks' formulas.
#include "sw/workloads/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/workload.h"

namespace weft::workloads {
namespace {

using chakra::Node;
using chakra::NodeType;
using models::UnitKind;
using test::ChakraTest;
using test::workload_config;

constexpr std::int64_t kBytes = 2;  // of an element

RankSums sums_of(const WorkloadConfig& config, std::int64_t rank = 0) {
  return TransformerWorkload(config).generate(rank, [](const Node&) {});
}

/// Bytes of a microbatch's activations between two layers.
std::int64_t activations(const WorkloadConfig& config) {
  return config.tokens() * config.model.d_model * kBytes;
}

TEST(Parallelism, ReadsDegrees) {
  const Parallelism parallel = parse_parallelism("pp=4,tp=8,dp=3");
  EXPECT_EQ(parallel.ranks(), 96);
  EXPECT_EQ(parallel.text(), "tp=8,dp=3,pp=4");
  EXPECT_EQ(parse_parallelism("tp=1").text(), "1");
}

TEST(Parallelism, NumbersRanksAsMegatron) {
  // tp fastest, then cp, fsdp, dp, and pp slowest.
  const Parallelism parallel = parse_parallelism("tp=2,cp=3,fsdp=7,dp=2,pp=3");
  const std::int64_t rank = 1 + 2 * (2 + 3 * (3 + 7 * (1 + 2 * 2)));
  EXPECT_EQ(parallel.coordinate(rank, Axis::kTensor), 1);
  EXPECT_EQ(parallel.coordinate(rank, Axis::kContext), 2);
  EXPECT_EQ(parallel.coordinate(rank, Axis::kShard), 3);
  EXPECT_EQ(parallel.coordinate(rank, Axis::kData), 1);
  EXPECT_EQ(parallel.coordinate(rank, Axis::kPipeline), 2);
  EXPECT_EQ(parallel.with(rank, Axis::kTensor, 0), rank - 1);
  EXPECT_EQ(parallel.with(rank, Axis::kPipeline, 0), rank - 2 * 84);
}

/// Megatron-Core's groups (parallel_state.py) of 16 ranks with tp=2, ep=4, dp=4 and pp=2.
TEST(Parallelism, ExpertsLieWithinTheRanksOfDataParallelism) {
  using Span = Parallelism::Span;
  const Parallelism parallel = parse_parallelism("tp=2,ep=2,dp=4,pp=2");
  EXPECT_EQ(parallel.ranks(), 16);
  EXPECT_EQ(parallel.spans({AxisSet(Axis::kExpert), true}), (std::vector<Span>{{2, 2}}));
  EXPECT_EQ(parallel.spans({AxisSet(Axis::kData), true}), (std::vector<Span>{{4, 2}}));
  EXPECT_EQ(parallel.spans({AxisSet(Axis::kData)}), (std::vector<Span>{{2, 4}}));
  // With whole experts, ranks of tp have different ones.
  const Parallelism folded = parse_parallelism("tp=2,etp=1,ep=4,dp=4,pp=2");
  EXPECT_EQ(folded.text(), "tp=2,ep=4,dp=4,pp=2,etp=1");
  EXPECT_EQ(folded.spans({AxisSet(Axis::kExpert), true}), (std::vector<Span>{{1, 4}}));
  EXPECT_EQ(folded.spans({AxisSet(Axis::kData), true}), (std::vector<Span>{{4, 2}}));
  EXPECT_EQ(folded.coordinate(6, Axis::kExpert), 2);
  EXPECT_TRUE(folded.spans({AxisSet(Axis::kTensor), true}).empty());
  // Groups are numbered by their lowest ranks.
  const std::vector<Span> spans = parallel.spans({AxisSet(Axis::kData), true});
  for (const auto& [rank, group] : {std::pair<int, int>{0, 0}, {3, 3}, {4, 0}, {8, 4}, {13, 5}}) {
    EXPECT_EQ(group_number(rank, spans), group) << rank;
  }
}

TEST(Workload, GroupsAreThoseOfMoreThanOneRank) {
  const TransformerWorkload workload(workload_config("tp=2,dp=2,pp=2"));
  std::vector<std::vector<std::uint64_t>> ranks;
  for (const chakra::RankGroup& group : workload.groups()) {
    ranks.push_back(group.ranks);
    EXPECT_EQ(group.name, std::to_string(ranks.size()));
  }
  EXPECT_EQ(ranks,
            (std::vector<std::vector<std::uint64_t>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_TRUE(TransformerWorkload(workload_config("pp=4")).groups().empty());
}

TEST(Workload, OperationsAreThoseOfTheConvention) {
  // 6 a token and parameter that multiplies, which norms and the looked-up embedding do not; and for attention the
  // convention's 12 L d s, of which a causal mask leaves half, but with 7 products for its 6, since the backward pass
  // computes the scores again.
  const WorkloadConfig config = workload_config("tp=2,cp=2,fsdp=2,pp=2", 3);
  const models::Transformer& model = config.model;
  const std::int64_t norms = (2 * model.layers + 1) * model.d_model;
  const std::int64_t tokens = config.batch * config.sequence;
  const std::int64_t of_products =
      6 * (total_parameters(model) - unit_parameters(model, UnitKind::kEmbedding) - norms) * tokens;
  const std::int64_t of_attention = 12 * model.layers * model.query_width() * config.sequence * tokens / 2 / 6 * 7;
  std::int64_t sum = 0;
  for (std::int64_t rank = 0; rank < config.parallel.ranks(); ++rank) sum += sums_of(config, rank).operations;
  EXPECT_EQ(sum, of_products + of_attention);
}

TEST(Workload, TensorParallelIsFourAllReducesABlock) {
  for (const std::int64_t microbatches : {1, 3}) {
    const WorkloadConfig config = workload_config("tp=3", microbatches);
    const RankSums sums = sums_of(config);
    const std::int64_t layers = config.model.layers;
    // And one each for embedding and head, and the loss's three numbers a token in 32 bits.
    EXPECT_EQ(sums.of(Purpose::kTensorParallel).bytes,
              microbatches * ((4 * layers + 2) * activations(config) + 3 * config.tokens() * 4));
    EXPECT_EQ(sums.of(Purpose::kTensorParallel).nodes, microbatches * (4 * layers + 5));
  }
}

TEST(Workload, SequenceParallelGathersAndScatters) {
  WorkloadConfig config = workload_config("tp=2");
  config.sequence_parallel = true;
  // A block: 4 Allgathers and 4 ReduceScatters, and 2 Allgathers for the weights' gradients. Embedding: one of each;
  // head: 2 Allgathers and a ReduceScatter.
  EXPECT_EQ(sums_of(config).of(Purpose::kTensorParallel).bytes,
            (10 * config.model.layers + 5) * activations(config) + 3 * config.tokens() * 4);
  for (const Node& node : test::nodes_of(TransformerWorkload(config), 0)) {
    if (node.type != NodeType::kCollective) continue;
    if (node.comm_type() == chakra::CollectiveType::kAllGather) {
      EXPECT_EQ(node.comm_size(), activations(config) / 2) << node.name;
    } else if (node.comm_type() == chakra::CollectiveType::kReduceScatter) {
      EXPECT_EQ(node.comm_size(), activations(config)) << node.name;
    }
  }
}

/// Of a block's collectives each product's own are messages between its chunks: two Allgathers and ReduceScatters
/// forward and two Allgathers of gradients. Sums of several products' gradients, and tokens that weights' gradients
/// need, stay collectives, as do head and embedding.
TEST(Workload, AsynchronousTensorParallelismSendsChunks) {
  for (const std::int64_t tp : {2, 3}) {
    WorkloadConfig config = workload_config("tp=" + std::to_string(tp));
    config.sequence_parallel = true;
    config.async_tensor_parallel = true;
    const std::int64_t layers = config.model.layers;
    const RankSums sums = sums_of(config);
    EXPECT_EQ(sums.of(Purpose::kTensorParallel).bytes,
              layers * (6 * (tp - 1) * activations(config) / tp + 4 * activations(config)) + 5 * activations(config) +
                  3 * config.tokens() * 4);
    EXPECT_EQ(sums.of(Purpose::kTensorParallel).nodes, layers * (6 * (tp - 1) + 4) + 5 + 3);
    int sends = 0;
    int receives = 0;
    for (const Node& node : test::nodes_of(TransformerWorkload(config), 0)) {
      sends += node.type == NodeType::kSend ? 1 : 0;
      receives += node.type == NodeType::kReceive ? 1 : 0;
    }
    EXPECT_EQ(sends, 6 * (tp - 1) * layers);
    EXPECT_EQ(receives, sends);
    // In float8 what is gathered is of one byte, what is summed of two.
    config.linear = models::LinearType::kFloat8;
    const std::int64_t plain = sums.of(Purpose::kTensorParallel).bytes;
    constexpr std::int64_t kScales = 18;
    EXPECT_EQ(plain - sums_of(config).of(Purpose::kTensorParallel).bytes,
              layers * (4 * (tp - 1) * activations(config) / tp / 2 + 2 * activations(config) / 2 - 4 * kScales));
  }
}

/// While the tokens of others come, those that are there are multiplied.
TEST_F(ChakraTest, ChunksComeBesideProducts) {
  WorkloadConfig config = workload_config("tp=3");
  config.sequence_parallel = true;
  const auto last = [&](double bytes_per_ns) {
    const TransformerWorkload workload(config);
    write_workload(workload, folder_ / "w");
    test::ReplayOptions options;
    options.bytes_per_ns = bytes_per_ns;
    const std::vector<std::int64_t> ends = test::replay(workload, folder_ / "w", options);
    return *std::max_element(ends.begin(), ends.end());
  };
  const std::int64_t free = last(1e18);
  const std::int64_t waits = last(0.01);
  config.async_tensor_parallel = true;
  // Products of chunks are as many operations; what else there is, of one operation a node, are a few.
  EXPECT_NEAR(static_cast<double>(last(1e18)) / static_cast<double>(free), 1, 1e-3);
  EXPECT_GT(waits, free);
  EXPECT_LT(last(0.01), waits);
}

/// Of a byte each are tokens that blocks gather; what is summed is as it was.
TEST(Workload, Float8GathersTokensOfOneByteAndAgreesOnScales) {
  WorkloadConfig config = workload_config("tp=2");
  config.sequence_parallel = true;
  config.linear = models::LinearType::kFloat8;
  const std::int64_t layers = config.model.layers;
  // Scales forward: two inputs of all, what attention and what the activation gives, and seven weights. Backward of six
  // products' results and the sum of the up and the down projection's.
  constexpr std::int64_t kScales = 2 + 2 + 7 + 7;
  const RankSums sums = sums_of(config);
  EXPECT_EQ(sums.of(Purpose::kTensorParallel).bytes,
            layers * (6 * activations(config) / 2 + 4 * activations(config) + 4 * kScales) + 5 * activations(config) +
                3 * config.tokens() * 4);
  EXPECT_EQ(sums.of(Purpose::kTensorParallel).nodes, layers * (10 + 8) + 5 + 3);
  // Without sequence parallelism inputs and gradients of results are whole on each rank.
  config.sequence_parallel = false;
  EXPECT_EQ(sums_of(config).of(Purpose::kTensorParallel).bytes,
            layers * (4 * activations(config) + 4 * (kScales - 4)) + 2 * activations(config) + 3 * config.tokens() * 4);
  // Alone there is nobody to agree with.
  EXPECT_EQ(sums_of([] {
              WorkloadConfig alone = workload_config("tp=1");
              alone.linear = models::LinearType::kFloat8;
              return alone;
            }())
                .of(Purpose::kTensorParallel)
                .nodes,
            0);
}

/// Collectives of tensor parallelism on a rank, by type.
std::pair<int, int> gathers_and_scatters(const WorkloadConfig& config) {
  std::pair<int, int> counts;
  for (const Node& node : test::nodes_of(TransformerWorkload(config), 0)) {
    if (node.type != NodeType::kCollective) continue;
    counts.first += node.comm_type() == chakra::CollectiveType::kAllGather ? 1 : 0;
    counts.second += node.comm_type() == chakra::CollectiveType::kReduceScatter ? 1 : 0;
  }
  return counts;
}

TEST(Workload, RecomputingGathersTokensOnceAgainAndSumsThemOnlyInFull) {
  WorkloadConfig config = workload_config("tp=2");
  config.sequence_parallel = true;
  const auto [gathers, scatters] = gathers_and_scatters(config);
  const int layers = static_cast<int>(config.model.layers);
  // The gather of a product's input, for its weight's gradient, is that of recomputing.
  config.recompute = models::Recompute::kSelectiveOp;
  EXPECT_EQ(gathers_and_scatters(config), std::pair(gathers, scatters));
  config.recompute = models::Recompute::kFull;
  EXPECT_EQ(gathers_and_scatters(config), std::pair(gathers, scatters + layers));
  config.recompute = models::Recompute::kSelectiveLayer;
  EXPECT_EQ(gathers_and_scatters(config), std::pair(gathers, scatters + layers / 2));
}

TEST(Workload, DataParallelReducesTheGradients) {
  const WorkloadConfig config = workload_config("dp=3", 2);
  EXPECT_EQ(sums_of(config).of(Purpose::kGradients).bytes, total_parameters(config.model) * kBytes);
  EXPECT_EQ(sums_of(config).of(Purpose::kGradients).nodes, config.model.layers + 2);
}

TEST(Workload, FsdpIsThreeTimesTheParameters) {
  WorkloadConfig config = workload_config("fsdp=2", 2);
  config.model.vocab = 100;  // with which all units divide by 2
  const std::int64_t blocks = config.model.layers * unit_parameters(config.model, UnitKind::kBlock);
  const std::int64_t root = total_parameters(config.model) - blocks;
  const RankSums sums = sums_of(config);
  // Embedding and head stay for both passes.
  EXPECT_EQ(sums.of(Purpose::kParameters).bytes, config.microbatches * (2 * blocks + root) * kBytes);
  EXPECT_EQ(sums.of(Purpose::kGradients).bytes, config.microbatches * (blocks + root) * kBytes);
  EXPECT_EQ(sums.parameters, total_parameters(config.model) / 2);
  EXPECT_EQ(sums.state_bytes, 16 * sums.parameters);
}

TEST(Workload, Float8GathersWeightsOfOneByte) {
  WorkloadConfig config = workload_config("fsdp=2");
  config.model.vocab = 100;
  config.linear = models::LinearType::kFloat8;
  const std::int64_t layers = config.model.layers;
  const std::int64_t block = unit_parameters(config.model, UnitKind::kBlock);
  const std::int64_t cast = linear_parameters(config.model, UnitKind::kBlock);
  const std::int64_t root = total_parameters(config.model) - layers * block;
  const RankSums sums = sums_of(config);
  // Beside the scales of seven weights a block in 32 bits.
  EXPECT_EQ(sums.of(Purpose::kParameters).bytes,
            2 * layers * ((block - cast) * kBytes + cast) + root * kBytes + layers * 7 * 4);
  EXPECT_EQ(sums.of(Purpose::kGradients).bytes, (layers * block + root) * kBytes);
  EXPECT_EQ(sums.gathered_bytes, root * kBytes + 2 * ((block - cast) * kBytes + cast));
  EXPECT_EQ(sums.state_bytes, 16 * sums.parameters);
}

TEST(Workload, FsdpWithAPipelineGathersOnceAStep) {
  WorkloadConfig config = workload_config("fsdp=2,pp=2", 4);
  config.model.vocab = 100;
  std::int64_t gathered = 0;
  std::int64_t scattered = 0;
  for (const std::int64_t rank : {0, 2}) {
    gathered += sums_of(config, rank).of(Purpose::kParameters).bytes;
    scattered += sums_of(config, rank).of(Purpose::kGradients).bytes;
  }
  EXPECT_EQ(gathered, total_parameters(config.model) * kBytes);
  EXPECT_EQ(scattered, total_parameters(config.model) * kBytes);
}

TEST(Workload, HybridShardingReducesShardsAmongReplicas) {
  WorkloadConfig config = workload_config("fsdp=2,dp=3");
  config.model.vocab = 100;
  const std::int64_t parameters = total_parameters(config.model);
  EXPECT_EQ(sums_of(config).of(Purpose::kGradients).bytes, (parameters + parameters / 2) * kBytes);
}

TEST(Workload, PipelineSendsActivationsAndGradients) {
  const WorkloadConfig config = workload_config("pp=3", 5);
  for (const std::int64_t stage : {0, 1, 2}) {
    const std::int64_t neighbours = stage == 1 ? 2 : 1;
    EXPECT_EQ(sums_of(config, stage).of(Purpose::kPipeline).bytes, 5 * neighbours * activations(config));
  }
  WorkloadConfig interleaved = workload_config("pp=3", 6);
  interleaved.schedule = PipelineSchedule::kInterleaved;
  interleaved.virtual_stages = 2;
  // Virtual stages 0 and 3, 1 and 4, 2 and 5.
  EXPECT_EQ(sums_of(interleaved, 0).of(Purpose::kPipeline).bytes, 6 * 3 * activations(config));
  EXPECT_EQ(sums_of(interleaved, 1).of(Purpose::kPipeline).bytes, 6 * 4 * activations(config));
}

/// Korthikanti et al., MLSys 2023, table 2, for GPT's blocks fused, without dropout and stored scores: of 34 s b h
/// bytes two masks less, 10 - 2 of them beside what tensor parallelism cuts and 24 within.
TEST(Workload, ActivationsAreThoseOfThePapers) {
  const models::Transformer gpt = find_transformer(models::load_transformers(), "gpt3-175b");
  const auto bytes_of = [&](const std::string& parallel, std::int64_t stage, bool sequence_parallel,
                            models::Recompute recompute, std::int64_t microbatches = 16) {
    WorkloadConfig config = workload_config(parallel, microbatches);
    config.model = gpt;
    config.sequence = 2048;
    config.sequence_parallel = sequence_parallel;
    config.recompute = recompute;
    return sums_of(config, 8 * stage).activation_bytes;
  };
  const std::int64_t sbh = 2048 * 12288;
  const std::int64_t logarithms = 2048 * 96 / 8 * 4;
  constexpr std::int64_t kLayers = 12;  // of a stage
  // A stage in the middle has neither embedding nor head; stage 3 of 8 has 5 microbatches under way.
  EXPECT_EQ(bytes_of("tp=8,pp=8", 3, false, models::Recompute::kNone),
            5 * kLayers * (sbh * 8 + sbh * 24 / 8 + logarithms));
  EXPECT_EQ(bytes_of("tp=8,pp=8", 3, true, models::Recompute::kNone), 5 * kLayers * (sbh * 32 / 8 + logarithms));
  EXPECT_EQ(bytes_of("tp=8,pp=8", 6, true, models::Recompute::kNone), 2 * kLayers * (sbh * 32 / 8 + logarithms));
  EXPECT_EQ(bytes_of("tp=8,pp=8", 3, true, models::Recompute::kNone, 2), 2 * kLayers * (sbh * 32 / 8 + logarithms));
  // Computed again, a block keeps its input, and one has all for a while.
  EXPECT_EQ(bytes_of("tp=8,pp=8", 3, true, models::Recompute::kFull),
            5 * kLayers * (sbh * 2 / 8) + sbh * 30 / 8 + logarithms);
}

TEST(Workload, EachTokenLeavesActivationsInEachOfItsExperts) {
  WorkloadConfig config = workload_config("ep=2,dp=2");
  const auto of_blocks = [&](std::int64_t top_k) {
    test::set_experts(config, 4, top_k);
    return sums_of(config).activation_bytes;
  };
  const models::Transformer& model = config.model;
  const std::int64_t hidden = (model.gated ? 3 : 2) * model.ffn;
  EXPECT_EQ(of_blocks(2) - of_blocks(1), model.layers * config.tokens() * kBytes * (hidden + model.d_model));
}

TEST(Workload, GatheredAreTheRootAndTheBlocksAhead) {
  WorkloadConfig config = workload_config("fsdp=2");
  const std::int64_t block = unit_parameters(config.model, UnitKind::kBlock);
  const std::int64_t root = total_parameters(config.model) - config.model.layers * block;
  config.prefetch = 1;
  EXPECT_EQ(sums_of(config).gathered_bytes, kBytes * (root + 2 * block));
  EXPECT_EQ(sums_of(workload_config("dp=2")).gathered_bytes, 0);
  // With a pipeline all stay.
  const WorkloadConfig stages = workload_config("fsdp=2,pp=2", 2);
  EXPECT_EQ(sums_of(stages, 0).gathered_bytes + sums_of(stages, 2).gathered_bytes,
            kBytes * total_parameters(stages.model));
}

TEST(Workload, ContextParallelSendsKeysAndValuesRound) {
  for (const std::int64_t cp : {2, 3, 4}) {
    const WorkloadConfig config = workload_config("cp=" + std::to_string(cp));
    const std::int64_t block = 2 * config.tokens() * config.model.kv_width() * kBytes;
    // Forward, and again backward, to all but itself; their gradients all the way round.
    EXPECT_EQ(sums_of(config).of(Purpose::kContextParallel).bytes,
              config.model.layers * ((cp - 1) + (cp - 1) + cp) * block);
    // Its ranks hold the same parameters.
    EXPECT_EQ(sums_of(config).of(Purpose::kGradients).bytes, total_parameters(config.model) * kBytes);
  }
}

TEST(Workload, ExpertsAreFourAllToAllsABlock) {
  WorkloadConfig config = workload_config("ep=2,dp=4", 2);
  const std::int64_t dense = total_parameters(config.model);
  test::set_experts(config, 4, 3);
  const RankSums sums = sums_of(config);
  EXPECT_EQ(sums.of(Purpose::kExpertParallel).bytes, 2 * 4 * config.model.layers * 3 * activations(config));
  // Two of four experts on a rank; all else on all.
  const std::int64_t mlp = 3 * config.model.d_model * config.model.ffn;
  const std::int64_t router = 4 * config.model.d_model;
  EXPECT_EQ(sums.parameters, dense + config.model.layers * (mlp + router));
  EXPECT_EQ(sums.of(Purpose::kGradients).bytes, sums.parameters * kBytes);
  EXPECT_EQ(sums.routed_tokens, 2 * config.model.layers * 3 * config.tokens());
}

/// As Megatron-Core dispatches tokens: each rank of tp its share, which then gather what came for the experts and
/// reduce and scatter what they give.
TEST(Workload, RanksOfTensorParallelismSendExpertsTheirShareOfTheTokens) {
  constexpr std::int64_t kExchanges = 4;  // to experts and back, forward and backward
  for (const bool sequence_parallel : {true, false}) {
    SCOPED_TRACE(sequence_parallel);
    WorkloadConfig without = workload_config("tp=2,dp=2");
    without.sequence_parallel = sequence_parallel;
    const std::int64_t dense = sums_of(without).of(Purpose::kTensorParallel).bytes;
    WorkloadConfig config = workload_config("tp=2,ep=2,dp=2");
    config.sequence_parallel = sequence_parallel;
    test::set_experts(config, 4, 3);
    const RankSums sums = sums_of(config);
    const std::int64_t routed = 3 * activations(config);
    EXPECT_EQ(sums.of(Purpose::kExpertParallel).bytes, config.model.layers * kExchanges * routed / 2);
    // In place of the MLP's: with sequence parallelism gathered twice, for weights' gradients again, and scattered
    // twice; else summed twice, where experts' tokens go back to all ranks twice.
    const std::int64_t of_mlp = (sequence_parallel ? 5 : 2) * activations(config);
    const std::int64_t of_experts = kExchanges * routed + (sequence_parallel ? 0 : 2) * activations(config);
    EXPECT_EQ(sums.of(Purpose::kTensorParallel).bytes - dense, config.model.layers * (of_experts - of_mlp));
  }
  // What leaves a rank of tp is on no other: together they send what one alone would.
  WorkloadConfig alone = workload_config("ep=2,dp=2");
  WorkloadConfig shared = workload_config("tp=2,ep=2,dp=2");
  for (WorkloadConfig* config : {&alone, &shared}) test::set_experts(*config, 4);
  EXPECT_EQ(2 * sums_of(shared).of(Purpose::kExpertParallel).bytes, sums_of(alone).of(Purpose::kExpertParallel).bytes);
}

TEST(Workload, TiedEmbeddingIsSummedAtTheEnd) {
  WorkloadConfig config = workload_config("pp=3,tp=2", 2);
  config.model.tied = true;
  const std::int64_t table = (config.model.vocab / 2 + 1) * config.model.d_model;  // the first rank has the odd row
  EXPECT_EQ(sums_of(config, 0).of(Purpose::kTiedEmbedding).bytes, table * kBytes);
  EXPECT_EQ(sums_of(config, 2).of(Purpose::kTiedEmbedding).nodes, 0);
  EXPECT_EQ(sums_of(config, 4).of(Purpose::kTiedEmbedding).bytes, table * kBytes);
  EXPECT_EQ(sums_of(workload_config("tp=2"), 0).of(Purpose::kTiedEmbedding).nodes, 0);
}

TEST(Workload, NodesSayWhatTheyNeed) {
  WorkloadConfig config = workload_config("tp=2,pp=2", 2);
  config.time = [](const models::Kernel& kernel) { return kernel.name == "wo" ? 1'234'567 : 0; };
  bool found = false;
  for (const Node& node : test::nodes_of(TransformerWorkload(config), 0)) {
    if (node.type == NodeType::kCompute) {
      EXPECT_GE(*node.num_ops(), 1) << node.name;
      EXPECT_GE(*node.tensor_size(), 1) << node.name;
    }
    if (node.name != "layer3.attention.out forward mb1") continue;
    found = true;
    const std::int64_t tokens = config.tokens();
    const std::int64_t width = config.model.query_width() / 2;
    EXPECT_EQ(node.num_ops(), 2 * tokens * width * config.model.d_model);
    EXPECT_EQ(node.tensor_size(),
              kBytes * (tokens * width + width * config.model.d_model + tokens * config.model.d_model));
    EXPECT_EQ(node.duration_nanos(), 1235U);
  }
  EXPECT_TRUE(found);
}

TEST_F(ChakraTest, NothingIsLeftOfAWorkloadThatCannotBeWritten) {
  const TransformerWorkload workload(workload_config("tp=2"));
  std::filesystem::create_directories(file("w.1.et"));
  EXPECT_THROW(write_workload(workload, folder_ / "w"), std::system_error);
  EXPECT_FALSE(std::filesystem::exists(file("w.0.et")));
  EXPECT_FALSE(std::filesystem::exists(file("w.groups.json")));
}

}  // namespace
}  // namespace weft::workloads
