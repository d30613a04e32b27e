// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::chakra {

enum class TraceFormat : std::uint8_t {
  kProtobuf,
  kJson,      ///< Weft's (traces/chakra/json.h), which keeps everything
  kJsonizer,  ///< that of chakra_jsonizer: a message of protobuf's JSON on each line
};

/// Writes a trace, which may be in any format that TraceReader takes, in another one, node by node, in gzip where the
/// name of `to` ends in .gz. The file is written whole or not at all. Gives the names of members of its JSON that are
/// left out (TraceReader::left_out). Throws traces::FormatError and std::system_error.
std::vector<std::string> convert_trace(const std::filesystem::path& from, const std::filesystem::path& to,
                                       TraceFormat format);

}  // namespace weft::chakra
