// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology/measures.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weft::fabric {
namespace {

// --- Hops ---

/// One dimension of a grid, as its routers' steps tell it.
struct Reach {
  int most;
  double average;  ///< over all pairs, those of a router with itself included
};

Reach reach_of(const GridStep& step) {
  const double k = step.size;
  switch (step.block) {
    case Block::kRing: {
      const int half = step.size / 2;
      const int ways = half * (step.size - half);  // of one router, all added up
      return {half, ways / k};
    }
    case Block::kMesh:
      return {step.size - 1, (k * k - 1) / (3 * k)};
    case Block::kFullyConnected:
      return {1, (k - 1) / k};
    default:
      return {2, 2 * (k - 1) / k};
  }
}

void measure_grid(const Topology& topology, Measures& measures) {
  double sum = 0;
  measures.diameter = 2;
  for (const GridStep& step : topology.switches.front().steps) {
    const Reach reach = reach_of(step);
    measures.diameter += reach.most;
    sum += reach.average;
  }
  const auto n = static_cast<double>(topology.ends.size());
  measures.average_hops = 2 + sum * n / (n - 1);  // no end sends to itself
}

void measure_by_search(const Topology& topology, Measures& measures) {
  constexpr std::size_t kSample = 1024;
  std::vector<std::uint32_t> with_ends;
  std::vector<std::int64_t> ends(topology.switches.size());
  for (const auto& [sw, port] : topology.ends) {
    if (ends[sw]++ == 0) with_ends.push_back(sw);
  }
  const std::size_t step = std::max<std::size_t>(1, with_ends.size() / kSample);
  measures.all_pairs = step == 1;
  std::vector<int> distance(topology.switches.size());
  std::vector<std::uint32_t> queue;
  std::int64_t pairs = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < with_ends.size(); i += step) {
    const std::uint32_t from = with_ends[i];
    std::fill(distance.begin(), distance.end(), -1);
    distance[from] = 0;
    queue.assign(1, from);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::uint32_t at = queue[next];
      // A switch has no pair with an end of its own.
      const std::int64_t here = ends[from] * (at == from ? ends[at] - 1 : ends[at]);
      if (here > 0) measures.diameter = std::max(measures.diameter, distance[at] + 2);
      pairs += here;
      sum += here * (distance[at] + 2);
      for (const Topology::Neighbour& port : topology.switches[at].ports) {
        if (port.is_end || distance[port.index] >= 0) continue;
        distance[port.index] = distance[at] + 1;
        queue.push_back(port.index);
      }
    }
  }
  measures.average_hops = pairs == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(pairs);
}

// --- Bisection ---

/// A cut that puts each end on a side.
class Cut {
 public:
  explicit Cut(const Topology& topology) : topology_(topology), end_side_(topology.ends.size()) {}

  /// The capacity of the cut with the first half of the ends of an order on one side.
  std::int64_t rate(const std::vector<std::uint32_t>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) end_side_[order[i]] = i < order.size() / 2 ? -1 : 1;
    side_.assign(topology_.switches.size(), 0);
    // Those with ends or placed neighbours come first; whoever is drawn to neither side waits, and then takes any.
    for (bool changed = true; changed;) changed = place(false);
    place(true);
    for (int pass = 0; pass < kPasses && place(false); ++pass) {
    }
    __int128 sum = 0;
    for (std::size_t s = 0; s < side_.size(); ++s) {
      for (const Topology::Neighbour& port : topology_.switches[s].ports) {
        if (side_of(port) == side_[s]) continue;
        sum += static_cast<__int128>(topology_.link_of(port).rate.count()) * (port.is_end ? 2 : 1);
      }
    }
    return narrowed(sum / 2);  // a link between switches was seen from both
  }

 private:
  static constexpr int kPasses = 100;

  [[nodiscard]] int side_of(const Topology::Neighbour& port) const {
    return port.is_end ? end_side_[port.index] : side_[port.index];
  }
  /// Puts each switch where the greater rate draws it.
  bool place(bool all) {
    bool changed = false;
    for (std::size_t s = 0; s < side_.size(); ++s) {
      __int128 pull = 0;
      for (const Topology::Neighbour& port : topology_.switches[s].ports) {
        pull += static_cast<__int128>(side_of(port)) * topology_.link_of(port).rate.count();
      }
      const int drawn = pull < 0 ? -1 : pull > 0 ? 1 : all && side_[s] == 0 ? 1 : side_[s];
      changed = changed || drawn != side_[s];
      side_[s] = drawn;
    }
    return changed && ++rounds_ < kPasses * 10;
  }

  const Topology& topology_;
  std::vector<int> end_side_;
  std::vector<int> side_;
  int rounds_ = 0;
};

