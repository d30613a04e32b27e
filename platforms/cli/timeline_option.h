// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "platforms/cli/result_files.h"
#include "platforms/results/timeline_probe.h"

/// --timeline of the commands that run a workload.
namespace weft::platforms {

/// Of a run that writes `files`: at the place that --timeline says, else among the results, in `folder` of what will be
/// `out`. Null for no processes. Throws UsageError, which names --timeline.
std::unique_ptr<TimelineProbe> open_timeline(ResultFiles& files, const std::string& option,
                                             const std::filesystem::path& out, const std::filesystem::path& folder,
                                             int processes);

}  // namespace weft::platforms
