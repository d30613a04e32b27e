// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/config.h"

#include <algorithm>
#include <string>

namespace weft::workloads {
namespace {

/// Where it does not: "--parallel tp: expected a divisor of the 32 heads, got 3".
void must_divide(const std::string& option, std::int64_t divisor, std::int64_t count, const std::string& what) {
  if (count % divisor == 0) return;
  throw WorkloadError(
      option, "expected a divisor of the " + std::to_string(count) + " " + what + ", got " + std::to_string(divisor));
}

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
  if (!interleaved) return must_divide("--parallel pp", stages, config.model.layers, layers);
  must_divide("--parallel pp x --virtual-stages", stages * config.virtual_stages, config.model.layers, layers);
  must_be_multiple("--microbatches", config.microbatches, stages, "the pipeline stages, for the interleaved schedule");
}

void check_experts(const WorkloadConfig& config) {
  const std::int64_t ep = config.parallel.degree(Axis::kExpert);
  if (config.experts == 0) {
    if (ep > 1) {
      throw WorkloadError(
          "--parallel ep",
          "expected a model with experts; --experts N puts N in place of each MLP of " + config.model.name);
    }
    if (config.top_k != 1) throw WorkloadError("--top-k", "expected --experts");
    return;
  }
  must_divide("--parallel ep", ep, config.experts, "experts");
  if (config.top_k > config.experts) {
    throw WorkloadError("--top-k", "expected at most the " + std::to_string(config.experts) + " experts, got " +
                                       std::to_string(config.top_k));
  }
  const std::int64_t local = config.experts / ep;
  if (config.tokens() * config.top_k % local != 0) {
    throw WorkloadError("--experts", "expected " + std::to_string(config.tokens() * config.top_k) +
                                         " tokens of a microbatch to divide among the " + std::to_string(local) +
                                         " experts of a rank, as a balanced router would have it");
  }
}

/// Counts of operations, bytes and tokens stay well within 63 bits.
void check_counts(const WorkloadConfig& config) {
  constexpr double kMostOperations = 1e18;
  constexpr double kMostParameters = 1e17;
  const models::Transformer& model = config.model;
  const auto experts = static_cast<double>(std::max<std::int64_t>(config.experts, 1));
  const double weights = 3 * experts * static_cast<double>(model.ffn) * static_cast<double>(model.d_model);
  if (static_cast<double>(model.layers) * weights > kMostParameters) {
    throw WorkloadError("--experts", "expected at most 1e17 parameters in all experts");
  }
  const double attention = 12 * static_cast<double>(model.attentions()) * static_cast<double>(model.query_width());
  const double a_token =
      static_cast<double>(convention_flops_per_token(model, 0)) + attention * static_cast<double>(config.sequence);
  const double operations = a_token * static_cast<double>(config.batch) * static_cast<double>(config.sequence) *
                            static_cast<double>(config.steps) * static_cast<double>(config.top_k) /
                            static_cast<double>(config.parallel.ranks());
  if (operations > kMostOperations) {
    throw WorkloadError("--batch", "expected a workload of at most 1e18 operations a rank");
  }
}

void check_linear(const WorkloadConfig& config) {
  if (!config.is_float8()) return;
  if (!models::is_fused(models::UnitKind::kBlock, config.fusion)) {
    throw WorkloadError("--linear", "expected --fusion compiled-blocks or fused with float8, as casts are fused");
  }
  if (config.element_bytes != 2) throw WorkloadError("--linear", "expected a --type of 16 bits with float8");
  if (config.experts > 0) throw WorkloadError("--linear", "expected no --experts with float8");
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
  if (config.experts > 0) throw WorkloadError(option, "expected no --experts");
}

}  // namespace

void WorkloadConfig::check() const {
  const std::int64_t tp = parallel.degree(Axis::kTensor);
  const std::int64_t cp = parallel.degree(Axis::kContext);
  if (!has_plain_blocks(model)) throw WorkloadError("--model", "expected a model without experts of its own");
  must_divide("--parallel tp", tp, model.heads, "heads of " + model.name);
  must_divide("--parallel tp", tp, model.kv_heads, "key and value heads of " + model.name);
  must_divide("--parallel tp", tp, model.ffn, "columns of the MLP of " + model.name);
  if (tp > model.vocab) throw WorkloadError("--parallel tp", "expected no more ranks than the vocabulary has rows");
  if (model.positions > 0 && sequence > model.positions) {
    throw WorkloadError("--sequence", "expected at most the " + std::to_string(model.positions) + " positions of " +
                                          model.name + ", got " + std::to_string(sequence));
  }
  // Ends of the sequence are paired, so that causal attention is equal work on all ranks.
  if (cp > 1) must_be_multiple("--sequence", sequence, 2 * cp, "two equal parts for each of cp ranks");
  if (sequence_parallel) {
    if (tp == 1) throw WorkloadError("--sequence-parallel", "expected tp above 1");
    must_be_multiple("--sequence", sequence, cp * tp, "cp x tp, with --sequence-parallel");
  }
  must_be_multiple("--batch", batch, replicas() * microbatches,
                   "ep x fsdp x dp ranks with " + std::to_string(microbatches) + " microbatches each");
  check_counts(*this);
  check_pipeline(*this);
  check_experts(*this);
  check_linear(*this);
  check_async_tensor_parallel(*this);
}

}  // namespace weft::workloads
