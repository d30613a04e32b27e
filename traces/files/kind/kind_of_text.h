// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "traces/files/kind/file_kind.h"

/// Parts of guess() for text. Only sources of this folder include it.
namespace weft::traces {

inline bool is_layout(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

inline std::string_view first_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

/// What the text is by its beginning. Of JSON `members` gets the first few names.
[[nodiscard]] FileKind kind_of_text(std::string_view text, std::string& members);

}  // namespace weft::traces
