// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/link.h"

#include <cassert>

namespace weft::fabric {

Transmitter::Transmitter(Dispatcher& dispatcher, const LinkConfig& config, const EventTarget& owner, std::uint32_t tag,
                         const Stall::Config& stall, const std::string& name)
    : dispatcher_(dispatcher),
      byte_time_(config.rate),
      propagation_(config.propagation),
      lanes_(static_cast<std::size_t>(config.lanes)),
      owner_(owner),
      tag_(tag),
      stall_(stall, name),
      rate_(config.rate),
      buffer_(config.buffer.count()) {
  for (Lane& lane : lanes_) lane.available = buffer_;
}

void Transmitter::push(Lane& lane, Credit credit) {
  auto size = static_cast<std::uint32_t>(lane.coming.size());
  if (lane.count == size) {
    std::vector<Credit> larger(2 * size);
    for (std::uint32_t i = 0; i < size; ++i) larger[i] = lane.coming[(lane.first + i) & (size - 1)];
    lane.coming = std::move(larger);
    lane.first = 0;
    size *= 2;
  }
  // Packets of a buffer may leave by different ports, so a later call can carry an earlier time.
  std::uint32_t at = lane.count++;
  for (; at > 0; --at) {
    const Credit& before = lane.coming[(lane.first + at - 1) & (size - 1)];
    if (before.time <= credit.time) break;
    lane.coming[(lane.first + at) & (size - 1)] = before;
  }
  lane.coming[(lane.first + at) & (size - 1)] = credit;
}

void Transmitter::collect(Lane& lane, std::int64_t now) {
  const auto mask = static_cast<std::uint32_t>(lane.coming.size()) - 1;
  while (lane.count != 0 && lane.coming[lane.first].time <= now) {
    lane.available += lane.coming[lane.first].bytes;
    lane.first = (lane.first + 1) & mask;
    --lane.count;
  }
}

Time Transmitter::credit_at(int lane_index, std::int64_t wire_bytes, Time now) {
  Lane& lane = lanes_[static_cast<std::size_t>(lane_index)];
  if (lane.available >= wire_bytes) return now;
  collect(lane, now.count());
  if (lane.available >= wire_bytes) return now;
  std::int64_t sum = lane.available;
  const auto mask = static_cast<std::uint32_t>(lane.coming.size()) - 1;
  for (std::uint32_t i = 0; i < lane.count; ++i) {
    const Credit& credit = lane.coming[(lane.first + i) & mask];
    sum += credit.bytes;
    if (sum >= wire_bytes) return Time(credit.time);
  }
  return kNever;
}

Time Transmitter::send(Packet& packet, Time ready) {
  Lane& lane = lanes_[packet.lane];
  lane.available -= packet.wire_bytes;
  assert(lane.available >= 0 && "sent without credit");
  const Time length = byte_time_(packet.wire_bytes);
  Time head = std::max(ready, free_at_) + stall_.next();
  // The last byte cannot leave before it came; a slower arrival delays the start, not the length.
  head = std::max(head, ready + Time(packet.tail_lag_ps) - length);
  free_at_ = head + length;
  packet.tail_lag_ps = static_cast<std::uint32_t>(length.count());
  ++counters_.packets;
  counters_.wire_bytes += packet.wire_bytes;
  counters_.payload_bytes += packet.payload_bytes;
  counters_.busy += length;
  sc_core::sc_time delay = to_delay(head + propagation_ - dispatcher_.now());
  Phase phase = Phase::kPacket;
  peer_->nb_transport_fw(packet, phase, delay);
  return free_at_;
}

std::int64_t Transmitter::credit_missing() {
  std::int64_t missing = 0;
  for (Lane& lane : lanes_) {
    collect(lane, INT64_MAX);
    missing += buffer_ - lane.available;
  }
  return missing;
}

tlm::tlm_sync_enum Transmitter::nb_transport_bw(Packet& packet, Phase& /*phase*/, sc_core::sc_time& delay) {
  const Time at = dispatcher_.now() + from_delay(delay) + propagation_ + stall_.next();
  push(lanes_[packet.lane], {at.count(), packet.wire_bytes});
  if (waiting_) {
    waiting_ = false;
    dispatcher_.post(at, owner_, tag_);
  }
  return tlm::TLM_ACCEPTED;
}

}  // namespace weft::fabric
