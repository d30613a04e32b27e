// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "hw/core/random.h"
#include "platforms/config/input_error.h"
#include "platforms/study/expression/quantity_value.h"
#include "platforms/study/module.h"
#include "platforms/study/progress.h"
#include "platforms/study/require.h"
#include "platforms/study/search/engine.h"
#include "platforms/study/search/ranks.h"

namespace weft::study {

using nlohmann::json;

namespace {

/// What stands for a point that failed or that a constraint leaves out: worse than all, and finite, as distances of
/// points are computed of it.
constexpr double kWorst = 1e30;
/// For each requirement that a point does not meet.
constexpr double kUnfit = 1e24;
/// Generations that find nothing new, after which a search begins anew with other random numbers. It ends when a new
/// beginning finds nothing either.
constexpr int kIdleGenerations = 20;
/// Points of a search that are tried before it begins, until one of them meets the constraints.
constexpr int kTriesOfConstraints = 1000;
/// Between the seeds of two beginnings, since each generation takes one.
constexpr std::uint64_t kSeedsOfOne = 1'000'003;

/// As many points were evaluated as were asked for.
struct Enough {};

/// The axes of a study as variables of an optimiser: those with a continuous span first.
class Space {
 public:
  explicit Space(const Study& study) {
    for (const Axis& axis : study.axes) {
      if (is_continuous(axis)) continuous_.push_back(&axis);
    }
    for (const Axis& axis : study.axes) {
      if (is_continuous(axis)) continue;
      integers_.push_back({{&axis}, count(axis)});
    }
    for (const std::vector<Axis>& zip : study.zips) {
      Together together{{}, zip.front().values.size()};
      for (const Axis& axis : zip) together.axes.push_back(&axis);
      integers_.push_back(std::move(together));
    }
  }

  [[nodiscard]] std::size_t continuous() const { return continuous_.size(); }
  [[nodiscard]] std::vector<std::size_t> integers() const {
    std::vector<std::size_t> counts;
    for (const Together& each : integers_) counts.push_back(each.count);
    return counts;
  }

  /// Of all values together; none where some are without steps.
  [[nodiscard]] std::optional<double> size() const {
    if (!continuous_.empty()) return std::nullopt;
    double size = 1;
    for (const Together& each : integers_) size *= static_cast<double>(each.count);
    return size;
  }

  [[nodiscard]] Assignments values(const std::vector<double>& variables) const {
    Assignments all;
    for (std::size_t i = 0; i < continuous_.size(); ++i) {
      all.emplace_back(continuous_[i]->path, value_at(*continuous_[i], variables[i]));
    }
    for (std::size_t i = 0; i < integers_.size(); ++i) {
      const auto index = static_cast<std::size_t>(variables[continuous_.size() + i]);
      for (const Axis* const axis : integers_[i].axes) all.emplace_back(axis->path, value(*axis, index));
    }
    return all;
  }

 private:
  struct Together {
    std::vector<const Axis*> axes;
    std::size_t count;
  };

  static bool is_continuous(const Axis& axis) {
    if (!axis.span) return false;
    return axis.span->log || !axis.span->from.is_number_integer() || !axis.span->to.is_number_integer();
  }
  static std::size_t count(const Axis& axis) {
    if (!axis.span) return axis.values.size();
    return static_cast<std::size_t>(axis.span->to.get<std::int64_t>() - axis.span->from.get<std::int64_t>() + 1);
  }
  static json value(const Axis& axis, std::size_t index) {
    if (!axis.span) return axis.values[index];
    return axis.span->from.get<std::int64_t>() + static_cast<std::int64_t>(index);
  }

  std::vector<const Axis*> continuous_;
  std::vector<Together> integers_;
};

/// The points of one step of fidelity.
class Step {
 public:
  Step(const Study& study, Database& database, Dealer& dealer, const Fidelity* fidelity, std::size_t index)
      : study_(study),
        database_(database),
        dealer_(dealer),
        index_(index),
        maker_(fidelity == nullptr ? PointMaker(study) : PointMaker(study, fidelity->set, index)) {
    for (const auto& [name, value] : study.constants) constants_[name] = value;
  }

