// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "hw/core/quantity.h"
#include "sw/models/kernels.h"
#include "sw/models/transformer.h"
#include "sw/optimizers/choice.h"
#include "sw/workloads/expert_load.h"
#include "sw/workloads/expert_spread.h"
#include "sw/workloads/parallelism.h"
#include "sw/workloads/pipeline.h"
#include "traces/chakra/kernels.h"

namespace weft::workloads {

/// Where weights' gradients are computed in tensor parallelism.
enum class WeightGradients : std::uint8_t {
  kBeside,  ///< the sums of inputs' gradients among the ranks of tp, as Megatron-LM has it
  kBefore,  ///< them, as in PyTorch, where the backward pass of a product gives both and the sum comes behind it
};
inline EnumNames<WeightGradients> enum_names(WeightGradients /*tag*/) {
  return {{"beside", WeightGradients::kBeside}, {"before", WeightGradients::kBefore}};
}

/// How tokens come to experts of other ranks.
enum class Dispatcher : std::uint8_t {
  kAllToAll,  ///< an AllToAll with a copy of a token for each of its experts (Megatron-Core's `alltoall`)
  kDeepEp,    ///< once to each rank, and across the network once to each node (its `flex` with DeepEP)
};
inline EnumNames<Dispatcher> enum_names(Dispatcher /*tag*/) {
  return {{"alltoall", Dispatcher::kAllToAll}, {"deepep", Dispatcher::kDeepEp}};
}

/// Parts of a block that a host launches at once, as a CUDA graph of a forward or a backward pass.
struct GraphedParts {
  bool attention = false;
  bool router = false;  ///< of a block with experts, from the norm before it
  bool mlp = false;     ///< of a block without, from the norm before it
};

/// A training step: the network, and how it is cut.
struct WorkloadConfig {
  models::Transformer model;
  Parallelism parallel;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  std::int64_t virtual_stages = 1;         ///< chunks of layers on a pipeline stage
  std::vector<std::int64_t> stage_layers;  ///< of each virtual stage; empty: as even as can be
  std::int64_t microbatches = 1;
  /// A forward pass and a backward pass take turns, so that the AllToAlls of one are beside the products of the other.
  bool overlap_experts = false;
  std::int64_t batch = 1;  ///< sequences of a step, of all ranks
  std::int64_t sequence = 1;
  int element_bytes = 2;   ///< of parameters, activations and gradients
  int gradient_bytes = 2;  ///< of gradients while ranks add them up
  bool sequence_parallel = false;
  models::Recompute recompute = models::Recompute::kNone;
  models::Fusion fusion = models::Fusion::kFused;
  models::Code code = models::Code::kLlama;
  models::AttentionKernel attention = models::AttentionKernel::kFlash3;
  /// In float8 weights that fsdp gathers and tokens that sequence parallelism gathers for blocks are of one byte, too.
  models::LinearType linear = models::LinearType::kPlain;
  models::Casts casts = models::Casts::kTorchao;
  /// Weights of linear layers are kept as products of 8 bits take them; see TransformerWorkload. Embedding, norms,
  /// router and head stay in the type of parameters.
  bool float8_weights = false;
  bool fp8_any_layout = false;  ///< of the accelerator: see its ComputeConfig
  WeightGradients weight_gradients = WeightGradients::kBeside;
  /// Products of blocks between ranks of tp are cut into as many chunks of tokens as there are ranks, whose transfers
  /// are messages beside them, as PyTorch's micro-pipelined tensor parallelism (torch.distributed._symmetric_memory)
  /// has it.
  bool async_tensor_parallel = false;
  /// Kernels that copy into and out of collectives' buffers: of fsdp as FSDP2 has them, and with sequence_parallel what
  /// is gathered or scattered along a dimension that is not the first (DTensor, by chunk and cat in PyTorch's
  /// _functional_collectives.py). Chunks leave that to products, but for what weights' gradients are computed from.
  bool copies = false;
  ExpertLoad load;
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  /// With deepep tokens and gradients of results go to experts in 8 bits, with a scale of 4 bytes for 128 values. What
  /// comes back is in the type of activations.
  bool float8_dispatch = false;
  std::int64_t node_limit = 0;  ///< nodes that a token's experts are of, at most; 0: any
  std::int64_t per_node = 0;    ///< ranks of a node; 0: all
  /// With deepep, by block: TransformerWorkload fills it in. Those of blocks with an MLP are empty.
  std::vector<ExpertSpread> spreads;
  optimizers::Choice optimizer;
  /// Ranks that hold the same parameters share out gradients' sums and the optimizer, and gather what it gives (ZeRO
  /// stage 1; Megatron's --use-distributed-optimizer with --overlap-grad-reduce and --overlap-param-gather).
  bool distributed_optimizer = false;
  int prefetch = 1;  ///< units that are gathered ahead of the one that computes, with fsdp or a distributed optimizer
  int steps = 1;
  models::ExpertKernels expert_kernels = models::ExpertKernels::kGrouped;
  /// That a host takes for each kernel and each communication that it launches, one after the other and ahead of the
  /// accelerator; 0: nodes say nothing of it.
  Time launch;
  GraphedParts graphed;
  /// Experts have room for a fixed number of tokens. Else the host launches nothing behind a router before that has
  /// ended, since kernels have the sizes of what comes.
  bool fixed_experts = false;
  /// Picoseconds that a kernel takes, for durations; without it nodes have none.
  std::function<std::int64_t(const models::Kernel&)> time;
  /// What it asks of an accelerator, for machines that execute kernels; without it nodes have none.
  std::function<chakra::KernelDemand(const models::Kernel&)> demand;

