// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/link.h"

#include <algorithm>
#include <cassert>

#include "hw/core/cause/causes.h"
#include "hw/core/waves.h"
#include "hw/fabric/link_waves.h"
#include "hw/fabric/planes.h"

namespace weft::fabric {
namespace {

std::uint32_t most_held_of(const LinkConfig& config) {
  const std::int64_t most = config.most_held.count();
  return most == 0 || most > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(most);
}

}  // namespace

Transmitter::Transmitter(Dispatcher& dispatcher, const LinkConfig& config, const EventTarget& owner, std::uint32_t tag,
                         const Stall::Config& stall, const std::string& name)
    : byte_time_(config.rate),
      propagation_(config.propagation),
      dispatcher_(dispatcher),
      tag_(tag),
      most_held_(most_held_of(config)),
      stalls_(stall.limit != Time()),
      credits_(config.flow_control == FlowControl::kCredits),
      shares_(config.shared != Bytes()),
      lanes_(static_cast<std::uint8_t>(config.lanes)),
      owner_(owner),
      rate_(config.rate),
      buffer_((config.buffer > Bytes() ? config.buffer : LinkConfig::kLeastBuffer).count()),
      random_(stall.seed, name + " faults") {
  static_assert(sizeof(Transmitter) == 256, "large networks have thousands of them");
  first_lane_.available = buffer_;
  if (config.flow_control == FlowControl::kPfc) {
    first_lane_.rare = std::make_unique<Rare>();
    extra().pause_response = config.pause_response;
  }
  if (stalls_) extra().stall = Stall(stall, name);
  if (config.replay) {
    extra().replay = true;
    extra_->replay_unit = config.replay_unit.count();
  }
  if (shares_) extra().shared = extra().shared_free = config.shared.count();
  if (dispatcher.causes() != nullptr) {
    place_ = dispatcher.causes()->place(name, propagation_);
    extra();  // has the holders of its room
  }
}

void Transmitter::make_lanes() {
  const auto others = static_cast<std::size_t>(lanes_ - 1);
  other_lanes_ = std::make_unique<Lane[]>(others);
  for (std::size_t i = 0; i < others; ++i) {
    other_lanes_[i].available = buffer_;
    if (!credits_ && first_lane_.rare != nullptr) other_lanes_[i].rare = std::make_unique<Rare>();
  }
}

Transmitter::~Transmitter() = default;

Transmitter::Extra& Transmitter::extra() {
  if (extra_ == nullptr) extra_ = std::make_unique<Extra>();
  return *extra_;
}

void Transmitter::record(Waves& waves, const std::string& scope) {
  if (!waves.wants(scope)) return;
  LinkConfig config;
  config.rate = rate_;
  config.lanes = lanes_;
  config.buffer = Bytes(buffer_);
  config.shared = Bytes(shares_ ? extra_->shared : 0);
  config.flow_control = credits_                      ? FlowControl::kCredits
                        : first_lane_.rare != nullptr ? FlowControl::kPfc
                                                      : FlowControl::kLossy;
  extra().waves = std::make_unique<LinkWaves>(waves, scope, config);
  records_ = true;
}

LinkFaults& Transmitter::disturb() {
  std::unique_ptr<LinkFaults>& faults = extra().faults;
  if (faults == nullptr) faults = std::make_unique<LinkFaults>(random_);
  disturbed_ = true;
  return *faults;
}

void Transmitter::add_fault(const Fault& fault) {
  disturb().add(fault);
}

void Transmitter::spread_over(const Planes& planes) {
  disturb();
  extra_->planes = &planes;
}

std::vector<std::string> Transmitter::fault_names() const {
  return disturbed_ ? extra_->faults->names() : std::vector<std::string>();
}

Transmitter::Counters Transmitter::counters() const {
  Counters sum = first_lane_.counters;
  for (int i = 1; i < made_lanes(); ++i) {
    const Counters more = counters(i);
    sum.packets += more.packets;
    sum.wire_bytes += more.wire_bytes;
    sum.payload_bytes += more.payload_bytes;
  }
  return sum;
}

void Transmitter::push(Lane& lane, Credit credit, std::int64_t now) {
  if (lane.count == Lane::kNear) collect(lane, now);
  if (lane.count == Lane::kNear) [[unlikely]] {
    const Credit last = lane.coming[Lane::kNear - 1];
    const Credit later = credit.time < last.time ? last : credit;
    credit = credit.time < last.time ? credit : last;
    if (lane.rare == nullptr) lane.rare = std::make_unique<Rare>();
    Fifo<Credit>& more = lane.rare->credits;
    more.push_back(later);
    std::size_t at = more.size() - 1;
    for (; at > 0 && more[at - 1].time > later.time; --at) more[at] = more[at - 1];
    more[at] = later;
    lane.count = Lane::kNear - 1;
  }
  // Packets of a buffer may leave by different ports, so a later call can carry an earlier time.
  std::uint32_t at = lane.count++;
  for (; at > 0 && lane.coming[at - 1].time > credit.time; --at) lane.coming[at] = lane.coming[at - 1];
  lane.coming[at] = credit;
}

void Transmitter::collect(Lane& lane, std::int64_t now) {
  std::uint32_t taken = 0;
  while (taken < lane.count && lane.coming[taken].time <= now) take(lane, lane.coming[taken++].bytes);
  if (taken == 0) return;
  lane.count -= taken;
  for (std::uint32_t i = 0; i < lane.count; ++i) lane.coming[i] = lane.coming[i + taken];
  if (lane.rare == nullptr) [[likely]]
    return;
  Fifo<Credit>& more = lane.rare->credits;
  for (; !more.empty(); more.pop_front()) {
    const Credit next = more.front();
    if (lane.count == 0 && next.time <= now) {
      take(lane, next.bytes);
    } else if (lane.count < Lane::kNear) {
      lane.coming[lane.count++] = next;
    } else {
      break;
    }
  }
}

Time Transmitter::pause_over(Rare& rare, Time now) {
  while (!rare.pauses.empty() && rare.pauses.front().at <= now) {
    rare.paused = rare.pauses.front().paused;
    rare.pauses.pop_front();
  }
  if (!rare.paused) return now;
  for (std::size_t i = 0; i < rare.pauses.size(); ++i) {
    if (!rare.pauses[i].paused) return rare.pauses[i].at;
  }
  return kNever;
}

Time Transmitter::later_credit_at(int lane_index, std::int64_t wire_bytes, Time now) {
  Lane& lane = this->lane(lane_index);
  if (disturbed_) [[unlikely]] {
    const Time up = extra_->faults->up_at(now);
    if (up != now) return up;
  }
  if (!credits_) return lane.rare == nullptr ? now : pause_over(*lane.rare, now);
  const std::int64_t held = held_by(wire_bytes);
  if (shares_ && another_borrows(lane)) return shared_credit_at(lane_index, held, now);
  collect(lane, now.count());
  std::int64_t sum = room(lane);
  if (sum >= held) return now;
  for (std::uint32_t i = 0; i < lane.count; ++i) {
    sum += lane.coming[i].bytes;
    if (sum >= held) return Time(lane.coming[i].time);
  }
  if (lane.rare == nullptr) return kNever;
  const Fifo<Credit>& more = lane.rare->credits;
  for (std::size_t i = 0; i < more.size(); ++i) {
    sum += more[i].bytes;
    if (sum >= held) return Time(more[i].time);
  }
  return kNever;
}

/// What comes back to other lanes may be of the shared buffer: takes all credits in the order of their times.
Time Transmitter::shared_credit_at(int lane_index, std::int64_t held, Time now) {
  const auto lanes = static_cast<std::size_t>(made_lanes());
  for (std::size_t i = 0; i < lanes; ++i) collect(lane(static_cast<int>(i)), now.count());
  if (room(lane(lane_index)) >= held) return now;
  struct Account {
    std::int64_t available = 0;
    std::size_t next = 0;
  };
  std::array<Account, LinkConfig::kMostLanes> accounts;
  for (std::size_t i = 0; i < lanes; ++i) accounts[i].available = lane(static_cast<int>(i)).available;
  const auto coming = [](const Lane& from, std::size_t i) -> const Credit* {
    if (i < from.count) return &from.coming[i];
    i -= from.count;
    return from.rare != nullptr && i < from.rare->credits.size() ? &from.rare->credits[i] : nullptr;
  };
  const std::int64_t& own = accounts[static_cast<std::size_t>(lane_index)].available;
  while (true) {
    const Credit* first = nullptr;
    Account* its = nullptr;
    for (std::size_t i = 0; i < lanes; ++i) {
      const Credit* next = coming(lane(static_cast<int>(i)), accounts[i].next);
      if (next == nullptr || (first != nullptr && first->time <= next->time)) continue;
      first = next;
      its = &accounts[i];
    }
    if (first == nullptr) return kNever;
    its->available += first->bytes;
    ++its->next;
    std::int64_t sum = extra_->shared + std::max<std::int64_t>(own, 0);
    for (std::size_t i = 0; i < lanes; ++i) sum += std::min<std::int64_t>(accounts[i].available, 0);
    if (sum >= held) return Time(first->time);
  }
}

Time Transmitter::send(Packet& packet, Time ready) {
  Lane& mine = lane(packet.lane);
  if (credits_) {
    const std::int64_t held = held_by(packet.wire_bytes);
    mine.available -= held;
    assert((mine.available >= 0 || shares_) && "sent without credit");
    if (mine.available < 0) extra_->shared_free -= std::min(held, -mine.available);
    assert((!shares_ || extra_->shared_free >= 0) && "sent without credit");
  }
  Time head = std::max(ready, free_at_);
  rest_ = ready > free_at_ ? 0 : rest_;
  Time length = byte_time_.next(packet.wire_bytes, rest_);
  if (stalls_) [[unlikely]]
    head += extra_->stall.next();
  if (disturbed_) [[unlikely]]
    spread(packet, head, length);
  // The last byte cannot leave before it came; a slower arrival delays the start, not the length.
  head = std::max(head, ready + Time(packet.tail_lag_ps) - length);
  if (disturbed_) [[unlikely]]
    head = send_disturbed(packet, head, length);
  free_at_ = head + length;
  packet.tail_lag_ps = static_cast<std::uint32_t>(length.count());
  ++mine.counters.packets;
  mine.counters.wire_bytes += packet.wire_bytes;
  mine.counters.payload_bytes += packet.payload_bytes;
  const Time flight = disturbed_ ? propagation_ + extra_->late : propagation_;
  sc_core::sc_time delay = to_delay(head + flight - dispatcher_.now());
  Phase phase = Phase::kPacket;
  if (records_) [[unlikely]]
    extra_->waves->packet(packet, held_by(packet.wire_bytes), head, length);
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
    // Acknowledgements between would be most of the time that this takes, and few of the bytes.
    if (packet.payload_bytes != 0) causes->carry(place(), packet.source, packet.destination, packet.wire_bytes);
    if (!causes->is_marked(ready) && owner_.cause(tag_) == CauseKind::kOther) {
      causes->mark(CauseKind::kPipeline, ready, Dispatcher::place_of(owner_));  // it says nothing of its own work
    }
    causes->mark(CauseKind::kQueue, head, place());
    if (disturbed_) {
      causes->mark(CauseKind::kPropagation, head + flight, place());
      causes->mark(CauseKind::kSerialisation, head + flight + length, place());
    } else {
      causes->mark_crossing(head + flight + length, place());
    }
  }
  peer_->nb_transport_fw(packet, phase, delay);
  return free_at_;
}

