// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/group.h"
#include "sw/collectives/pat/pat.h"

namespace weft::collectives {

/// Allgathers and ReduceScatters by PAT, as NCCL has them from version 2.23 on among nodes of one member each: its
/// channels side by side, each with its part of every block. How many of them and how long the chunks are follows NCCL:
/// 16 KiB for each channel at the least (scheduleCollTasksToPlan() of its enqueue.cc), and chunks that shorten to 64
/// KiB so that an Allgather has 32 of each channel and a ReduceScatter 16 (calcCollChunking(), the same file).
class PatGroup {
 public:
  /// Of two members at the least.
  PatGroup(const std::vector<firmware::Rank*>& ranks, int channels, const PatMember::Options& options,
           const std::string& name)
      : ranks_(ranks), channels_(channels), options_(options), name_(name) {}

  /// As Group's, of a buffer of `bytes` bytes.
  firmware::Task allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule);
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                ElementType type);

 private:
  using Direction = PatMember::Direction;
  using Channels = std::vector<std::vector<std::unique_ptr<PatMember>>>;  ///< by channel and member

  /// Made with the first collective in a direction: they take memory.
  [[nodiscard]] const Channels& channels(Direction direction);
  [[nodiscard]] std::size_t used(std::uint64_t bytes) const;
  /// What a channel has to do for a member.
  [[nodiscard]] PatMember::Work work(Direction direction, int member, std::uint64_t bytes, std::uint64_t granule,
                                     std::size_t channel);
  [[nodiscard]] const PatPlan& plan(Direction direction, int together);

  std::vector<firmware::Rank*> ranks_;
  int channels_;
  PatMember::Options options_;
  std::string name_;
  std::array<Channels, 2> members_;              ///< by direction
  std::array<std::map<int, PatPlan>, 2> plans_;  ///< by direction and blocks of a message
};

}  // namespace weft::collectives
