// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::traces {

/// Of a text at the two characters with which a comment of C++ begins: the last byte of the comment, or else `at`.
/// Text without comments, where that is an error, may be looked at so as well.
constexpr std::size_t end_of_comment(std::string_view text, std::size_t at) {
  const std::string_view begins = text.substr(at, 2);
  if (begins != "//" && begins != "/*") return at;
  constexpr std::string_view kLineEnds("\n\r\0", 3);  // as the parser of JSON has them
  const std::size_t end = begins == "//" ? text.find_first_of(kLineEnds, at) : text.find("*/", at + 2);
  if (end == std::string_view::npos) return text.size() - 1;
  return begins == "//" ? end : end + 1;
}

}  // namespace weft::traces
