// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/outage.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "hw/core/config/number_limits.h"
#include "hw/core/number_text.h"
#include "hw/fabric/planes.h"
#include "hw/fabric/topology/deadlock.h"

namespace weft::fabric {
namespace {

using FaultyLinks = std::vector<std::vector<Direction>>;

constexpr std::uint64_t kSearchable = 1 << 26;  // ends times switches

struct Place {
  bool is_end;
  std::uint32_t index;
};

std::optional<Place> find_place(const Topology& topology, const std::string& name) {
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    if (topology.switches[s].name == name) return Place{false, s};
  }
  constexpr std::size_t kMostDigits = 9;
  const std::string number = name.starts_with("end") ? name.substr(3) : "";
  if (number.empty() || number.size() > kMostDigits) return std::nullopt;
  if (number.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const auto end = static_cast<std::uint32_t>(std::stoul(number));
  if (end >= topology.ends.size()) return std::nullopt;
  return Place{true, end};
}

Direction opposite(const Topology& topology, const Direction& direction) {
  if (direction.from_end) {
    const auto [sw, port] = topology.ends[direction.index];
    return {false, sw, port};
  }
  const Topology::Neighbour& to = topology.switches[direction.index].ports[direction.port];
  return {to.is_end, to.index, to.port};
}

/// What leaves a place.
std::vector<Direction> leaving(const Topology& topology, const Place& place) {
  if (place.is_end) return {{true, place.index, 0}};
  const std::size_t ports = topology.switches[place.index].ports.size();
  std::vector<Direction> all;
  all.reserve(ports);
  for (std::size_t p = 0; p < ports; ++p) all.push_back({false, place.index, static_cast<std::uint16_t>(p)});
  return all;
}

std::vector<Direction> around(const Topology& topology, const Place& place) {
  std::vector<Direction> all;
  for (const Direction& direction : leaving(topology, place)) {
    all.push_back(direction);
    all.push_back(opposite(topology, direction));
  }
  return all;
}

std::vector<Direction> between(const Topology& topology, const Place& from, const Place& to, bool both_ways) {
  std::vector<Direction> all;
  for (const Direction& direction : leaving(topology, from)) {
    const Direction back = opposite(topology, direction);
    if (back.from_end != to.is_end || back.index != to.index) continue;
    all.push_back(direction);
    if (both_ways) all.push_back(back);
  }
  return all;
}

std::string example_names(const Topology& topology, const FabricConfig& config) {
  std::size_t pairs = 0;
  std::string pair;
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    for (const Topology::Neighbour& port : topology.switches[s].ports) {
      if (port.is_end || port.index < s) continue;
      ++pairs;
      if (pair.empty()) pair = topology.switches[s].name + "-" + topology.switches[port.index].name;
    }
  }
  const auto range = [](std::size_t count, const std::string& first, const std::string& last) {
    return count == 1 ? first : first + " to " + last;
  };
  std::string text = "*, one of " + std::to_string(topology.ends.size()) + " ends (" +
                     range(topology.ends.size(), "end0", "end" + std::to_string(topology.ends.size() - 1)) + "), of " +
                     std::to_string(topology.switches.size()) + " switches (" +
                     range(topology.switches.size(), topology.switches.front().name, topology.switches.back().name) +
                     ")";
  if (const std::size_t planes = config.planes.size(); planes > 0) {
    text += ", of " + std::to_string(planes) + " planes (" +
            range(planes, "plane0", "plane" + std::to_string(planes - 1)) + "), of links to them (such as end0-plane0)";
  }
  if (pairs > 0) text += " or of " + std::to_string(pairs) + " links between switches (such as " + pair + ")";
  return text;
}

/// Share of the largest packets, or of what a link sends again of them, that survive.
double survival(const Fault& fault, const FabricConfig& config, Bytes unit) {
  const std::int64_t largest = config.wire_bytes(static_cast<std::uint32_t>(config.segment.count()));
  const double bits = 8.0 * static_cast<double>(unit > Bytes() ? std::min(unit.count(), largest) : largest);
  return (1 - fault.loss) * std::exp(bits * std::log1p(-fault.bit_errors));
}

void check(const Fault& fault, const std::string& path) {
  check_numbers(fault, path);
  if (fault.end() <= fault.from) {
    throw ConfigError(path + ".until",
                      "expected a time after " + to_text(fault.from) + ", when it begins, got " + to_text(fault.until));
  }
}

/// The network without the links of the faults that `is_out` says.
Topology without(const Topology& topology, const FaultyLinks& links, const std::function<bool(std::size_t)>& is_out) {
  Topology rest = topology;
  for (std::size_t f = 0; f < links.size(); ++f) {
    if (!is_out(f)) continue;
    for (const Direction& direction : links[f]) {
      for (const Direction& each : {direction, opposite(topology, direction)}) {
        if (!each.from_end) rest.switches[each.index].ports[each.port].out_of_service = true;
      }
    }
  }
  return rest;
}

bool is_whole(const Topology& topology) {
  for (const Topology::Node& node : topology.switches) {
    for (const Topology::Neighbour& port : node.ports) {
      if (port.out_of_service) return false;
    }
  }
  return true;
}

}  // namespace

