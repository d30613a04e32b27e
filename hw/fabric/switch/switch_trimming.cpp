// SPDX-License-Identifier: Apache-2.0
// Packet trimming: what a full queue leaves of a packet is its header, which goes ahead of all payload.
#include <algorithm>

#include "hw/fabric/switch/switch.h"

namespace weft::fabric {
namespace {

/// Whether its payload may be cut off. Those of groups and datagrams are nobody's to repeat.
bool may_be_cut(const Packet& packet) {
  const bool carries =
      packet.opcode == Opcode::kSend || packet.opcode == Opcode::kWrite || packet.opcode == Opcode::kReadResponse;
  return carries && packet.payload_bytes > 0 && packet.destination < Packet::kFirstGroup;
}

}  // namespace

/// What tells of other packets is worth more than these.
bool Switch::is_urgent(const Packet& packet) {
  switch (packet.opcode) {
    case Opcode::kAck:
    case Opcode::kReceiverNotReady:
    case Opcode::kNak:
    case Opcode::kCongestionNotification:
    case Opcode::kTrimmed:
    case Opcode::kTrimmedResponse:
    case Opcode::kCredit:
      return true;
    default:
      return false;
  }
}

void Switch::find_last_hops() {
  for (const Transmitter& transmitter : transmitters_) {
    last_hops_.push_back(dynamic_cast<const Input*>(transmitter.peer()) == nullptr);
  }
}

/// The lane that is looked at first. Headers go first, but after ten of them one packet does, so that headers alone can
/// never fill a link (Handley et al., SIGCOMM 2017, 3.1).
std::uint32_t Switch::lane_in_turn(std::uint32_t index) {
  constexpr std::uint8_t kInARow = 10;
  std::uint8_t& turns = urgent_turns_[index];
  const bool is_urgent_turn = turns < kInARow && (outputs_[index].lanes >> urgent_lane() & 1U) != 0;
  turns = is_urgent_turn ? static_cast<std::uint8_t>(turns + 1) : std::uint8_t{0};
  return is_urgent_turn ? urgent_lane() : 0;
}

/// Leaves the header of a packet, which had a place in the buffer if `held`.
bool Switch::cut(Time now, Packet& packet, bool held) {
  if (!may_be_cut(packet)) return false;
  const std::uint32_t payload = packet.payload_bytes;
  if (held) release(now, packet.ingress, packet.lane, payload, now + Time(packet.tail_lag_ps));
  packet.opcode = packet.opcode == Opcode::kReadResponse ? Opcode::kTrimmedResponse : Opcode::kTrimmed;
  packet.flags = 0;
  packet.immediate = payload;
  packet.payload_bytes = 0;
  packet.wire_bytes -= payload;
  const Time length = transmitters_[packet.ingress].length(packet.wire_bytes);
  packet.tail_lag_ps = std::min(packet.tail_lag_ps, static_cast<std::uint32_t>(length.count()));
  packets_.strip(packet);
  return true;
}

/// The lane on which a packet waits for an output; what finds the queue full is cut.
std::uint32_t Switch::lane_to_wait(Time now, std::uint32_t index, std::uint32_t lane, Packet& packet) {
  const std::int64_t queued = outputs_[index].waiting_bytes - urgent_bytes_[index];
  if (queued + packet.wire_bytes > config_.buffer.trim.count() && cut(now, packet, true)) {
    ++port_counters_[index].trimmed;
    if (!last_hops_[index]) packet.flags |= Packet::kBeforeLastHop;
  }
  return is_urgent(packet) ? urgent_lane() : lane;
}

}  // namespace weft::fabric
