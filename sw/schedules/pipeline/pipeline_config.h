// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hw/core/fields.h"
#include "sw/compression/config.h"
#include "sw/workloads/pipeline.h"

namespace weft::schedules {

/// Order of a stage's microbatches.
enum class StageOrder : std::uint8_t { kGPipe, kOneForwardOneBackward };
inline EnumNames<StageOrder> enum_names(StageOrder /*tag*/) {
  return {{"gpipe", StageOrder::kGPipe}, {"1f1b", StageOrder::kOneForwardOneBackward}};
}

/// Which accelerator has which stage. `index`: they are dealt in order. `random`: drawn. `fence`: accelerators that are
/// joined by fast links stand side by side, so that slow links are crossed as seldom as possible (OP-Fence of
/// FusionLLM, arXiv 2410.12707).
enum class StagePlacement : std::uint8_t { kIndex, kRandom, kFence };
inline EnumNames<StagePlacement> enum_names(StagePlacement /*tag*/) {
  return {{"index", StagePlacement::kIndex}, {"random", StagePlacement::kRandom}, {"fence", StagePlacement::kFence}};
}

/// Where the model is cut. `units`: as many units in each stage. `compute`: as if all accelerators were the first one,
/// stages of equal time. `fit`: the slowest of all stages, on its own accelerator, and of all links is as fast as can
/// be, and each stage fits its memory.
enum class StageCut : std::uint8_t { kUnits, kCompute, kFit };
inline EnumNames<StageCut> enum_names(StageCut /*tag*/) {
  return {{"units", StageCut::kUnits}, {"compute", StageCut::kCompute}, {"fit", StageCut::kFit}};
}

/// Which links between stages are compressed, and how much. `all`: each as the slowest. `slow`: as much as it takes
/// them longer (AdaTopK of FusionLLM): of link i by max(1, f r R_i / max R), where R is a message's time, r is
/// 1 / compression.ratio, and f is what a value with its index is longer than a value.
enum class CompressedLinks : std::uint8_t { kAll, kSlow };
inline EnumNames<CompressedLinks> enum_names(CompressedLinks /*tag*/) {
  return {{"all", CompressedLinks::kAll}, {"slow", CompressedLinks::kSlow}};
}

enum class PipelineType : std::uint8_t { kFp32, kBf16 };
inline EnumNames<PipelineType> enum_names(PipelineType /*tag*/) {
  return {{"fp32", PipelineType::kFp32}, {"bf16", PipelineType::kBf16}};
}

/// A model trained in a pipeline of one accelerator a stage, each of its own speed.
struct PipelineConfig {
  std::string model = "gpt2-xl";
  std::int64_t batch = 32;
  std::int64_t microbatches = 8;
  std::int64_t sequence = 1024;
  PipelineType type = PipelineType::kFp32;
  int stages = 0;
  StageOrder schedule = StageOrder::kGPipe;
  StagePlacement placement = StagePlacement::kFence;
  StageCut cut = StageCut::kFit;
  compression::CompressionConfig compression;
  CompressedLinks compressed_links = CompressedLinks::kSlow;
  int index_bits = 64;
  int steps = 2;
  double rate = 0.1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("model", model,
          "A transformer or a chain of layers (weft models), or a file with one. The path counts from the platform's "
          "file, in --set from where the command runs");
    visit("batch", batch, "Samples of a step", Range{1, 1 << 24});
    visit("microbatches", microbatches, "Parts of the batch that go through the stages one after the other",
          Range{1, 4096});
    visit("sequence", sequence, "Tokens of a sample of a transformer", Range{1, 1 << 24});
    visit("type", type, "Products, activations and what travels: fp32 or bf16; compression needs fp32");
    visit("stages", stages, "Stages of the pipeline, one accelerator each; 0: as many as there are accelerators",
          Range{0, 4096});
    visit("schedule", schedule, "Order of a stage's microbatches");
    visit("placement", placement,
          "Which accelerator has which stage. index: in their order; random: drawn; fence: so that slow links are "
          "crossed as seldom as possible");
    visit("cut", cut,
          "Where the model is cut. units: as many units in each stage; compute: stages of equal time on the first "
          "accelerator; fit: to the speed of each accelerator, its memory and the links");
    visit("compression", compression, "Compressed activations and gradients between stages");
    visit("compressed_links", compressed_links,
          "Links that are compressed. all: each as the slowest; slow: in proportion to the time that they take without "
          "it, as far as that is above what the slowest takes with it");
    visit("index_bits", index_bits, "Width of an index that travels with a value: 32 or 64", Range{32, 64});
    visit("steps", steps, "Training steps to run", Range{1, 1000});
    visit("rate", rate, "Learning rate where numbers are real: with data on, of convolutions and linear layers alone");
  }

  [[nodiscard]] std::int64_t samples() const { return batch / microbatches; }
  [[nodiscard]] std::int64_t element_bytes() const { return type == PipelineType::kBf16 ? 2 : 4; }
};

}  // namespace weft::schedules
