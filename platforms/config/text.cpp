// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/text.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "platforms/config/input_error.h"
#include "traces/input_file.h"

namespace weft::platforms {
namespace {

using nlohmann::json;

template <typename Word>
std::string join_words(const std::vector<Word>& words, std::string_view separator) {
  std::string text;
  for (const Word& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

/// "line 3, column 5" of the `at`th byte, both from 1.
std::string position(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at == 0 ? 0 : at - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto line_start = before.rfind('\n');
  const auto column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// The reason out of the library's "[json.exception.parse_error.101] parse error at line 1, column 2: REASON".
std::string reason(const std::string& what) {
  const auto syntax = what.find("syntax error");
  if (syntax != std::string::npos) return "a " + what.substr(syntax);
  const auto bracket = what.find("] ");
  return bracket == std::string::npos ? what : what.substr(bracket + 2);
}

}  // namespace

std::string join(const std::vector<std::string_view>& words, std::string_view separator) {
  return join_words(words, separator);
}
std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return join_words(words, separator);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) return '"' + std::string(text.substr(0, kLongest)) + "...\"";
  return '"' + std::string(text) + '"';
}

std::string join_path(std::string_view path, std::string_view key) {
  if (path.empty()) return std::string(key);
  if (key.empty()) return std::string(path);
  return std::string(path) + "." + std::string(key);
}

std::string got_text(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  return value.dump();
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    // Half of a short word changed is another word.
    if (distance >= best_distance || distance * 2 > std::max(word.size(), candidate.size())) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

json parse_json(const std::string& text, const std::string& file) {
  // Open objects from the outside in: the key being read, and the keys seen so far.
  struct Level {
    std::string key;
    std::set<std::string> seen;
  };
  std::vector<Level> levels;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) {
      levels.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      levels.pop_back();
    } else if (event == json::parse_event_t::key) {
      levels.back().key = parsed.get<std::string>();
      if (!levels.back().seen.insert(levels.back().key).second) {
        std::string path;
        for (const Level& level : levels) path = join_path(path, level.key);
        throw InputError(file, path, "each key once", in_quotes(levels.back().key) + " twice");
      }
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    throw InputError(file, position(text, error.byte), "JSON", reason(error.what()));
  } catch (const json::exception& error) {
    throw InputError(file, "", "JSON", reason(error.what()));
  }
}

json load_json(const std::string& file, std::string_view what) {
  const std::string expected(what);
  if (std::filesystem::is_directory(file)) throw InputError(file, "", expected, "a folder");
  if (access(file.c_str(), R_OK) != 0) {
    throw InputError(file, "", expected, errno == ENOENT ? "no such file" : std::strerror(errno));
  }
  return parse_json(traces::read_whole(file), file);
}

json load_json_object(const std::string& file, std::string_view what) {
  const std::string expected = std::string(what) + " in JSON";
  json value = load_json(file, expected);
  if (!value.is_object()) throw InputError(file, "", expected + ", an object", got_text(value));
  return value;
}

}  // namespace weft::platforms
