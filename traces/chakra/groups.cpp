// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/groups.h"

#include <nlohmann/json.hpp>

#include "traces/whole_file.h"

namespace weft::chakra {

std::filesystem::path groups_file(const std::filesystem::path& prefix) {
  return prefix.string() + ".groups.json";
}

void write_groups(const std::filesystem::path& file, const std::vector<RankGroup>& groups) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const RankGroup& group : groups) json[group.name] = group.ranks;
  traces::WholeFile written(file);
  written.write(json.dump() + "\n");
  written.close();
}

}  // namespace weft::chakra