void Transmitter::spread(const Packet& packet, Time head, Time& length) {
  Extra& more = *extra_;
  if (more.planes == nullptr) return;
  const Time undisturbed = length;
  length = more.planes->stretched(packet, head, length);
  if (length == undisturbed) return;
  more.longer += length - undisturbed;
  more.planes_missed |= more.planes->causes(packet, head);
}

Time Transmitter::send_disturbed(Packet& packet, Time head, Time& length) {
  // It was chosen while the link was up; one that goes down before it starts still carries it.
  Extra& more = *extra_;
  const Time undisturbed = length;
  length = more.faults->stretched(head, length);
  more.longer += length - undisturbed;
  if (more.replay && more.replay_unit > 0) {
    const std::int64_t units = more.faults->damaged_units(head, packet.wire_bytes, more.replay_unit);
    const Time unit(length.count() * std::min<std::int64_t>(more.replay_unit, packet.wire_bytes) / packet.wire_bytes);
    head += (unit + 2 * propagation_) * units;
    more.longer += unit * units;
    more.events.replayed += units;
  }
  while (!(more.replay && more.replay_unit > 0) && more.faults->damages(head, packet.wire_bytes)) {
    if (!more.replay) {
      packet.flags |= Packet::kDamaged;
      ++more.events.damaged;
      break;
    }
    // Whole there, its refusal back; what follows waits, so that order is kept.
    head += length + 2 * propagation_;
    more.longer += length;
    ++more.events.replayed;
  }
  const Time arrives = head + propagation_;
  more.late = std::max(arrives + more.faults->jitter(head), more.tail) - arrives;
  more.tail = arrives + more.late + length;
  return head;
}

