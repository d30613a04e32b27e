// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weft::traces {

/// How deep arrays and objects of a JSON text that Weft reads may stand within each other: what is done with them is
/// recursive, and no file of any use comes near.
constexpr std::size_t kDeepestJson = 256;

/// Of a text at the two characters with which a comment of C++ begins: the last byte of the comment, or else `at`.
/// Text without comments, where that is an error, may be looked at so as well.
constexpr std::size_t end_of_comment(std::string_view text, std::size_t at) {
  const std::string_view begins = text.substr(at, 2);
  if (begins != "//" && begins != "/*") return at;
  constexpr std::string_view kLineEnds("\n\r\0", 3);  // as the parser has them
  const std::size_t end = begins == "//" ? text.find_first_of(kLineEnds, at) : text.find("*/", at + 2);
  if (end == std::string_view::npos) return text.size() - 1;
  return begins == "//" ? end : end + 1;
}

/// The first byte, from 1, that opens an array or object deeper than that, if there is one; comments aside.
constexpr std::optional<std::size_t> too_deep_at(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '/') {
      i = end_of_comment(text, i);
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepestJson) return i + 1;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace weft::traces
