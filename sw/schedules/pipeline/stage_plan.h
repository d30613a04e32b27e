// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sw/compression/compressor.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/pipeline/cut.h"
#include "sw/schedules/pipeline/pipeline_config.h"
#include "sw/schedules/pipeline/units.h"

/// A pipeline before it runs: who computes what, and what travels.
namespace weft::schedules {

/// Of a microbatch from a stage to the next one; gradients come back in messages of the same size.
struct StageHop {
  StageLink link;
  std::int64_t elements = 0;
  std::int64_t samples = 1;  ///< of which these are, in equal parts
  std::uint64_t dense = 0;   ///< bytes without compression
  std::uint64_t bytes = 0;   ///< that travel
  double seconds = 0;        ///< of a message without compression, alone on its way
  double reduction = 1;      ///< how many times fewer elements travel
  bool compressed = false;
  compression::CompressionConfig how;  ///< of this link
  StageKernels pack;                   ///< before it is sent
  StageKernels unpack;                 ///< when it has come

  /// As it is sent.
  [[nodiscard]] double sent_seconds() const;
};

struct PipelineStage {
  int rank = 0;
  std::size_t first = 0;  ///< unit
  std::size_t end = 0;
  StageKernels forward;
  StageKernels backward;
  StageKernels update;
  std::int64_t parameters = 0;
  double seconds = 0;  ///< of a microbatch, both ways, without compression
  std::uint64_t state_bytes = 0;
  std::uint64_t kept_bytes = 0;     ///< of all microbatches that are under way at a time
  std::uint64_t message_bytes = 0;  ///< of buffers that messages are sent from and come to
};

struct PipelinePlan {
  PipelineConfig config;
  workloads::Pipeline pipeline;
  std::vector<PipelineStage> stages;
  std::vector<StageHop> hops;  ///< one fewer

  /// The published estimate: the sum over stages of what each computes and sends, and for each microbatch but the first
  /// the longest of these (FusionLLM, arXiv 2410.12707). Seconds of a step, without updates.
  [[nodiscard]] double estimate() const;
};

/// What a pipeline runs on.
struct PipelineSite {
  std::vector<firmware::Rank*> ranks;  ///< each with its speed and its memory
  std::vector<int> parts;              ///< by rank: those with the same number are alike
  LinkBetween link;
  std::int64_t seed = 1;
};

/// Throws ConfigError.
[[nodiscard]] PipelinePlan plan_pipeline(const PipelineSite& site, const PipelineModel& model,
                                         const PipelineConfig& config);

/// What a message of `values` is, in so many bytes, and what it stands for. Nothing is kept from message to message.
[[nodiscard]] std::vector<std::byte> packed(const StageHop& hop, std::span<const float> values);
[[nodiscard]] std::vector<float> unpacked(const StageHop& hop, std::span<const std::byte> message);

}  // namespace weft::schedules
