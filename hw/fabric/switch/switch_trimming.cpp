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

bool Switch::cut_at_output(Time now, std::uint32_t index, Packet& packet) {
  if (!cut(now, packet, true)) return false;
  ++port_counters_[index].trimmed;
  if (!last_hops_[index]) packet.flags |= Packet::kBeforeLastHop;
  return true;
}

/// Cuts the newest packet that waits for an output, and lets its header wait on the last lane. False if that has left,
/// or may not be cut.
bool Switch::cut_newest(Time now, std::uint32_t index) {
  const Newest newest = newest_[index];
  if (newest.packet == nullptr) return false;
  Output& output = outputs_[index];
  Queue& q = queue(index, newest.lane, newest.source);
  if (q.head == nullptr || q.tail != newest.packet || !may_be_cut(*q.tail)) return false;
  Packet& packet = *q.tail;
  if (q.head == q.tail) {
    dequeue(index, newest.lane, newest.source);
  } else {
    Packet* before = q.head;
    while (before->next != q.tail) before = before->next;
    before->next = nullptr;
    q.tail = before;
    --output.waiting;
    output.waiting_bytes -= packet.wire_bytes;
  }
  Input& from = inputs_[packet.ingress];
  const Time missing = from.missing(now, packet);
  packet.tail_lag_ps = static_cast<std::uint32_t>(missing.count());
  cut_at_output(now, index, packet);
  if (missing > Time()) from.waits(now, packet);
  if (let_wait(index, urgent_lane(), packet)) arm(now, index);
  return true;
}

/// The lane on which a packet waits for an output. Where it finds the queue full, it or the newest that waits is cut,
/// by the toss of a coin (htsim/sim/compositequeue.cpp): flows that arrive in step would otherwise keep their places in
/// the queue, and one of them would always find it full.
std::uint32_t Switch::lane_to_wait(Time now, std::uint32_t index, std::uint32_t lane, Packet& packet) {
  if (is_urgent(packet)) return urgent_lane();
  const std::int64_t queued = outputs_[index].waiting_bytes - urgent_bytes_[index];
  if (queued + packet.wire_bytes > config_.buffer.trim.count() && may_be_cut(packet)) {
    const bool spared = !has_arbiters_ && random_.share() < 0.5 && cut_newest(now, index);
    if (!spared && cut_at_output(now, index, packet)) return urgent_lane();
  }
  newest_[index] = {&packet, source_of(packet), lane};
  return lane;
}

}  // namespace weft::fabric
