// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/sidco.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::compression {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
  double mean_log = 0;  ///< of those that are not 0
};

/// Of what exceeds `origin`, from there on.
Moments moments_of(const std::vector<double>& magnitudes, double origin, bool logarithms) {
  Moments moments;
  const auto count = static_cast<double>(magnitudes.size());
  double squares = 0;
  double logs = 0;
  std::size_t positive = 0;
  for (const double magnitude : magnitudes) moments.mean += (magnitude - origin) / count;
  for (const double magnitude : magnitudes) {
    squares += std::pow(magnitude - origin - moments.mean, 2);
    if (!logarithms || magnitude <= origin) continue;
    logs += std::log(magnitude - origin);
    ++positive;
  }
  moments.variance = squares / count;
  if (positive > 0) moments.mean_log = logs / static_cast<double>(positive);
  return moments;
}

double exponential_quantile(double mean, double share) {
  return -mean * std::log(share);
}

/// By the method of moments (Hosking and Wallis, 1987): with r = mean^2 / variance the shape is (1 - r) / 2.
double pareto_quantile(const Moments& moments, double share) {
  if (moments.variance <= 0) return exponential_quantile(moments.mean, share);
  const double ratio = moments.mean * moments.mean / moments.variance;
  const double shape = (1 - ratio) / 2;
  const double scale = moments.mean * (1 + ratio) / 2;
  if (std::abs(shape) < 1e-9) return exponential_quantile(scale, share);
  return scale * (std::pow(share, -shape) - 1) / shape;
}

/// Regularised lower incomplete gamma function, by its series (DLMF 8.7.1).
double gamma_below(double shape, double x) {
  if (x <= 0) return 0;
  double term = 1 / shape;
  double sum = term;
  for (int n = 1; n < 10'000 && term > sum * 1e-16; ++n) {
    term *= x / (shape + n);
    sum += term;
  }
  return sum * std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

double gamma_quantile(const Moments& moments, double share) {
  const double s = std::log(moments.mean) - moments.mean_log;
  if (!(s > 0)) return exponential_quantile(moments.mean, share);
  const double shape = (3 - s + std::sqrt(std::pow(s - 3, 2) + 24 * s)) / (12 * s);
  double low = 0;
  double high = shape + 1;
  while (gamma_below(shape, high) < 1 - share) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (gamma_below(shape, middle) < 1 - share ? low : high) = middle;
  }
  return moments.mean / shape * high;
}

}  // namespace

ThresholdEstimator::ThresholdEstimator(Distribution distribution, double ratio, int stages)
    : distribution_(distribution), ratio_(ratio), adapts_(stages == 0), stages_(stages) {
  if (!(ratio > 0) || ratio > 1 || stages < 0) {
    throw std::invalid_argument("expected a ratio above 0 and up to 1 and no negative stages, got " +
                                std::to_string(ratio) + " and " + std::to_string(stages));
  }
  stages_ = first_stages(ratio, stages);
}

int ThresholdEstimator::first_stages(double ratio, int stages) {
  if (ratio >= kFirstRatio) return 1;
  return stages > 0 ? stages : static_cast<int>(std::ceil(std::log(ratio) / std::log(kFirstRatio) - 1e-9));
}

double ThresholdEstimator::threshold(std::span<const float> values) const {
  std::vector<double> magnitudes;
  magnitudes.reserve(values.size());
  double most = 0;
  for (const float value : values) {
    magnitudes.push_back(std::abs(static_cast<double>(value)));
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    most = std::max(most, magnitudes.back());
  }
  if (most == 0) return std::numeric_limits<double>::infinity();
  const double first = stages_ == 1 ? ratio_ : kFirstRatio;
  const Moments all = moments_of(magnitudes, 0, distribution_ == Distribution::kGamma);
  double threshold = distribution_ == Distribution::kExponential ? exponential_quantile(all.mean, first)
                     : distribution_ == Distribution::kGamma     ? gamma_quantile(all, first)
                                                                 : pareto_quantile(all, first);
  const double share = std::pow(ratio_ / first, 1.0 / std::max(1, stages_ - 1));
  for (int stage = 1; stage < stages_; ++stage) {
    std::erase_if(magnitudes, [&](double magnitude) { return magnitude <= threshold; });
    if (magnitudes.empty()) return threshold;
    const Moments rest = moments_of(magnitudes, threshold, false);
    threshold += distribution_ == Distribution::kExponential ? exponential_quantile(rest.mean, share)
                                                             : pareto_quantile(rest, share);
  }
  return threshold;
}

void ThresholdEstimator::observe(std::size_t selected, std::size_t elements) {
  if (!adapts_ || elements == 0) return;
  sum_ += static_cast<double>(selected) / static_cast<double>(elements) / ratio_;
  if (++observed_ < kInterval) return;
  const double mean = sum_ / kInterval;
  sum_ = 0;
  observed_ = 0;
  const double off = std::abs(mean - 1);
  if (last_off_ >= 0 && off > last_off_) direction_ = -direction_;
  last_off_ = off;
  if (off <= kTolerance) return;
  stages_ += mean > 1 ? -direction_ : direction_;
  stages_ = std::clamp(stages_, 1, ratio_ >= kFirstRatio ? 1 : static_cast<int>(std::ceil(std::log2(1 / ratio_))));
}

}  // namespace weft::compression
