// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/speeds.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::platforms {
namespace {

/// Two rates this near to each other are alike: a path may name either.
constexpr double kAlike = 1.05;

double uplinks(const Portion& portion, const Factors& factors) {
  const bool is_between = is_called(*portion.resource, "link") && !portion.at_end;
  return is_between ? factors.of_uplinks(*portion.resource) : 1;
}

/// It may have another rate than kernels and copies (MemoryRates).
bool is_memory_at_interface(const Portion& portion) {
  return portion.at_end && portion.resource == &resource_called("hbm");
}

/// What a thread of the firmware does on the way, such as a copy, is not slower with its clock.
bool is_of_hosts(const Resource& resource) {
  return &resource == &resource_called("firmware") || &resource == &resource_called("host");
}

}  // namespace

Speeds::Speeds(const nlohmann::ordered_json& why) {
  for (const auto& [network, its] : member_of(why, "stages").items()) {
    pairs_[network] = {its.value(std::string(resource_within(network, "link").name), 0.0),
                       its.value(std::string(interface_of(network).name), 0.0)};
  }
  for (const auto& [name, link] : member_of(why, "links").items()) {
    const double payload = link.value("payload", 0.0);
    const std::string own = own_path(link);
    if (own.empty() || payload == 0 || link["joins"] == "between switches") continue;
    own_links_.try_emplace(own, payload);
  }
}

std::optional<Speeds::Pair> Speeds::pair_of(const Portion& portion) const {
  const bool passes =
      is_interface(*portion.resource) || is_called(*portion.resource, "link") || is_called(*portion.resource, "buffer");
  if (!passes || !portion.at_end) return std::nullopt;
  const auto found = pairs_.find(std::string(portion.resource->network));
  if (found == pairs_.end() || found->second.link <= 0 || found->second.interface <= 0) return std::nullopt;
  Pair pair = found->second;
  if (const auto own = own_links_.find(portion.own); own != own_links_.end()) pair.link = own->second;
  return pair;
}

double Speeds::rate(const Pair& pair, const std::string& network, double had, const Factors& factors) {
  return std::min(pair.link * had * factors.of(resource_within(network, "link")),
                  pair.interface * factors.of(interface_of(network)));
}

double Speeds::expected(const Portion& portion, const Factors& factors) const {
  const double alone =
      is_memory_at_interface(portion) ? factors.of_memory_at_interfaces() : factors.of(*portion.resource);
  const std::optional<Pair> pair = pair_of(portion);
  // What a sick link carries is not shared: others beside it do not make it well.
  if (!pair) return portion.had < 1 ? alone : alone * uplinks(portion, factors);
  // The room behind an end's link is taken while a slower interface empties it.
  if (is_called(*portion.resource, "buffer") && pair->interface >= pair->link * portion.had) return alone;
  const std::string network(portion.resource->network);
  const double both = rate(*pair, network, portion.had, factors) / rate(*pair, network, portion.had, {});
  // An interface reads ahead of its link and does not wait for it.
  return is_interface(*portion.resource) ? std::min(both, std::max(1.0, alone)) : both;
}

double Speeds::at_most(const Portion& portion, const Factors& factors) const {
  const double its = expected(portion, factors);
  if (is_memory_at_interface(portion)) return its;
  double gain = std::max({1.0, its, factors.of(*portion.resource) * uplinks(portion, factors)});
  // Whoever comes from faster places at other times may meet nobody.
  if (portion.part == Portion::Part::kWait) gain = std::max(gain, factors.gained_elsewhere(portion.resource->network));
  const std::optional<Pair> pair = pair_of(portion);
  if (pair && !is_interface(*portion.resource) && pair->interface <= kAlike * pair->link * portion.had)
    gain = std::max(gain, factors.of(interface_of(portion.resource->network)));
  if (is_called(*portion.resource, "buffer")) {
    // A buffer holds whole packets: one of room for one and a half holds three with twice the room.
    constexpr double kWhole = 2;
    const double room = factors.of(*portion.resource);
    const bool is_kept = pair && kAlike * pair->interface < pair->link * portion.had;
    gain = std::max({gain, is_kept ? 1 : factors.most_gained(portion.resource->network), room > 1 ? kWhole * room : 1});
  }
  return its < 1 && is_sure(portion, factors) ? its : gain;
}

double Speeds::at_least(const Portion& portion, const Factors& factors) const {
  if (is_memory_at_interface(portion)) return std::min(1.0, expected(portion, factors));
  double least = std::min({1.0, expected(portion, factors), factors.of(*portion.resource) * uplinks(portion, factors)});
  if (portion.part == Portion::Part::kWait && pair_of(portion)) {
    const std::string network(portion.resource->network);
    least = std::min({least, factors.of(resource_within(network, "link")), factors.of(interface_of(network))});
  }
  return least;
}

double Speeds::hidden(const Resource& resource, const std::string& own, const Factors& factors) const {
  const Portion portion{&resource, Portion::Part::kBytes, true, 1, own};
  // Behind its link an interface hides as long as it is not the slower one. Links between switches have none.
  if (is_interface(resource)) return std::min(1.0, expected(portion, factors));
  return std::min(1.0, factors.of(resource));
}

bool Speeds::is_sure(const Portion& portion, const Factors& factors) const {
  if (portion.part == Portion::Part::kWait) return false;
  // A latency that is hidden while bytes pass stays so.
  if (portion.part == Portion::Part::kWhole)
    return !is_of_hosts(*portion.resource) && portion.resource->is != Resource::Is::kLatency;
  const std::optional<Pair> pair = pair_of(portion);
  if (!pair) return true;
  // The first bytes of an interface are before any of its link.
  if (is_interface(*portion.resource) && factors.of(*portion.resource) >= 1) return false;
  const double link = pair->link * portion.had;
  return (is_interface(*portion.resource) ? pair->interface : link) <= kAlike * std::min(link, pair->interface);
}

}  // namespace weft::platforms
