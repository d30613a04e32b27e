// SPDX-License-Identifier: Apache-2.0
// Memory of Nic that says later when it is done: what waits for it.
#include "hw/nic/phased_memory.h"

#include <algorithm>
#include <cassert>

#include "hw/nic/explained.h"

namespace weft::nic {
namespace {

// Tokens of accesses: a number, and which of the two it is.
constexpr std::uint64_t kRead = 0;
constexpr std::uint64_t kWrite = 1;

}  // namespace

void Nic::use_phases() {
  memory_.use_phases();
  phases_ = true;
  phased_ = std::make_unique<Phased>();
}

Time Nic::begin_read(Time now, Packet& packet, std::uint64_t address) {
  Phased::Read read;
  read.packet = &packet;
  read.address = address;
  read.asked = now;
  read.waited = host_.wait_to_read(now);
  read.engine_free = engine_free_;
  const std::uint64_t number = phased_->first_read + phased_->reads.size();
  phased_->reads.push_back(read);
  const MemoryMaster::Part part{tlm::TLM_READ_COMMAND, address, packet.payload_bytes, packet.payload};
  return memory_.access({&part, 1}, now + read.waited, number << 1 | kRead);
}

Time Nic::begin_write(Time now, const Packet& packet, std::uint64_t address, std::uint32_t header) {
  const std::uint32_t bytes = packet.payload_bytes;
  const Time linked =
      host_.write(now, now + phased_->write_time, packet_cost_ * units_of(bytes), address - header, bytes + header);
  // What writes nothing waits for those before it all the same.
  if (bytes + header == 0 && phased_->writes.empty()) return linked;
  const std::uint64_t number = phased_->first_write + phased_->writes.size();
  Phased::Write& write = phased_->writes.emplace_back();
  write.asked = now;
  write.linked = linked;
  std::array<MemoryMaster::Part, 2> parts;
  parts[0] = {tlm::TLM_WRITE_COMMAND, address - header, data_ ? header : 0, nullptr};
  parts[1] = {tlm::TLM_WRITE_COMMAND, address, bytes, nullptr};
  if (data_) {
    write.data.resize(header + bytes);
    parts[0].data = write.data.data();
    parts[1].data = write.data.data() + header;
    if (header != 0) {
      const GlobalRouteHeader route = global_route_header(packet);
      std::copy(route.begin(), route.end(), parts[0].data);
    }
    if (bytes != 0) std::copy(packet.payload, packet.payload + bytes, parts[1].data);
  }
  const Time done = memory_.access(parts, now, number << 1 | kWrite);
  if (done == kNever) return kNever;
  write.answered = done;
  if (phased_->writes.size() > 1) return kNever;
  phased_->writes.pop_back();
  return linked;
}

void Nic::memory_answered(Time now, std::uint64_t token) {
  const std::uint64_t number = token >> 1;
  if ((token & 1) == kWrite) {
    Phased::Write& write = phased_->writes[number - phased_->first_write];
    write.answered = now;
    phased_->write_time = now - write.asked;
    while (!phased_->writes.empty() && phased_->writes.front().answered != kNever) end_write(now);
  } else {
    phased_->reads[number - phased_->first_read].answered = now;
    while (!phased_->reads.empty() && phased_->reads.front().answered != kNever) end_read(now);
  }
  pump(now);
}

void Nic::end_read(Time now) {
  const Phased::Read read = phased_->reads.front();
  phased_->reads.pop_front();
  ++phased_->first_read;
  // Reads before it that had not been answered when it was asked for may hold its tag for longer than was known then.
  const Time late = std::max(host_.wait_to_read(read.asked) - read.waited, Time());
  const HostLink::Arrival data =
      host_.read(read.asked, read.engine_free, host_.streamed(read.answered + late, read.packet->payload_bytes),
                 read.address, read.packet->payload_bytes);
  read.packet->tail_lag_ps = static_cast<std::uint32_t>(data.spread.count());
  const Time ready = std::max(now, data.tail - data.spread);
  if (read.dropped) return packets_.give_back(read.packet);
  WayOut& way = may_loop_ && read.packet->destination == end_ ? loop_ : wire_;
  std::size_t place = 0;
  while (way.fetched[place].ready != kNever) ++place;
  assert(way.fetched[place].packet == read.packet);
  way.fetched[place].ready = std::max(ready, read.not_before);
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    explained_->answered(way, place, now, ready);
  if (read.completes) complete(pairs_[read.entry.queue_pair], read.entry, ready + config_.write_latency);
}

void Nic::forget_read(const Packet& packet) {
  // It is given back when memory has answered.
  for (Phased::Read& read : phased_->reads) read.dropped = read.dropped || read.packet == &packet;
}

void Nic::end_write(Time now) {
  const Phased::Write write = std::move(phased_->writes.front());
  phased_->writes.pop_front();
  ++phased_->first_write;
  const Time visible = std::max(now, write.linked);
  QueuePair& pair = pairs_[write.entry.queue_pair];
  switch (write.then) {
    case Phased::Then::kNothing:
      break;
    case Phased::Then::kComplete:
      complete(pair, write.entry, visible);
      break;
    case Phased::Then::kAcknowledge:
      for (std::size_t i = 0; i < pair.jobs.size(); ++i) {
        Job& job = pair.jobs[i];
        if (!job.answered || job.visible) continue;  // data of reads comes in their order
        finish_read(write.entry.queue_pair, write.psn, job, visible);
        break;
      }
  }
}

Time Nic::not_before(Time at, Time ready) {
  if (ready == kNever) phased_->reads.back().not_before = at;
  return std::max(at, ready);
}

void Nic::complete_read(std::uint32_t number, const Completion& entry, Time ready) {
  if (ready != kNever) {
    if (dispatcher_.causes() != nullptr) [[unlikely]]
      explained_->mark_latest(ready);
    return complete(pairs_[number], entry, ready + config_.write_latency);
  }
  phased_->reads.back().completes = true;
  phased_->reads.back().entry = entry;
}

void Nic::complete_written(std::uint32_t number, const Completion& entry, Time visible) {
  if (visible != kNever) return complete(pairs_[number], entry, visible);
  phased_->writes.back().then = Phased::Then::kComplete;
  phased_->writes.back().entry = entry;
}

void Nic::finish_read(std::uint32_t number, std::uint32_t psn, Job& job, Time visible) {
  if (visible == kNever) {
    Phased::Write& write = phased_->writes.back();
    write.then = Phased::Then::kAcknowledge;
    write.entry.queue_pair = number;
    write.psn = psn;
    return;
  }
  job.visible = true;
  if (sprays_) return retire(visible - config_.write_latency, number);  // its request is acknowledged by itself
  acknowledge(visible - config_.write_latency, number, psn);
}

}  // namespace weft::nic