  [[nodiscard]] const Dealt& dealt() const { return dealt_; }
  [[nodiscard]] std::size_t evaluated() const { return seen_.size(); }
  /// Values that were asked for, different ones, and how often in all.
  [[nodiscard]] std::size_t different() const { return made_.size(); }
  [[nodiscard]] std::size_t asked() const { return asked_; }

  /// Says what is to come: so many points, or as many as a search asks for.
  void begin(std::optional<std::size_t> points) {
    database_.set_progress(to_json(Progress{.points = points,
                                            .step = index_,
                                            .steps = study_.fidelity.size(),
                                            .evaluations = static_cast<std::size_t>(study_.search->evaluations)}));
  }

  /// Costs of all of them, none of which is left out for want of evaluations but those that nobody has seen. Whether
  /// all were evaluated is in the second.
  std::pair<std::vector<std::vector<double>>, bool> costs(const std::vector<Assignments>& all, std::size_t most) {
    std::vector<std::optional<Point>> points;
    std::vector<Point> wanted;
    bool are_all = true;
    for (const Assignments& values : all) {
      std::optional<Point>& point = points.emplace_back(made(values));
      const bool is_new = point && seen_.count(point->key) == 0;
      if (!is_new || seen_.size() < most) ++asked_;
      if (!is_new) continue;
      if (seen_.size() >= most) {
        are_all = false;
        point.reset();
        continue;
      }
      seen_.insert(point->key);
      found_.push_back(values);
      wanted.push_back(*point);
    }
    if (most == SIZE_MAX) begin(wanted.size());
    if (!wanted.empty()) add(dealer_.run(wanted));
    std::vector<std::vector<double>> costs;
    for (const std::optional<Point>& point : points) costs.push_back(cost(point));
    return {std::move(costs), are_all};
  }

  /// The best of all that were evaluated, so many of them.
  std::vector<Assignments> best(double share) {
    std::vector<std::vector<double>> all;
    for (const Assignments& values : found_) all.push_back(cost(made(values)));
    const auto kept = static_cast<std::size_t>(std::ceil(share * static_cast<double>(all.size())));
    std::vector<Assignments> best;
    for (const std::size_t i : survivors(all, std::max<std::size_t>(kept, 1))) best.push_back(found_[i]);
    return best;
  }

 private:
  /// Searches ask for the same again and again.
  const std::optional<Point>& made(const Assignments& values) {
    std::string text;
    for (const auto& [path, value] : values) text += value.dump() + ' ';
    const auto [at, is_new] = made_.try_emplace(std::move(text));
    if (is_new) at->second = maker_.make(values);
    return at->second;
  }

  void add(const Dealt& more) { dealt_.add(more); }

  [[nodiscard]] std::vector<double> cost(const std::optional<Point>& point) {
    const Search& search = *study_.search;
    std::vector<double> costs(search.minimise.size() + search.maximise.size(), kWorst);
    if (!point) return costs;
    const std::optional<Row> row = database_.find_short(point->key);
    if (!row || !row->is_done) return costs;
    // Worse than all that meet what is required, and the better the more of it is met.
    if (const std::size_t missing = unmet(*row, study_.require, constants_); missing > 0) {
      return std::vector<double>(costs.size(), kUnfit * static_cast<double>(missing));
    }
    std::size_t i = 0;
    for (const auto* const names : {&search.minimise, &search.maximise}) {
      for (const std::string& name : *names) {
        const std::optional<double> number = number_of(json(row->metrics.value(name, nlohmann::ordered_json())));
        // A point without one of them is on no front, however good it is in the others.
        if (!number) return std::vector<double>(costs.size(), kWorst);
        costs[i++] = names == &search.minimise ? *number : -*number;
      }
    }
    return costs;
  }

