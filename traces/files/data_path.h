// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::traces {

/// Where Weft looks for its data files (the catalogue's platforms and parts, models, published tables), in this order:
/// the directory that the environment variable WEFT_DATA names, `../share/weft` beside the directory of the running
/// program, and, unless parts lie there, the package that the program was linked to: the installed one of
/// find_package(weft), or the source tree of Weft's own build. Throws FormatError if WEFT_DATA names no directory.
[[nodiscard]] std::vector<std::filesystem::path> data_directories();
/// The same, for messages.
[[nodiscard]] std::string data_directories_text();

/// The first existing file or directory of that name, for example "models/transformers.csv", "published" or "parts".
/// A user's directory needs to hold only what it replaces. Throws std::runtime_error that lists where it looked.
[[nodiscard]] std::filesystem::path find_data(std::string_view relative);

}  // namespace weft::traces
