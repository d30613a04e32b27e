// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hw/accelerator/compute_config.h"
#include "hw/core/quantity.h"
#include "platforms/machine/platform.h"
#include "sw/dimensions/workload.h"
#include "sw/models/kernels.h"
#include "sw/schedules/graph/graph_rows.h"
#include "sw/workloads/config.h"
#include "sw/workloads/options.h"
#include "sw/workloads/workload.h"

namespace weft::platforms {

/// A workload's nodes last as long as their kernels take on an otherwise idle accelerator that sees `memory` of its
/// HBM, and list them; operands are laid out as it multiplies them.
void time_on(const accelerator::ComputeConfig& compute, Rate memory, workloads::WorkloadConfig& config);

/// Why an array cannot have linear layers of that type; empty if it can.
[[nodiscard]] std::string refused_linear(const accelerator::ComputeConfig& compute, models::LinearType linear);

/// A training step that was made for a machine.
struct TransformerStep {
  workloads::WorkloadConfig config;
  dimensions::Workload traces;
  std::vector<workloads::RankSums> ranks;
  Bytes memory;                               ///< of an accelerator
  std::vector<std::filesystem::path> inputs;  ///< what the model is read from, where it is a user's own
  std::vector<std::string> remarks;
  schedules::GraphRows rows;  ///< none where the platform's `steady` is off
  /// The kernels that its nodes have, each shape once; of all those, what an array of such a configuration makes of
  /// them.
  [[nodiscard]] std::uint64_t kernels_on(const accelerator::ComputeConfig& compute) const;
  std::shared_ptr<std::map<std::vector<std::int64_t>, models::Kernel>> kernels;
};

/// The `workload` of a platform, of kind transformer: traces for its accelerators in a folder that lasts as long as the
/// command runs. Throws ConfigError.
TransformerStep generate_step(Platform& platform, const workloads::StepOptions& options);

}  // namespace weft::platforms
