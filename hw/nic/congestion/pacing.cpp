// SPDX-License-Identifier: Apache-2.0
// Congestion control in the network interface: who notifies, and when the next packet of a queue pair may be cut.
#include "hw/nic/congestion/pacing.h"

#include <algorithm>
#include <utility>

#include "hw/core/config/own_fields.h"
#include "hw/core/path_load.h"
#include "hw/nic/reliability/psn.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {
namespace {

/// What a receiver saw of a packet, in the 32 bits of its acknowledgement: the mark, the code of the load, and how long
/// the packet is to wait for the host link, in nanoseconds.
struct Echo {
  static constexpr int kMarkBit = 8;
  static constexpr int kWaitBit = 9;
  static constexpr std::int64_t kMostWait = (1LL << (32 - kWaitBit)) - 1;
  static constexpr std::int64_t kUnit = 1000;

  static std::uint32_t of(const Packet& packet, Time wait) {
    const auto units = static_cast<std::uint32_t>(std::min(wait.count() / kUnit, kMostWait));
    const std::uint32_t mark = (packet.flags & Packet::kMarked) != 0 ? 1U << kMarkBit : 0;
    return units << kWaitBit | mark | packet.tree;
  }
  static void read(std::uint32_t echo, Acknowledged& into) {
    into.endpoint = Time((echo >> kWaitBit) * kUnit);
    into.marked = (echo >> kMarkBit & 1U) != 0;
    into.load = load_of(static_cast<std::uint8_t>(echo));
  }
};

}  // namespace

void Nic::choose_congestion() {
  scheme_ = &config_.scheme();
  paces_ = scheme_->make != nullptr;
  if (!paces_) return;
  hears_ = scheme_->acknowledges && !sprays_;
  notifies_ = scheme_->notifies != nullptr;
  if (notifies_) notify_interval_ = scheme_->notifies(config_.of_scheme());
}

std::unique_ptr<Nic::Congestion> Nic::make_congestion() const {
  const Bytes packet(network_.wire_bytes(segment_));
  const CongestionSite site{config_.of_scheme(), transmitter_.rate(), packet, idle_round_trip()};
  auto congestion = std::make_unique<Congestion>(made(scheme_->make(site), "nic.congestion", scheme_->name), *scheme_,
                                                 site.carried());
  if (scheme_->acknowledges) congestion->under_way = std::make_unique<Congestion::UnderWay>();
  return congestion;
}

Time Nic::idle_round_trip() const {
  if (config_.round_trip > Time()) return config_.round_trip;
  const Time way = 2 * network_.link.propagation + network_.switch_config.total_latency();
  const Bytes packet(network_.wire_bytes(segment_));
  return config_.read_latency + config_.packet_cost + transfer_time(packet, transmitter_.rate()) + 2 * way;
}

void Nic::echo(Time now, const Packet& packet, Packet& ack) const {
  ack.flags |= Packet::kEcho;
  ack.immediate = Echo::of(packet, host_.written(now) - now);
}

void Nic::notify_congestion(Time now, const Packet& packet) {
  if (!notifies_ || packet.payload_bytes == 0 || packet.opcode == Opcode::kReadRequest) return;
  Congestion& congestion = *pairs_[packet.queue_pair].congestion;
  if (now < congestion.notify_from) return;
  congestion.notify_from = now + notify_interval_;
  ++counters_.notifications;
  control(Opcode::kCongestionNotification, packet.queue_pair, packet.psn);
}

Rate Nic::rate(std::uint32_t queue_pair) const {
  Congestion* congestion = pairs_[queue_pair].congestion.get();
  if (congestion == nullptr) return transmitter_.rate();
  return congestion->rate(dispatcher_.now()).value_or(transmitter_.rate());
}

bool Nic::may_cut(Time now, std::uint32_t number) {
  const QueuePair& pair = pairs_[number];
  Congestion& congestion = *pair.congestion;
  if (congestion.waiting) return false;
  // What it owes is no part of the window: both ends could wait for each other's.
  if (congestion.under_way != nullptr && !pair.owes() && congestion.under_way->bytes > 0) {
    const std::int64_t with_next = congestion.under_way->bytes + network_.wire_bytes(segment_);
    // A window that has been cut may be full of packets which nobody acknowledges: one more asks for it.
    if (with_next > congestion.window(now) && (!sprays_ || uet_->awaits_acknowledgement(number))) {
      congestion.under_way->full = congestion.held = true;
      return false;
    }
  }
  if (congestion.scheme.grants && !pair.owes() && !uet_->has_credit(now, number)) {
    congestion.held = true;
    return false;
  }
  if (congestion.next <= now || !congestion.rate(now)) return true;
  congestion.waiting = congestion.held = true;
  dispatcher_.post(congestion.next, *this, kPace, number);
  return false;
}

