// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/catalogue.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "platforms/config/input_error.h"
#include "platforms/config/part_sources.h"
#include "platforms/config/text.h"
#include "traces/files/data_path.h"

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

bool is_part(const json& file) {
  return file.is_object() && (file.contains("kind") || file.contains("fields")) && !file.contains("accelerators");
}

/// What may be parts in a folder. Beside own ones other files lie, which may be long.
void add_names(const fs::path& folder, std::set<std::string>& names) {
  constexpr std::uintmax_t kLargest = 1 << 20;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json" || entry.file_size(error) > kLargest) continue;
    names.insert(entry.path().stem().string());
  }
}

std::unique_ptr<Part> read_part(const std::string& name, const fs::path& path, const json& object) {
  auto part = std::make_unique<Part>();
  part->name = name;
  part->file = path.string();
  part->kind = text_member(object, part->file, "kind");
  part->source = text_member(object, part->file, "source");
  const auto fields = object.find("fields");
  if (fields == object.end() || !fields->is_object()) {
    throw InputError(part->file, "fields", "an object", fields == object.end() ? "nothing" : got_text(*fields));
  }
  for (const auto& [key, value] : object.items()) {
    if (key != "kind" && key != "source" && key != "fields" && key != "sources") {
      throw InputError(part->file, key, "one of kind, source, fields, sources", in_quotes(key));
    }
  }
  if (const auto sources = object.find("sources"); sources != object.end()) {
    part->sources = read_sources(*sources, *fields, part->file);
  }
  part->fields = std::make_unique<const json>(*fields);
  return part;
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

Catalogue::Catalogue() {
  for (const fs::path& directory : traces::data_directories()) folders_.push_back(directory / "parts");
  const char* variable = std::getenv("WEFT_PATH");
  if (variable == nullptr) return;
  std::istringstream list(variable);
  for (std::string folder; std::getline(list, folder, ':');) {
    if (folder.empty()) continue;
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      throw InputError(
          "WEFT_PATH", "", "folders separated by colons",
          in_quotes(folder) + (fs::exists(folder, error) ? ", which is no folder" : ", which is not there"));
    }
    own_.emplace_back(folder);
  }
}

void Catalogue::search_first(const fs::path& folder) {
  own_.insert(own_.begin(), folder.empty() ? "." : folder);
}

const Part* Catalogue::find(std::string_view name) {
  if (const auto found = parts_.find(name); found != parts_.end()) return found->second.get();
  if (!is_name(name)) return nullptr;
  const std::string text(name);
  const fs::path file = text + ".json";
  std::unique_ptr<Part> part;
  std::error_code error;
  for (const fs::path& folder : own_) {
    if (part != nullptr || !fs::is_regular_file(folder / file, error)) continue;
    const json object = load_own_json((folder / file).string(), "a part");
    if (is_part(object)) part = read_part(text, folder / file, object);
  }
  fs::path listed;
  for (const fs::path& folder : folders_) {
    if (listed.empty() && fs::exists(folder / file, error)) listed = folder / file;
  }
  const bool is_listed = !listed.empty();
  if (part != nullptr) {
    if (is_listed && !fs::equivalent(part->file, listed, error)) part->hidden = listed.string();
  } else if (is_listed) {
    part = read_part(text, listed, load_own_object(listed.string(), "a part"));
  } else {
    return nullptr;
  }
  return parts_.emplace(text, std::move(part)).first->second.get();
}

std::string Catalogue::why_not(std::string_view name) const {
  if (name.empty() || name.find('/') != std::string_view::npos) return "";
  std::vector<fs::path> folders = own_;
  folders.insert(folders.end(), folders_.begin(), folders_.end());
  std::error_code error;
  for (const fs::path& folder : folders) {
    const fs::path file = folder / (std::string(name) + ".json");
    if (!fs::exists(file, error)) continue;
    if (!is_name(name)) {
      return file.string() + " is no part: the name of one has letters, digits, -, _ and . and does not begin with .";
    }
    if (!fs::is_regular_file(file, error)) return file.string() + " is no file";
    const json object = load_own_json(file.string(), "a part");
    if (!is_part(object)) {
      return file.string() + " is no part: expected an object with kind, source and fields, got " +
             (object.is_object() ? "another object" : got_text(object));
    }
  }
  return "";
}

std::vector<std::string> Catalogue::names(std::string_view kind) {
  std::set<std::string> listed;
  std::string looked;
  for (const fs::path& folder : folders_) {
    add_names(folder, listed);
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  if (listed.empty()) {
    throw UsageError("the catalogue has no parts: looked in " + looked +
                     "; set WEFT_DATA to the folder of an installed share/weft");
  }
  std::set<std::string> all = listed;
  for (const fs::path& folder : own_) add_names(folder, all);
  std::vector<std::string> names;
  for (const std::string& name : all) {
    try {
      const Part* part = find(name);
      if (part != nullptr && (kind.empty() || part->kind == kind)) names.push_back(name);
    } catch (const InputError&) {
      if (listed.contains(name)) throw;  // an own file that nobody has named keeps nobody from anything
    }
  }
  return names;
}

}  // namespace weft::platforms
