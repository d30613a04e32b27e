// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "hw/core/element.h"
#include "hw/core/fields.h"
#include "sw/models/transformer.h"
#include "sw/optimizers/optimizer.h"
#include "sw/schedules/offload_config.h"

namespace weft::schedules {

/// Data parallel training with what is trained in shards (Zhao et al., VLDB 2023; defaults as torchtitan runs FSDP2).
/// Where `shards` is less than all ranks, several copies of the parameters exist and add up their gradients: hybrid
/// sharding (HSDP), or with one shard a copy plain data parallelism (DDP).
struct FsdpConfig {
  std::string model = "llama3-8b";
  std::int64_t sequences = 1;
  std::int64_t sequence = 8192;
  std::int64_t layers = 0;
  models::Recompute recompute = models::Recompute::kSelectiveOp;
  models::Fusion fusion = models::Fusion::kEager;
  models::Code code = models::Code::kLlama;
  models::AttentionKernel attention = models::AttentionKernel::kFlash2;
  models::LinearType linear = models::LinearType::kPlain;
  int steps = 1;
  int shards = 0;
  bool reshard_after_forward = true;
  int forward_prefetch = 1;
  int backward_prefetch = 1;
  int limit_all_gathers = 2;
  bool separate_streams = false;
  ElementType parameter_type = ElementType::kBf16;
  ElementType reduce_type = ElementType::kFp32;
  bool flat_parameters = false;
  bool copies = true;
  optimizers::Choice optimizer;
  OffloadConfig offload;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("model", model,
          "A transformer (weft models), or a file with one: my.json, or my.csv:NAME for a row of a table");
    visit("sequences", sequences, "Sequences of one rank's batch", Range{1, 1 << 20});
    visit("sequence", sequence, "Tokens of a sequence", Range{1, 1 << 24});
    visit("layers", layers, "Layers to train, of an encoder and a decoder each; 0: all of the model", Range{0, 10000});
    visit("recompute", recompute, "Activations computed again in the backward pass");
    visit("fusion", fusion,
          "How elementwise work is cut into kernels: eager, with norms in one kernel, blocks compiled as torchtitan "
          "does, or all fused");
    visit("code", code,
          "Origin of the operators that are not fused: llama, Llama's reference code, as in torchtitan; fms, IBM's "
          "foundation-model-stack");
    visit("attention", attention, "Attention kernel: flash-2, PyTorch's default, or flash-3");
    visit("linear", linear,
          "Products of blocks' linear layers. plain: in the type of parameters; float8: with a scale for each tensor; "
          "weights are gathered in float8, too");
    visit("steps", steps, "Training steps to run", Range{1, 1000});
    visit(
        "shards", shards,
        "Consecutive ranks that share a copy of parameters, gradients and moments; 0: all; 1: every rank has them all",
        Range{0, 1 << 20});
    visit("reshard_after_forward", reshard_after_forward, "Free a block's parameters after its forward pass");
    visit("forward_prefetch", forward_prefetch, "Blocks whose Allgather is issued ahead of the one that computes",
          Range{0, 64});
    visit("backward_prefetch", backward_prefetch, "The same in the backward pass", Range{0, 64});
    visit("limit_all_gathers", limit_all_gathers, "Blocks gathered and not yet freed", Range{1, 64});
    visit("separate_streams", separate_streams,
          "ReduceScatters run beside Allgathers, on their own communicator; false: one after the other, as issued");
    visit("parameter_type", parameter_type, "Element type of gathered parameters");
    visit("reduce_type", reduce_type, "Element type in which gradients are summed");
    visit("flat_parameters", flat_parameters,
          "A unit's parameters are one tensor, gathered in place, as in FSDP1; false: each parameter by itself, as in "
          "FSDP2");
    visit("copies", copies,
          "Kernels around collectives: casts of shards and of their sums, copies into and out of buffers, or with flat "
          "parameters concatenation and division of gradients");
    optimizer.fields(visit);
    visit("offload", offload, "What is kept in remote memory and loaded when it is needed");
  }
};

/// A kernel as it is launched: what it needs and how it is called in pictures.
struct PlannedKernel {
  const char* label;
  accelerator::KernelWork work;
};

/// What is computed without a collective in between: the forward or backward pass of one unit.
struct Stage {
  std::vector<PlannedKernel> kernels;
  std::vector<PlannedKernel> observed;  ///< the optimizer's, in steps where it observes
  std::vector<PlannedKernel> tail;      ///< prepares gradients for their ReduceScatter
  int gathers_before = 0;               ///< Allgathers that it needs
  int scatter = -1;                     ///< its ReduceScatter
  int forward_of = -1;                  ///< the block whose forward pass it is, if it is one
  int backward_of = -1;
};

