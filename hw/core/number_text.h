// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace weft {

/// A number without a unit, such as a share, for messages: the shortest text that parses back to it, or `digits` of it.
inline std::string to_text(double number, int digits = 0) {
  std::array<char, 32> text{};
  char* const end = text.data() + text.size();
  const auto written = digits == 0 ? std::to_chars(text.data(), end, number)
                                   : std::to_chars(text.data(), end, number, std::chars_format::general, digits);
  return {text.data(), written.ptr};
}

}  // namespace weft
