// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/require.h"

#include <algorithm>
#include <cmath>

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

json value_of_row(const Row& row, const std::string& name) {
  for (const ordered_json* const object : {&row.metrics, &row.values}) {
    if (const auto found = object->find(name); found != object->end()) return json(*found);
  }
  return {};
}

std::size_t unmet(const Row& row, const std::vector<Expression>& require, const ordered_json& constants) {
  return static_cast<std::size_t>(std::count_if(require.begin(), require.end(), [&](const Expression& expression) {
    try {
      const double value = expression.value([&](const std::string& name) -> std::optional<json> {
        json found = value_of_row(row, name);
        if (found.is_null() && constants.contains(name)) found = json(constants[name]);
        return found;
      });
      return value == 0 || !std::isfinite(value);
    } catch (const ExpressionError&) {  // A metric without a value is a null, which is no number.
      return true;
    }
  }));
}

}  // namespace weft::study
