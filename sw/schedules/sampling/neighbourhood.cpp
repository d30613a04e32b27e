// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/sampling/neighbourhood.h"

#include <algorithm>
#include <cmath>

namespace weft::schedules {

namespace {

double normal_below(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// Of `draws` of edges' ends, the share of nodes that are among them.
double share_reached(double draws_per_node, double spread) {
  constexpr int kSteps = 400;
  constexpr double kReach = 8;  // standard deviations
  const double sigma = std::sqrt(spread);
  double sum = 0;
  double weights = 0;
  for (int i = -kSteps; i <= kSteps; ++i) {
    const double z = kReach * i / kSteps;
    const double weight = std::exp(-z * z / 2);
    weights += weight;
    sum -= weight * std::expm1(-draws_per_node * std::exp(sigma * z - spread / 2));
  }
  return sum / weights;
}

}  // namespace

double mean_drawn(double mean, double spread, double fan_out) {
  if (spread <= 0) return std::min(mean, fan_out);
  const double sigma = std::sqrt(spread);
  const double middle = std::log(mean) - spread / 2;
  const double at = (std::log(fan_out) - middle) / sigma;
  return mean * normal_below(at - sigma) + fan_out * normal_below(-at);
}

std::vector<Hop> expected_hops(const SampledGraph& graph, int batch, const std::vector<int>& fan_outs) {
  const auto nodes = static_cast<double>(graph.nodes);
  const double mean = static_cast<double>(graph.edges) / nodes;
  const double met = mean * std::exp(graph.spread);
  const double first = std::min(static_cast<double>(batch), nodes);
  double targets = first;
  double draws = 0;
  std::vector<Hop> hops;
  for (const int fan_out : fan_outs) {
    const double edges =
        first * mean_drawn(mean, graph.spread, fan_out) + (targets - first) * mean_drawn(met, graph.spread, fan_out);
    draws += edges;
    // Nothing says that training nodes are among those that are reached, or are not.
    const double sources = std::min(nodes, first + (nodes - first) * share_reached(draws / nodes, graph.spread));
    hops.push_back({std::llround(targets), std::llround(edges), std::llround(std::max(sources, targets))});
    targets = std::max(sources, targets);
  }
  return hops;
}

}  // namespace weft::schedules
