// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/jobs/graph/transformer_workload.h"
#include "sw/workloads/workload.h"

namespace weft::platforms {

/// What a rank of a step needs: everything that sw/workloads counts.
[[nodiscard]] std::int64_t memory_of(const workloads::RankSums& rank);
/// Of each pipeline stage the rank that needs most.
[[nodiscard]] std::vector<workloads::RankSums> fullest_of_stages(const TransformerStep& step);

/// What those need by use, a line for each stage, beside what an accelerator has.
[[nodiscard]] std::string memory_text(const TransformerStep& step);
[[nodiscard]] nlohmann::ordered_json memory_json(const TransformerStep& step);

}  // namespace weft::platforms
