// SPDX-License-Identifier: Apache-2.0
// Weights that stay in 8 bits between steps: memory, what is gathered and what is cast, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sw/workloads/workload.h"
#include "tests/support/workload.h"

namespace weft::workloads::weights_test {
namespace {

using chakra::Node;
using models::LinearType;
using test::workload_config;

constexpr std::int64_t kLayers = 12;
/// Of a block of `small`: queries and output, keys and values, gate, up and down.
constexpr std::int64_t kLinear = 2 * 96 * 96 + 2 * 48 * 96 + 3 * 360 * 96;
constexpr std::int64_t kWeights = 7;
/// Both directions of MXFP8, with a byte of scale for 32 values.
constexpr std::int64_t kBothWays = 2 * (kLinear + kLinear / 32);
constexpr std::int64_t kScale = 4;

WorkloadConfig config_of(LinearType linear, const std::string& parallel = "dp=4", std::int64_t microbatches = 1) {
  WorkloadConfig config = workload_config(parallel, microbatches);
  config.model.vocab = 104;  // with which all units divide by 4
  config.linear = linear;
  config.distributed_optimizer = parallel.starts_with("dp");
  config.float8_weights = true;
  return config;
}

/// What a rank's kernels go through, a node each, and the names of all kernels.
struct Step {
  RankSums sums;
  std::vector<Node> nodes;
  std::vector<std::string> kernels;
};

Step step_of(WorkloadConfig config, std::int64_t rank = 0) {
  Step step;
  config.demand = [&step](const models::Kernel& kernel) {
    step.kernels.emplace_back(kernel.name);
    chakra::KernelDemand demand;
    if (const auto* pass = std::get_if<models::Elementwise>(&kernel.shape); pass != nullptr) {
      demand.read = pass->bytes_read;
      demand.written = pass->bytes_written;
      demand.launch_ps = pass->launches;
    }
    return demand;
  };
  step.sums = TransformerWorkload(config).generate(rank, [&](const Node& node) { step.nodes.push_back(node); });
  return step;
}

std::vector<Node> nodes_named(const Step& step, const std::string& end) {
  std::vector<Node> found;
  std::copy_if(step.nodes.begin(), step.nodes.end(), std::back_inserter(found),
               [&end](const Node& node) { return node.name.substr(0, node.name.find(" mb")).ends_with(end); });
  return found;
}

bool has_kernel(const Step& step, const std::string& part) {
  return std::any_of(step.kernels.begin(), step.kernels.end(),
                     [&part](const std::string& name) { return name.find(part) != std::string::npos; });
}

void expect_pass(const Node& node, std::size_t kernel, std::int64_t read, std::int64_t written, std::int64_t launches) {
  const std::vector<chakra::KernelDemand> kernels = chakra::kernels_of(node);
  ASSERT_GT(kernels.size(), kernel) << node.name;
  EXPECT_EQ(kernels[kernel].read, read) << node.name;
  EXPECT_EQ(kernels[kernel].written, written) << node.name;
  EXPECT_EQ(kernels[kernel].launch_ps, launches) << node.name;
}

TEST(Float8Weights, TakeAByteAndThoseOfMxfp8TwoWithTheirScales) {
  const std::int64_t all = total_parameters(config_of(LinearType::kFloat8).model);
  const std::int64_t others = 2 * (all - kLayers * kLinear);
  const auto bytes = [](const WorkloadConfig& config) { return step_of(config).sums.parameter_bytes; };
  WorkloadConfig config = config_of(LinearType::kFloat8);
  // Where products need them transposed, these copies are kept, too.
  EXPECT_EQ(bytes(config), others + 2 * kLayers * kLinear);
  config.fp8_any_layout = true;
  EXPECT_EQ(bytes(config), others + kLayers * kLinear);
  EXPECT_EQ(bytes(config_of(LinearType::kMxfp8)), others + kLayers * kBothWays);
  const RankSums sums = step_of(config).sums;
  EXPECT_EQ(sums.gradient_bytes, 2 * all);
  EXPECT_EQ(sums.optimizer_bytes, 12 * all / 4);
  EXPECT_EQ(sums.state_bytes, sums.parameter_bytes + sums.gradient_bytes + sums.optimizer_bytes);
  // Without, parameters are of 16 bits, and MXFP8's casts of a step are beside them. torchao's last a pass.
  config.float8_weights = false;
  EXPECT_EQ(bytes(config), 2 * all);
  config.casts = models::Casts::kTransformerEngine;
  EXPECT_EQ(bytes(config), 2 * all + kLayers * kLinear);
  config = config_of(LinearType::kMxfp8);
  config.float8_weights = false;
  EXPECT_EQ(bytes(config), 2 * all + kLayers * kBothWays);
}

TEST(Float8Weights, AreGatheredInAByteOnceAStep) {
  WorkloadConfig config = config_of(LinearType::kFloat8, "dp=4", 3);
  const std::int64_t all = total_parameters(config.model);
  const std::int64_t others = 2 * (all - kLayers * kLinear);
  EXPECT_EQ(step_of(config).sums.of(Purpose::kParameters).bytes,
            others + kLayers * kLinear + kLayers * kWeights * kScale);
  EXPECT_EQ(step_of(config).sums.of(Purpose::kGradients).bytes, 2 * all);
  // MXFP8's rows and columns are not each other's: both are cast from what was gathered in 16 bits.
  config.linear = LinearType::kMxfp8;
  EXPECT_EQ(step_of(config).sums.of(Purpose::kParameters).bytes, 2 * all);
  config.float8_weights = false;
  EXPECT_EQ(step_of(config).sums.of(Purpose::kParameters).bytes, 2 * all);
}

TEST(Float8Weights, AreCastBetweenStepsAndInNoPass) {
  WorkloadConfig config = config_of(LinearType::kFloat8, "dp=4", 3);
  for (const bool any_layout : {false, true}) {
    config.fp8_any_layout = any_layout;
    const Step step = step_of(config);
    EXPECT_FALSE(has_kernel(step, ".weight_cast"));
    EXPECT_FALSE(has_kernel(step, ".weight_transposed"));
    // A quarter of each block, and of its seven tensors two.
    const std::int64_t shard = kLayers * kLinear / 4;
    const std::vector<Node> largest = nodes_named(step, "weights.largest values");
    ASSERT_EQ(largest.size(), 1U);
    expect_pass(largest.front(), 0, 4 * shard, 2 * shard, kLayers * 2);
    expect_pass(largest.front(), 1, 2 * shard, 0, kLayers * 2);
    const std::vector<Node> cast = nodes_named(step, "weights.cast");
    ASSERT_EQ(cast.size(), 1U);
    expect_pass(cast.front(), 0, 2 * shard, shard, kLayers * 2);
    EXPECT_EQ(nodes_named(step, "weights.scales all-reduce").size(), 1U);
    const std::vector<Node> transposed = nodes_named(step, ".weights transposed");
    ASSERT_EQ(transposed.size(), any_layout ? 0U : kLayers);
    if (!any_layout) expect_pass(transposed.front(), 0, kLinear, kLinear, kWeights);
  }
  config.float8_weights = false;
  const Step without = step_of(config);
  EXPECT_TRUE(has_kernel(without, ".weight_cast"));
  EXPECT_TRUE(has_kernel(without, ".weight_transposed"));
  EXPECT_TRUE(nodes_named(without, "weights.largest values").empty());
}

TEST(Float8Weights, OfMxfp8AreCastBothWaysWhenTheyHaveCome) {
  WorkloadConfig config = config_of(LinearType::kMxfp8, "dp=4", 3);
  const Step step = step_of(config);
  const std::vector<Node> cast = nodes_named(step, ".weights cast");
  ASSERT_EQ(cast.size(), kLayers);
  expect_pass(cast.front(), 0, 2 * kLinear, kBothWays, kWeights);
  const std::vector<Node> rounded = nodes_named(step, "weights.rounded");
  ASSERT_EQ(rounded.size(), 1U);
  expect_pass(rounded.front(), 0, kLayers * kLinear, kLayers * kLinear / 2, kLayers * 2);
  EXPECT_TRUE(nodes_named(step, "all-reduce").empty());
  // The optimizer's node casts nothing.
  const auto of_optimizer = [](const Step& of) { return chakra::kernels_of(nodes_named(of, "optimizer").front()); };
  const std::size_t kernels = of_optimizer(step).size();
  config.float8_weights = false;
  const Step without = step_of(config);
  EXPECT_EQ(of_optimizer(without).size(), kernels + 1);
  EXPECT_TRUE(nodes_named(without, ".weights cast").empty());
}

/// Experts are shared out among other ranks than the rest, which agree on their scales.
TEST(Float8Weights, OfExpertsHaveScalesAmongTheirOwnRanks) {
  WorkloadConfig config = config_of(LinearType::kFloat8, "ep=2,dp=4");
  config.distributed_optimizer = true;
  config.fp8_any_layout = true;
  test::set_experts(config, 8, 2);
  const std::int64_t dense = 2 * 96 * 96 + 2 * 48 * 96;
  const std::int64_t experts = std::int64_t{4} * 3 * 96 * 360;
  const Step step = step_of(config);
  const std::int64_t all = step.sums.parameters;
  EXPECT_EQ(step.sums.parameter_bytes, 2 * all - kLayers * (dense + experts));
  const std::vector<Node> cast = nodes_named(step, "weights.cast");
  ASSERT_EQ(cast.size(), 1U);
  const std::int64_t shard = kLayers * (dense / 4 + experts / 2);
  std::int64_t tensors = 0;
  for (const models::Tensor& tensor : linear_weights(config.model, models::UnitKind::kExpertBlock)) {
    if (is_routed(tensor)) tensors += 4;
  }
  expect_pass(cast.front(), 0, 2 * shard, shard, kLayers * (1 + tensors / 2));
  EXPECT_EQ(step.sums.of(Purpose::kParameters).bytes,
            2 * all - kLayers * (dense + experts) + kLayers * (4 + tensors) * kScale);
  EXPECT_EQ(nodes_named(step, "weights.scales of experts all-reduce").size(), 1U);
}

/// Shards are of a byte. Each pass gathers them, and copies that products need transposed are not kept.
TEST(Float8Weights, OfFsdpAreShardsOfAByte) {
  WorkloadConfig config = config_of(LinearType::kFloat8, "fsdp=2");
  const std::int64_t all = total_parameters(config.model);
  const Step step = step_of(config);
  EXPECT_EQ(step.sums.parameter_bytes, 2 * all / 2 - kLayers * kLinear / 2);
  EXPECT_TRUE(has_kernel(step, ".weight_transposed"));
  EXPECT_FALSE(has_kernel(step, ".weight_cast"));
  EXPECT_TRUE(nodes_named(step, ".weights transposed").empty());
  const std::vector<Node> cast = nodes_named(step, "weights.cast");
  ASSERT_EQ(cast.size(), 1U);
  expect_pass(cast.front(), 0, kLayers * kLinear, kLayers * kLinear / 2, kLayers * kWeights);
  config.fp8_any_layout = true;
  EXPECT_FALSE(has_kernel(step_of(config), ".weight_transposed"));
  const std::int64_t gathered = step.sums.of(Purpose::kParameters).bytes;
  config.float8_weights = false;
  EXPECT_EQ(step_of(config).sums.of(Purpose::kParameters).bytes, gathered);
}

/// Transformer Engine's casts without weights in 8 bits: once a step from 16 bits.
TEST(Float8Casts, OfTransformerEngineCastWeightsOnceAStep) {
  WorkloadConfig config = config_of(LinearType::kFloat8, "dp=4", 3);
  config.float8_weights = false;
  config.casts = models::Casts::kTransformerEngine;
  const Step step = step_of(config);
  EXPECT_FALSE(has_kernel(step, ".weight_cast"));
  EXPECT_FALSE(has_kernel(step, "transposed"));
  const std::vector<chakra::KernelDemand> kernels = chakra::kernels_of(nodes_named(step, "optimizer").front());
  EXPECT_EQ(kernels.back().read, 2 * 4 * kLayers * kLinear);
  EXPECT_EQ(kernels.back().written, 2 * kLayers * kLinear);
  // No rank of tp has the scale of another.
  config = config_of(LinearType::kFloat8, "dp=2,tp=2");
  config.distributed_optimizer = true;
  const auto scales = [](const WorkloadConfig& of) {
    const Step made = step_of(of);
    return std::count_if(made.nodes.begin(), made.nodes.end(), [](const Node& node) {
      return node.name.find("scales all-reduce") != std::string::npos && !node.name.starts_with("weights.");
    });
  };
  EXPECT_GT(scales(config), 0);
  config.casts = models::Casts::kTransformerEngine;
  EXPECT_EQ(scales(config), 0);
  // What is gathered has one: inputs and gradients of attention and MLP.
  config.sequence_parallel = true;
  EXPECT_EQ(scales(config), 4 * kLayers);
}

std::string refused(LinearType linear, const std::function<void(WorkloadConfig&)>& change) {
  WorkloadConfig config = config_of(linear);
  change(config);
  try {
    config.check();
  } catch (const WorkloadError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Float8Weights, AreRefusedWhereNobodyHasAnotherCopy) {
  const auto nothing = [](WorkloadConfig&) {};
  EXPECT_EQ(refused(LinearType::kFloat8, nothing), "nothing was refused");
  EXPECT_EQ(refused(LinearType::kPlain, nothing), "--float8-weights: expected --linear float8 or mxfp8, got plain");
  EXPECT_EQ(refused(LinearType::kNvfp4, nothing), "--float8-weights: expected --linear float8 or mxfp8, got nvfp4");
  EXPECT_EQ(refused(LinearType::kMxfp8, [](WorkloadConfig& c) { c.distributed_optimizer = false; }),
            "--float8-weights: expected --distributed-optimizer, or fsdp above 1 in --parallel");
  EXPECT_EQ(refused(LinearType::kMxfp8,
                    [](WorkloadConfig& c) {
                      c.parallel = parse_parallelism("fsdp=4");
                      c.distributed_optimizer = false;
                    }),
            "--float8-weights: expected --linear float8 with fsdp, got mxfp8");
  EXPECT_EQ(refused(LinearType::kFloat8, [](WorkloadConfig& c) { c.copies = true; }),
            "--float8-weights: expected no --copies, which are those of PyTorch's FSDP2");
}

TEST(Float8Casts, AreRefusedWhereTransformerEngineHasNone) {
  const auto with_engine = [](const std::function<void(WorkloadConfig&)>& change) {
    return [change](WorkloadConfig& config) {
      config.casts = models::Casts::kTransformerEngine;
      change(config);
    };
  };
  EXPECT_EQ(refused(LinearType::kMxfp8, with_engine([](WorkloadConfig&) {})),
            "--casts: expected --linear float8 with transformer-engine, got mxfp8");
  EXPECT_EQ(
      refused(LinearType::kFloat8, with_engine([](WorkloadConfig& c) { c.recompute = models::Recompute::kFull; })),
      "--casts: expected --recompute none with transformer-engine, got full");
  EXPECT_EQ(refused(LinearType::kFloat8, with_engine([](WorkloadConfig& c) {
                      c.parallel = parse_parallelism("fsdp=4");
                      c.distributed_optimizer = c.float8_weights = false;
                    })),
            "--casts: expected --float8-weights with transformer-engine and fsdp");
}

}  // namespace
}  // namespace weft::workloads::weights_test
