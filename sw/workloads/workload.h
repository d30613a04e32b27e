// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sw/workloads/config.h"
#include "sw/workloads/groups.h"
#include "sw/workloads/marks.h"
#include "traces/chakra/groups.h"
#include "traces/chakra/node.h"

namespace weft::workloads {

/// What a rank communicates for.
enum class Purpose : std::uint8_t {
  kTensorParallel,
  kContextParallel,
  kExpertParallel,
  kPipeline,
  kParameters,
  kGradients,
  kTiedEmbedding,
  kOptimizer,
};
inline constexpr std::size_t kPurposes = 8;
/// Such as "tensor_parallel".
[[nodiscard]] std::string_view name_of(Purpose purpose);

/// What one rank's graph comes to.
struct RankSums {
  struct Volume {
    std::int64_t nodes = 0;
    /// Of collectives the whole buffer, for an Allgather what it gathers; of messages what is sent.
    std::int64_t bytes = 0;
  };

  std::int64_t nodes = 0;
  std::int64_t operations = 0;
  std::int64_t parameters = 0;            ///< that the rank keeps, its shard of them with fsdp
  std::int64_t optimizer_operations = 0;  ///< of all, those of the optimizer
  /// Of parameters, gradients and optimizer: with AdamW and parameters of 16 bits 16 bytes a parameter, of which 12 are
  /// the optimizer's in 32 bits (Rajbhandari et al., "ZeRO", SC20, section 3.1). A distributed optimizer has those of
  /// the rank's share alone.
  std::int64_t state_bytes = 0;
  std::int64_t parameter_bytes = 0;  ///< with casts of weights that are kept for a step
  std::int64_t gradient_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  /// What these are, and the bytes of each.
  std::vector<std::pair<std::string, std::int64_t>> optimizer_parts;
  /// Of microbatches whose backward pass is still to come, and what a block computes again: the most at a time.
  std::int64_t activation_bytes = 0;
  /// Of parameters that fsdp has gathered, the most at a time.
  std::int64_t gathered_bytes = 0;
  /// How often a token came to the rank's experts, of all blocks and microbatches.
  std::int64_t routed_tokens = 0;
  std::array<Volume, kPurposes> communication{};

