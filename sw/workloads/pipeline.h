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
};
inline EnumNames<PipelineSchedule> enum_names(PipelineSchedule /*tag*/) {
  return {{"gpipe", PipelineSchedule::kGPipe},
          {"1f1b", PipelineSchedule::kOneForwardOneBackward},
          {"interleaved", PipelineSchedule::kInterleaved}};
}

struct Pipeline {
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  std::int64_t stages = 1;
  std::int64_t chunks = 1;  ///< of layers on a stage: its virtual stages; above 1 with kInterleaved alone
  std::int64_t microbatches = 1;

  /// The chunk's place among those of all stages.
  [[nodiscard]] std::int64_t virtual_stage(std::int64_t stage, std::int64_t chunk) const {
    return chunk * stages + stage;
  }
  [[nodiscard]] std::int64_t virtual_stages() const { return stages * chunks; }

  /// The idle time of a stage over its busy one, with stages that take equal time and messages that take none:
  /// (p - 1) / m, and (p - 1) / (v m) interleaved (Megatron-LM, SC21, section 2.2).
  [[nodiscard]] double bubble() const {
    return static_cast<double>(stages - 1) / static_cast<double>(chunks * microbatches);
  }
};

/// The forward or backward pass of a microbatch through a chunk.
struct PipelineOperation {
  bool forward = true;
  std::int64_t chunk = 0;
  std::int64_t microbatch = 0;
};

/// What a stage does, in order. At most so many microbatches of a chunk have had their forward and not their backward
/// pass at a time: all with GPipe, stages - stage with 1F1B.
/// Interleaved, the microbatches must be a multiple of the stages.
std::vector<PipelineOperation> stage_operations(const Pipeline& pipeline, std::int64_t stage);

}  // namespace weft::workloads
