// SPDX-License-Identifier: Apache-2.0
// Optimizers of generated steps: operations, collectives and memory by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sw/optimizers/muon.h"
#include "sw/workloads/options.h"
#include "sw/workloads/workload.h"

namespace weft::workloads {
namespace {

using chakra::Node;

WorkloadConfig step_of(const std::string& model, const std::string& parallel, const char* optimizer) {
  StepOptions options;
  options.parallel = parallel;
  options.optimizer.name = optimizer;
  return options.config(find_decoder(models::load_transformers(), model));
}

RankSums update_sums(const WorkloadConfig& config, std::int64_t rank = 0) {
  return TransformerWorkload(config).generate(rank, [](const Node&) {});
}

/// Names of a rank's nodes of the optimizer.
std::vector<std::string> update_nodes(const WorkloadConfig& config, std::int64_t rank = 0, bool collectives = false) {
  std::vector<std::string> names;
  TransformerWorkload(config).generate(rank, [&](const Node& node) {
    const bool is_collective = node.type == chakra::NodeType::kCollective;
    if (node.name.starts_with("optimizer") && (is_collective || !collectives)) names.push_back(node.name);
  });
  return names;
}

std::int64_t newton_schulz(std::int64_t rows, std::int64_t cols) {
  std::int64_t sum = 0;
  for (const models::Gemm& product : optimizers::newton_schulz_products(rows, cols, 5)) sum += flops(product);
  return sum;
}

/// Of Qwen3 30B-A3B: 48 blocks with 128 experts of 3 matrices of 768 by 2048, of which Megatron has two in one; queries
/// and the output are 4096 wide, keys and values 512.
constexpr std::int64_t kExperts = std::int64_t{3} * 768 * 2048;
std::int64_t of_experts() {
  return newton_schulz(2 * 768, 2048) + newton_schulz(2048, 768);
}
std::int64_t of_attention() {
  return newton_schulz(4096, 2048) + 2 * newton_schulz(512, 2048) + newton_schulz(2048, 4096) +
         newton_schulz(128, 2048);
}

TEST(WorkloadOptimizers, ShampooSharesOutBlocksOfAShardAmongItsCopies) {
  const auto nodes = [](const std::string& parallel) {
    std::int64_t operations = 0;
    std::vector<std::string> names;
    const WorkloadConfig config = step_of("llama3-8b", parallel, "shampoo");
    operations = update_sums(config).optimizer_operations;
    for (const std::string& name : update_nodes(config, 0, true)) names.push_back(name);
    return std::pair(operations, names);
  };
  const auto [one, no_names] = nodes("fsdp=8");
  const auto [two, names] = nodes("fsdp=8,dp=2");
  EXPECT_TRUE(no_names.empty());
  ASSERT_EQ(names.size(), 1U);
  EXPECT_NE(names[0].find("all-gather"), std::string::npos) << names[0];
  EXPECT_NEAR(static_cast<double>(two), static_cast<double>(one) / 2, 0.02 * static_cast<double>(one));
}

TEST(WorkloadOptimizers, MuonOwnsExpertsWhereTheyLieAndSharesOutTheRest) {
  const WorkloadConfig config = step_of("qwen3-30b-a3b", "ep=8,dp=8", "muon");
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    const RankSums sums = update_sums(config, rank);
    operations += sums.optimizer_operations;
    bytes += sums.optimizer_bytes;
    EXPECT_GE(sums.optimizer_operations, 48 * 16 * of_experts());
    EXPECT_GT(sums.operations, sums.optimizer_operations);
  }
  EXPECT_EQ(operations, 48 * (128 * of_experts() + of_attention()));
  // A copy in 32 bits of everything; a momentum of matrices, two moments of embedding, head and norms.
  const std::int64_t all = total_parameters(config.model);
  const std::int64_t matrices = 48 * (128 * kExperts + 2 * (4096 + 512) * 2048LL + 128 * 2048LL);
  EXPECT_EQ(bytes, 4 * all + 4 * matrices + 8 * (all - matrices));
  // What is not of experts is gathered.
  EXPECT_EQ(update_sums(config).of(Purpose::kOptimizer).nodes, 1);
  const std::int64_t gathered = 2 * (all - 48 * 128 * kExperts);
  EXPECT_GE(update_sums(config).of(Purpose::kOptimizer).bytes, gathered);
  EXPECT_LT(update_sums(config).of(Purpose::kOptimizer).bytes, gathered + 8 * 4);
}

/// NVIDIA, "Advancing Emerging Optimizers for Accelerated LLM Training with NVIDIA Megatron": Kimi K2 on 256 GB300 has
/// 1,029 TFLOPS of the model and 51 of Newton-Schulz, by Megatron-Bridge's recipe in steps of 2,048 sequences of 4,096.
TEST(WorkloadOptimizers, KimiK2IsAsManyOperationsAsPublished) {
  const WorkloadConfig config = step_of("kimi-k2", "ep=64,dp=64,pp=4", "muon");
  const double step = static_cast<double>(models::megatron_flops_per_token(config.model, 4096)) * 2048 * 4096 / 256;
  double operations = 0;
  // Some of each stage, as owners have more or less.
  for (std::int64_t rank = 3; rank < 256; rank += 16) {
    operations += static_cast<double>(update_sums(config, rank).optimizer_operations) / 16;
  }
  EXPECT_NEAR(operations / step, 51.0 / 1029, 0.04 * 51 / 1029);
}

TEST(WorkloadOptimizers, AdamWIsOneNode) {
  EXPECT_EQ(update_nodes(step_of("llama3-8b", "dp=4", "adamw")), std::vector<std::string>{"optimizer"});
  EXPECT_EQ(update_sums(step_of("llama3-8b", "dp=4", "adamw")).optimizer_operations, 0);
  EXPECT_EQ(update_sums(step_of("llama3-8b", "dp=4", "none")).of(Purpose::kOptimizer).nodes, 0);
}

/// The last node is the one that ends a step.
TEST(WorkloadOptimizers, UpdatesEndWithTheOptimizersNode) {
  WorkloadConfig config = step_of("llama3-8b", "fsdp=4", "muon");
  config.model.layers = 4;
  config.steps = 2;
  const std::vector<std::string> names = update_nodes(config);
  EXPECT_EQ(std::count(names.begin(), names.end(), "optimizer step0"), 1);
  EXPECT_EQ(names.back(), "optimizer step1");
  EXPECT_EQ(names[1], "optimizer.matrices 1 step0");
}

/// Else they would wait for each other for ever.
TEST(WorkloadOptimizers, RanksHaveTheSameCollectivesInTheSameOrder) {
  for (const char* parallel : {"dp=4", "fsdp=4", "tp=2,dp=2", "tp=2,fsdp=2", "pp=2,dp=2", "fsdp=2,dp=2"}) {
    for (const char* optimizer : {"muon", "shampoo", "soap", "kfac"}) {
      WorkloadConfig config = step_of("nano", parallel, optimizer);
      const std::int64_t stages = config.parallel.degree(Axis::kPipeline);
      for (const bool distributed : {false, true}) {
        if (distributed && config.parallel.degree(Axis::kShard) > 1) continue;
        config.distributed_optimizer = distributed;
        const std::int64_t of_stage = config.parallel.ranks() / stages;
        for (std::int64_t rank = 0; rank < config.parallel.ranks(); ++rank) {
          EXPECT_EQ(update_nodes(config, rank, true), update_nodes(config, rank / of_stage * of_stage, true))
              << parallel << ' ' << optimizer << ' ' << rank;
        }
      }
    }
  }
}

/// Elements of both factors of a matrix, in blocks of at most 1,024 rows.
std::int64_t factors(std::int64_t rows, std::int64_t cols) {
  const auto of_side = [](std::int64_t side) { return side / 1024 * 1024 * 1024 + (side % 1024) * (side % 1024); };
  return of_side(rows) + of_side(cols);
}

/// Llama 3 8B is 4,096 wide, with keys of 1,024 and an MLP of 14,336. Of 8 tensor-parallel ranks, each has an eighth of
/// the rows of queries, keys, values, gate and first matrix, and of the columns of the other two.
TEST(WorkloadOptimizers, KfacTakesTensorParallelPartsForMatrices) {
  WorkloadConfig config = step_of("llama3-8b", "tp=8,fsdp=4", "kfac");
  config.model.layers = 2;
  config.microbatches = 3;
  config.batch = 12;
  config.sequence = 512;
  const std::int64_t of_block =
      factors(512, 4096) + 2 * factors(128, 4096) + factors(4096, 512) + 2 * factors(1792, 4096) + factors(4096, 1792);
  // Observed behind each backward pass of each block.
  std::map<std::string, std::int64_t> observed;
  std::int64_t bytes = 0;
  const RankSums sums = TransformerWorkload(config).generate(0, [&](const Node& node) {
    const chakra::Attribute* operations = node.find("num_ops");
    if (node.name.find("observed") != std::string::npos)
      observed[node.name] = std::get<std::int64_t>(operations->value);
    if (node.type != chakra::NodeType::kCollective || !node.name.starts_with("optimizer")) return;
    bytes += std::get<std::int64_t>(node.find("comm_size")->value);
  });
  ASSERT_EQ(observed.size(), 6U);
  for (const auto& [name, operations] : observed) EXPECT_EQ(operations, 2 * 512 * of_block) << name;
  EXPECT_EQ(observed.count("layer1.observed mb2"), 1U);
  // On 4 ranks of fsdp: sums of factors to owners, and each matrix there and back, of five shapes in a batch each.
  const std::int64_t matrices = std::int64_t{4096} * (512 + 128 + 512 + 1792 + 1792);
  EXPECT_EQ(bytes, 4 * 2 * of_block + 2 * 4 * matrices);
  EXPECT_EQ(sums.of(Purpose::kOptimizer).bytes, bytes);
  // Sums of all and those of a layer before they are added; of each shape one average and one inverse; momentum.
  const std::int64_t owned =
      factors(512, 4096) + factors(128, 4096) + factors(4096, 512) + factors(1792, 4096) + factors(4096, 1792);
  const std::int64_t hidden = 2 * std::int64_t{4096} * (512 + 2 * 128 + 512 + 3 * 1792) / 4;
  const std::int64_t others = (2 * std::int64_t{128256} / 8 * 4096 + 5 * 4096) / 4;
  EXPECT_EQ(sums.optimizer_bytes, 4 * (2 * of_block + 5 * 4) + 4 * factors(1792, 4096) + 2 * 4 * owned + 4 * hidden +
                                      8 * others + 4 * (hidden + others));
}

/// With whole gradients owners are as with shards; stages have factors of their own blocks.
TEST(WorkloadOptimizers, KfacOfAStageIsOfItsOwnBlocks) {
  WorkloadConfig config = step_of("llama3-8b", "pp=4,dp=2", "kfac");
  config.model.layers = 5;
  const auto bytes = [&config](std::int64_t rank) { return update_sums(config, rank).of(Purpose::kOptimizer).bytes; };
  const std::int64_t of_block =
      2 * factors(4096, 4096) + 2 * factors(1024, 4096) + 2 * factors(14336, 4096) + factors(4096, 14336);
  const std::int64_t width = 4096;
  // Batches of two, of which each rank gives one and the Allgather brings both: of a block's matrices of each shape.
  const std::int64_t gathered = 4 * 2 * width * (width + 1024 + 14336 + 14336);
  EXPECT_EQ(bytes(2), 4 * of_block + gathered);
  EXPECT_EQ(bytes(0), 4 * 2 * of_block + 4 * 2 * width * (2 * width + 2 * 1024 + 2 * 14336 + 14336));
}

/// Qwen3's experts lie on one rank each: it has their factors from what came to them, and sends nothing.
TEST(WorkloadOptimizers, KfacOfExpertsIsOfTheTokensThatCameToThem) {
  WorkloadConfig config = step_of("qwen3-30b-a3b", "ep=8,dp=8", "kfac");
  config.model.layers = 1;
  config.sequence = 1024;
  const std::int64_t expert = 2 * factors(768, 2048) + factors(2048, 768);
  const std::int64_t others = factors(4096, 2048) + 2 * factors(512, 2048) + factors(2048, 4096) + factors(128, 2048);
  std::int64_t operations = 0;
  std::vector<std::string> exchanged;
  TransformerWorkload(config).generate(0, [&](const Node& node) {
    if (node.name.starts_with("layer0.observed")) {
      operations += std::get<std::int64_t>(node.find("num_ops")->value);
    }
    if (node.type == chakra::NodeType::kCollective && node.name.starts_with("optimizer")) {
      exchanged.push_back(node.name);
    }
  });
  // Each of 128 experts has 8 in 128 tokens of each of the 8 ranks.
  EXPECT_EQ(operations, 2 * 1024 * others + 2 * 16 * (8 * 1024 * 8 / 128) * expert);
  EXPECT_FALSE(exchanged.empty());
  for (const std::string& name : exchanged) EXPECT_EQ(name.find("experts"), std::string::npos) << name;
}

TEST(WorkloadOptimizers, KfacOfADistributedOptimizerIsOnceOverItsRanks) {
  WorkloadConfig config = step_of("llama3-8b", "dp=4", "kfac");
  config.model.layers = 3;
  config.sequence = 256;
  config.distributed_optimizer = true;
  std::int64_t bytes = 0;
  std::int64_t operations = 0;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const RankSums sums = update_sums(config, rank);
    bytes += sums.optimizer_bytes;
    operations += sums.optimizer_operations;
  }
  WorkloadConfig alone = step_of("llama3-8b", "dp=1", "kfac");
  alone.model.layers = 3;
  alone.sequence = 256;
  const std::int64_t of_block =
      2 * factors(4096, 4096) + 2 * factors(1024, 4096) + 2 * factors(14336, 4096) + factors(4096, 14336);
  const std::int64_t observed = 3 * 2 * 256 * of_block;
  EXPECT_NEAR(operations, update_sums(alone).optimizer_operations + 3 * observed, 100) << "thirds";
  // Each rank has sums of all; averages, inverses, momentum, moments and copies in 32 bits are once there.
  const std::int64_t all = total_parameters(config.model);
  const std::int64_t others = 2 * 128256LL * 4096 + 7 * 4096LL;
  EXPECT_EQ(bytes, 4 * (4 * 3 * of_block + 4 * 4 * 4) + 2 * 4 * 3 * of_block + 8 * (all - others) + 12 * others);
}

/// A distributed optimizer gives each rank what it owns: memory is that of a share, and parameters are gathered as
/// ever.
TEST(WorkloadOptimizers, ADistributedOptimizerGivesOwnersTheirTensors) {
  WorkloadConfig config = step_of("llama3-8b", "dp=4", "muon");
  config.distributed_optimizer = true;
  std::int64_t bytes = 0;
  for (std::int64_t rank = 0; rank < 4; ++rank) bytes += update_sums(config, rank).optimizer_bytes;
  const std::int64_t all = total_parameters(config.model);
  const std::int64_t others = 2 * 128256LL * 4096 + (2 * 32 + 1) * 4096LL;
  EXPECT_EQ(bytes, 8 * (all - others) + 12 * others);
  EXPECT_EQ(update_sums(config).of(Purpose::kOptimizer).nodes, 0);
  EXPECT_GT(update_sums(config).of(Purpose::kParameters).bytes, 2 * all - 1000);
}

}  // namespace
}  // namespace weft::workloads
