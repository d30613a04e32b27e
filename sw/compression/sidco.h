// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::compression {

/// What the magnitudes of gradients are taken to follow. The first stage fits it to all of them; the later stages, to
/// what exceeds the threshold before: to an exponential distribution after an exponential one, otherwise to a
/// generalized Pareto distribution, as extreme value theory has it.
enum class Distribution : std::uint8_t { kExponential, kGamma, kPareto };

/// A threshold that a given share of elements exceeds, from means and variances instead of a sort: SIDCo (Abdelmoniem,
/// Elzanaty, Alouini and Canini, MLSys 2021; the adaptation as in github.com/sands-lab/SIDCo, compression.py).
///
/// Stages: the first aims at kFirstRatio of the elements, and m - 1 later ones each at the same share of what the one
/// before let through, so that `ratio` is left after m. A ratio of kFirstRatio and more takes one stage. Exponential:
/// mean. Pareto: mean and variance. Gamma: mean and mean of logarithms, with Minka's approximation of the shape; its
/// quantile by bisection of the incomplete gamma function's series, where the paper has a closed form for small shapes.
///
/// How far the share is off: where magnitudes follow the distribution, by sampling alone. Where they do not, the number
/// of stages adapts: after each kInterval steps whose mean share was more than kTolerance above the ratio there is a
/// stage fewer, and as much below it one more, or the other way round since that has last made it worse. No bound
/// follows: with a tail that no number of stages fits it goes to and fro.
class ThresholdEstimator {
 public:
  static constexpr double kFirstRatio = 0.25;
  static constexpr double kTolerance = 0.2;
  static constexpr int kInterval = 5;

  /// `stages` 0: adapts, from as many as leave kFirstRatio each. Throws std::invalid_argument unless the ratio is above
  /// 0 and at most 1, and on negative stages.
  ThresholdEstimator(Distribution distribution, double ratio, int stages);

  /// Of these values' magnitudes. Infinite, so that nothing is sent, when all are 0 or one is not finite.
  [[nodiscard]] double threshold(std::span<const float> values) const;
  /// What came of a threshold.
  void observe(std::size_t selected, std::size_t elements);

  [[nodiscard]] int stages() const { return stages_; }
  /// How many it begins with: 0 are those of an adapting one.
  [[nodiscard]] static int first_stages(double ratio, int stages);

 private:
  Distribution distribution_;
  double ratio_;
  bool adapts_;
  int stages_;
  int observed_ = 0;
  double sum_ = 0;        ///< of shares by `ratio_`
  double last_off_ = -1;  ///< how far their last mean was from 1
  int direction_ = 1;
};

}  // namespace weft::compression
