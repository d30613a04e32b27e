// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/accuracy/accuracy_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "platforms/config/text.h"
#include "platforms/results/accuracy/accuracy_plot.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using traces::PublishedResult;
using traces::SuiteStatistics;

/// By which weft validate knows its pages again (platforms/cli/result_kind.cpp).
constexpr const char* kWritten = "This page is written by `weft validate";
constexpr std::size_t kMostRows = 120;  // of a page that people read
constexpr std::size_t kWorstRows = 40;

using Cells = std::vector<std::string>;

std::string line_of_table(const Cells& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + markdown_cell(cell) + " |";
  return text + "\n";
}

std::string head_of_table(const Cells& cells) {
  std::string text = line_of_table(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) text += " --- |";
  return text + "\n";
}

std::string signed_percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:+.1f}%", *fraction * 100) : "-";
}

std::string size_in_percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:.1f}%", *fraction * 100) : "-";
}

/// Four digits that count, without an exponent as far as people read one: 36790, not 3.679e+04.
std::string quantity(double value, const std::string& unit) {
  std::string text = fmt::format("{:.4g}", value);
  const double size = std::abs(value);
  if (size >= 1e4 && size < 1e10) {
    const double last = std::pow(10, std::floor(std::log10(size)) - 3);
    text = fmt::format("{:.0f}", std::round(value / last) * last);
  }
  return text + (unit.empty() ? "" : " " + unit);
}

/// "1 of 5": rows that miss their tolerance, of those that have one.
std::string outside(const SuiteStatistics& suite) {
  std::string text = "-";
  if (const int judged = suite.passed + suite.failed; judged > 0) text = fmt::format("{} of {}", suite.failed, judged);
  if (suite.broken > 0) text += fmt::format(", {} without a result", suite.broken);
  return text;
}

const char* verdict_of(const PublishedResult& result) {
  switch (result.verdict) {
    case traces::Verdict::kPass:
      return "pass";
    case traces::Verdict::kFail:
      return "FAIL";
    case traces::Verdict::kReported:
      return "-";
    case traces::Verdict::kBroken:
      break;
  }
  return "BROKEN";
}

/// Numbers of the rows that a page shows, from 0.
std::vector<std::size_t> shown_rows(const std::vector<PublishedResult>& rows) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order[i] = i;
  if (rows.size() <= kMostRows) return order;
  std::stable_sort(order.begin(), order.end(), [&rows](std::size_t a, std::size_t b) {
    return std::abs(rows[a].relative_error.value_or(INFINITY)) > std::abs(rows[b].relative_error.value_or(INFINITY));
  });
  order.resize(kWorstRows);
  std::sort(order.begin(), order.end());
  return order;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_of(const std::vector<PublishedResult>& rows) {
  std::string text = "row,platform,arguments,metric,published,simulated,unit,error,tolerance,verdict,source\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const traces::PublishedRow& row = rows[i].row;
    const auto number = [](std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : ""; };
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", i + 1, csv_field(row.platform), csv_field(row.arguments),
                        csv_field(row.metric), number(row.published), number(rows[i].simulated), csv_field(row.unit),
                        number(rows[i].relative_error), csv_field(row.tolerance_text), verdict_of(rows[i]),
                        csv_field(row.source));
  }
  return text;
}

std::string rows_section(const std::vector<PublishedResult>& rows, const std::string& suite) {
  std::string text = "## Rows\n\n";
  if (rows.size() > kMostRows) {
    text += fmt::format("The {} of {} rows with the largest errors; [{}.csv]({}.csv) has all of them.\n\n", kWorstRows,
                        rows.size(), suite, suite);
  }
  text += head_of_table(
      {"#", "platform", "arguments", "metric", "published", "simulated", "error", "tolerance", "", "source"});
  std::vector<std::string> sources;
  for (const std::size_t i : shown_rows(rows)) {
    const PublishedResult& result = rows[i];
    const traces::PublishedRow& row = result.row;
    auto source = std::find(sources.begin(), sources.end(), row.source);
    if (source == sources.end()) source = sources.insert(source, row.source);
    text += line_of_table({std::to_string(i + 1), row.platform, row.arguments, row.metric,
                           quantity(row.published, row.unit),
                           result.simulated ? quantity(*result.simulated, row.unit) : result.message,
                           signed_percent(result.relative_error), row.tolerance_text.empty() ? "-" : row.tolerance_text,
                           verdict_of(result), fmt::format("[{}]", source - sources.begin() + 1)});
  }
  text += "\nSources:\n\n";
  for (std::size_t i = 0; i < sources.size(); ++i) text += fmt::format("{}. {}\n", i + 1, sources[i]);
  return text;
}

std::string paragraph(const std::string& text) {
  return text.empty() ? "" : text + "\n\n";
}

