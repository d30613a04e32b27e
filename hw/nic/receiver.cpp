// SPDX-License-Identifier: Apache-2.0
// The receiving half of Nic: packets go to memory, messages to completions, answers back.
#include <algorithm>

#include "hw/nic/congestion/pacing.h"
#include "hw/nic/explained.h"
#include "hw/nic/nic.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {

void Nic::release(Packet& packet, Time delay) {
  if ((packet.flags & Packet::kLoopback) != 0) [[unlikely]] {
    // What came from here is not counted.
    if (packet.opcode == Opcode::kReadRequest) return;
    counters_.bytes_received -= packet.payload_bytes;
    loop_bytes_ += packet.payload_bytes;
    return;
  }
  sc_core::sc_time annotated = to_delay(delay);
  fabric::Phase phase = fabric::Phase::kCredit;
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    dispatcher_.causes()->set_holder(explained_->holder(), Dispatcher::place_of(*this));
  upstream_->nb_transport_bw(packet, phase, annotated);
}

Packet& Nic::control(Opcode opcode, std::uint32_t queue_pair, std::uint32_t psn) {
  const QueuePair& pair = pairs_[queue_pair];
  Packet* packet = packets_.take();
  packet->opcode = opcode;
  packet->source = end_;
  packet->destination = pair.peer_end;
  packet->queue_pair = pair.peer_queue_pair;
  packet->psn = psn & kPsnMask;
  packet->wire_bytes = control_bytes_;
  if (sprays_) [[unlikely]]
    packet->queue_pair |= uet_->entropy_bits(queue_pair);
  way_of(pair).control.push_back(packet);
  return *packet;
}

void Nic::answer(const Packet& packet) {
  Packet& ack = control(Opcode::kAck, packet.queue_pair, packet.psn);
  if (hears_) [[unlikely]]
    echo(dispatcher_.now(), packet, ack);
}

Time Nic::store(Time now, const Packet& packet, std::uint64_t address, std::uint32_t header) {
  const std::uint32_t bytes = packet.payload_bytes;
  counters_.bytes_received += bytes;
  Time memory = now;
  if ((packet.flags & Packet::kStored) != 0) [[unlikely]] {
    if (data_) memory_.debug({tlm::TLM_WRITE_COMMAND, address, bytes, packet.payload});
  } else if (phases_) [[unlikely]] {
    return begin_write(now, packet, address, header);
  } else if (bytes != 0) {
    memory = memory_.access_blocking(*memory_port_, now, tlm::TLM_WRITE_COMMAND, address, packet.payload, bytes, now);
  }
  const Time visible = host_.write(now, memory, packet_cost_ * units_of(bytes), address - header, bytes + header);
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    explained_->written(now, memory, visible);
  return visible;
}

bool Nic::accept(Time now, Packet& packet, QueuePair& pair, std::uint64_t& address) {
  if (pair.refuses) [[unlikely]]
    return false;
  const auto ahead = static_cast<std::int32_t>(packet.psn - pair.expected_psn);
  if (ahead != 0) {
    ++counters_.dropped;
    return false;
  }
  const bool send = packet.opcode == Opcode::kSend;
  const bool needs_receive = send ? true : (packet.flags & Packet::kImmediate) != 0;
  if (needs_receive && (pair.receives.empty() || pair.receives.front().from > now)) {
    ++counters_.not_ready;
    if (recovers_) note_refused(pair);
    control(Opcode::kReceiverNotReady, packet.queue_pair, packet.psn);
    return false;
  }
  if (send) {
    const Receive& receive = pair.receives.front();
    address = receive.local_address + pair.message_bytes;
    if (pair.message_bytes + packet.payload_bytes > receive.bytes) {
      SC_REPORT_FATAL(name(), "a message is longer than the receive that was posted for it");
    }
  }
  ++pair.expected_psn;
  return true;
}

void Nic::finish_message(const Packet& packet, QueuePair& pair, Time visible) {
  deliver(packet, pair, visible);
  if (posts_ && pair.peer_end != end_) return acknowledge_directly(dispatcher_.now(), pair, packet.psn);
  answer(packet);
}

void Nic::deliver(const Packet& packet, QueuePair& pair, Time visible) {
  ++counters_.messages_received;
  const bool immediate = (packet.flags & Packet::kImmediate) != 0;
  if (packet.opcode == Opcode::kSend || immediate) {
    Receive& receive = pair.receives.front();
    const std::uint64_t id = receive.id;
    if (--receive.count == 0) pair.receives.pop_front();
    free_place(dispatcher_.now(), packet.queue_pair, true);
    complete_written(packet.queue_pair,
                     {id, pair.message_bytes, packet.queue_pair, packet.immediate, Verb::kReceive, immediate}, visible);
  }
  pair.message_bytes = 0;
}

