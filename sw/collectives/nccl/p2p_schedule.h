// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/quantity.h"
#include "sw/collectives/nodes.h"

namespace weft::collectives {

/// In which order a member sends to the others, and on which of its channels, as NCCL 2.28 has it: ncclP2pSchedule()
/// of src/init.cc, ncclTopoComputeP2pChannels() of src/graph/paths.cc, ncclP2pChannelBaseForRound() of
/// src/include/channel.h, addP2pToPlan() and addWorkBatchToPlan() of src/enqueue.cc.
///
/// In each round a member sends to one and receives from one; the first is with itself. Members are in groups: of eight
/// neighbours, or as many fewer as divide all nodes; or the node, where there is one. Members of one group send to the
/// same group in a run of rounds, each beginning with the one at its own position, so that all are sent to at a time.
/// Runs go to groups at distances 0, 1, 3, 6, ..., which all of the next power of two have once.
///
/// A round has a first channel, and its message takes some from there on. A channel has rounds in batches: those of
/// one batch are under way together, up to `kTogether` that are of the same eighth in a row of rounds, and the next
/// batch begins when all of the one before have ended. Over nodes the rounds to a group share channels. Within a node
/// each round begins on a channel of its own.
///
/// What earlier releases do otherwise is left out: their groups are nodes, and their channels in another order.
class P2pSchedule {
 public:
  /// NCCL_MAX_DEV_WORK_P2P_PER_BATCH.
  static constexpr int kTogether = 8;

  /// `within`: what a member can send in its node. `cores`: of the kernel, one for each channel, a power of two or less
  /// than the next.
  P2pSchedule(const Nodes& nodes, Rate within, int cores);

  /// As many as members.
  [[nodiscard]] int rounds() const { return static_cast<int>(order_.size()); }
  [[nodiscard]] int to(int member, int round) const { return at(member, round, 1); }
  [[nodiscard]] int from(int member, int round) const { return at(member, round, -1); }
  /// The round in which `member` sends to `peer`, and `peer` receives from it.
  [[nodiscard]] int round_to(int member, int peer) const;

  [[nodiscard]] int channels() const { return channels_; }
  /// The most that a message takes: half of NVLink's width twice over, or two over the network, and one where members
  /// are more than two for a channel.
  [[nodiscard]] int channels_per_peer() const { return per_peer_; }
  /// What one of so many bytes takes: the fewest that leave a channel no more than 16 MiB within a node or 128 KiB over
  /// nodes, but at least so many as let all members have their own, if each of these has 64 KiB.
  [[nodiscard]] int channels_of(std::uint64_t bytes) const;
  [[nodiscard]] int first_channel(int round) const;

 private:
  [[nodiscard]] int at(int member, int round, int sign) const;

  std::vector<int> order_;      ///< members, group by group
  std::vector<int> place_;      ///< by member: where in `order_`
  std::vector<int> distances_;  ///< of groups, in the order of rounds
  std::vector<int> turn_of_;    ///< by distance: where in `distances_`
  int group_ = 1;               ///< members of one
  bool one_node_;
  int channels_ = 1;
  int per_peer_ = 1;
  int least_ = 1;  ///< channels of a message that is long enough
};

}  // namespace weft::collectives
