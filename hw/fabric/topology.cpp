// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>

namespace weft::fabric {

void Topology::attach_end(std::uint32_t sw) {
  const auto end = static_cast<std::uint32_t>(ends.size());
  ends.emplace_back(sw, static_cast<std::uint16_t>(switches[sw].ports.size()));
  switches[sw].ports.push_back({true, end, 0});
}

void Topology::connect(std::uint32_t a, std::uint32_t b) {
  const auto port_a = static_cast<std::uint16_t>(switches[a].ports.size());
  const auto port_b = static_cast<std::uint16_t>(switches[b].ports.size() + (a == b ? 1 : 0));
  switches[a].ports.push_back({false, b, port_b});
  switches[b].ports.push_back({false, a, port_a});
}

Topology Topology::single_switch(int ends) {
  Topology topology;
  topology.switches.push_back({"switch0", {}, {}});
  for (int i = 0; i < ends; ++i) topology.attach_end(0);
  return topology;
}

Topology Topology::ring(int ends, const FabricConfig& config, const std::string& path) {
  if (config.link.lanes < 2) {
    throw ConfigError(path + ".link.lanes",
                      "expected at least 2, got " + std::to_string(config.link.lanes) +
                          ": packets change lane at a ring's dateline so that they cannot deadlock");
  }
  Topology topology;
  for (int i = 0; i < ends; ++i) {
    topology.switches.push_back({"router" + std::to_string(i), {}, {}});
    topology.attach_end(static_cast<std::uint32_t>(i));
  }
  if (ends < 2) return topology;
  const int edges = ends == 2 ? 1 : ends;
  for (int i = 0; i < edges; ++i) {
    topology.connect(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>((i + 1) % ends));
  }
  if (ends == 2) return topology;
  // The dateline is the link between the last router and the first, in both directions.
  for (auto& node : topology.switches) node.lane_shift.assign(node.ports.size(), 0);
  topology.switches.back().lane_shift.back() = 1;
  topology.switches.front().lane_shift.back() = 1;
  return topology;
}

Topology Topology::fat_tree(int ends, const FabricConfig& config, const std::string& path) {
  const int down = config.hosts_per_leaf;
  const int leaves = (ends + down - 1) / down;
  if (down * (leaves > 1 ? 2 : 1) > config.radix) {
    throw ConfigError(path + ".hosts_per_leaf", "expected at most half of radix " + std::to_string(config.radix) +
                                                    ", since a leaf has as many uplinks as hosts; got " +
                                                    std::to_string(down));
  }
  Topology topology;
  for (int i = 0; i < leaves; ++i) topology.switches.push_back({"leaf" + std::to_string(i), {}, {}});
  for (int i = 0; i < ends; ++i) topology.attach_end(static_cast<std::uint32_t>(i / down));
  if (leaves == 1) return topology;

  const int uplinks = down;
  int spines = config.spines;
  if (spines == 0) {
    // As few as reach: every leaf has the same number of links to each.
    for (spines = 1; spines < uplinks; ++spines) {
      if (uplinks % spines == 0 && leaves * (uplinks / spines) <= config.radix) break;
    }
  }
  if (uplinks % spines != 0) {
    throw ConfigError(path + ".spines", "the fat tree does not close: expected a divisor of the " +
                                            std::to_string(uplinks) + " uplinks of a leaf, got " +
                                            std::to_string(spines));
  }
  const int trunk = uplinks / spines;
  if (leaves * trunk > config.radix) {
    throw ConfigError(path + ".radix", "the fat tree does not close: " + std::to_string(leaves) + " leaves with " +
                                           std::to_string(trunk) + " links to each of " + std::to_string(spines) +
                                           " spines need a radix of " + std::to_string(leaves * trunk) + ", got " +
                                           std::to_string(config.radix) +
                                           "; expected more hosts per leaf, more spines or a larger radix");
  }
  for (int i = 0; i < spines; ++i) topology.switches.push_back({"spine" + std::to_string(i), {}, {}});
  for (int leaf = 0; leaf < leaves; ++leaf) {
    for (int up = 0; up < uplinks; ++up) {
      topology.connect(static_cast<std::uint32_t>(leaf), static_cast<std::uint32_t>(leaves + up / trunk));
    }
  }
  return topology;
}

Topology Topology::build(const FabricConfig& config, int ends, const std::string& path) {
  if (config.segment < config.mtu && config.segment.count() != 0) {
    throw ConfigError(path + ".segment",
                      "expected at least the mtu of " + to_text(config.mtu) + ", got " + to_text(config.segment));
  }
  const std::int64_t largest = config.wire_bytes(static_cast<std::uint32_t>(config.segment.count()));
  if (config.link.buffer.count() < largest) {
    throw ConfigError(path + ".link.buffer", "expected room for at least one segment with its headers, " +
                                                 std::to_string(largest) + " bytes, got " +
                                                 to_text(config.link.buffer));
  }
  switch (config.topology) {
    case Shape::kSwitch:
      return single_switch(ends);
    case Shape::kRing:
      return ring(ends, config, path);
    case Shape::kFatTree:
      break;
  }
  return fat_tree(ends, config, path);
}

std::vector<RoutingTable> Topology::routes(Routing routing) const {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  Graph graph(switches.size());
  for (std::uint32_t s = 0; s < switches.size(); ++s) {
    for (const Neighbour& n : switches[s].ports) {
      if (!n.is_end && s < n.index) boost::add_edge(s, n.index, graph);
    }
  }
  std::vector<RoutingTable> tables(switches.size(), RoutingTable(ends.size()));
  std::vector<std::vector<std::uint32_t>> ends_of(switches.size());
  for (std::uint32_t e = 0; e < ends.size(); ++e) ends_of[ends[e].first].push_back(e);

  constexpr int kFar = INT32_MAX;
  std::vector<int> distance(switches.size());
  std::vector<std::uint16_t> choices;
  for (std::uint32_t target = 0; target < switches.size(); ++target) {
    if (ends_of[target].empty()) continue;
    std::fill(distance.begin(), distance.end(), kFar);
    distance[target] = 0;
    boost::breadth_first_search(
        graph, target,
        boost::visitor(boost::make_bfs_visitor(boost::record_distances(distance.data(), boost::on_tree_edge()))));
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      if (s == target || distance[s] == kFar) continue;
      choices.clear();
      for (std::uint16_t p = 0; p < switches[s].ports.size(); ++p) {
        const Neighbour& n = switches[s].ports[p];
        if (!n.is_end && distance[n.index] == distance[s] - 1) choices.push_back(p);
      }
      for (const std::uint32_t e : ends_of[target]) {
        if (routing == Routing::kDmodk) {
          tables[s].set(e, {choices[e % choices.size()]});
        } else {
          tables[s].set(e, choices);
        }
      }
    }
    for (const std::uint32_t e : ends_of[target]) tables[target].set(e, {ends[e].second});
  }
  return tables;
}

}  // namespace weft::fabric