std::string summary_line(const SuiteStatistics& suite, const Reading& reading) {
  return fmt::format("| [{0}]({0}.md) |", suite.suite) +
         line_of_table({reading.title, std::to_string(suite.rows), outside(suite), signed_percent(suite.mean_error),
                        size_in_percent(suite.mean_absolute_error), size_in_percent(suite.percentile_95_error),
                        signed_percent(suite.worst_error)})
             .substr(1);
}

/// The suite of a line of a summary's table; empty for any other line.
std::string suite_of_line(const std::string& line) {
  constexpr std::string_view kBeginning = "| [";
  if (!line.starts_with(kBeginning)) return "";
  const std::string name = line.substr(kBeginning.size(), line.find(']') - kBeginning.size());
  return line.starts_with(fmt::format("| [{0}]({0}.md) |", name)) ? name : "";
}

std::string trimmed_lines(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  while (text.starts_with('\n')) text.erase(0, 1);
  return text;
}

}  // namespace

Reading Reading::parse(const std::string& text) {
  Reading reading;
  std::istringstream lines(text);
  std::string* part = &reading.before;
  for (std::string line; std::getline(lines, line);) {
    if (reading.title.empty() && line.starts_with("# ")) {
      reading.title = line.substr(2);
      continue;
    }
    if (line.starts_with("## ")) part = &reading.behind;
    *part += line + "\n";
  }
  reading.before = trimmed_lines(reading.before);
  reading.behind = trimmed_lines(reading.behind);
  return reading;
}

Reading Reading::find(const fs::path& table, const std::string& name) {
  std::ifstream file(table.parent_path() / "readings" / (name + ".md"));
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return parse(text.str());
}

bool can_name_a_page(const std::string& suite) {
  constexpr std::size_t kLongest = 200;
  const bool is_plain = std::all_of(suite.begin(), suite.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  return is_plain && !suite.empty() && suite.front() != '.' && suite.size() <= kLongest && suite != "README";
}

SuitePage suite_page(const std::vector<PublishedResult>& rows, const Reading& reading, const std::string& tables) {
  const SuiteStatistics sums = traces::statistics(rows).front();
  const std::string& suite = sums.suite;
  const std::string title = reading.title.empty() ? suite : reading.title;
  SuitePage page;
  page.markdown = fmt::format("# {}\n\n{}`. To measure again: `weft validate {}--suite {}`.\n\n", title, kWritten,
                              tables.empty() ? "" : tables + " ", suite);
  page.markdown += paragraph(reading.before);
  page.markdown +=
      head_of_table({"rows", "outside tolerance", "mean error", "mean |error|", "95th percentile", "worst"});
  page.markdown += line_of_table({std::to_string(sums.rows), outside(sums), signed_percent(sums.mean_error),
                                  size_in_percent(sums.mean_absolute_error), size_in_percent(sums.percentile_95_error),
                                  signed_percent(sums.worst_error)});
  page.markdown += fmt::format("\n![Simulated over published values of {0}]({0}.svg)\n\n", suite);
  page.markdown += paragraph(reading.behind);
  page.markdown += rows_section(rows, suite);
  page.plot = accuracy_plot(rows, suite + ": simulated over published");
  if (rows.size() > kMostRows) page.table = csv_of(rows);
  return page;
}

std::string accuracy_summary(const std::vector<std::pair<SuiteStatistics, Reading>>& suites, const Reading& reading,
                             const std::string& earlier, const std::vector<std::string>& tables) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::istringstream text(earlier);
  for (std::string line; std::getline(text, line);) {
    if (std::string suite = suite_of_line(line); !suite.empty()) lines.emplace_back(std::move(suite), line + "\n");
  }
  for (const auto& [sums, title] : suites) {
    const auto is_this = [&name = sums.suite](const auto& line) { return line.first == name; };
    const auto found = std::find_if(lines.begin(), lines.end(), is_this);
    const std::string line = summary_line(sums, title);
    if (found == lines.end()) {
      lines.emplace_back(sums.suite, line);
    } else {
      found->second = line;
    }
  }
  std::string title = reading.title.empty() ? "Accuracy" : reading.title;
  if (reading.title.empty() && !tables.empty()) {
    std::vector<std::string> names;
    for (const std::string& table : tables) names.push_back(fs::path(table).stem().string());
    title += " against " + join(names, ", ");
  }
  std::string page =
      fmt::format("# {}\n\n{}{} --markdown`.\n\n", title, kWritten, tables.empty() ? "" : " " + join(tables, " "));
  page += paragraph(reading.before);
  page += head_of_table(
      {"suite", "compares", "rows", "outside tolerance", "mean error", "mean |error|", "95th percentile", "worst"});
  for (const auto& [suite, line] : lines) page += line;
  if (!reading.behind.empty()) page += "\n" + reading.behind + "\n";
  return page;
}

}  // namespace weft::platforms
