// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::platforms {

/// As people and files have it. What is no UTF-8 is written as U+FFFD.
std::string to_text(const nlohmann::ordered_json& json);

/// Writes the whole file or, when that fails, nothing (traces::WholeFile). Throws std::system_error.
void write_file(const std::filesystem::path& file, const std::string& text);
void write_file(const std::filesystem::path& file, const nlohmann::ordered_json& json);

/// Writes a file that is not there yet, or returns the errno by which it cannot: EEXIST for one that is there, which
/// stays as it is.
int write_new_file(const std::filesystem::path& file, const std::string& text);

}  // namespace weft::platforms
