// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

/// report.html: what a run has left, as one page that needs nothing but itself.
namespace weft::platforms {

/// What the page is made of: `summary`, and where the folder has them `why` with its first lines (`why_words`), what
/// weft why calls each kind of piece (`words`, by network and kind) and the ps of the path on each link (`on_path`),
/// and `config`, `links`, `ends` and `pictures` (SVG by file). Throws InputError for a file that is not what its name
/// says.
[[nodiscard]] nlohmann::ordered_json read_results(const std::filesystem::path& folder);

/// Puts another run beside the one that `results` are of: `other`, and `comparison`, as compare_runs() has it, with
/// `lines` for a table of what differs. Throws InputError where a summary has no time.
void put_beside(nlohmann::ordered_json& results, const std::filesystem::path& folder, nlohmann::ordered_json other,
                const std::filesystem::path& other_folder);

/// The page of these results. Whatever names they have stay text.
[[nodiscard]] std::string report_page(const nlohmann::ordered_json& results);

}  // namespace weft::platforms
