// SPDX-License-Identifier: Apache-2.0
#include "traces/json/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "traces/files/kind/file_kind.h"
#include "traces/json/json_depth.h"

namespace weft::traces {
namespace {

using nlohmann::json;

/// "line 3, column 5" of the `at`th byte, from 1.
std::string position(std::string_view text, std::size_t at, JsonPlace begins) {
  const std::string_view before = text.substr(0, at == 0 ? 0 : at - 1);
  const auto line = begins.line + static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
  const auto line_end = before.rfind('\n');
  const auto column = line_end == std::string_view::npos ? begins.column + before.size() : before.size() - line_end;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// The reason out of the library's "[json.exception.parse_error.101] parse error at line 1, column 2: REASON".
std::string reason(const std::string& what) {
  const auto syntax = what.find("syntax error");
  if (syntax != std::string::npos) return "a " + what.substr(syntax);
  const auto bracket = what.find("] ");
  return bracket == std::string::npos ? what : what.substr(bracket + 2);
}

/// Takes what the library's parser finds, in time that grows with the text: its own callbacks search all of a list at
/// the end of each of its objects.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(std::string_view text, JsonPlace begins) : text_(text), begins_(begins) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [member, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(name);
    keys_.back() = &member->first;
    if (!is_new) throw JsonError(path(), "each key once", '"' + name + "\" twice", false);
    member_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& error) override {
    const bool is_syntax = dynamic_cast<const json::parse_error*>(&error) != nullptr;
    throw JsonError(is_syntax ? position(text_, at, begins_) : path(), "JSON", reason(error.what()), is_syntax);
  }

 private:
  /// Puts it where the next value belongs.
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    *member_ = std::move(value);
    return member_;
  }
  bool open(json value) {
    open_.push_back(place(std::move(value)));
    keys_.push_back(nullptr);
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  /// Of the value being read, without places in lists.
  [[nodiscard]] std::string path() const {
    std::string path;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (keys_[i] != nullptr) path += (path.empty() ? "" : ".") + *keys_[i];
    }
    return path;
  }

  std::string_view text_;
  JsonPlace begins_;
  json root_;
  std::vector<json*> open_;               ///< from the outside in
  std::vector<const std::string*> keys_;  ///< of each, the last
  json* member_ = nullptr;                ///< for the value of the last key
};

json parse(std::string_view text, JsonPlace begins, bool has_comments) {
  if (const auto deep = too_deep_at(text)) {
    throw JsonError(
        position(text, *deep, begins),
        "JSON in which at most " + std::to_string(kDeepestJson) + " arrays and objects stand within each other",
        "one more", true);
  }
  Builder builder(text, begins);
  json::sax_parse(text, &builder, json::input_format_t::json, /*strict=*/true, has_comments);
  return builder.take();
}

}  // namespace

json parse_json(std::string_view text, JsonPlace begins) {
  return parse(text, begins, false);
}

json parse_own_json(std::string_view text) {
  constexpr const char* kSchema = "$schema";
  json value = parse(text, {}, true);
  if (!value.is_object()) return value;
  const auto schema = value.find(kSchema);
  if (schema == value.end()) return value;
  if (!schema->is_string()) throw JsonError(kSchema, "a string, for editors", schema->dump(), false);
  value.erase(schema);
  return value;
}

bool begins_as_json(std::string_view text) {
  text = without_comments(text);
  return text.starts_with('{') || text.starts_with('[');
}

}  // namespace weft::traces
