// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/regress/case_file.h"
#include "platforms/study/database.h"

namespace weft::regress {

/// A metric of a case beside its golden value, or an error beside its bound.
struct MetricResult {
  std::string metric;
  nlohmann::ordered_json golden;    ///< null: there is none
  nlohmann::ordered_json got;       ///< null: it has no value
  std::optional<double> deviation;  ///< a share of the golden value; none where that means nothing
  std::string allowed;              ///< "1%"
  bool passes = false;
  std::string message;   ///< why it fails
  bool is_gone = false;  ///< the case has no such metric, only a golden value of it
};

struct CaseResult {
  std::string name;
  std::string file;
  std::string message;  ///< why there are no metrics; empty if there are
  std::vector<MetricResult> metrics;
  double wall_s = 0;

  [[nodiscard]] bool passes() const;
};

[[nodiscard]] bool all_pass(const std::vector<CaseResult>& results);

/// A case that has come to no result.
[[nodiscard]] CaseResult failed(const Case& of, std::string message);

/// A case that was simulated, or that failed to be. `wrong`: what was expected of metrics without a value
/// (study::Metrics). With data, elements that are wrong fail it.
[[nodiscard]] CaseResult judge(const Case& of, const study::Row& row, const std::map<std::string, std::string>& wrong);

/// A case that compares measurements, from what `weft validate --json` prints.
[[nodiscard]] CaseResult judge_validation(const Case& of, const nlohmann::json& validated);

/// What a case's golden values become: those of its metrics that have a value.
[[nodiscard]] nlohmann::ordered_json golden_of(const CaseResult& result);
/// What a case is like with these golden values: it fails where it has no result, or a metric no value.
void take_as_golden(CaseResult& result);

/// A line for each golden value that another one takes the place of; empty where none does.
[[nodiscard]] std::string changes_text(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after);

/// For people: a table with a row for each metric, then what failed and why.
[[nodiscard]] std::string to_text(const std::vector<CaseResult>& results);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<CaseResult>& results);
/// JUnit's XML, which CTest, Jenkins and GitLab read.
[[nodiscard]] std::string to_junit(const std::vector<CaseResult>& results);
/// By which weft knows its own file again.
inline constexpr const char* kJunitBeginning =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"weft regress\"";

}  // namespace weft::regress
