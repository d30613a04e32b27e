// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platforms/cli/command.h"
#include "traces/chakra/ranks.h"

/// Commands under `weft trace` that are files of their own.
namespace weft::platforms {

inline constexpr const char* kTraceArgument =
    "FILE, or the PREFIX of files PREFIX.0.et, PREFIX.1.et, ...; protobuf or JSON, plain or in gzip";

Command trace_info_command(const Arguments& parent);
Command trace_convert_command(const Arguments& parent);

/// Says on stderr which ranks have no file.
void warn_of_missing(const chakra::TraceFiles& files);

}  // namespace weft::platforms
