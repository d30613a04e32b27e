// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "platforms/study/expression/quantity_value.h"

/// Values of points, for those who make tables of them.
namespace weft::study {

/// None where there is no such member, or no number at it.
[[nodiscard]] inline std::optional<double> number_in(const nlohmann::ordered_json& object, const std::string& name) {
  const auto found = object.find(name);
  return found == object.end() ? std::nullopt : number_of(nlohmann::json(*found));
}

/// Values of a parameter in ascending order: numbers and quantities as such, then the others as text.
struct ValueOrder {
  bool operator()(const nlohmann::json& a, const nlohmann::json& b) const {
    const std::optional<double> one = number_of(a);
    const std::optional<double> other = number_of(b);
    if (one && other && *one != *other) return *one < *other;
    if (one.has_value() != other.has_value()) return one.has_value();
    return a.dump() < b.dump();
  }
};

/// A value as a table has it.
[[nodiscard]] std::string cell_text(const nlohmann::ordered_json& cell);

}  // namespace weft::study
