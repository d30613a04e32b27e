// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/group.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/in_turn.h"
#include "sw/collectives/nccl/symmetric_choice.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/stocked_pair.h"
#include "sw/firmware/task.h"

namespace weft::collectives {

/// NCCL's kernels for buffers that all members of a node have registered as symmetric windows (NCCL_WIN_COLL_SYMMETRIC;
/// src/device/symmetric of NCCL 2.27 and 2.28): a member reaches the others' buffers by loads and stores, so that
/// nothing passes slots and nobody hands anything on.
///
/// - By words: a member stores what the others are to have, each word with a flag, where they poll, piece by piece of
///   4 KiB for each block of the kernel; those of two pieces take turns at two places, so that nobody has to be asked.
///   What has come is copied to its place or added, in the order of ranks. With multicast one store goes to all.
/// - Directly: all say that they have begun. An Allgather stores the own block at all others. A ReduceScatter loads the
///   others' addends of the own block, 32 KiB at a time; an AllReduce stores each sum at all others as it is there.
///   All say that they have ended.
/// - By the switches: InNetworkGroup's sums and copies, straight from the buffers and into them.
///
/// Copies and sums are done by copy engines in place of the blocks' SMs, one for each block as far as there are so
/// many. Approximated: what loads bring passes a place in memory, where a kernel has it in registers, so that a sum
/// takes more of HBM; blocks do not limit what stores and loads reach, but the links do; the blocks of a kernel say
/// together that they have begun, not each for itself.
class SymmetricKernels {
 public:
  /// `multicast`: with the switches, if their tables have room and interfaces hold enough receives. `name` is the
  /// group's, for the report of a deadlock. Throws ConfigError where the switches cannot.
  SymmetricKernels(const std::vector<firmware::Rank*>& ranks, bool multicast, const std::string& name);
  ~SymmetricKernels();

  [[nodiscard]] bool has_multicast() const { return switches_ != nullptr; }

  /// As those of Group, by this kernel.
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, SymmetricKernel how);
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type, SymmetricKernel how);
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type,
                            SymmetricKernel how);

 private:
  class Member;

  [[nodiscard]] Member& at(int member) { return *members_[static_cast<std::size_t>(member)]; }
  void join_switches(const std::vector<firmware::Rank*>& ranks, const std::string& name);

  std::string name_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<InNetworkGroup> switches_;
};

}  // namespace weft::collectives
