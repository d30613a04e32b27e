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

namespace {

json value_at(const Row& row, const ordered_json& constants, const std::string& name) {
  json found = value_of_row(row, name);
  if (found.is_null() && constants.contains(name)) found = json(constants[name]);
  return found;
}

}  // namespace

std::size_t unmet(const Row& row, const std::vector<Expression>& require, const ordered_json& constants) {
  return static_cast<std::size_t>(std::count_if(require.begin(), require.end(), [&](const Expression& expression) {
    try {
      const double value =
          expression.value([&](const std::string& name) { return std::optional(value_at(row, constants, name)); });
      return value == 0 || !std::isfinite(value);
    } catch (const ExpressionError&) {  // A metric without a value is a null, which is no number.
      return true;
    }
  }));
}

std::string unreadable(const Row& row, const Expression& expression, const ordered_json& constants) {
  bool is_whole = true;
  try {
    static_cast<void>(expression.value([&](const std::string& name) {
      json found = value_at(row, constants, name);
      is_whole = is_whole && !found.is_null();
      return std::optional(std::move(found));
    }));
  } catch (const ExpressionError& error) {
    if (is_whole) return std::string("expected ") + error.what();
  }
  return "";
}

}  // namespace weft::study
