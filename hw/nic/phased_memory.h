// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "hw/core/packet.h"
#include "hw/core/quantity.h"
#include "hw/nic/nic.h"
#include "hw/nic/work.h"

namespace weft::nic {

/// What comes before the payload of a datagram in memory: software uses no more of it than who sent this.
using GlobalRouteHeader = std::array<std::byte, kGlobalRouteHeader>;
inline GlobalRouteHeader global_route_header(const Packet& packet) {
  GlobalRouteHeader header{};
  std::memcpy(header.data(), &packet.source, sizeof packet.source);
  return header;
}

/// Reads and writes of a memory that says later when it is done, in the order in which they began. Memory may answer
/// them in another; they end in this one.
struct Nic::Phased {
  struct Read {
    Packet* packet = nullptr;
    std::uint64_t address = 0;
    Time asked;
    Time waited;       ///< of this, for a tag of the host link
    Time engine_free;  ///< the engine hands nothing on before
    Time not_before;   ///< nor may the packet leave
    Time answered = kNever;
    bool dropped = false;  ///< its packet does not leave
    bool completes = false;
    Completion entry;  ///< for queue pair entry.queue_pair
  };
  /// What follows when a write is visible.
  enum class Then : std::uint8_t { kNothing, kComplete, kAcknowledge };
  struct Write {
    Time asked;
    Time linked;  ///< when it will have crossed the host link
    Time answered = kNever;
    Then then = Then::kNothing;
    Completion entry;  ///< likewise; of kAcknowledge the queue pair alone
    std::uint32_t psn = 0;
    std::vector<std::byte> data;  ///< its packet is gone by then
  };

  std::deque<Read> reads;
  std::deque<Write> writes;
  std::uint64_t first_read = 0;  ///< how many have ended
  std::uint64_t first_write = 0;
  Time write_time;  ///< that memory took for the latest write it has answered
};

}  // namespace weft::nic
