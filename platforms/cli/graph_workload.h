// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "platforms/config/document.h"
#include "sw/dimensions/workload.h"

namespace weft::platforms {

/// A folder for traces that lasts as long as the command runs.
std::filesystem::path trace_folder();

/// The `workload` of a platform, of kind chakra: files lie relative to the platform's. Throws InputError.
dimensions::Workload read_graph_workload(Document& document, std::uint32_t ranks);

}  // namespace weft::platforms
