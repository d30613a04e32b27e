// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "hw/fabric/topology/topology.h"

namespace weft::fabric {

class LinkLoads;

/// A tree of switches that joins the ends of a group, along the routes that unicast packets take from its root: for
/// multicast, flooded from any end over all of its ports but the one of arrival, and for reduction, up from the ends to
/// the root.
struct SpanningTree {
  /// One switch of the tree.
  struct Branch {
    std::uint16_t parent = Packet::kNowhere;             ///< port to the root; none at the root
    std::vector<std::uint16_t> children;                 ///< ports away from it, in ascending order
    std::map<std::uint32_t, std::uint16_t> port_of_end;  ///< which child leads to each end below
  };

  std::uint32_t root = 0;
  std::map<std::uint32_t, Branch> branches;  ///< by switch

  /// Links between switches and to ends, each counted once.
  [[nodiscard]] std::size_t links() const;

  /// The port by which a packet for `end` leaves switch `sw`.
  using Route = std::function<std::uint16_t(std::uint32_t sw, std::uint32_t end)>;

  /// Switches and ports that no tree may use.
  using Avoided = std::set<std::pair<std::uint32_t, std::uint16_t>>;

  /// Where a root may be: switches from which the ends are reached over the fewest links at the most. Those come first
  /// whose links to the ends carry the least of other trees, and of equal ones number `salt`, so that groups spread
  /// over the top of a fat tree.
  static std::vector<std::uint32_t> roots(const Topology& topology, const Route& route,
                                          const std::vector<std::uint32_t>& ends, const LinkLoads& loads,
                                          const Avoided& avoided, std::uint32_t salt);
  /// Of links that join the same two switches the tree takes one that carries the least of other trees, and likewise of
  /// the ways by which packets for different ends of a switch come there. `ends` are different and at least one.
  static SpanningTree build(const Topology& topology, const Route& route, const std::vector<std::uint32_t>& ends,
                            const LinkLoads& loads, const Avoided& avoided, std::uint32_t root);
};

/// What links between switches carry of trees, each with a weight.
class LinkLoads {
 public:
  [[nodiscard]] bool empty() const { return loads_.empty(); }
  [[nodiscard]] int of(std::uint32_t sw, std::uint16_t port) const {
    const auto found = loads_.find({sw, port});
    return found == loads_.end() ? 0 : found->second;
  }
  void add(const Topology& topology, const SpanningTree& tree, int weight);

 private:
  std::map<std::pair<std::uint32_t, std::uint16_t>, int> loads_;  // by the ports of both ends
};

}  // namespace weft::fabric
