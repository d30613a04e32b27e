// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Pages that need nothing but themselves.
namespace weft::platforms {

/// As text in a script of HTML: nothing in it ends the script, or begins a comment there.
[[nodiscard]] std::string json_for_html(const nlohmann::ordered_json& json);

/// The page with a value for each {{name}} in it. What stands in a value is not looked at.
[[nodiscard]] std::string fill_page(std::string_view page,
                                    const std::vector<std::pair<std::string_view, std::string>>& values);

/// D3 with its licence, and the style of all pages, as values of a page.
[[nodiscard]] std::string page_library();
[[nodiscard]] std::string page_style();

}  // namespace weft::platforms