  const Study& study_;
  Database& database_;
  Dealer& dealer_;
  std::size_t index_;
  PointMaker maker_;
  std::unordered_map<std::string, std::optional<Point>> made_;  ///< by their values
  std::size_t asked_ = 0;
  std::set<std::string> seen_;
  std::vector<Assignments> found_;  ///< of those, in the order in which they came
  nlohmann::ordered_json constants_ = nlohmann::ordered_json::object();
  Dealt dealt_;
};

void look_everywhere(const Study& study, Step& step) {
  const Combinations combinations(study);
  std::vector<Assignments> all;
  for (std::size_t i = 0; i < combinations.size(); ++i) all.push_back(combinations.at(i));
  static_cast<void>(step.costs(all, SIZE_MAX));
}

EngineFunction engine_of(const Study& study) {
  const auto engine = reinterpret_cast<EngineFunction>(find_in_module("weft_search", "weft_search"));
  if (engine == nullptr) {
    throw platforms::UsageError(study.file +
                                ": search: expected a Weft built with pagmo (Debian's package libpagmo-dev), which "
                                "this one is not; the method \"grid\" needs none");
  }
  return engine;
}

void look(const Study& study, Step& step) {
  const Search& search = *study.search;
  const EngineFunction engine = engine_of(study);
  const Space space(study);
  step.begin(std::nullopt);
  const auto most = static_cast<std::size_t>(search.evaluations);
  std::size_t before = 0;
  int idle = 0;
  const auto is_whole = [&] { return space.size() && static_cast<double>(step.different()) >= *space.size(); };
  EngineTask task;
  task.method = name_of(search.method);
  task.continuous = space.continuous();
  task.integers = space.integers();
  task.objectives = search.minimise.size() + search.maximise.size();
  task.seed = static_cast<std::uint64_t>(search.seed);
  // NSGA-II pairs them by four.
  task.population = static_cast<std::size_t>(std::max(8, search.population / 4 * 4));
  task.evaluate = [&](const std::vector<std::vector<double>>& points) {
    std::vector<Assignments> all;
    for (const std::vector<double>& variables : points) all.push_back(space.values(variables));
    auto [costs, are_all] = step.costs(all, most);
    if (!are_all) throw Enough();
    return costs;
  };
  task.goes_on = [&] {
    idle = step.evaluated() == before ? idle + 1 : 0;
    before = step.evaluated();
    return step.evaluated() < most && idle < kIdleGenerations && !is_whole();
  };
  try {
    for (std::size_t at_start = SIZE_MAX; at_start != step.evaluated();) {
      at_start = step.evaluated();
      engine(task);
      if (step.evaluated() >= most || is_whole()) return;
      task.seed += kSeedsOfOne;
      idle = 0;
    }
  } catch (const Enough&) {
    return;
  }
}

}  // namespace

void check_search(const Study& study) {
  const bool is_grid = study.search->method == SearchMethod::kGrid;
  if (!is_grid) static_cast<void>(engine_of(study));
  if (study.constraints.empty()) return;
  const PointMaker maker(study);
  std::size_t tried = 0;
  const auto is_met = [&](const Assignments& values) {
    ++tried;
    return maker.make(values).has_value();
  };
  if (is_grid) {
    const Combinations combinations(study);
    for (std::size_t i = 0; i < combinations.size(); ++i) {
      if (is_met(combinations.at(i))) return;
    }
  } else {
    const Space space(study);
    const std::vector<std::size_t> counts = space.integers();
    Random random(static_cast<std::uint64_t>(study.search->seed), "constraints");
    for (int i = 0; i < kTriesOfConstraints; ++i) {
      std::vector<double> variables(space.continuous());
      for (double& variable : variables) variable = random.share();
      for (const std::size_t count : counts)
        variables.push_back(std::floor(random.share() * static_cast<double>(count)));
      if (is_met(space.values(variables))) return;
    }
  }
  throw platforms::InputError(study.file, "constraints", "at least one point that meets them",
                              fmt::format("none of {} that were tried", tried));
}

Dealt search(const Study& study, Database& database, Dealer& dealer) {
  Dealt dealt;
  std::vector<Assignments> chosen;
  const std::size_t steps = std::max<std::size_t>(study.fidelity.size(), 1);
  for (std::size_t i = 0; i < steps; ++i) {
    const Fidelity* const fidelity = study.fidelity.empty() ? nullptr : &study.fidelity[i];
    Step step(study, database, dealer, fidelity, i);
    if (i > 0) {
      static_cast<void>(step.costs(chosen, SIZE_MAX));
    } else if (study.search->method == SearchMethod::kGrid) {
      look_everywhere(study, step);
    } else {
      look(study, step);
    }
    dealt.add(step.dealt());
    if (i == 0) dealt.asked = step.asked();
    if (fidelity != nullptr) chosen = step.best(fidelity->keep);
  }
  return dealt;
}

}  // namespace weft::study
