// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/catalogue.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A part's name is its file's stem, so it must not lead out of the folder.
bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), allowed);
}

std::string text_member(const json& object, const std::string& file, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw InputError(file, key, "a string", "nothing");
  if (!found->is_string()) throw InputError(file, key, "a string", got_text(*found));
  return found->get<std::string>();
}

}  // namespace

Part::Part() = default;
Part::~Part() = default;

std::string Part::place(std::string_view path) const {
  std::size_t element = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), element);
  if (error != std::errc() || element >= lines.size()) return file;
  return file + ":" + std::to_string(lines[element]);
}

Catalogue::Catalogue(fs::path folder) : folder_(std::move(folder)) {}

fs::path Catalogue::default_folder() {
  if (const char* variable = std::getenv("WEFT_CATALOGUE"); variable != nullptr && *variable != '\0') {
    std::error_code error;
    if (!fs::is_directory(variable, error))
      throw InputError("WEFT_CATALOGUE", "", "a folder of parts", in_quotes(variable));
    return variable;
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path installed = executable.parent_path().parent_path() / "share" / "weft" / "parts";
    if (fs::is_directory(installed, error)) return installed;
  }
  return WEFT_PARTS_SOURCE_DIR;
}

const Part* Catalogue::find(std::string_view name) {
  if (const auto found = parts_.find(name); found != parts_.end()) return found->second.get();
  if (!is_name(name)) return nullptr;
  const fs::path path = folder_ / (std::string(name) + ".json");
  std::error_code error;
  if (!fs::exists(path, error)) return nullptr;

  auto part = std::make_unique<Part>();
  part->name = name;
  part->file = path.string();
  const json object = load_json_object(part->file, "a part");
  part->kind = text_member(object, part->file, "kind");
  part->source = text_member(object, part->file, "source");
  const auto fields = object.find("fields");
  if (fields == object.end() || !fields->is_object()) {
    throw InputError(part->file, "fields", "an object", fields == object.end() ? "nothing" : got_text(*fields));
  }
  for (const auto& [key, value] : object.items()) {
    if (key != "kind" && key != "source" && key != "fields") {
      throw InputError(part->file, key, "one of kind, source, fields", in_quotes(key));
    }
  }
  part->fields = std::make_unique<const json>(*fields);
  return parts_.emplace(part->name, std::move(part)).first->second.get();
}

std::vector<std::string> Catalogue::names(std::string_view kind) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    const Part* part = find(name);
    if (part != nullptr && (kind.empty() || part->kind == kind)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace weft::platforms