  [[nodiscard]] Pipeline pipeline() const {
    const std::int64_t chunks = schedule == PipelineSchedule::kDualPipe ? 2 : virtual_stages;
    return {schedule, parallel.degree(Axis::kPipeline), chunks, microbatches, overlap_experts};
  }
  /// Ranks that work on different sequences.
  [[nodiscard]] std::int64_t replicas() const { return parallel.group_size({AxisSet(Axis::kShard, Axis::kData)}); }
  [[nodiscard]] std::int64_t sequences_of_microbatch() const { return batch / replicas() / microbatches; }
  /// Of a microbatch on a rank.
  [[nodiscard]] std::int64_t tokens() const {
    return sequences_of_microbatch() * sequence / parallel.degree(Axis::kContext);
  }
  /// Blocks of a virtual stage, and the first of them. Where nobody says how many and they do not divide, the first
  /// stages have one more.
  [[nodiscard]] std::int64_t layers_of(std::int64_t virtual_stage) const {
    if (!stage_layers.empty()) return stage_layers[static_cast<std::size_t>(virtual_stage)];
    const std::int64_t stages = pipeline().virtual_stages();
    return model.layers / stages + (virtual_stage < model.layers % stages ? 1 : 0);
  }
  [[nodiscard]] std::int64_t first_layer(std::int64_t virtual_stage) const {
    if (!stage_layers.empty()) {
      return std::accumulate(stage_layers.begin(), stage_layers.begin() + virtual_stage, std::int64_t{0});
    }
    const std::int64_t stages = pipeline().virtual_stages();
    return virtual_stage * (model.layers / stages) + std::min(virtual_stage, model.layers % stages);
  }
  [[nodiscard]] bool has_experts(std::int64_t block) const {
    return models::block_kind(model, block) == models::UnitKind::kExpertBlock;
  }
  /// Tokens of a microbatch that a rank sends to experts: ranks of tp share them.
  [[nodiscard]] std::int64_t dispatched_tokens() const { return tokens() / parallel.degree(Axis::kTensor); }
  [[nodiscard]] std::int64_t local_experts() const { return model.experts / parallel.degree(Axis::kExpert); }
  /// How often a rank sends a token of a microbatch to the experts of each rank of its ep group.
  [[nodiscard]] std::vector<std::int64_t> tokens_to_ranks(std::int64_t block) const;
  /// Nodes that the ranks of an ep group are in.
  [[nodiscard]] std::int64_t expert_nodes() const;
  [[nodiscard]] bool is_deepep() const {
    return dispatcher == Dispatcher::kDeepEp && parallel.degree(Axis::kExpert) > 1;
  }
  /// Throws WorkloadError where a limit is too low.
  [[nodiscard]] std::vector<ExpertSpread> spread() const;
  /// Of these, nodes that a token goes to, in the mean.
  [[nodiscard]] double nodes_of_token() const;
  /// Bytes of a token on its way to experts.
  [[nodiscard]] std::int64_t dispatched_token_bytes() const;
  /// The rank of an ep group to which most tokens come against their mean, over all blocks.
  [[nodiscard]] double busiest_rank() const;
  [[nodiscard]] bool is_float8() const { return linear == models::LinearType::kFloat8; }
  [[nodiscard]] bool has_transformer_engine() const {
    return is_float8() && casts == models::Casts::kTransformerEngine;
  }
  /// Ranks gather weights of linear layers in one byte each.
  [[nodiscard]] bool gathers_float8() const {
    return is_float8() && (float8_weights || parallel.degree(Axis::kShard) > 1);
  }
  /// The last stage has a copy of the embedding, whose gradients are summed with the first stage's: for a head with the
  /// same weights, or a module that looks up the next token. With DualPipe both are on one rank.
  [[nodiscard]] bool has_table_copy() const {
    return (model.tied || model.mtp > 0) && pipeline().stages > 1 && !pipeline().is_dual();
  }
  /// Gathered before each use and freed after it; with a pipeline, gathered once in a step.
  [[nodiscard]] bool reshards() const { return parallel.degree(Axis::kPipeline) == 1 && !distributed_optimizer; }

  /// Throws WorkloadError for what does not divide or fit.
  void check() const;
};

/// Reads "attention,router". Throws WorkloadError of --graphed.
GraphedParts parse_graphed(std::string_view text);

/// Reads "0,1*126,0": one, 126 and one virtual stages with 0, 1 and 0 layers. Throws WorkloadError of --stage-layers.
std::vector<std::int64_t> parse_stage_layers(std::string_view text);

}  // namespace weft::workloads
