// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "sw/collectives/algorithm.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/multicast/multicast.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

MulticastGroup::MulticastGroup(const std::vector<Rank*>& ranks, const MulticastConfig& config, const std::string& name)
    : size_(static_cast<int>(ranks.size())) {
  if (size_ == 1) return;
  fabric::Fabric& network = *ranks[0]->scale_out.network;
  const Bytes mtu = network.config().mtu;
  if (config.transport == MulticastTransport::kDatagram && config.chunk > mtu) {
    throw ConfigError("collectives.multicast.chunk", "expected at most the network's MTU of " + to_text(mtu) +
                                                         " for datagrams, or transport connection, got " +
                                                         to_text(config.chunk));
  }
  const bool offloaded = config.placement == MulticastPlacement::kDpa;
  if (offloaded && ranks[0]->offload.processor == nullptr) {
    throw ConfigError("collectives.multicast.placement", "expected host, or a dpa with cores, got dpa");
  }
  if (offloaded && config.transport == MulticastTransport::kDatagram && config.copy == MulticastCopy::kEngine) {
    throw ConfigError(
        "collectives.multicast.copy",
        "expected interface, since the cores of a NIC do not reach the accelerator's engines, got engine");
  }
  std::vector<std::uint32_t> ends;
  for (const Rank* rank : ranks) ends.push_back(rank->scale_out.nic->end());
  std::vector<std::uint32_t> groups;
  groups.reserve(static_cast<std::size_t>(MulticastMember::groups(config, size_)));
  for (int i = 0; i < MulticastMember::groups(config, size_); ++i) {
    const std::optional<std::uint32_t> group = network.create_group(ends, {});
    if (!group) {
      throw ConfigError("collectives.algorithm", name + ": expected a network that reaches all members by multicast");
    }
    groups.push_back(*group);
  }
  for (int i = 0; i < size_; ++i) {
    Rank& rank = *ranks[static_cast<std::size_t>(i)];
    const firmware::Interface& place = offloaded ? rank.offload : rank.scale_out;
    members_.push_back(std::make_unique<MulticastMember>(rank, place, i, size_, config, name));
  }
  MulticastMember::join(members_, groups);
}

Task MulticastGroup::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t /*granule*/) {
  if (size_ == 1) co_return;
  co_await members_[static_cast<std::size_t>(member)]->distribute(buffer, std::move(blocks));
}

Task MulticastGroup::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  if (size_ == 1) co_return;
  co_await members_[static_cast<std::size_t>(member)]->distribute(buffer, [root, bytes](int source) {
    return Extent{0, source == root ? bytes : 0};
  });
}

Task MulticastGroup::barrier(int member, std::uint64_t /*token*/) {
  if (size_ == 1) co_return;
  co_await members_[static_cast<std::size_t>(member)]->barrier();
}

/// Allgather and Broadcast by reliable multicast among the interfaces of the network that joins the nodes.
Algorithm multicast_algorithm() {
  return {.name = std::string(MulticastConfig::kAlgorithm),
          .doc = "reliable multicast",
          .operations = {dimensions::Operation::kAllgather},
          .barrier = true,
          .on_host = true,
          .config = MulticastConfig(),
          .config_doc = "The multicast algorithm",
          .in_place =
              [](const CommunicatorConfig& config) {
                const bool in_network = config.of<MulticastConfig>().sums == MulticastSums::kInNetwork;
                return in_network ? InNetworkMember::Config::kAlgorithm : kRingAlgorithm;
              },
          .lacking = "distributes, and collectives.multicast.sums says how sums are made",
          .make =
              [](GroupSite& site) {
                return std::make_unique<MulticastGroup>(site.ranks, site.own.as<MulticastConfig>(),
                                                        site.name + " multicast");
              }};
}

}  // namespace weft::collectives
