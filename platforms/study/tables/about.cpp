// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/tables/about.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "platforms/study/require.h"

namespace weft::study {

using nlohmann::ordered_json;

namespace {

constexpr std::array<std::string_view, 16> kLargest = {
    "busbw",      "algbw", "bw",     "bandwidth", "throughput",  "goodput",     "rate", "speed",
    "efficiency", "mfu",   "tflops", "speedup",   "utilisation", "utilization", "gbps", "performance"};
/// A count of anything for one of these is a rate, or an efficiency.
constexpr std::array<std::string_view, 10> kFor = {"s", "sec",   "second", "us",   "ms",
                                                   "j", "joule", "w",      "watt", "dollar"};

/// A rate for each of these is still a rate.
constexpr std::array<std::string_view, 7> kParts = {"gpu", "accelerator", "chip", "device", "node", "rank", "host"};

bool is_path(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

bool is_rate(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  // "tokens_per_s_per_gpu": what it is per first says what it is, unless that is a part of the machine.
  constexpr std::string_view kPer = "per_";
  for (std::size_t per = name.rfind(kPer); per != std::string::npos; per = name.rfind(kPer)) {
    if (per != 0 && name[per - 1] != '_') break;
    const std::string what = name.substr(per + kPer.size());
    if (std::find(kFor.begin(), kFor.end(), what) != kFor.end()) return true;
    if (std::find(kParts.begin(), kParts.end(), what) == kParts.end()) return false;
    name.resize(per == 0 ? 0 : per - 1);
  }
  constexpr std::string_view kPercent = "_percent";
  if (name.ends_with(kPercent)) name.resize(name.size() - kPercent.size());
  return std::any_of(kLargest.begin(), kLargest.end(), [&name](std::string_view word) {
    if (!name.ends_with(word)) return false;
    return name.size() == word.size() || name[name.size() - word.size() - 1] == '_';
  });
}

}  // namespace

About about(const Study& study) {
  About of;
  for (const Axis& axis : study.axes) of.factors.push_back({axis.path});
  for (const std::vector<Axis>& zip : study.zips) {
    std::vector<std::string>& together = of.factors.emplace_back();
    for (const Axis& axis : zip) together.push_back(axis.path);
  }
  for (const Sampling& sampling : study.samplings) {
    for (const Axis& axis : sampling.axes) of.factors.push_back({axis.path});
  }
  for (const auto& [path, expression] : study.derived) of.derived.push_back(path);
  for (const auto& [name, expression] : study.metrics) of.metrics.emplace(name, expression.text());
  for (const auto& [name, value] : study.constants) of.constants[name] = value;
  for (const Expression& expression : study.require) of.require.push_back(expression.text());
  if (study.search) {
    of.minimise = study.search->minimise;
    of.maximise = study.search->maximise;
  }
  return of;
}

ordered_json to_json(const About& about) {
  return {{"factors", about.factors},     {"derived", about.derived}, {"metrics", about.metrics},
          {"constants", about.constants}, {"require", about.require}, {"minimise", about.minimise},
          {"maximise", about.maximise}};
}

About about_of(const ordered_json& stored) {
  About of;
  if (!stored.is_object()) return of;
  of.factors = stored.at("factors").get<std::vector<std::vector<std::string>>>();
  of.derived = stored.at("derived").get<std::vector<std::string>>();
  of.metrics = stored.at("metrics").get<std::map<std::string, std::string>>();
  // Which an earlier Weft has not stored.
  of.constants = stored.value("constants", ordered_json::object());
  of.require = stored.value("require", std::vector<std::string>());
  of.minimise = stored.value("minimise", std::vector<std::string>());
  of.maximise = stored.value("maximise", std::vector<std::string>());
  return of;
}

std::vector<std::string> judge(std::vector<Row>& rows, const About& about) {
  const std::vector<Expression> require(about.require.begin(), about.require.end());
  if (require.empty()) return {};
  bool is_some_done = false;
  bool is_some_fit = false;
  std::vector<std::string> said(require.size());
  for (Row& row : rows) {
    row.is_fit = !row.is_done || unmet(row, require, about.constants) == 0;
    is_some_done = is_some_done || row.is_done;
    is_some_fit = is_some_fit || (row.is_done && row.is_fit);
    if (!row.is_done || row.is_fit) continue;
    for (std::size_t i = 0; i < require.size(); ++i) {
      if (!said[i].empty()) continue;
      if (const std::string why = unreadable(row, require[i], about.constants); !why.empty()) {
        said[i] = "require." + std::to_string(i) + ": " + why;
      }
    }
  }
  std::erase(said, "");
  if (is_some_done && !is_some_fit) said.emplace_back("no point meets what the study requires");
  return said;
}

bool is_best_when_largest(const About& about, const std::string& metric) {
  const auto is_in = [&metric](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), metric) != names.end();
  };
  if (is_in(about.maximise)) return true;
  if (is_in(about.minimise)) return false;
  const auto found = about.metrics.find(metric);
  if (found != about.metrics.end() && is_path(found->second)) {
    return is_rate(found->second.substr(found->second.rfind('.') + 1));
  }
  return is_rate(metric);
}

}  // namespace weft::study
