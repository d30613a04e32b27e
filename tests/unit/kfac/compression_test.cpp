// SPDX-License-Identifier: Apache-2.0
// Which elements of a gradient are sent, and what they cost: exact selection, and SIDCo's threshold against
// distributions whose quantiles are known.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "hw/core/random.h"
#include "sw/compression/compressor.h"
#include "sw/compression/selection.h"
#include "sw/compression/sidco.h"
#include "sw/kfac/compression_kernels.h"

namespace weft::compression {
namespace {

std::vector<float> sampled(const std::string& name, std::size_t count, const std::function<double(Random&)>& draw) {
  Random random(5, name);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(draw(random));
    if (random.share() < 0.5) value = -value;
  }
  return values;
}

double exponential(Random& random) {
  return -0.01 * std::log(1 - random.share());
}

/// Of two exponential ones: shape 2.
double gamma_two(Random& random) {
  return exponential(random) + exponential(random);
}

/// The square of a normal one: shape 1/2.
double gamma_half(Random& random) {
  const double radius = -2 * std::log(1 - random.share());
  return 0.01 * radius * std::pow(std::cos(2 * M_PI * random.share()), 2);
}

double pareto(Random& random) {
  constexpr double kShape = 0.2;
  return 0.01 * (std::pow(1 - random.share(), -kShape) - 1) / kShape;
}

double share_above(const std::vector<float>& values, double threshold) {
  return static_cast<double>(above(values, threshold, values.size()).size()) / static_cast<double>(values.size());
}

TEST(Selection, TakesTheLargestMagnitudesAndLeavesTheRest) {
  std::vector<float> values = {0.5F, -3, 2, -2, 0, 1};
  const auto chosen = largest(values, 3);
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(largest(values, 2), (std::vector<std::uint32_t>{1, 2}));  // the first of equals
  EXPECT_EQ(largest(values, 9).size(), 6U);
  EXPECT_TRUE(largest(values, 0).empty());
  EXPECT_EQ(above(values, 1, 9), chosen);
  EXPECT_EQ(above(values, 1, 2), (std::vector<std::uint32_t>{1, 2}));
  const std::vector<float> before = values;
  const std::vector<Pair> pairs = take(chosen, values);
  EXPECT_EQ(values, (std::vector<float>{0.5F, 0, 0, 0, 0, 1}));
  add(pairs, values);
  EXPECT_EQ(values, before);
  values.resize(3);
  EXPECT_THROW(add(pairs, values), std::out_of_range);
}

TEST(Selection, IsThatOfASort) {
  const std::vector<float> values = sampled("any", 3000, exponential);
  std::vector<float> magnitudes;
  for (const float value : values) magnitudes.push_back(std::abs(value));
  std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
  for (const std::size_t count : {1U, 30U, 1500U, 2999U}) {
    const auto chosen = largest(values, count);
    ASSERT_EQ(chosen.size(), count);
    for (const std::uint32_t i : chosen) EXPECT_GE(std::abs(values[i]), magnitudes[count - 1]);
  }
}

// A distribution that is what it is taken for: what is off is sampling alone. The threshold's share p is a mean over n
// elements, of which the fit's parameters have standard errors of order 1 / sqrt(n_s) in each stage, n_s being what the
// stage sees; a quantile moves its share by p ln(1 / p) of that at most. Bound: 4 of those of the last stage, which
// sees least: 4 ln(4) / sqrt(n p) x 4^(1/2), rounded up to 12 / sqrt(n p), and 20 % by the paper's rule.
TEST(SidcoThreshold, OfAKnownDistributionLetsTheShareThrough) {
  struct Case {
    Distribution distribution;
    double (*draw)(Random&);
  };
  constexpr std::size_t kElements = 200'000;
  for (const Case& c : {Case{Distribution::kExponential, exponential}, Case{Distribution::kGamma, gamma_two},
                        Case{Distribution::kGamma, gamma_half}, Case{Distribution::kPareto, pareto},
                        Case{Distribution::kPareto, exponential}}) {
    const std::vector<float> values = sampled("known", kElements, c.draw);
    for (const double ratio : {0.5, 0.1, 0.01, 0.001}) {
      const ThresholdEstimator estimator(c.distribution, ratio, 0);
      const double achieved = share_above(values, estimator.threshold(values)) / ratio;
      const double bound = 12 / std::sqrt(kElements * ratio);
      std::printf("distribution %d, ratio %.3f, %d stages: %.3f of it\n", static_cast<int>(c.distribution), ratio,
                  estimator.stages(), achieved);
      EXPECT_NEAR(achieved, 1, std::min(bound, ThresholdEstimator::kTolerance)) << ratio;
    }
  }
}

// Heavier tails than an exponential one: one stage lets far too much through, and stages mend it.
TEST(SidcoThreshold, AdaptsItsStagesToAnotherDistribution) {
  const std::vector<float> values = sampled("heavy", 200'000, pareto);
  constexpr double kRatio = 0.001;
  const ThresholdEstimator once(Distribution::kExponential, kRatio, 1);
  EXPECT_GT(share_above(values, once.threshold(values)), 4 * kRatio);
  ThresholdEstimator adapting(Distribution::kExponential, kRatio, 0);
  double mean = 0;
  for (int step = 0; step < 100; ++step) {
    const auto chosen = above(values, adapting.threshold(values), values.size()).size();
    adapting.observe(chosen, values.size());
    if (step >= 50) mean += static_cast<double>(chosen) / 200'000 / kRatio / 50;
  }
  std::printf("exponential stages on a Pareto distribution: %.3f of the ratio, %d stages\n", mean, adapting.stages());
  EXPECT_LT(std::abs(mean - 1), std::abs(share_above(values, once.threshold(values)) / kRatio - 1) / 4);
}

TEST(SidcoThreshold, StagesFollowWhatComesOfThem) {
  ThresholdEstimator estimator(Distribution::kExponential, 0.01, 0);
  EXPECT_EQ(estimator.stages(), 4);
  const auto after = [&](std::size_t selected) {
    const int before = estimator.stages();
    for (int i = 0; i < ThresholdEstimator::kInterval; ++i) {
      EXPECT_EQ(estimator.stages(), before);
      estimator.observe(selected, 100'000);
    }
    return estimator.stages();
  };
  EXPECT_EQ(after(500), 5);   // half of what is asked for
  EXPECT_EQ(after(700), 6);   // better, not yet near
  EXPECT_EQ(after(1100), 6);  // within a fifth
  EXPECT_EQ(after(300), 5);   // worse than before: the other way
  EXPECT_EQ(after(1500), 6);
  for (int i = 0; i < 10; ++i) estimator.observe(1500, 100'000);
  EXPECT_EQ(estimator.stages(), 7);  // at most as many as halve it
  ThresholdEstimator fixed(Distribution::kExponential, 0.01, 2);
  for (int i = 0; i < 20; ++i) fixed.observe(2000, 100'000);
  EXPECT_EQ(fixed.stages(), 2);
}

TEST(SidcoThreshold, OfNothingToFitSendsNothing) {
  for (const Distribution distribution : {Distribution::kExponential, Distribution::kGamma, Distribution::kPareto}) {
    const ThresholdEstimator estimator(distribution, 0.01, 0);
    EXPECT_TRUE(std::isinf(estimator.threshold({})));
    const std::vector<float> zeros(10);
    EXPECT_TRUE(std::isinf(estimator.threshold(zeros)));
    std::vector<float> broken(10, 1);
    EXPECT_TRUE(std::isfinite(estimator.threshold(broken)));
    broken[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isinf(estimator.threshold(broken)));
  }
}

TEST(SidcoThreshold, RatiosThatAreNoneAreRefused) {
  for (const double ratio : {0.0, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(ThresholdEstimator(Distribution::kGamma, ratio, 0), std::invalid_argument);
  }
  EXPECT_THROW(ThresholdEstimator(Distribution::kGamma, 0.1, -1), std::invalid_argument);
}

std::int64_t bytes_of(const Kernels& kernels) {
  std::int64_t bytes = 0;
  for (const Kernel& kernel : kernels) {
    const auto& shape = std::get<accelerator::Elementwise>(kernel.shape);
    bytes += shape.read.count() + shape.written.count();
  }
  return bytes;
}

/// Of the first round, without pairs.
std::int64_t compressing(const char* method, std::int64_t elements, int stages) {
  CompressionConfig config;
  config.method = method;
  config.stages = stages;
  const Plan plan = plan_of({elements}, config);
  return bytes_of(plan.rounds.front().kernels) - static_cast<std::int64_t>(plan.rounds.front().bytes);
}

// With n elements and no pairs: 3 passes to accumulate, 2 to pack; 4 to select and 1 to count; or one to fit, and what
// the later stages see of it.
TEST(CompressionKernels, EstimatingMovesFewerBytesThanSelecting) {
  constexpr std::int64_t kElements = 1 << 20;
  EXPECT_EQ(compressing("top-k", kElements, 0), (3 + 2 + 5) * 4 * kElements);
  EXPECT_EQ(compressing("gamma", kElements, 1), (3 + 2 + 1) * 4 * kElements);
  EXPECT_EQ(compressing("gamma", kElements, 2), (3 + 2 + 1) * 4 * kElements + (4 + 1 + 1) * kElements);
  EXPECT_EQ(bytes_of(scatter_kernels(kElements, 100)), 4 * kElements + 16 * 100);
}

TEST(CompressionKernels, AveragesMoveWeightsOnceEachWay) {
  const auto moved = [](const std::vector<kfac::LayerKernel>& kernels) {
    const auto& shape = std::get<accelerator::Elementwise>(kernels.at(0).shape);
    return shape.read.count() + shape.written.count();
  };
  EXPECT_EQ(moved(kfac::snapshot_kernels(1000)), 12 * 1000);
  EXPECT_EQ(moved(kfac::merge_kernels(1000)), 16 * 1000);
}

}  // namespace
}  // namespace weft::compression
