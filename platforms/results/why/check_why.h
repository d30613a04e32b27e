// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft::platforms {

/// Whether an object read from `file` is a why.json as Weft writes it: every key that Weft knows has its type, no time
/// is negative, and the pieces add up to the time of the run. A key that earlier versions do not write may be missing.
/// Throws InputError, which names the file and the key.
void check_why(const nlohmann::ordered_json& why, const std::string& file);

/// The same of config.json: `values` is an object of what each field is.
void check_config(const nlohmann::ordered_json& config, const std::string& file);

/// Keys that every why.json of this version has and a checked one lacks, in the order of the file: "stages", "parts".
[[nodiscard]] std::vector<std::string> missing_in_why(const nlohmann::ordered_json& why);

}  // namespace weft::platforms
