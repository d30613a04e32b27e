// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "sw/models/shard_kernels.h"
#include "sw/optimizers/optimizer.h"
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
  kMlpResidual,  ///< with experts also the sum of what a token's experts give
  kRouter,       ///< and a copy of each token for each of its experts
  kShared,       ///< what all tokens go to
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
  kCombineGradient,  ///< of what a token's experts give
  kSharedGradient,
  kRouterGradient,
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
  kRouterAgain,
  kSharedAgain,
  kWeightGradients,  ///< of a unit, all of them, where backward passes are cut
  // Of a module that predicts the token after the next, before its block.
  kPrediction,
  kPredictionGradient,
  kPredictionWeightGradient,
};
inline constexpr std::size_t kParts = 44;
/// Such as "attention.qkv forward".
[[nodiscard]] std::string_view name_of(Part part);

/// Of all kernels of a part.
struct Work {
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t picoseconds = 0;
  std::vector<chakra::KernelDemand> kernels;
  std::vector<int> launches;  ///< of each, by the host
};

/// A rank's share of the parameters. Experts are reduced and sharded among other ranks than the rest.
struct Parameters {
  std::int64_t dense = 0;
  std::int64_t experts = 0;
  /// Of these, in linear layers of blocks, and in how many tensors.
  std::int64_t linear = 0;
  std::int64_t expert_linear = 0;
  std::int64_t weights = 0;
  std::int64_t expert_weights = 0;
};

/// A block's, or those of embedding and head.
struct UnitShare {
  std::array<Work, kParts> parts{};
  /// Of a part, with asynchronous tensor parallelism: the products of one rank's tokens, and what else there is.
  std::array<Work, kParts> chunks{};
  std::array<Work, kParts> rests{};
  Parameters parameters;
  /// The same as tensors, those of experts apart from the rest.
  std::vector<optimizers::Tensors> tensors;
  std::vector<optimizers::Tensors> expert_tensors;
  /// Bytes that a microbatch leaves until its backward pass (models::kept_activations).
  std::int64_t activations = 0;
  /// What the backward pass makes again.
  std::int64_t repeated = 0;
  /// Of a block with experts: how often a token of a microbatch goes to each rank of the group, and how often some come
  /// to this one's.
  std::vector<std::int64_t> sent;
  std::int64_t received = 0;
};

/// What one rank computes and keeps. Heads and the MLP's columns are cut evenly (Shoeybi et al., "Megatron-LM", arXiv
/// 1909.08053, section 3). The vocabulary is, too, and what remains of it goes to the first ranks one row each, where
/// Megatron pads the table. Norms are on each rank, as are the products of latent attention whose results are no heads;
/// with sequence parallelism each computes its part of the tokens' norms and routers (Korthikanti et al., MLSys 2023,
/// section 4.2.2).
///
/// Experts compute what comes to them (ExpertLoad): no token is dropped and none is padded.
class RankShare {
 public:
  RankShare(const WorkloadConfig& config, std::int64_t rank);

  [[nodiscard]] const UnitShare& embedding() const { return embedding_; }
  [[nodiscard]] bool has(std::int64_t block) const { return blocks_[static_cast<std::size_t>(block)] != nullptr; }
  /// From 0; one of this rank's stages.
  [[nodiscard]] const UnitShare& block(std::int64_t block) const { return *blocks_[static_cast<std::size_t>(block)]; }
  [[nodiscard]] const UnitShare& head() const { return head_; }
  /// The most that the backward pass of a block makes again.
  [[nodiscard]] std::int64_t repeated_activations() const;
  [[nodiscard]] Work work_of(const std::vector<models::Kernel>& kernels) const;
  /// The casts of so many weights that have been updated.
  [[nodiscard]] std::vector<models::Kernel> weight_casts(std::int64_t weights) const;
  /// What is done to a shard before it is gathered.
  [[nodiscard]] Work cast(const models::Shard& shard) const;
  /// A kernel that reads so many bytes and writes them elsewhere.
  [[nodiscard]] Work copy(std::int64_t read, std::int64_t written) const;
  /// The part of the embedding that a tied model's head multiplies with.
  [[nodiscard]] std::int64_t vocabulary_table() const { return vocabulary_table_; }

 private:
  /// In which blocks differ.
  struct Kind {
    models::UnitKind kind = models::UnitKind::kBlock;
    std::int64_t window = 0;
    models::Recompute recompute = models::Recompute::kNone;
    std::int64_t block = 0;  ///< with experts that have loads of their own
    bool predicts = false;   ///< of a module that predicts the token after the next

    auto operator<=>(const Kind&) const = default;
  };
  [[nodiscard]] models::StepShape shape() const;
  [[nodiscard]] UnitShare share(const models::Transformer& local, const models::StepShape& shape,
                                models::UnitKind kind) const;
  void add_prediction(UnitShare& unit, const models::Transformer& local, const models::StepShape& shape) const;
  void add_block(std::int64_t block, const models::Transformer& local, std::int64_t expert_place);
  void add_tensors(UnitShare& unit, const models::Transformer& local, models::UnitKind kind) const;
  void add(Work& sum, const models::Kernel& kernel) const;
  [[nodiscard]] Part in_program(Part part, std::string_view kernel) const;
  void add(UnitShare& unit, Part part, models::Kernel kernel) const;

  const WorkloadConfig& config_;
  std::map<Kind, UnitShare> kinds_;
  UnitShare embedding_;
  UnitShare head_;
  std::vector<const UnitShare*> blocks_;  ///< by number; null on other stages
  std::int64_t vocabulary_table_ = 0;
};

}  // namespace weft::workloads
