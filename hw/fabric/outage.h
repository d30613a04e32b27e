// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/fabric/fabric_config.h"
#include "hw/fabric/topology/routing.h"
#include "hw/fabric/topology/topology.h"

namespace weft::fabric {

/// One direction of a link: what a port of a switch sends, or what an end does.
struct Direction {
  bool from_end = false;
  std::uint32_t index = 0;  ///< of the end or the switch
  std::uint16_t port = 0;   ///< of that switch; 0 for an end
};

/// When routes leave out what this fault names, and use it again; kNever if they do not.
std::pair<Time, Time> out_of_service(const Fault& fault, Time reroute_after);

/// The directions that a Fault's `link` names; none if nothing is called so.
std::vector<Direction> find_links(const Topology& topology, const std::string& name);

/// Which links the faults of a configuration are for, in their order; none for those of planes. Throws ConfigError
/// below `path` for names that match nothing, for times and shares that make no sense, and for damage that a link which
/// replays would never be done with.
std::vector<std::vector<Direction>> find_faulty_links(const Topology& topology, const FabricConfig& config,
                                                      const std::string& path);

/// The routes from a time on, as a subnet manager computes them around what is down.
///
/// It acts `reroute_after` after a link goes down or comes back, and knows from the start what is down from the start.
/// With a `reroute_after` of 0 it never acts, and routes avoid only what is down all the time.
/// A link that is down in one direction is taken out of service in both. The routing is the configured one; where that
/// could deadlock among the links that are left it is up-down. Packets whose end has no way left are dropped by the
/// first switch that knows.
///
/// Approximations: all switches change over at the same time; packets on their way then may for once take a turn that
/// neither routing has (a real network can deadlock by that, too).
struct Rerouting {
  Time at;
  std::vector<Routes> routes;                                 ///< by switch
  std::set<std::pair<std::uint32_t, std::uint16_t>> avoided;  ///< switches and ports
};

/// In order of time. `links` is what find_faulty_links returned. Throws ConfigError where routes that are to change are
/// computed from coordinates, which knows no way round anything.
std::vector<Rerouting> find_reroutings(const Topology& topology, const FabricConfig& config,
                                       const std::vector<std::vector<Direction>>& links, const std::string& path,
                                       std::uint64_t seed);

/// The ends that the largest part of the network cannot reach at a time, because of what is down then.
std::vector<std::uint32_t> find_cut_off(const Topology& topology, const FabricConfig& config,
                                        const std::vector<std::vector<Direction>>& links, Time at);

}  // namespace weft::fabric
