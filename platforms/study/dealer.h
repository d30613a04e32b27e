// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "platforms/study/database.h"
#include "platforms/study/metrics.h"
#include "platforms/study/points.h"
#include "platforms/study/workers/workers.h"

namespace weft::study {

/// A field that changes nothing, and why.
using IdleField = std::pair<std::string, std::string>;
/// Those among the overrides of a point that its run has found.
[[nodiscard]] std::vector<IdleField> idle_fields_of(const Row& row);

/// How far a list of points has come.
struct Dealt {
  std::size_t points = 0;  ///< in all
  std::size_t before = 0;  ///< that the database had
  std::size_t done = 0;    ///< simulated now
  std::size_t equal = 0;   ///< that took the result of a point whose machine and workload are equal
  std::size_t failed = 0;  ///< now, with an error
  std::size_t asked = 0;   ///< points that a search has asked for, those that it had before too
  double share = 0;        ///< of the work that is to be done now

  [[nodiscard]] std::size_t ended() const { return before + done + equal + failed; }
  void add(const Dealt& more) {
    points += more.points;
    before += more.before;
    done += more.done;
    equal += more.equal;
    failed += more.failed;
  }
};

/// Gives points to workers, those that take longest first, and stores what they answer as it comes. It alone writes the
/// database. A point that the database has is not simulated again, and of points whose machines and workloads are equal
/// one is. What it is given are the points of the study; others of the database leave it with the first list.
class Dealer {
 public:
  Dealer(const Study& study, Database& database, Workers& workers)
      : study_(study), database_(database), workers_(workers), metrics_(study) {}

  /// Points that failed are simulated again.
  void retry_failed() { retries_ = true; }
  /// Called between points, several times a second; what it throws ends the run, with all finished points stored.
  void on_progress(std::function<void(const Dealt&)> progress) { progress_ = std::move(progress); }

  /// All of them, in order, as the database has them then.
  Dealt run(const std::vector<Point>& points);

  /// Metrics of all that the database has, anew: their definitions may have changed since.
  void renew_metrics();

  [[nodiscard]] const std::map<std::string, std::string>& wrong_metrics() const { return metrics_.wrong(); }
  /// Whether points are done, and none has a value of it.
  [[nodiscard]] bool is_missed(const std::string& metric) const { return metrics_.is_missed(metric); }
  /// At how many points a field that the study sets changes nothing, by field and reason.
  [[nodiscard]] const std::map<IdleField, std::size_t>& without_effect() const { return without_effect_; }

 private:
  void set_base(const std::vector<Point>& points);
  /// Whether the database has it, or what it comes to.
  bool take(const Point& point, Dealt& dealt);
  /// What is stored of a run; what was read last is kept.
  const Row* stored(const std::string& run, bool done_alone);
  /// Whether it is to be simulated again: it has failed, and may not now.
  [[nodiscard]] bool is_to_retry(const Row& row) const;
  /// One answer to all of them.
  void store(const std::vector<const Point*>& points, Answer answer);
  void note(const Row& row);

  const Study& study_;
  Database& database_;
  Workers& workers_;
  Metrics metrics_;
  bool retries_ = false;
  std::function<void(const Dealt&)> progress_;
  std::map<IdleField, std::size_t> without_effect_;
  std::map<std::string, Row> stored_;
  bool has_base_ = false;
  bool has_begun_ = false;
};

/// The row of a point with its answer.
[[nodiscard]] Row row_of(const Point& point, Answer answer, Metrics& metrics);

}  // namespace weft::study
