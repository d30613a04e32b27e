// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/blocks.h"
#include "sw/collectives/in_turn.h"
#include "sw/firmware/rank.h"

/// Ring algorithms (Patarasuk and Yuan 2009; the chunk pipelining is that of NCCL). In a ring of n, a collective has n
/// - 1 steps; in each a member sends one block to the next member and receives one from the previous. A block travels
/// in chunks, and a chunk goes on as soon as it has come, so that the latency of a step is paid once for each chunk and
/// not for each block.
namespace weft::collectives {

/// One member's place in one ring: a connection to the next member, one to the previous, staging slots for what is
/// reduced or copied.
///
/// Chunks are RDMA writes with immediate. A ReduceScatter writes to the peer's staging slots. So do an Allgather and a
/// Broadcast where ranks are `staged`, as NCCL's do into buffers that are not registered (its primitive
/// recvCopySend): a copy engine takes a chunk to its place, from which it goes on. Else they write straight to where a
/// chunk belongs in the peer's buffer, which has the same address on every rank. Nothing is written before the peer
/// said that it has entered the collective, and no slot before it is free: both are empty sends against the ring's
/// direction, of which the immediate says how many slots they give back: one of a ReduceScatter, else a quarter of all
/// where so many come. Of long blocks a message is what NCCL calls a slice, `slice` chunks: it has then so many slots
/// fewer (NCCL_STEPS 8, of which ALLREDUCE_SLICESTEPS, ALLGATHER_SLICESTEPS and REDUCESCATTER_SLICESTEPS are 2 and
/// BROADCAST_SLICESTEPS is 1, in its src/include/collectives.h). Towards other nodes all requests take `relay` longer:
/// a thread of the host makes them for the kernel. There a connection may have several queue pairs, to which chunks are
/// posted in turn (NCCL_IB_QPS_PER_CONNECTION with NCCL_IB_SPLIT_DATA_ON_QPS=0), so that a network that hashes them
/// uses several ways; all else goes by the first.
class RingMember {
 public:
  struct Options {
    std::uint64_t chunk = 512 << 10;
    int slots = 16;       ///< of a chunk each
    int slice = 4;        ///< the most chunks in a message, of a Broadcast one; at most half of the slots
    int queue_pairs = 1;  ///< of a connection between nodes
  };

  /// Joins `ranks`, in ring order, by connections of their own; `engine` is the copy engine that reduces for this ring.
  static std::vector<std::unique_ptr<RingMember>> join(const std::vector<firmware::Rank*>& ranks,
                                                       const Options& options, int engine, const std::string& name);

  RingMember(firmware::Rank& rank, int position, int size, const Options& options, int engine);

  /// Which bytes of the buffer block `i` holds, i being a position in the ring.
  using BlockMap = std::function<Extent(int)>;

  /// Distributes each member's own block, at `buffer` + its extent, to all. `got`, if given, is incremented for each
  /// whole block that came, in the order position - 1, position - 2, ...
  firmware::Task allgather(std::uint64_t buffer, BlockMap blocks, firmware::Counter* got);

  /// Sums block `position` over all members into `output`. Each member's addends are at `input` + their extents;
  /// `input` and output may overlap only where the own block is. The sum of block b is formed in ring order: members b
  /// + 1, b + 2, ..., b. `ready`, if given, counts the blocks of the input that are there, in the order in which they
  /// are sent: position - 1, position - 2, ..., position.
  firmware::Task reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type,
                                firmware::Counter* ready);

  /// Passes `part` of `buffer` on from member `root` round the ring to the last one before it.
  firmware::Task broadcast(std::uint64_t buffer, Extent part, int root);

  [[nodiscard]] int position() const { return position_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  /// What has happened in the current collective; peers that entered are counted over all.
  struct Progress {
    InTurn arrived;
    InTurn sent;  ///< acknowledged
    std::uint64_t credits = 0;
    std::uint64_t moved = 0;  ///< by the copy engine
  };
  class Flow;
  /// Takes completions until `condition` holds.
  template <typename Condition>
  firmware::Task until(Condition condition);
  [[nodiscard]] std::vector<firmware::QueuePair> connection(const firmware::Rank& peer) const;
  /// Writes chunk number `number` of the current collective to the next member.
  void write(std::uint64_t number, std::uint64_t from, std::uint64_t to, std::uint64_t bytes, bool signaled);
  void take(const nic::Completion& entry);
  /// What a block travels in, `longest` bytes each at the most: two at the least, so that one goes on while the other
  /// comes, as NCCL cuts its slices.
  [[nodiscard]] Chunks cut(Extent part, std::uint64_t longest) const {
    const std::uint64_t half = (part.bytes / 2 + 255) / 256 * 256;
    return {part, std::clamp(half, std::max<std::uint64_t>(options_.chunk / 32, 1), longest)};
  }
  [[nodiscard]] std::uint64_t slice() const { return options_.chunk * static_cast<std::uint64_t>(options_.slice); }
  /// Lays slots for messages of so many bytes out in the staging memory, as the peers do: the same in all members.
  void lay_out_slots(std::uint64_t longest);
  /// For the blocks of all members.
  void lay_out_slots(const BlockMap& blocks);
  firmware::Task enter(std::uint64_t chunks_in, std::uint64_t credits_in);
  void return_slots();
  [[nodiscard]] int step_block(int step) const { return ((position_ - step) % size_ + size_) % size_; }
  [[nodiscard]] std::uint64_t slot_address(std::uint64_t chunk) const {
    return staging_ + chunk % slots_ * slot_bytes_;
  }

  firmware::Rank& rank_;
  int position_;
  int size_;
  Options options_;
  int engine_;
  std::uint64_t staging_;
  std::uint64_t slots_ = 0;  ///< of the current collective
  std::uint64_t slot_bytes_ = 0;
  firmware::CompletionQueue* completions_ = nullptr;
  std::vector<firmware::QueuePair> next_;
  std::vector<firmware::QueuePair> previous_;
  Progress progress_;
  /// Slots in the order in which they were filled, which is that in which they are given back and used again: for each
  /// the number of the send that empties it.
  std::deque<std::uint64_t> filled_;
  std::uint64_t entered_ = 0;
  std::uint64_t next_entered_ = 0;
};

}  // namespace weft::collectives
