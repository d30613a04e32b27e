// SPDX-License-Identifier: Apache-2.0
// Unreliable datagrams, and what an interface sends to itself.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "hw/nic/explained.h"
#include "hw/nic/nic.h"
#include "hw/nic/phased_memory.h"
#include "hw/nic/tags.h"

namespace weft::nic {

std::uint32_t Nic::create_datagram_queue_pair(std::uint64_t completion_address) {
  const std::uint32_t number = create_queue_pair(completion_address);
  QueuePair& pair = pairs_[number];
  pair.peer_end = end_;  // each work request names its own
  may_loop_ = true;
  pair.grouped = true;
  pair.with_extra();
  return number;
}

void Nic::attach(std::uint32_t queue_pair, std::uint32_t group) {
  if (attached_.size() <= group) attached_.resize(group + 1);
  attached_[group].push_back(queue_pair);
}

Fetched Nic::cut_datagram(Time now, std::uint32_t number, Packet& packet) {
  QueuePair& pair = pairs_[number];
  const WorkRequest& request = pair.jobs.front().request;
  const auto bytes = static_cast<std::uint32_t>(request.bytes);
  packet.opcode = Opcode::kDatagram;
  packet.destination = request.peer;
  packet.queue_pair = request.peer_queue_pair;
  packet.address = number;  // tells the receiver whom to answer
  packet.psn = pair.next_psn++;
  packet.flags = Packet::kFirst | Packet::kLast;
  packet.payload_bytes = bytes;
  packet.wire_bytes = network_.wire_bytes(bytes) + kDatagramHeader;
  if (request.with_immediate) {
    packet.flags |= Packet::kImmediate;
    packet.immediate = request.immediate;
  }
  const Time ready = fetch(now, packet, request.local_address);
  if (packet.destination >= Packet::kFirstGroup) {
    group_engine_.serve(now, bytes);
    if (dispatcher_.causes() != nullptr) [[unlikely]]
      explained_->waits_for_group();
  }
  ++counters_.messages_sent;
  if (request.signaled) {
    complete_read(number, {request.id, request.bytes, number, 0, Verb::kSend, false}, ready);
  }
  pair.jobs.pop_front();
  --pair.ready_jobs;
  free_place(now, number, false);
  const bool grouped = packet.destination >= Packet::kFirstGroup;
  return {&packet, grouped ? not_before(group_engine_.free(), ready) : ready, packet.wire_bytes, number};
}

void Nic::receive_datagram(Time now, Packet& packet) {
  Time drained = now;
  if (packet.destination < Packet::kFirstGroup) {
    drained = take_datagram(now, packet, packet.queue_pair);
  } else {
    const std::uint32_t group = packet.destination - Packet::kFirstGroup;
    if (group >= attached_.size() || attached_[group].empty()) {
      ++counters_.dropped;  // not a member
    } else {
      for (const std::uint32_t number : attached_[group]) {
        drained = std::max(drained, take_datagram(now, packet, number));
      }
    }
  }
  release(packet, drained - now);
  packets_.give_back(&packet);
  pump(now);
}

Time Nic::take_datagram(Time now, Packet& packet, std::uint32_t number) {
  if (number >= pairs_.size() || !pairs_[number].grouped) {
    ++counters_.dropped;
    return now;
  }
  QueuePair& pair = pairs_[number];
  if (pair.receives.empty() || pair.receives.front().from > now) {
    ++counters_.no_receive;
    return now;
  }
  Receive& receive = pair.receives.front();
  const std::uint64_t address = receive.local_address;
  Completion entry{receive.id,     packet.payload_bytes + kGlobalRouteHeader, number, packet.immediate,
                   Verb::kReceive, (packet.flags & Packet::kImmediate) != 0};
  entry.source = packet.source;
  const bool fits = packet.payload_bytes + kGlobalRouteHeader <= receive.bytes;
  receive.local_address += receive.stride;
  ++receive.id;
  if (--receive.count == 0) pair.receives.pop_front();
  free_place(now, number, true);
  if (!fits) {
    entry.bytes = 0;
    entry.status = Status::kLengthError;
    complete(pair, entry, now + config_.write_latency);
    return now;
  }
  // The global route header comes before the payload; software uses no more of it than who sent this.
  if (data_ && !phases_) {
    GlobalRouteHeader header = global_route_header(packet);
    const MemoryMaster::Part part{tlm::TLM_WRITE_COMMAND, address, header.size(), header.data()};
    memory_.access({&part, 1}, now, 0);
  }
  const Time visible = store(now, packet, address + kGlobalRouteHeader, kGlobalRouteHeader);
  ++counters_.messages_received;
  complete_written(number, entry, visible);
  return host_.written(now);
}

void Nic::loop_back(Time now, Packet& packet) {
  packet.flags |= Packet::kLoopback;
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]]
    causes->mark(CauseKind::kHostLink, now + Time(packet.tail_lag_ps), Dispatcher::place_of(*this));
  dispatcher_.post(now + Time(packet.tail_lag_ps), *this, kArrive, reinterpret_cast<std::uint64_t>(&packet));
}

}  // namespace weft::nic
