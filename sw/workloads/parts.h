// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sw/models/shard_kernels.h"
#include "sw/workloads/config.h"
#include "traces/chakra/kernels.h"

/// What of the network is computed on a rank, cut where communication comes between.
namespace weft::workloads {

/// Compute nodes of a microbatch on a rank, each one or several kernels.
enum class Part : std::uint8_t {
  kEmbedding,
  kAttentionNorm,
  kAttentionQkv,
  kAttentionCore,  ///< with context parallelism one of the ring's steps
  kAttentionOut,
  kMlpNorm,
  kMlpUp,
  kMlpDown,
  kMlpResidual,
  kHeadNorm,
  kHead,
  kLoss,
  // Backward. The gradient of a product's input, which goes on to other ranks, is apart from that of its weight, which
  // can be computed meanwhile.
  kHeadInputGradient,
  kHeadWeightGradient,
  kHeadNormGradient,
  kMlpDownGradient,
  kMlpUpInputGradient,
  kMlpUpWeightGradient,
  kMlpNormGradient,
  kAttentionOutGradient,
  kAttentionCoreGradient,
  kAttentionQkvInputGradient,
  kAttentionQkvWeightGradient,
  kAttentionNormGradient,
  kEmbeddingGradient,
  // Of gradients that go to other ranks before a product, with sequence parallelism. In float8 alone.
  kMlpGradientCast,
  kAttentionGradientCast,
  // Of a block's forward pass, what is computed again.
  kAttentionNormAgain,
  kAttentionQkvAgain,
  kAttentionCoreAgain,
  kAttentionOutAgain,
  kMlpNormAgain,
  kMlpUpAgain,
};
inline constexpr std::size_t kParts = 33;
/// Such as "attention.qkv forward".
[[nodiscard]] std::string_view name_of(Part part);

/// Of all kernels of a part.
struct Work {
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t picoseconds = 0;
  std::vector<chakra::KernelDemand> kernels;
};

/// A rank's share of the parameters. Experts are reduced and sharded among other ranks than the rest.
struct Parameters {
  std::int64_t dense = 0;
  std::int64_t experts = 0;
  std::int64_t float8 = 0;  ///< of the dense ones, gathered in float8
};

/// The share of the ranks with one tensor-parallel coordinate. Heads and the MLP's columns are cut evenly (Shoeybi et
/// al., "Megatron-LM", arXiv 1909.08053, section 3). The vocabulary is, too, and what remains of it goes to the first
/// ranks one row each, where Megatron pads the table. Norms are on each rank; with sequence parallelism each computes
/// its part of the tokens (Korthikanti et al., MLSys 2023, section 4.2.2).
///
/// With experts, each takes an equal part of the tokens (GShard, ICLR 2021, with a capacity factor of 1 and a router
/// that is perfectly balanced). The router's own product and parameters are left out.
class RankShare {
 public:
  RankShare(const WorkloadConfig& config, std::int64_t tensor_rank);

  [[nodiscard]] const Work& work(Part part) const { return parts_[static_cast<std::size_t>(part)]; }
  /// Of a part, with asynchronous tensor parallelism: the products of one rank's tokens, and what else there is.
  [[nodiscard]] const Work& chunk(Part part) const { return chunks_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] const Work& rest(Part part) const { return rests_[static_cast<std::size_t>(part)]; }
  /// Adam on so many parameters of a rank.
  [[nodiscard]] Work optimizer(std::int64_t parameters) const;
  /// What is done to a shard before it is gathered.
  [[nodiscard]] Work cast(const models::Shard& shard) const;
  /// A kernel that reads so many bytes and writes them elsewhere.
  [[nodiscard]] Work copy(std::int64_t read, std::int64_t written) const;

  [[nodiscard]] Parameters embedding() const { return {embedding_, 0}; }
  [[nodiscard]] Parameters block() const { return block_; }
  [[nodiscard]] Parameters head() const { return {head_, 0}; }
  /// Bytes that a microbatch leaves until its backward pass (models::kept_activations): in the embedding, in a block
  /// from 0, in the head.
  [[nodiscard]] std::int64_t embedding_activations() const { return embedding_activations_; }
  [[nodiscard]] std::int64_t block_activations(std::int64_t block) const {
    return block_activations_[static_cast<std::size_t>(block % 2)];
  }
  [[nodiscard]] std::int64_t head_activations() const { return head_activations_; }
  /// What the backward pass of a block makes again, at most.
  [[nodiscard]] std::int64_t repeated_activations() const { return repeated_activations_; }
  /// The part of the embedding that a tied model's head multiplies with.
  [[nodiscard]] std::int64_t vocabulary_table() const { return vocabulary_table_; }

 private:
  void add(Work& sum, const models::Kernel& kernel) const;
  void add(Part part, models::Kernel kernel);
  void add_all(const std::vector<models::Kernel>& kernels, bool experts_only);
  void count_activations(const models::Transformer& local, models::StepShape shape);

  const WorkloadConfig& config_;
  std::array<Work, kParts> parts_{};
  std::array<Work, kParts> chunks_{};
  std::array<Work, kParts> rests_{};
  std::int64_t embedding_ = 0;
  Parameters block_;
  std::int64_t head_ = 0;
  std::int64_t vocabulary_table_ = 0;
  std::int64_t embedding_activations_ = 0;
  std::array<std::int64_t, 2> block_activations_{};  ///< of even and odd ones
  std::int64_t head_activations_ = 0;
  std::int64_t repeated_activations_ = 0;
};

}  // namespace weft::workloads
