// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/study/database.h"

namespace weft::study {

/// How far a sweep has come, as it writes it into the database while it runs, for those who read an unfinished study.
struct Progress {
  std::optional<std::size_t> points;  ///< of the study, or of the step under way; none while a search looks for them
  std::size_t step = 0;               ///< of fidelity, from 0
  std::size_t steps = 0;              ///< 0: without fidelity
  std::size_t evaluations = 0;        ///< that a search may have at the most
  bool is_done = false;
};
[[nodiscard]] nlohmann::ordered_json to_json(const Progress& progress);
/// None of null, which an earlier Weft has stored.
[[nodiscard]] std::optional<Progress> progress_of(const nlohmann::ordered_json& stored);

/// What is missing of a study.
struct Unfinished {
  std::string text;              ///< "6 of 16 points; 10 not simulated yet"; empty of a study that is finished
  nlohmann::ordered_json known;  ///< the same for programs
};
[[nodiscard]] Unfinished unfinished(const nlohmann::ordered_json& stored, const std::vector<Row>& rows);

}  // namespace weft::study
