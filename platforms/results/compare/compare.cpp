// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "platforms/config/text.h"
#include "platforms/results/compare/changed.h"
#include "platforms/results/format.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr double kLeastPart = 0.002;  ///< of the difference or of the run, for a line of its own
constexpr std::size_t kMostOfPart = 3;
constexpr std::size_t kMostChanged = 12;

bool is_larger(const ordered_json& a, const ordered_json& b) {
  return std::abs(a["difference_us"].get<double>()) > std::abs(b["difference_us"].get<double>());
}

bool is_number_in(const ordered_json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_number();
}

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

/// Of a collective's table: the time of each size, and what it was done by if that is not the same in both.
ordered_json parts_of_sizes(const ordered_json& base, const ordered_json& other) {
  struct Row {
    std::optional<double> us[2];
    std::string by[2];
  };
  std::map<double, Row> rows;
  const ordered_json* const summaries[2] = {&base, &other};
  for (std::size_t i = 0; i < 2; ++i) {
    for (const ordered_json& each : member_of(*summaries[i], "rows")) {
      if (!is_number_in(each, "bytes") || !is_number_in(each, "time_us")) continue;
      Row& row = rows[each["bytes"].get<double>()];
      row.us[i] = row.us[i].value_or(0) + each["time_us"].get<double>();
      const ordered_json& by = member_of(each, "algorithm");
      if (by.is_string()) row.by[i] = by.get<std::string>();
    }
  }
  ordered_json list = ordered_json::array();
  for (const auto& [bytes, row] : rows) {
    std::string name = short_bytes(bytes);
    if (row.us[0] && row.us[1] && row.by[0] != row.by[1]) name += fmt::format(" ({}, then {})", row.by[0], row.by[1]);
    const auto time = [&row](std::size_t i) { return row.us[i] ? ordered_json(*row.us[i]) : ordered_json(); };
    list.push_back({{"part", name},
                    {"before_us", time(0)},
                    {"after_us", time(1)},
                    {"difference_us", row.us[1].value_or(0) - row.us[0].value_or(0)},
                    {"about", ordered_json::array()}});
  }
  std::stable_sort(list.begin(), list.end(), is_larger);
  return list;
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
  ordered_json list = ordered_json::array();
  for (const std::string& name : names) {
    const Part one = part_of(before, name);
    const Part other = part_of(after, name);
    std::map<std::string, double> about = other.about;
    for (const auto& [what, us] : one.about) about[what] -= us;
    ordered_json lines = ordered_json::array();
    for (const auto& [what, us] : about) lines.push_back({{"about", what}, {"difference_us", us}});
    std::stable_sort(lines.begin(), lines.end(), is_larger);
    list.push_back({{"part", name},
                    {"before_us", one.us},
                    {"after_us", other.us},
                    {"difference_us", other.us - one.us},
                    {"about", lines}});
  }
  std::stable_sort(list.begin(), list.end(), is_larger);
  return list;
}

std::string signed_time(double us) {
  return (us < 0 ? "-" : "+") + short_time(Time(std::llround(std::abs(us) * 1e6)));
}

/// What the parts are of, as texts call it.
enum class By { kPath, kStep, kSizes, kNothing };

struct Attributed {
  By by = By::kNothing;
  ordered_json parts = ordered_json::array();
};

Attributed attribute(const RunResults& base, const RunResults& other) {
  if (!base.why.is_null() && !other.why.is_null())
    return {By::kPath, differences(parts_of_path(base.why), parts_of_path(other.why))};
  const Parts before = parts_of_step(base.summary);
  const Parts after = parts_of_step(other.summary);
  if (!before.empty() && !after.empty()) return {By::kStep, differences(before, after)};
  const auto has_rows = [](const RunResults& run) { return member_of(run.summary, "rows").is_array(); };
  if (has_rows(base) && has_rows(other)) return {By::kSizes, parts_of_sizes(base.summary, other.summary)};
  return {};
}

/// What makes the difference of two runs say less than it seems to.
ordered_json warnings_on(const RunResults& base, const RunResults& other) {
  ordered_json warnings = ordered_json::array();
  const std::string before = kind_of_run(base);
  const std::string after = kind_of_run(other);
  if (before != after) {
    warnings.push_back(
        fmt::format("These are runs of different kinds: {} comes from {}, {} from {}. They did "
                    "different work.",
                    base.name, before, other.name, after));
  }
  for (const RunResults* run : {&base, &other}) {
    if (const std::string text = run->ended_early(); !text.empty()) warnings.push_back(text);
    if (const std::string text = run->other_schema(); !text.empty()) warnings.push_back(text);
  }
  return warnings;
}

