// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hw/core/quantity.h"

namespace weft {

/// What a packet asks of the endpoint that it reaches; after the RC opcodes of the InfiniBand Architecture (volume 1,
/// 9.4), with first, middle and last told by flags, and what a fabric that reduces adds.
enum class Opcode : std::uint8_t {
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kAck,
  kReceiverNotReady,
  kNak,                     ///< packet sequence error: everything from `psn` on is missing
  kCongestionNotification,  ///< the receiver of a marked packet tells its sender
  kAccessError,             ///< remote access error: request `psn` reaches memory that its key does not open
  kDatagram,                ///< a message of its own, of one packet, that nobody acknowledges
  kReduce,                  ///< an operand on its way up a reduction tree
  kResult,                  ///< a reduction's result on its way down
  kTrimmed,                 ///< what a full switch has left of a kSend or kWrite: `psn`, and kBeforeLastHop
  kTrimmedResponse,         ///< the same of a kReadResponse, with its `address`
  kCredit                   ///< what the receiver grants, or the sender asks for: `address` bytes since the beginning
};

/// One transaction of the fabric: a packet of at most one MTU, or a segment of several that move together
/// (`fabric.segment`). A header of one cache line; the bytes themselves exist only when `data` is on.
struct alignas(64) Packet {
  static constexpr std::uint8_t kFirst = 1;      ///< first of its message
  static constexpr std::uint8_t kLast = 2;       ///< last of its message
  static constexpr std::uint8_t kImmediate = 4;  ///< carries `immediate`, consumes a receive work request
  static constexpr std::uint8_t kEcho = 4;       ///< of a kAck: `immediate` is what the receiver saw of the packet
  static constexpr std::uint8_t kAsks = 1;       ///< of unordered delivery, instead of kFirst: acknowledge it at once
  static constexpr std::uint8_t kBeforeLastHop = 1;  ///< of a kTrimmed and its kNak: not by the switch of its end
  static constexpr std::uint8_t kMarked = 8;         ///< passed a congested queue (ECN)
  static constexpr std::uint8_t kDamaged = 16;       ///< its check fails: whoever receives it drops it
  static constexpr std::uint8_t kLoopback = 32;      ///< never left its interface
  static constexpr std::uint8_t kStored = 64;        ///< comes from a cache and goes to one
  static constexpr std::uint8_t kRepeated = 128;     ///< its sender has sent it before

  /// Destinations from here on are groups of ends.
  static constexpr std::uint32_t kFirstGroup = 0x8000'0000;
  static constexpr std::uint16_t kNowhere = UINT16_MAX;
  /// Of `address`, what is an address; the bits above are the key that it is reached by.
  static constexpr int kAddressBits = 48;
  static constexpr std::uint64_t kAddressMask = (1ULL << kAddressBits) - 1;
  /// Of `queue_pair`, what is its number; the bits above are an entropy value, by which switches that choose paths by a
  /// hash lead packets of one queue pair over several (hw/nic/uet/path_selector.h).
  static constexpr int kQueuePairBits = 20;
  static constexpr std::uint32_t kQueuePairMask = (1U << kQueuePairBits) - 1;
  static constexpr int kEntropyBits = 32 - kQueuePairBits;

  Packet* next = nullptr;         ///< link of whichever queue holds it
  std::byte* payload = nullptr;   ///< null when `data` is off or nothing is carried
  std::uint64_t address = 0;      ///< where the payload goes at the destination (write), or comes from (read), and key
  std::uint32_t source = 0;       ///< endpoint that sent it
  std::uint32_t destination = 0;  ///< endpoint that it is for
  std::uint32_t payload_bytes = 0;  ///< user bytes carried; those asked for in a read request
  std::uint32_t wire_bytes = 0;     ///< with headers, as links carry and buffers hold it
  std::uint32_t psn = 0;            ///< packet sequence number of its queue pair
  std::uint32_t immediate = 0;
  std::uint32_t queue_pair = 0;   ///< at the destination, and entropy
  std::uint32_t tail_lag_ps = 0;  ///< the last byte passes here this much after the first
  Opcode opcode = Opcode::kSend;
  std::uint8_t lane = 0;  ///< virtual lane
  std::uint8_t flags = 0;
  /// To a group: which of its trees it takes, from 1; 0 until a switch says so. To an end: code of the largest load of
  /// a link that it has passed (hw/core/path_load.h), of switches that measure it.
  std::uint8_t tree = 0;
  std::uint16_t ingress = 0;     ///< port by which it entered the switch that holds it
  std::uint16_t via = kNowhere;  ///< where it goes first, for routing that does not take the shortest way
};
static_assert(sizeof(Packet) == 64);

/// The longest that a packet may take to pass anywhere: what Packet::tail_lag_ps holds, in round figures.
constexpr Time kLongestPassage = Time(UINT32_MAX / 10'000'000 * 10'000'000LL);

/// Source of packets and of their payload buffers for one platform. Nothing is returned to the allocator before the
/// end; what is out can be counted, which is how a run shows that it lost nothing.
class PacketPool {
 public:
  PacketPool() = default;
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  /// A packet whose fields have their initial values.
  Packet* take() {
    if (free_.empty()) grow();
    Packet* packet = free_.back();
    free_.pop_back();
    // Who copies a packet for many ports takes one after the other, none of which has been touched for long.
    if (free_.size() >= static_cast<std::size_t>(kAhead)) __builtin_prefetch(*(free_.end() - kAhead), 1);
    *packet = Packet{};
    ++outstanding_;
    return packet;
  }

  /// Gives `packet` a payload buffer of at least `bytes`.
  void attach_payload(Packet& packet, std::uint32_t bytes);

  /// Takes back the payload of a packet, if it has one.
  void strip(Packet& packet) {
    if (packet.payload != nullptr) detach_payload(packet);
  }

  /// Takes back the packet and its payload.
  void give_back(Packet* packet) {
    if (packet->payload != nullptr) detach_payload(*packet);
    free_.push_back(packet);
    --outstanding_;
  }

  [[nodiscard]] std::int64_t outstanding() const { return outstanding_; }
  [[nodiscard]] std::int64_t payloads_outstanding() const { return payloads_outstanding_; }

 private:
  void grow();
  void detach_payload(Packet& packet);

  static constexpr std::ptrdiff_t kAhead = 6;
  std::vector<Packet*> free_;  // a list through the packets themselves would have to wait for each
  std::int64_t outstanding_ = 0;
  std::int64_t payloads_outstanding_ = 0;
  std::vector<std::unique_ptr<Packet[]>> slabs_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<std::vector<std::byte*>> free_buffers_ = std::vector<std::vector<std::byte*>>(33);  // by log2 of size
};

}  // namespace weft
