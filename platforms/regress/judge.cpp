// SPDX-License-Identifier: Apache-2.0
#include "platforms/regress/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platforms/config/text.h"

namespace weft::regress {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kGone = "a golden value of no metric of the case: weft regress --update removes it";
constexpr const char* kMissing = "no golden value yet: weft regress --update writes it";

MetricResult judge_metric(std::string name, const ordered_json& got, const ordered_json& golden,
                          const Allowed& allowed) {
  MetricResult result{std::move(name), golden, got, {}, allowed.text, false, ""};
  const bool reports = allowed.tolerance.kind == traces::Tolerance::Kind::kReportOnly;
  if (golden.is_number() && got.is_number()) {
    const double from = golden.get<double>();
    const double to = got.get<double>();
    if (from != 0) result.deviation = (to - from) / std::abs(from);
    result.passes = allowed.tolerance.allows(from, to);
    if (!result.passes) {
      result.message = fmt::format("expected {} within {}, got {}", golden.dump(), allowed.text, got.dump());
    }
  } else if (got.is_null()) {
    result.message = "expected a value, got none";
  } else if (golden.is_null()) {
    result.message = kMissing;
  } else {
    result.passes = golden == got || reports;
    if (!result.passes) result.message = fmt::format("expected {}, got {}", golden.dump(), got.dump());
  }
  if (reports && !got.is_null()) {
    result.passes = true;
    result.message.clear();
  }
  return result;
}

/// Elements that differ from what was to come out, of a training step or of all rows of a collective.
std::int64_t wrong_elements(const ordered_json& result) {
  const auto count = [](const ordered_json& of) {
    const auto wrong = of.find("wrong");
    return wrong != of.end() && wrong->is_number_integer() ? std::max<std::int64_t>(0, wrong->get<std::int64_t>()) : 0;
  };
  std::int64_t all = count(result);
  if (result.contains("rows")) {
    for (const ordered_json& row : result["rows"]) all += count(row);
  }
  return all;
}

std::string percent(double share) {
  return fmt::format("{:.4g}%", 100 * share);
}

MetricResult bound(std::string name, const json& error, double most) {
  MetricResult result{std::move(name), nullptr, nullptr, {}, "at most " + percent(most), false, ""};
  if (!error.is_number()) {
    result.message = "expected an error, got none";
    return result;
  }
  const double size = std::abs(error.get<double>());
  result.got = percent(size);
  result.passes = size <= most;
  if (!result.passes) result.message = fmt::format("expected at most {}, got {}", percent(most), percent(size));
  return result;
}

/// What a row of measurements runs, behind its message.
std::string run_text(const json& row) {
  return fmt::format(" ({} {} {})", row.value("platform", ""), row.value("arguments", ""), row.value("metric", ""));
}

}  // namespace

bool CaseResult::passes() const {
  return message.empty() && std::all_of(metrics.begin(), metrics.end(), [](const auto& each) { return each.passes; });
}

bool all_pass(const std::vector<CaseResult>& results) {
  return std::all_of(results.begin(), results.end(), [](const CaseResult& each) { return each.passes(); });
}

CaseResult failed(const Case& of, std::string message) {
  CaseResult result;
  result.name = of.name;
  result.file = of.file;
  result.message = std::move(message);
  return result;
}

CaseResult judge(const Case& of, const study::Row& row, const std::map<std::string, std::string>& wrong) {
  CaseResult result = failed(of, row.error);
  result.wall_s = row.wall_s;
  if (!row.is_done) return result;
  const auto golden_of_metric = [&of](const std::string& metric) {
    return of.golden.is_object() && of.golden.contains(metric) ? of.golden[metric] : ordered_json();
  };
  for (std::size_t i = 0; i < of.study.metrics.size(); ++i) {
    const std::string& name = of.study.metrics[i].first;
    result.metrics.push_back(judge_metric(name, row.metrics[name], golden_of_metric(name), of.allowed[i]));
    if (const auto why = wrong.find(name); why != wrong.end()) {
      result.metrics.back().message = "expected " + why->second;
    }
  }
  if (of.digest) {
    const Allowed equal{{traces::Tolerance::Kind::kAbsolute, 0}, "equal"};
    result.metrics.push_back(judge_metric(kDigest, row.digest, golden_of_metric(kDigest), equal));
  }
  if (of.golden.is_object()) {
    for (const auto& [name, value] : of.golden.items()) {
      const bool is_known = std::any_of(result.metrics.begin(), result.metrics.end(),
                                        [&known = name](const MetricResult& each) { return each.metric == known; });
      if (is_known) continue;
      MetricResult& gone = result.metrics.emplace_back();
      gone.metric = name;
      gone.golden = value;
      gone.message = kGone;
      gone.is_gone = true;
    }
  }
  if (const std::int64_t elements = wrong_elements(row.result); elements > 0) {
    result.message = elements == 1 ? "1 element is wrong" : fmt::format("{} elements are wrong", elements);
  }
  return result;
}

