// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology/topology.h"

namespace weft::fabric {
namespace {

struct Shape3 {
  int groups;
  int routers;  ///< of a group
  int hosts;    ///< of a router
  int between;  ///< links between each two groups
};

Shape3 shape_of(int ends, const FabricConfig& config, const std::string& path) {
  const int per_group = config.routers_per_group * config.hosts_per_router;
  Shape3 shape{config.groups, config.routers_per_group, config.hosts_per_router, 0};
  if (shape.groups == 0) shape.groups = (ends + per_group - 1) / per_group;
  if (ends > shape.groups * per_group) {
    throw ConfigError(path + ".groups", "expected enough for " + std::to_string(ends) + " ends, " +
                                            std::to_string((ends + per_group - 1) / per_group) + " of " +
                                            std::to_string(per_group) + ", got " + std::to_string(shape.groups));
  }
  if (shape.groups > 1) shape.between = shape.routers * config.global_links / (shape.groups - 1);
  if (shape.groups > 1 && shape.between == 0) {
    const int needed = (shape.groups - 2 + shape.routers) / shape.routers;
    throw ConfigError(path + ".global_links", "expected at least " + std::to_string(needed) + ", so that a group of " +
                                                  std::to_string(shape.routers) + " routers reaches the " +
                                                  std::to_string(shape.groups - 1) + " others, got " +
                                                  std::to_string(config.global_links));
  }
  return shape;
}

}  // namespace

Topology build_dragonfly(int ends, const FabricConfig& config, const std::string& path) {
  const Shape3 shape = shape_of(ends, config, path);
  Topology topology;
  topology.add_link(config.link);
  for (int g = 0; g < shape.groups; ++g) {
    for (int r = 0; r < shape.routers; ++r) {
      topology.add_switch("router" + std::to_string(g) + "_" + std::to_string(r));
    }
  }
  for (int e = 0; e < ends; ++e) topology.attach_end(static_cast<std::uint32_t>(e / shape.hosts));
  const auto router = [&](int group, int r) { return static_cast<std::uint32_t>(group * shape.routers + r); };
  for (int g = 0; g < shape.groups; ++g) {
    for (int a = 0; a < shape.routers; ++a) {
      for (int b = a + 1; b < shape.routers; ++b) topology.connect(router(g, a), router(g, b));
    }
  }
  // Global port q of a group, its routers' ports in order, leads q + 1 groups on, and so round again.
  const int others = shape.groups - 1;
  for (int round = 0; round < shape.between; ++round) {
    for (int g = 0; g < shape.groups; ++g) {
      for (int q = 0; q < others; ++q) {
        const int peer = (g + q + 1) % shape.groups;
        if (peer < g) continue;
        const int peer_port = round * others + others - 1 - q;
        const auto [mine, theirs] = topology.connect(router(g, (round * others + q) / config.global_links),
                                                     router(peer, peer_port / config.global_links));
        topology.switches[router(g, (round * others + q) / config.global_links)].ports[mine].lanes.shift_in = 1;
        topology.switches[router(peer, peer_port / config.global_links)].ports[theirs].lanes.shift_in = 1;
      }
    }
  }
  const bool local = shape.routers > 1;
  const bool valiant = config.routing == Routing::kValiant;
  if (shape.groups > 1) topology.lanes_needed = (local ? 2 : 1) + (valiant && shape.groups > 2 ? 1 : 0);
  topology.lanes_change = shape.groups > 1;
  topology.dragonfly = std::make_shared<Dragonfly>(Dragonfly{static_cast<std::uint32_t>(shape.groups),
                                                             static_cast<std::uint32_t>(shape.routers),
                                                             static_cast<std::uint32_t>(shape.hosts)});
  return topology;
}

std::vector<Routes> Topology::dragonfly_routes(Policy policy) const {
  const Dragonfly& shape = *dragonfly;
  // The links of each group to each other group: by which router and port.
  struct Global {
    std::uint32_t router;
    std::uint16_t port;
  };
  const std::size_t groups = shape.groups;
  std::vector<std::vector<Global>> globals(groups * groups);
  for (std::uint32_t s = 0; s < switches.size(); ++s) {
    for (std::size_t p = 0; p < switches[s].ports.size(); ++p) {
      const Neighbour& n = switches[s].ports[p];
      if (n.is_end || n.index / shape.routers == s / shape.routers) continue;
      globals[s / shape.routers * groups + n.index / shape.routers].push_back({s, static_cast<std::uint16_t>(p)});
    }
  }
  std::vector<Routes> all;
  all.reserve(switches.size());
  std::vector<std::uint16_t> local(switches.size());  // by router: the port to it
  std::vector<std::uint16_t> choices;
  for (std::uint32_t s = 0; s < switches.size(); ++s) {
    const std::uint32_t group = s / shape.routers;
    RoutingTable table(groups + shape.routers);
    for (std::size_t p = 0; p < switches[s].ports.size(); ++p) {
      const Neighbour& n = switches[s].ports[p];
      if (n.is_end || n.index / shape.routers != group) continue;
      local[n.index] = static_cast<std::uint16_t>(p);
      table.set(shape.groups + n.index % shape.routers, local[n.index]);
    }
    for (std::uint32_t g = 0; g < groups; ++g) {
      if (g == group) continue;
      choices.clear();
      for (const Global& global : globals[group * groups + g]) {
        if (global.router == s) choices.push_back(global.port);
      }
      if (choices.empty()) {
        // A router with more links to the group is a choice as often.
        for (const Global& global : globals[group * groups + g]) choices.push_back(local[global.router]);
      }
      table.set(g, choices);
    }
    all.emplace_back(shape, std::move(table), s, policy);
  }
  return all;
}

}  // namespace weft::fabric