  [[nodiscard]] const Volume& of(Purpose purpose) const { return communication[static_cast<std::size_t>(purpose)]; }
};

/// The graphs of a training step of a decoder-only transformer, one a rank, in any product of these ways to be
/// parallel:
///
/// - tp: each block's two products with a cut weight end in an AllReduce, forward and backward (Shoeybi et al.,
///   arXiv 1909.08053, section 3): 4 AllReduces of tokens x width a block, one for the embedding, one for the head's
///   input gradient, and 3 of a number a token for the loss. With sequence_parallel each becomes a ReduceScatter and an
///   Allgather, and the inputs of a block's products are gathered again for the gradients of their weights (Korthikanti
///   et al., MLSys 2023, section 4.2.2). Weights' gradients are computed beside the communication of the inputs'.
///   With async_tensor_parallel a block's products and what they take or give between ranks are cut into a chunk for
///   each rank, which are messages while others are computed (Wang et al., "Overlap Communication with Dependent
///   Computation via Decomposition", ASPLOS 2023), as PyTorch's compiler has it.
/// - cp: keys and values go round in a ring, beside the attention to those that are there (Liu et al., "Ring
///   Attention", ICLR 2024, section 3); backward their gradients go round, too, and come home. Each step is equal work:
///   causal ranks hold a part of the sequence's beginning and the equal part of its end.
/// - ep: experts lie on different ranks: an AllToAll to them and one back, forward and backward (GShard, section 3.2),
///   of as many bytes as tokens that go to experts, once for each. The ranks are some of those of cp, fsdp and dp, and
///   of tp where etp is less (Parallelism); so gradients of experts are reduced among fewer ranks than others. Each
///   rank of tp exchanges its share of the tokens; an Allgather among the ranks of etp brings what has come to all, for
///   their columns of the experts, and a ReduceScatter sums and shares what these give before it goes back
///   (Megatron-Core's AllToAll dispatcher). Without sequence_parallel an Allgather ends it. What all tokens go to is
///   computed beside the exchange to the experts, forward and backward. With a load that is not balanced
///   (expert_load.h) AllToAlls have the attributes send_bytes and receive_bytes: numbers for each member. With the
///   dispatcher deepep a token comes once to a rank and once to a node (expert_spread.h; chakra::Tokens). With
///   overlap_experts a forward and a backward pass take turns at each AllToAll, as Megatron-Core has it.
/// - pp: pipeline.h. A stage sends as soon as it has computed, and computes on meanwhile. Receives are posted while the
///   operation before computes.
/// - dp: gradients of each block are reduced by an AllReduce as soon as the last microbatch has them, beside the
///   backward pass of the blocks before it (Li et al., "PyTorch Distributed", VLDB 2020, section 3.2). A distributed
///   optimizer has a ReduceScatter in its place, and an Allgather of what each rank has updated, `prefetch` units ahead
///   of the forward pass that uses it; the first step begins with one, too.
/// - fsdp: the parameters of a block are gathered before its forward and again before its backward pass, `prefetch`
///   units ahead, and its gradients are scattered after (ZeRO stage 3; Zhao et al., "PyTorch FSDP", VLDB 2023): 3 times
///   the parameters for a block and a microbatch. Embedding and head are one unit, gathered once for both passes. With
///   a pipeline, parameters stay gathered for the step and gradients are scattered once, twice the parameters in all.
///   Context ranks shard, too, as they hold the same parameters; dp ranks reduce their shards among
///   them (hybrid sharding).
///
/// Ranks that hold both ends of a tied embedding add up its gradients at the end. The optimizer waits for all
/// gradients; one that has collectives of its own (sw/optimizers) is several nodes, whose tasks overlap.
///
/// Compute nodes are in a chain: what one executes is one program's order, whatever is ready first. Collectives wait
/// for the compute node that the program has before them. So each rank issues its collectives in the order of their
/// ids whatever the times are, and executors with one communication at a time, such as ASTRA-sim, end.
///
/// Nodes have num_ops and tensor_size for a roofline, and a duration if the config has times. Elementwise work counts
/// as no operations in RankSums; in a node that has nothing else num_ops is 1, since ASTRA-sim divides by it.
///
/// `recompute` runs a block's forward pass again before its backward pass, as far as that needs it, by the kernels of
/// an FSDP run. Tokens are gathered again, which serves the weights' gradients, too. Sums, exchanges and attention's
/// ring are done again where all is recomputed, and kept where it is selective by operator, as in torchtitan's list of
/// operators (its parallelize_llama.py).
///
/// `float8_weights` keeps weights of blocks' linear layers as products of 8 bits take them, as Megatron-LM's
/// --fp8-param-gather does with Transformer Engine; the optimizer's copy in 32 bits stays shared out.
///
/// - float8, a scale for each tensor: behind the optimizer each rank rounds its shard to 16 bits and finds the largest
///   value of each tensor; an AllReduce of a number for each tensor among the ranks that share them gives the scales,
///   and the shard is cast (quantize_master_weights in Transformer Engine). The Allgather brings bytes. Products that
///   need an operand along the other dimension (ComputeConfig::fp8_any_layout is false: Hopper) get a transposed copy
///   behind it, which is kept for the step (post_all_gather_processing); with fsdp each backward pass makes one.
/// - mxfp8: rows and columns have scales of their own, and neither can be made from the other, so that both are kept,
///   with a byte for 32 values each. The Allgather is one of 16 bits, into the memory of the gradients, and what has
///   come is cast both ways before its first use (Megatron-LM's --reuse-grad-buf-for-mxfp8-param-ag, which its
///   documentation demands with MXFP8). Not with fsdp.
///
/// Passes cast no weights. Without `float8_weights` the casts of mxfp8, nvfp4 and of Transformer Engine's float8 are
/// made once in a step and kept beside the parameters of 16 bits.
///
/// Left out: dropout, the gradient norm's AllReduce, the loss's mean over ranks; of experts the loss that balances them
/// and the exchange of how many tokens come.
class TransformerWorkload {
 public:
  /// Throws WorkloadError.
  explicit TransformerWorkload(WorkloadConfig config);

  [[nodiscard]] const WorkloadConfig& config() const { return config_; }
  [[nodiscard]] std::int64_t ranks() const { return config_.parallel.ranks(); }
  /// Communicators with more than one member.
  [[nodiscard]] std::vector<chakra::RankGroup> groups() const { return groups_.all(); }
  /// Hands over the nodes of a rank, ids from 0, dependencies before those that depend on them.
  /// Marks come between the nodes, if somebody takes them.
  RankSums generate(std::int64_t rank, const std::function<void(const chakra::Node&)>& take, TakeMark mark = {}) const;

 private:
  WorkloadConfig config_;
  Groups groups_;
};

/// Sees ranks' graphs while they are written, one rank after the other.
class GraphReader {
 public:
  GraphReader() = default;
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;
  virtual ~GraphReader() = default;
  virtual void node(std::size_t rank, const chakra::Node& node) = 0;
  virtual void mark(std::size_t rank, const Mark& mark) = 0;
};

/// Writes PREFIX.RANK.et for each rank and, where there are any, PREFIX.groups.json; when one fails, none are left.
/// Throws std::system_error.
std::vector<RankSums> write_workload(const TransformerWorkload& workload, const std::filesystem::path& prefix,
                                     GraphReader* reader = nullptr);

}  // namespace weft::workloads
