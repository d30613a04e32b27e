// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "platforms/study/study_file.h"
#include "platforms/study/task.h"

namespace weft::study {

/// One of the platforms that a study asks about. Studies have up to a million of them: what they have in common is not
/// in it, nor the platform as it was read. It must not outlive its study.
struct Point {
  std::string key;
  std::string run;            ///< of what is simulated: equal for points that differ in names and own values alone
  Assignments values;         ///< of axes and what is derived from them, own values too
  std::string error;          ///< why it cannot be read
  bool is_undefined = false;  ///< it has an error since an expression of the study has no value at it
  double size = 0;            ///< about in proportion to the time that it takes: longer ones are larger
  const Study* study = nullptr;
  std::shared_ptr<const Assignments> more;  ///< overrides that a step of fidelity has; null if there are none

  [[nodiscard]] Task task() const;
};

/// Makes points of values.
class PointMaker {
 public:
  explicit PointMaker(const Study& study);

  /// Points of that step of successive halving, with its overrides after the study's own; `fidelity` among their values
  /// is the step, and their key tells them apart.
  PointMaker(const Study& study, Assignments more, std::size_t step);
  ~PointMaker();

  /// None if a constraint leaves it out. Throws InputError for an expression that is wrong; what is wrong with the
  /// platform is in Point::error. Points that differ in values of the study's own alone are read once.
  [[nodiscard]] std::optional<Point> make(const Assignments& values) const;

 private:
  class Making;
  struct Known;

  const Study* study_;
  std::shared_ptr<const Assignments> more_;
  std::optional<std::size_t> step_;
  bool repeats_ = false;  ///< points of one task come again
  /// What is known of tasks that were read, by their text.
  std::unique_ptr<std::unordered_map<std::string, Known>> known_;
};

/// The parameter that says of which step of successive halving a point is.
inline constexpr const char* kFidelity = "fidelity";

/// As many points as a study may have before constraints.
inline constexpr std::size_t kMostPoints = 1'000'000;

/// Values of every combination of a study, in order: the first axis changes slowest, samples come last. They are made
/// when they are asked for.
class Combinations {
 public:
  /// Throws InputError for a study of more than kMostPoints.
  explicit Combinations(const Study& study);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Assignments at(std::size_t index) const;

 private:
  std::vector<std::vector<Assignments>> factors_;
  std::size_t size_ = 1;
};

/// The value of an axis at a share of it, of 0 up to and without 1.
[[nodiscard]] nlohmann::json value_at(const Axis& axis, double share);

}  // namespace weft::study
