// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "sw/firmware/rank.h"
#include "sw/firmware/stocked_pair.h"

namespace weft::collectives {

/// One direction of a connection as one end sees it: chunks go one way, each an RDMA write with immediate into the next
/// of the receiver's slots, and slots are given back the other, as empty sends. That goes on from one collective to the
/// next, so that nobody has to enter one first.
///
/// Chunks can be words with flags, as NCCL's protocol LL has them: each word travels with a flag of its size, so twice
/// the bytes. A kernel polls the flags in its cache, adds what comes to an operand that it has loaded before, and
/// stores the sum at its peer: no transfer is started, and no memory is waited for but by an interface to other nodes.
/// They are not relayed: their way between nodes is the interface's own (NCCL's cost model has 2.7 to 5 us a hop for
/// them and 14 for others, hwLat in its src/graph/tuning.cc).
struct SlotLane {
  /// The most chunks that are under way: a receive is in stock for each at both ends.
  static constexpr int kMostUnderWay = 32;
  /// The largest chunk of words with flags, without these: what NCCL has in a slot, 8 lines of 8 bytes for each of 512
  /// threads. They stream, which a part's quarters nearly do.
  static constexpr std::uint64_t kLongestFlagged = 32 << 10;
  static constexpr std::uint64_t flagged_chunk(std::uint64_t part) {
    return std::clamp((part / 4 + 255) / 256 * 256, std::uint64_t{8} << 10, kLongestFlagged);
  }

  std::unique_ptr<firmware::StockedPair> pair;
  bool leaves = false;        ///< the node
  std::uint64_t slots = 0;    ///< where they begin, at the receiving end
  std::uint64_t chunks = 0;   ///< sent, or taken
  std::uint64_t arrived = 0;  ///< chunks, or slots that came back

  /// Makes this end of a connection, whose completions have `id`.
  void make(const firmware::Rank& here, const firmware::Rank& there, firmware::CompletionQueue& completions,
            std::uint64_t id) {
    const firmware::Interface& interface = here.towards(there);
    leaves = &interface == &here.scale_out;
    pair = std::make_unique<firmware::StockedPair>(interface, completions, id);
  }
  static void join(SlotLane& sender, SlotLane& receiver, int core) {
    sender.slots = receiver.slots;
    firmware::StockedPair::join(*sender.pair, *receiver.pair, core);
  }

  /// A completion of this connection.
  void take() {
    ++arrived;
    pair->used();
  }
  [[nodiscard]] bool has_chunk() const { return arrived > chunks; }
  [[nodiscard]] bool has_room(std::uint64_t window) const { return chunks < arrived + window; }
  void give_slot_back() { pair->pair().send_immediate(0); }
  /// Writes what lies at `from`, with flags or without. Only signaled ones complete at the sender, with their number.
  void send(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, bool with_flags, bool signaled = false) {
    // What a kernel stores at its peer no interface reads from memory.
    pair->pair().write(from, to, with_flags ? 2 * bytes : bytes, true, 0, signaled, chunks, with_flags && !leaves);
    ++chunks;
  }
  /// Whose requests go by way of the host, unless they have flags.
  void relay(const firmware::Rank& here, bool with_flags) {
    if (leaves) pair->pair().relay(with_flags ? Time() : here.relay);
  }
};

/// Where slot number `chunk` lies.
inline std::uint64_t slot_at(std::uint64_t first, std::uint64_t chunk, std::uint64_t window, std::uint64_t bytes) {
  return first + chunk % window * bytes;
}

/// A copy of `bytes` bytes by a copy engine, or with `other` a sum, that `completions` gets as `id`.
constexpr std::uint64_t kNoOther = UINT64_MAX;
inline accelerator::Command engine_command(std::uint64_t source, std::uint64_t other, std::uint64_t target,
                                           std::uint64_t bytes, ElementType type, bool with_flags, int engine,
                                           const firmware::CompletionQueue& completions, std::uint64_t id) {
  return {
      .operation = other == kNoOther ? accelerator::Operation::kCopy : accelerator::Operation::kReduce,
      .type = type,
      .low_latency = with_flags,
      .stream = accelerator::Command::kImmediate,
      .engine = static_cast<std::uint32_t>(engine),
      .source = source,
      .other = other,
      .destination = target,
      .bytes = bytes,
      .id = id,
      .completion_address = completions.address(),
  };
}

}  // namespace weft::collectives
