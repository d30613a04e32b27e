// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "platforms/commands/command.h"

/// What weft import reads, one command each.
namespace weft::platforms {

/// What a platform in the file `out` is called: as the file, or as what it is made of where that is standard output or
/// another stream.
std::string imported_name(const std::filesystem::path& out, const std::filesystem::path& from);

Command import_astra_sim(const Arguments& parent);
/// From descriptions of hardware: a machine without a workload.
Command import_lstopo(const Arguments& parent);
Command import_infragraph(const Arguments& parent);

}  // namespace weft::platforms
