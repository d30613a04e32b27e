// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/spanning_tree.h"

#include <algorithm>
#include <set>

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

/// Candidates for the root: those whose furthest end is nearest, and of these the ones with the nearest on average.
std::vector<std::uint32_t> centres(const Topology& topology, const SpanningTree::Route& route,
                                   const std::vector<std::uint32_t>& ends) {
  // A sample is enough to find the top of a large network.
  constexpr std::size_t kSample = 32;
  std::vector<std::uint32_t> sample;
  const std::size_t step = std::max<std::size_t>(1, ends.size() / kSample);
  for (std::size_t i = 0; i < ends.size(); i += step) sample.push_back(ends[i]);
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

}  // namespace

std::size_t SpanningTree::links() const {
  std::size_t sum = 0;
  for (const auto& [sw, branch] : branches) sum += branch.children.size();
  return sum;
}

SpanningTree SpanningTree::build(const Topology& topology, const Route& route, const std::vector<std::uint32_t>& ends,
                                 std::uint32_t salt) {
  SpanningTree tree;
  const std::vector<std::uint32_t> roots = centres(topology, route, ends);
  tree.root = roots[salt % roots.size()];
  // The port back to the root of each switch that has been reached: routes that meet again later are joined there.
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint16_t>> above;  // switch and port that lead to it
  tree.branches[tree.root];
  for (const std::uint32_t end : ends) {
    const auto hops = path(topology, route, tree.root, end);
    for (std::size_t i = 0; i + 1 < hops.size(); ++i) {
      const std::uint32_t next = hops[i + 1].first;
      if (next != tree.root && above.count(next) == 0) above[next] = hops[i];
    }
    // From the end back to the root, along what is there.
    std::uint32_t sw = hops.back().first;
    std::uint16_t port = hops.back().second;
    for (;;) {
      Branch& branch = tree.branches[sw];
      branch.port_of_end[end] = port;
      const auto at = std::lower_bound(branch.children.begin(), branch.children.end(), port);
      if (at == branch.children.end() || *at != port) branch.children.insert(at, port);
      if (sw == tree.root) break;
      const auto [up, down_port] = above.at(sw);
      branch.parent = topology.switches[up].ports[down_port].port;
      sw = up;
      port = down_port;
    }
  }
  return tree;
}

}  // namespace weft::fabric
