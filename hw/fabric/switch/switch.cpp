// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/switch/switch.h"

#include <algorithm>
#include <bit>

#include "hw/core/cause/causes.h"
#include "hw/fabric/switch/switch_tags.h"

namespace weft::fabric {
namespace {

/// The number that follows `i` in turn, of `count`.
constexpr std::uint32_t after(std::uint32_t i, std::uint32_t count) {
  return i + 1 < count ? i + 1 : 0;
}

/// A packet will have left the buffer at `gone`. Out of line, so that with credits it costs no more than a branch.
[[gnu::noinline]] void book(SharedBuffer& buffer, Dispatcher& dispatcher, const EventTarget& owner, std::uint32_t input,
                            std::uint8_t lane, std::uint32_t bytes, Time gone) {
  buffer.leave(input, lane, bytes, gone, [&dispatcher, &owner](Time at) { dispatcher.post(at, owner, kCollect); });
}

}  // namespace

tlm::tlm_sync_enum Switch::Input::nb_transport_fw(Packet& packet, Phase& /*phase*/, sc_core::sc_time& delay) {
  owner_->dispatcher_.post(owner_->dispatcher_.now() + from_delay(delay), *owner_, port_,
                           reinterpret_cast<std::uint64_t>(&packet));
  return tlm::TLM_ACCEPTED;
}

void Switch::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  if ((tag & kServe) != 0) {
    serve(now, tag & ~kServe);
  } else if (tag < kEnter) [[likely]] {
    arrive(now, tag, *reinterpret_cast<Packet*>(data));
  } else if (tag < kCollect) {
    dispatch(now, *reinterpret_cast<Packet*>(data));
  } else if (tag == kEmit) {
    emit(now, *reinterpret_cast<Packet*>(data));
  } else if (tag == kEmitWhole) {
    emit_whole(now, *reinterpret_cast<Packet*>(data));
  } else if (tag == kReroute) {
    take_changed_routes(now);
  } else {
    collect(now);
  }
}

CauseKind Switch::cause(std::uint32_t tag) const {
  if ((tag & kServe) != 0) return CauseKind::kQueue;
  return tag == kEmit || tag == kEmitWhole ? CauseKind::kReduction : CauseKind::kPipeline;
}

void Switch::prepare(std::uint32_t tag, std::uint64_t data) {
  const bool serves = (tag & kServe) != 0;
  if (!serves) {
    if (tag == kCollect) buffer_->prefetch();
    if (tag >= kEnter) return;
    __builtin_prefetch(&inputs_[tag]);
    if (buffer_ != nullptr) {
      buffer_->prefetch(tag, reinterpret_cast<const Packet*>(data)->lane);
    } else if (neighbours_[tag].sender != nullptr) {
      neighbours_[tag].sender->prefetch();
    }
  }
  if (!serves && reinterpret_cast<const Packet*>(data)->destination >= Packet::kFirstGroup) return;
  const std::uint32_t output = serves ? tag & ~kServe : routes_->port(*reinterpret_cast<const Packet*>(data));
  if (output == Packet::kNowhere) [[unlikely]]
    return;
  prefetch_output(output);
}

inline void Switch::arrive(Time now, std::uint32_t input, Packet& packet) {
  packet.ingress = static_cast<std::uint16_t>(input);
  ++counters_.packets;
  if (inspects_ || (packet.flags & Packet::kDamaged) != 0) [[unlikely]] {
    if ((packet.flags & Packet::kDamaged) != 0) {
      ++port_counters_[input].damaged;
      if (buffer_ == nullptr) inputs_[input].release(packet.lane, packet.wire_bytes, Time(packet.tail_lag_ps));
      packets_.give_back(&packet);
      return;
    }
    // Its place in the buffer is taken while it waits for the first stages: what waits there asks for pauses, too.
    if (!admit(now, packet) || !enter(now, packet)) return;
  }
  dispatch(now, packet);
}

/// False if the packet has to wait for the first stages.
inline bool Switch::enter(Time now, Packet& packet) {
  Input& from = inputs_[packet.ingress];
  const Time at = std::max(now, from.ingress_free);
  from.ingress_free = at + ingress_interval_;
  if (at == now) return true;
  // Its end comes when it comes: what of it arrives meanwhile need not be waited for, and nobody behind it overtakes.
  const auto waits = static_cast<std::uint64_t>((at - now).count());
  packet.tail_lag_ps -= static_cast<std::uint32_t>(std::min<std::uint64_t>(packet.tail_lag_ps, waits));
  dispatcher_.post(at, *this, kEnter | packet.ingress, reinterpret_cast<std::uint64_t>(&packet));
  return false;
}

