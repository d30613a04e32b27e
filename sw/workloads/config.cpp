// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/config.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace weft::workloads {
namespace {

/// Where it does not: "--parallel tp: expected a divisor of the 32 heads, got 3".
void must_divide(const std::string& option, std::int64_t divisor, std::int64_t count, const std::string& what) {
  if (count % divisor == 0) return;
  throw WorkloadError(
      option, "expected a divisor of the " + std::to_string(count) + " " + what + ", got " + std::to_string(divisor));
}

constexpr double kMostSkew = 100;

void must_be_multiple(const std::string& option, std::int64_t count, std::int64_t divisor, const std::string& why) {
  if (count % divisor == 0 && count > 0) return;
  throw WorkloadError(
      option, "expected a multiple of " + std::to_string(divisor) + ", " + why + ", got " + std::to_string(count));
}

void check_pipeline(const WorkloadConfig& config) {
  const std::int64_t stages = config.parallel.degree(Axis::kPipeline);
  const bool interleaved = config.schedule == PipelineSchedule::kInterleaved;
  if (stages == 1 && interleaved) throw WorkloadError("--schedule", "expected pp above 1 for interleaved");
  if (interleaved && config.virtual_stages < 2) {
    throw WorkloadError("--virtual-stages", "expected 2 or more for the interleaved schedule, got " +
                                                std::to_string(config.virtual_stages));
  }
  if (!interleaved && config.virtual_stages != 1) {
    throw WorkloadError("--virtual-stages", "expected --schedule interleaved");
  }
  const std::string layers = "layers of " + config.model.name;
  if (stages * config.virtual_stages > config.model.layers) {
    throw WorkloadError(interleaved ? "--parallel pp x --virtual-stages" : "--parallel pp",
                        "expected at most the " + std::to_string(config.model.layers) + " " + layers + ", got " +
                            std::to_string(stages * config.virtual_stages));
  }
  if (!interleaved) return;
  must_be_multiple("--microbatches", config.microbatches, stages, "the pipeline stages, for the interleaved schedule");
}

void check_experts(const WorkloadConfig& config) {
  const Parallelism& parallel = config.parallel;
  const std::int64_t ep = parallel.degree(Axis::kExpert);
  const std::int64_t etp = parallel.expert_tensor();
  const std::int64_t experts = config.model.experts;
  if (experts == 0) {
    if (ep > 1) {
      throw WorkloadError(
          "--parallel ep",
          "expected a model with experts; --experts N puts N in place of each MLP of " + config.model.name);
    }
    if (etp != parallel.degree(Axis::kTensor)) throw WorkloadError("--parallel etp", "expected a model with experts");
    if (config.model.top_k != 0) throw WorkloadError("--top-k", "expected --experts");
    if (config.load.kind != LoadKind::kBalanced) throw WorkloadError("--expert-load", "expected experts");
    return;
  }
  must_divide("--parallel ep", ep, experts, "experts");
  must_divide("--parallel etp", etp, config.model.expert_ffn, "columns of an expert of " + config.model.name);
  const bool has_shards = parallel.degree(Axis::kShard) > 1;
  if (parallel.ranks_of_experts() % (etp * ep) != 0) {
    throw WorkloadError("--parallel ep", "expected a degree that divides, times the " + std::to_string(etp) +
                                             " ranks that have a part of an expert (etp, by default tp), the " +
                                             std::to_string(parallel.ranks_of_experts()) + " ranks of tp x cp x " +
                                             (has_shards ? "fsdp" : "dp") + ", among which experts lie, got " +
                                             std::to_string(ep));
  }
  if (config.model.top_k > experts) {
    throw WorkloadError("--top-k", "expected at most the " + std::to_string(experts) + " experts, got " +
                                       std::to_string(config.model.top_k));
  }
  if (config.load.kind != LoadKind::kBalanced && config.tokens() % parallel.degree(Axis::kTensor) != 0) {
    throw WorkloadError("--expert-load", "expected tp to divide the tokens of a microbatch");
  }
  if (!(config.load.skew > 0) || config.load.skew > kMostSkew) {
    throw WorkloadError("--expert-skew", "expected a number above 0, at most 100");
  }
}

/// Counts of operations, bytes and tokens stay well within 63 bits.
void check_counts(const WorkloadConfig& config) {
  constexpr double kMostOperations = 1e18;
  constexpr double kMostParameters = 1e17;
  const models::Transformer& model = config.model;
  const double weights = 3 * static_cast<double>(model.experts) * static_cast<double>(model.expert_ffn) *
                         static_cast<double>(model.d_model);
  if (static_cast<double>(model.layers) * weights > kMostParameters) {
    throw WorkloadError("--experts", "expected at most 1e17 parameters in all experts");
  }
  const double attention = 12 * static_cast<double>(model.attentions()) * static_cast<double>(model.query_width());
  const double a_token =
      static_cast<double>(convention_flops_per_token(model, 0)) + attention * static_cast<double>(config.sequence);
  const double operations = a_token * static_cast<double>(config.batch) * static_cast<double>(config.sequence) *
                            static_cast<double>(config.steps) / static_cast<double>(config.parallel.ranks());
  if (operations > kMostOperations) {
    throw WorkloadError("--batch", "expected a workload of at most 1e18 operations a rank");
  }
}

void check_linear(const WorkloadConfig& config) {
  if (config.linear == models::LinearType::kPlain) return;
  const std::string name(weft::name_of(config.linear));
  if (!models::is_fused(models::UnitKind::kBlock, config.fusion)) {
    throw WorkloadError("--linear", "expected --fusion compiled-blocks or fused with " + name + ", as casts are fused");
  }
  if (config.element_bytes != 2) throw WorkloadError("--linear", "expected a --type of 16 bits with " + name);
  if (!config.is_float8()) return;
  if (config.model.has_experts()) throw WorkloadError("--linear", "expected no experts with float8");
  if (config.model.is_latent()) throw WorkloadError("--linear", "expected no latent attention with float8");
  if (config.recompute == models::Recompute::kSelectiveLayer) {
    throw WorkloadError("--linear", "expected --recompute none, selective-op or full with float8");
  }
}

void check_async_tensor_parallel(const WorkloadConfig& config) {
  if (!config.async_tensor_parallel) return;
  const std::string option = "--async-tensor-parallel";
  if (!config.sequence_parallel) throw WorkloadError(option, "expected --sequence-parallel");
  if (!models::is_fused(models::UnitKind::kBlock, config.fusion)) {
    throw WorkloadError(option, "expected --fusion compiled-blocks or fused, as the compiler cuts products");
  }
  if (config.model.has_experts()) throw WorkloadError(option, "expected no experts");
}

}  // namespace

