// SPDX-License-Identifier: Apache-2.0
// Points that an expression chooses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/study/require.h"
#include "platforms/study/tables/tables.h"
#include "platforms/study/tables/values.h"

namespace weft::study {

using nlohmann::json;
using platforms::UsageError;

namespace {

/// An expression with the values of all points in it.
class Over {
 public:
  Over(const std::string& option, const std::vector<std::string>& known, const About& about)
      : option_(option), known_(known), about_(about) {}

  [[nodiscard]] Expression of(const std::string& text, const std::vector<Row>& rows) const {
    std::string result;
    for (const PieceOfAll& piece : pieces_of_all(text)) {
      result += piece.before;
      if (!piece.function.empty()) result += fmt::format("({:.17g})", value(piece.function, piece.name, rows));
    }
    return Expression(result);
  }

 private:
  [[nodiscard]] double value(const std::string& function, const std::string& name, const std::vector<Row>& rows) const {
    if (const std::string wrong = platforms::not_one_of(known_, name); !wrong.empty()) {
      throw UsageError(option_ + ": in " + function + "(): " + wrong);
    }
    std::vector<double> all;
    for (const Row& row : rows) {
      if (!row.is_done || (function == "best" && !row.is_fit)) continue;
      if (const std::optional<double> number = number_of(value_of_row(row, name))) all.push_back(*number);
    }
    if (all.empty() && function == "best" &&
        std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.is_done && row.is_fit; })) {
      throw UsageError(option_ + ": in best(): expected a point that meets what the study requires, got none");
    }
    if (all.empty()) {
      throw UsageError(option_ + ": in " + function +
                       "(): expected a metric or a parameter of which points have numbers, got " +
                       platforms::in_quotes(name));
    }
    if (function == "mean") return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    const bool most = function == "largest" || (function == "best" && is_best_when_largest(about_, name));
    return most ? *std::max_element(all.begin(), all.end()) : *std::min_element(all.begin(), all.end());
  }

  const std::string& option_;
  const std::vector<std::string>& known_;
  const About& about_;
};

}  // namespace

Chosen those_where(std::vector<Row> rows, const std::string& text, const std::string& option, const About& about) {
  std::vector<std::string> known = parameters_of(rows);
  for (const std::string& metric : metrics_of(rows)) known.push_back(metric);
  if (const std::string alone = aggregate_of_one(text); !alone.empty()) {
    throw UsageError(option +
                     ": expected best(NAME), least(NAME), largest(NAME) or mean(NAME), which are of all points, got " +
                     platforms::in_quotes(alone) + ", which is of one number");
  }
  const Over over(option, known, about);
  Chosen chosen;
  try {
    for (const int step : steps_of(rows)) {
      std::vector<Row> own = of_step(rows, step);
      const Expression expression = over.of(text, own);
      const std::vector<std::string> names = expression.names();
      for (const std::string& name : names) {
        if (const std::string wrong = platforms::not_one_of(known, name); !wrong.empty()) {
          throw UsageError(option + ": " + wrong);
        }
      }
      for (Row& row : own) {
        const bool is_whole = std::none_of(names.begin(), names.end(),
                                           [&](const std::string& name) { return value_of_row(row, name).is_null(); });
        const double value = !is_whole ? NAN : expression.value([&](const std::string& name) {
          return std::optional(value_of_row(row, name));
        });
        if (!std::isfinite(value)) {
          ++chosen.without_value;
        } else if (value != 0) {
          chosen.rows.push_back(std::move(row));
        }
      }
    }
  } catch (const ExpressionError& error) {
    throw UsageError(option + ": expected " + error.what());
  }
  if (chosen.rows.empty()) {
    throw UsageError(option + ": expected an expression that some point meets, got " + platforms::in_quotes(text) +
                     (chosen.without_value > 0 ? fmt::format(", which has no finite value at {}",
                                                             platforms::counted(chosen.without_value, "point"))
                                               : ""));
  }
  return chosen;
}

}  // namespace weft::study
