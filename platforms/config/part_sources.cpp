// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/part_sources.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "hw/core/power.h"
#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using nlohmann::json;

constexpr std::string_view kPart = "part";

/// What an object sets, by path. A part that is named within it stands for the object; at the top it is another's file.
void add_leaves(const json& object, const std::string& path, std::map<std::string, json>& leaves) {
  for (const auto& [key, value] : object.items()) {
    if (key == kPart) {
      if (!path.empty()) leaves[path] = value;
    } else if (value.is_object()) {
      add_leaves(value, join_path(path, key), leaves);
    } else {
      leaves[join_path(path, key)] = value;
    }
  }
}

std::map<std::string, json> leaves_of(const json& fields) {
  std::map<std::string, json> leaves;
  add_leaves(fields, "", leaves);
  return leaves;
}

bool is_within(std::string_view path, std::string_view object) {
  return path.starts_with(object) && (path.size() == object.size() || path[object.size()] == '.');
}

/// One element of `sources` at the path.
class SourceReader {
 public:
  SourceReader(const std::string& file, std::string path) : file_(file), path_(std::move(path)) {}

  FieldSource read(const json& object) const {
    if (!object.is_object()) fail("", "an object with grade, source and fields", got_text(object));
    for (const auto& [key, value] : object.items()) {
      if (key != "grade" && key != "source" && key != "fields") {
        fail(key, "one of grade, source, fields", in_quotes(key));
      }
    }
    FieldSource source;
    source.grade = text(object, "grade");
    if (std::find(kSourceGrades.begin(), kSourceGrades.end(), source.grade) == kSourceGrades.end()) {
      fail("grade", "one of " + join(std::vector<std::string_view>(kSourceGrades.begin(), kSourceGrades.end()), ", "),
           in_quotes(source.grade));
    }
    source.text = text(object, "source");
    const auto fields = object.find("fields");
    if (fields == object.end() || !fields->is_array() || fields->empty()) {
      fail("fields", "paths of fields", fields == object.end() ? "nothing" : got_text(*fields));
    }
    for (const json& field : *fields) {
      if (!field.is_string()) fail("fields", "paths of fields", got_text(field));
      source.fields.push_back(field.get<std::string>());
    }
    return source;
  }

  [[noreturn]] void fail(std::string_view key, const std::string& expected, const std::string& got) const {
    throw InputError(file_, join_path(path_, key), expected, got);
  }

 private:
  [[nodiscard]] std::string text(const json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(key, "a string", "nothing");
    if (!found->is_string()) fail(key, "a string", got_text(*found));
    return found->get<std::string>();
  }

  const std::string& file_;
  std::string path_;
};

/// The one that names the longest part of the path.
const FieldSource* source_of(const Part& part, std::string_view path) {
  const FieldSource* found = nullptr;
  std::size_t longest = 0;
  for (const FieldSource& source : part.sources) {
    for (const std::string& field : source.fields) {
      if (!is_within(path, field) || field.size() < longest) continue;
      found = &source;
      longest = field.size();
    }
  }
  return found;
}

/// The part that it is derived from; null if it is from none.
const Part* base_of(Catalogue& catalogue, const Part& part) {
  const auto name = part.fields->find(kPart);
  if (name == part.fields->end()) return nullptr;
  const Part* base = name->is_string() ? catalogue.find(name->get<std::string>()) : nullptr;
  if (base == nullptr || base->kind != part.kind) {
    throw InputError(part.file, "fields.part", "a part of kind " + part.kind, got_text(*name));
  }
  return base;
}

}  // namespace

std::vector<FieldSource> read_sources(const json& sources, const json& fields, const std::string& file) {
  if (!sources.is_array()) {
    throw InputError(file, "sources", "an array of objects with grade, source and fields", got_text(sources));
  }
  const std::map<std::string, json> leaves = leaves_of(fields);
  std::set<std::string> named;
  std::vector<FieldSource> all;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const SourceReader reader(file, join_path("sources", std::to_string(i)));
    FieldSource source = reader.read(sources[i]);
    for (const std::string& field : source.fields) {
      const bool is_set = std::any_of(leaves.begin(), leaves.end(),
                                      [&field](const auto& leaf) { return is_within(leaf.first, field); });
      if (!is_set) reader.fail("fields", "fields that the part sets", in_quotes(field));
      if (!named.insert(field).second) reader.fail("fields", "fields that no other source names", in_quotes(field));
    }
    all.push_back(std::move(source));
  }
  return all;
}

std::vector<PartField> fields_of(Catalogue& catalogue, const Part& part) {
  std::map<std::string, PartField> fields;
  std::set<const Part*> seen;
  for (const Part* each = &part; each != nullptr; each = base_of(catalogue, *each)) {
    if (!seen.insert(each).second) {
      throw InputError(part.file, "fields.part", "a part that is not derived from itself", in_quotes(each->name));
    }
    for (auto& [path, value] : leaves_of(*each->fields)) {
      fields.try_emplace(path, PartField{path, std::move(value), each->name, source_of(*each, path)});
    }
  }
  std::vector<PartField> list;
  list.reserve(fields.size());
  for (auto& [path, field] : fields) list.push_back(std::move(field));
  return list;
}

UnitValue split_unit(const json& value) {
  if (!value.is_string()) return {value, ""};
  const auto& text = value.get_ref<const std::string&>();
  const auto reads = [&text](auto parse) {
    try {
      parse(text);
      return true;
    } catch (const std::invalid_argument&) {
      return false;
    }
  };
  const bool is_quantity = reads(parse_time) || reads(parse_bytes) || reads(parse_rate) || reads(parse_frequency) ||
                           reads(parse_compute) || reads(parse_energy) || reads(parse_power);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!is_quantity || error != std::errc()) return {value, ""};
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  const json read = json::parse(std::string(text.data(), end), nullptr, false);
  return {read.is_discarded() ? json(number) : read, std::move(unit)};
}

}  // namespace weft::platforms
