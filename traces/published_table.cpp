// SPDX-License-Identifier: Apache-2.0
#include "traces/published_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "traces/metric_unit.h"

namespace weft::traces {
namespace {

/// The parts of a text between `separator`s.
std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

SuiteStatistics& suite_of(std::vector<SuiteStatistics>& suites, const std::string& name) {
  const auto found =
      std::find_if(suites.begin(), suites.end(), [&](const SuiteStatistics& suite) { return suite.suite == name; });
  if (found != suites.end()) return *found;
  suites.emplace_back().suite = name;
  return suites.back();
}

}  // namespace

Tolerance Tolerance::parse(std::string_view text, std::string_view unit) {
  if (text.empty() || text == "-") return {};
  Tolerance tolerance;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tolerance.value);
  std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  while (suffix.starts_with(' ')) suffix.remove_prefix(1);
  const bool is_size = error == std::errc() && std::isfinite(tolerance.value) && tolerance.value >= 0;
  if (is_size && suffix == "%") {
    tolerance.kind = Kind::kRelative;
    tolerance.value /= 100;
  } else if (is_size && suffix == unit) {
    tolerance.kind = Kind::kAbsolute;
  } else {
    throw std::invalid_argument("a tolerance such as 10%, 0.5" + std::string(unit) + " or -");
  }
  return tolerance;
}

bool Tolerance::allows(double published, double simulated) const {
  const double limit = kind == Kind::kRelative ? value * std::abs(published) : value;
  return kind == Kind::kReportOnly || std::abs(simulated - published) <= limit;
}

std::vector<std::string> PublishedRow::command_lines() const {
  return split(arguments, is_ratio() ? " over " : " less ");
}

bool PublishedRow::is_ratio() const {
  return arguments.find(" over ") != std::string::npos;
}

std::vector<PublishedRow::Term> PublishedRow::terms() const {
  std::vector<Term> terms;
  for (const std::string& added : split(metric, " + ")) {
    double sign = 1;
    for (std::string& text : split(added, " - ")) {
      Term term;
      term.sign = std::exchange(sign, -1);
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), term.value);
      const bool is_value = error == std::errc() && std::string_view(end) == unit;
      if (!is_value) term.path = std::move(text);
      terms.push_back(std::move(term));
    }
  }
  return terms;
}

double PublishedRow::in_unit(const std::string& path, double value) const {
  return value * unit_factor(path, unit).value_or(1);
}

std::vector<PublishedRow> read_published(const CsvTable& table) {
  table.expect_columns({"suite", "platform", "arguments", "metric", "published", "unit", "tolerance", "source"});
  table.expect_rows("a measurement");
  std::vector<PublishedRow> rows;
  for (const CsvTable::Row row : table) {
    PublishedRow read;
    read.file = table.file();
    read.line = row.line();
    read.suite = row.required("suite");
    read.platform = row.required("platform");
    read.arguments = row.text("arguments");
    if (read.command_lines().size() > 2) row.fail("arguments", "a command, or one less or over another");
    read.metric = row.required("metric");
    read.published = row.number("published");
    read.unit = row.text("unit");
    try {
      for (const PublishedRow::Term& term : read.terms()) static_cast<void>(read.in_unit(term.path, 0));
    } catch (const std::invalid_argument& error) {
      row.fail("unit", error.what());
    }
    read.tolerance_text = row.text("tolerance");
    // A number that nobody can look up again is not a published one.
    read.source = row.required("source");
    try {
      read.tolerance = Tolerance::parse(read.tolerance_text, read.unit);
    } catch (const std::invalid_argument& error) {
      row.fail("tolerance", error.what());
    }
    if (read.tolerance.kind == Tolerance::Kind::kRelative && read.published == 0) {
      row.fail("tolerance", "an absolute tolerance, because the published value is 0");
    }
    rows.push_back(std::move(read));
  }
  return rows;
}

std::vector<PublishedRow> read_published(const std::filesystem::path& file) {
  return read_published(
      CsvTable::read(file, [](FileKind kind) { return kind == FileKind::kMeasurements || is_unknown_text(kind); }));
}

PublishedResult evaluate(const PublishedRow& row, double simulated) {
  if (!std::isfinite(simulated)) return broken(row, "the simulated value is not a finite number");
  PublishedResult result{
      .row = row, .verdict = Verdict::kReported, .simulated = simulated, .relative_error = {}, .message = {}};
  if (row.published != 0) result.relative_error = (simulated - row.published) / std::abs(row.published);
  if (row.tolerance.kind != Tolerance::Kind::kReportOnly) {
    result.verdict = row.tolerance.allows(row.published, simulated) ? Verdict::kPass : Verdict::kFail;
  }
  return result;
}

PublishedResult broken(const PublishedRow& row, std::string message) {
  return {
      .row = row, .verdict = Verdict::kBroken, .simulated = {}, .relative_error = {}, .message = std::move(message)};
}

std::vector<SuiteStatistics> statistics(const std::vector<PublishedResult>& results) {
  std::vector<SuiteStatistics> suites;
  std::vector<std::vector<double>> sizes;
  for (const PublishedResult& result : results) {
    SuiteStatistics& suite = suite_of(suites, result.row.suite);
    sizes.resize(suites.size());
    ++suite.rows;
    switch (result.verdict) {
      case Verdict::kPass:
        ++suite.passed;
        break;
      case Verdict::kFail:
        ++suite.failed;
        break;
      case Verdict::kReported:
        ++suite.reported;
        break;
      case Verdict::kBroken:
        ++suite.broken;
        break;
    }
    if (!result.relative_error) continue;
    const double error = *result.relative_error;
    sizes[static_cast<std::size_t>(&suite - suites.data())].push_back(std::abs(error));
    suite.mean_error = suite.mean_error.value_or(0) + error;
    suite.mean_absolute_error = suite.mean_absolute_error.value_or(0) + std::abs(error);
    if (std::abs(error) >= std::abs(suite.worst_error.value_or(0))) suite.worst_error = error;
  }
  for (std::size_t i = 0; i < suites.size(); ++i) {
    if (sizes[i].empty()) continue;
    const auto count = static_cast<double>(sizes[i].size());
    *suites[i].mean_error /= count;
    *suites[i].mean_absolute_error /= count;
    std::sort(sizes[i].begin(), sizes[i].end());
    suites[i].percentile_95_error = sizes[i][(95 * sizes[i].size() + 99) / 100 - 1];
  }
  return suites;
}

bool all_pass(const std::vector<PublishedResult>& results) {
  return std::none_of(results.begin(), results.end(), [](const PublishedResult& result) {
    return result.verdict == Verdict::kFail || result.verdict == Verdict::kBroken;
  });
}

}  // namespace weft::traces