CaseResult judge_validation(const Case& of, const json& validated) {
  CaseResult result = failed(of, "");
  const Validation& bounds = *of.validation;
  for (const json& suite : validated.at("suites")) {
    const std::string name = suite.at("suite");
    if (bounds.mean_error) {
      result.metrics.push_back(bound(name + " mean |error|", suite.at("mean_absolute_error"), *bounds.mean_error));
    }
  }
  std::map<std::string, std::size_t> number;
  std::size_t judged = 0;
  std::size_t good = 0;
  for (const json& row : validated.at("rows")) {
    const std::string verdict = row.at("verdict");
    // As the page of a suite numbers them.
    const std::string suite = row.at("suite");
    const std::string name = fmt::format("{} row {}", suite, ++number[suite]);
    MetricResult each{name, nullptr, nullptr, {}, row.value("tolerance", ""), verdict != "fail" && verdict != "broken",
                      ""};
    if (verdict == "broken") {
      each.message = row.value("message", "");
    } else if (bounds.row_error && row.at("error").is_number()) {
      each = bound(name, row.at("error"), *bounds.row_error);
    } else {
      each.golden = row.at("published");
      each.got = row.at("simulated");
      if (row.at("error").is_number()) each.deviation = row.at("error").get<double>();
      if (!each.passes)
        each.message = "expected " + each.golden.dump() + " within " + each.allowed + ", got " + each.got.dump();
      if (verdict == "reported") continue;
    }
    ++judged;
    good += each.passes ? 1 : 0;
    if (each.passes) continue;
    each.message += run_text(row);
    result.metrics.push_back(std::move(each));
  }
  MetricResult rows{"rows within", judged, good, {}, "equal", good == judged, ""};
  if (!rows.passes) rows.message = fmt::format("expected {}, got {}", platforms::counted(judged, "row"), good);
  if (judged > 0) result.metrics.push_back(std::move(rows));
  return result;
}

ordered_json golden_of(const CaseResult& result) {
  ordered_json golden = ordered_json::object();
  for (const MetricResult& metric : result.metrics) {
    if (!metric.got.is_null()) golden[metric.metric] = metric.got;
  }
  return golden;
}

void take_as_golden(CaseResult& result) {
  std::erase_if(result.metrics, [](const MetricResult& metric) { return metric.is_gone; });
  for (MetricResult& metric : result.metrics) {
    if (metric.got.is_null()) continue;
    metric.golden = metric.got;
    metric.passes = true;
    metric.message.clear();
    if (metric.deviation) metric.deviation = 0;
  }
}

std::string changes_text(const ordered_json& before, const ordered_json& after) {
  std::string text;
  const auto had = [&before](const std::string& name) { return before.is_object() && before.contains(name); };
  for (const auto& [name, value] : after.items()) {
    if (!had(name)) {
      text += fmt::format("  {}: {}, which is new\n", name, value.dump());
    } else if (const ordered_json& old = before[name]; old != value) {
      text += fmt::format("  {}: {} in place of {}", name, value.dump(), old.dump());
      if (old.is_number() && value.is_number() && old != 0) {
        text +=
            fmt::format(" ({:+.3g} %)", 100 * (value.get<double>() - old.get<double>()) / std::abs(old.get<double>()));
      }
      text += "\n";
    }
  }
  if (!before.is_object()) return text;
  for (const auto& [name, value] : before.items()) {
    if (!after.contains(name)) text += fmt::format("  {}: removed, it was {}\n", name, value.dump());
  }
  return text;
}

}  // namespace weft::regress
