// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw/core/cause/causes.h"
#include "platforms/machine/machine.h"
#include "platforms/results/pictures/topology_picture.h"

/// What the counters of links and switches say after a run.
namespace weft::platforms {

/// Counters of all links at some time, from which what comes later is counted.
struct LinkBaseline;
[[nodiscard]] std::shared_ptr<const LinkBaseline> link_baseline(Machine& machine);
/// The counters of the one with those of the other, so many times, but for the most that was queued.
[[nodiscard]] std::shared_ptr<const LinkBaseline> with_links_added(const LinkBaseline& one, const LinkBaseline& other,
                                                                   int times);

/// Of each network, its counters together (`totals`); the links by what they join: their number, mean and highest
/// utilisation, and bytes on the wire; and the busiest links with all of their counters. Utilisation is the share of
/// `span` in which a link was sending. Here and below `span` begins with `since`, or with the run; the most that was
/// queued is that of the whole run.
nlohmann::ordered_json link_summary(Machine& machine, Time span, const LinkBaseline* since = nullptr);

/// The totals of each network alone, in the same place.
nlohmann::ordered_json link_totals(Machine& machine);

/// Every link of all networks with its counters, in CSV.
std::string link_table(Machine& machine, Time span, const LinkBaseline* since = nullptr);

/// A link that the critical path may name.
struct NamedLink {
  std::string name;     ///< as in link_table()
  std::string network;  ///< "fabric", "scale_up"
  std::string joins;    ///< "from ends", "to ends", "between switches"
  std::string path;     ///< where it stands in the platform: "fabric.edges.2.link"
  const fabric::Transmitter* transmitter = nullptr;
  int first_place = 0;  ///< the accelerator of the first end of its network
  double utilisation = 0;
  double had = 1;    ///< the share of its rate while it was sending: less with faults, and where it sends again
  double fills = 1;  ///< the share of its rate that the buffer behind it lets through at most (fabric::CreditLoop)
  std::int64_t packets = 0;
  std::int64_t lost = 0;            ///< of these: damaged and not sent again by the link, or dropped where they arrived
  std::vector<std::string> faults;  ///< that happened to it, or slowed it down, as the platform names them
};
/// Every link by its place in the critical path, which is kept.
[[nodiscard]] std::map<Causes::Place, NamedLink> links_by_place(Machine& machine, Time span,
                                                                const LinkBaseline* since = nullptr);

/// A line for each network in which packets were dropped, damaged, marked or paused: what people should know.
std::string link_remarks(Machine& machine);

/// The utilisation of the links of the network between NICs, of either direction the higher one. `since` must live as
/// long.
Heat network_heat(Machine& machine, Time span, const LinkBaseline* since = nullptr);

/// Of the same links, of both directions together, for how long the critical path is on them, by why.json. Heat is the
/// share of `most`, which the worst of them has.
struct PathHeat {
  Heat heat;
  Time most;
};
PathHeat path_heat(Machine& machine, const nlohmann::ordered_json& why);

}  // namespace weft::platforms
