// SPDX-License-Identifier: Apache-2.0
// Products of degrees: whatever the parallelism, the graphs can be executed, end on a slow network, and compute the
// same.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/workload.h"
#include "traces/chakra/check.h"

namespace weft::workloads {
namespace {

using test::ChakraTest;
using test::workload_config;

struct Product {
  std::string parallel;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  std::int64_t virtual_stages = 1;
  std::int64_t microbatches = 1;
  bool sequence_parallel = false;
  std::int64_t experts = 0;
  std::int64_t top_k = 1;
  bool tied = false;
  int prefetch = 1;
  int steps = 1;
  models::Recompute recompute = models::Recompute::kNone;
  models::LinearType linear = models::LinearType::kPlain;
  bool asynchronous = false;
  std::int64_t shared_ffn = 0;
  LoadKind load = LoadKind::kBalanced;
  bool distributed = false;
  std::string stage_layers = "";
};

std::ostream& operator<<(std::ostream& out, const Product& product) {
  return out << product.parallel << " m=" << product.microbatches << " v=" << product.virtual_stages
             << (product.sequence_parallel ? " sp" : "") << " experts=" << product.experts
             << " recompute=" << static_cast<int>(product.recompute)
             << (product.linear == models::LinearType::kFloat8 ? " float8" : "")
             << (product.asynchronous ? " async" : "") << (product.stage_layers.empty() ? "" : " of ")
             << product.stage_layers;
}

WorkloadConfig config_of(const Product& product) {
  WorkloadConfig config = workload_config(product.parallel, product.microbatches);
  config.schedule = product.schedule;
  config.virtual_stages = product.virtual_stages;
  config.stage_layers = parse_stage_layers(product.stage_layers);
  config.sequence_parallel = product.sequence_parallel;
  test::set_experts(config, product.experts, product.top_k);
  config.model.shared_ffn = product.shared_ffn;
  config.load.kind = product.load;
  config.distributed_optimizer = product.distributed;
  config.model.tied = product.tied;
  config.prefetch = product.prefetch;
  config.steps = product.steps;
  config.recompute = product.recompute;
  config.linear = product.linear;
  config.async_tensor_parallel = product.asynchronous;
  return config;
}

/// Of the whole network on the whole batch, as sw/models counts. Without sequence parallelism each rank of tp has the
/// router's products of all tokens.
std::int64_t operations_of(const WorkloadConfig& config) {
  models::StepShape shape;
  shape.sequences = config.batch;
  shape.sequence = config.sequence;
  shape.recompute = config.recompute;
  std::int64_t sum = step_flops(config.model, shape, true);
  const std::int64_t copies = config.sequence_parallel ? 0 : config.parallel.degree(Axis::kTensor) - 1;
  for (std::int64_t block = 0; config.model.has_experts() && block < config.model.layers; ++block) {
    shape.recompute = recompute_of(config.recompute, block);
    for (const auto& kernels : {forward_kernels(config.model, models::UnitKind::kExpertBlock, shape),
                                backward_kernels(config.model, models::UnitKind::kExpertBlock, shape)}) {
      for (const models::Kernel& kernel : kernels) {
        if (kernel.name.starts_with("router")) sum += copies * flops(kernel);
      }
    }
  }
  return config.steps * sum;
}

class WorkloadProduct : public ChakraTest, public testing::WithParamInterface<Product> {};

TEST_P(WorkloadProduct, IsSoundAndComputesTheSame) {
  const TransformerWorkload workload(config_of(GetParam()));
  const std::vector<RankSums> sums = write_workload(workload, folder_ / "w");
  chakra::CheckOptions named;
  for (const chakra::RankGroup& group : workload.groups())
    named.groups[group.name] = {group.ranks.begin(), group.ranks.end()};
  const chakra::CheckReport report = chakra::check(chakra::find_trace(folder_ / "w"), named);
  EXPECT_EQ(report.ranks, static_cast<std::uint64_t>(workload.ranks()));
  EXPECT_EQ(report.found, 0U) << (report.findings.empty() ? "" : report.findings.front().text());

  std::int64_t operations = 0;
  std::int64_t nodes = 0;
  for (const RankSums& rank : sums) {
    operations += rank.operations;
    nodes += rank.nodes;
  }
  EXPECT_EQ(operations, operations_of(workload.config()));
  EXPECT_EQ(report.nodes, static_cast<std::uint64_t>(nodes));
  for (const chakra::RankGroup& group : workload.groups()) EXPECT_GT(group.ranks.size(), 1U) << group.name;

  // Where communication takes most of the time and links are shared, ranks drift apart; none may wait for ever.
  if (workload.ranks() == 1) return;
  test::ReplayOptions slow;
  slow.congestion = analytical::Congestion::kAware;
  slow.bytes_per_ns = 0.01;
  slow.latency_ns = 700;
  slow.peak_tflops = 10;
  EXPECT_NO_THROW(test::replay(workload, folder_ / "w", slow));
}

std::vector<Product> products() {
  constexpr auto kGPipe = PipelineSchedule::kGPipe;
  constexpr auto k1F1B = PipelineSchedule::kOneForwardOneBackward;
  constexpr auto kInterleaved = PipelineSchedule::kInterleaved;
  std::vector<Product> all = {{"tp=1"}, {"tp=1", k1F1B, 1, 3}};
  // Each axis, each pair of axes.
  const std::vector<std::string> axes = {"tp=3", "cp=2", "cp=3", "ep=2,dp=2", "fsdp=2", "fsdp=5", "dp=3", "pp=3"};
  const auto add = [&](const std::string& parallel) {
    const bool has_experts = parallel.find("ep=") != std::string::npos;
    const bool has_stages = parallel.find("pp=") != std::string::npos;
    all.push_back({parallel, k1F1B, 1, has_stages ? 4 : 1, false, has_experts ? 4 : 0, has_experts ? 2 : 1});
  };
  for (std::size_t i = 0; i < axes.size(); ++i) {
    add(axes[i]);
    for (std::size_t j = i + 1; j < axes.size(); ++j) {
      // Experts lie within fsdp, and this one has its own dp.
      const bool is_of_experts = axes[i].starts_with("ep=");
      if (is_of_experts && (axes[j] == "fsdp=5" || axes[j].starts_with("dp="))) continue;
      if (axes[i].substr(0, 2) != axes[j].substr(0, 2)) add(axes[i] + "," + axes[j]);
    }
  }
  for (const char* parallel : {"tp=2,pp=2,dp=2", "tp=3,cp=2,dp=2", "tp=2,cp=3,pp=2", "tp=2,fsdp=3,dp=2", "tp=6,pp=4",
                               "cp=2,fsdp=2,dp=2,pp=2", "tp=2,ep=2,fsdp=4,pp=2", "tp=2,cp=2,ep=2,fsdp=4,dp=2,pp=2",
                               "cp=2,ep=3,dp=6", "ep=4,fsdp=8,dp=3", "tp=2,etp=1,ep=4,dp=2,pp=2"}) {
    const bool has_experts = std::string(parallel).find("ep=") != std::string::npos;
    const std::int64_t experts = has_experts ? 12 : 0;
    const bool has_stages = std::string(parallel).find("pp=") != std::string::npos;
    const bool has_tensor = std::string(parallel).find("tp=") != std::string::npos;
    all.push_back({parallel, k1F1B, 1, 4, has_tensor, experts, has_experts ? 3 : 1, true, 2});
    if (!has_stages) continue;
    const std::int64_t stages = parse_parallelism(parallel).degree(Axis::kPipeline);
    all.push_back({parallel, kGPipe, 1, 3, false, experts, 1, true});
    all.push_back({parallel, kInterleaved, 3, 2 * stages, has_tensor, experts, 1, false, 1, 2});
  }
  for (const models::Recompute recompute :
       {models::Recompute::kSelectiveOp, models::Recompute::kSelectiveLayer, models::Recompute::kFull}) {
    const auto add_again = [&](Product product) {
      product.recompute = recompute;
      all.push_back(product);
    };
    add_again({"tp=1"});
    add_again({"tp=2,cp=2,dp=2", k1F1B, 1, 1, true});
    add_again({"tp=2,ep=2,fsdp=4", k1F1B, 1, 2, true, 4, 2});
    for (const char* parallel : {"tp=2,ep=2,dp=4", "tp=2,etp=1,ep=4,cp=2,dp=2,pp=5"}) {
      Product product{parallel, k1F1B, 1, 2, true, 12, 3};
      product.recompute = recompute;
      product.shared_ffn = 120;
      product.load = recompute == models::Recompute::kFull ? LoadKind::kDirichlet : LoadKind::kZipf;
      product.distributed = true;
      all.push_back(product);
      product.linear = models::LinearType::kMxfp8;
      all.push_back(product);
    }
    add_again({"cp=3,fsdp=2,pp=2", kInterleaved, 3, 2});
  }
  for (const models::Recompute recompute :
       {models::Recompute::kNone, models::Recompute::kSelectiveOp, models::Recompute::kFull}) {
    for (const char* parallel : {"tp=2", "tp=2,fsdp=2", "tp=2,cp=2,fsdp=2,dp=2,pp=2"}) {
      for (const bool sequence_parallel : {false, true}) {
        Product product{parallel, k1F1B, 1, 2, sequence_parallel};
        product.recompute = recompute;
        product.steps = 2;
        product.linear = models::LinearType::kFloat8;
        all.push_back(product);
        if (!sequence_parallel) continue;
        product.asynchronous = true;
        all.push_back(product);
        product.parallel = product.parallel == "tp=2" ? "tp=3" : product.parallel;
        product.linear = models::LinearType::kPlain;
        all.push_back(product);
      }
    }
  }
  // Experts in float8, with an MLP for all tokens.
  for (const models::Recompute recompute :
       {models::Recompute::kNone, models::Recompute::kSelectiveOp, models::Recompute::kFull}) {
    Product product{"ep=2,dp=4,pp=2", k1F1B, 1, 2, false, 4, 2};
    product.recompute = recompute;
    product.linear = models::LinearType::kFloat8;
    product.distributed = true;
    for (const std::int64_t shared : {0, 120}) {
      product.shared_ffn = shared;
      all.push_back(product);
    }
  }
  // Stages of so many layers, the first and the last without any.
  const auto add_cut = [&all](const std::string& layers, Product product) {
    product.stage_layers = layers;
    product.steps = 2;
    all.push_back(product);
    product.distributed = product.parallel.find("fsdp") == std::string::npos;
    product.tied = true;
    product.linear = models::LinearType::kFloat8;
    all.push_back(product);
  };
  add_cut("5,7", {"pp=2,dp=2", k1F1B, 1, 3});
  add_cut("0,12", {"fsdp=2,pp=2", k1F1B, 1, 3});
  add_cut("12,0", {"tp=2,fsdp=2,pp=2", kGPipe, 1, 3, true});
  add_cut("0,3*4,0", {"tp=2,pp=3,dp=2", kInterleaved, 2, 6, true});
  add_cut("0,2,1*10", {"tp=2,cp=2,pp=4", kInterleaved, 3, 4, true});
  add_cut("0,6*2,0", {"tp=2,pp=4", PipelineSchedule::kZeroBubble, 1, 8, true});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, WorkloadProduct, testing::ValuesIn(products()));

}  // namespace
}  // namespace weft::workloads
