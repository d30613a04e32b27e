// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "hw/fabric/topology.h"

namespace weft::fabric {

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

  /// Of all switches from which the ends are reached over the fewest links at the most, the root is number `salt`, so
  /// that groups spread over the top of a fat tree. `ends` are different and at least one.
  static SpanningTree build(const Topology& topology, const Route& route, const std::vector<std::uint32_t>& ends,
                            std::uint32_t salt);
};

}  // namespace weft::fabric
