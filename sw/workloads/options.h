// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hw/core/element.h"
#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "sw/workloads/config.h"

namespace weft::workloads {

/// A training step as a user asks for it, in a platform or by `weft workload`. 0 leaves a number to the network, or to
/// the others.
struct StepOptions {
  std::string model = "llama3-8b";
  std::string parallel = "tp=1";
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  std::int64_t virtual_stages = 1;
  std::string stage_layers;
  std::int64_t microbatches = 0;
  bool overlap_experts = false;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  std::int64_t layers = 0;
  ElementType parameter_type = ElementType::kBf16;
  ElementType reduce_type = ElementType::kBf16;
  bool sequence_parallel = false;
  models::Recompute recompute = models::Recompute::kNone;
  models::Fusion fusion = models::Fusion::kFused;
  models::Code code = models::Code::kLlama;
  models::AttentionKernel attention = models::AttentionKernel::kFlash3;
  models::LinearType linear = models::LinearType::kPlain;
  models::Casts casts = models::Casts::kTorchao;
  bool float8_weights = false;
  WeightGradients weight_gradients = WeightGradients::kBeside;
  bool async_tensor_parallel = false;
  bool copies = false;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  LoadKind expert_load = LoadKind::kBalanced;
  double expert_skew = 1;
  std::int64_t expert_seed = 1;
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool float8_dispatch = false;
  std::int64_t node_limit = 0;
  std::int64_t mtp = 0;
  optimizers::Choice optimizer;
  bool distributed_optimizer = false;
  int prefetch = 1;
  int steps = 1;
  models::ExpertKernels expert_kernels = models::ExpertKernels::kGrouped;
  Time launch;
  std::string graphed;
  bool fixed_experts = false;

