// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/path_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platforms/results/why/resources.h"

namespace weft::platforms {

Branch& Branch::add(const std::string& name, std::int64_t more) {
  Branch& part = parts[name];
  part.ps += more;
  return part;
}

std::vector<std::pair<std::string, const Branch*>> Branch::worst_first() const {
  std::vector<std::pair<std::string, const Branch*>> all;
  for (const auto& [name, part] : parts) all.emplace_back(name, &part);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second->ps > b.second->ps; });
  return all;
}

PathParts::PathParts(const nlohmann::ordered_json& why)
    : whole(why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>()) {
  for (const nlohmann::ordered_json& piece : why["pieces"]) {
    const auto ps = piece["ps"].get<std::int64_t>();
    const std::string words(resource_of(piece).words);
    const auto& place = piece["place"].get_ref<const std::string&>();
    const auto& about = piece["about"].get_ref<const std::string&>();
    if (piece["of"] == "kernel") {
      kernels.ps += ps;
      kernels.add(about, ps).add(words, ps);
      of_kernels.add(words, ps);
      accelerators.add(place, ps);
    } else {
      between.ps += ps;
      between.add(about, ps).add(words, ps).add(place, ps);
      of_others.add(words, ps);
    }
    const auto& kind = piece["kind"].get_ref<const std::string&>();
    if (piece["on_link"] == true) links.add(place, ps).add(kind, ps);
    if (kind == "firmware" || kind == "software") hosts.add(place, ps).add(kind, ps).add(about, ps);
  }
}

std::string PathParts::percent(std::int64_t ps) const {
  return fmt::format("{:.1f} %", 100 * share(ps));
}

}  // namespace weft::platforms
