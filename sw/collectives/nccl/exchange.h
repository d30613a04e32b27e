// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sw/collectives/group.h"
#include "sw/collectives/mesh.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/task.h"

namespace weft::collectives {

/// An AllToAll as a group of sends and receives, one with each other member (NCCL user guide, "Point-to-point
/// communication"). In round i a member sends to the i-th behind it while the i-th before it sends to it, as NCCL's
/// p2pSchedule has it but for the order in which nodes take turns (ncclP2pSchedule() of its src/init.cc, version 2.27).
/// `kTogether` rounds are under way at a time: NCCL_MAX_DEV_WORK_P2P_PER_BATCH. Within a node blocks go over the
/// scale-up network, to others through the NIC of the member that has them.
///
/// Left out: staging buffers and the cores that copy through them, and PXN, which takes blocks for other rails over
/// NVLink first.
class Exchange {
 public:
  static constexpr int kTogether = 8;

  /// `name` is the group's, for the report of a deadlock.
  Exchange(const std::vector<firmware::Rank*>& ranks, const std::string& name);

  /// As Group::all_to_all() and Group::exchange(). Nothing is sent of a part that is empty.
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes);
  firmware::Task exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place, Parts parts);

 private:
  Mesh mesh_;
  std::vector<firmware::CompletionQueue*> copied_;  ///< by member: its own block is
};

}  // namespace weft::collectives