/// When the subnet manager takes what this fault names out of service, and back; the same if never. Routes that never
/// change lead round what is down all the time; who waits for what comes back gets there.
std::pair<Time, Time> out_of_service(const Fault& fault, Time reroute_after) {
  const bool always = fault.from == Time() && fault.end() == kNever;
  if (!fault.down || (reroute_after == Time() && !always)) return {kNever, kNever};
  if (fault.end() != kNever && fault.end() - fault.from <= reroute_after) return {kNever, kNever};
  const Time from = fault.from == Time() ? Time() : fault.from + reroute_after;
  return {from, fault.end() == kNever ? kNever : fault.end() + reroute_after};
}

std::vector<Direction> find_links(const Topology& topology, const std::string& name) {
  std::vector<Direction> all;
  if (name == "*") {
    for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
      const std::vector<Direction> here = leaving(topology, {false, s});
      all.insert(all.end(), here.begin(), here.end());
    }
    for (std::uint32_t e = 0; e < topology.ends.size(); ++e) all.push_back({true, e, 0});
    return all;
  }
  if (const auto place = find_place(topology, name)) return around(topology, *place);
  const std::size_t at = name.find_first_of("->");
  if (at == std::string::npos) return all;
  const auto a = find_place(topology, name.substr(0, at));
  const auto b = find_place(topology, name.substr(at + 1));
  if (a && b) all = between(topology, *a, *b, name[at] == '-');
  return all;
}

FaultyLinks find_faulty_links(const Topology& topology, const FabricConfig& config, const std::string& path) {
  FaultyLinks all;
  for (std::size_t f = 0; f < config.faults.size(); ++f) {
    const Fault& fault = config.faults[f];
    const std::string here = path + ".faults." + std::to_string(f);
    check(fault, here);
    all.push_back(find_links(topology, fault.link));
    if (all.back().empty()) {
      if (find_plane_links(topology, config, fault.link).has_value()) continue;
      throw ConfigError(here + ".link", "expected " + example_names(topology, config) + ", got \"" + fault.link +
                                            "\", which names no link" +
                                            (config.planes.empty() && fault.link.find("plane") != std::string::npos
                                                 ? "; planes are those of " + path + ".planes"
                                                 : ""));
    }
    constexpr double kLeast = 0.01;
    if (config.link.flow_control == FlowControl::kLossy) continue;
    for (const Direction& direction : all.back()) {
      const Direction port = direction.from_end ? opposite(topology, direction) : direction;
      const LinkConfig& link = topology.link_of(topology.switches[port.index].ports[port.port]);
      const double survives = survival(fault, config, link.replay_unit);
      if (!link.replay || survives >= kLeast) continue;
      const std::string what = link.replay_unit > Bytes() ? to_text(link.replay_unit) : "the largest packets";
      throw ConfigError(here, "expected at least a hundredth of " + what + " to arrive undamaged, since " + fault.link +
                                  " replays the others " +
                                  (fault.until == Time() ? "for ever" : "until " + to_text(fault.until)) + "; got " +
                                  to_text(survives, 3));
    }
  }
  return all;
}

