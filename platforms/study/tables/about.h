// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/study/database.h"
#include "platforms/study/study_file.h"

namespace weft::study {

/// What the tables of a study are made by beside its points. A sweep stores it in the database.
struct About {
  /// Parameters that vary each for itself; those of a zip go together.
  std::vector<std::vector<std::string>> factors;
  std::vector<std::string> derived;                                     ///< parameters that follow from others
  std::map<std::string, std::string> metrics;                           ///< their paths and expressions, by name
  nlohmann::ordered_json constants = nlohmann::ordered_json::object();  ///< own values that do not vary
  std::vector<std::string> require;                                     ///< expressions
  std::vector<std::string> minimise;                                    ///< metrics of its search
  std::vector<std::string> maximise;
};

[[nodiscard]] About about(const Study& study);
[[nodiscard]] nlohmann::ordered_json to_json(const About& about);
/// Of null it is empty.
[[nodiscard]] About about_of(const nlohmann::ordered_json& stored);

/// Says of each point whether it meets what the study requires. Answers with what is to be said of the requirements:
/// one that compares a text with a number, or that no point meets all.
[[nodiscard]] std::vector<std::string> judge(std::vector<Row>& rows, const About& about);

/// Whether a metric is best where it is largest: the study's search says so, or else rates are and times, energies and
/// prices are not. Its path in the result tells a rate or, of an expression, its own name: "busbw", "tokens_per_s",
/// "utilisation".
[[nodiscard]] bool is_best_when_largest(const About& about, const std::string& metric);

}  // namespace weft::study
