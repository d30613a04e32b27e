// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "sw/collectives/in_network/in_network.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

/// By which `rank` reaches the others of a group.
const firmware::Interface& interface_of(const Rank& rank, const std::vector<Rank*>& ranks) {
  return rank.towards(*(ranks[0] == &rank ? ranks.back() : ranks[0]));
}

fabric::Fabric& common_network(const std::vector<Rank*>& ranks, const std::string& name) {
  fabric::Fabric* const network = interface_of(*ranks[0], ranks).network;
  for (const Rank* rank : ranks) {
    if (interface_of(*rank, ranks).network == network) continue;
    throw ConfigError("collectives.algorithm", name + ": expected all members on one network for in-network");
  }
  return *network;
}

/// Of a queue of receives, places that are known to be free when a collective begins.
int known_places(int depth) {
  return depth - (nic::NicConfig::places_together(depth) - 1);
}

/// Multicast finds a receive for each other member, or is lost.
void check_depth(const std::vector<Rank*>& ranks, const std::string& name) {
  if (InNetworkGroup::can_receive(ranks)) return;
  const firmware::Interface& interface = interface_of(*ranks[0], ranks);
  const int depth = interface.nic->depths().receives;
  const int others = static_cast<int>(ranks.size()) - 1;
  const std::string told = depth < others
                               ? ""
                               : ", and of " + std::to_string(depth) + " places it can count on " +
                                     std::to_string(known_places(depth)) + ", since free ones are reported " +
                                     std::to_string(nic::NicConfig::places_together(depth)) + " at a time";
  throw ConfigError(&interface == &ranks[0]->scale_up ? "scale_up.port.receive_queue_depth" : "nic.receive_queue_depth",
                    "expected 0, or at least " + std::to_string(nic::NicConfig::depth_for(others)) +
                        " for collectives.algorithm in-network: in " + name +
                        " each member holds a receive for each of the others, since multicast that finds none "
                        "is lost" +
                        told);
}

}  // namespace

bool InNetworkGroup::can_reduce(const std::vector<Rank*>& ranks) {
  return ranks.size() == 1 || interface_of(*ranks[0], ranks).network->config().switch_config.reduction.trees > 0;
}

bool InNetworkGroup::can_receive(const std::vector<Rank*>& ranks) {
  const int depth = interface_of(*ranks[0], ranks).nic->depths().receives;
  return depth == 0 || known_places(depth) >= static_cast<int>(ranks.size()) - 1;
}

std::unique_ptr<InNetworkGroup> InNetworkGroup::join(const std::vector<Rank*>& ranks,
                                                     const InNetworkMember::Config& config, const std::string& name) {
  const int size = static_cast<int>(ranks.size());
  std::unique_ptr<InNetworkGroup> group(new InNetworkGroup);
  if (size > 1) {
    group->network_ = &common_network(ranks, name);
    if (!can_reduce(ranks)) {
      throw ConfigError("collectives.algorithm",
                        "expected switches that reduce for in-network: reduction.trees of the network's switch is 0");
    }
    check_depth(ranks, name);
    std::vector<std::uint32_t> ends;
    ends.reserve(ranks.size());
    for (const Rank* rank : ranks) ends.push_back(interface_of(*rank, ranks).nic->end());
    const fabric::Fabric::GroupOptions kinds[] = {
        {.reduces = true, .window = config.low_latency_window, .streaming = false},
        {.reduces = true, .window = config.window, .streaming = true},
        {}};
    for (const fabric::Fabric::GroupOptions& kind : kinds) {
      const std::optional<std::uint32_t> tree = group->network_->create_group(ends, kind);
      if (!tree.has_value()) {
        group->leave();
        return nullptr;
      }
      group->trees_.push_back(*tree);
    }
    for (int i = 0; i < size; ++i) {
      Rank& rank = *ranks[static_cast<std::size_t>(i)];
      group->members_.push_back(std::make_unique<InNetworkMember>(rank, i, size, config, name));
      group->members_.back()->connect(interface_of(rank, ranks), ends, group->trees_[0], group->trees_[1],
                                      group->trees_[2], name);
    }
    return group;
  }
  group->members_.push_back(std::make_unique<InNetworkMember>(*ranks[0], 0, 1, config, name));
  return group;
}

void InNetworkGroup::allocate_scratch(const std::string& name) {
  if (size() == 1) return;
  for (const auto& member : members_) member->allocate_scratch(name);
}

void InNetworkGroup::leave() {
  for (const std::uint32_t tree : trees_) network_->destroy_group(tree);
  trees_.clear();
}

Task InNetworkGroup::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t /*granule*/) {
  return members_[static_cast<std::size_t>(member)]->allgather(buffer, std::move(blocks));
}

Task InNetworkGroup::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                    ElementType type) {
  return members_[static_cast<std::size_t>(member)]->reduce_scatter(input, output, std::move(blocks), type);
}

Task InNetworkGroup::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  return members_[static_cast<std::size_t>(member)]->all_reduce(buffer, bytes, type);
}

Task InNetworkGroup::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  return members_[static_cast<std::size_t>(member)]->broadcast(root, buffer, bytes);
}

Task InNetworkGroup::barrier(int member, std::uint64_t /*token*/) {
  return members_[static_cast<std::size_t>(member)]->barrier();
}

}  // namespace weft::collectives
