// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/expert_load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "hw/core/random.h"

namespace weft::workloads {
namespace {

/// Above 0, so that it has a logarithm.
double uniform(Random& random) {
  return 1 - random.share();
}

double normal(Random& random) {
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(kTwoPi * uniform(random));
}

/// Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000. Its logarithm, as small shapes give
/// numbers too small for themselves.
double log_gamma_variate(Random& random, double shape) {
  if (shape < 1) return log_gamma_variate(random, shape + 1) + std::log(uniform(random)) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random);
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(uniform(random)) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

/// Shares of experts, up to a factor.
std::vector<double> weights_of(const ExpertLoad& load, std::int64_t experts, std::int64_t block) {
  std::vector<double> weights(static_cast<std::size_t>(experts), 1);
  if (load.kind == LoadKind::kBalanced) return weights;
  Random random(static_cast<std::uint64_t>(load.seed), "experts of block " + std::to_string(block));
  if (load.kind == LoadKind::kDirichlet) {
    for (double& weight : weights) weight = log_gamma_variate(random, load.skew);
    const double largest = *std::max_element(weights.begin(), weights.end());
    for (double& weight : weights) weight = std::exp(weight - largest);
    return weights;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::pow(static_cast<double>(i + 1), -load.skew);
  for (std::size_t i = weights.size(); i > 1; --i) std::swap(weights[i - 1], weights[random.next() % i]);
  return weights;
}

}  // namespace

std::vector<std::int64_t> tokens_of_experts(const ExpertLoad& load, std::int64_t experts, std::int64_t top_k,
                                            std::int64_t tokens, std::int64_t block) {
  const std::vector<double> weights = weights_of(load, experts, block);
  // An expert has a token once at most: what is beyond goes to the others by their shares.
  std::vector<double> shares(weights.size(), 0);
  std::vector<bool> full(weights.size(), false);
  const auto most = static_cast<double>(tokens);
  for (bool again = true; again;) {
    again = false;
    double left = most * static_cast<double>(top_k);
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (full[i]) left -= most;
      if (!full[i]) sum += weights[i];
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      shares[i] = full[i] ? most : std::max(0.0, left) * weights[i] / sum;
      if (full[i] || shares[i] <= most) continue;
      full[i] = true;
      again = true;
    }
  }
  // Whole tokens, those first that lose most by rounding.
  std::vector<std::int64_t> counts;
  for (const double share : shares) counts.push_back(std::min(tokens, static_cast<std::int64_t>(share)));
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return shares[a] - static_cast<double>(counts[a]) > shares[b] - static_cast<double>(counts[b]);
  });
  std::int64_t left = tokens * top_k - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  while (left > 0) {
    for (const std::size_t i : order) {
      if (left == 0) break;
      if (counts[i] == tokens) continue;
      ++counts[i];
      --left;
    }
  }
  return counts;
}

}  // namespace weft::workloads
