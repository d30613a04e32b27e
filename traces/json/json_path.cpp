// SPDX-License-Identifier: Apache-2.0
#include "traces/json/json_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace weft::traces {
namespace {

using nlohmann::json;
using Condition = std::pair<std::string, std::string>;

template <typename T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool equals(const json& value, const std::string& text) {
  if (value.is_string()) return value.get_ref<const std::string&>() == text;
  if (value.is_boolean()) return text == (value.get<bool>() ? "true" : "false");
  if (std::int64_t wanted = 0; value.is_number_integer() && parse_whole(text, wanted)) {
    return value.is_number_unsigned() ? wanted >= 0 && value.get<std::uint64_t>() == static_cast<std::uint64_t>(wanted)
                                      : value.get<std::int64_t>() == wanted;
  }
  double wanted = 0;
  return value.is_number() && parse_whole(text, wanted) && value.get<double>() == wanted;
}

/// A few of the things that are there, for a message.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  if (names.empty()) return "nothing";
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

class Walk {
 public:
  Walk(const json& root, std::string_view path) : value_(&root), path_(path) {}

  const json& run() {
    if (path_.empty()) fail("expected a path such as step.time_us, got none");
    bool first = true;
    while (at_ < path_.size()) {
      if (path_[at_] == '[') {
        ++at_;
        bracket();
      } else {
        if (!first && path_[at_++] != '.') unexpected("'.' or '['");
        member(name());
      }
      first = false;
    }
    return *value_;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw PathError(fmt::format("{}: {}", path_, message)); }
  [[noreturn]] void unexpected(std::string_view expected) const {
    fail(fmt::format("expected {} at character {}", expected, at_));
  }
  /// The part of the path that has been followed, for messages.
  [[nodiscard]] std::string here() const {
    return done_ == 0 ? std::string("the result") : fmt::format("'{}'", path_.substr(0, done_));
  }

  std::string name() {
    const std::size_t start = at_;
    while (at_ < path_.size() && path_[at_] != '.' && path_[at_] != '[') ++at_;
    if (at_ == start) fail(fmt::format("expected a name at character {}", at_ + 1));
    return std::string(path_.substr(start, at_ - start));
  }

  void member(const std::string& key) {
    if (!value_->is_object()) fail(fmt::format("expected an object to take '{}' from, {} is {}", key, here(), kind()));
    const auto found = value_->find(key);
    if (found == value_->end()) {
      std::vector<std::string> names;
      for (const auto& item : value_->items()) names.push_back(item.key());
      fail(fmt::format("no '{}' in {}, which has {}", key, here(), some_of(names)));
    }
    value_ = &*found;
    done_ = at_;
  }

  void bracket() {
    if (at_ < path_.size() && path_[at_] == '"') {
      const std::string key = quoted();
      close();
      return member(key);
    }
    std::vector<Condition> conditions;
    std::string text = until("=,]");
    if (at_ < path_.size() && path_[at_] == ']') {
      ++at_;
      return index(text);
    }
    while (true) {
      if (at_ >= path_.size() || path_[at_] != '=' || text.empty())
        fail("expected an index, name=value or \"name\" in brackets");
      ++at_;
      std::string value = at_ < path_.size() && path_[at_] == '"' ? quoted() : until(",]");
      conditions.emplace_back(std::move(text), std::move(value));
      if (at_ >= path_.size() || path_[at_] != ',') break;
      ++at_;
      text = until("=,]");
    }
    close();
    select(conditions);
  }

  std::string quoted() {
    const std::size_t end = path_.find('"', at_ + 1);
    if (end == std::string_view::npos) fail("expected a closing quote");
    const std::string_view text = path_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(text);
  }

  std::string until(std::string_view stops) {
    const std::size_t end = std::min(path_.find_first_of(stops, at_), path_.size());
    const std::string_view text = path_.substr(at_, end - at_);
    at_ = end;
    return std::string(text);
  }

  void close() {
    if (at_ >= path_.size() || path_[at_] != ']') fail(fmt::format("expected ']' at character {}", at_ + 1));
    ++at_;
  }

  void index(const std::string& text) {
    std::int64_t at = 0;
    if (!parse_whole(text, at))
      fail(fmt::format("expected an index, name=value or \"name\" in brackets, got '{}'", text));
    expect_array();
    const auto size = static_cast<std::int64_t>(value_->size());
    if (at >= size || at < -size) fail(fmt::format("no element [{}] in {}, which has {} elements", at, here(), size));
    value_ = &(*value_)[static_cast<std::size_t>(at < 0 ? at + size : at)];
    done_ = at_;
  }

  void select(const std::vector<Condition>& conditions) {
    expect_array();
    const json* found = nullptr;
    std::vector<std::string> present;  // values of the first condition's member
    for (const json& element : *value_) {
      bool matches = element.is_object();
      for (const auto& [key, wanted] : conditions) {
        const auto member = element.is_object() ? element.find(key) : element.end();
        matches = matches && member != element.end() && equals(*member, wanted);
      }
      if (element.is_object() && element.contains(conditions.front().first)) {
        const json& value = element[conditions.front().first];
        std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        if (present.empty() || present.back() != text) present.push_back(std::move(text));
      }
      if (!matches) continue;
      if (found != nullptr) fail(fmt::format("several elements of {} have {}", here(), to_text(conditions)));
      found = &element;
    }
    if (found == nullptr) {
      fail(fmt::format("no element of {} has {}; {} is {}", here(), to_text(conditions), conditions.front().first,
                       some_of(present)));
    }
    value_ = found;
    done_ = at_;
  }

  static std::string to_text(const std::vector<Condition>& conditions) {
    std::string text;
    for (const auto& [key, value] : conditions) text += (text.empty() ? "" : ",") + key + "=" + value;
    return text;
  }

  void expect_array() const {
    if (!value_->is_array()) fail(fmt::format("expected an array, {} is {}", here(), kind()));
  }

  [[nodiscard]] std::string kind() const {
    const std::string name = value_->type_name();
    return (name == "array" || name == "object" ? "an " : name == "null" ? "" : "a ") + name;
  }

  const json* value_;
  std::string_view path_;
  std::size_t at_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

const json& resolve(const json& root, std::string_view path) {
  return Walk(root, path).run();
}

double resolve_number(const json& root, std::string_view path) {
  const json& value = resolve(root, path);
  if (!value.is_number()) {
    throw PathError(fmt::format("{}: expected a number, got {}", path, value.dump().substr(0, 60)));
  }
  return value.get<double>();
}

}  // namespace weft::traces
