// SPDX-License-Identifier: Apache-2.0
// What Ultra Ethernet does with what comes: it is placed in any order, and completes in turn.
#include <algorithm>

#include "hw/nic/congestion/pacing.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {

void Nic::Uet::receive(Time now, Packet& packet) {
  const Time drained = nic_.stands_in_error(nic_.pairs_[packet.queue_pair]) ? now : take(now, packet);
  nic_.release(packet, drained - now);
  nic_.packets_.give_back(&packet);
  nic_.pump(now);
}

Time Nic::Uet::take(Time now, Packet& packet) {
  const std::uint32_t number = packet.queue_pair;
  switch (packet.opcode) {
    case Opcode::kSend:
    case Opcode::kWrite:
    case Opcode::kReadRequest:
      return take_request(now, packet);
    case Opcode::kReadResponse:
      return take_response(now, packet);
    case Opcode::kTrimmed:
    case Opcode::kTrimmedResponse:
      take_trimmed(now, packet);
      break;
    case Opcode::kAck:
      take_acknowledgement(now, packet);
      break;
    case Opcode::kNak:
      take_nak(now, packet);
      break;
    case Opcode::kReceiverNotReady:
      take_refusal(now, packet);
      break;
    case Opcode::kCredit:
      take_credit(now, packet);
      break;
    case Opcode::kCongestionNotification:
      if (!nic_.paces_) break;
      ++nic_.counters_.rate_cuts;
      nic_.pairs_[number].congestion->control->congested(now);
      break;
    case Opcode::kAccessError:
      nic_.fail(now, number, Status::kRemoteAccessError);
      break;
    case Opcode::kDatagram:
    case Opcode::kReduce:
    case Opcode::kResult:
      SC_REPORT_FATAL(nic_.name(), "received a packet that this interface does not take");
  }
  return now;
}

const Receive* Nic::Uet::receive_of(Time now, const QueuePair& pair, const Flow& flow, std::uint64_t address) const {
  // Messages that take a receive are counted, of which the low bits are here.
  std::uint32_t place = static_cast<std::uint16_t>((address >> 32) - flow.taken);
  for (std::size_t i = 0; i < pair.receives.size() && pair.receives[i].from <= now; ++i) {
    if (place < pair.receives[i].count) return &pair.receives[i];
    place -= pair.receives[i].count;
  }
  return nullptr;
}

Time Nic::Uet::take_request(Time now, Packet& packet) {
  const std::uint32_t number = packet.queue_pair;
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  if (pair.refuses) return now;
  const std::uint32_t psn = whole_psn(packet.psn, pair.expected_psn);
  const std::uint32_t place = psn - pair.expected_psn;
  if (before(psn, pair.expected_psn) || (place < mine.came.size() && mine.came[place].here)) {
    // A piece of a read that is asked for again has the number of the read.
    const bool piece = packet.opcode == Opcode::kReadRequest && before(psn, pair.expected_psn);
    if (piece) answer_again(number, packet, psn);
    if (!piece) ++nic_.counters_.duplicates;
    acknowledge(now, packet, psn);
    return now;
  }
  std::uint64_t address = packet.address & Packet::kAddressMask;
  if (packet.opcode == Opcode::kSend) {
    const Receive* receive = receive_of(now, pair, mine, packet.address);
    if (receive == nullptr) {
      ++nic_.counters_.not_ready;
      nic_.control(Opcode::kReceiverNotReady, number, psn);
      return now;
    }
    const std::uint64_t offset = packet.address & UINT32_MAX;
    if (offset + packet.payload_bytes > receive->bytes) {
      SC_REPORT_FATAL(nic_.name(), "a message is longer than the receive that was posted for it");
    }
    address = receive->local_address + offset;
  } else if (key_of(packet) != 0 && packet.opcode == Opcode::kWrite && !nic_.is_open(now, packet)) {
    nic_.refuse_access(packet);
    return now;
  }
  if (place != 0) ++nic_.counters_.held;
  while (mine.came.size() <= place) mine.came.push_back({});
  Came& came = mine.came[place];
  came = {now, packet.address, packet.payload_bytes, packet.immediate, packet.opcode, packet.flags, true};
  Time drained = now;
  if (packet.opcode != Opcode::kReadRequest) {
    came.visible = nic_.store(now, packet, address);
    drained = nic_.host_.written(now);
  }
  const bool ended = advance(now, number);
  constexpr std::uint8_t kAtOnce = Packet::kAsks | Packet::kLast | Packet::kMarked | Packet::kRepeated;
  note_unacknowledged(now, packet, psn);
  // After a cut the window may be smaller than the sender thought when it did not ask.
  if (ended || mine.cut > 0 || (packet.flags & kAtOnce) != 0 ||
      mine.unacknowledged >= nic_.config_.uet.ack_every.count()) {
    acknowledge(now, packet, psn);
  }
  if (mine.cut > 0 && (packet.flags & Packet::kRepeated) != 0) --mine.cut;
  return drained;
}

