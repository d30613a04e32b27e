// SPDX-License-Identifier: Apache-2.0
// What a regression says: to people, to programs and to those that show tests.
#include <fmt/format.h>

#include <algorithm>

#include "platforms/regress/judge.h"
#include "platforms/results/format.h"
#include "traces/files/text_file.h"

namespace weft::regress {

using nlohmann::ordered_json;

namespace {

std::string value_text(const ordered_json& value) {
  if (value.is_null()) return "-";
  if (value.is_number_float()) return fmt::format("{:.7g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string verdict_text(bool passes) {
  return passes ? "pass" : "FAIL";
}

std::size_t failures(const std::vector<CaseResult>& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const auto& each) { return !each.passes(); }));
}

std::string count_text(std::size_t count) {
  return count == 1 ? "1 case" : std::to_string(count) + " cases";
}

/// What failed of a case, a line each.
std::vector<std::string> messages(const CaseResult& result) {
  std::vector<std::string> lines;
  if (!result.message.empty()) lines.push_back(result.message);
  for (const MetricResult& metric : result.metrics) {
    if (!metric.passes) lines.push_back(metric.metric + ": " + metric.message);
  }
  return lines;
}

/// Text between tags and in attributes, of characters that XML 1.0 has.
std::string xml(const std::string& text) {
  std::string escaped;
  for (const char c : traces::printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

std::string to_text(const std::vector<CaseResult>& results) {
  std::vector<std::vector<std::string>> lines = {
      {"case", "metric", "golden", "got", "deviation", "allowed", "verdict"}};
  for (const CaseResult& result : results) {
    if (result.metrics.empty()) lines.push_back({result.name, "-", "-", "-", "-", "-", verdict_text(result.passes())});
    for (const MetricResult& metric : result.metrics) {
      lines.push_back({result.name, metric.metric, value_text(metric.golden), value_text(metric.got),
                       metric.deviation ? fmt::format("{:+.3g} %", 100 * *metric.deviation) : "-",
                       metric.allowed.empty() ? "-" : metric.allowed, verdict_text(metric.passes)});
    }
  }
  std::string text = platforms::in_columns(lines);
  const std::size_t failed = failures(results);
  if (failed > 0) text += "\n";
  for (const CaseResult& result : results) {
    for (const std::string& message : messages(result)) text += result.name + ": " + message + "\n";
  }
  text += fmt::format("\n{}: {} pass, {} fail\n", count_text(results.size()), results.size() - failed, failed);
  return text;
}

ordered_json to_json(const std::vector<CaseResult>& results) {
  ordered_json cases = ordered_json::array();
  for (const CaseResult& result : results) {
    ordered_json metrics = ordered_json::array();
    for (const MetricResult& metric : result.metrics) {
      metrics.push_back({{"metric", metric.metric},
                         {"golden", metric.golden},
                         {"got", metric.got},
                         {"deviation", metric.deviation ? ordered_json(*metric.deviation) : ordered_json()},
                         {"allowed", metric.allowed},
                         {"pass", metric.passes},
                         {"message", metric.message}});
    }
    cases.push_back({{"case", result.name},
                     {"file", result.file},
                     {"pass", result.passes()},
                     {"message", result.message},
                     {"wall_s", result.wall_s},
                     {"metrics", metrics}});
  }
  return {{"pass", all_pass(results)}, {"cases", cases}};
}

std::string to_junit(const std::vector<CaseResult>& results) {
  double seconds = 0;
  for (const CaseResult& result : results) seconds += result.wall_s;
  const std::string sums = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" time=\"{:.3f}\"",
                                       results.size(), failures(results), seconds);
  std::string text = fmt::format("{} {}>\n  <testsuite name=\"weft regress\" {}>\n", kJunitBeginning, sums, sums);
  for (const CaseResult& result : results) {
    text += fmt::format(R"(    <testcase classname="weft.regress" name="{}" file="{}" time="{:.3f}")", xml(result.name),
                        xml(result.file), result.wall_s);
    if (result.passes()) {
      text += "/>\n";
      continue;
    }
    const std::vector<std::string> why = messages(result);
    text += fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                        result.message.empty() ? "deviation" : "no result", xml(why.front()), xml(joined_lines(why)));
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace weft::regress
