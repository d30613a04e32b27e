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

}  // namespace weft::platforms
