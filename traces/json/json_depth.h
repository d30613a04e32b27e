// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "traces/files/comment.h"

namespace weft::traces {

/// How deep arrays and objects of a JSON text that Weft reads may stand within each other: what is done with them is
/// recursive, and no file of any use comes near.
constexpr std::size_t kDeepestJson = 256;

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
