// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/text.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/text_file.h"
#include "traces/json/json_text.h"
#include "traces/nearest_names.h"

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

template <typename Parse>
json parse_with(const Parse& parse, const std::string& file) {
  try {
    return parse();
  } catch (const traces::JsonError& error) {
    throw InputError(file, error.where(), error.expected(), error.got());
  }
}

json expect_object(json value, const std::string& file, const std::string& expected) {
  if (!value.is_object()) throw InputError(file, "", expected + ", an object", got_text(value));
  return value;
}

}  // namespace

std::string join(const std::vector<std::string_view>& words, std::string_view separator) {
  return join_words(words, separator);
}
std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return join_words(words, separator);
}

std::string counted_done(std::size_t done, std::size_t all, std::string_view what) {
  return std::to_string(done) + " of " + counted(all, what) + (all == 1 ? " is done" : " are done");
}

std::string units_in_brackets(const std::invalid_argument& error) {
  const auto* const unit = dynamic_cast<const UnknownUnit*>(&error);
  return unit == nullptr ? std::string() : " (in " + unit->units() + ")";
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return '"' + traces::one_line(text, kLongest) + '"';
}

std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
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
    const std::size_t distance = traces::edit_distance(word, candidate, best_distance);
    // Half of a short word changed is another word.
    if (distance >= best_distance || distance * 2 > std::max(word.size(), candidate.size())) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string not_one_of(const std::vector<std::string>& names, const std::string& text) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return "";
  traces::NearestNames near(text);
  for (const std::string& name : names) near.look_at(name);
  return "expected one of " + join(names, ", ") + ", got " + in_quotes(text) + near.question();
}

json parse_own_json(const std::string& text, const std::string& file) {
  return parse_with([&] { return traces::parse_own_json(text); }, file);
}

bool may_be_json(traces::FileKind kind) {
  return traces::is_json(kind) || traces::is_unknown_text(kind);
}

bool may_be_platform(traces::FileKind kind) {
  // Of text the parser of JSON says where it is none.
  return kind == traces::FileKind::kPlatform || kind == traces::FileKind::kJson || kind == traces::FileKind::kText ||
         kind == traces::FileKind::kEmpty;
}

std::string load_document(const std::string& file, std::string_view expected, traces::KindFilter takes) {
  traces::TextFile read = traces::load_text(file, takes);
  if (!read.got.empty()) {
    throw InputError(file, read.line == 0 ? "" : "line " + std::to_string(read.line), std::string(expected), read.got);
  }
  return std::move(read.text);
}

json load_own_json(const std::string& file, std::string_view expected, traces::KindFilter takes) {
  return parse_own_json(load_document(file, expected, takes), file);
}

json load_own_object(const std::string& file, std::string_view what, traces::KindFilter takes) {
  const std::string expected = std::string(what) + " in JSON";
  return expect_object(load_own_json(file, expected, takes), file, expected);
}

json load_json_object(const std::string& file, std::string_view what, traces::KindFilter takes) {
  const std::string expected = std::string(what) + " in JSON";
  const std::string text = load_document(file, expected, takes);
  return expect_object(parse_with([&] { return traces::parse_json(text); }, file), file, expected);
}

}  // namespace weft::platforms
