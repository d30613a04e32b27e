// SPDX-License-Identifier: Apache-2.0
#include "sw/models/json_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "traces/json/json_text.h"
#include "traces/nearest_names.h"

namespace weft::models {

using nlohmann::json;
using traces::FormatError;

json parse_model(std::string_view text, const std::filesystem::path& file) {
  try {
    return traces::parse_own_json(text);
  } catch (const traces::JsonError& error) {
    throw FormatError(file.string(), 0, error.what());
  }
}

void JsonRow::expect_object(std::string_view what) const {
  if (!object_->is_object()) fail("", what, object_);
}

void JsonRow::expect_keys(const std::vector<std::string_view>& keys) const {
  for (const auto& [key, value] : object_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    traces::NearestNames near(key);
    for (const std::string_view each : keys) near.look_at(each);
    // A name of any length leaves room for what is expected in its place.
    constexpr std::size_t kMostOfName = 200;
    const std::string name = key.size() <= kMostOfName ? key : key.substr(0, kMostOfName) + "...";
    fail(name, fmt::format("one of {}{}", fmt::join(keys, ", "), near.question()), nullptr);
  }
}

const json* JsonRow::find(std::string_view key) const {
  const auto found = object_->find(key);
  return found == object_->end() ? nullptr : &*found;
}

std::string JsonRow::text(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

bool JsonRow::has(std::string_view key) const {
  return !text(key).empty();
}

std::string JsonRow::required(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr || !value->is_string() || text(key).empty()) fail(key, "a text");
  return text(key);
}

std::int64_t JsonRow::integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  const json* const value = find(key);
  if (value == nullptr || !value->is_number_integer() || value->get<std::int64_t>() < min ||
      value->get<std::int64_t>() > max) {
    fail(key, fmt::format("a whole number from {} to {}", min, max));
  }
  return value->get<std::int64_t>();
}

std::int64_t JsonRow::integer_or(std::string_view key, std::int64_t fallback, std::int64_t min,
                                 std::int64_t max) const {
  return find(key) == nullptr ? fallback : integer(key, min, max);
}

bool JsonRow::boolean(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr || !value->is_boolean()) fail(key, "true or false");
  return value->get<bool>();
}

void JsonRow::fail(std::string_view key, std::string_view expected) const {
  fail(key, expected, find(key));
}

void JsonRow::fail(std::string_view key, std::string_view expected, const json* value) const {
  const bool has_both = !path_.empty() && !key.empty();
  const std::string path = fmt::format("{}{}{}", path_, has_both ? "." : "", key);
  throw FormatError(file_->string(), 0,
                    fmt::format("{}{}expected {}{}", path, path.empty() ? "" : ": ", expected,
                                value == nullptr ? "" : ", got " + value->dump().substr(0, 60)));
}

}  // namespace weft::models
