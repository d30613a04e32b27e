// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/word_lines.h"

#include <sstream>
#include <utility>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "traces/files/text_file.h"

namespace weft::platforms::astra {

std::vector<WordLine> word_lines(const std::filesystem::path& file, std::string_view expected,
                                 traces::KindFilter takes) {
  std::istringstream stream(traces::read_text(file, expected, takes));
  std::vector<WordLine> lines;
  std::string text;
  for (std::size_t number = 1; std::getline(stream, text); ++number) {
    std::istringstream words(text);
    WordLine line{number, {}};
    for (std::string word; words >> word;) line.words.push_back(word);
    if (!line.words.empty() && !line.words.front().starts_with('#')) lines.push_back(std::move(line));
  }
  return lines;
}

void fail_at(const std::filesystem::path& file, const WordLine& line, const std::string& expected,
             const std::string& got) {
  throw InputError(file.string(), "line " + std::to_string(line.number), expected, got);
}

}  // namespace weft::platforms::astra
