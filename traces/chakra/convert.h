// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "traces/output_file.h"

namespace weft::chakra {

enum class TraceFormat : std::uint8_t {
  kProtobuf,
  kJson,      ///< Weft's (traces/chakra/json.h), which keeps everything
  kJsonizer,  ///< that of chakra_jsonizer: a message of protobuf's JSON on each line
};

/// Writes a trace, which may be in any format that TraceReader takes, in another one, node by node. What it gives is
/// finished and has not appeared. Throws traces::FormatError and std::system_error.
std::unique_ptr<traces::OutputFile> convert_trace(const std::filesystem::path& from, const std::filesystem::path& to,
                                                  TraceFormat format);

}  // namespace weft::chakra