  static constexpr std::int64_t kMostSequences = 1 << 30;
  static constexpr std::int64_t kMostLayers = 4096;
  static constexpr std::int64_t kMostMicrobatches = 1 << 15;  ///< with which tags stay below ASTRA-sim's own
  static constexpr int kMostSteps = 1000;
  static constexpr int kMostPrefetch = 2;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("model", model, "A decoder-only transformer (weft models), or a file with one: my.json, or my.csv:NAME");
    visit("parallel", parallel,
          "Degrees, such as tp=8,pp=4: tensor tp, context cp, fully sharded fsdp, data dp, pipeline pp; expert ep, "
          "within "
          "cp x fsdp x dp; etp: ranks that have a part of an expert, tp if left out");
    visit("schedule", schedule, "Schedule of the pipeline");
    visit("virtual_stages", virtual_stages, "Chunks of layers on a stage, interleaved", Range{1, kMostLayers});
    visit("stage_layers", stage_layers,
          "Layers of each virtual stage, such as 0,1*126,0 (1*126: 126 stages with one), as Megatron's "
          "--pipeline-model-parallel-layout; the first, which has the embedding, and the last may have none. Default: "
          "as even as can be");
    visit("microbatches", microbatches, "Microbatches of a step; 0: as many as pipeline stages",
          Range{0, kMostMicrobatches});
    visit("overlap_experts", overlap_experts,
          "A forward pass and a backward pass in turn are one with the other, so that the AllToAlls of one are beside "
          "the products of the other, as Megatron-Core's --overlap-moe-expert-parallel-comm");
    visit("batch", batch, "Sequences of a step, over all ranks; 0: one in each microbatch", Range{0, kMostSequences});
    visit("sequence", sequence, "Tokens of a sequence; 0: the network's own", Range{0, kMostSequences});
    visit("layers", layers, "Blocks; 0: the network's own", Range{0, kMostLayers});
    visit("parameter_type", parameter_type, "Element type of parameters, activations and gradients");
    visit("reduce_type", reduce_type, "Element type in which gradients are summed");
    visit("sequence_parallel", sequence_parallel,
          "Norms and residual sums are cut along the sequence among the ranks of tp");
    visit("recompute", recompute, "Activations of blocks that are computed again");
    visit("fusion", fusion, "How elementwise work is cut into kernels, as for kind fsdp");
    visit("code", code, "Origin of the operators that are not fused, as for kind fsdp");
    visit("attention", attention, "Attention kernel: flash-2, PyTorch's default, or flash-3");
    visit("linear", linear,
          "Products of blocks' linear layers. plain: in the type of parameters; float8: with a scale for each tensor; "
          "weights and tokens are gathered in float8, too; mxfp8 and nvfp4: with a scale for each 32 or 16 values, on "
          "parts "
          "that multiply so (accelerator.compute.block_scales)");
    visit(
        "casts", casts,
        "Whose kernels cast operands with linear float8. torchao: both ways one after the other, weights in each pass; "
        "transformer-engine: its current scaling, both ways at once or, with accelerator.compute.fp8_any_layout, one "
        "way, and weights once in a step");
    visit("float8_weights", float8_weights,
          "With linear float8 or mxfp8, and with a distributed optimizer or fsdp: weights of linear layers stay in 8 "
          "bits "
          "between steps, as Megatron's --fp8-param-gather. With float8 they are gathered so, with mxfp8 in 16 bits");
    visit("weight_gradients", weight_gradients,
          "When weights' gradients are computed: beside the sums of inputs' gradients among the ranks of tp, or before "
          "them");
    visit("async_tensor_parallel", async_tensor_parallel,
          "Products beside Allgathers and ReduceScatters of tokens are cut into chunks, and chunks are sent meanwhile");
    visit("copies", copies, "Kernels copy into and out of collectives' buffers, as in FSDP2 and DTensor");
    visit("experts", experts,
          "Experts of a block; 0: the network's own. Of a network without, they stand in place of each MLP",
          Range{0, kMostLayers});
    visit("top_k", top_k, "Experts that a token goes to; 0: the network's own, or 1", Range{0, kMostLayers});
    visit("expert_load", expert_load,
          "How tokens are spread over a block's experts. balanced: evenly; zipf: the r-th of an order that is drawn "
          "has 1/r^expert_skew of the first's; dirichlet: shares are drawn, with all parameters expert_skew");
    visit("expert_skew", expert_skew, "See expert_load: with zipf more is less even, with dirichlet more even",
          Range{0, 100, true});
    visit("expert_seed", expert_seed, "What is drawn for expert_load", Range{0, kMostSequences});
    visit("dispatcher", dispatcher,
          "How tokens come to experts of other ranks. alltoall: a copy for each expert; deepep: once to each rank, and "
          "across the network once to each node (with collectives.algorithm deepep)");
    visit(
        "float8_dispatch", float8_dispatch,
        "With deepep, tokens and gradients of results go to experts in 8 bits with a scale of 4 bytes for 128 values");
    visit("node_limit", node_limit, "With deepep, nodes that a token's experts are of, at most; 0: any",
          Range{0, kMostLayers});
    visit("mtp", mtp,
          "Modules that predict the token after the next, each with one block more: DeepSeek-V3 is trained with one",
          Range{0, 1});
    optimizer.fields(visit);
    visit("distributed_optimizer", distributed_optimizer,
          "Ranks with the same parameters share out gradients' sums and the optimizer (ZeRO stage 1), as Megatron's "
          "--use-distributed-optimizer");
    visit("prefetch", prefetch, "With fsdp or a distributed optimizer, units whose Allgather is issued ahead",
          Range{1, kMostPrefetch});
    visit("steps", steps, "Training steps", Range{1, kMostSteps});
    visit("expert_kernels", expert_kernels,
          "How the experts of a rank become kernels. grouped: one for all, of each product and cast; each: kernels of "
          "their own, as Transformer Engine's GroupedLinear without use_grouped_tensor: a product for each, and with "
          "casts transformer-engine four kernels to cast what enters it");
    visit("launch", launch,
          "Time that the host spends on launching a kernel or a communication, one after the other and ahead of the "
          "accelerator; 0: none",
          Range{0, 1'000'000'000});
    visit("graphed", graphed,
          "With launch: parts of a block that are launched at once, as CUDA graphs: attention, router, mlp, or several "
          "such as attention,router (Megatron's --cuda-graph-modules)");
    visit(
        "fixed_experts", fixed_experts,
        "With launch: experts have room for a fixed number of tokens, as with Megatron's "
        "--moe-expert-rank-capacity-factor. False: the host waits for the end of each router, to learn how many come");
  }

  /// Of a network of that name, without times. Throws WorkloadError of --parallel.
  [[nodiscard]] WorkloadConfig config(const models::Transformer& transformer) const;
};

}  // namespace weft::workloads