/// False if the packet found no room and is gone.
inline bool Switch::admit(Time now, Packet& packet) {
  if (buffer_ == nullptr) return true;
  const std::uint32_t input = packet.ingress;
  collect(now);
  switch (buffer_->admit(input, packet.lane, packet.wire_bytes)) {
    case SharedBuffer::Verdict::kTaken:
      return true;
    case SharedBuffer::Verdict::kTakenPause:
      pause(now, input, packet.lane, Phase::kPause);
      buffer_->look_again(input, packet.lane, now, [this](Time at) { dispatcher_.post(at, *this, kCollect); });
      return true;
    case SharedBuffer::Verdict::kDropped:
      if (trims_ && cut(now, packet, false)) return admit(now, packet);
      break;
  }
  ++port_counters_[input].dropped;
  packets_.give_back(&packet);
  return false;
}

void Switch::pause(Time now, std::uint32_t input, std::uint8_t lane, Phase phase) {
  constexpr std::uint32_t kFrame = 64;  // IEEE 802.3 annex 31B
  if (phase == Phase::kPause) ++port_counters_[input].pauses;
  // The frame goes before all that waits, but after what is being sent.
  const Time starts = std::max(now, transmitters_[input].free_at());
  inputs_[input].tell(phase, lane, 0, starts - now + transmitters_[input].length(kFrame));
}

inline void Switch::collect(Time now) {
  buffer_->collect(now, [this, now](std::size_t input, std::size_t lane) {
    pause(now, static_cast<std::uint32_t>(input), static_cast<std::uint8_t>(lane), Phase::kResume);
  });
}

void Switch::discard(Time now, Packet& packet) {
  // Its buffer is free when its last byte is in.
  if (packet.ingress < radix()) {
    release(now, packet.ingress, packet.lane, packet.wire_bytes, now + Time(packet.tail_lag_ps));
  }
  packets_.give_back(&packet);
}

inline void Switch::dispatch(Time now, Packet& packet) {
  if (packet.destination >= Packet::kFirstGroup) [[unlikely]] {
    handle_group(now, packet);
  } else {
    if (now >= careful_from_) [[unlikely]]
      take_changed_routes(now);
    const std::uint32_t output = route(now, packet);
    if (output == Packet::kNowhere) [[unlikely]] {
      ++counters_.unroutable;
      discard(now, packet);
      return;
    }
    if (rates_differ_ && must_come_in(now, output, packet)) [[unlikely]]
      return;
    std::uint32_t lane = trims_ && is_urgent(packet) ? urgent_lane() : routes_->lane(packet, packet.ingress, output);
    // One that routes have turned round may cross a dateline again.
    if (now >= careful_from_) [[unlikely]]
      lane = std::min(lane, lanes_ - 1);
    send_by(now, output, lane, packet);
  }
}

/// Whether a packet comes so slowly that its output would have to wait for its end: it asks for it later.
bool Switch::must_come_in(Time now, std::uint32_t output, Packet& packet) {
  constexpr Time kRounding = Time(1);  // of a link of the same rate
  const Time missing = Time(packet.tail_lag_ps) - transmitters_[output].length(packet.wire_bytes);
  if (missing <= kRounding) return false;
  packet.tail_lag_ps -= static_cast<std::uint32_t>(missing.count());
  dispatcher_.post(now + missing, *this, kEnter | packet.ingress, reinterpret_cast<std::uint64_t>(&packet));
  return true;
}

inline std::uint32_t Switch::route(Time now, Packet& packet) const {
  if (!routes_->decides_late()) [[likely]]
    return routes_->port(packet);
  if (routes_->detours()) routes_->arrive(packet, packet.ingress);
  return routes_->adaptive() ? least_queued(now, routes_->choices(packet)) : routes_->port(packet);
}

/// The output with the fewest packets waiting and, among those, the one booked least far ahead; the first of equals.
std::uint32_t Switch::least_queued(Time now, const Choices& choices) const {
  std::uint32_t best = choices[0];
  for (std::uint32_t i = 1; i < choices.count; ++i) {
    const std::uint32_t other = choices[i];
    if (outputs_[other].waiting > outputs_[best].waiting) continue;
    const bool shorter = outputs_[other].waiting < outputs_[best].waiting;
    if (shorter || std::max(now, transmitters_[other].free_at()) < std::max(now, transmitters_[best].free_at())) {
      best = other;
    }
  }
  return best;
}

