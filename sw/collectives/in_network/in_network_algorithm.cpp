// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/in_network/in_network_algorithm.h"

#include <algorithm>

#include "sw/collectives/followed.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/nodes.h"
#include "sw/collectives/ring/ring_algorithm.h"

namespace weft::collectives {

TwoLevel::Options two_level_options(const GroupSite& site) {
  const auto pieces = [rank = site.ranks.front(), piece = static_cast<std::uint64_t>(site.config.piece.count()),
                       most = static_cast<std::uint64_t>(site.config.pieces)](std::uint64_t bytes) {
    follow(rank->followed, Followed::kPieces);
    return std::clamp<std::uint64_t>(bytes / piece, 1, most);
  };
  return {site.config.of<InNetworkMember::Config>(),
          true,
          TwoLevel::Across::kSwitches,
          site.channels,
          ring_options(site.config),
          pieces,
          0,
          {}};
}

std::unique_ptr<Group> join_switches(const std::vector<firmware::Rank*>& ranks, const TwoLevel::Options& options,
                                     const std::string& name) {
  const Nodes nodes(ranks);
  if (nodes.count() > 1 && nodes.per_node() > 1) return TwoLevel::join(ranks, options, name);
  auto group = InNetworkGroup::join(ranks, options.in_network, name);
  if (group != nullptr) group->allocate_scratch(name);
  return group;
}

namespace {

std::unique_ptr<Group> make_in_network(GroupSite& site) {
  const TwoLevel::Options options = two_level_options(site);
  if (auto group = join_switches(site.ranks, options, site.name)) return group;
  const std::string full = "the switches have no room for the reduction trees of " + site.name;
  if (options.in_network.when_full == WhenFull::kRefuse) {
    throw ConfigError("collectives.algorithm", full +
                                                   ": expected more reduction.trees or reduction.chunks, a smaller "
                                                   "collectives.in_network.window, or when_full ring");
  }
  follow(site.ranks.front()->followed, Followed::kFull);
  site.remark = full;
  return nullptr;
}

}  // namespace

/// The switches add and copy; with several members to a node, within the nodes and across them, by rings where one of
/// the two networks cannot.
Algorithm in_network_algorithm() {
  return {.name = std::string(InNetworkMember::Config::kAlgorithm),
          .doc = "by the switches",
          .config = InNetworkMember::Config(),
          .config_doc = "The in-network algorithm",
          .make = make_in_network};
}

}  // namespace weft::collectives
