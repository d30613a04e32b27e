// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/command.h"
#include "traces/chakra/process_groups.h"
#include "traces/chakra/ranks.h"

/// Commands under `weft trace` that are files of their own.
namespace weft::platforms {

inline constexpr const char* kTraceArgument =
    "FILE, or the PREFIX of files PREFIX.0.et, PREFIX.1.et, ...; protobuf or JSON, plain or in gzip";

Command trace_info_command(const Arguments& parent);
Command trace_check_command(const Arguments& parent);
Command trace_repair_command(const Arguments& parent);
Command trace_convert_command(const Arguments& parent);

/// Says on stderr which ranks have no file.
void warn_of_missing(const chakra::TraceFiles& files);
/// "wrote 8 files, w.0.et to w.7.et"
void print_wrote(const std::vector<std::filesystem::path>& files);
/// Of the groups file, or of the one beside the prefix that `weft run --traces` would take.
chakra::GroupTable::Named groups_beside(const chakra::TraceFiles& files, const std::string& prefix,
                                        const std::string& groups, std::optional<std::uint32_t> ranks);

}  // namespace weft::platforms
