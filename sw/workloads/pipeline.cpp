// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/pipeline.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::workloads {
namespace {

/// The i-th forward or backward pass of a stage: rounds of a microbatch for each stage go through one chunk after the
/// other, backward passes from the last chunk to the first. With one chunk that is the microbatches in order.
PipelineOperation nth(const Pipeline& pipeline, std::int64_t i, bool forward) {
  const std::int64_t round = pipeline.chunks > 1 ? pipeline.stages : pipeline.microbatches;
  const std::int64_t in_round = i % (round * pipeline.chunks);
  const std::int64_t chunk = in_round / round;
  return {forward, forward ? chunk : pipeline.chunks - 1 - chunk,
          i / (round * pipeline.chunks) * round + in_round % round};
}

/// Forward passes before the first backward one.
std::int64_t warm_up(const Pipeline& pipeline, std::int64_t stage) {
  const std::int64_t all = pipeline.microbatches * pipeline.chunks;
  const std::int64_t behind = pipeline.stages - 1 - stage;
  if (pipeline.schedule == PipelineSchedule::kGPipe) return all;
  const std::int64_t more = pipeline.overlaps ? 1 : 0;
  if (pipeline.chunks == 1) return std::min(all, behind + more);
  return std::min(all, 2 * behind + (pipeline.chunks - 1) * pipeline.stages + more);
}

using Weights = PipelineOperation::Weights;

/// Of a stage, gradients of weights follow as many backward passes behind as there are stages before it.
std::vector<PipelineOperation> zero_bubble(const Pipeline& pipeline, std::int64_t stage) {
  std::vector<PipelineOperation> operations;
  const std::int64_t warm = std::min(pipeline.microbatches, pipeline.stages - 1 - stage);
  for (std::int64_t i = 0; i < warm; ++i) operations.push_back({true, 0, i});
  std::int64_t weights = 0;
  for (std::int64_t i = 0; i < pipeline.microbatches; ++i) {
    if (i + warm < pipeline.microbatches) operations.push_back({true, 0, i + warm});
    operations.push_back({false, 0, i, Weights::kLater});
    if (i >= stage) operations.push_back({false, 0, weights++, Weights::kAlone});
  }
  while (weights < pipeline.microbatches) operations.push_back({false, 0, weights++, Weights::kAlone});
  return operations;
}

/// As DualPipe.step() of deepseek-ai/DualPipe (dualpipe/dualpipe.py) has it. Phase 0 is the direction that begins at
/// the nearer end.
class DualPipe {
 public:
  DualPipe(const Pipeline& pipeline, std::int64_t stage)
      : half_(pipeline.microbatches / 2),
        nearer_(std::min(stage, pipeline.stages - 1 - stage)),
        is_second_half_(stage >= pipeline.stages / 2) {
    const std::int64_t from_middle = pipeline.stages / 2 - nearer_ - 1;
    for (std::int64_t i = 0; i < 2 * from_middle; ++i) forward(0);
    for (std::int64_t i = 0; i < nearer_ + 1; ++i) {
      forward(0);
      forward(1);
    }
    for (std::int64_t i = 0; i < from_middle; ++i) {
      backward(1, Weights::kLater);
      weights();
      forward(1);
    }
    for (std::int64_t i = 0; i < half_ - pipeline.stages + nearer_ + 1; ++i) {
      // In the middle the first two are not one with the other, for a shorter bubble.
      forward(0, i > 0 || from_middle > 0);
      backward(1);
      forward(1, true);
      backward(0);
    }
    for (std::int64_t i = 0; i < from_middle; ++i) {
      backward(1);
      forward(1, true);
      backward(0);
    }
    Weights later = Weights::kWith;
    for (std::int64_t i = 0; i < nearer_ + 1; ++i) {
      const bool is_half = i == (nearer_ + 1) / 2;
      if (is_half && nearer_ % 2 == 1) later = Weights::kLater;
      backward(1, later);
      if (is_half && nearer_ % 2 == 0) later = Weights::kLater;
      backward(0, later);
    }
    for (std::int64_t i = 0; i < from_middle; ++i) {
      weights();
      backward(0, Weights::kLater);
    }
    while (done_ < later_.size()) weights();
  }

  std::vector<PipelineOperation> take() { return std::move(operations_); }

 private:
  [[nodiscard]] std::int64_t chunk(int phase) const { return is_second_half_ ? 1 - phase : phase; }
  void forward(int phase, bool beside = false) {
    const std::int64_t which = chunk(phase);
    operations_.push_back({true, which, which * half_ + forwards_[static_cast<std::size_t>(phase)]++, {}, beside});
  }
  void backward(int phase, Weights weights = Weights::kWith) {
    const std::int64_t which = chunk(phase);
    operations_.push_back(
        {false, which, which * half_ + backwards_[static_cast<std::size_t>(phase)]++, weights, false});
    if (weights == Weights::kLater) later_.push_back(operations_.back());
  }
  void weights() {
    operations_.push_back(later_[done_++]);
    operations_.back().weights = Weights::kAlone;
  }

  std::int64_t half_;
  std::int64_t nearer_;
  bool is_second_half_;
  std::array<std::int64_t, 2> forwards_{};
  std::array<std::int64_t, 2> backwards_{};
  std::vector<PipelineOperation> later_;
  std::size_t done_ = 0;  ///< of these
  std::vector<PipelineOperation> operations_;
};

}  // namespace

std::vector<PipelineOperation> stage_operations(const Pipeline& pipeline, std::int64_t stage) {
  if (pipeline.is_dual()) return DualPipe(pipeline, stage).take();
  if (pipeline.splits_backward()) return zero_bubble(pipeline, stage);
  const std::int64_t all = pipeline.microbatches * pipeline.chunks;
  const std::int64_t warm = warm_up(pipeline, stage);
  std::vector<PipelineOperation> operations;
  operations.reserve(static_cast<std::size_t>(2 * all));
  for (std::int64_t i = 0; i < warm; ++i) operations.push_back(nth(pipeline, i, true));
  for (std::int64_t i = warm; i < all; ++i) {
    operations.push_back(nth(pipeline, i, true));
    operations.back().beside_next = pipeline.overlaps;
    operations.push_back(nth(pipeline, i - warm, false));
  }
  const bool latest_first = pipeline.schedule == PipelineSchedule::kGPipe;
  for (std::int64_t i = all - warm; i < all; ++i) {
    operations.push_back(nth(pipeline, latest_first ? all - 1 - i : i, false));
  }
  return operations;
}

}  // namespace weft::workloads
