// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/pipeline.h"

#include <algorithm>

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
  if (pipeline.chunks == 1) return std::min(all, behind);
  return std::min(all, 2 * behind + (pipeline.chunks - 1) * pipeline.stages);
}

}  // namespace

std::vector<PipelineOperation> stage_operations(const Pipeline& pipeline, std::int64_t stage) {
  const std::int64_t all = pipeline.microbatches * pipeline.chunks;
  const std::int64_t warm = warm_up(pipeline, stage);
  std::vector<PipelineOperation> operations;
  operations.reserve(static_cast<std::size_t>(2 * all));
  for (std::int64_t i = 0; i < warm; ++i) operations.push_back(nth(pipeline, i, true));
  for (std::int64_t i = warm; i < all; ++i) {
    operations.push_back(nth(pipeline, i, true));
    operations.push_back(nth(pipeline, i - warm, false));
  }
  const bool latest_first = pipeline.schedule == PipelineSchedule::kGPipe;
  for (std::int64_t i = all - warm; i < all; ++i) {
    operations.push_back(nth(pipeline, latest_first ? all - 1 - i : i, false));
  }
  return operations;
}

}  // namespace weft::workloads
