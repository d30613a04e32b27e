// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/named.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "platforms/results/format.h"
#include "platforms/results/why/resources.h"
#include "sw/firmware/program_fields.h"

namespace weft::platforms {

using nlohmann::ordered_json;

namespace {

/// The field that says how long a piece of a program is; empty: none that is known.
std::string field_of_program(const ordered_json& piece, const FieldValues& values) {
  std::vector<std::string> set = firmware::ProgramFields::of(word_of(piece, "about"));
  std::erase_if(set,
                [&](const std::string& it) { return values.text(it).find_first_of("123456789") == std::string::npos; });
  if (set.empty()) return "";
  const std::string length = fmt::format("{:.10g}ps", piece["ps"].get<double>() / piece.value("times", 1.0));
  const auto is_as_long = [&](const std::string& it) {
    constexpr double kRounded = 0.005;
    const auto times = speed_at(it, length, values.text(it), false);
    return times && std::abs(*times - 1) < kRounded;
  };
  const auto found = std::find_if(set.begin(), set.end(), is_as_long);
  return found == set.end() ? set.front() : *found;
}

}  // namespace

std::vector<NamedFlow> flows_of(const ordered_json& link) {
  std::vector<NamedFlow> flows;
  for (const ordered_json& flow : member_of(member_of(link, "carried"), "flows")) {
    std::string name = flow["from"].get<std::string>() + " to " + flow["to"].get<std::string>();
    const auto same = std::find_if(flows.begin(), flows.end(), [&](const NamedFlow& it) { return it.name == name; });
    NamedFlow& its = same != flows.end() ? *same : flows.emplace_back(NamedFlow{std::move(name)});
    its.share += flow["share"].get<double>();
    ++its.flows;
  }
  std::stable_sort(flows.begin(), flows.end(),
                   [](const NamedFlow& a, const NamedFlow& b) { return a.share > b.share; });
  return flows;
}

std::string most_of_groups(const ordered_json& why) {
  std::map<std::string, std::int64_t> spent;
  std::int64_t all = 0;
  for (const char* const key : {"collectives", "overlapping"}) {
    for (const ordered_json& it : member_of(why, key)) {
      if (!it["group"].get<std::string>().starts_with("group")) continue;
      const auto ps = it["ps"].get<std::int64_t>();
      spent[it["operation"].get<std::string>() + " of " + short_bytes(it["bytes"].get<double>())] += ps;
      all += ps;
    }
  }
  const auto most =
      std::max_element(spent.begin(), spent.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most != spent.end() && 2 * most->second > all ? most->first : "";
}

std::string fields_of_programs(const ordered_json& why, const FieldValues& values) {
  std::map<std::string, std::int64_t> sums;
  std::int64_t all = 0;
  for (const ordered_json& piece : why["pieces"]) {
    if (resource_of(piece).name != "software") continue;
    const auto ps = piece["ps"].get<std::int64_t>();
    all += ps;
    if (const std::string field = field_of_program(piece, values); !field.empty()) sums[field] += ps;
  }
  std::vector<std::pair<std::string, std::int64_t>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [field, ps] : sorted) {
    if (10 * ps < all) break;
    text += (text.empty() ? "" : ", ") + field + " " + values.text(field);
  }
  return text;
}

std::string rate_in_bytes(double bytes_per_s) {
  static constexpr std::array<const char*, 5> kUnits = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  std::size_t unit = 0;
  while (bytes_per_s >= 999.95 && unit + 1 < kUnits.size()) {
    bytes_per_s /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", bytes_per_s, kUnits[unit]);
}

}  // namespace weft::platforms
