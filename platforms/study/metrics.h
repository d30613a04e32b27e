// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "platforms/study/study_file.h"

namespace weft::study {

/// What a study wants to know of each point. A metric is a path in the result ("energy.total_j", "rows.0.busbw"), or an
/// expression over such paths, other metrics, the study's values and fields of the platform, of which each name is
/// looked for in this order: metrics, values, fields, the result.
class Metrics {
 public:
  explicit Metrics(const Study& study) : study_(&study) {}

  /// By name; null where there is no such value or it is infinite, which wrong() then says. `values` are the point's
  /// own, and `configuration` is config.json.
  [[nodiscard]] nlohmann::ordered_json of(const nlohmann::ordered_json& result, const nlohmann::ordered_json& values,
                                          const nlohmann::ordered_json& configuration);

  /// What was expected, by metric, of each that had no value at some point.
  [[nodiscard]] const std::map<std::string, std::string>& wrong() const { return wrong_; }

  /// Whether there were points, and none had a value of it.
  [[nodiscard]] bool is_missed(const std::string& metric) const { return asked_ && found_.count(metric) == 0; }

 private:
  const Study* study_;
  std::set<std::string> found_;
  bool asked_ = false;
  std::map<std::string, std::string> wrong_;
};

/// The value at a dotted path; null if there is none.
[[nodiscard]] nlohmann::ordered_json value_in(const nlohmann::ordered_json& tree, const std::string& path);

}  // namespace weft::study
