// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/edge/edge_allocation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace weft::schedules {

namespace {

constexpr double kBitsBothWays = 64;
constexpr int kHalvings = 200;

double of_radio(const EdgeWorker& worker) {
  return kBitsBothWays / worker.bits_per_hz;
}

/// Where `sum`, which falls, comes to `goal`, between two positive numbers.
double falls_to(double goal, double low, double high, const std::function<double(double)>& sum) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = std::sqrt(low * high);
    (sum(middle) > goal ? low : high) = middle;
  }
  return high;
}

std::vector<double> joint_bands(double bandwidth, const std::vector<EdgeWorker>& workers) {
  const auto band = [](const EdgeWorker& worker, double lambda) {
    const double a = of_radio(worker);
    return std::max(0.0, (std::sqrt(a / lambda) - a) / worker.compute_s);
  };
  const double lambda = falls_to(bandwidth, 1e-30, 1e30, [&](double at) {
    return std::accumulate(workers.begin(), workers.end(), 0.0,
                           [&](double sum, const EdgeWorker& worker) { return sum + band(worker, at); });
  });
  std::vector<double> bands;
  for (const EdgeWorker& worker : workers) bands.push_back(band(worker, lambda));
  return bands;
}

std::vector<double> bands_for_equal_blocks(double block, double bandwidth, const std::vector<EdgeWorker>& workers) {
  double slowest = 0;
  for (const EdgeWorker& worker : workers) slowest = std::max(slowest, worker.compute_s * block);
  const auto band = [block, slowest](const EdgeWorker& worker, double beyond) {
    return of_radio(worker) * block / (slowest + beyond - worker.compute_s * block);
  };
  const double beyond = falls_to(bandwidth, 1e-15, 1e15, [&](double at) {
    return std::accumulate(workers.begin(), workers.end(), 0.0,
                           [&](double sum, const EdgeWorker& worker) { return sum + band(worker, at); });
  });
  std::vector<double> bands;
  for (const EdgeWorker& worker : workers) bands.push_back(band(worker, beyond));
  return bands;
}

/// All bandwidth to the best where nothing is computed: what a Hz carries alone counts.
std::vector<double> best_alone(double bandwidth, const std::vector<EdgeWorker>& workers) {
  std::vector<double> bands(workers.size());
  const auto best = std::max_element(workers.begin(), workers.end(), [](const EdgeWorker& a, const EdgeWorker& b) {
    return a.bits_per_hz < b.bits_per_hz;
  });
  bands[static_cast<std::size_t>(best - workers.begin())] = bandwidth;
  return bands;
}

}  // namespace

double edge_time(const EdgeWorker& worker, const EdgeShare& share) {
  if (share.parameters == 0) return 0;
  return static_cast<double>(share.parameters) * (of_radio(worker) / share.bandwidth_hz + worker.compute_s);
}

std::vector<EdgeShare> allocate_edge(EdgeAllocation how, std::int64_t parameters, double bandwidth_hz,
                                     const std::vector<EdgeWorker>& workers) {
  const auto count = static_cast<double>(workers.size());
  const auto all = static_cast<double>(parameters);
  const bool computes =
      std::all_of(workers.begin(), workers.end(), [](const EdgeWorker& worker) { return worker.compute_s > 0; });
  std::vector<double> bands(workers.size(), bandwidth_hz / count);
  if (how == EdgeAllocation::kJoint) {
    bands = computes ? joint_bands(bandwidth_hz, workers) : best_alone(bandwidth_hz, workers);
  } else if (how == EdgeAllocation::kBandwidth) {
    bands = bands_for_equal_blocks(all / count, bandwidth_hz, workers);
  }
  std::vector<double> blocks(workers.size(), 1);
  if (how == EdgeAllocation::kJoint || how == EdgeAllocation::kParameters) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      blocks[i] = bands[i] > 0 ? 1 / (of_radio(workers[i]) / bands[i] + workers[i].compute_s) : 0;
    }
  }
  const double sum = std::accumulate(blocks.begin(), blocks.end(), 0.0);
  std::vector<EdgeShare> shares;
  std::int64_t left = parameters;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    shares.push_back({static_cast<std::int64_t>(all * blocks[i] / sum), bands[i]});
    left -= shares.back().parameters;
  }
  const auto largest = std::max_element(
      shares.begin(), shares.end(), [](const EdgeShare& a, const EdgeShare& b) { return a.parameters < b.parameters; });
  largest->parameters += left;
  return shares;
}

}  // namespace weft::schedules
