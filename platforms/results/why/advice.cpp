// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "platforms/results/format.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/what_if.h"

namespace weft::platforms {

using nlohmann::ordered_json;

namespace {

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
  const ordered_json values = followed(why, all_values);
  const WhatIf what_if(why);
  std::vector<ordered_json> rows;
  for (const Resource& resource : resources()) {
    if (resource.settings.empty()) continue;
    const ResourceChange little{&resource, "", 1.1};
    const ResourceChange twice{&resource, "", 2};
    if (!values.empty() && settings_of(twice, values).empty()) continue;
    const Foretold its = what_if.foretell({twice});
    if (its.ps() >= its.before_ps) continue;
    rows.push_back({{"name", resource.name},
                    {"words", resource.words},
                    {"little_ps", what_if.foretell({little}).ps()},
                    {"twice_ps", its.ps()},
                    {"loose", its.is_loose}});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ordered_json& a, const ordered_json& b) { return a["twice_ps"] < b["twice_ps"]; });
  const Foretold repaired = what_if.repaired();
  ordered_json json = {{"before_ps", repaired.before_ps}, {"resources", rows}};
  if (repaired.ps() < repaired.before_ps) {
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
    widest = std::max(widest, gain(row["twice_ps"]));
    constexpr double kNothing = 0.05;  // percent, which is written as 0.0
    const double twice = gain(row["twice_ps"]);
    const auto bar = static_cast<std::size_t>(twice < kNothing ? 0 : 20 * twice / widest + 0.5);
    lines.push_back({fmt::format("  {} ({})", row["name"].get<std::string>(), row["words"].get<std::string>()),
                     fmt::format("{:.1f} %", gain(row["little_ps"])), fmt::format("{:.1f} %", gain(row["twice_ps"])),
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
