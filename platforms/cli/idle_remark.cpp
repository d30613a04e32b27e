// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/idle_remark.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "traces/data_path.h"

namespace weft::platforms {
namespace {

bool is_of_catalogue(const std::filesystem::path& platform) {
  std::error_code ignored;
  const std::vector<std::filesystem::path> folders = traces::data_directories();
  return std::any_of(folders.begin(), folders.end(), [&](const std::filesystem::path& folder) {
    return std::filesystem::equivalent(platform.parent_path().empty() ? "." : platform.parent_path(), folder, ignored);
  });
}

std::vector<std::string> set_by_user(const Document& document) {
  std::vector<std::string> paths;
  const bool is_own = !is_of_catalogue(document.origin());
  const nlohmann::json all = document.effective();
  for (const auto& [path, record] : all.items()) {
    const auto& source = record["source"].get_ref<const std::string&>();
    if ((source == "file" && is_own) || source == "command line" || source.starts_with("patch ")) paths.push_back(path);
  }
  return paths;
}

}  // namespace

bool has_used_network(Machine& machine) {
  for (int i = 0; i < machine.size(); ++i) {
    if (machine.nic(i).counters().packets_sent > 0) return true;
  }
  return false;
}

IdleSettings::IdleSettings(const Document& document, const MachineConfig& config, const MachineUse& use)
    : fields_(idle_among(set_by_user(document), idle_fields(config, use))) {}

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
