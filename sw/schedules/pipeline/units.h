// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/accelerator/kernel_work.h"
#include "sw/compression/kernel.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/models/kernels.h"
#include "sw/models/named_model.h"
#include "sw/schedules/pipeline/pipeline_config.h"

/// A model as a chain of units, between which a pipeline can be cut.
namespace weft::schedules {

using StageKernel = std::variant<models::Kernel, kfac::LayerKernel, compression::Kernel>;
using StageKernels = std::vector<StageKernel>;
[[nodiscard]] accelerator::KernelWork stage_work(const accelerator::ComputeConfig& compute, const StageKernel& kernel);
/// Of static storage.
[[nodiscard]] const char* label_of(const StageKernel& kernel);

struct PipelineUnit {
  std::string name;
  // Of a microbatch:
  StageKernels forward;
  StageKernels backward;
  std::int64_t crossing = 0;  ///< elements that go to the next unit, and whose gradients come back
  std::int64_t kept = 0;      ///< bytes from the forward to the backward pass

  StageKernels update;  ///< of a step
  std::int64_t parameters = 0;
  std::size_t first_layer = 0;  ///< of a network's
  std::size_t layers = 0;       ///< none of a transformer
};

struct PipelineModel {
  std::string name;
  std::vector<PipelineUnit> units;
  std::int64_t state_bytes = 0;            ///< of a parameter, its gradient and what the optimizer keeps
  std::optional<models::Network> network;  ///< null of a transformer
};

/// Units of a transformer are its embedding, blocks and head, updated by AdamW. Those of a network are its convolutions
/// and linear layers with the norms behind them, updated by SGD with momentum. Within a residual block what skips the
/// layers crosses a cut as well: layers belong to the block that their names begin with ("layer1.0"), and what comes
/// behind the block's sum in the table, which is the convolution of the skip, is of one unit with it.
///
/// Throws ConfigError for networks with other branches, and batches that do not divide.
[[nodiscard]] PipelineModel pipeline_model(const models::AnyModel& model, const PipelineConfig& config);

}  // namespace weft::schedules
