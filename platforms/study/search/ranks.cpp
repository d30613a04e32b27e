// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/search/ranks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace weft::study {

namespace {

using Costs = std::vector<std::vector<double>>;

struct MostCrowded {
  bool operator()(const std::pair<double, std::size_t>& a, const std::pair<double, std::size_t>& b) const {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  }
};

/// The points of a front without the most crowded ones, one after the other; distances are those of what is left.
std::vector<std::size_t> spread(const Costs& costs, const std::vector<std::size_t>& front, std::size_t count) {
  constexpr double kExtreme = std::numeric_limits<double>::infinity();
  constexpr std::size_t kNone = SIZE_MAX;
  const std::size_t goals = costs[front.front()].size();
  struct Place {
    std::vector<std::size_t> before;
    std::vector<std::size_t> after;
  };
  std::vector<Place> places(front.size(), {std::vector<std::size_t>(goals, kNone), std::vector(goals, kNone)});
  std::vector<double> ranges(goals);
  for (std::size_t goal = 0; goal < goals; ++goal) {
    std::vector<std::size_t> order(front.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto cost = [&](std::size_t i) { return costs[front[i]][goal]; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
    ranges[goal] = cost(order.back()) - cost(order.front());
    for (std::size_t i = 1; i < order.size(); ++i) {
      places[order[i]].before[goal] = order[i - 1];
      places[order[i - 1]].after[goal] = order[i];
    }
  }
  const auto distance = [&](std::size_t i) {
    double sum = 0;
    for (std::size_t goal = 0; goal < goals; ++goal) {
      const std::size_t before = places[i].before[goal];
      const std::size_t after = places[i].after[goal];
      if (ranges[goal] == 0) continue;
      if (before == kNone || after == kNone) return kExtreme;
      sum += (costs[front[after]][goal] - costs[front[before]][goal]) / ranges[goal];
    }
    return sum;
  };
  std::vector<double> known(front.size());
  // Of those that are as crowded the last one goes.
  std::set<std::pair<double, std::size_t>, MostCrowded> left;
  for (std::size_t i = 0; i < front.size(); ++i) left.emplace(known[i] = distance(i), i);
  while (left.size() > count) {
    const std::size_t gone = left.begin()->second;
    left.erase(left.begin());
    for (std::size_t goal = 0; goal < goals; ++goal) {
      const std::size_t before = places[gone].before[goal];
      const std::size_t after = places[gone].after[goal];
      if (before != kNone) places[before].after[goal] = after;
      if (after != kNone) places[after].before[goal] = before;
    }
    for (std::size_t goal = 0; goal < goals; ++goal) {
      for (const std::size_t near : {places[gone].before[goal], places[gone].after[goal]}) {
        if (near == kNone || left.erase({known[near], near}) == 0) continue;
        left.emplace(known[near] = distance(near), near);
      }
    }
  }
  std::vector<std::size_t> kept;
  for (const auto& [crowding, i] : left) kept.push_back(front[i]);
  return kept;
}

}  // namespace

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool is_better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    is_better = is_better || a[i] < b[i];
  }
  return is_better;
}

std::vector<std::size_t> ranks(const Costs& costs) {
  std::vector<std::size_t> rank(costs.size(), SIZE_MAX);
  std::size_t left = costs.size();
  for (std::size_t at = 0; left > 0; ++at) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (rank[i] != SIZE_MAX) continue;
      bool is_dominated = false;
      for (std::size_t j = 0; j < costs.size() && !is_dominated; ++j) {
        is_dominated = rank[j] == SIZE_MAX && dominates(costs[j], costs[i]);
      }
      if (!is_dominated) front.push_back(i);
    }
    for (const std::size_t i : front) rank[i] = at;
    left -= front.size();
  }
  return rank;
}

std::vector<std::size_t> survivors(const Costs& costs, std::size_t count) {
  const std::vector<std::size_t> rank = ranks(costs);
  std::map<std::size_t, std::vector<std::size_t>> fronts;
  for (std::size_t i = 0; i < costs.size(); ++i) fronts[rank[i]].push_back(i);
  std::vector<std::size_t> kept;
  for (const auto& [at, front] : fronts) {
    std::set<std::vector<double>> known;
    std::vector<std::size_t> different;
    std::vector<std::size_t> equal;
    for (const std::size_t i : front) (known.insert(costs[i]).second ? different : equal).push_back(i);
    const std::size_t open = count - kept.size();
    if (different.size() > open) different = spread(costs, different, open);
    equal.resize(std::min(equal.size(), open - different.size()));
    kept.insert(kept.end(), different.begin(), different.end());
    kept.insert(kept.end(), equal.begin(), equal.end());
    if (kept.size() == count) break;
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace weft::study
