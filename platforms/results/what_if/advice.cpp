// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/what_if/factors.h"
#include "platforms/results/what_if/what_if.h"
#include "platforms/results/why/path_parts.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {

using nlohmann::ordered_json;

namespace {

/// A row of `resources`; nothing where they save nothing, or the platform has none of one.
std::optional<ordered_json> row_of(const WhatIf& what_if, const std::vector<const Resource*>& resources,
                                   const FieldValues& values) {
  const auto times = [&resources](double factor) {
    std::vector<ResourceChange> changes;
    for (const Resource* resource : resources) changes.push_back({resource, "", factor});
    return changes;
  };
  std::vector<std::string> names;
  std::vector<std::string> words;
  std::vector<std::string> changes;
  for (const ResourceChange& each : times(2)) {
    if (!values.empty() && !has_settings(*each.resource, values)) return std::nullopt;
    names.emplace_back(each.resource->name);
    words.emplace_back(each.resource->words);
    changes.push_back(to_text(each));
  }
  const Foretold twice = what_if.foretell(times(2));
  if (twice.ps() >= twice.before_ps) return std::nullopt;
  constexpr double kTenth = 1.1;
  return ordered_json{{"name", join(names, " + ")},    {"words", join(words, ", ")},
                      {"what_if", join(changes, ",")}, {"little_ps", what_if.foretell(times(kTenth)).ps()},
                      {"twice_ps", twice.ps()},        {"loose", twice.is_loose}};
}

/// What a row saves, of none: nothing.
std::int64_t saved(const std::optional<ordered_json>& row, std::int64_t before) {
  return row ? before - (*row)["twice_ps"].get<std::int64_t>() : 0;
}

/// Of all links on the path that had less than their rate.
std::set<std::string> faults_of(const ordered_json& why) {
  std::set<std::string> names;
  for (const auto& [name, link] : member_of(why, "links").items()) {
    if (link.value("had", 1.0) >= 1) continue;
    for (const std::string& fault : link.value("faults", std::vector<std::string>())) names.insert(fault);
  }
  return names;
}

}  // namespace

ordered_json advice(const ordered_json& why, const ordered_json& all_values) {
  const FieldValues values = FieldValues::followed(why, all_values);
  const WhatIf what_if(why);
  const Foretold repaired = what_if.repaired();
  const std::int64_t before = repaired.before_ps;
  std::vector<ordered_json> rows;
  std::map<const Resource*, std::int64_t> alone;
  for (const Resource& resource : resources()) {
    if (resource.settings.empty()) continue;
    if (const auto row = row_of(what_if, {&resource}, values)) {
      alone[&resource] = saved(row, before);
      rows.push_back(*row);
    }
  }
  // Of two that pass the same bytes one after the other, one alone is of little use where the other is next.
  for (const char* network : {"fabric", "scale_up"}) {
    const Resource& link = resource_within(network, "link");
    const Resource& interface = interface_of(network);
    const auto both = row_of(what_if, {&link, &interface}, values);
    const std::int64_t one_by_one = alone[&link] + alone[&interface];
    const std::int64_t more = saved(both, before) - one_by_one;
    const double least = PathParts::kLeastShare * static_cast<double>(before);
    if (more > one_by_one && static_cast<double>(more) > least) rows.push_back(*both);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ordered_json& a, const ordered_json& b) { return a["twice_ps"] < b["twice_ps"]; });
  ordered_json json = {{"before_ps", before}, {"resources", rows}};
  if (repaired.ps() < before) {
    json["repaired_ps"] = repaired.ps();
    json["faults"] = faults_of(why);
  }
  return json;
}

std::string advice_text(const ordered_json& advice, std::size_t most) {
  const double before = advice["before_ps"];
  const auto gain = [before](const ordered_json& ps) { return 100 * (1 - ps.get<double>() / before); };
  std::vector<std::vector<std::string>> lines = {{"what more of it would save (estimates)", "10 %", "twice", ""}};
  double widest = 0;
  for (const ordered_json& row : advice["resources"]) {
    if (lines.size() > most) break;
    constexpr double kNothing = 0.05;  // percent, which is written as 0.0
    const double twice = gain(row["twice_ps"]);
    widest = std::max(widest, twice);
    const auto bar = static_cast<std::size_t>(twice < kNothing ? 0 : 20 * twice / widest + 0.5);
    lines.push_back({fmt::format("  {} ({})", row["name"].get<std::string>(), row["words"].get<std::string>()),
                     fmt::format("{:.1f} %", gain(row["little_ps"])), fmt::format("{:.1f} %", twice),
                     std::string(bar, '#') + (row["loose"].get<bool>() ? " loose" : "")});
  }
  std::string text = lines.size() == 1 ? "" : in_columns(lines, 3);
  if (advice.contains("repaired_ps")) {
    const auto faults = advice.value("faults", std::vector<std::string>());
    text += fmt::format("Links without their faults would save {:.1f} % (estimate){}{}.\n", gain(advice["repaired_ps"]),
                        faults.empty() ? "" : ": ", few(faults));
  }
  return text;
}

}  // namespace weft::platforms
