// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/quantity.h"
#include "sw/collectives/group.h"
#include "sw/collectives/mesh.h"
#include "sw/collectives/nccl/p2p_schedule.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/task.h"

namespace weft::collectives {

/// An AllToAll as a group of sends and receives, one with each other member (NCCL user guide, "Point-to-point
/// communication"), in the rounds of P2pSchedule, of which so many are under way at a time as it has. Within a node
/// blocks go over the scale-up network, to others through the NIC of the member that has them. A member's own block is
/// copied by copy engines, one for each channel that a message of its size takes.
///
/// Left out: staging buffers and the cores that copy through them, so that no channel's rate limits a message to a
/// peer; and PXN, which takes blocks for other rails over NVLink first. Of a message that takes several channels all
/// parts begin when the last of them is free. The copy of the own block is in no batch.
class Exchange {
 public:
  /// `within`: what a member can send in its node; `cores`: of the kernel. `name` is the group's, for the report of a
  /// deadlock.
  Exchange(const std::vector<firmware::Rank*>& ranks, Rate within, int cores, const std::string& name);

  /// As Group::all_to_all() and Group::exchange(). Nothing is sent of a part that is empty.
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes);
  firmware::Task exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place, Parts parts);

 private:
  /// Begins the copy of a member's own block; how many engines end one.
  int copy_own(int member, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);

  P2pSchedule schedule_;
  Mesh mesh_;
  std::vector<firmware::CompletionQueue*> copied_;  ///< by member: parts of its own block are
};

}  // namespace weft::collectives
