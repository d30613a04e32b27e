// SPDX-License-Identifier: Apache-2.0
// Routes of every switch of a topology.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>

#include "hw/fabric/topology/topology.h"

namespace weft::fabric {
namespace {

constexpr int kFar = INT32_MAX;

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

Graph graph_of(const Topology& topology) {
  Graph graph(topology.switches.size());
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    for (const Topology::Neighbour& n : topology.switches[s].ports) {
      if (!n.is_end && !n.out_of_service && s < n.index) boost::add_edge(s, n.index, graph);
    }
  }
  return graph;
}

/// Hops from each switch to `target`.
void distances(const Graph& graph, std::uint32_t target, std::vector<int>& distance) {
  std::fill(distance.begin(), distance.end(), kFar);
  distance[target] = 0;
  boost::breadth_first_search(
      graph, target,
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(distance.data(), boost::on_tree_edge()))));
}

std::vector<std::vector<std::uint32_t>> ends_by_switch(const Topology& topology) {
  std::vector<std::vector<std::uint32_t>> all(topology.switches.size());
  for (std::uint32_t e = 0; e < topology.ends.size(); ++e) all[topology.ends[e].first].push_back(e);
  return all;
}

/// Each end's place in the order of leaves, which is what spreads over uplinks; its number, unless there are rails.
std::vector<std::uint32_t> places(const std::vector<std::vector<std::uint32_t>>& ends_of, std::size_t ends) {
  std::vector<std::uint32_t> place(ends);
  std::uint32_t next = 0;
  for (const auto& here : ends_of) {
    for (const std::uint32_t e : here) place[e] = next++;
  }
  return place;
}

/// By which its switch reaches an end.
std::uint16_t port_of_end(const Topology& topology, std::uint32_t end) {
  const auto [sw, port] = topology.ends[end];
  return topology.switches[sw].ports[port].out_of_service ? Packet::kNowhere : port;
}

/// Hops from the root of each switch's part of the network: from the switch of it with the most ports.
std::vector<int> levels(const Topology& topology, const Graph& graph) {
  std::vector<int> level(topology.switches.size(), kFar);
  std::vector<int> distance(topology.switches.size());
  for (;;) {
    std::size_t root = SIZE_MAX;
    for (std::uint32_t s = 0; s < level.size(); ++s) {
      if (level[s] != kFar) continue;
      if (root == SIZE_MAX || topology.switches[s].ports.size() > topology.switches[root].ports.size()) root = s;
    }
    if (root == SIZE_MAX) return level;
    distances(graph, static_cast<std::uint32_t>(root), distance);
    for (std::size_t s = 0; s < level.size(); ++s) level[s] = std::min(level[s], distance[s]);
  }
}

Policy policy_of(Routing routing) {
  switch (routing) {
    case Routing::kEcmp:
      return Policy::kEcmp;
    case Routing::kAdaptive:
      return Policy::kAdaptive;
    default:
      return Policy::kDmodk;
  }
}

}  // namespace

std::vector<Routes> Topology::shortest_routes(Routing routing) const {
  const Graph graph = graph_of(*this);
  const auto ends_of = ends_by_switch(*this);
  const Policy policy = policy_of(routing);
  const bool by_place = dmodk_stride > 1 ||
                        std::any_of(switches.begin(), switches.end(), [](const Node& node) { return node.level > 0; });
  const std::vector<std::uint32_t> place = places(ends_of, ends.size());
  std::vector<RoutingTable> tables(switches.size(), RoutingTable(ends.size()));
  std::vector<int> distance(switches.size());
  std::vector<std::uint16_t> choices;
  for (std::uint32_t target = 0; target < switches.size(); ++target) {
    const std::vector<std::uint32_t>& here = ends_of[target];
    if (here.empty()) continue;
    distances(graph, target, distance);
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      if (s == target) continue;
      if (distance[s] == kFar) {
        for (const std::uint32_t e : here) tables[s].set(e, Packet::kNowhere);
        continue;
      }
      choices.clear();
      std::uint32_t stride = 1;
      for (std::size_t p = 0; p < switches[s].ports.size(); ++p) {
        const Neighbour& n = switches[s].ports[p];
        if (n.is_end || n.out_of_service || distance[n.index] != distance[s] - 1) continue;
        choices.push_back(static_cast<std::uint16_t>(p));
        if (std::max(switches[s].level, switches[n.index].level) == 2) stride = dmodk_stride;
      }
      for (const std::uint32_t e : here) {
        if (policy == Policy::kDmodk) {
          tables[s].set(e, choices[(by_place ? place[e] : e) / stride % choices.size()]);
        } else if (e == here.front()) {
          tables[s].set(e, choices);
        } else {
          tables[s].copy(e, here.front());
        }
      }
    }
    for (const std::uint32_t e : here) tables[target].set(e, port_of_end(*this, e));
  }
  std::vector<Routes> all;
  all.reserve(tables.size());
  for (RoutingTable& table : tables) all.emplace_back(std::move(table), policy);
  return all;
}