void Switch::send_by(Time now, std::uint32_t index, std::uint32_t lane, Packet& packet) {
  Output& output = outputs_[index];
  Transmitter& transmitter = transmitters_[index];
  const std::uint32_t input = packet.ingress;
  if (output.waiting == 0 && std::max(transmitter.free_at(), output.next_grant) <= now + latency_ &&
      transmitter.credit_at(static_cast<int>(lane), packet.wire_bytes, now) == now &&
      (!limits_crossbar_ || crossbar_free_[input] <= now) && !has_arbiters_) {
    output.next_input[lane] = static_cast<std::uint16_t>(after(input, sources_));
    output.next_lane = static_cast<std::uint8_t>(after(lane, lanes_));
    forward(now, index, lane, packet);
    return;
  }
  ++counters_.queued;
  if (trims_) [[unlikely]]
    lane = lane_to_wait(now, index, lane, packet);
  if (marks_) mark(index, packet);
  if (input < inputs_.size()) inputs_[input].waits(now, packet);
  // Behind others of its queue it changes nothing about what is sent next.
  if (enqueue(index, lane, packet)) arm(now, index);
}

void Switch::mark(std::uint32_t output, Packet& packet) {
  const MarkingConfig& marking = config_.marking;
  const std::int64_t queued = outputs_[output].waiting_bytes;
  if (queued < marking.min.count()) return;
  if (queued < marking.max.count()) {
    const double rise =
        static_cast<double>(queued - marking.min.count()) / static_cast<double>((marking.max - marking.min).count());
    if (random_.share() >= rise * marking.probability) return;
  }
  packet.flags |= Packet::kMarked;
  ++port_counters_[output].marked;
}

inline void Switch::forward(Time now, std::uint32_t index, std::uint32_t lane, Packet& packet) {
  const Time ready = now + latency_ - spent_;
  Output& output = outputs_[index];
  if (output.blocked_since != kNever) [[unlikely]] {
    port_counters_[index].blocked += now - output.blocked_since;
    output.blocked_since = kNever;
  }
  // The input's buffer is free when the last byte has left, which send() knows.
  const std::uint8_t lane_in = packet.lane;
  packet.lane = static_cast<std::uint8_t>(lane);
  const std::uint32_t ingress = packet.ingress;
  const std::uint32_t wire_bytes = packet.wire_bytes;
  const bool is_group = packet.destination >= Packet::kFirstGroup;
  const std::uint16_t via = packet.via;
  if (is_group) packet.via = Packet::kNowhere;
  if (measures_load_) [[unlikely]]
    note_load(now, index, packet);
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    dispatcher_.causes()->mark(CauseKind::kPipeline, ready, Dispatcher::place_of(*this));
  const Time gone = transmitters_[index].send(packet, ready);
  if (egress_interval_ > Time()) output.next_grant = std::max(ready, output.next_grant) + egress_interval_;
  if (limits_crossbar_) {
    const double length = static_cast<double>(transfer_time(Bytes(wire_bytes), transmitters_[index].rate()).count());
    crossbar_free_[ingress] = now + Time(static_cast<std::int64_t>(length / config_.speedup));
  }
  // Whoever waits for the room that this packet has waits for the link that it leaves by.
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    dispatcher_.causes()->set_holder(CauseKind::kSerialisation, transmitters_[index].place());
  if (is_group) [[unlikely]] {
    copy_left(now, via, gone);
    if (dispatcher_.causes() != nullptr) [[unlikely]]
      (void)dispatcher_.causes()->take_holder();
  } else {
    release(now, ingress, lane_in, wire_bytes, gone);
  }
}

void Switch::release(Time now, std::uint32_t input, std::uint8_t lane, std::uint32_t bytes, Time gone) {
  if (buffer_ == nullptr) [[likely]] {
    inputs_[input].release(lane, bytes, gone - now);
    return;
  }
  book(*buffer_, dispatcher_, *this, input, lane, bytes, gone);
}

inline bool Switch::enqueue(std::uint32_t output, std::uint32_t lane, Packet& packet) {
  const std::uint32_t source = source_of(packet);
  if (!is_made(lane)) [[unlikely]]
    make_lane(lane);
  if (std::uint32_t& block = block_of(output, lane, source); block == 0) [[unlikely]] {
    block = static_cast<std::uint32_t>(queues_.size());
    queues_.emplace_back();
  }
  Queue& q = queue(output, lane, source);
  packet.next = nullptr;
  const bool first = q.head == nullptr;
  if (first) {
    q.head = &packet;
    bitmap(output, lane)[source / 64] |= 1ULL << (source % 64);
  } else {
    q.tail->next = &packet;
  }
  q.tail = &packet;
  Output& state = outputs_[output];
  state.lanes |= static_cast<std::uint8_t>(1U << lane);
  ++state.waiting;
  state.waiting_bytes += packet.wire_bytes;
  if (trims_ && lane == urgent_lane()) [[unlikely]]
    urgent_bytes_[output] += packet.wire_bytes;
  state.most_waiting_bytes = std::max(state.most_waiting_bytes, state.waiting_bytes);
  largest_ = std::max(largest_, packet.wire_bytes);
  if (probe_ != nullptr) [[unlikely]]
    draw(output);
  return first;
}

