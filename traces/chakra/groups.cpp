// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/groups.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "traces/files/format_error.h"
#include "traces/files/whole_file.h"

namespace weft::chakra {

std::filesystem::path groups_file(const std::filesystem::path& prefix) {
  return prefix.string() + ".groups.json";
}

std::array<std::filesystem::path, 2> groups_files(const std::filesystem::path& prefix) {
  return {groups_file(prefix), groups_file(prefix).string() + ".gz"};
}

std::optional<std::filesystem::path> find_groups(const std::filesystem::path& prefix) {
  std::optional<std::filesystem::path> found;
  for (const std::filesystem::path& file : groups_files(prefix)) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    if (found) {
      throw traces::FormatError(file.string(), 0,
                                "expected one groups file of the prefix, got " + found->filename().string() +
                                    " beside it, and one of them is an older trace's");
    }
    found = file;
  }
  return found;
}

std::optional<std::filesystem::path> prefix_of_groups(const std::filesystem::path& file) {
  const std::string name = file.string();
  for (const std::filesystem::path& ending : groups_files("")) {
    const std::string& end = ending.native();
    if (file.filename().native().size() > end.size() && name.ends_with(end))
      return name.substr(0, name.size() - end.size());
  }
  return std::nullopt;
}

void write_groups(const std::filesystem::path& file, const std::vector<RankGroup>& groups) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const RankGroup& group : groups) json[group.name] = group.ranks;
  traces::WholeFile written(file);
  written.write(json.dump() + "\n");
  written.close();
}

}  // namespace weft::chakra
