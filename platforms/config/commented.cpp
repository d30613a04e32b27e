// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/commented.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/config/number_limits.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kWidth = 120;

/// As much as fits, in whole words, with "..." where that is not all.
std::string cut(const std::string& text, std::size_t width) {
  constexpr std::string_view kMore = " ...";
  if (text.size() <= width) return text;
  const std::size_t end = text.rfind(' ', width - kMore.size());
  return text.substr(0, std::min(end, width - kMore.size())) + std::string(kMore);
}

std::string in_words(const ordered_json& list) {
  std::vector<std::string> words;
  for (const ordered_json& each : list) words.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  return join(words, ", ");
}

/// What else a value of the schema could be.
std::string alternatives(const ordered_json& schema) {
  if (schema.contains("enum")) return "one of " + in_words(schema["enum"]);
  const bool is_part = schema.contains("properties") && schema["properties"].contains("part");
  if (is_part && schema.contains("examples")) return "a part, or an object: " + in_words(schema["examples"]);
  Range range;
  range.above_min = schema.contains("exclusiveMinimum");
  range.below_max = schema.contains("exclusiveMaximum");
  range.min = schema.value(range.above_min ? "exclusiveMinimum" : "minimum", range.min);
  range.max = schema.value(range.below_max ? "exclusiveMaximum" : "maximum", range.max);
  const bool is_usual = range.min == 0 && !range.above_min && range.max == INT64_MAX;
  return is_usual ? "" : number_limits(range);
}

class Writer {
 public:
  explicit Writer(const ordered_json& root) : root_(root) {}

  /// Where the schema is empty nothing is known, and nothing is said.
  void add(const ordered_json& value, const ordered_json& schema, std::size_t indent) {
    if (value.is_object() && !value.empty()) {
      add_object(value, schema, indent);
    } else if (value.is_array() && !value.empty()) {
      add_list(value, schema, indent);
    } else {
      text_ += value.dump();
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void add_object(const ordered_json& value, const ordered_json& schema, std::size_t indent) {
    const std::string inside(indent + 2, ' ');
    text_ += "{\n";
    std::size_t left = value.size();
    for (const auto& [key, member] : value.items()) {
      const ordered_json of_member = member_of(schema, key, value);
      add_comment(of_member, inside);
      text_ += inside + ordered_json(key).dump() + ": ";
      add(member, of_member, indent + 2);
      text_ += --left > 0 ? ",\n" : "\n";
    }
    text_ += std::string(indent, ' ') + "}";
  }

  void add_list(const ordered_json& value, const ordered_json& schema, std::size_t indent) {
    const bool is_plain =
        std::none_of(value.begin(), value.end(), [](const auto& each) { return each.is_structured(); });
    if (is_plain) {
      text_ += value.dump();
      return;
    }
    ordered_json item = schema.contains("items") ? resolved(schema["items"]) : ordered_json::object();
    text_ += "[\n";
    for (std::size_t i = 0; i < value.size(); ++i) {
      text_ += std::string(indent + 2, ' ');
      add(value[i], item, indent + 2);
      text_ += i + 1 < value.size() ? ",\n" : "\n";
      item = ordered_json::object();  // that of the first says it of all
    }
    text_ += std::string(indent, ' ') + "]";
  }

  void add_comment(const ordered_json& schema, const std::string& indent) {
    const std::string begin = indent + "// ";
    const std::size_t width = kWidth - begin.size();
    const std::string what = schema.value("description", "");
    const std::string others = alternatives(schema);
    if (!what.empty() && !others.empty() && what.size() + 2 + others.size() <= width) {
      text_ += begin + what + "; " + others + "\n";
      return;
    }
    if (!what.empty()) text_ += begin + cut(what, width) + "\n";
    if (!others.empty()) text_ += begin + cut(others, width) + "\n";
  }

  /// With what it refers to; of both the description at the place itself counts.
  [[nodiscard]] ordered_json resolved(const ordered_json& schema) const {
    const auto reference = schema.find("$ref");
    if (reference == schema.end()) return schema;
    constexpr std::string_view kDefinitions = "#/$defs/";
    const std::string name = reference->get<std::string>().substr(kDefinitions.size());
    ordered_json whole = resolved(root_["$defs"][name]);
    whole.update(schema);
    return whole;
  }

  /// Whether the object is as a condition of the schema has it: members with constants.
  static bool fits(const ordered_json& condition, const ordered_json& object) {
    for (const auto& [key, value] : condition["properties"].items()) {
      if (!object.contains(key) || object[key] != value["const"]) return false;
    }
    return true;
  }

  /// Of a member of the object; an empty schema if it knows of none.
  [[nodiscard]] ordered_json member_of(const ordered_json& schema, const std::string& key,
                                       const ordered_json& object) const {
    if (schema.contains("properties") && schema["properties"].contains(key)) return resolved(schema["properties"][key]);
    if (schema.contains("if")) {
      const char* const branch = fits(schema["if"], object) ? "then" : "else";
      if (schema.contains(branch)) return member_of(resolved(schema[branch]), key, object);
    }
    if (schema.contains("allOf")) {
      for (const ordered_json& each : schema["allOf"]) {
        ordered_json found = member_of(each, key, object);
        if (!found.empty()) return found;
      }
    }
    return ordered_json::object();
  }

  const ordered_json& root_;
  std::string text_;
};

}  // namespace

std::string commented(const ordered_json& value, const ordered_json& schema) {
  Writer writer(schema);
  writer.add(value, schema, 0);
  return writer.take();
}

}  // namespace weft::platforms