std::vector<Rerouting> find_reroutings(const Topology& topology, const FabricConfig& config, const FaultyLinks& links,
                                       const std::string& path, std::uint64_t seed) {
  const auto times_of = [&](std::size_t f) { return out_of_service(config.faults[f], config.reroute_after); };
  std::set<Time> times;
  for (std::size_t f = 0; f < links.size(); ++f) {
    if (links[f].empty()) continue;  // of a plane
    const auto [from, until] = times_of(f);
    if (from != kNever) times.insert(from);
    if (until != kNever) times.insert(until);
  }
  if (times.empty()) return {};
  const bool computed = topology.grid != nullptr || topology.dragonfly != nullptr;
  if (computed && config.routing != Routing::kUpDown) {
    if (config.reroute_after == Time()) return {};
    throw ConfigError(path + ".reroute_after",
                      "expected 0, or up-down as " + path +
                          ".routing: the routes of this topology are computed from coordinates, which knows no path "
                          "round a link that is down; got " +
                          to_text(config.reroute_after));
  }
  const std::uint64_t size = std::uint64_t{topology.ends.size()} * topology.switches.size();
  std::vector<Rerouting> all;
  for (const Time at : times) {
    const Topology rest = without(topology, links, [&](std::size_t f) {
      const auto [from, until] = times_of(f);
      return from <= at && at < until;
    });
    std::vector<Routes> routes = rest.routes(config.routing, seed);
    const bool safe = config.routing == Routing::kUpDown || is_whole(rest);
    if (!safe && size <= kSearchable && !find_cycle(rest, routes, config.link.lanes).empty()) {
      routes = rest.routes(Routing::kUpDown, seed);
    }
    all.push_back({at, std::move(routes), {}});
    for (std::uint32_t s = 0; s < rest.switches.size(); ++s) {
      for (std::size_t p = 0; p < rest.switches[s].ports.size(); ++p) {
        if (rest.switches[s].ports[p].out_of_service) all.back().avoided.emplace(s, static_cast<std::uint16_t>(p));
      }
    }
  }
  return all;
}

std::vector<std::uint32_t> find_cut_off(const Topology& topology, const FabricConfig& config, const FaultyLinks& links,
                                        Time at) {
  const Topology rest = without(topology, links, [&](std::size_t f) {
    const Fault& fault = config.faults[f];
    return fault.down && fault.from <= at && at < fault.end();
  });
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> part(rest.switches.size(), kNone);
  std::size_t parts = 0;
  std::vector<std::uint32_t> stack;
  for (std::uint32_t first = 0; first < rest.switches.size(); ++first) {
    if (part[first] != kNone) continue;
    part[first] = parts;
    stack.push_back(first);
    while (!stack.empty()) {
      const std::uint32_t sw = stack.back();
      stack.pop_back();
      for (const Topology::Neighbour& n : rest.switches[sw].ports) {
        if (n.is_end || n.out_of_service || part[n.index] != kNone) continue;
        part[n.index] = parts;
        stack.push_back(n.index);
      }
    }
    ++parts;
  }
  const auto attached = [&rest](std::uint32_t end) {
    const auto [sw, port] = rest.ends[end];
    return !rest.switches[sw].ports[port].out_of_service;
  };
  std::vector<std::size_t> ends(parts);
  for (std::uint32_t e = 0; e < rest.ends.size(); ++e) {
    if (attached(e)) ++ends[part[rest.ends[e].first]];
  }
  const auto largest = static_cast<std::size_t>(std::max_element(ends.begin(), ends.end()) - ends.begin());
  std::vector<std::uint32_t> cut_off;
  for (std::uint32_t e = 0; e < rest.ends.size(); ++e) {
    if (!attached(e) || part[rest.ends[e].first] != largest) cut_off.push_back(e);
  }
  return cut_off;
}

}  // namespace weft::fabric
