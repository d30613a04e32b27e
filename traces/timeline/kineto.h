// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "traces/timeline/timeline.h"

namespace weft::traces {

/// The JSON that PyTorch's profiler writes (Kineto), for Holistic Trace Analysis and what else reads such traces: a
/// file for each rank, with its kernels and copies by stream, the launches of those whose launch is known, and its
/// phases as annotations, the steps as ProfilerStep#N. Collectives, sends and receives are kernels of NCCL by their
/// names. Rows whose process is not one of the ranks, counters, arrows and slices of no kind are left out. Times are
/// microseconds with three decimals, as Kineto writes them.
///
/// `files` are those of ranks 0, 1 and so on, of `ranks` in all; a process is "accelerator 3" or "end 3".
std::unique_ptr<Timeline> kineto_timeline(const std::vector<std::filesystem::path>& files, int ranks);
/// What every one of these files begins with.
inline constexpr const char* kKinetoBeginning = "{\"producer\":\"Weft\",";

}  // namespace weft::traces
