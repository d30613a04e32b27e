// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "platforms/results/summary.h"

namespace weft::platforms {

/// What kernels took in a run and what each takes alone on its accelerator, with all of its cores and nothing else in
/// its memory. The difference is what collectives, copies and other kernels beside them cost.
struct KernelTimes {
  Time taken;  ///< summed up, the mean over the accelerators
  Time alone;
};

/// Lets each accelerator run a kernel of each kind once more, alone, after all that the result is to hold has been
/// taken from the machine: its counters go on, and so does its time. Since `since`, or the beginning of the run. None
/// where no kernel has run, or kernels of too many kinds (accelerator::KernelKinds::kMost).
[[nodiscard]] std::optional<KernelTimes> measure_kernels_alone(Machine& machine, const Baseline* since);

[[nodiscard]] nlohmann::ordered_json to_json(const std::optional<KernelTimes>& times);
/// A line for people; empty where there is nothing to say. `of` is what of the run they are of, "in 2 steps"; empty:
/// all that the table is of.
[[nodiscard]] std::string to_text(const std::optional<KernelTimes>& times, const std::string& of = "");

}  // namespace weft::platforms
