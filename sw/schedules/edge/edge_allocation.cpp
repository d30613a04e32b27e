// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/edge/edge_allocation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

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

namespace {

std::vector<EdgeShare> parts_of_round(EdgeAllocation how, std::int64_t parameters, double bandwidth_hz,
                                      const std::vector<EdgeWorker>& workers) {
  const auto count = static_cast<std::int64_t>(workers.size());
  const auto all = static_cast<double>(parameters);
  const bool computes =
      std::all_of(workers.begin(), workers.end(), [](const EdgeWorker& worker) { return worker.compute_s > 0; });
  std::vector<double> bands(workers.size(), bandwidth_hz / static_cast<double>(count));
  if (how == EdgeAllocation::kJoint) {
    bands = computes ? joint_bands(bandwidth_hz, workers) : best_alone(bandwidth_hz, workers);
  } else if (how == EdgeAllocation::kBandwidth) {
    bands = bands_for_equal_blocks(all / static_cast<double>(count), bandwidth_hz, workers);
  }
  const bool equal_blocks = how != EdgeAllocation::kJoint && how != EdgeAllocation::kParameters;
  std::vector<double> blocks(workers.size(), 1);
  if (!equal_blocks) {
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
  // Fewer than workers are left over: each goes to the worker that is done with it first.
  for (; left > 0; --left) {
    std::size_t first = 0;
    double earliest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (bands[i] <= 0 || (equal_blocks && shares[i].parameters * count > parameters)) continue;
      const double time = edge_time(workers[i], {shares[i].parameters + 1, bands[i]});
      if (time >= earliest) continue;
      earliest = time;
      first = i;
    }
    ++shares[first].parameters;
  }
  return shares;
}

}  // namespace

std::vector<EdgeShare> allocate_edge(EdgeAllocation how, std::int64_t parameters, double bandwidth_hz,
                                     const std::vector<EdgeWorker>& workers) {
  const auto time = [&](const std::vector<EdgeShare>& shares) {
    double slowest = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) slowest = std::max(slowest, edge_time(workers[i], shares[i]));
    return slowest;
  };
  std::vector<EdgeShare> best = parts_of_round(how, parameters, bandwidth_hz, workers);
  const bool has_blocks = how == EdgeAllocation::kJoint || how == EdgeAllocation::kParameters;
  const bool has_bands = how == EdgeAllocation::kJoint || how == EdgeAllocation::kBandwidth;
  for (const auto& [other, is_its_choice] :
       {std::pair{EdgeAllocation::kParameters, has_blocks}, std::pair{EdgeAllocation::kBandwidth, has_bands},
        std::pair{EdgeAllocation::kEqual, true}}) {
    if (!is_its_choice) continue;
    std::vector<EdgeShare> shares = parts_of_round(other, parameters, bandwidth_hz, workers);
    if (time(shares) < time(best)) best = std::move(shares);
  }
  return best;
}

}  // namespace weft::schedules