/// An Allgather of a step.
struct Gather {
  std::string name;
  std::uint64_t bytes;
  int buffer;     ///< in which it is gathered; 0 is the root unit's
  int first_use;  ///< stage
  int last_use;   ///< after which its buffer is free
  bool forward;
  std::vector<PlannedKernel> before;  ///< prepares the shard
};

/// A ReduceScatter of a step.
struct Scatter {
  std::string name;
  std::uint64_t elements;
  int after;                        ///< stage
  std::vector<PlannedKernel> sums;  ///< prepares the shard's sums for the optimizer
};

/// A piece of the optimizer's update (optimizers::Ordered).
struct PlannedPiece {
  std::string name;
  std::vector<PlannedKernel> kernels;
  std::size_t exchanged = 0;  ///< collectives of the update that its kernels wait for
  std::optional<optimizers::Exchange> exchange;
};

/// The update at the end of a step.
struct PlannedUpdate {
  std::vector<PlannedPiece> pieces;
  bool observes = false;         ///< the step's activations, by Stage::observed
  std::size_t longest_task = 0;  ///< in pieces

  [[nodiscard]] std::size_t exchanges() const;
  [[nodiscard]] std::vector<PlannedKernel> kernels() const;
};

/// One training step as lists: what is computed in which order, what is gathered and scattered for it. The root unit
/// (embedding and head) is gathered first and kept; blocks are gathered forward and, when they were freed, backward
/// again; the last block is not freed in between. With one shard nothing is gathered, and what would be scattered is
/// the gradients that copies add up.
struct FsdpPlan {
  std::vector<Stage> stages;
  std::vector<Gather> gathers;
  std::vector<Scatter> scatters;
  std::vector<PlannedUpdate> updates;  ///< those that differ
  std::vector<std::size_t> update_of;  ///< of a step in the optimizer's period, which of them
  std::int64_t period = 1;             ///< steps after which the optimizer's repeat
  optimizers::Kept kept;               ///< by the optimizer, on a rank
  std::int64_t streamed_bytes = 0;     ///< of the optimizer's state for a parameter, if it can be loaded in pieces
  /// Where weights are gathered in float8: the largest values of this rank's parts of them, and how many weights there
  /// are whose largest values ranks then agree on.
  std::vector<PlannedKernel> scaling;
  std::int64_t scales = 0;
  std::uint64_t root_elements = 0;
  std::uint64_t block_elements = 0;        ///< of the largest
  std::uint64_t block_gathered_bytes = 0;  ///< of the largest
  int block_buffers = 0;
  models::Transformer model;                 ///< with as many layers as are trained
  std::vector<std::uint64_t> activations;    ///< bytes that each block keeps until its backward pass
  std::int64_t operations = 0;               ///< in floating point of a rank's step, with those that are repeated
  std::uint64_t root_activations = 0;        ///< the same of embedding and head
  std::uint64_t recomputed_activations = 0;  ///< bytes that a block's backward pass makes again, the most of them

  [[nodiscard]] std::int64_t parameters() const { return models::total_parameters(model); }
  [[nodiscard]] int blocks() const { return static_cast<int>(activations.size()); }
  /// What a block keeps, and what all blocks before it do, each rounded up to a multiple of `alignment`.
  [[nodiscard]] std::uint64_t activations_of(int block, std::uint64_t alignment = 1) const {
    return (activations[static_cast<std::size_t>(block)] + alignment - 1) / alignment * alignment;
  }
  [[nodiscard]] std::uint64_t activations_before(int block, std::uint64_t alignment = 1) const {
    std::uint64_t sum = 0;
    for (int before = 0; before < block; ++before) sum += activations_of(before, alignment);
    return sum;
  }
  /// At the end of a step, from 0.
  [[nodiscard]] const PlannedUpdate& update(int step) const {
    return updates[update_of[static_cast<std::size_t>(step) % update_of.size()]];
  }
  [[nodiscard]] int forward_stage(int block) const { return 1 + block; }
  [[nodiscard]] int backward_stage(int block) const { return static_cast<int>(stages.size()) - 2 - block; }

  /// Of one of so many copies. Throws ConfigError, paths below `workload`, for a model that does not exist, or that
  /// cannot be in float8, and for what the optimizer cannot do.
  FsdpPlan(const FsdpConfig& config, const accelerator::ComputeConfig& compute, int shards, int copies = 1);

 private:
  void plan_updates(const FsdpConfig& config, const accelerator::ComputeConfig& compute, int shards, int copies);
};

}  // namespace weft::schedules
