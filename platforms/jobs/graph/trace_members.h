// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "platforms/jobs/job_kind.h"

namespace weft::platforms {

/// What read_graph_workload reads of a `workload` of kind chakra, on a machine and in the arithmetic.
[[nodiscard]] std::vector<WorkloadMember> trace_members();

}  // namespace weft::platforms
