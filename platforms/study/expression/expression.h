// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::study {

/// An expression that cannot be read or has no value. The text is what was expected: "a number at x, got ...".
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Arithmetic over values by name, as muParser has it: + - * / ^, comparisons, !, && and ||, ?:, functions such as min,
/// max, sqrt, log2, ceil, floor, round and mod. Names are dotted paths. A quantity counts in its base unit
/// (quantity_value.h). A name with `*` in the place of a key or a number of an element stands for all there are, as
/// arguments of max, min, sum and avg: `max(rows.*.time_us)`. A text is compared by `path == "text"` and `path !=
/// "text"`.
class Expression {
 public:
  /// The value at a name; none if there is nothing of that name. At a name with `*` it is an array of all values.
  using Lookup = std::function<std::optional<nlohmann::json>(const std::string& name)>;

  explicit Expression(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Throws ExpressionError.
  [[nodiscard]] double value(const Lookup& lookup) const;
  /// All names in it, those with `*` as they stand. Throws ExpressionError if it cannot be read.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string text_;
};

/// A call of min, max, sum or avg in it that has one number alone, "min(us)", which is that number; empty if there is
/// none. A name with `*` has several.
[[nodiscard]] std::string aggregate_of_one(const std::string& text);

/// What is wrong with a text as an expression of one point, a call as above or one of best(), least(), largest() and
/// mean(), which are of all points: "expected ..., got ...", without the first word; empty if nothing is.
[[nodiscard]] std::string wrong_for_one_point(const std::string& text);

/// Calls of functions of all points, "best(us)", as pieces of the text: what stands before each, its function and its
/// name. Those within quotes are text. The last piece has no function.
struct PieceOfAll {
  std::string before;
  std::string function;
  std::string name;
};
[[nodiscard]] std::vector<PieceOfAll> pieces_of_all(const std::string& text);

/// "nan", "inf" or "-inf".
[[nodiscard]] std::string not_finite_text(double value);

}  // namespace weft::study