Time Nic::take(Time now, Packet& packet, QueuePair& pair) {
  const std::uint32_t number = packet.queue_pair;
  switch (packet.opcode) {
    case Opcode::kAck:
      acknowledge(now, number, packet.psn, (packet.flags & Packet::kEcho) != 0 ? packet.immediate : 0);
      break;
    case Opcode::kReceiverNotReady:
      // All before it arrived.
      acknowledge(now, number, packet.psn - 1);
      refused(now, number, packet.psn);
      break;
    case Opcode::kReadResponse: {
      // It belongs to the first read that still waits; all before its request has arrived.
      std::size_t first = 0;
      while (pair.jobs[first].request.verb != Verb::kRead || pair.jobs[first].answered) ++first;
      Job& read = pair.jobs[first];
      if (read.request.stored) [[unlikely]]
        packet.flags |= Packet::kStored;
      const Time visible = store(now, packet, read.request.local_address + packet.address);
      const Time drained = host_.written(now);
      read.received += packet.payload_bytes;
      if (read.received == read.request.bytes) {
        read.answered = true;
        finish_read(number, packet.psn, read, visible);
      }
      return drained;
    }
    case Opcode::kReadRequest:
      if (pair.refuses) break;
      if (packet.psn == pair.expected_psn) {
        if (!is_open(now, packet)) [[unlikely]] {
          refuse_access(packet);
          break;
        }
        ++pair.expected_psn;
        pair.with_extra().responses.push_back(
            {packet.address & Packet::kAddressMask, packet.payload_bytes, packet.immediate, packet.psn, false});
        activate(number);
      } else {
        ++counters_.dropped;
      }
      break;
    case Opcode::kSend:
    case Opcode::kWrite: {
      std::uint64_t address = packet.address & Packet::kAddressMask;
      if (key_of(packet) != 0 && packet.psn == pair.expected_psn && packet.opcode == Opcode::kWrite && !pair.refuses &&
          !is_open(now, packet)) [[unlikely]] {
        refuse_access(packet);
        break;
      }
      if (!accept(now, packet, pair, address)) break;
      if (recovers_) [[unlikely]]
        note_taken(now, packet, pair);
      const Time visible = store(now, packet, address);
      const Time drained = host_.written(now);
      pair.message_bytes += packet.payload_bytes;
      if ((packet.flags & Packet::kLast) != 0) {
        finish_message(packet, pair, visible);
      } else if (hears_) [[unlikely]] {
        answer(packet);
      }
      return drained;
    }
    case Opcode::kNak:
      take_nak(now, packet);
      break;
    case Opcode::kCongestionNotification:
      if (!paces_) break;  // the peer controls congestion, this end does not
      ++counters_.rate_cuts;
      pair.congestion->control->congested(now);
      break;
    case Opcode::kAccessError:
      acknowledge(now, number, packet.psn - 1);
      fail(now, number, Status::kRemoteAccessError);
      break;
    case Opcode::kTrimmed:
    case Opcode::kTrimmedResponse:
      ++counters_.dropped;  // RoCE makes nothing of a header alone
      break;
    case Opcode::kDatagram:
    case Opcode::kReduce:
    case Opcode::kResult:
    case Opcode::kCredit:
      SC_REPORT_FATAL(name(), "received a packet that this interface does not take");
  }
  return now;
}

void Nic::refuse_access(const Packet& packet) {
  // Behind what has been asked for before.
  ++counters_.access_errors;
  QueuePair& pair = pairs_[packet.queue_pair];
  pair.refuses = true;
  Response answer;
  answer.psn = packet.psn;
  answer.refused = true;
  pair.with_extra().responses.push_back(answer);
  activate(packet.queue_pair);
}

void Nic::receive(Time now, Packet& packet) {
  if (sprays_) [[unlikely]]
    packet.queue_pair &= Packet::kQueuePairMask;
  if ((packet.flags & Packet::kDamaged) != 0) [[unlikely]] {
    ++counters_.damaged;
    release(packet, Time());
    packets_.give_back(&packet);
    return;
  }
  ++counters_.packets_received;
  if (contexts_ != nullptr && waits_for_context(now, packet)) [[unlikely]]
    return;
  handle(now, packet);
}

void Nic::handle(Time now, Packet& packet) {
  if (packet.opcode == Opcode::kDatagram) [[unlikely]]
    return receive_datagram(now, packet);
  if (packet.destination >= Packet::kFirstGroup) [[unlikely]]
    return receive_group(now, packet);
  QueuePair& pair = pairs_[packet.queue_pair];
  if (paces_ && (packet.flags & Packet::kMarked) != 0) [[unlikely]]
    notify_congestion(now, packet);
  if (sprays_) [[unlikely]]
    return uet_->receive(now, packet);
  packet.psn = whole_psn(packet.psn, asks(packet) ? pair.expected_psn : pair.next_psn);
  if (recovers_) [[unlikely]]
    return receive_in_turn(now, packet, pair);
  const bool to_send = packet.opcode == Opcode::kReadRequest;
  const Time drained = take(now, packet, pair);
  release(packet, drained - now);
  packets_.give_back(&packet);
  if (to_send || owes_control() || pair.refuses) pump(now);
}

}  // namespace weft::nic
