// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sw/collectives/blocks.h"
#include "sw/collectives/slot_lane.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// One member's place in a ring whose chunks have flags (slot_lane.h), with the collectives of RingMember. What comes
/// is copied or added where it lies, and goes on from there. A chunk goes on while the copy engine is at the next. To
/// another node it goes on with all of its message, which holds no more than a slot of NCCL's: NCCL's kernels hand
/// slots to the network when they are written whole (src/transport/net.cc).
class FlaggedRingMember {
 public:
  /// Which bytes of the buffer block `i` holds, i being a position in the ring.
  using BlockMap = std::function<Extent(int)>;

  /// Joins `ranks`, in ring order; `slots` are those of a connection, of which at most SlotLane::kMostUnderWay are
  /// used, and `queue_pairs` those of one between nodes; `engine` is the copy engine of this ring.
  static std::vector<std::unique_ptr<FlaggedRingMember>> join(const std::vector<firmware::Rank*>& ranks, int slots,
                                                              int queue_pairs, int engine, const std::string& name);

  FlaggedRingMember(firmware::Rank& rank, int position, int size, int slots, int engine, const std::string& name);

  /// As RingMember's.
  firmware::Task allgather(std::uint64_t buffer, BlockMap blocks, Flags flags);
  firmware::Task reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type,
                                Flags flags);
  firmware::Task broadcast(std::uint64_t buffer, Extent part, int root, Flags flags);

 private:
  static constexpr std::uint64_t kNowhere = UINT64_MAX;

  /// What a member does with a chunk: target = what came, or its own, or the sum of both.
  struct Step {
    std::uint64_t bytes;
    bool comes;         ///< into a slot; else it is the member's own, and goes from a slot for that
    bool goes;          ///< to the next member
    bool ends;          ///< its message
    std::uint64_t own;  ///< the member's operand, or where what came belongs
    std::uint64_t sum;  ///< where the last sum belongs
  };
  /// The next one, or none.
  using Steps = std::function<std::optional<Step>()>;
  /// One whose copy or sum has begun.
  struct Begun {
    std::uint64_t bytes;
    std::uint64_t from;   ///< where it goes on from
    std::uint64_t moved;  ///< when so many copies and sums have ended, its own has
    bool waits;           ///< for that before it goes on
    bool goes;
    bool ends;  ///< its message
    bool holds_slot;
  };
  /// A slot that something came into, in their order.
  struct Held {
    std::uint64_t sent;  ///< number of the chunk as sent on, or kNowhere
    std::uint64_t moved;
    bool ends;  ///< its batch, whatever is in that
  };

  /// All `steps`, with sums in units of `type`, or without.
  firmware::Task run(Steps steps, std::optional<ElementType> type, Flags flags);
  [[nodiscard]] bool can_begin(const Step& step) const;
  void begin(const Step& step, std::optional<ElementType> type, Flags flags);
  /// Sends on what can go.
  void send_begun(Flags flags);
  /// Whether the message that begins with what is under way longest lies whole where it goes on from.
  [[nodiscard]] bool is_written() const;
  void take(const nic::Completion& entry);
  void return_slots();
  /// Slots of a collective are given back without those of the next, so that its batches begin as any other's.
  void end_batch();
  /// All blocks once round the ring, chunk by chunk; each member begins with its block number `first_block` back.
  [[nodiscard]] Steps round(const BlockMap& blocks, int first_block, std::uint64_t input,
                            std::optional<std::uint64_t> output, Flags flags) const;
  [[nodiscard]] static Chunks cut(Extent block, Flags flags) {
    const std::uint64_t longest = flags == Flags::kWords ? SlotLane::kLongestFlagged : SlotLane::kLongestLines;
    return {block, SlotLane::flagged_chunk(block.bytes, flags, longest)};
  }
  /// Half of the slots, less what is not given back yet: so many chunks can be at each member.
  [[nodiscard]] std::uint64_t group() const { return (window_ - batch_ + 1) / 2; }
  /// Whether chunk `i` is the last one of a message; every group begins a new one.
  [[nodiscard]] bool ends_message(const Chunks& chunks, std::uint64_t i, Flags flags) const {
    const std::uint64_t in_group = i % group();
    return (in_group + 1) % SlotLane::message_chunks(chunks.chunk, flags) == 0 || in_group + 1 == group() ||
           i + 1 == chunks.count();
  }
  [[nodiscard]] int step_block(int step) const { return ((position_ - step) % size_ + size_) % size_; }

  firmware::Rank& rank_;
  int position_;
  int size_;
  int engine_;
  std::uint64_t window_;
  std::uint64_t batch_;         ///< slots that are given back together
  std::uint64_t emptied_ = 0;   ///< of these
  std::uint64_t outgoing_ = 0;  ///< slots of the member's own
  firmware::CompletionQueue* completions_ = nullptr;
  Flags flags_ = Flags::kNone;  ///< of what was sent last
  SlotLane next_;
  SlotLane previous_;
  std::uint64_t begun_ = 0;  ///< with the copy engine
  std::uint64_t moved_ = 0;
  InTurn acknowledged_;      ///< of what was sent
  std::uint64_t going_ = 0;  ///< chunks that were sent or will be, since they are begun
  std::deque<Begun> under_way_;
  std::deque<Held> held_;
};

}  // namespace weft::collectives
