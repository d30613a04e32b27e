// SPDX-License-Identifier: Apache-2.0
// How compared rows are shown: the rendering half of published_table.h.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "traces/published_table.h"

namespace weft::traces {
namespace {

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kReported:
      return "-";
    case Verdict::kBroken:
      break;
  }
  return "BROKEN";
}

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string with_unit(double value, const std::string& unit) {
  return number(value) + (unit.empty() ? "" : " " + unit);
}

std::string percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:+.1f}%", *fraction * 100) : "-";
}
std::string unsigned_percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:.1f}%", *fraction * 100) : "-";
}

std::string tolerance_of(const PublishedRow& row) {
  return row.tolerance_text.empty() ? "-" : row.tolerance_text;
}

using Line = std::vector<std::string>;

/// Left-aligned columns, two blanks apart.
std::string in_columns(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) row += fmt::format("{:<{}}  ", line[i], widths[i]);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

Line summary_head() {
  return {"suite",           "rows", "pass", "fail", "reported", "broken", "mean error", "mean |error|",
          "95th percentile", "worst"};
}

Line summary(const SuiteStatistics& suite) {
  return {suite.suite,
          std::to_string(suite.rows),
          std::to_string(suite.passed),
          std::to_string(suite.failed),
          std::to_string(suite.reported),
          std::to_string(suite.broken),
          percent(suite.mean_error),
          unsigned_percent(suite.mean_absolute_error),
          unsigned_percent(suite.percentile_95_error),
          percent(suite.worst_error)};
}

nlohmann::ordered_json optional(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string to_text(const std::vector<PublishedResult>& results) {
  std::vector<Line> lines{
      {"suite", "platform", "arguments", "metric", "published", "simulated", "error", "tolerance", ""}};
  for (const PublishedResult& result : results) {
    const PublishedRow& row = result.row;
    lines.push_back({row.suite, row.platform, row.arguments, row.metric, with_unit(row.published, row.unit),
                     result.simulated ? with_unit(*result.simulated, row.unit) : "-", percent(result.relative_error),
                     tolerance_of(row), std::string(to_text(result.verdict))});
  }
  std::vector<Line> sums{summary_head()};
  for (const SuiteStatistics& suite : statistics(results)) sums.push_back(summary(suite));
  std::string text = in_columns(lines) + "\n" + in_columns(sums);
  bool first = true;
  for (const PublishedResult& result : results) {
    if (result.message.empty()) continue;
    text += fmt::format("{}{}:{}: {}\n", first ? "\n" : "", result.row.file, result.row.line, result.message);
    first = false;
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<PublishedResult>& results) {
  nlohmann::ordered_json json{{"pass", all_pass(results)},
                              {"suites", nlohmann::ordered_json::array()},
                              {"rows", nlohmann::ordered_json::array()}};
  for (const SuiteStatistics& suite : statistics(results)) {
    json["suites"].push_back({{"suite", suite.suite},
                              {"rows", suite.rows},
                              {"passed", suite.passed},
                              {"failed", suite.failed},
                              {"reported", suite.reported},
                              {"broken", suite.broken},
                              {"mean_error", optional(suite.mean_error)},
                              {"mean_absolute_error", optional(suite.mean_absolute_error)},
                              {"percentile_95_error", optional(suite.percentile_95_error)},
                              {"worst_error", optional(suite.worst_error)}});
  }
  for (const PublishedResult& result : results) {
    const PublishedRow& row = result.row;
    constexpr std::string_view kVerdicts[] = {"pass", "fail", "reported", "broken"};
    json["rows"].push_back({{"file", row.file},
                            {"line", row.line},
                            {"suite", row.suite},
                            {"platform", row.platform},
                            {"arguments", row.arguments},
                            {"metric", row.metric},
                            {"published", row.published},
                            {"simulated", optional(result.simulated)},
                            {"unit", row.unit},
                            {"error", optional(result.relative_error)},
                            {"tolerance", tolerance_of(row)},
                            {"verdict", kVerdicts[static_cast<int>(result.verdict)]},
                            {"message", result.message},
                            {"source", row.source}});
  }
  return json;
}

}  // namespace weft::traces
