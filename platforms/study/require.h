// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/study/database.h"
#include "platforms/study/expression/expression.h"

namespace weft::study {

/// How many of these expressions over its metrics and values a point that is done does not meet. One that has no finite
/// value is not met. `constants` are values of the study that no point has for itself.
[[nodiscard]] std::size_t unmet(const Row& row, const std::vector<Expression>& require,
                                const nlohmann::ordered_json& constants);

/// Why one of them has no value of a point that is done though all that it names have values there, "expected a number
/// ... at x, got ..."; empty if there is no such reason.
[[nodiscard]] std::string unreadable(const Row& row, const Expression& expression,
                                     const nlohmann::ordered_json& constants);

/// The value of that name of a point, a metric before a parameter; null if it has none.
[[nodiscard]] nlohmann::json value_of_row(const Row& row, const std::string& name);

}  // namespace weft::study
