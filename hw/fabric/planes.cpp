// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/planes.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace weft::fabric {
namespace {

constexpr std::string_view kPlane = "plane";
constexpr std::string_view kEnd = "end";

/// The number of what is called `prefix` and a number below `count`.
std::optional<std::uint32_t> numbered(const std::string& name, std::string_view prefix, std::size_t count) {
  constexpr std::size_t kMostDigits = 9;
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string number = name.substr(prefix.size());
  if (number.empty() || number.size() > kMostDigits) return std::nullopt;
  if (number.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const auto value = static_cast<std::uint32_t>(std::stoul(number));
  return value < count ? std::optional(value) : std::nullopt;
}

Direction from_end(std::uint32_t end) {
  return {true, end, 0};
}

Direction to_end(const Topology& topology, std::uint32_t end) {
  const auto [sw, port] = topology.ends[end];
  return {false, sw, port};
}

void check(const Fault& fault, const PlaneLinks& links, const FabricConfig& config, const std::string& path) {
  const auto refuse = [&](const char* field, const std::string& text) {
    throw ConfigError(path + "." + field, text +
                                              ": of a plane, links can only be down; faults of another kind name the "
                                              "links of all planes, such as end0");
  };
  if (fault.loss > 0) refuse("loss", "expected 0");
  if (fault.bit_errors > 0) refuse("bit_errors", "expected 0");
  if (fault.rate < 1) refuse("rate", "expected 1");
  if (fault.jitter > Time()) refuse("jitter", "expected 0s");
  const int most = config.planes[links.plane];
  if (fault.links > most) {
    throw ConfigError(path + ".links", "expected at most " + std::to_string(most) + ", the links of an end to plane" +
                                           std::to_string(links.plane) + ", got " + std::to_string(fault.links));
  }
}

}  // namespace

std::optional<PlaneLinks> find_plane_links(const Topology& topology, const FabricConfig& config,
                                           const std::string& name) {
  const auto plane_called = [&](const std::string& text) { return numbered(text, kPlane, config.planes.size()); };
  const auto end_called = [&](const std::string& text) { return numbered(text, kEnd, topology.ends.size()); };
  PlaneLinks found;
  if (const auto plane = plane_called(name)) {
    found.plane = *plane;
    for (std::uint32_t e = 0; e < topology.ends.size(); ++e) {
      found.ends.push_back(e);
      found.directions.push_back(from_end(e));
      found.directions.push_back(to_end(topology, e));
    }
    return found;
  }
  const std::size_t at = name.find_first_of("->");
  if (at == std::string::npos) return std::nullopt;
  const std::string first = name.substr(0, at);
  const std::string second = name.substr(at + 1);
  const auto end = end_called(first).has_value() ? end_called(first) : end_called(second);
  const auto plane = plane_called(first).has_value() ? plane_called(first) : plane_called(second);
  if (!end.has_value() || !plane.has_value()) return std::nullopt;
  found.plane = *plane;
  found.ends = {*end};
  const bool both = name[at] == '-';
  if (both || end_called(first).has_value()) found.directions.push_back(from_end(*end));
  if (both || end_called(second).has_value()) found.directions.push_back(to_end(topology, *end));
  return found;
}

std::vector<std::optional<PlaneOutage>> find_plane_outages(const Topology& topology, const FabricConfig& config,
                                                           const std::string& path) {
  std::vector<std::optional<PlaneOutage>> all;
  for (std::size_t f = 0; f < config.faults.size(); ++f) {
    const Fault& fault = config.faults[f];
    const std::string here = path + ".faults." + std::to_string(f);
    std::optional<PlaneLinks> links;
    if (find_links(topology, fault.link).empty()) links = find_plane_links(topology, config, fault.link);
    all.emplace_back();
    if (!links.has_value()) {
      if (fault.links == 0) continue;
      throw ConfigError(here + ".links", "expected 0, since " + fault.link +
                                             " is no link to a plane (such as end0-plane0), got " +
                                             std::to_string(fault.links));
    }
    check(fault, *links, config, here);
    if (fault.is_nothing()) continue;
    const auto [from, until] = out_of_service(fault, config.reroute_after);
    const int count = fault.links == 0 ? config.planes[links->plane] : fault.links;
    all.back() = PlaneOutage{fault.link, std::move(*links), count, from, until, std::nullopt};
    if (from <= fault.from) continue;
    Fault gap;
    gap.link = fault.link;
    gap.from = fault.from;
    gap.until = std::min(fault.end(), from) == kNever ? Time() : std::min(fault.end(), from);
    gap.down = true;
    all.back()->gap = gap;
  }
  if (config.planes.empty()) return all;
  if (const auto parted = Planes(config.planes, topology.ends.size(), all).parted()) {
    throw ConfigError(path + ".faults", "expected a plane that any two ends can both reach; end" +
                                            std::to_string(parted->a) + " and end" + std::to_string(parted->b) +
                                            " have none from " + to_text(parted->at) +
                                            " on, with the links that are down then");
  }
  return all;
}

Planes::Planes(const std::vector<int>& links, std::size_t ends, const std::vector<std::optional<PlaneOutage>>& outages)
    : planes_(links.size()), whole_(std::accumulate(links.begin(), links.end(), 0)) {
  std::set<Time> times = {Time()};
  for (const auto& outage : outages) {
    if (!outage.has_value()) continue;
    if (outage->from != kNever) times.insert(outage->from);
    if (outage->until != kNever) times.insert(outage->until);
  }
  for (const Time from : times) {
    Epoch& now = epochs_.emplace_back();
    now.from = from;
    now.causes.resize(ends);
    now.left.reserve(ends * planes_);
    for (std::size_t e = 0; e < ends; ++e) now.left.insert(now.left.end(), links.begin(), links.end());
    std::size_t number = 0;
    for (const auto& outage : outages) {
      if (!outage.has_value()) continue;
      const std::uint64_t bit = std::uint64_t{1} << std::min(number++, kCauses - 1);
      if (from < outage->from || from >= outage->until) continue;
      now.whole = false;
      for (const std::uint32_t e : outage->links.ends) {
        int& left = now.left[e * planes_ + outage->links.plane];
        left = std::max(0, left - outage->count);
        now.causes[e] |= bit;
      }
    }
  }
}

const Planes::Epoch& Planes::epoch(Time at) const {
  std::size_t latest = epochs_.size() - 1;
  while (latest > 0 && epochs_[latest].from > at) --latest;
  return epochs_[latest];
}

int Planes::left_in(const Epoch& epoch, std::uint32_t source, std::uint32_t destination) const {
  if (epoch.whole) return whole_;
  if (destination >= Packet::kFirstGroup) {
    const auto found = epoch.groups.find(destination - Packet::kFirstGroup);
    return found == epoch.groups.end() ? whole_ : found->second;
  }
  const int* a = of_end(epoch, source);
  const int* b = of_end(epoch, destination);
  int sum = 0;
  for (std::size_t p = 0; p < planes_; ++p) sum += std::min(a[p], b[p]);
  return sum;
}

int Planes::left(std::uint32_t source, std::uint32_t destination, Time at) const {
  return left_in(epoch(at), source, destination);
}

Time Planes::stretched(const Packet& packet, Time at, Time length) const {
  const int left = this->left(packet.source, packet.destination, at);
  return left == whole_ ? length : Time((length.count() * whole_ + left - 1) / left);
}

std::uint64_t Planes::causes(const Packet& packet, Time at) const {
  const Epoch& now = epoch(at);
  if (packet.destination < Packet::kFirstGroup) return now.causes[packet.source] | now.causes[packet.destination];
  const auto found = now.group_causes.find(packet.destination - Packet::kFirstGroup);
  return found == now.group_causes.end() ? 0 : found->second;
}

bool Planes::set_group(std::uint32_t group, const std::vector<std::uint32_t>& ends, Time now) {
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    Epoch& each = epochs_[i];
    int sum = 0;
    for (std::size_t p = 0; p < planes_; ++p) {
      int least = whole_;
      for (const std::uint32_t end : ends) least = std::min(least, of_end(each, end)[p]);
      sum += least;
    }
    const bool is_over = i + 1 < epochs_.size() && epochs_[i + 1].from <= now;
    if (sum == 0 && !is_over) return false;
    each.groups[group] = std::max(sum, 1);  // of one that is over, nobody asks
    std::uint64_t causes = 0;
    for (const std::uint32_t end : ends) causes |= each.causes[end];
    each.group_causes[group] = causes;
  }
  return true;
}

std::optional<Planes::Parted> Planes::parted() const {
  for (const Epoch& each : epochs_) {
    if (each.whole) continue;
    const auto ends = static_cast<std::uint32_t>(each.causes.size());
    for (std::uint32_t a = 0; a < ends; ++a) {
      // Two that have lost nothing have all in common.
      if (each.causes[a] == 0) continue;
      for (std::uint32_t b = 0; b < ends; ++b) {
        if (a != b && left_in(each, a, b) == 0) return Parted{std::min(a, b), std::max(a, b), each.from};
      }
    }
  }
  return std::nullopt;
}

}  // namespace weft::fabric
