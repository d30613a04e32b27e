// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/cost.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace weft::kfac {
namespace {

void check(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    if (!std::isfinite(sample.size) || !std::isfinite(sample.seconds) || sample.size < 0 || sample.seconds < 0) {
      throw std::invalid_argument("expected samples of finite sizes and times that are not negative");
    }
  }
}

}  // namespace

LinearCost fit_linear(std::span<const Sample> samples) {
  check(samples);
  const bool has_two_sizes =
      std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) { return sample.size != samples[0].size; });
  if (!has_two_sizes) throw std::invalid_argument("expected samples of at least two different sizes");
  const auto count = static_cast<double>(samples.size());
  double mean_size = 0;
  double mean_seconds = 0;
  for (const Sample& sample : samples) {
    mean_size += sample.size / count;
    mean_seconds += sample.seconds / count;
  }
  double covariance = 0;
  double variance = 0;
  double product = 0;
  double square = 0;
  for (const Sample& sample : samples) {
    covariance += (sample.size - mean_size) * (sample.seconds - mean_seconds);
    variance += (sample.size - mean_size) * (sample.size - mean_size);
    product += sample.size * sample.seconds;
    square += sample.size * sample.size;
  }
  const double beta = covariance / variance;
  if (beta < 0) return {mean_seconds, 0};
  const double alpha = mean_seconds - beta * mean_size;
  if (alpha < 0) return {0, product / square};
  return {alpha, beta};
}

MatrixCost::MatrixCost(std::span<const Sample> samples) {
  check(samples);
  if (samples.empty()) throw std::invalid_argument("expected at least one sample");
  std::vector<Sample> sorted(samples.begin(), samples.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Sample& a, const Sample& b) { return a.size < b.size; });
  if (sorted.front().size <= 0) throw std::invalid_argument("expected samples of matrices with a side above 0");
  for (std::size_t i = 0; i < sorted.size();) {
    Sample mean{sorted[i].size, 0};
    std::size_t count = 0;
    for (; i < sorted.size() && sorted[i].size == mean.size; ++i, ++count) mean.seconds += sorted[i].seconds;
    mean.seconds /= static_cast<double>(count);
    samples_.push_back(mean);
  }
}

double MatrixCost::operator()(double side) const {
  const Sample& last = samples_.back();
  if (side >= last.size) return last.seconds * std::pow(side / last.size, 3);
  if (side <= samples_.front().size) return samples_.front().seconds;
  const auto above = std::upper_bound(samples_.begin(), samples_.end(), side,
                                      [](double value, const Sample& sample) { return value < sample.size; });
  const Sample& low = *(above - 1);
  return low.seconds + (above->seconds - low.seconds) * (side - low.size) / (above->size - low.size);
}

}  // namespace weft::kfac
