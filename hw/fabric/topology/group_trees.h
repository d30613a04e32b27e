// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/packet.h"
#include "hw/core/quantity.h"

namespace weft::fabric {

/// Which tree a group has from when on, where routes change in a run. A packet keeps the tree that its group had when
/// it came into the network, so that no end gets it twice.
class GroupTrees {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMostEpochs = 254;  // what Packet::tree can tell

  explicit GroupTrees(std::vector<Time> changes) : changes_(std::move(changes)) {}

  /// Routes have changed so many times by `now`.
  [[nodiscard]] std::size_t epoch(Time now) const {
    std::size_t count = 0;
    while (count < changes_.size() && changes_[count] <= now) ++count;
    return count;
  }
  [[nodiscard]] std::size_t epochs() const { return changes_.size() + 1; }
  [[nodiscard]] Time begin(std::size_t epoch) const { return epoch == 0 ? Time() : changes_[epoch - 1]; }

  /// By epoch: under which number switches know their parts of the group's tree; kNone without one.
  void set(std::uint32_t group, std::vector<std::uint32_t> trees) {
    if (groups_.size() <= group) groups_.resize(group + 1);
    groups_[group] = std::move(trees);
  }
  [[nodiscard]] const std::vector<std::uint32_t>& of(std::uint32_t group) const { return groups_[group]; }
  /// How many groups there have been at a time.
  [[nodiscard]] std::size_t size() const { return groups_.size(); }

  /// The tree of a packet to a group; chooses one for a packet that comes from an end.
  std::uint32_t tree_of(Packet& packet, Time now) const {
    const std::uint32_t group = packet.destination - Packet::kFirstGroup;
    if (group >= groups_.size() || groups_[group].empty()) return kNone;
    if (packet.tree == 0) packet.tree = static_cast<std::uint8_t>(epoch(now) + 1);
    return groups_[group][packet.tree - 1U];
  }
  /// Whether its group has another one by now.
  [[nodiscard]] bool left_behind(Packet& packet, Time now) const {
    return tree_of(packet, now) != groups_[packet.destination - Packet::kFirstGroup][epoch(now)];
  }

 private:
  std::vector<Time> changes_;
  std::vector<std::vector<std::uint32_t>> groups_;
};

}  // namespace weft::fabric
