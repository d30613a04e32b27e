// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/document.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "platforms/config/earlier_run.h"
#include "platforms/config/text.h"
#include "traces/files/read_files.h"
#include "traces/json/json_depth.h"
#include "traces/json/json_text.h"

namespace weft::platforms {
namespace {

using nlohmann::json;

constexpr const char* kCommandLine = "--set";

// Sources of values, as effective() names them.
constexpr const char* kByHand = "command line";
constexpr const char* kByPatch = "patch ";

// Of what a run writes.
constexpr const char* kOrigin = "file";
constexpr const char* kPlatform = "platform";
constexpr const char* kValues = "values";

bool has_platform(const json& tree) {
  const auto has = [&tree](const char* key, json::value_t type) {
    const auto found = tree.find(key);
    return found != tree.end() && found->type() == type;
  };
  return has(kOrigin, json::value_t::string) && has(kPlatform, json::value_t::object) &&
         has(kValues, json::value_t::object);
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> keys;
  for (std::size_t start = 0;;) {
    const std::size_t dot = path.find('.', start);
    keys.emplace_back(path.substr(start, dot - start));
    if (dot == std::string_view::npos) return keys;
    start = dot + 1;
  }
}

/// A value of an override at `path`: JSON if it is, else the text itself, so that nobody must quote "400Gbps".
json parse_value(const std::string& text, const std::string& path) {
  if (traces::too_deep_at(text)) return text;
  try {
    return traces::parse_json(text);
  } catch (const traces::JsonError& error) {
    if (error.is_syntax() || text.find_first_of("{[") == std::string::npos) return text;
    throw InputError(kCommandLine, join_path(path, error.where()), error.expected(), error.got());
  }
}

}  // namespace

Document::Document(const std::string& file, std::span<const std::string> overrides, Catalogue catalogue,
                   std::span<const std::string> patches, std::span<const OptionValue> by_option)
    : Document(std::make_unique<json>(load_own_object(file, "a platform", may_be_platform)), file, overrides,
               std::move(catalogue), patches, by_option) {
  catalogue_.search_first(std::filesystem::path(origin_).parent_path());
}

Document Document::from_text(const std::string& text, const std::string& name, std::span<const std::string> overrides,
                             Catalogue catalogue, std::span<const std::string> patches) {
  json tree = parse_own_json(text, name);
  if (!tree.is_object()) throw InputError(name, "", "a platform in JSON, an object", got_text(tree));
  return Document(std::make_unique<json>(std::move(tree)), name, overrides, std::move(catalogue), patches, {});
}

Document::Document(std::unique_ptr<json> tree, std::string file, std::span<const std::string> overrides,
                   Catalogue catalogue, std::span<const std::string> patches, std::span<const OptionValue> by_option)
    : file_(std::move(file)), origin_(file_), tree_(std::move(tree)), catalogue_(std::move(catalogue)) {
  if (has_platform(*tree_)) {
    origin_ = (*tree_)[kOrigin].get<std::string>();
    for (const auto& [path, value] : (*tree_)[kValues].items()) {
      const auto source = value.is_object() ? value.find("source") : value.end();
      if (!value.is_object() || (source != value.end() && !source->is_string())) {
        const std::string at = join_path(kValues, path);
        throw InputError(file_, value.is_object() ? join_path(at, "source") : at,
                         value.is_object() ? "where the value came from, a string as a run wrote it"
                                           : "an object with value and source, as a run wrote it",
                         got_text(value.is_object() ? *source : value));
      }
      if (source == value.end()) continue;
      const auto& name = source->get_ref<const std::string&>();
      if (name == kByHand || name.starts_with(kByPatch)) before_.emplace(path, name);
    }
    earlier_ = std::make_unique<const EarlierRun>(file_, (*tree_)[kValues]);
    json platform = std::move((*tree_)[kPlatform]);
    *tree_ = std::move(platform);
    // The same run writes its results anew, and another one does not take their place.
    if (patches.empty() && overrides.empty() && by_option.empty()) traces::forget_read(file_);
  }
  for (const std::string& name : patches)
    patch(load_own_object(name, "a patch of a platform", may_be_platform), "", name);
  for (const std::string& assignment : overrides) set(assignment);
  for (const OptionValue& value : by_option) {
    put_text(value.path, value.text);
    options_.insert_or_assign(value.path, value.option);
  }
}

Document::~Document() = default;

Node Document::root() {
  return {*this, "", {{tree_.get(), nullptr, ""}}};
}

void Document::set(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string path = assignment.substr(0, equals);
  const std::vector<std::string> keys = split_path(path);
  bool complete = equals != std::string::npos;
  for (const std::string& key : keys) complete = complete && !key.empty();
  if (!complete) throw InputError(kCommandLine, "", "path=value", in_quotes(assignment));
  put_text(path, assignment.substr(equals + 1));
}

void Document::put_text(const std::string& path, const std::string& text) {
  json value = parse_value(text, path);
  const bool is_plain = value.is_primitive() && !value.is_string();
  put(path, std::move(value), kCommandLine);
  if (is_plain) typed_.insert_or_assign(path, text);
}

const std::string* Document::typed(std::string_view path) const {
  const auto found = typed_.find(path);
  return found == typed_.end() ? nullptr : &found->second;
}

void Document::patch(const json& value, const std::string& path, const std::string& file) {
  if (!value.is_object()) return put(path, value, file);
  for (const auto& [key, member] : value.items()) patch(member, join_path(path, key), file);
}

void Document::put(const std::string& path, json value, const std::string& source) {
  json* at = tree_.get();
  std::string here;
  for (const std::string& key : split_path(path)) {
    if (at->is_string()) {
      // Below the name of a part stand its fields.
      *at = json{{"part", *at}};
      opened_.insert_or_assign(here, source);
    } else if (at->is_null()) {
      *at = json::object();
    }
    const std::string next = join_path(here, key);
    if (at->is_array()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (error != std::errc() || end != key.data() + key.size() || index >= at->size()) {
        throw InputError(source, next, "an index below " + std::to_string(at->size()), in_quotes(key));
      }
      at = &(*at)[index];
    } else if (at->is_object()) {
      if (!at->contains(key)) made_.insert_or_assign(next, source);
      at = &(*at)[key];
    } else {
      throw InputError(source, next, "a place in the platform", got_text(*at) + " at " + here);
    }
    here = next;
  }
  *at = std::move(value);
  std::erase_if(typed_, [&](const auto& each) { return each.first == path || each.first.starts_with(path + "."); });
  if (!overridden_.insert_or_assign(path, source).second) set_again_.insert(path);
}

std::string Document::overrider(std::string_view path) const {
  for (;;) {
    if (const auto found = overridden_.find(path); found != overridden_.end()) return found->second;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos) return "";
    path = path.substr(0, dot);
  }
}

