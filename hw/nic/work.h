// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "hw/core/element.h"

/// What passes between firmware and a network interface: the formats of its doorbell window and of its completions.
namespace weft::nic {

/// What a work request asks for, after the verbs of the InfiniBand Architecture (volume 1, chapter 10).
/// `kReduce` and `kMulticast` are for the queue pairs of groups.
enum class Verb : std::uint8_t { kSend, kWrite, kRead, kReceive, kReduce, kMulticast };

/// How a work request ended. Once its retries have run out a queue pair stands in error, and whatever is posted to it
/// is flushed (InfiniBand Architecture volume 1, 11.6.2: transport retry counter exceeded, work request flushed).
/// A remote access error is a request for memory that its key does not open; a length error, a datagram that is longer
/// than the receive that it found.
enum class Status : std::uint8_t { kSuccess, kRetryExceeded, kFlushed, kRemoteAccessError, kLengthError };

/// What a datagram carries beside its payload: the header that says so (DETH), and the global route header, which comes
/// before the payload in the receiver's memory (InfiniBand Architecture volume 1, 8.3, 9.3.2 and 10.2.5).
constexpr std::uint32_t kGlobalRouteHeader = 40;
constexpr std::uint32_t kDatagramHeader = kGlobalRouteHeader + 8;

/// The result of a reduction goes to every member of the group.
constexpr std::uint32_t kEveryTaker = UINT32_MAX;

/// A work queue entry. Written into the doorbell window it is its own doorbell (the scheme that ConnectX calls
/// BlueFlame), so that no fetch follows.
struct WorkRequest {
  std::uint64_t id = 0;             ///< comes back in the completion; of datagram and multicast receives, one more each
  std::uint64_t local_address = 0;  ///< source of a send, write or operand, target of a read or receive
  std::uint64_t remote_address = 0;  ///< write, read, multicast: at the peers; reduce: of the result, here
  std::uint64_t bytes = 0;           ///< a read is shorter than 4 GiB, a datagram at most an MTU
  std::uint64_t stride = 0;          ///< receive only: each of `count` equal ones lies so far behind the one before
  std::uint32_t queue_pair = 0;
  std::uint32_t immediate = 0;
  std::uint32_t count = 1;            ///< receive only: this many equal ones
  std::uint32_t taker = kEveryTaker;  ///< reduce only: the end that gets the result
  std::uint32_t remote_key = 0;       ///< of remote_address at the peers; see MemoryRegions
  std::uint32_t peer = 0;             ///< datagram only: the end, or Packet::kFirstGroup plus the group, that it is for
  std::uint32_t peer_queue_pair = 0;  ///< datagram only: its queue pair there, unless it is for a group
  Verb verb = Verb::kSend;
  ElementType type = ElementType::kFp32;  ///< reduce only
  /// Write, multicast: from cores into a cache, with no memory to wait for. Read: into cores.
  bool stored = false;
  bool abstains = false;        ///< reduce only: takes part without an operand, by packets of a header alone
  bool with_immediate = false;  ///< delivers `immediate` and consumes a receive at the other end
  bool signaled = true;         ///< writes a completion when done
};
static_assert(std::is_trivially_copyable_v<WorkRequest>);

/// A completion queue entry, which the interface writes to the queue pair's completion address.
struct Completion {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t immediate = 0;
  Verb verb = Verb::kSend;
  bool has_immediate = false;
  Status status = Status::kSuccess;
  std::uint32_t source = 0;  ///< receive by a datagram or multicast: the end that sent it
};
static_assert(std::is_trivially_copyable_v<Completion>);

/// Completion addresses from here on belong to cores of the interface itself.
constexpr std::uint64_t kNear = 1ULL << 63;

/// Offset of the doorbell in the register window, which one WorkRequest is written to.
constexpr std::uint64_t kDoorbell = 0;

/// Offset of the doorbell of a queue in memory. A write of n requests of one queue pair, all of them receives or none,
/// stands for one that only says that there are n: the interface reads the entries from the host.
constexpr std::uint64_t kAnnouncement = 4096;
constexpr std::uint32_t kLongestBatch = 128;

/// An entry of a work queue or completion queue as the host link carries it: what ConnectX has, not what these take.
constexpr std::uint32_t kEntryBytes = 64;

}  // namespace weft::nic
