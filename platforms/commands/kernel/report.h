// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "platforms/commands/kernel/shapes.h"
#include "platforms/machine/machine.h"

/// What `weft kernel` says of kernels.
namespace weft::platforms {

/// The accelerator that kernels are timed on.
struct TimedOn {
  std::string name;
  accelerator::ComputeConfig compute;
  bool warm = false;
  AcceleratorPart part;
};

/// A kernel on it.
struct KernelRow {
  KernelShape shape;
  accelerator::KernelWork work;
  accelerator::GemmPlan plan;
  Rate rate;  ///< of HBM, for what it reads and writes
  Time time;
  Time memory;
  std::vector<std::pair<accelerator::Cost, Time>> costs;
  double tflops = 0;
  double peak = 0;  ///< TFLOPS
  double energy = 0;
  double power = 0;
  std::string note;  ///< on units that the part lacks
};

/// Throws UsageError on a shape that the part does not take.
KernelRow time_of(const KernelShape& shape, const TimedOn& on);

nlohmann::ordered_json to_json(const KernelRow& row, const TimedOn& on);
/// One kernel in full.
void print_report(const KernelRow& row, const TimedOn& on);
void print_table(const std::vector<KernelRow>& rows);

/// "12.3 %"
std::string percent(double share);

}  // namespace weft::platforms