std::vector<Routes> Topology::up_down_routes() const {
  // Up is towards the root, then towards the smaller number: an order of all switches, so that links up have no cycle,
  // and neither have links down. A packet goes down as soon as it can get there by going down alone, so nobody that has
  // gone down is ever sent up.
  const Graph graph = graph_of(*this);
  const auto ends_of = ends_by_switch(*this);
  const std::vector<int> level = levels(*this, graph);
  std::vector<std::uint32_t> order(switches.size());
  for (std::uint32_t s = 0; s < order.size(); ++s) order[s] = s;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair{level[a], a} < std::pair{level[b], b};
  });
  std::vector<std::uint32_t> rank(switches.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;

  std::vector<RoutingTable> tables(switches.size(), RoutingTable(ends.size()));
  std::vector<int> down(switches.size());
  std::vector<int> hops(switches.size());
  std::vector<std::uint16_t> choices;
  for (std::uint32_t target = 0; target < switches.size(); ++target) {
    const std::vector<std::uint32_t>& here = ends_of[target];
    if (here.empty()) continue;
    std::fill(down.begin(), down.end(), kFar);
    down[target] = 0;
    // By links down alone: from the target upwards.
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::uint32_t s = order[i];
      for (const Neighbour& n : switches[s].ports) {
        if (!n.is_end && !n.out_of_service && rank[n.index] > rank[s] && down[n.index] != kFar) {
          down[s] = std::min(down[s], down[n.index] + 1);
        }
      }
    }
    // Else up first: from the root downwards.
    for (const std::uint32_t s : order) {
      hops[s] = down[s];
      if (down[s] != kFar) continue;
      for (const Neighbour& n : switches[s].ports) {
        if (!n.is_end && !n.out_of_service && rank[n.index] < rank[s] && hops[n.index] != kFar) {
          hops[s] = std::min(hops[s], hops[n.index] + 1);
        }
      }
    }
    for (const std::uint32_t s : order) {
      if (s == target) continue;
      if (hops[s] == kFar) {
        for (const std::uint32_t e : here) tables[s].set(e, Packet::kNowhere);
        continue;
      }
      choices.clear();
      const bool goes_down = down[s] != kFar;
      for (std::size_t p = 0; p < switches[s].ports.size(); ++p) {
        const Neighbour& n = switches[s].ports[p];
        if (n.is_end || n.out_of_service || (rank[n.index] > rank[s]) != goes_down) continue;
        if ((goes_down ? down : hops)[n.index] == hops[s] - 1) choices.push_back(static_cast<std::uint16_t>(p));
      }
      for (const std::uint32_t e : here) tables[s].set(e, choices[e % choices.size()]);
    }
    for (const std::uint32_t e : here) tables[target].set(e, port_of_end(*this, e));
  }
  std::vector<Routes> all;
  all.reserve(tables.size());
  for (RoutingTable& table : tables) all.emplace_back(std::move(table), Policy::kDmodk);
  return all;
}

std::vector<Routes> Topology::routes(Routing routing, std::uint64_t seed) const {
  if (routing == Routing::kUpDown) return up_down_routes();
  std::vector<Routes> all;
  if (dragonfly != nullptr) {
    all = dragonfly_routes(policy_of(routing));
  } else if (grid != nullptr) {
    all.reserve(switches.size());
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      all.emplace_back(*grid, switches[s].steps, s, policy_of(routing));
    }
  } else {
    all = shortest_routes(routing);
  }
  // Between two groups there is no third one to go by.
  const bool detours = routing == Routing::kValiant && lanes_change && (!dragonfly || dragonfly->groups > 2);
  for (std::size_t s = 0; s < all.size(); ++s) {
    if (lanes_change) {
      std::vector<PortLanes> ports;
      for (const Neighbour& port : switches[s].ports) ports.push_back(port.lanes);
      all[s].change_lanes(std::move(ports));
    }
    if (detours) all[s].detour(seed, second_lane);
    if (routing == Routing::kEcmp) all[s].hash_by(Random(seed, switches[s].name + " hash").next());
  }
  return all;
}

}  // namespace weft::fabric
