// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/link.h"

#include <algorithm>
#include <cassert>

namespace weft::fabric {

Transmitter::Transmitter(Dispatcher& dispatcher, const LinkConfig& config, const EventTarget& owner, std::uint32_t tag,
                         const Stall::Config& stall, const std::string& name)
    : byte_time_(config.rate),
      propagation_(config.propagation),
      dispatcher_(dispatcher),
      tag_(tag),
      lanes_(static_cast<std::size_t>(config.lanes)),
      owner_(owner),
      stall_(stall, name),
      rate_(config.rate),
      buffer_(config.buffer.count()) {
  for (int i = 0; i < config.lanes; ++i) lanes_.emplace_back().available = buffer_;
}

void Transmitter::push(Lane& lane, Credit credit, std::int64_t now) {
  auto mask = static_cast<std::uint32_t>(lane.coming.size()) - 1;
  if (lane.count > mask) {
    collect(lane, now);
    if (lane.count > mask) {
      std::vector<Credit> larger(2 * lane.coming.size());
      for (std::uint32_t i = 0; i < lane.count; ++i) larger[i] = lane.coming[(lane.first + i) & mask];
      lane.coming = std::move(larger);
      lane.first = 0;
      mask = 2 * mask + 1;
    }
  }
  Credit* const ring = lane.coming.data();
  // Packets of a buffer may leave by different ports, so a later call can carry an earlier time.
  std::uint32_t at = lane.count++;
  for (; at > 0 && ring[(lane.first + at - 1) & mask].time > credit.time; --at) {
    ring[(lane.first + at) & mask] = ring[(lane.first + at - 1) & mask];
  }
  ring[(lane.first + at) & mask] = credit;
}

void Transmitter::collect(Lane& lane, std::int64_t now) {
  const Credit* const ring = lane.coming.data();
  const auto mask = static_cast<std::uint32_t>(lane.coming.size()) - 1;
  while (lane.count != 0 && ring[lane.first].time <= now) {
    lane.available += ring[lane.first].bytes;
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
  push(lanes_[packet.lane], {at.count(), packet.wire_bytes}, dispatcher_.now().count());
  if (waiting_) {
    waiting_ = false;
    dispatcher_.post(at, owner_, tag_);
  }
  return tlm::TLM_ACCEPTED;
}

}  // namespace weft::fabric
