// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// The pages that people read: README.md and docs/.
namespace weft::test {

struct PageLine {
  int number = 0;
  std::string text;
  bool is_code = false;  ///< of a block, of its fences too
};

/// Paths from the root of the project, sorted.
inline std::vector<std::string> page_names() {
  namespace fs = std::filesystem;
  std::vector<std::string> names = {"README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(WEFT_SOURCE_DIR "/docs")) {
    if (entry.path().extension() == ".md") names.push_back(fs::relative(entry.path(), WEFT_SOURCE_DIR).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::vector<PageLine> lines_of_page(const std::string& name) {
  std::vector<PageLine> lines;
  std::ifstream file(std::string(WEFT_SOURCE_DIR "/") + name);
  bool fenced = false;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    const std::size_t from = text.find_first_not_of(' ');
    const bool is_fence = from != std::string::npos && text.compare(from, 3, "```") == 0;
    if (is_fence) fenced = !fenced;
    lines.push_back({++number, text, fenced || is_fence || text.starts_with("    ")});
  }
  return lines;
}

}  // namespace weft::test
