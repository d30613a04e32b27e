// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/pictures/svg.h"

#include <fmt/format.h>

namespace weft::platforms {

std::string svg_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string svg_beginning(double left, double top, double width, double height, std::string_view attributes) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{0:.0f} {1:.0f} {2:.0f} {3:.0f}\" width=\"{2:.0f}\" "
      "height=\"{3:.0f}\" font-family=\"sans-serif\" {4}>\n"
      "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      left, top, width, height, attributes);
}

}  // namespace weft::platforms