std::vector<std::int64_t> WorkloadConfig::tokens_to_ranks(std::int64_t block) const {
  const std::vector<std::int64_t> experts =
      tokens_of_experts(load, model.experts, model.top_k, dispatched_tokens(), block);
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(parallel.degree(Axis::kExpert)), 0);
  for (std::size_t i = 0; i < experts.size(); ++i) ranks[i / static_cast<std::size_t>(local_experts())] += experts[i];
  return ranks;
}

double WorkloadConfig::busiest_rank() const {
  std::int64_t most = 0;
  std::int64_t all = 0;
  for (std::int64_t block = 0; block < model.layers; ++block) {
    if (!has_experts(block)) continue;
    const std::vector<std::int64_t> ranks = tokens_to_ranks(block);
    most += *std::max_element(ranks.begin(), ranks.end());
    all += std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  }
  return all == 0 ? 1
                  : static_cast<double>(most) * static_cast<double>(parallel.degree(Axis::kExpert)) /
                        static_cast<double>(all);
}

void WorkloadConfig::check() const {
  const std::int64_t tp = parallel.degree(Axis::kTensor);
  const std::int64_t cp = parallel.degree(Axis::kContext);
  must_divide("--parallel tp", tp, model.heads, "heads of " + model.name);
  must_divide("--parallel tp", tp, model.kv_heads, "key and value heads of " + model.name);
  must_divide("--parallel tp", tp, model.ffn, "columns of the MLP of " + model.name);
  if (tp > model.vocab) throw WorkloadError("--parallel tp", "expected no more ranks than the vocabulary has rows");
  if (model.positions > 0 && sequence > model.positions) {
    throw WorkloadError("--sequence", "expected at most the " + std::to_string(model.positions) + " positions of " +
                                          model.name + ", got " + std::to_string(sequence));
  }
  // Ends of the sequence are paired, so that causal attention is equal work on all ranks.
  if (cp > 1 && model.window > 0) throw WorkloadError("--parallel cp", "expected 1, as the model has windows");
  if (cp > 1) must_be_multiple("--sequence", sequence, 2 * cp, "two equal parts for each of cp ranks");
  if (sequence_parallel) {
    if (tp == 1) throw WorkloadError("--sequence-parallel", "expected tp above 1");
    must_be_multiple("--sequence", sequence, cp * tp, "cp x tp, with --sequence-parallel");
  }
  must_be_multiple("--batch", batch, replicas() * microbatches,
                   "fsdp x dp ranks with " + std::to_string(microbatches) + " microbatches each");
  if (distributed_optimizer && parallel.degree(Axis::kShard) > 1) {
    throw WorkloadError("--distributed-optimizer", "expected no fsdp, which shares out the optimizer by itself");
  }
  check_counts(*this);
  check_pipeline(*this);
  check_experts(*this);
  check_linear(*this);
  check_async_tensor_parallel(*this);
}

}  // namespace weft::workloads
