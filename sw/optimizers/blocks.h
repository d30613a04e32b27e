// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/models/kernels.h"
#include "sw/optimizers/optimizer.h"

/// Matrices cut into blocks that have factors L and R of their own, as Shampoo and SOAP take them, and how ranks share
/// blocks (Shi et al., "A Distributed Data-Parallel PyTorch Implementation of the Distributed Shampoo Optimizer", arXiv
/// 2309.06497, sections 3 and 4; facebookresearch/optimizers, distributed_shampoo):
///
/// - of shards, each rank cuts its rows of a matrix and sends nothing; where there are copies of the shards, the blocks
///   of a shard have owners among the ranks that have it, and updates are gathered among these (HSDPDistributor, with
///   `num_trainers_per_group` -1);
/// - where all ranks have all, blocks have owners, the largest first to whoever has the least; updates are gathered;
/// - what a rank is given are whole tensors, as in layer_wise.h.
namespace weft::optimizers {

/// `count` blocks of one shape.
struct Blocks {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t elements() const { return count * rows * cols; }
  /// Of one factor for the rows and one for the columns, of each block.
  [[nodiscard]] std::int64_t factor_elements() const { return count * (rows * rows + cols * cols); }
};

/// Of blocks of at most `most` rows and columns, those that the rank computes updates of.
[[nodiscard]] std::vector<Blocks> own_blocks(const Holding& holding, std::int64_t most);

/// What an optimizer does to its blocks, beside AdamW on all else.
class BlockOptimizer : public Optimizer {
 public:
  /// `interval`: steps from one renewal, of inverse roots or bases, to the next; the first step has one.
  BlockOptimizer(std::int64_t most, std::int64_t interval) : most_(most), interval_(interval) {}

  void check(const Problem& problem) const override;
  [[nodiscard]] std::vector<Task> update(const Problem& problem, std::int64_t step) const override;
  [[nodiscard]] std::int64_t period() const override { return interval_; }
  [[nodiscard]] std::int64_t like(std::int64_t step) const override { return step % interval_ == 0 ? 0 : 1; }
  [[nodiscard]] Kept kept(const Problem& problem) const override;

 protected:
  [[nodiscard]] virtual const char* name() const = 0;
  /// Until the update of a block is there, in 32 bits.
  virtual void add_direction(std::vector<models::Kernel>& kernels, const Blocks& blocks, bool renews,
                             models::Fusion fusion) const = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::int64_t>> state(const Blocks& blocks) const = 0;

 private:
  std::int64_t most_;
  std::int64_t interval_;
};

}  // namespace weft::optimizers
