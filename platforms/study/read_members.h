// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "platforms/config/document.h"
#include "platforms/study/expression/expression.h"

/// Objects whose keys are a user's: metrics, overrides, axes.
namespace weft::study {

/// Members of an object in the order in which the file has them, which Document does not keep.
class Order {
 public:
  /// `text` is the whole file.
  explicit Order(const std::string& text) : tree_(nlohmann::ordered_json::parse(text, nullptr, false, true)) {}

  /// `place`: the keys, and numbers of elements, that lead to the node.
  [[nodiscard]] std::vector<std::pair<std::string, platforms::Node>> members(
      const platforms::Node& node, const std::vector<std::string>& place) const;

 private:
  nlohmann::ordered_json tree_;
};

/// A number, or an expression in quotes. Throws InputError.
[[nodiscard]] Expression read_expression(const platforms::Node& node);

/// Throws InputError for what is no name, or one that a table of points has for a column of its own.
void check_metric_name(const std::string& name, const platforms::Node& node);
/// The names of those columns.
[[nodiscard]] const std::vector<std::string>& reserved_names();

/// Throws InputError for what expressions cannot name.
void check_name(const std::string& name, const platforms::Node& node);

}  // namespace weft::study
