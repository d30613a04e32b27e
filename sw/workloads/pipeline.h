// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"

/// In which order a pipeline stage works off its microbatches.
namespace weft::workloads {

enum class PipelineSchedule : std::uint8_t {
  /// All forward passes, then all backward passes, the latest first (Huang et al., "GPipe", NeurIPS 2019, section 2.3).
  kGPipe,
  /// Forward passes until the first gradient comes, then one forward and one backward in turn, and a flush at the end
  /// of the step (PipeDream-Flush: Narayanan et al., ICML 2021; Megatron-LM, SC21, section 2.2.1).
  kOneForwardOneBackward,
  /// The same with several chunks of layers on each stage, which lie apart by the number of stages (Megatron-LM, SC21,
  /// section 2.2.2). Microbatches go in rounds of as many as there are stages.
  kInterleaved,
  /// 1F1B whose backward passes are cut: gradients of inputs go on first, and those of weights fill the time in which a
  /// stage would wait, a stage so many microbatches behind as there are stages before it. As many activations are kept
  /// (ZB-H1: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.3).
  kZeroBubble,
  /// Microbatches enter at both ends, half of them each, so that each stage has two parts of the model and each part is
  /// on two stages. A forward pass of one direction runs with a backward pass of the other (DeepSeek-V3, arXiv
  /// 2412.19437, section 3.2.1; the order is that of deepseek-ai/DualPipe).
  kDualPipe,
};
inline EnumNames<PipelineSchedule> enum_names(PipelineSchedule /*tag*/) {
  return {{"gpipe", PipelineSchedule::kGPipe},
          {"1f1b", PipelineSchedule::kOneForwardOneBackward},
          {"interleaved", PipelineSchedule::kInterleaved},
          {"zero-bubble", PipelineSchedule::kZeroBubble},
          {"dualpipe", PipelineSchedule::kDualPipe}};
}

struct Pipeline {
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  std::int64_t stages = 1;
  std::int64_t chunks = 1;  ///< of layers on a stage: its virtual stages; above 1 with kInterleaved, 2 with kDualPipe
  std::int64_t microbatches = 1;
  /// A forward and a backward pass in turn are one with the other: each stage has one more forward pass at first
  /// (Megatron-Core's --overlap-moe-expert-parallel-comm). With kDualPipe they are at any rate in pairs.
  bool overlaps = false;

  [[nodiscard]] bool is_dual() const { return schedule == PipelineSchedule::kDualPipe; }
  /// Gradients of weights are apart from those of inputs.
  [[nodiscard]] bool splits_backward() const { return is_dual() || schedule == PipelineSchedule::kZeroBubble; }
  /// The chunk's place among those of all stages. With kDualPipe chunk 1 goes the other way.
  [[nodiscard]] std::int64_t virtual_stage(std::int64_t stage, std::int64_t chunk) const {
    if (is_dual()) return chunk == 0 ? stage : stages - 1 - stage;
    return chunk * stages + stage;
  }
  [[nodiscard]] std::int64_t virtual_stages() const { return is_dual() ? stages : stages * chunks; }
  /// That has the chunk at this place; `chunk` tells the direction with kDualPipe.
  [[nodiscard]] std::int64_t stage_of(std::int64_t place, std::int64_t chunk) const {
    return is_dual() && chunk == 1 ? stages - 1 - place : place % stages;
  }
  /// That go through a chunk.
  [[nodiscard]] std::int64_t microbatches_of_chunk() const { return is_dual() ? microbatches / 2 : microbatches; }

  /// The idle time of a stage over its busy one, with stages that take equal time, messages that take none, and
  /// backward passes of which each half takes as long as a forward pass: (p - 1) / m; interleaved (p - 1) / (v m)
  /// (Megatron-LM, SC21, section 2.2); (p - 1) (F + B - 2 W) = p - 1 forward passes with kZeroBubble, and (p / 2 - 1)
  /// (F&B + B - 3 W) = p - 2 with kDualPipe (DeepSeek-V3, table 2).
  [[nodiscard]] double bubble() const {
    constexpr double kPasses = 3;
    if (is_dual()) return static_cast<double>(stages - 2) / (kPasses * static_cast<double>(microbatches));
    const double busy = static_cast<double>(chunks * microbatches) * (splits_backward() ? kPasses : 1);
    return static_cast<double>(stages - 1) / busy;
  }
};

/// The forward or backward pass of a microbatch through a chunk.
struct PipelineOperation {
  enum class Weights : std::uint8_t {
    kWith,   ///< their gradients are computed with those of inputs
    kLater,  ///< they are not computed
    kAlone,  ///< only they are
  };

  bool forward = true;
  std::int64_t chunk = 0;
  std::int64_t microbatch = 0;
  Weights weights = Weights::kWith;  ///< of a backward pass
  bool beside_next = false;          ///< it runs with the operation behind it

  bool operator==(const PipelineOperation&) const = default;
};

/// What a stage does, in order. At most so many microbatches of a chunk have had their forward and not their backward
/// pass at a time: all with GPipe, stages - stage with 1F1B, one more if passes overlap, with DualPipe stages + 1 of
/// both chunks. Interleaved, the microbatches must be a multiple of the stages; with DualPipe they are even and twice
/// as many at the least.
std::vector<PipelineOperation> stage_operations(const Pipeline& pipeline, std::int64_t stage);

}  // namespace weft::workloads
