// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/core/fifo.h"
#include "hw/core/packet.h"
#include "hw/nic/nic.h"
#include "hw/nic/reliability/selective_repeat.h"

namespace weft::nic {

/// Packets that came ahead of their turn, in the order of their turns: by sequence number, and by offset those that
/// answer one read.
class HeldPackets {
 public:
  [[nodiscard]] bool empty() const { return first_ == packets_.size(); }
  [[nodiscard]] std::size_t size() const { return packets_.size() - first_; }
  [[nodiscard]] Packet* operator[](std::size_t i) const { return packets_[first_ + i]; }
  [[nodiscard]] Packet* front() const { return packets_[first_]; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  /// False when the same packet is held already.
  bool insert(Packet& packet) {
    std::size_t at = packets_.size();
    while (at > first_ && follows(*packets_[at - 1], packet)) --at;
    if (at > first_ && !follows(packet, *packets_[at - 1])) return false;
    packets_.insert(packets_.begin() + static_cast<std::ptrdiff_t>(at), &packet);
    bytes_ += packet.wire_bytes;
    return true;
  }
  Packet* take_front() {
    Packet* packet = packets_[first_++];
    bytes_ -= packet->wire_bytes;
    if (2 * first_ >= packets_.size()) {
      packets_.erase(packets_.begin(), packets_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return packet;
  }

 private:
  static bool follows(const Packet& a, const Packet& b) {
    return a.psn != b.psn ? before(b.psn, a.psn) : a.address > b.address;
  }

  std::vector<Packet*> packets_;
  std::size_t first_ = 0;
  std::int64_t bytes_ = 0;
};

/// Whether it has a number of its sender's, which its receiver acknowledges.
inline bool asks(const Packet& packet) {
  return packet.opcode == Opcode::kSend || packet.opcode == Opcode::kWrite || packet.opcode == Opcode::kReadRequest;
}

/// What a queue pair needs to live with loss and overtaking, beside what every packet touches.
struct Nic::Recovery {
  /// Begins where its queue pair does.
  Recovery(std::uint32_t send_psn, std::uint32_t receive_psn)
      : end_psn(send_psn),
        sent_end(send_psn),
        rewound_end(send_psn),
        asked_psn(send_psn - 1),
        told_psn(receive_psn - 1),
        gaps(receive_psn),
        asked_end(receive_psn),
        asking_end(receive_psn),
        dropped_end(receive_psn),
        dropped_asked(receive_psn) {}

  // As requester
  std::uint32_t end_psn;      ///< follows the last one that was ever cut, and has left or is read ahead
  std::uint32_t sent_end;     ///< follows the last one that has ever left
  std::uint32_t rewound_end;  ///< what was cut up to here may have left before the latest rewinding
  std::uint32_t retries = 0;  ///< timeouts since the latest progress
  Time jitter;                ///< by which the next one comes later
  Time progress;              ///< the latest: something new acknowledged or answered, or the first packet after a rest
  bool timer = false;         ///< a timeout is pending: one event, moved on lazily, that may find nothing to do
  bool failed = false;        ///< stands in error
  Status reason = Status::kRetryExceeded;
  std::size_t flushed = 0;  ///< work requests that failed with it
  WorkRequest first_flushed;
  Repeats repeats;  ///< what a NAK with a count asked for, and reads
  HeldPackets responses;
  std::uint32_t asked_psn;  ///< the read, and the offset in it, from which it has been repeated
  std::uint32_t asked_offset = 0;
  std::optional<std::uint32_t> asked_before;  ///< requests from here on left after that; none: it has not left
  bool response_timer = false;
  bool response_dropped = false;  ///< one that came ahead found no room
  std::uint32_t waited_psn = 0;   ///< what was missing when it began
  std::uint32_t waited_offset = 0;

  // As responder
  std::uint32_t unacknowledged = 0;  ///< packets taken since the latest acknowledgement
  Time acknowledged_at;              ///< when that was, within a message
  std::uint32_t told_psn;            ///< the missing one that a NAK has named (go-back-N)
  Gaps gaps;                         ///< before the furthest that has come
  std::uint32_t asked_end;           ///< gaps before it have been asked for
  std::uint32_t asking_end;          ///< gaps before it will be when the timer ends
  std::size_t further = 0;           ///< packets that came ahead of all others since those were last asked for again
  std::uint32_t dropped_end;         ///< follows the furthest that came ahead and found no room
  std::uint32_t dropped_asked;       ///< what found none has been asked for up to here
  bool gap_timer = false;
  HeldPackets requests;
};

}  // namespace weft::nic
