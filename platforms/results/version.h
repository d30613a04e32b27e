// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/config/document.h"

namespace weft::platforms {

/// Of the JSON that commands print and write. It grows by one when a key goes, or comes to mean something else.
inline constexpr int kSchema = 1;

/// "weft 0.1.0 (6ec4cf7c04f1)": the version, and the commit that the sources were at when it was built. Whether they
/// had been changed since that commit is not known.
std::string version_text();

/// {"version": "0.1.0", "commit": "6ec4cf7c04f1", "schema": 1}: what wrote a result, under its key "weft".
nlohmann::ordered_json version_json();

/// What config.json has: Document::configuration, and what wrote it.
nlohmann::ordered_json configuration(const Document& document);

}  // namespace weft::platforms
