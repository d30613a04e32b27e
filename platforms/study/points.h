// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platforms/study/study_file.h"
#include "platforms/study/task.h"

namespace weft::study {

/// One of the platforms that a study asks about.
struct Point {
  std::string key;
  std::string run;     ///< of what is simulated: equal for points that differ in names and own values alone
  Assignments values;  ///< of axes and what is derived from them, own values too
  Task task;
  nlohmann::json read;  ///< ReadTask::values(); null where it cannot be read
  std::string error;    ///< why it cannot be read
  double size = 0;      ///< about in proportion to the time that it takes: longer ones are larger
};

/// Makes points of values.
class PointMaker {
 public:
  explicit PointMaker(const Study& study) : study_(&study) {}

  /// With other overrides of all points, after the study's own.
  PointMaker(const Study& study, Assignments more) : study_(&study), more_(std::move(more)) {}

  /// Points of that step of successive halving, which `fidelity` among their values is and their key tells apart.
  PointMaker(const Study& study, Assignments more, std::size_t step)
      : study_(&study), more_(std::move(more)), step_(step) {}

  /// None if a constraint leaves it out. Throws InputError for an expression that is wrong; what is wrong with the
  /// platform is in Point::error.
  [[nodiscard]] std::optional<Point> make(const Assignments& values) const;

 private:
  const Study* study_;
  Assignments more_;
  std::optional<std::size_t> step_;
};

/// The parameter that says of which step of successive halving a point is.
inline constexpr const char* kFidelity = "fidelity";

/// Values of every combination of a study, in order: the first axis changes slowest, samples come last.
[[nodiscard]] std::vector<Assignments> combinations(const Study& study);

/// The value of an axis at a share of it, of 0 up to and without 1.
[[nodiscard]] nlohmann::json value_at(const Axis& axis, double share);

}  // namespace weft::study
