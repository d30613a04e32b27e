// SPDX-License-Identifier: Apache-2.0
// Queue pairs of groups: multicast, and operands and results of reductions in the network.
#include <algorithm>
#include <cassert>

#include "hw/nic/explained.h"
#include "hw/nic/nic.h"
#include "hw/nic/tags.h"

namespace weft::nic {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

std::uint32_t Nic::create_group_sender(std::uint64_t completion_address, std::uint32_t group) {
  const std::uint32_t number = create_queue_pair(completion_address);
  QueuePair& pair = pairs_[number];
  pair.peer_end = Packet::kFirstGroup + group;
  pair.grouped = true;
  pair.with_extra().group.id = group;
  return number;
}

std::uint32_t Nic::create_group_queue_pair(std::uint64_t completion_address, std::uint32_t group, int window) {
  const std::uint32_t number = create_group_sender(completion_address, group);
  pairs_[number].group().window = static_cast<std::uint32_t>(window);
  if (group_ends_.size() <= group) group_ends_.resize(group + 1);
  group_ends_[group].queue_pairs[window > 0 ? 1 : 0] = number;
  return number;
}

Fetched Nic::cut_group_packet(Time now, std::uint32_t number, Packet& packet) {
  QueuePair& pair = pairs_[number];
  Job& job = pair.jobs[pair.next_job];
  const WorkRequest& request = job.request;
  if (request.verb == Verb::kSend) return cut_datagram(now, number, packet);
  const bool reduces = request.verb == Verb::kReduce;
  assert(reduces == (pair.group().window > 0) && "not a verb of this queue pair");
  const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.bytes - job.cut, segment_));
  if (job.cut == 0) {
    packet.flags |= Packet::kFirst;
    job.first_psn = pair.next_psn;
    job.packets = packets_of(request.bytes);
  }
  packet.psn = pair.next_psn++;
  const std::uint32_t carried = reduces && request.abstains ? 0 : bytes;
  packet.payload_bytes = carried;
  packet.wire_bytes = network_.wire_bytes(bytes) - (bytes - carried);
  packet.address = (request.remote_address + job.cut) | static_cast<std::uint64_t>(request.remote_key)
                                                            << Packet::kAddressBits;
  if (reduces) {
    packet.opcode = Opcode::kReduce;
    packet.queue_pair = static_cast<std::uint32_t>(request.type);
    packet.immediate = request.taker;
  } else {
    packet.opcode = Opcode::kWrite;
    if (request.stored) packet.flags |= Packet::kStored;
  }
  const Time ready = fetch(now, packet, request.local_address + job.cut);
  group_engine_.serve(now, carried);
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    explained_->waits_for_group();
  job.cut += bytes;
  if (job.cut == request.bytes) {
    packet.flags |= Packet::kLast;
    ++counters_.messages_sent;
    if (reduces) {
      ++pair.next_job;
    } else {
      if (request.with_immediate) {
        packet.flags |= Packet::kImmediate;
        packet.immediate = request.immediate;
      }
      if (request.signaled) {
        complete_read(number, {request.id, request.bytes, number, 0, request.verb, false}, ready);
      }
      pair.jobs.pop_front();
      --pair.ready_jobs;
      free_place(now, number, false);
    }
  }
  return {&packet, not_before(group_engine_.free(), ready), packet.wire_bytes, number};
}

void Nic::receive_group(Time now, Packet& packet) {
  const std::uint32_t group = packet.destination - Packet::kFirstGroup;
  const bool is_result = packet.opcode == Opcode::kResult;
  const std::uint32_t number = group < group_ends_.size() ? group_ends_[group].queue_pairs[is_result ? 1 : 0] : kNone;
  Time drained = now;
  if (number == kNone) {
    ++counters_.dropped;  // not a member
  } else {
    drained = is_result ? take_result(now, packet, number) : take_multicast(now, packet, group);
  }
  release(packet, drained - now);
  packets_.give_back(&packet);
  if (!wire_.ring.empty() || !wire_.fetched.empty() || owes_control()) pump(now);
}

Time Nic::take_result(Time now, const Packet& packet, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  const std::uint32_t psn = pair.group().results++;
  assert(packet.psn == (psn & kPsnMask) && "results come in order");
  const Job& job = pair.jobs.front();
  const std::uint64_t offset = static_cast<std::uint64_t>(psn - job.first_psn) * segment_;
  const Time visible = store(now, packet, job.request.remote_address + offset);
  const Time drained = packet.payload_bytes == 0 ? now : host_.written(now);
  if (psn + 1 == job.first_psn + job.packets) {
    ++counters_.messages_received;
    if (job.request.signaled) {
      complete_written(number, {job.request.id, job.request.bytes, number, 0, Verb::kReduce, false}, visible);
    }
    pair.jobs.pop_front();
    --pair.next_job;
    --pair.ready_jobs;
    free_place(now, number, false);
  }
  activate(number);
  return drained;
}

Time Nic::take_multicast(Time now, Packet& packet, std::uint32_t group) {
  GroupEnd& end = group_ends_[group];
  if (packet.source >= end.sources.size()) end.sources.resize(packet.source + 1);
  GroupEnd::Source& source = end.sources[packet.source];
  // A gap is a loss. The message that it belongs to never completes; what begins after it does (9.8.2.2).
  const bool whole = (packet.flags & Packet::kFirst) != 0 || (source.whole != 0 && packet.psn == source.next_psn);
  source.whole = whole ? 1 : 0;
  source.next_psn = (packet.psn + 1) & kPsnMask;
  if (!whole) {
    ++counters_.dropped;
    return now;
  }
  if (!is_open(now, packet)) [[unlikely]] {
    ++counters_.access_errors;
    source.whole = 0;
    return now;
  }
  const bool notifies = (packet.flags & Packet::kLast) != 0 && (packet.flags & Packet::kImmediate) != 0;
  // Only the last packet of a message touches its queue pair.
  const std::uint32_t number = end.queue_pairs[0];
  QueuePair& pair = pairs_[number];
  if (notifies && (pair.receives.empty() || pair.receives.front().from > now)) {
    ++counters_.no_receive;  // nobody waits for it, and nobody can be told
    return now;
  }
  const Time visible = store(now, packet, packet.address & Packet::kAddressMask);
  const Time drained = host_.written(now);
  if ((packet.flags & Packet::kLast) == 0) return drained;
  ++counters_.messages_received;
  if (!notifies) return drained;
  Receive& receive = pair.receives.front();
  const std::uint64_t id = receive.id++;
  if (--receive.count == 0) pair.receives.pop_front();
  free_place(now, number, true);
  Completion entry{id, packet.payload_bytes, number, packet.immediate, Verb::kReceive, true};
  entry.source = packet.source;
  complete_written(number, entry, visible);
  return drained;
}

}  // namespace weft::nic