std::string Document::file_of(std::string_view path) const {
  const auto by_whom = [&](const std::string& source) {
    if (source != kCommandLine) return source;
    // An option may have put a value here, or below a key that nobody knows.
    const std::string below = std::string(path) + ".";
    auto option = options_.find(path);
    if (option == options_.end()) option = options_.lower_bound(below);
    const bool is_it = option != options_.end() && (option->first == path || option->first.starts_with(below));
    return is_it ? option->second : source;
  };
  if (const std::string source = overrider(path); !source.empty()) return by_whom(source);
  if (const auto opened = opened_.find(path); opened != opened_.end()) return by_whom(opened->second);
  const auto made = made_.find(path);
  return made != made_.end() ? by_whom(made->second) : file_;
}

const Part* Document::part_before(const std::string& path, const std::string& name, std::string_view kind) {
  if (earlier_ == nullptr) return nullptr;
  const std::string key = path + " " + name;
  auto found = parts_before_.find(key);
  if (found == parts_before_.end()) found = parts_before_.emplace(key, earlier_->part(path, name, kind)).first;
  return found->second.get();
}

void Document::record(const std::string& path, const json& value, const Node::Layer* layer, double times) {
  std::string source = "default";
  if (layer != nullptr && layer->part != nullptr) {
    source = (layer->part->kind == kListFile ? "file " : "part ") + layer->part->name;
  } else if (layer != nullptr) {
    const std::string by = overrider(layer->path);
    const auto before = before_.find(path);
    source = by == kCommandLine        ? kByHand
             : !by.empty()             ? kByPatch + by
             : before != before_.end() ? before->second
                                       : "file";
  }
  records_[path] = {std::make_unique<json>(value), std::move(source), times};
}

json Document::effective() const {
  json all = json::object();
  for (const auto& [path, record] : records_) all[path] = {{"value", *record.value}, {"source", record.source}};
  return all;
}

