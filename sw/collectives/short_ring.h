// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/blocks.h"
#include "sw/collectives/slot_lane.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// One member's place in a ring for short buffers: the collectives of RingMember as words with flags (slot_lane.h).
/// What comes is copied or added where it lies, and goes on from there.
class ShortRingMember {
 public:
  /// Which bytes of the buffer block `i` holds, i being a position in the ring.
  using BlockMap = std::function<Extent(int)>;

  /// Joins `ranks`, in ring order; `slots` are those of a connection, of which at most SlotLane::kMostUnderWay are
  /// used; `engine` is the copy engine of this ring.
  static std::vector<std::unique_ptr<ShortRingMember>> join(const std::vector<firmware::Rank*>& ranks, int slots,
                                                            int engine, const std::string& name);

  ShortRingMember(firmware::Rank& rank, int position, int size, int slots, int engine, const std::string& name);

  /// As RingMember's.
  firmware::Task allgather(std::uint64_t buffer, BlockMap blocks);
  firmware::Task reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type);
  firmware::Task broadcast(std::uint64_t buffer, Extent part, int root);

 private:
  static constexpr std::uint64_t kNowhere = UINT64_MAX;

  template <typename Condition>
  firmware::Task until(Condition condition);
  void take(const nic::Completion& entry);
  void return_slots();
  /// target = source, or source + other, when a copy engine has done so.
  firmware::Task move(std::uint64_t source, std::uint64_t other, std::uint64_t target, std::uint64_t bytes,
                      ElementType type);
  /// Sends what lies at `source`, which has no flags yet.
  firmware::Task send_own(std::uint64_t source, std::uint64_t bytes);
  /// Sends on from a slot what has come into it.
  firmware::Task send_on(std::uint64_t slot, std::uint64_t bytes);
  /// Until a chunk has come; which slot it is in.
  firmware::Task receive(std::uint64_t& slot);
  /// What is done with a chunk that has come, `in_block` bytes into its block; `last`: it goes no further.
  using Pass = std::function<firmware::Task(std::uint64_t slot, Extent chunk, std::uint64_t in_block, bool last)>;
  /// All blocks once round the ring, chunk by chunk; each member begins with its block number `first_block` back.
  firmware::Task round(const BlockMap& blocks, int first_block, std::uint64_t source, const Pass& pass);
  /// Sends a chunk on, and copies it to its place.
  firmware::Task keep(std::uint64_t slot, std::uint64_t own, std::uint64_t bytes, bool last);
  /// Adds its own part to a chunk and sends the sum on, or leaves it at `result`.
  firmware::Task add(std::uint64_t slot, std::uint64_t own, std::uint64_t result, std::uint64_t bytes, ElementType type,
                     bool last);
  [[nodiscard]] static Chunks cut(Extent part) { return {part, SlotLane::flagged_chunk(part.bytes)}; }
  [[nodiscard]] int step_block(int step) const { return ((position_ - step) % size_ + size_) % size_; }
  [[nodiscard]] std::uint64_t longest(const BlockMap& blocks) const;

  firmware::Rank& rank_;
  int position_;
  int size_;
  int engine_;
  std::uint64_t window_;
  std::uint64_t outgoing_ = 0;
  firmware::CompletionQueue* completions_ = nullptr;
  SlotLane next_;
  SlotLane previous_;
  std::uint64_t begun_ = 0;  ///< with the copy engine
  std::uint64_t moved_ = 0;
  std::uint64_t acknowledged_ = 0;  ///< of what was sent
  /// Of chunks that lie in slots, in the order in which they came: their numbers as sent on, or kNowhere.
  std::deque<std::uint64_t> held_;
};

}  // namespace weft::collectives