bool Switch::let_wait(std::uint32_t output, std::uint32_t lane, Packet& packet) {
  return enqueue(output, lane, packet);
}

Packet* Switch::dequeue(std::uint32_t output, std::uint32_t lane, std::uint32_t input) {
  Queue& q = queue(output, lane, input);
  Packet* packet = q.head;
  q.head = packet->next;
  Output& state = outputs_[output];
  if (q.head == nullptr) {
    std::uint64_t* words = bitmap(output, lane);
    words[input / 64] &= ~(1ULL << (input % 64));
    if (std::all_of(words, words + words_, [](std::uint64_t word) { return word == 0; })) {
      state.lanes &= static_cast<std::uint8_t>(~(1U << lane));
    }
  }
  --state.waiting;
  state.waiting_bytes -= packet->wire_bytes;
  if (trims_ && lane == urgent_lane()) [[unlikely]]
    urgent_bytes_[output] -= packet->wire_bytes;
  if (probe_ != nullptr) [[unlikely]]
    draw(output);
  return packet;
}

inline int Switch::pick_input(std::uint32_t output, std::uint32_t lane, Time now, Time& free) const {
  const std::uint64_t* words = bitmap(output, lane);
  const std::uint32_t start = outputs_[output].next_input[lane];
  if (words_ == 1 && !limits_crossbar_) [[likely]] {
    const std::uint64_t later = words[0] & (~0ULL << start);
    return words[0] == 0 ? -1 : std::countr_zero(later != 0 ? later : words[0]);
  }
  std::uint32_t word = start / 64;
  std::uint64_t bits = words[word] & (~0ULL << (start % 64));
  for (std::uint32_t step = 0;; ++step) {
    while (bits != 0) {
      const int input = static_cast<int>(word * 64) + std::countr_zero(bits);
      if (!limits_crossbar_ || crossbar_free_[static_cast<std::size_t>(input)] <= now) return input;
      free = std::min(free, crossbar_free_[static_cast<std::size_t>(input)]);
      bits &= bits - 1;
    }
    if (step == words_) return -1;  // the first word was seen twice: from the start, then whole
    word = after(word, words_);
    bits = words[word];
  }
}

inline Switch::Turn Switch::serve_lane(Time now, std::uint32_t index, std::uint32_t lane) {
  Time free = kNever;
  const int input = pick_input(index, lane, now, free);
  if (input < 0) return Turn::kNothing;
  const Packet& first = *queue(index, lane, static_cast<std::uint32_t>(input)).head;
  if (transmitters_[index].credit_at(static_cast<int>(lane), first.wire_bytes, now) != now) return Turn::kNothing;
  if (weighs_) {
    std::int64_t& deficit = deficits_[index * lanes_ + lane];
    if (deficit < first.wire_bytes) return Turn::kTooShort;
    deficit -= first.wire_bytes;
  }
  outputs_[index].next_input[lane] = static_cast<std::uint16_t>(after(static_cast<std::uint32_t>(input), sources_));
  send_first(now, index, lane, static_cast<std::uint32_t>(input));
  return Turn::kSent;
}

[[gnu::always_inline]] inline void Switch::send_first(Time now, std::uint32_t index, std::uint32_t lane,
                                                      std::uint32_t input) {
  Packet* packet = dequeue(index, lane, input);
  const std::uint32_t from = packet->ingress;
  if (buffer_ != nullptr && from < inputs_.size()) buffer_->prefetch(from, packet->lane);
  packet->tail_lag_ps =
      from < inputs_.size() ? static_cast<std::uint32_t>(inputs_[from].missing(now, *packet).count()) : 0;
  forward(now, index, lane, *packet);
}

