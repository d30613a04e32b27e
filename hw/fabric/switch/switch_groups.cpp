// SPDX-License-Identifier: Apache-2.0
// Groups in a switch: copies of multicast packets, operands and results of reductions.
#include <algorithm>
#include <cstring>

#include "hw/fabric/switch/switch.h"
#include "hw/fabric/switch/switch_tags.h"

namespace weft::fabric {

bool Switch::join(std::uint32_t id, const Group& group) {
  if (group.reduces) {
    if (engine_ == nullptr || !engine_->open(id, {group.children, group.window, group.streaming, group.takes_over})) {
      return false;
    }
  }
  if (groups_.size() <= id) groups_.resize(id + 1);
  groups_[id] = std::make_unique<Group>(group);
  return true;
}

void Switch::leave(std::uint32_t id) {
  if (groups_[id]->reduces) engine_->close(id);
  groups_[id].reset();
}

void Switch::handle_group(Time now, Packet& packet) {
  if (now >= careful_from_) [[unlikely]]
    take_changed_routes(now);
  const std::uint32_t id = tree_of(now, packet);
  if (id >= groups_.size() || groups_[id] == nullptr) {
    ++(group_trees_ == nullptr ? port_counters_[packet.ingress].dropped : counters_.unroutable);
    discard(now, packet);
    return;
  }
  if (packet.opcode == Opcode::kReduce) {
    reduce(now, id, packet);
  } else {
    replicate(now, *groups_[id], packet);
  }
}

std::uint32_t Switch::tree_of(Time now, Packet& packet) const {
  return group_trees_ == nullptr ? packet.destination - Packet::kFirstGroup : group_trees_->tree_of(packet, now);
}

void Switch::reduce(Time now, std::uint32_t group, Packet& packet) {
  const std::uint16_t input = packet.ingress;
  const std::uint8_t lane = packet.lane;
  const std::uint32_t bytes = packet.wire_bytes;
  const ReductionEngine::Outcome outcome = engine_->take(group, input, packet, now);
  if (outcome.consumed != kNever) release(now, input, lane, bytes, outcome.consumed);
  if (outcome.sum == nullptr) return;
  outcome.sum->tail_lag_ps = static_cast<std::uint32_t>((outcome.tail - outcome.head).count());
  // The engine lies between the stages of input and output: what it sends has passed the first ones.
  dispatcher_.post(std::max(now, outcome.head), *this, kEmit, reinterpret_cast<std::uint64_t>(outcome.sum));
}

void Switch::emit(Time now, Packet& packet) {
  const Group& group = *groups_[tree_of(now, packet)];
  packet.ingress = static_cast<std::uint16_t>(radix());  // the engine's queue
  packet.via = Packet::kNowhere;
  if (group.parent != Packet::kNowhere) {
    if (config_.reduction.sum_buffer > Bytes()) packet.via = original_of(now, packet, 1);
    send_copy(now, group.parent, group, packet);
    return;
  }
  packet.opcode = Opcode::kResult;
  replicate(now, group, packet);
}

/// RTL gives the bytes of a sum one after the other, but a packet has them all. What has passed since the first one is
/// taken from the latency that the sum still has before it: so it cuts through, as far as that is long enough.
void Switch::emit_whole(Time now, Packet& packet) {
  spent_ = Time(packet.tail_lag_ps);
  emit(now, packet);
  spent_ = Time();
}

void Switch::replicate(Time now, const Group& group, Packet& packet) {
  // A result is for one end alone, or for all; the others are told that it is there.
  const bool for_one = packet.opcode == Opcode::kResult && packet.immediate != UINT32_MAX;
  std::uint16_t taker = Packet::kNowhere;
  if (for_one) {
    const auto found = group.port_of_end.find(packet.immediate);
    if (found != group.port_of_end.end()) taker = found->second;
  }
  std::vector<std::uint16_t>& ports = copied_to_;
  ports.clear();
  for (const std::uint16_t port : group.children) {
    if (port != packet.ingress) ports.push_back(port);
  }
  if (group.parent != Packet::kNowhere && group.parent != packet.ingress) ports.push_back(group.parent);
  if (ports.empty()) {
    if (packet.ingress == radix()) engine_->left(packet.payload_bytes, now);
    discard(now, packet);
    return;
  }
  packet.via = packet.ingress != radix() || config_.reduction.sum_buffer > Bytes()
                   ? original_of(now, packet, ports.size())
                   : Packet::kNowhere;
  const std::uint32_t header = packet.wire_bytes - packet.payload_bytes;
  std::vector<Packet*>& copies = copies_;
  copies.assign(1, &packet);
  prefetch_output(ports[0]);
  for (std::size_t i = 1; i < ports.size(); ++i) {
    prefetch_output(ports[i]);
    Packet* copy = packets_.take();
    *copy = packet;
    copy->payload = nullptr;
    const bool empty = for_one && ports[i] != taker;
    if (packet.payload != nullptr && !empty) {
      packets_.attach_payload(*copy, packet.payload_bytes);
      std::memcpy(copy->payload, packet.payload, packet.payload_bytes);
    }
    copies.push_back(copy);
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    Packet& copy = *copies[i];
    if (for_one && ports[i] != taker) {
      copy.payload_bytes = 0;
      copy.wire_bytes = header;
    }
    send_copy(now, ports[i], group, copy);
  }
}

std::uint16_t Switch::original_of(Time now, const Packet& packet, std::size_t copies) {
  if (free_originals_.empty()) {
    free_originals_.push_back(static_cast<std::uint16_t>(originals_.size()));
    originals_.emplace_back();
  }
  const std::uint16_t original = free_originals_.back();
  free_originals_.pop_back();
  const std::uint32_t bytes = packet.ingress == radix() ? packet.payload_bytes : packet.wire_bytes;
  originals_[original] = {static_cast<std::uint32_t>(copies), bytes, packet.ingress, packet.lane, now};
  return original;
}

/// A copy for a link that is down, of a tree that its group has no longer, would wait in vain.
void Switch::send_copy(Time now, std::uint32_t output, const Group& group, Packet& packet) {
  if (group_trees_ != nullptr && transmitters_[output].down_at(now) && group_trees_->left_behind(packet, now)) {
    return drop_copy(now, packet);
  }
  send_by(now, output, group.lane == kSendersLane ? packet.lane : group.lane, packet);
}

void Switch::drop_copy(Time now, Packet& packet) {
  ++counters_.unroutable;
  copy_left(now, packet.via, now + Time(packet.tail_lag_ps));
  packets_.give_back(&packet);
}

void Switch::copy_left(Time now, std::uint16_t index, Time gone) {
  if (index == Packet::kNowhere) return;  // from an engine that does not ask
  Original& original = originals_[index];
  original.gone = std::max(original.gone, gone);
  if (--original.copies != 0) return;
  if (original.ingress == radix()) {
    engine_->left(original.bytes, original.gone);
  } else {
    release(now, original.ingress, original.lane, original.bytes, original.gone);
  }
  free_originals_.push_back(index);
}

}  // namespace weft::fabric
