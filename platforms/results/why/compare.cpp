// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "platforms/results/format.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr double kLeastPart = 0.002;  ///< of the difference or of the run, for a line of its own
constexpr std::size_t kMostOfPart = 3;
constexpr std::size_t kMostChanged = 12;

/// A part of a run, in microseconds, and what it consists of.
struct Part {
  double us = 0;
  std::map<std::string, double> about;
};
using Parts = std::map<std::string, Part>;

Parts parts_of_path(const ordered_json& why) {
  Parts parts;
  for (const ordered_json& piece : why["pieces"]) {
    const double us = piece["ps"].get<double>() * 1e-6;
    Part& part = parts[std::string(resource_of(piece).words)];
    part.us += us;
    part.about[piece["about"].get<std::string>() +
               (piece["of"] == "kernel" ? "" : " at " + piece["place"].get<std::string>())] += us;
  }
  if (const double left_out = why.value("left_out_us", 0.0); left_out != 0)
    parts["left out, as what was simulated"].us = left_out;
  return parts;
}

/// The lines of a step that a summary has in microseconds, without their sum.
Parts parts_of_step(const ordered_json& summary) {
  Parts parts;
  if (!summary.contains("breakdown_us")) return parts;
  for (const auto& [key, value] : summary["breakdown_us"].items()) {
    if (value.is_number() && key != "total") parts[key].us = value.get<double>();
  }
  return parts;
}

ordered_json changed_fields(const ordered_json& before, const ordered_json& after) {
  std::set<std::string> fields;
  for (const auto& [field, value] : before.items()) fields.insert(field);
  for (const auto& [field, value] : after.items()) fields.insert(field);
  const auto value_of = [](const ordered_json& values, const std::string& field) {
    return values.contains(field) && values[field].contains("value") ? values[field]["value"] : ordered_json();
  };
  ordered_json changed = ordered_json::array();
  for (const std::string& field : fields) {
    if (field == "name" || field == "description") continue;
    const ordered_json one = value_of(before, field);
    const ordered_json other = value_of(after, field);
    if (one != other) changed.push_back({{"field", field}, {"before", one}, {"after", other}});
  }
  return changed;
}

ordered_json differences(const Parts& before, const Parts& after) {
  std::set<std::string> names;
  for (const Parts* parts : {&before, &after}) {
    for (const auto& [name, part] : *parts) names.insert(name);
  }
  const auto part_of = [](const Parts& parts, const std::string& name) {
    const auto found = parts.find(name);
    return found == parts.end() ? Part() : found->second;
  };
  const auto by_size = [](const ordered_json& a, const ordered_json& b) {
    return std::abs(a["difference_us"].get<double>()) > std::abs(b["difference_us"].get<double>());
  };
  ordered_json list = ordered_json::array();
  for (const std::string& name : names) {
    const Part one = part_of(before, name);
    const Part other = part_of(after, name);
    std::map<std::string, double> about = other.about;
    for (const auto& [what, us] : one.about) about[what] -= us;
    ordered_json lines = ordered_json::array();
    for (const auto& [what, us] : about) lines.push_back({{"about", what}, {"difference_us", us}});
    std::stable_sort(lines.begin(), lines.end(), by_size);
    list.push_back({{"part", name},
                    {"before_us", one.us},
                    {"after_us", other.us},
                    {"difference_us", other.us - one.us},
                    {"about", lines}});
  }
  std::stable_sort(list.begin(), list.end(), by_size);
  return list;
}

std::string signed_time(double us) {
  return (us < 0 ? "-" : "+") + short_time(Time(std::llround(std::abs(us) * 1e6)));
}

std::string value_text(const ordered_json& value) {
  if (value.is_null()) return "(none)";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

ordered_json compare_runs(const RunResults& base, const RunResults& other) {
  const bool has_paths = !base.why.is_null() && !other.why.is_null();
  const double before = base.time_us();
  const double after = other.time_us();
  ordered_json parts = has_paths ? differences(parts_of_path(base.why), parts_of_path(other.why))
                                 : differences(parts_of_step(base.summary), parts_of_step(other.summary));
  double told = 0;
  for (const ordered_json& part : parts) told += part["difference_us"].get<double>();
  if (const double rest = after - before - told; std::abs(rest) > 1e-6) {
    parts.push_back({{"part", has_paths ? "what came before the path" : "outside of the lines of a step"},
                     {"before_us", nullptr},
                     {"after_us", nullptr},
                     {"difference_us", rest},
                     {"about", ordered_json::array()}});
  }
  return {{"from", base.name},
          {"to", other.name},
          {"before_us", before},
          {"after_us", after},
          {"difference_us", after - before},
          {"changed", changed_fields(base.values(), other.values())},
          {"by", has_paths ? "critical path" : "lines of a step"},
          {"parts", parts}};
}

std::string compare_text(const ordered_json& comparison) {
  const double before = comparison["before_us"];
  const double difference = comparison["difference_us"];
  std::string text = fmt::format("{} {}, {} {}: {} ({:+.2f} %)\n", comparison["from"].get<std::string>(),
                                 short_time(Time(std::llround(before * 1e6))), comparison["to"].get<std::string>(),
                                 short_time(Time(std::llround(comparison["after_us"].get<double>() * 1e6))),
                                 signed_time(difference), before == 0 ? 0 : 100 * difference / before);
  const ordered_json& changed = comparison["changed"];
  std::vector<std::vector<std::string>> lines = {{"what differs in the configuration", "before", "after"}};
  for (std::size_t i = 0; i < std::min(changed.size(), kMostChanged); ++i) {
    lines.push_back({"  " + changed[i]["field"].get<std::string>(), value_text(changed[i]["before"]),
                     value_text(changed[i]["after"])});
  }
  if (changed.size() > kMostChanged) lines.push_back({fmt::format("  {} others", changed.size() - kMostChanged)});
  text += "\n" + (changed.empty() ? "The configurations are the same.\n" : in_columns(lines));
  lines = {{fmt::format("what the difference is ({})", comparison["by"].get<std::string>()), "before", "after",
            "difference"}};
  double rest = 0;
  for (const ordered_json& part : comparison["parts"]) {
    const double us = part["difference_us"];
    const auto shows = [&](double it) {
      return std::abs(it) >= kLeastPart * std::max(std::abs(difference), kLeastPart * std::abs(before));
    };
    if (!shows(us)) {
      rest += us;
      continue;
    }
    const auto time = [](const ordered_json& it) {
      return it.is_null() ? "" : short_time(Time(std::llround(it.get<double>() * 1e6)));
    };
    lines.push_back(
        {"  " + part["part"].get<std::string>(), time(part["before_us"]), time(part["after_us"]), signed_time(us)});
    std::size_t shown = 0;
    for (const ordered_json& about : part["about"]) {
      const double its = about["difference_us"];
      if (!shows(its) || shown++ == kMostOfPart) break;
      lines.push_back({"    " + about["about"].get<std::string>(), "", "", signed_time(its)});
    }
  }
  if (rest != 0) lines.push_back({"  others", "", "", signed_time(rest)});
  lines.push_back({"  together", "", "", signed_time(difference)});
  return text + "\n" + in_columns(lines);
}

}  // namespace weft::platforms
