// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/study/database.h"
#include "platforms/study/tables/about.h"

/// What people ask of the points of a study, as tables.
namespace weft::study {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<nlohmann::ordered_json>> rows;
  std::vector<std::string> notes;  ///< what is to be known of it, a line each
};
/// Aligned, for people; of `most` rows, with a line that says how many are left out, and notes.
[[nodiscard]] std::string to_text(const Table& table, std::size_t most = SIZE_MAX);
[[nodiscard]] std::string to_csv(const Table& table);
[[nodiscard]] nlohmann::ordered_json to_json(const Table& table);

/// A metric, and which end of it is better.
struct Goal {
  std::string metric;
  bool maximise = false;
};
/// "step_us", of which is_best_when_largest() says which end is better, or "cost:min", "points:max". Throws UsageError,
/// which begins with `option`, unless it is one of these metrics.
[[nodiscard]] Goal goal_of(const std::string& text, const std::string& option, const std::vector<std::string>& metrics,
                           const About& about);

/// Names in the order in which points have them.
[[nodiscard]] std::vector<std::string> parameters_of(const std::vector<Row>& rows);
[[nodiscard]] std::vector<std::string> metrics_of(const std::vector<Row>& rows);
/// By their parameters, the first of them first.
[[nodiscard]] std::vector<Row> in_order(std::vector<Row> rows);
/// Those parameters that are the same at all points, with their value: "nic connectx-7, seed 1". Empty where none is.
[[nodiscard]] std::string constant_text(const std::vector<Row>& rows);
/// Those parameters that differ between points.
[[nodiscard]] std::vector<std::string> varying_parameters(const std::vector<Row>& rows);

/// A row for each point: its key, the parameters that differ, metrics, and, where one failed, its error.
[[nodiscard]] Table all_points(const std::vector<Row>& rows);
/// Those that were chosen of `rows` by these goals. Notes say which end of a metric is best, what the same parameters
/// of all of them are, and how many points have no value.
[[nodiscard]] Table chosen_points(const std::vector<Row>& rows, const std::vector<Row>& chosen,
                                  const std::vector<Goal>& goals);
/// Every column that there is, with keys in full.
[[nodiscard]] Table whole_points(const std::vector<Row>& rows);

/// Steps of successive halving that there are points of, the first one first; -1 of points without.
[[nodiscard]] std::vector<int> steps_of(const std::vector<Row>& rows);
[[nodiscard]] std::vector<Row> of_step(const std::vector<Row>& rows, int step);
[[nodiscard]] std::vector<Row> of_last_step(const std::vector<Row>& rows);

/// The points that are done, have the metric and what the study requires (judge()), those that are best first.
[[nodiscard]] std::vector<Row> best_first(const std::vector<Row>& rows, const Goal& goal);
/// The points than which none is better in one goal and no worse in the others; by the first goal.
[[nodiscard]] std::vector<Row> pareto_front(const std::vector<Row>& rows, const std::vector<Goal>& goals);

/// Of each value of a parameter the number of points, and mean, least and most of each metric. Numbers of which there
/// are many are taken in four parts, each of whole values and about as many points.
[[nodiscard]] Table grouped(const std::vector<Row>& rows, const std::string& parameter);

/// Of each parameter how much a metric changes between two of its values, those where it changes most, as the mean over
/// `pairs` of points that differ in this parameter alone; the parameter that matters most first, those without a pair
/// last. Parameters of a zip count as one, and those that are derived follow. Where some have no pair, as samples have
/// none, each has its rank correlation with the metric: 1 where the metric only rises with it, -1 where it only falls.
[[nodiscard]] Table sensitivity(const std::vector<Row>& rows, const std::string& metric, const About& about);

/// Points that were chosen by an expression.
struct Chosen {
  std::vector<Row> rows;
  std::size_t without_value = 0;  ///< points left out for which the expression has no finite value
};
/// The points for which an expression over their parameters and metrics is not 0. In it best(NAME), least(NAME),
/// largest(NAME) and mean(NAME) are of all points of `rows` that are done, of one step of fidelity each; best() knows
/// which end is best, and what the study requires. Throws UsageError, which begins with `option`, for what is no such
/// expression, or if no point is left.
[[nodiscard]] Chosen those_where(std::vector<Row> rows, const std::string& text, const std::string& option,
                                 const About& about);

/// A command line that does the point again and keeps its critical path.
[[nodiscard]] std::string command_of(const Row& row);

}  // namespace weft::study
