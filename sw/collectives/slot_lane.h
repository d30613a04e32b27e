// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "hw/accelerator/command.h"
#include "sw/collectives/in_turn.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/stocked_pair.h"

namespace weft::collectives {

using accelerator::Flags;

/// One direction of a connection as one end sees it: chunks go one way, each an RDMA write with immediate into the next
/// of the receiver's slots, and slots are given back the other, as empty sends. That goes on from one collective to the
/// next, so that nobody has to enter one first. Between nodes a connection may have several queue pairs, to which
/// chunks are posted in turn, as RingMember's; slots come back by the first.
///
/// Chunks can have flags (accelerator::Flags), as NCCL's protocols LL and LL128 have them. A kernel polls the flags in
/// its cache, adds what comes to an operand and stores the sum at its peer: no transfer is started, and within a node
/// no memory is read or written for it on the way. Between nodes a thread of the host polls as well, and sends what has
/// come (Rank::word_relay and line_relay): words in memory of the host, lines in that of the accelerator
/// (sendProxyProgress in NCCL's src/transport/net.cc). At the other end the kernel polls, so that no thread takes part.
struct SlotLane {
  /// The most chunks that are under way: a receive is in stock for each at both ends.
  static constexpr int kMostUnderWay = 32;
  /// The largest chunk that has flags, with these: of words what NCCL has in a slot, 8 lines of 8 bytes and as many
  /// flags for each of 512 threads. Of lines a slot of NCCL's has kLineSlot, 120 words for each of 640 threads. But
  /// within a node both go on as they come, warp by warp: they stream, which a part's quarters nearly do, and where a
  /// part passes many members shorter chunks. The halves of a long part do as well: what a hop takes beside its bytes
  /// is less than a half.
  static constexpr std::uint64_t kLongestFlagged = 64 << 10;
  static constexpr std::uint64_t kLongestLines = 512 << 10;
  static constexpr std::uint64_t kLongPart = 512 << 10;
  static constexpr std::uint64_t kLineSlot = 600 << 10;
  static constexpr std::uint64_t flagged_chunk(std::uint64_t part, Flags flags, std::uint64_t longest) {
    const std::uint64_t chunk = part / (part < kLongPart ? 4 : 2);
    return std::clamp((chunk + 255) / 256 * 256, std::uint64_t{8} << 10, accelerator::without_flags(longest, flags));
  }

  /// The most chunks of so many bytes that are in one message to another node.
  static constexpr std::uint64_t message_chunks(std::uint64_t chunk, Flags flags) {
    const std::uint64_t slot = flags == Flags::kWords ? kLongestFlagged : kLineSlot;
    return std::max(accelerator::without_flags(slot, flags) / chunk, std::uint64_t{1});
  }

  std::vector<std::unique_ptr<firmware::StockedPair>> pairs;
  InTurn in_turn;             ///< chunks, at the receiving end
  bool receives = false;      ///< chunks
  bool leaves = false;        ///< the node
  std::uint64_t slots = 0;    ///< where they begin, at the receiving end
  std::uint64_t chunks = 0;   ///< sent, or taken
  std::uint64_t arrived = 0;  ///< chunks, or slots that came back

  /// Makes this end of a connection. Completions have `id`, of its further queue pairs one more each.
  void make(const firmware::Rank& here, const firmware::Rank& there, firmware::CompletionQueue& completions,
            std::uint64_t id, int queue_pairs = 1) {
    const firmware::Interface& interface = here.towards(there);
    leaves = &interface == &here.scale_out;
    const std::size_t count = leaves ? static_cast<std::size_t>(queue_pairs) : 1;
    for (std::size_t q = 0; q < count; ++q) {
      pairs.push_back(std::make_unique<firmware::StockedPair>(interface, completions, id + q));
    }
    in_turn = InTurn(count);
  }
  static void join(SlotLane& sender, SlotLane& receiver) {
    sender.slots = receiver.slots;
    receiver.receives = true;
    for (std::size_t q = 0; q < sender.pairs.size(); ++q) {
      firmware::StockedPair::join(*sender.pairs[q], *receiver.pairs[q]);
    }
  }

  /// A completion of queue pair number `pair` of this connection.
  void take(const nic::Completion& entry, std::size_t pair = 0) {
    pairs[pair]->used();
    if (receives) {
      in_turn.add(pair);
      arrived = in_turn.count();
    } else {
      arrived += 1 + entry.immediate;
    }
  }
  [[nodiscard]] bool has_chunk() const { return arrived > chunks; }
  [[nodiscard]] bool has_room(std::uint64_t window) const { return chunks < arrived + window; }
  void give_back(std::uint64_t count) { pairs.front()->pair().send_immediate(static_cast<std::uint32_t>(count - 1)); }
  /// Writes what lies at `from`, with flags or without. Only signaled ones complete at the sender, with their number.
  void send(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, Flags flags, bool signaled = false) {
    // What a kernel stores at its peer no interface reads from memory.
    const bool stored = flags != Flags::kNone && !leaves;
    firmware::QueuePair& pair = pairs[chunks % pairs.size()]->pair();
    pair.write(from, to, accelerator::with_flags(bytes, flags), true, 0, signaled, chunks, stored);
    ++chunks;
  }
  /// Whose requests go to other nodes by way of the host.
  void relay(const firmware::Rank& here, Flags flags) {
    Time delay;
    if (flags == Flags::kLines) delay = here.line_latency;
    if (leaves)
      delay += flags == Flags::kWords ? here.word_relay : flags == Flags::kLines ? here.line_relay : here.relay;
    for (const auto& pair : pairs) pair->pair().relay(delay);
  }
};

/// Where slot number `chunk` lies.
inline std::uint64_t slot_at(std::uint64_t first, std::uint64_t chunk, std::uint64_t window, std::uint64_t bytes) {
  return first + chunk % window * bytes;
}

/// A copy of `bytes` bytes by a copy engine, or with `other` a sum, that `completions` gets as `id`.
constexpr std::uint64_t kNoOther = UINT64_MAX;
inline accelerator::Command engine_command(std::uint64_t source, std::uint64_t other, std::uint64_t target,
                                           std::uint64_t bytes, ElementType type, Flags flags, int engine,
                                           const firmware::CompletionQueue& completions, std::uint64_t id) {
  return {
      .operation = other == kNoOther ? accelerator::Operation::kCopy : accelerator::Operation::kReduce,
      .type = type,
      .flags = flags,
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
