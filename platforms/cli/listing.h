// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Lists of what there is, for a terminal.
namespace weft::platforms {

/// In lines of at most a terminal's width, those that follow indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent);

/// A line for each row: its cells in columns, and of the last one as much as fits, with "..." where that is not all.
std::string listed(const std::vector<std::vector<std::string>>& rows);

}  // namespace weft::platforms
