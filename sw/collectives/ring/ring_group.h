// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/group.h"
#include "sw/collectives/nccl/nccl_choice.h"
#include "sw/collectives/ring/flagged_ring.h"
#include "sw/collectives/ring/ring.h"

namespace weft::collectives {

/// One ring through all for each channel, row after row. Channel c starts each row at position c, so that rings enter
/// and leave nodes by different interfaces.
[[nodiscard]] std::vector<std::vector<int>> ring_orders(const std::vector<std::vector<int>>& rows, int channels);

/// Of these the first `most` that differ in who follows whom.
[[nodiscard]] std::vector<std::vector<int>> different_rings(const std::vector<std::vector<int>>& orders,
                                                            std::size_t most);

/// Rings side by side through the same ranks, the channels, each with its own part of every block.
class RingGroup final : public Group {
 public:
  /// With which flags a collective goes, by the bytes of its whole buffer.
  using Choice = std::function<Flags(NcclCollective, std::uint64_t)>;

  /// `orders`: for each channel, numbers of the members in the order of its ring.
  RingGroup(const std::vector<firmware::Rank*>& ranks, std::vector<std::vector<int>> orders,
            const RingMember::Options& options, const std::string& name, Choice choice = nullptr);

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int channels() const { return static_cast<int>(rings_.size()); }
  /// What channel `channel` has of a block.
  [[nodiscard]] Extent part(Extent block, int channel, std::uint64_t granule) const {
    return split(block, rings_.size(), static_cast<std::uint64_t>(channel), granule);
  }
  /// The place of `member` in the ring of a channel, and who is at a place.
  RingMember& ring(int channel, int member) const;
  [[nodiscard]] int member_at(int channel, int position) const {
    return orders_[static_cast<std::size_t>(channel)][static_cast<std::size_t>(position)];
  }

  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type) override;
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override;
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) override;

 private:
  /// The blocks of one of `channels` channels by position in its ring.
  [[nodiscard]] BlockMap by_position(std::size_t channel, std::size_t channels, BlockMap blocks,
                                     std::uint64_t granule) const;
  [[nodiscard]] std::size_t place(std::size_t channel, int member) const;
  /// How many channels so many bytes with flags take; makes them if there are none.
  [[nodiscard]] std::size_t flagged_channels(std::uint64_t bytes, Flags flags);
  [[nodiscard]] Flags choose(NcclCollective what, std::uint64_t bytes) const {
    return choice_ == nullptr ? Flags::kNone : choice_(what, bytes);
  }
  [[nodiscard]] std::uint64_t whole(const BlockMap& blocks) const;
  firmware::Task allgather_with(Flags flags, int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule);
  firmware::Task reduce_scatter_with(Flags flags, int member, std::uint64_t input, std::uint64_t output,
                                     BlockMap blocks, ElementType type);
  firmware::Task run(int member, const char* what, std::vector<firmware::Task> tasks);

  std::vector<firmware::Rank*> ranks_;
  std::vector<std::vector<int>> orders_;
  std::string name_;
  std::vector<std::vector<std::unique_ptr<RingMember>>> rings_;  ///< by channel and position
  Choice choice_;
  RingMember::Options options_;
  std::vector<std::vector<std::unique_ptr<FlaggedRingMember>>> flagged_rings_;  ///< once needed: they take memory
};

}  // namespace weft::collectives
