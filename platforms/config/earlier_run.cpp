// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/earlier_run.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using nlohmann::json;

constexpr const char* kValue = "value";
constexpr const char* kSource = "source";
constexpr std::string_view kDefault = "default";

std::string_view source_of(const json& record) {
  const auto found = record.find(kSource);
  return found != record.end() && found->is_string() ? std::string_view(found->get_ref<const std::string&>())
                                                     : std::string_view();
}

/// A list has been put down by the numbers of its elements.
json with_lists(json value) {
  if (!value.is_object()) return value;
  bool is_list = !value.empty();
  for (auto& [key, member] : value.items()) {
    member = with_lists(std::move(member));
    const auto number = whole_number(key);
    is_list = is_list && number && *number < value.size();
  }
  if (!is_list) return value;
  json list = json::array();
  for (std::size_t i = 0; i < value.size(); ++i) list.push_back(std::move(value[std::to_string(i)]));
  return list;
}

void put(json& object, std::string_view path, const json& value) {
  json* at = &object;
  for (std::size_t start = 0, dot = 0; dot != std::string_view::npos; start = dot + 1) {
    dot = path.find('.', start);
    if (!at->is_object()) return;  // a list that is whole
    at = &(*at)[std::string(path.substr(start, dot - start))];
    if (at->is_null()) *at = json::object();
  }
  *at = value;
}

}  // namespace

EarlierRun::EarlierRun(std::string file, const json& values)
    : file_(std::move(file)), values_(std::make_unique<const json>(values)) {}
EarlierRun::~EarlierRun() = default;

std::unique_ptr<const Part> EarlierRun::part(const std::string& path, const std::string& name,
                                             std::string_view kind) const {
  const auto named = values_->find(path + ".part");
  const bool is_all = named != values_->end() && named->value(kValue, json()) == name;
  const std::string own = "part " + name;
  const std::string within = path + ".";
  json fields = json::object();
  for (const auto& [place, record] : values_->items()) {
    if (!place.starts_with(within) || place == within + "part" || !record.contains(kValue)) continue;
    const std::string_view source = source_of(record);
    // With what it was derived from, and lists that it has in files. Where it is itself such a part, the rest is there.
    const bool is_of_part = is_all ? source.starts_with("part ") || source.starts_with("file ") : source == own;
    if (is_of_part) put(fields, std::string_view(place).substr(within.size()), record[kValue]);
  }
  if (fields.empty()) return nullptr;
  auto part = std::make_unique<Part>();
  part->name = name;
  part->kind = kind;
  part->file = file_;
  part->fields = std::make_unique<const json>(with_lists(std::move(fields)));
  return part;
}

std::string EarlierRun::changes(const std::string& name, const json& now) const {
  constexpr std::size_t kShown = 3;
  const std::string own = "part " + name;
  std::size_t count = 0;
  std::string text;
  for (const auto& [path, record] : values_->items()) {
    const auto found = now.find(path);
    if (found == now.end() || !record.contains(kValue) || record[kValue] == (*found)[kValue]) continue;
    const std::string_view then = source_of(record);
    const std::string_view is = source_of(*found);
    if (!(then == own && (is == own || is == kDefault)) && !(then == kDefault && is == own)) continue;
    if (++count > kShown) continue;
    text += (count == 1 ? "" : "; ") + path + " was " + got_text(record[kValue]) + ", is " + got_text((*found)[kValue]);
  }
  if (count > kShown) text += "; and " + std::to_string(count - kShown) + " more";
  return text;
}

}  // namespace weft::platforms
