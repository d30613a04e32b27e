// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology/spanning_tree.h"

#include <algorithm>

namespace weft::fabric {
namespace {

/// Switches on the way from `sw` to `end`, with the port by which each is left; none if no way is left.
std::vector<std::pair<std::uint32_t, std::uint16_t>> path(const Topology& topology, const SpanningTree::Route& route,
                                                          std::uint32_t sw, std::uint32_t end) {
  std::vector<std::pair<std::uint32_t, std::uint16_t>> hops;
  for (;;) {
    const std::uint16_t port = route(sw, end);
    if (port == Packet::kNowhere) return {};
    hops.emplace_back(sw, port);
    const Topology::Neighbour& next = topology.switches[sw].ports[port];
    if (next.is_end) return hops;
    sw = next.index;
  }
}

/// Enough of them to find the top of a large network.
std::vector<std::uint32_t> sample_of(const std::vector<std::uint32_t>& ends) {
  constexpr std::size_t kSample = 32;
  std::vector<std::uint32_t> sample;
  const std::size_t step = std::max<std::size_t>(1, ends.size() / kSample);
  for (std::size_t i = 0; i < ends.size(); i += step) sample.push_back(ends[i]);
  return sample;
}

/// Candidates for the root: those whose furthest end is nearest, and of these the ones with the nearest on average.
std::vector<std::uint32_t> centres(const Topology& topology, const SpanningTree::Route& route,
                                   const std::vector<std::uint32_t>& ends) {
  const std::vector<std::uint32_t> sample = sample_of(ends);
  std::pair<std::size_t, std::size_t> best{SIZE_MAX, SIZE_MAX};
  std::vector<std::uint32_t> found;
  for (std::uint32_t sw = 0; sw < topology.switches.size(); ++sw) {
    std::pair<std::size_t, std::size_t> distance{0, 0};
    for (const std::uint32_t end : sample) {
      // 0, where no way is left, becomes the furthest.
      const std::size_t hops = path(topology, route, sw, end).size() - 1;
      distance.first = std::max(distance.first, hops);
      distance.second += hops;
      if (distance.first > best.first) break;
    }
    if (distance.first > best.first || distance > best) continue;
    if (distance < best) found.clear();
    best = distance;
    found.push_back(sw);
  }
  return found;
}

/// Of the links that lead where `port` does, the one with the least load; of equal ones the next from there on.
std::uint16_t least_loaded(const Topology& topology, const LinkLoads& loads, const SpanningTree::Avoided& avoided,
                           std::uint32_t sw, std::uint16_t port) {
  if (loads.empty()) return port;
  const auto& ports = topology.switches[sw].ports;
  const Topology::Neighbour& next = ports[port];
  std::uint16_t best = port;
  int load = loads.of(sw, port);
  for (std::size_t i = 1; i < ports.size() && load > 0; ++i) {
    const auto other = static_cast<std::uint16_t>((port + i) % ports.size());
    const Topology::Neighbour& to = ports[other];
    if (to.is_end || to.index != next.index || to.link != next.link || to.out_of_service) continue;
    if (loads.of(sw, other) >= load || avoided.count({sw, other}) != 0) continue;
    best = other;
    load = loads.of(sw, other);
  }
  return best;
}

/// Of some links: the largest load, and all together.
using Load = std::pair<int, std::int64_t>;

/// That of the way from `sw` to `end`.
Load load_towards(const Topology& topology, const SpanningTree::Route& route, const LinkLoads& loads,
                  const SpanningTree::Avoided& avoided, std::uint32_t sw, std::uint32_t end) {
  Load found;
  if (loads.empty()) return found;
  for (const auto& [from, port] : path(topology, route, sw, end)) {
    if (topology.switches[from].ports[port].is_end) break;
    const int load = loads.of(from, least_loaded(topology, loads, avoided, from, port));
    found.first = std::max(found.first, load);
    found.second += load;
  }
  return found;
}

}  // namespace

std::size_t SpanningTree::links() const {
  std::size_t sum = 0;
  for (const auto& [sw, branch] : branches) sum += branch.children.size();
  return sum;
}

std::vector<std::uint32_t> SpanningTree::roots(const Topology& topology, const Route& route,
                                               const std::vector<std::uint32_t>& ends, const LinkLoads& loads,
                                               const Avoided& avoided, std::uint32_t salt) {
  constexpr std::size_t kMost = 16;
  const std::vector<std::uint32_t> all = centres(topology, route, ends);
  const std::vector<std::uint32_t> some = sample_of(ends);
  std::vector<std::pair<Load, std::uint32_t>> found;
  for (std::size_t i = 0; i < std::min(kMost, all.size()); ++i) {
    const std::uint32_t root = all[(salt + i) % all.size()];
    Load all_ways;
    for (const std::uint32_t end : some) {
      const Load way = load_towards(topology, route, loads, avoided, root, end);
      all_ways = {std::max(all_ways.first, way.first), all_ways.second + way.second};
    }
    found.emplace_back(all_ways, root);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::uint32_t> roots;
  roots.reserve(found.size());
  for (const auto& [load, root] : found) roots.push_back(root);
  return roots;
}

SpanningTree SpanningTree::build(const Topology& topology, const Route& route, const std::vector<std::uint32_t>& ends,
                                 const LinkLoads& loads, const Avoided& avoided, std::uint32_t root) {
  SpanningTree tree;
  tree.root = root;
  std::map<std::uint32_t, std::vector<std::uint32_t>> ends_of;  // by switch
  for (const std::uint32_t end : ends) ends_of[topology.ends[end].first].push_back(end);
  // The port back to the root of each switch that has been reached: routes that meet again later are joined there.
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint16_t>> above;  // switch and port that lead to it
  const auto reach = [&](std::uint32_t target) {
    if (target == root || above.count(target) != 0) return;
    const std::vector<std::uint32_t>& here = ends_of[target];
    std::uint32_t chosen = here.front();
    Load least = load_towards(topology, route, loads, avoided, root, chosen);
    for (std::size_t i = 1; i < here.size() && least > Load(); ++i) {
      const Load load = load_towards(topology, route, loads, avoided, root, here[i]);
      if (load < least) chosen = here[i];
      least = std::min(least, load);
    }
    const auto hops = path(topology, route, root, chosen);
    for (std::size_t i = 0; i + 1 < hops.size(); ++i) {
      const auto [sw, port] = hops[i];
      const std::uint32_t next = hops[i + 1].first;
      if (next == root || above.count(next) != 0) continue;
      above[next] = {sw, least_loaded(topology, loads, avoided, sw, port)};
    }
  };
  tree.branches[root];
  for (const std::uint32_t end : ends) {
    auto [sw, port] = topology.ends[end];
    reach(sw);
    // From the end back to the root, along what is there.
    for (;;) {
      Branch& branch = tree.branches[sw];
      branch.port_of_end[end] = port;
      const auto at = std::lower_bound(branch.children.begin(), branch.children.end(), port);
      if (at == branch.children.end() || *at != port) branch.children.insert(at, port);
      if (sw == root) break;
      const auto [up, down_port] = above.at(sw);
      branch.parent = topology.switches[up].ports[down_port].port;
      sw = up;
      port = down_port;
    }
  }
  return tree;
}

void LinkLoads::add(const Topology& topology, const SpanningTree& tree, int weight) {
  const auto change = [&](std::uint32_t sw, std::uint16_t port) {
    const auto load = loads_.try_emplace({sw, port}, 0).first;
    load->second += weight;
    if (load->second == 0) loads_.erase(load);
  };
  for (const auto& [sw, branch] : tree.branches) {
    if (branch.parent == Packet::kNowhere) continue;
    const Topology::Neighbour& up = topology.switches[sw].ports[branch.parent];
    change(sw, branch.parent);
    change(up.index, up.port);
  }
}

}  // namespace weft::fabric
