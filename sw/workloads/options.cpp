// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/options.h"

#include <algorithm>

namespace weft::workloads {

WorkloadConfig StepOptions::config(const models::Transformer& transformer) const {
  const auto or_else = [](std::int64_t value, std::int64_t other) { return value != 0 ? value : other; };
  WorkloadConfig result;
  result.model = transformer;
  result.model.layers = or_else(layers, transformer.layers);
  result.parallel = parse_parallelism(parallel);
  result.schedule = schedule;
  result.virtual_stages = virtual_stages;
  result.stage_layers = parse_stage_layers(stage_layers);
  result.microbatches = or_else(microbatches, result.parallel.degree(Axis::kPipeline));
  result.batch = or_else(batch, result.replicas() * result.microbatches);
  result.sequence = or_else(sequence, transformer.sequence);
  result.element_bytes = static_cast<int>(size_of(parameter_type));
  result.gradient_bytes = static_cast<int>(size_of(reduce_type));
  result.sequence_parallel = sequence_parallel;
  result.recompute = recompute;
  result.fusion = fusion;
  result.code = code;
  result.attention = attention;
  result.linear = linear;
  result.casts = casts;
  result.float8_weights = float8_weights;
  result.weight_gradients = weight_gradients;
  result.async_tensor_parallel = async_tensor_parallel;
  result.copies = copies;
  models::Transformer& model_of = result.model;
  if (experts > 0 && !model_of.has_experts()) {
    model_of.expert_ffn = model_of.ffn;
    model_of.top_k = 1;
  }
  if (experts > 0) model_of.experts = experts;
  if (top_k > 0) model_of.top_k = top_k;
  model_of.dense_layers = std::min(model_of.dense_layers, model_of.layers);
  result.load = {expert_load, expert_skew, expert_seed};
  result.dispatcher = dispatcher;
  result.float8_dispatch = float8_dispatch;
  result.node_limit = node_limit;
  result.overlap_experts = overlap_experts;
  model_of.mtp = mtp;
  result.optimizer = optimizer;
  result.distributed_optimizer = distributed_optimizer;
  result.prefetch = prefetch;
  result.steps = steps;
  result.expert_kernels = expert_kernels;
  result.launch = launch;
  result.graphed = parse_graphed(graphed);
  result.fixed_experts = fixed_experts;
  return result;
}

}  // namespace weft::workloads
