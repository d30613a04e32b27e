// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/idle_settings.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "traces/files/data_path.h"

namespace weft::platforms {
namespace {

bool is_of_catalogue(const std::filesystem::path& platform) {
  std::error_code ignored;
  const std::vector<std::filesystem::path> folders = traces::data_directories();
  return std::any_of(folders.begin(), folders.end(), [&](const std::filesystem::path& folder) {
    return std::filesystem::equivalent(platform.parent_path().empty() ? "." : platform.parent_path(), folder, ignored);
  });
}

/// Of the platform's file, unless it is of the catalogue.
std::vector<std::string> set_in_file(const Document& document) {
  std::vector<std::string> paths;
  if (is_of_catalogue(document.origin())) return paths;
  const nlohmann::json all = document.effective();
  for (const auto& [path, record] : all.items()) {
    // A platform may well have a workload for another command; to set one for this is a mistake.
    if (record["source"] == "file" && path != "workload") paths.push_back(path);
  }
  return paths;
}

/// By patches and --set.
std::vector<std::string> set_by_hand(const Document& document) {
  std::vector<std::string> paths = document.overridden();
  const nlohmann::json all = document.effective();
  for (const auto& [path, record] : all.items()) {
    const auto& source = record["source"].get_ref<const std::string&>();
    if (source == "command line" || source.starts_with("patch ")) paths.push_back(path);
  }
  return paths;
}

}  // namespace

IdleSettings::IdleSettings(const Document& document, const MachineConfig& config, const MachineUse& use,
                           std::vector<IdleFields> more) {
  MachineUse known = use;
  known.nic.gives = known.port.gives = [&document](const std::string& path) { return document.gives(path); };
  std::vector<IdleFields> all = idle_fields(config, known);
  std::move(more.begin(), more.end(), std::back_inserter(all));
  fields_ = idle_among(set_by_hand(document), all);
  // A file describes its hardware whole, whatever a run asks of it.
  std::erase_if(all, [](const IdleFields& fields) { return fields.decides_nothing != nullptr; });
  for (auto& field : idle_among(set_in_file(document), all)) fields_.push_back(std::move(field));
  std::sort(fields_.begin(), fields_.end());
  fields_.erase(std::unique(fields_.begin(), fields_.end()), fields_.end());
}

std::string IdleSettings::text() const {
  constexpr std::size_t kShown = 5;
  if (fields_.empty()) return "";
  std::string text = "without effect in this run:";
  for (std::size_t i = 0; i < std::min(fields_.size(), kShown); ++i) {
    text += (i == 0 ? " " : ", ") + fields_[i].first + " (" + fields_[i].second + ")";
  }
  if (fields_.size() > kShown) {
    text += " and " + std::to_string(fields_.size() - kShown) + " more, which without_effect in the JSON result lists";
  }
  return text;
}

nlohmann::ordered_json IdleSettings::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [field, why] : fields_) list.push_back({{"field", field}, {"because", why}});
  return list;
}

}  // namespace weft::platforms
