// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/report/page.h"

#include <nlohmann/json.hpp>

#include "platforms/results/report/page_parts.h"

namespace weft::platforms {

using nlohmann::ordered_json;

std::string json_for_html(const ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string fill_page(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string filled;
  while (!page.empty()) {
    const std::size_t from = page.find("{{");
    filled += page.substr(0, from);
    if (from == std::string_view::npos) break;
    const std::size_t to = page.find("}}", from);
    const std::string_view key = page.substr(from + 2, to - from - 2);
    for (const auto& [each, value] : values) {
      if (each == key) filled += value;
    }
    page.remove_prefix(to + 2);
  }
  return filled;
}

std::string page_library() {
  return "/*\n" + std::string(report::kLicence) + "*/\n" + std::string(report::kLibrary);
}

std::string page_style() {
  return std::string(report::kStyle);
}

}  // namespace weft::platforms
