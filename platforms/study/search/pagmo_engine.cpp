// SPDX-License-Identifier: Apache-2.0
// The module weft_search: pagmo's algorithms for a study.
#include <cmath>
#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/de.hpp>
#include <pagmo/algorithms/moead.hpp>
#include <pagmo/algorithms/nsga2.hpp>
#include <pagmo/algorithms/sga.hpp>
#include <pagmo/algorithms/simulated_annealing.hpp>
#include <pagmo/batch_evaluators/member_bfe.hpp>
#include <pagmo/bfe.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <utility>

#include "platforms/study/search/engine.h"

namespace weft::study {
namespace {

using pagmo::vector_double;

/// Methods that know integers: the others move through the reals, of which each value of an integer has an equal part.
bool knows_integers(const std::string& method) {
  return method == "nsga2" || method == "sga";
}

/// pagmo copies it, and the task stays where it is.
class Problem {
 public:
  Problem() = default;  // which pagmo asks for
  explicit Problem(const EngineTask& task) : task_(&task), has_integers_(knows_integers(task.method)) {}

  [[nodiscard]] vector_double fitness(const vector_double& variables) const { return batch_fitness(variables); }
  [[nodiscard]] vector_double batch_fitness(const vector_double& all) const {
    const std::size_t width = task_->continuous + task_->integers.size();
    std::vector<std::vector<double>> points;
    for (std::size_t from = 0; from < all.size(); from += width) {
      std::vector<double>& point = points.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(from),
                                                       all.begin() + static_cast<std::ptrdiff_t>(from + width));
      for (std::size_t i = 0; i < task_->integers.size(); ++i) {
        double& value = point[task_->continuous + i];
        value = std::min(std::floor(value), static_cast<double>(task_->integers[i] - 1));
      }
    }
    vector_double result;
    for (const std::vector<double>& objectives : task_->evaluate(points)) {
      result.insert(result.end(), objectives.begin(), objectives.end());
    }
    return result;
  }
  [[nodiscard]] std::pair<vector_double, vector_double> get_bounds() const {
    const std::size_t width = task_->continuous + task_->integers.size();
    vector_double highest(width, 1);
    for (std::size_t i = 0; i < task_->integers.size(); ++i) {
      highest[task_->continuous + i] = static_cast<double>(task_->integers[i] - (has_integers_ ? 1 : 0));
    }
    return {vector_double(width, 0), highest};
  }
  [[nodiscard]] vector_double::size_type get_nobj() const { return task_ == nullptr ? 1 : task_->objectives; }
  [[nodiscard]] vector_double::size_type get_nix() const { return has_integers_ ? task_->integers.size() : 0; }
  template <typename Archive>
  void serialize(Archive& /*archive*/, unsigned /*version*/) {}

 private:
  const EngineTask* task_ = nullptr;
  bool has_integers_ = false;
};

pagmo::algorithm algorithm_of(const EngineTask& task) {
  const auto seed = static_cast<unsigned>(task.seed);
  if (task.method == "nsga2") {
    pagmo::nsga2 method(1, 0.95, 10, 1.0 / static_cast<double>(task.continuous + task.integers.size()), 50, seed);
    method.set_bfe(pagmo::bfe(pagmo::member_bfe()));
    return pagmo::algorithm(method);
  }
  if (task.method == "moead") {
    // A grid of weights has as many as the population for one or two objectives alone.
    const char* const weights = task.objectives > 2 ? "low discrepancy" : "grid";
    return pagmo::algorithm(pagmo::moead(1, weights, "tchebycheff", std::min<std::size_t>(20, task.population - 1), 1,
                                         0.5, 20, 0.9, 2, true, seed));
  }
  if (task.method == "sga")
    return pagmo::algorithm(pagmo::sga(1, 0.9, 1, 0.1, 1, 2, "exponential", "polynomial", "tournament", seed));
  if (task.method == "de") return pagmo::algorithm(pagmo::de(1, 0.8, 0.9, 2, 1e-9, 1e-9, seed));
  return pagmo::algorithm(pagmo::simulated_annealing(10, 0.1, 10, 10, 10, 1, seed));
}

}  // namespace

extern "C" void weft_search(const EngineTask& task) {
  const pagmo::problem problem{Problem(task)};
  pagmo::algorithm algorithm = algorithm_of(task);
  pagmo::population population(problem, pagmo::bfe(pagmo::member_bfe()), task.population,
                               static_cast<unsigned>(task.seed));
  for (unsigned generation = 1; task.goes_on(); ++generation) {
    // Each generation is a run of its own, with random numbers of its own.
    algorithm.set_seed(static_cast<unsigned>(task.seed) + generation);
    population = algorithm.evolve(population);
  }
}

}  // namespace weft::study
