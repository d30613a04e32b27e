// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace weft::traces {

/// Where Weft looks for its data files, in this order: the directory that the environment variable WEFT_DATA names,
/// `../share/weft` beside the directory of the running program, and the source tree that this library was built from.
[[nodiscard]] std::vector<std::filesystem::path> data_directories();

/// The first existing file or directory of that name, for example "models/transformers.csv", "published" or "parts".
/// A user's directory needs to hold only what it replaces. Throws std::runtime_error that lists where it looked.
[[nodiscard]] std::filesystem::path find_data(std::string_view relative);

}  // namespace weft::traces