using Order = std::vector<std::uint32_t>;

Order in_order(std::size_t ends) {
  Order order(ends);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// By the coordinate in one dimension, and then by the others.
Order across(const Topology& topology, std::uint32_t dimension) {
  const Grid& grid = *topology.grid;
  Order order = in_order(topology.ends.size());
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return grid.coordinates[a / grid.hosts * grid.dimensions + dimension] <
           grid.coordinates[b / grid.hosts * grid.dimensions + dimension];
  });
  return order;
}

/// As a search from a switch meets them.
Order grown(const Topology& topology, std::uint32_t from) {
  Order order;
  std::vector<bool> seen(topology.switches.size());
  std::vector<std::uint32_t> queue = {from};
  seen[from] = true;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const Topology::Neighbour& port : topology.switches[queue[next]].ports) {
      if (port.is_end) {
        order.push_back(port.index);
      } else if (!seen[port.index]) {
        seen[port.index] = true;
        queue.push_back(port.index);
      }
    }
  }
  return order;
}

void measure_bisection(const Topology& topology, Measures& measures) {
  std::int64_t best = INT64_MAX;
  const auto consider = [&](const Order& order, const std::string& by) {
    const std::int64_t rate = Cut(topology).rate(order);
    if (rate >= best) return;
    best = rate;
    measures.bisection_by = by;
  };
  if (topology.grid != nullptr) {
    for (std::uint32_t d = 0; d < topology.grid->dimensions; ++d) {
      consider(across(topology, d), "a straight cut across dimension " + std::to_string(d));
    }
  } else if (topology.dragonfly != nullptr) {
    consider(in_order(topology.ends.size()), "halves of the groups");
  } else {
    const bool tree = std::any_of(topology.switches.begin(), topology.switches.end(),
                                  [](const Topology::Node& node) { return node.level > 0; });
    consider(in_order(topology.ends.size()), "halves in the order of ends");
    Order by_switch = in_order(topology.ends.size());
    std::stable_sort(by_switch.begin(), by_switch.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return topology.ends[a].first < topology.ends[b].first; });
    consider(by_switch, "halves in the order of switches");
    constexpr std::size_t kRegions = 64;
    const std::size_t step = std::max<std::size_t>(1, topology.switches.size() / kRegions);
    for (std::size_t s = 0; !tree && s < topology.switches.size(); s += step) {
      consider(grown(topology, static_cast<std::uint32_t>(s)),
               "a region grown from " + topology.switches[s].name + ", an upper bound");
    }
  }
  measures.bisection = Rate(best);
}

}  // namespace

Measures measure(const Topology& topology) {
  Measures measures;
  measures.ends = topology.ends.size();
  measures.switches = topology.switches.size();
  for (const Topology::Node& node : topology.switches) {
    for (const Topology::Neighbour& port : node.ports) measures.links += port.is_end ? 0 : 1;
  }
  measures.links /= 2;
  if (measures.ends < 2) return measures;
  if (topology.grid != nullptr && topology.grid->hosts == 1) {
    measure_grid(topology, measures);
  } else {
    measure_by_search(topology, measures);
  }
  measure_bisection(topology, measures);
  return measures;
}

}  // namespace weft::fabric
