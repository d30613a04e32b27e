// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/fields.h"
#include "hw/fabric/fabric_config.h"
#include "hw/fabric/link.h"
#include "hw/fabric/topology/routing.h"

namespace weft::fabric {

/// A graph of switches with ends attached: what is joined to what by which link, and what its routes need to know.
///
/// Networks with coordinates (dimensions, torus, mesh, hyperx) have a router for each end, or for `hosts_per_router` of
/// them; a `Switch(N)` puts a switch, a hub, between the N routers of a line. End e is on router e / hosts, whose
/// coordinate in dimension 0 varies fastest. A dragonfly (Kim et al. 2008) has fully joined groups whose links to other
/// groups are spread evenly, as many between each two; what does not divide evenly stays unconnected.
///
/// A fat tree of two levels has leaves and spines, one of three levels has pods of leaves and upper switches, which
/// spines join by planes (Al-Fares et al. 2008). With rails, end i of each node of `rails` ends is on a leaf for ends
/// i.
struct Topology {
  struct Neighbour {
    bool is_end;          ///< else a switch
    std::uint32_t index;  ///< of the end or the switch
    std::uint16_t port;   ///< of that switch; 0 for an end
    std::uint32_t link;   ///< in `links`
    PortLanes lanes;
    bool out_of_service = false;  ///< routes avoid it
  };
  struct Node {
    std::string name;
    std::vector<Neighbour> ports;
    int level = 0;                ///< of a tree, from the leaves up
    std::vector<GridStep> steps;  ///< with coordinates
  };

  std::vector<Node> switches;
  std::vector<std::pair<std::uint32_t, std::uint16_t>> ends;  ///< switch and port of each end
  std::vector<LinkConfig> links;                              ///< the first one is `fabric.link`; buffers are set
  bool lanes_change = false;
  int lanes_needed = 1;              ///< so that packets cannot deadlock
  std::uint8_t second_lane = 0;      ///< where the second half of a detour begins; 0 if lanes tell by themselves
  std::uint32_t dmodk_stride = 1;    ///< a destination is divided by it before it picks a link between levels 1 and 2
  std::shared_ptr<const Grid> grid;  ///< with coordinates, else null
  std::shared_ptr<const Dragonfly> dragonfly;  ///< else null

  /// Builds the topology that `config` asks for. Throws ConfigError when it does not close, or has too few lanes, with
  /// a path below `path`.
  static Topology build(const FabricConfig& config, int ends, const std::string& path);

  /// Routes of every switch, in the order of `switches`; they refer to this topology. `seed` is that of detours
  /// and hashes.
  [[nodiscard]] std::vector<Routes> routes(Routing routing, std::uint64_t seed = 0) const;

  [[nodiscard]] const LinkConfig& link_of(const Neighbour& neighbour) const { return links[neighbour.link]; }

  // --- For those who build one ---
  std::uint32_t add_switch(std::string name, int level = 0);
  void attach_end(std::uint32_t sw, std::uint32_t link = 0);
  /// Joins two switches by `count` links and tells the first port of each.
  std::pair<std::uint16_t, std::uint16_t> connect(std::uint32_t a, std::uint32_t b, std::uint32_t link = 0,
                                                  int count = 1);
  std::uint32_t add_link(const LinkConfig& link);

 private:
  [[nodiscard]] std::vector<Routes> shortest_routes(Routing routing) const;
  [[nodiscard]] std::vector<Routes> up_down_routes() const;
  [[nodiscard]] std::vector<Routes> dragonfly_routes(Policy policy) const;
};

/// Ends in each dimension of a network with coordinates, those of a router first, then as an end's number varies;
/// empty for others, and where Topology::build would refuse a block.
std::vector<int> grid_sizes(const FabricConfig& config);

/// Builders of each family, behind Topology::build.
Topology build_ring(int ends, const FabricConfig& config, const std::string& path);
Topology build_fat_tree(int ends, const FabricConfig& config, const std::string& path);
Topology build_grid(int ends, const FabricConfig& config, const std::string& path);
Topology build_dragonfly(int ends, const FabricConfig& config, const std::string& path);
Topology build_graph(int ends, const FabricConfig& config, const std::string& path);

}  // namespace weft::fabric