std::vector<std::string> Document::remarks() const {
  std::vector<std::string> lines;
  for (const Part* part : parts_used_) {
    if (!part->hidden.empty()) {
      lines.push_back(part->name + " is " + part->file + ", not the part of that name in the catalogue");
    }
  }
  if (earlier_ != nullptr) {
    for (const auto& [place, part] : parts_before_) {
      if (part == nullptr) continue;
      lines.push_back("the part " + part->name + " is not there: its values are those that " + part->file + " has");
    }
    json now = effective();
    std::erase_if(now.get_ref<json::object_t&>(), [this](const auto& each) { return !overrider(each.first).empty(); });
    for (const Part* part : parts_used_) {
      const std::string changes = earlier_->changes(part->name, now);
      if (changes.empty()) continue;
      lines.push_back(part->file + " has changed since the run that wrote " + earlier_->file() + ": " + changes);
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

json Document::configuration() const {
  json platform = *tree_;
  const auto name = records_.find("name");
  if (name != records_.end()) platform["name"] = *name->second.value;
  for (const auto& [path, text] : typed_) {
    // A text that was typed stands there as the number that it reads as.
    const auto read = records_.find(path);
    if (read == records_.end() || !read->second.value->is_string()) continue;
    json* at = &platform;
    for (const std::string& key : split_path(path)) at = at->is_array() ? &(*at)[std::stoul(key)] : &(*at)[key];
    *at = *read->second.value;
  }
  return {{kOrigin, std::filesystem::absolute(origin_).lexically_normal().string()},
          {kPlatform, std::move(platform)},
          {kValues, effective()}};
}

std::vector<std::string> Document::overridden() const {
  std::vector<std::string> paths;
  for (const auto& [path, source] : overridden_) paths.push_back(path);
  return paths;
}

void Document::check_unused() const {
  check_unused(*tree_, "", nullptr);
  for (const Part* part : parts_used_) check_unused(*part->fields, "fields", part);
  for (const auto& [file, list] : lists_) check_unused(*list->fields, "", list.get());
}

void Document::check_unused(const json& value, const std::string& path, const Part* part) const {
  if (whole_.contains(&value)) return;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) check_unused(value[i], join_path(path, std::to_string(i)), part);
  }
  if (!value.is_object()) return;
  const auto asked = asked_.find(&value);
  std::vector<std::string> known;
  if (asked != asked_.end()) known.assign(asked->second.begin(), asked->second.end());
  for (const auto& [key, member] : value.items()) {
    const std::string member_path = join_path(path, key);
    if (asked != asked_.end() && asked->second.contains(key)) {
      check_unused(member, member_path, part);
      continue;
    }
    std::string expected = known.empty() ? "no keys here" : "one of " + join(known, ", ");
    std::string got = in_quotes(key);
    if (const std::string near = nearest(key, known); !near.empty()) {
      expected = "a known key";
      got += ". Did you mean " + in_quotes(near) + "?";
    }
    throw InputError(part != nullptr ? part->place(member_path) : file_of(member_path), member_path, expected, got);
  }
}

bool Document::gives(const std::string& path) const {
  const auto found = records_.find(path);
  return found != records_.end() && found->second.source != "default";
}

std::vector<std::string> Document::farthest() const {
  constexpr double kFar = 1000;
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<double, std::string>> far;
  for (const auto& [path, record] : records_) {
    // A seed may be any number.
    if (record.times < kFar || path == "seed") continue;
    const json& value = *record.value;
    far.emplace_back(-record.times, path + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  std::sort(far.begin(), far.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(far.size(), kMost); ++i) names.push_back(far[i].second);
  return names;
}

InputError Document::explain(const ConfigError& error) const {
  const auto record = records_.find(error.path());
  const std::string got = record == records_.end() ? "" : got_text(*record->second.value);
  std::string file = file_of(error.path());
  for (const auto& [path, part] : list_places_) {
    const std::string elements = path + ".";
    const auto next = overridden_.lower_bound(elements);
    const bool changed = next != overridden_.end() && next->first.starts_with(elements);
    if (error.path() == path) file = part->file;
    if (error.path().starts_with(elements) && !changed)
      file = part->place(std::string_view(error.path()).substr(path.size() + 1));
  }
  return {file, error.path(), error.expected(), got};
}

}  // namespace weft::platforms
