// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/fsdp_rows.h"

namespace weft::schedules {

/// Roughly what simulating the stages of a step costs, in bytes: those that collectives of each stage move, and a
/// mebibyte for each kernel. What follows the last stage, the optimizer, is the last element.
[[nodiscard]] std::vector<double> work_of_stages(const FsdpPlan& plan);

/// The share of that which is simulated where six units of each row are, which is about when they have settled.
[[nodiscard]] double share_of_settled(const FsdpPlan& plan, const std::vector<FsdpRow>& rows);

}  // namespace weft::schedules