/// Deficit round robin: a lane goes on while it has bytes left of its turn, and loses them when it has no packet.
void Switch::serve_by_weight(Time now, std::uint32_t index) {
  Output& output = outputs_[index];
  bool somebody = true;
  while (somebody) {
    somebody = false;
    for (std::uint32_t step = 0; step < lanes_; ++step) {
      const std::uint32_t lane = output.next_lane;
      const Turn turn = (output.lanes >> lane & 1U) == 0 ? Turn::kNothing : serve_lane(now, index, lane);
      if (turn == Turn::kSent) return;
      std::int64_t& deficit = deficits_[index * lanes_ + lane];
      if (turn == Turn::kNothing) deficit = 0;
      somebody = somebody || turn == Turn::kTooShort;
      output.next_lane = static_cast<std::uint8_t>(after(lane, lanes_));
      deficits_[index * lanes_ + output.next_lane] += quanta_[output.next_lane];
    }
  }
}

void Switch::serve(Time now, std::uint32_t index) {
  Output& output = outputs_[index];
  if (now < output.service_at && output.service_at != kNever) return;  // overtaken by an earlier arbitration
  output.service_at = kNever;
  if (output.waiting == 0) return;
  if (has_arbiters_) [[unlikely]]
    return ask(now, index);
  if (std::max(transmitters_[index].free_at(), output.next_grant) <= now + latency_) {
    if (weighs_) {
      serve_by_weight(now, index);
    } else {
      std::uint32_t lane = trims_ ? lane_in_turn(index) : output.next_lane;
      for (std::uint32_t step = 0; step < lanes_; ++step, lane = after(lane, lanes_)) {
        if ((output.lanes >> lane & 1U) == 0 || serve_lane(now, index, lane) != Turn::kSent) continue;
        output.next_lane = static_cast<std::uint8_t>(after(lane, lanes_));
        break;
      }
    }
  }
  if (output.waiting != 0) arm(now, index);
}

/// An output that could send from `free` on may at `at`, as far as credit goes.
inline void Switch::serve_at(Time now, std::uint32_t index, Time at, Time free) {
  Output& output = outputs_[index];
  if (at > free) {
    ++counters_.credit_waits;
    if (output.blocked_since == kNever) output.blocked_since = free;
    if (changed_ < changes_.size() && waits_for_routes(now, index, at)) [[unlikely]]
      return;
  }
  if (at == kNever) {
    transmitters_[index].wait_for_credit();
    return;
  }
  at = std::max(at, free);
  if (output.service_at <= at) return;
  output.service_at = at;
  if (Causes* const causes = dispatcher_.causes(); causes != nullptr) [[unlikely]] {
    causes->mark(CauseKind::kQueue, free, transmitters_[index].place());
    if (at > free) transmitters_[index].mark_credit(at);
  }
  dispatcher_.post(at, *this, kServe | index);
}

void Switch::arm(Time now, std::uint32_t index) {
  if (has_arbiters_) [[unlikely]]
    return arm_to_ask(now, index);
  Output& output = outputs_[index];
  Transmitter& transmitter = transmitters_[index];
  const Time free = std::max(now, std::max(transmitter.free_at(), output.next_grant) - latency_);
  if (output.service_at <= free) return;
  Time at = kNever;
  for (std::uint32_t lanes = output.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    Time crossbar = kNever;
    const int input = pick_input(index, lane, now, crossbar);
    if (input < 0) {
      at = std::min(at, crossbar);
      continue;
    }
    const Packet* first = queue(index, lane, static_cast<std::uint32_t>(input)).head;
    // It has not been touched since it came: where any packet may be sent it can wait to be fetched.
    __builtin_prefetch(first);
    if (static_cast<std::size_t>(input) < inputs_.size()) __builtin_prefetch(&inputs_[static_cast<std::size_t>(input)]);
    if (transmitter.may_send(static_cast<int>(lane), largest_)) {
      at = now;
      break;
    }
    at = std::min(at, transmitter.credit_at(static_cast<int>(lane), first->wire_bytes, now));
    if (at == now) break;
  }
  serve_at(now, index, at, free);
}

/// By an arbiter behind pins: what of this touches a packet's path (switch_arbiters.cpp has the rest).
void Switch::grant(Time now, std::uint32_t index, std::uint32_t lane, std::uint32_t input) {
  // It may have been routed again meanwhile.
  if (queue(index, lane, input).head != nullptr) send_first(now, index, lane, input);
  if (outputs_[index].waiting != 0) arm(now, index);
}

/// An output that has packets asks for one two cycles before it can send it.
void Switch::arm_to_ask(Time now, std::uint32_t index) {
  const OutputArbiter& arbiter = *arbiters_[index];
  if (arbiter.requests()) return;  // it sees all that is there
  const Output& output = outputs_[index];
  const Time free =
      std::max(now, std::max(transmitters_[index].free_at(), output.next_grant) - latency_ - arbiter.lead());
  if (output.service_at > free) serve_at(now, index, first_credit(now, index), free);
}

}  // namespace weft::fabric