/// What would tell more of a difference than these results do; empty if nothing would.
std::string hint_on(const RunResults& base, const RunResults& other, By by) {
  if (by == By::kPath) return "";
  std::vector<std::string> without;
  for (const RunResults* run : {&base, &other}) {
    if (!without.empty() && without.front() == run->name) continue;
    if (run->why.is_null() && run->summary.contains("simulated_us")) without.push_back(run->name);
  }
  const std::string only = by == By::kNothing ? "The summaries do not say what the difference goes to. " : "";
  if (without.empty()) return only.substr(0, only.size() - (only.empty() ? 0 : 1));
  return fmt::format(
      "{}{} {} no critical path. With --why in both runs, the difference is told by what the paths go to.", only,
      and_list(without), without.size() == 1 ? "has" : "have");
}

struct WordsOf {
  const char* parts;
  const char* rest;  ///< of the difference, what they leave
};
const WordsOf& words_of(By by) {
  static constexpr std::array<WordsOf, 4> kWords = {{{"critical path", "what came before the path"},
                                                     {"lines of a step", "outside of the lines of a step"},
                                                     {"time of each size", "outside of the rows"},
                                                     {"nothing", "what no summary says"}}};
  return kWords[static_cast<std::size_t>(by)];
}

}  // namespace

ordered_json compare_runs(const RunResults& base, const RunResults& other) {
  const double before = base.time_us();
  const double after = other.time_us();
  auto [by, parts] = attribute(base, other);
  double told = 0;
  for (const ordered_json& part : parts) told += part["difference_us"].get<double>();
  if (const double rest = after - before - told; std::abs(rest) > 1e-6) {
    parts.push_back({{"part", words_of(by).rest},
                     {"before_us", nullptr},
                     {"after_us", nullptr},
                     {"difference_us", rest},
                     {"about", ordered_json::array()}});
  }
  ChangedFields changed = changed_fields(base, other);
  return {{"from", base.name},
          {"to", other.name},
          {"before_us", before},
          {"after_us", after},
          {"difference_us", after - before},
          {"warnings", warnings_on(base, other)},
          {"work", changed_work(base, other)},
          {"changed", std::move(changed.rows)},
          {"defaults_of_one", changed.defaults_of_one},
          {"configured", !base.values().empty() && !other.values().empty()},
          {"by", words_of(by).parts},
          {"parts", std::move(parts)},
          {"hint", hint_on(base, other, by)}};
}

namespace {

/// In what the runs differ, and whether that is all.
std::string changed_part(const ordered_json& comparison) {
  const ordered_json& work = comparison["work"];
  const ordered_json& fields = comparison["changed"];
  std::vector<std::vector<std::string>> lines = changed_lines(work, fields, kMostChanged);
  std::string text;
  if (!lines.empty()) {
    lines.insert(lines.begin(), {"what differs", "before", "after"});
    text = in_columns(lines, 1);
  }
  std::string rest;
  const auto others = comparison["defaults_of_one"].get<std::size_t>();
  if (!comparison["configured"].get<bool>()) {
    rest = "A run has no config.json: its configuration is not known.\n";
  } else if (fields.empty()) {
    const bool is_same_work =
        std::all_of(work.begin(), work.end(), [](const ordered_json& row) { return row["what"] == "Weft"; });
    rest = is_same_work ? "The configurations are the same" : "No field of the configurations differs";
    if (others > 0) rest += fmt::format("; one run alone has {} more, at defaults", counted(others, "field"));
    rest += ".\n";
  }
  return text + (text.empty() || rest.empty() ? "" : "\n") + rest;
}

/// What the difference goes to.
std::string parts_part(const ordered_json& comparison) {
  const double before = comparison["before_us"];
  const double difference = comparison["difference_us"];
  std::vector<std::vector<std::string>> lines = {
      {fmt::format("what the difference is ({})", comparison["by"].get<std::string>()), "before", "after",
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
  return in_columns(lines);
}

}  // namespace

std::string compare_text(const ordered_json& comparison) {
  const double before = comparison["before_us"];
  const double difference = comparison["difference_us"];
  std::string text = fmt::format("{} {}, {} {}: {} ({:+.2f} %)\n", comparison["from"].get<std::string>(),
                                 short_time(Time(std::llround(before * 1e6))), comparison["to"].get<std::string>(),
                                 short_time(Time(std::llround(comparison["after_us"].get<double>() * 1e6))),
                                 signed_time(difference), before == 0 ? 0 : 100 * difference / before);
  for (const ordered_json& warning : comparison["warnings"]) text += wrapped(warning.get<std::string>(), 0) + "\n";
  text += "\n" + changed_part(comparison);
  const bool is_told = comparison["by"] != words_of(By::kNothing).parts;
  if (is_told) text += "\n" + parts_part(comparison);
  const std::string hint = comparison["hint"];
  return hint.empty() || (!is_told && difference == 0) ? text : text + "\n" + wrapped(hint, 0) + "\n";
}

}  // namespace weft::platforms
