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

/// Collectives of a node by the accelerators' DMA engines, without a kernel, as NCCL 2.28 has them (src/ce_coll.cc):
/// all members say that their buffers are ready; each copies what others are to have to them, the next behind it first;
/// all say that they are done. One DMA engine takes these copies one after the other, and what has the others' rate and
/// `Rank::dma_start` more goes through the interface to the peer. What a member keeps of an AllToAll another engine
/// copies beside them, at the rate of a local copy, or the same one before them if it is alone.
///
/// Left out: the synchronisation within a batch of more than eight copies and 512 MB, and multicast by the switches,
/// with which members say that they are ready.
class EngineCopies {
 public:
  /// `name` is the group's, for the report of a deadlock.
  EngineCopies(const std::vector<firmware::Rank*>& ranks, const std::string& name);

  /// As Group::allgather() and Group::all_to_all().
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks);
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes);

 private:
  /// Until all members have come here.
  firmware::Task meet(int member);
  /// Writes to a peer once the engine has started, until the engine is free for the next.
  firmware::Task copy(int member, int peer, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);

  Mesh mesh_;
  std::vector<firmware::CompletionQueue*> copied_;  ///< by member: its own block is
};

}  // namespace weft::collectives