void Nic::note_paced(Time now, std::uint32_t number, const Packet& packet) {
  QueuePair& pair = pairs_[number];
  Congestion& congestion = *pair.congestion;
  congestion.control->sent(now, packet.wire_bytes);
  if (const std::optional<Rate> rate = congestion.rate(now)) {
    congestion.next = std::max(now, congestion.next) + transfer_time(Bytes(packet.wire_bytes), *rate);
  }
  // Repeats and answers are not among those under way, or were before.
  if (!hears_ || !asks(packet)) return;
  const std::uint32_t psn = pair.next_psn - 1;
  Congestion::UnderWay& under_way = *congestion.under_way;
  if (packet.psn != (psn & kPsnMask) || (!under_way.packets.empty() && under_way.packets.back().psn == psn)) return;
  const std::uint32_t bytes = packet.opcode == Opcode::kReadRequest ? 0 : packet.wire_bytes;
  under_way.packets.push_back({psn, bytes, now, now});
  under_way.bytes += bytes;
}

void Nic::note_left(Time now, const Packet& packet, std::uint32_t number) {
  std::deque<Congestion::UnderWay::Sent>& packets = pairs_[number].congestion->under_way->packets;
  if (packets.empty() || !asks(packet)) return;
  const std::uint32_t place = whole_psn(packet.psn, packets.front().psn) - packets.front().psn;
  if (place < packets.size()) packets[place].left = now;
}

void Nic::note_heard(Time now, std::uint32_t number, std::uint32_t psn, std::uint32_t echo) {
  Congestion& congestion = *pairs_[number].congestion;
  Congestion::UnderWay& under_way = *congestion.under_way;
  Acknowledged acknowledged;
  Time left;
  for (; !under_way.packets.empty() && !before(psn, under_way.packets.front().psn); under_way.packets.pop_front()) {
    if (under_way.packets.front().wire_bytes == 0) continue;
    acknowledged.wire_bytes += under_way.packets.front().wire_bytes;
    left = under_way.packets.front().left;
    acknowledged.in_sender = left - under_way.packets.front().cut;
  }
  if (acknowledged.wire_bytes == 0) return;
  under_way.bytes -= acknowledged.wire_bytes;
  acknowledged.round_trip = now - left;
  acknowledged.held = std::exchange(congestion.held, false);
  Echo::read(echo, acknowledged);
  congestion.control->acknowledged(now, acknowledged);
  if (!under_way.full) return;
  under_way.full = false;
  activate(number);
  arm(now, nullptr);
}

bool Nic::Congestion::marked(std::uint32_t echo) {
  return (echo >> Echo::kMarkBit & 1U) != 0;
}

/// With Ultra Ethernet, whose packets come in any order: what note_heard() is for others.
void Nic::note_confirmed(Time now, std::uint32_t number, Acknowledged acknowledged, std::uint32_t echo) {
  Congestion& congestion = *pairs_[number].congestion;
  if (congestion.under_way == nullptr) return;
  acknowledged.held = std::exchange(congestion.held, false);
  Echo::read(echo, acknowledged);
  congestion.control->acknowledged(now, acknowledged);
  if (!congestion.under_way->full) return;
  congestion.under_way->full = false;
  activate(number);
  arm(now, nullptr);
}

std::vector<std::pair<std::string, std::int64_t>> Nic::own_counts() const {
  std::vector<std::pair<std::string, std::int64_t>> sums;
  for (const QueuePair& pair : pairs_) {
    if (pair.congestion == nullptr) continue;
    for (const auto& [name, count] : pair.congestion->control->own_counts()) {
      const auto known = std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum.first == name; });
      if (known == sums.end()) {
        sums.emplace_back(name, count);
      } else {
        known->second += count;
      }
    }
  }
  return sums;
}

void Nic::note_lost(Time now, std::uint32_t number) {
  if (Congestion* congestion = pairs_[number].congestion.get()) congestion->control->lost(now);
}

void Nic::note_timed_out(Time now, std::uint32_t number, std::int64_t wire_bytes) {
  if (Congestion* congestion = pairs_[number].congestion.get()) congestion->control->timed_out(now, wire_bytes);
}

void Nic::forget_from(std::uint32_t number, std::uint32_t psn) {
  Congestion::UnderWay& under_way = *pairs_[number].congestion->under_way;
  while (!under_way.packets.empty() && !before(under_way.packets.back().psn, psn)) {
    under_way.bytes -= under_way.packets.back().wire_bytes;
    under_way.packets.pop_back();
  }
}

}  // namespace weft::nic