std::int64_t Transmitter::credit_missing() {
  if (!credits_) return 0;
  std::int64_t missing = 0;
  for (int i = 0; i < made_lanes(); ++i) {
    Lane& each = lane(i);
    collect(each, INT64_MAX);
    missing += buffer_ - each.available;
  }
  return missing;
}

void Transmitter::wake(Time at) {
  if (!waiting_) return;
  waiting_ = false;
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    mark_credit(at);
  dispatcher_.post(at, owner_, tag_);
}

void Transmitter::mark_credit(Time at) const {
  Causes& causes = *dispatcher_.causes();
  if (const Why& holder = extra_->holder; holder.kind != CauseKind::kOther) {
    causes.mark(CauseKind::kCredit, at - propagation_ - extra_->held, place());
    causes.mark(holder.kind, at - propagation_, holder.place);
  }
  causes.mark(CauseKind::kCredit, at, place());
}

tlm::tlm_sync_enum Transmitter::nb_transport_bw(Packet& packet, Phase& phase, sc_core::sc_time& delay) {
  Time at = dispatcher_.now() + from_delay(delay) + propagation_;
  if (stalls_) [[unlikely]]
    at += extra_->stall.next();
  if (phase == Phase::kCredit) [[likely]] {
    if (!credits_) return tlm::TLM_ACCEPTED;
    if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
      extra_->held = from_delay(delay);
      extra_->holder = causes->take_holder();
    }
    const std::int64_t held = held_by(packet.wire_bytes);
    push(lane(packet.lane), {at.count(), static_cast<std::uint32_t>(held)}, dispatcher_.now().count());
    if (records_) [[unlikely]]
      extra_->waves->credit(at, packet.lane, held);
    wake(at);
    return tlm::TLM_ACCEPTED;
  }
  const bool pause = phase == Phase::kPause;
  if (pause) ++extra_->events.paused;
  Fifo<Transition>& pauses = lane(packet.lane).rare->pauses;
  at += extra_->pause_response;
  // Frames do not overtake each other.
  if (!pauses.empty()) at = std::max(at, pauses.back().at);
  pauses.push_back({at, pause});
  if (records_) [[unlikely]]
    extra_->waves->pause(at, packet.lane, pause);
  if (!pause) wake(at);
  return tlm::TLM_ACCEPTED;
}

}  // namespace weft::fabric
