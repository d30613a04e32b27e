// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/ring/ring_algorithm.h"

#include <fmt/ranges.h>

#include <utility>

#include "sw/collectives/nodes.h"

namespace weft::collectives {

RingMember::Options ring_options(const CommunicatorConfig& config) {
  return {static_cast<std::uint64_t>(config.chunk.count()), config.slots, config.most_slice(config.slots),
          config.queue_pairs};
}

std::vector<std::vector<int>> neighbours(const GroupSite& site) {
  const Nodes nodes(site.ranks);
  const std::vector<int>& order = site.config.order;
  if (order.empty()) return nodes.rows();
  std::vector<bool> named(order.size());
  for (const int position : order) {
    const auto at = static_cast<std::size_t>(position);
    if (at >= named.size() || named[at]) {
      throw ConfigError("collectives.order", fmt::format("expected each of the positions 0 to {} once, got {}",
                                                         order.size() - 1, fmt::join(order, ", ")));
    }
    named[at] = true;
  }
  std::vector<int> members;
  for (const std::vector<int>& row : nodes.rows()) members.insert(members.end(), row.begin(), row.end());
  if (members.size() % order.size() != 0) {
    throw ConfigError("collectives.order",
                      fmt::format("expected as many positions as divide the {} members of {}, got {}", members.size(),
                                  site.name, order.size()));
  }
  std::vector<std::vector<int>> rows;
  for (std::size_t first = 0; first < members.size(); first += order.size()) {
    auto& row = rows.emplace_back();
    for (const int position : order) row.push_back(members[first + static_cast<std::size_t>(position)]);
  }
  return rows;
}

std::optional<Flags> protocol_flags(const CommunicatorConfig& config) {
  switch (config.protocol) {
    case Protocol::kSimple:
      return Flags::kNone;
    case Protocol::kLl:
      return Flags::kWords;
    case Protocol::kLl128:
      return Flags::kLines;
    case Protocol::kAutomatic:
      break;
  }
  return std::nullopt;
}

std::unique_ptr<RingGroup> make_rings(const GroupSite& site, RingGroup::Choice choice) {
  return std::make_unique<RingGroup>(site.ranks, ring_orders(neighbours(site), site.channels),
                                     ring_options(site.config), site.name + " ring", std::move(choice));
}

Algorithm ring_algorithm() {
  return {.name = std::string(kRingAlgorithm), .doc = "one ring through all", .make = [](GroupSite& site) {
            const Flags flags =
                site.ranks.size() == 1 ? Flags::kNone : protocol_flags(site.config).value_or(Flags::kNone);
            return make_rings(site, [flags](NcclCollective /*what*/, std::uint64_t /*bytes*/) { return flags; });
          }};
}

}  // namespace weft::collectives
