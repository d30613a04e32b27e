// SPDX-License-Identifier: Apache-2.0
// What generated workloads compute, against what an FSDP run does: the same kernels, however they are cut into nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/graph/kernel_names.h"
#include "sw/schedules/kernel_work.h"
#include "sw/workloads/workload.h"

namespace weft::workloads {
namespace {

using chakra::KernelDemand;
using models::AttentionKernel;
using models::Fusion;
using models::LinearType;
using models::Recompute;

constexpr std::int64_t kSequence = 1024;

accelerator::ComputeConfig part() {
  accelerator::ComputeConfig compute;
  compute.persistent_products = true;
  return compute;
}

WorkloadConfig config_of(const std::string& model, const std::string& parallel = "tp=1") {
  WorkloadConfig config;
  config.model = models::find_transformer(models::load_transformers(), model);
  config.model.layers = 4;
  config.parallel = parse_parallelism(parallel);
  config.batch = 2 * config.replicas();
  config.sequence = kSequence;
  const accelerator::ComputeConfig compute = part();
  config.time = [compute](const models::Kernel& kernel) {
    return estimate(schedules::kernel_work(compute, kernel), compute.planned_memory).count();
  };
  config.demand = [compute](const models::Kernel& kernel) {
    return schedules::kernel_demand(schedules::kernel_work(compute, kernel));
  };
  return config;
}

/// All of a rank's nodes.
struct Sum {
  std::int64_t picoseconds = 0;
  std::vector<KernelDemand> kernels;  ///< sorted
  std::int64_t nodes = 0;
};

bool before(const KernelDemand& a, const KernelDemand& b) {
  const auto tuple = [](const KernelDemand& k) {
    return std::array{k.launch_ps, k.compute_ps, k.read, k.written, k.cached, k.blocks, k.tiles, k.energy_nj};
  };
  return tuple(a) < tuple(b);
}

Sum sum_of(const WorkloadConfig& config) {
  Sum sum;
  const TransformerWorkload workload(config);
  workload.generate(0, [&sum](const chakra::Node& node) {
    if (node.type != chakra::NodeType::kCompute) return;
    ++sum.nodes;
    sum.picoseconds += static_cast<std::int64_t>(node.duration_nanos()) * 1000;
    const std::vector<KernelDemand> kernels = chakra::kernels_of(node);
    sum.kernels.insert(sum.kernels.end(), kernels.begin(), kernels.end());
  });
  std::sort(sum.kernels.begin(), sum.kernels.end(), before);
  return sum;
}

Sum sum_of(const schedules::FsdpPlan& plan) {
  Sum sum;
  const auto add = [&sum](const std::vector<schedules::PlannedKernel>& kernels) {
    for (const schedules::PlannedKernel& kernel : kernels) {
      sum.picoseconds += estimate(kernel.work, part().planned_memory).count();
      sum.kernels.push_back(schedules::kernel_demand(kernel.work));
    }
  };
  for (const schedules::Stage& stage : plan.stages) {
    add(stage.kernels);
    add(stage.tail);
  }
  for (const schedules::Gather& gather : plan.gathers) add(gather.before);
  for (const schedules::Scatter& scatter : plan.scatters) add(scatter.sums);
  add(plan.update(0).kernels());
  std::sort(sum.kernels.begin(), sum.kernels.end(), before);
  return sum;
}

class WorkloadKernels : public testing::TestWithParam<Fusion> {};

TEST_P(WorkloadKernels, AreThoseOfFsdp) {
  // With rotary embeddings, shared keys and gates, and without any of these.
  for (const char* model : {"llama3-8b", "gpt2-xl"}) {
    for (const Recompute recompute :
         {Recompute::kNone, Recompute::kSelectiveOp, Recompute::kSelectiveLayer, Recompute::kFull}) {
      for (const auto& [attention, linear] : {std::pair(AttentionKernel::kFlash2, LinearType::kPlain),
                                              {AttentionKernel::kFlash3, LinearType::kPlain},
                                              {AttentionKernel::kFlash2, LinearType::kFloat8}}) {
        const bool has_float8 =
            is_fused(models::UnitKind::kBlock, GetParam()) && recompute != Recompute::kSelectiveLayer;
        if (linear == LinearType::kFloat8 && !has_float8) continue;
        SCOPED_TRACE(std::string(model) + " " + std::to_string(static_cast<int>(recompute)));
        WorkloadConfig config = config_of(model);
        config.fusion = GetParam();
        config.recompute = recompute;
        config.attention = attention;
        config.linear = linear;
        schedules::FsdpConfig fsdp;
        fsdp.model = model;
        fsdp.layers = config.model.layers;
        fsdp.sequences = 2;
        fsdp.sequence = kSequence;
        fsdp.fusion = GetParam();
        fsdp.recompute = recompute;
        fsdp.attention = attention;
        fsdp.linear = linear;
        fsdp.copies = false;
        const Sum here = sum_of(config);
        const Sum there = sum_of(schedules::FsdpPlan(fsdp, part(), 1));
        EXPECT_EQ(here.kernels, there.kernels);
        // Durations are rounded to nanoseconds.
        EXPECT_NEAR(static_cast<double>(here.picoseconds), static_cast<double>(there.picoseconds),
                    500.0 * static_cast<double>(here.nodes));
      }
    }
  }
}

TEST_P(WorkloadKernels, AreCutByTensorAndSequenceParallelism) {
  const auto operations = [](const Sum& sum) {
    double energy = 0;
    for (const KernelDemand& kernel : sum.kernels) {
      const auto bytes = static_cast<double>(kernel.read + kernel.written);
      energy += static_cast<double>(kernel.energy_nj) - bytes * joules(accelerator::PowerConfig().moved_byte) * 1e9;
    }
    return energy;
  };
  const auto moved = [](const Sum& sum) {
    std::int64_t bytes = 0;
    for (const KernelDemand& kernel : sum.kernels) bytes += kernel.read + kernel.written;
    return bytes;
  };
  WorkloadConfig config = config_of("llama3-8b");
  config.fusion = GetParam();
  const Sum whole = sum_of(config);
  config.parallel = parse_parallelism("tp=4");
  const Sum cut = sum_of(config);
  config.sequence_parallel = true;
  const Sum along_the_sequence = sum_of(config);
  EXPECT_EQ(cut.kernels.size(), whole.kernels.size());
  EXPECT_NEAR(operations(cut) / operations(whole), 0.25, 0.01);
  // Each rank passes all tokens through the norms, or a quarter of them.
  EXPECT_GT(moved(cut), moved(whole) / 4);
  EXPECT_LT(moved(along_the_sequence), moved(cut));
  EXPECT_GT(cut.picoseconds, whole.picoseconds / 4);
  EXPECT_LT(along_the_sequence.picoseconds, cut.picoseconds);
}

INSTANTIATE_TEST_SUITE_P(All, WorkloadKernels,
                         testing::Values(Fusion::kEager, Fusion::kFusedNorms, Fusion::kCompiledBlocks, Fusion::kFused),
                         [](const auto& drawn) {
                           std::string name(weft::name_of(drawn.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Gathered weights are cast by those who have their shards, gathered tokens before they are sent.
TEST(WorkloadFloat8, HasFewerKernelsWhereOthersCast) {
  WorkloadConfig config = config_of("llama3-8b");
  config.linear = LinearType::kFloat8;
  const std::size_t alone = sum_of(config).kernels.size();
  config.parallel = parse_parallelism("fsdp=4");
  config.batch = 2 * config.replicas();
  // Seven weights of each block less, and one kernel for the largest values of all.
  EXPECT_EQ(sum_of(config).kernels.size(), alone - 4U * 7 + 1);
  config = config_of("llama3-8b", "tp=4");
  config.linear = LinearType::kFloat8;
  EXPECT_EQ(sum_of(config).kernels.size(), alone);
  config.sequence_parallel = true;
  // What comes to the down and the output projection's gradients is transposed by itself.
  EXPECT_EQ(sum_of(config).kernels.size(), alone + 4U * 2);
}

/// Products on the way from and to other ranks are as many kernels as there are ranks, with a copy before they gather
/// and a sum after they have sent.
TEST(WorkloadChunks, AreProductsOfEachRanksTokens) {
  WorkloadConfig config = config_of("llama3-8b", "tp=4");
  config.sequence_parallel = true;
  const Sum whole = sum_of(config);
  config.async_tensor_parallel = true;
  const Sum chunks = sum_of(config);
  // Of a block: q, k and v, gate and up, their two sums, and the two of gradients.
  EXPECT_EQ(chunks.kernels.size() - whole.kernels.size(), 4U * (3 * (3 + 2 + 1 + 1 + 1 + 1) + 6));
}

/// Chunks have the sequence first and attention has it second, which is the same where there is one sequence.
TEST(WorkloadChunks, AreCopiedBesideAttention) {
  WorkloadConfig config = config_of("llama3-8b", "tp=4");
  config.sequence_parallel = true;
  config.async_tensor_parallel = true;
  config.batch = 1;
  const auto copied = [&config](LinearType linear) {
    config.linear = linear;
    config.copies = false;
    const std::size_t without = sum_of(config).kernels.size();
    config.copies = true;
    return sum_of(config).kernels.size() - without;
  };
  const std::size_t one = copied(LinearType::kPlain);
  const std::size_t one_float8 = copied(LinearType::kFloat8);
  config.batch = 2;
  EXPECT_EQ(copied(LinearType::kPlain) - one, 4U * 2);
  EXPECT_EQ(copied(LinearType::kFloat8) - one_float8, 4U * 1) << "the cast of what attention gives orders it";
}

TEST(FsdpKernels, RefuseLatentProjections) {
  schedules::FsdpConfig fsdp;
  fsdp.recompute = Recompute::kLatentProjections;
  try {
    const schedules::FsdpPlan plan(fsdp, part(), 1);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "workload.recompute");
  }
}

TEST(WorkloadCopies, AreThoseOfFsdpAndOfGatheredTokens) {
  WorkloadConfig config = config_of("llama3-8b", "fsdp=4");
  config.gradient_bytes = 4;
  const std::size_t without = sum_of(config).kernels.size();
  config.copies = true;
  // The root unit once and each block twice are cast, copied in and out, and the gradients of all in. FSDP2 keeps the
  // last block.
  EXPECT_EQ(sum_of(config).kernels.size() - without, 3 * (1 + 2 * 4) + (1 + 4));
  schedules::FsdpConfig fsdp;
  fsdp.layers = 4;
  fsdp.sequences = 2;
  fsdp.sequence = kSequence;
  fsdp.fusion = Fusion::kFused;
  fsdp.recompute = Recompute::kNone;
  fsdp.attention = AttentionKernel::kFlash3;
  fsdp.optimizer.name = "none";
  std::vector<KernelDemand> kernels = sum_of(config).kernels;
  for (const KernelDemand& kernel : sum_of(schedules::FsdpPlan(fsdp, part(), 4)).kernels) {
    const auto found = std::find(kernels.begin(), kernels.end(), kernel);
    ASSERT_NE(found, kernels.end());
    kernels.erase(found);
  }
  EXPECT_EQ(kernels.size(), 3U + 3U);  // the block's and the optimizer

  config = config_of("llama3-8b", "tp=4");
  config.sequence_parallel = true;
  const std::size_t uncopied = sum_of(config).kernels.size();
  config.copies = true;
  // A block gathers 2 + 2 + 2 times and scatters 2 + 2, the embedding 1 + 1, the head 2 + 1.
  EXPECT_EQ(sum_of(config).kernels.size() - uncopied, 4U * 10 + 2 + 3);
  config.sequence_parallel = false;
  EXPECT_EQ(sum_of(config).kernels.size(), uncopied);
}

/// The critical path tells them from computing in a graph as in an FSDP run.
TEST(WorkloadCaps, AddToKernelsWhatTheyAddInFsdp) {
  accelerator::ComputeConfig held = part();
  held.power.cap = Power(300'000);
  WorkloadConfig config = config_of("llama3-8b");
  config.demand = [&held](const models::Kernel& kernel) {
    return schedules::kernel_demand(schedules::kernel_work(held, kernel));
  };
  schedules::FsdpConfig fsdp;
  fsdp.layers = config.model.layers;
  fsdp.sequences = 2;
  fsdp.sequence = kSequence;
  fsdp.copies = false;
  config.fusion = fsdp.fusion;
  config.recompute = fsdp.recompute;
  config.attention = fsdp.attention;
  const Sum here = sum_of(config);
  EXPECT_EQ(here.kernels, sum_of(schedules::FsdpPlan(fsdp, held, 1)).kernels);
  std::int64_t capped = 0;
  std::int64_t computing = 0;
  for (const KernelDemand& kernel : here.kernels) {
    capped += kernel.capped_ps;
    computing += kernel.compute_ps;
    EXPECT_EQ(schedules::kernel_command(0, kernel).capped_ps, kernel.capped_ps);
  }
  EXPECT_GT(capped, computing / 3);
}

TEST(WorkloadOrder, WeightsGradientsComeBeforeTheSumsWhereSaid) {
  WorkloadConfig config = config_of("llama3-8b", "tp=2");
  const auto place = [&config](const std::string& name) {
    std::size_t found = SIZE_MAX;
    std::size_t at = 0;
    TransformerWorkload(config).generate(0, [&](const chakra::Node& node) {
      if (node.name == name) found = at;
      ++at;
    });
    EXPECT_NE(found, SIZE_MAX) << name;
    return found;
  };
  for (const bool beside : {true, false}) {
    config.weight_gradients = beside ? WeightGradients::kBeside : WeightGradients::kBefore;
    EXPECT_EQ(place("layer1.mlp gradient all-reduce mb0") < place("layer1.mlp.up weight gradient mb0"), beside);
    EXPECT_EQ(place("layer1.attention gradient all-reduce mb0") < place("layer1.attention.qkv weight gradient mb0"),
              beside);
    EXPECT_EQ(place("head.gradient all-reduce mb0") < place("head weight gradient mb0"), beside);
  }
}

// What blocks, microbatches and steps have in common.
TEST(KernelNames, AreThoseOfNodesWithoutNumbers) {
  schedules::KernelNames names;
  EXPECT_STREQ(names.of("layer3.attention.qkv forward mb2"), "layer.attention.qkv forward");
  EXPECT_STREQ(names.of("layer12.attention.qkv forward mb10 step1"), "layer.attention.qkv forward");
  EXPECT_EQ(names.of("layer3.norm mb2"), names.of("layer4.norm mb0"));
  EXPECT_STREQ(names.of("COMP_NODE_17"), "COMP_NODE");
  EXPECT_STREQ(names.of("stepping mbx"), "stepping mbx");
  EXPECT_EQ(names.of("17"), nullptr);
  EXPECT_EQ(names.of(""), nullptr);
}

}  // namespace
}  // namespace weft::workloads
