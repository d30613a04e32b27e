// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

/// report.html: what a run has left, as one page that needs nothing but itself.
namespace weft::platforms {

/// What the page is made of: `summary`, and where the folder has them `why` with its first lines (`why_words`),
/// `config`, `links`, `ends` and `pictures` (SVG by file). Throws InputError for a file that is not what its name says.
[[nodiscard]] nlohmann::ordered_json read_results(const std::filesystem::path& folder);

/// The page of these results. Whatever names they have stay text.
[[nodiscard]] std::string report_page(const nlohmann::ordered_json& results);

}  // namespace weft::platforms