bool Nic::Uet::advance(Time now, std::uint32_t number) {
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  bool ended = false;
  while (!mine.came.empty() && mine.came.front().here && !pair.refuses) {
    Came& came = mine.came.front();
    Packet packet;
    packet.opcode = came.opcode;
    packet.flags = came.flags;
    packet.queue_pair = number;
    packet.psn = pair.expected_psn;
    packet.immediate = came.immediate;
    packet.address = came.address;
    packet.payload_bytes = came.bytes;
    const bool last = (came.flags & Packet::kLast) != 0;
    if (came.opcode == Opcode::kReadRequest) {
      if (!nic_.is_open(now, packet)) {
        nic_.refuse_access(packet);
        break;
      }
      pair.with_extra().responses.push_back(
          {packet.address & Packet::kAddressMask, came.bytes, came.immediate, packet.psn, false});
      nic_.activate(number);
    } else {
      const bool takes = last && (came.opcode == Opcode::kSend || (came.flags & Packet::kImmediate) != 0);
      if (takes && (pair.receives.empty() || pair.receives.front().from > now)) {
        ++nic_.counters_.not_ready;
        nic_.control(Opcode::kReceiverNotReady, number, packet.psn);
        came.here = false;  // it is to come again
        break;
      }
      pair.message_bytes += came.bytes;
      mine.visible = std::max(mine.visible, came.visible);
      if (takes) ++mine.taken;
      if (last) {
        nic_.deliver(packet, pair, mine.visible);
        mine.visible = Time();
      }
    }
    ended = ended || last;
    mine.came.pop_front();
    ++pair.expected_psn;
  }
  return ended;
}

/// Packets that are acknowledged together lie within the bits of one acknowledgement.
void Nic::Uet::note_unacknowledged(Time now, const Packet& packet, std::uint32_t psn) {
  Flow& mine = flow(packet.queue_pair);
  const bool is_first = mine.unacknowledged == 0;
  const std::uint32_t lowest = is_first || before(psn, mine.lowest) ? psn : mine.lowest;
  const std::uint32_t highest = is_first || before(mine.highest, psn) ? psn : mine.highest;
  if (highest - lowest >= kSackBits) {
    Packet seen;
    seen.queue_pair = packet.queue_pair;
    acknowledge(now, seen, mine.highest);
    return note_unacknowledged(now, packet, psn);
  }
  mine.lowest = lowest;
  mine.highest = highest;
  mine.unacknowledged += packet.wire_bytes;
}

void Nic::Uet::acknowledge(Time now, const Packet& packet, std::uint32_t psn) {
  const std::uint32_t number = packet.queue_pair;
  const QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  const std::uint32_t furthest = mine.unacknowledged == 0 || before(mine.highest, psn) ? psn : mine.highest;
  mine.unacknowledged = 0;
  const std::uint32_t cumulative = pair.expected_psn - 1;
  Packet& ack = nic_.control(Opcode::kAck, number, cumulative);
  nic_.echo(now, packet, ack);
  ack.flags |= packet.flags & Packet::kRepeated;
  const std::uint32_t beyond = before(cumulative, furthest) ? furthest - cumulative : 0;
  const std::uint32_t back = std::min(cumulative + beyond - psn, kNoLatest);
  std::uint64_t here = 0;
  for (std::uint32_t down = 0; down < std::min<std::uint32_t>(beyond, kSackBits); ++down) {
    const std::uint32_t place = beyond - 1 - down;
    if (place < mine.came.size() && mine.came[place].here) here |= 1ULL << down;
  }
  ack.address =
      static_cast<std::uint64_t>(beyond) << kBeyondShift | static_cast<std::uint64_t>(back) << kSackBits | here;
}

void Nic::Uet::answer_again(std::uint32_t number, const Packet& request, std::uint32_t psn) {
  nic_.pairs_[number].with_extra().responses.push_back(
      {request.address & Packet::kAddressMask, request.payload_bytes, request.immediate, psn, true});
  nic_.activate(number);
}

Time Nic::Uet::take_response(Time now, Packet& packet) {
  const std::uint32_t number = packet.queue_pair;
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  const std::uint32_t psn = whole_psn(packet.psn, pair.next_psn);
  const auto found = mine.reads.find(psn);
  const std::size_t place = packet.address / nic_.segment_;
  if (found == mine.reads.end() || found->second.here[place]) {
    ++nic_.counters_.duplicates;
    return now;
  }
  Answer& answer = found->second;
  Job& read = *job_of(pair, psn);
  if (read.request.stored) packet.flags |= Packet::kStored;
  answer.here[place] = true;
  answer.visible = std::max(answer.visible, nic_.store(now, packet, read.request.local_address + packet.address));
  const Time drained = nic_.host_.written(now);
  note_progress(now, number);
  if (--answer.missing > 0) return drained;
  const Time visible = answer.visible;
  mine.reads.erase(found);
  read.answered = true;
  nic_.finish_read(number, psn, read, visible);
  return drained;
}

void Nic::Uet::take_trimmed(Time now, Packet& packet) {
  const std::uint32_t number = packet.queue_pair;
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  if (packet.opcode == Opcode::kTrimmedResponse) {
    const std::uint32_t psn = whole_psn(packet.psn, pair.next_psn);
    const auto found = mine.reads.find(psn);
    if (found == mine.reads.end() || found->second.here[packet.address / nic_.segment_]) return;
    const auto from = static_cast<std::uint32_t>(packet.address);
    const auto bytes = static_cast<std::uint32_t>(job_of(pair, psn)->request.bytes);
    mine.wanted.push_back({psn, from, std::min(from + nic_.segment_, bytes)});
    nic_.activate(number);
    return;
  }
  const std::uint32_t psn = whole_psn(packet.psn, pair.expected_psn);
  const std::uint32_t place = psn - pair.expected_psn;
  if (before(psn, pair.expected_psn) || (place < mine.came.size() && mine.came[place].here)) {
    return acknowledge(now, packet, psn);
  }
  ++nic_.counters_.naks;
  ++mine.cut;
  Packet& nak = nic_.control(Opcode::kNak, number, psn);
  nak.flags |= packet.flags & Packet::kBeforeLastHop;
  mine.credits.peer_cut += nic_.network_.wire_bytes(packet.immediate);
  make_hungry(now, number);
}

}  // namespace weft::nic
