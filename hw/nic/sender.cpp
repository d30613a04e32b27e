// SPDX-License-Identifier: Apache-2.0
// The sending half of Nic: work requests become packets, payload is read ahead, the link sends.
#include <algorithm>
#include <cassert>

#include "hw/nic/explained.h"
#include "hw/nic/nic.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {
namespace {

constexpr int kFirstLane = 0;  // where every packet starts

}  // namespace

std::uint32_t Nic::packets_of(std::uint64_t bytes) const {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + segment_ - 1) / segment_);
}

void Nic::activate(std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  if (pair.active || !has_something(pair)) return;
  pair.active = true;
  way_of(pair).ring.push_back(number);
}

bool Nic::loops(const QueuePair& pair) const {
  if (!pair.grouped) return pair.peer_end == end_;
  // Each datagram names its own peer.
  if (pair.next_job == pair.jobs.size()) return false;
  const WorkRequest& next = pair.jobs[pair.next_job].request;
  return next.verb == Verb::kSend && next.peer == end_;
}

bool Nic::has_something(QueuePair& pair) const {
  if (sprays_ && !pair.grouped) [[unlikely]]
    return uet_->has_something(pair);
  if (!pair.paused && pair.next_job < pair.ready_jobs) {
    if (pair.grouped) return window_open(pair);
    if (!recovers_ || may_number(pair)) return true;
  }
  if (pair.owes()) return true;
  return !pair.paused && recovers_ && !pair.grouped && has_repeats(pair);
}

Fetched Nic::cut_packet(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Packet* packet = packets_.take();
  packet->source = end_;
  packet->destination = pair.peer_end;
  packet->queue_pair = pair.peer_queue_pair;
  if (pair.grouped) [[unlikely]]
    return cut_group_packet(now, number, *packet);
  if (pair.owes()) {
    Response& response = pair.extra->responses.front();
    if (response.refused) [[unlikely]] {
      packet->opcode = Opcode::kAccessError;
      packet->psn = response.psn;
      packet->wire_bytes = control_bytes_;
      fail(now, number, Status::kRemoteAccessError);
      return {packet, now, control_bytes_, number};
    }
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(response.bytes - response.cut, segment_));
    packet->opcode = Opcode::kReadResponse;
    packet->psn = response.psn;
    packet->address = response.cut;  // the requester knows where its read goes
    packet->payload_bytes = bytes;
    packet->wire_bytes = network_.wire_bytes(bytes);
    const Time ready = fetch(now, *packet, response.address + response.cut);
    if (response.repeated) [[unlikely]]
      count_repeat(*packet);
    response.cut += bytes;
    if (response.cut == response.bytes) {
      packet->flags |= Packet::kLast;
      pair.extra->responses.pop_front();
    }
    return {packet, ready, packet->wire_bytes, number};
  }
  if (sprays_ && uet_->has_repeats(number)) [[unlikely]]
    return {packet, uet_->form_repeat(now, *packet, number), packet->wire_bytes, number};
  if (recovers_ && has_repeats(pair)) [[unlikely]]
    return {packet, form_repeat(now, *packet, number), packet->wire_bytes, number};
  Job& job = pair.jobs[pair.next_job];
  if (job.cut == 0) {
    job.first_psn = pair.next_psn;
    job.is_direct = false;
    job.packets = job.request.verb == Verb::kRead ? 1 : packets_of(job.request.bytes);
    if (sprays_) [[unlikely]]
      uet_->begin_message(number, job);
  }
  packet->psn = pair.next_psn++;
  const Time ready = form(now, *packet, job, job.cut);
  if (job.request.verb != Verb::kRead) job.cut += packet->payload_bytes;
  if ((packet->flags & Packet::kLast) != 0) {
    ++pair.next_job;
    ++(job.sent ? counters_.messages_repeated : counters_.messages_sent);
    if (job.sent) packet->flags |= Packet::kRepeated;
    job.sent = true;
  }
  if (recovers_) [[unlikely]]
    note_cut(pair, *packet);
  return {packet, ready, packet->wire_bytes, number};
}

Time Nic::form(Time now, Packet& packet, const Job& job, std::uint64_t from) {
  const WorkRequest& request = job.request;
  if (from == 0) packet.flags |= Packet::kFirst;
  packet.address = (request.remote_address + from) | static_cast<std::uint64_t>(request.remote_key)
                                                         << Packet::kAddressBits;
  if (request.verb == Verb::kRead) {
    packet.opcode = Opcode::kReadRequest;
    packet.flags |= Packet::kLast;
    packet.payload_bytes = static_cast<std::uint32_t>(request.bytes);
    packet.wire_bytes = control_bytes_;
    packet.immediate = job.received;  // a repeated one asks for what is missing
    return now;
  }
  const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.bytes - from, segment_));
  packet.opcode = request.verb == Verb::kWrite ? Opcode::kWrite : Opcode::kSend;
  packet.payload_bytes = bytes;
  packet.wire_bytes = network_.wire_bytes(bytes);
  if (from + bytes == request.bytes) {
    packet.flags |= Packet::kLast;
    if (request.with_immediate) {
      packet.flags |= Packet::kImmediate;
      packet.immediate = request.immediate;
    }
  }
  if (request.stored) [[unlikely]]
    packet.flags |= Packet::kStored;
  return fetch(now, packet, request.local_address + from);
}

Time Nic::fetch(Time now, Packet& packet, std::uint64_t address) {
  const std::uint32_t bytes = packet.payload_bytes;
  engine_free_ = std::max(now, engine_free_) + packet_cost_ * units_of(bytes);
  if (bytes == 0) return engine_free_;
  if (data_) packets_.attach_payload(packet, bytes);
  HostLink::Answer memory(now);
  Time asked = now;
  if ((packet.flags & Packet::kStored) != 0) [[unlikely]] {
    if (data_) memory_.debug({tlm::TLM_READ_COMMAND, address, bytes, packet.payload});
  } else if (phases_) [[unlikely]] {
    return begin_read(now, packet, address);
  } else {
    asked += host_.wait_to_read(now);
    const auto read = [&](std::uint32_t from, std::uint32_t part) {
      std::byte* const data = data_ ? packet.payload + from : nullptr;
      return memory_.access_blocking(*memory_port_, now, tlm::TLM_READ_COMMAND, address + from, data, part, asked);
    };
    const std::uint32_t head = std::min(bytes, mtu_);
    memory.first = memory.last = read(0, head);
    if (bytes > head) memory.last = read(head, bytes - head);
  }
  const HostLink::Arrival data = host_.read(now, engine_free_, memory, address, bytes);
  packet.tail_lag_ps = static_cast<std::uint32_t>(data.spread.count());
  const Time ready = std::max(now, data.tail - data.spread);
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    explained_->read(now, asked, ready, bytes > mtu_ ? memory.first : memory.last, bytes);
  return ready;
}

std::int64_t Nic::turn_of(const WayOut& way) const {
  if (!recovers_) [[likely]]
    return config_.turn.count();
  // Who waits for a turn makes no progress: a round of all is an eighth of the timeout at most.
  constexpr std::int64_t kPart = 8;
  const std::int64_t round =
      scaled(transmitter_.rate().count() / 8, config_.ack_timeout.count() / kPart, 1'000'000'000'000);
  return std::min(config_.turn.count(), round / static_cast<std::int64_t>(way.ring.size()));
}

void Nic::fill(Time now, WayOut& way) {
  while (!way.ring.empty() && (way.fetched.size() < 2 || way.bytes < config_.read_ahead.count())) {
    const std::uint32_t number = way.ring.front();
    QueuePair& pair = pairs_[number];
    bool cuts = has_something(pair);
    if (paces_ && cuts && !pair.grouped) [[unlikely]]
      cuts = may_cut(now, number);
    if (contexts_ != nullptr && cuts) [[unlikely]]
      cuts = has_context_to_send(now, number);
    if (cuts) {
      const Fetched entry = cut_packet(now, number);
      if (sprays_ && !pair.grouped) [[unlikely]]
        uet_->note_cut(now, number, *entry.packet);
      entry.packet->psn &= kPsnMask;
      way.fetched.push_back(entry);
      if (dispatcher_.causes() != nullptr) [[unlikely]]
        explained_->read_ahead(way);
      way.bytes += entry.wire_bytes;
      way.turn += entry.wire_bytes;
      if (paces_ && !pair.grouped) [[unlikely]]
        note_paced(now, number, *entry.packet);
      if (way.turn < turn_of(way) && &way_of(pair) == &way) continue;
    }
    way.turn = 0;
    way.ring.pop_front();
    pair.active = false;
    if (cuts) activate(number);
  }
  // With many queue pairs, none has been touched since its last turn: the next one's work request comes in now, and the
  // one after that itself.
  if (way.ring.empty()) return;
  const QueuePair& next = pairs_[way.ring.front()];
  if (next.next_job < next.jobs.size()) __builtin_prefetch(&next.jobs[next.next_job]);
  if (way.ring.size() > 1) pairs_[way.ring[1]].prefetch();
}

void Nic::arm(Time at, const Packet* next) {
  if (pump_at_ <= at) return;  // or it is not known: memory will say
  pump_at_ = at;
  // The dispatcher prefetches what an event points to: it was written long before.
  dispatcher_.post(at, *this, kPump, reinterpret_cast<std::uint64_t>(next));
}

void Nic::pump(Time now) {
  if (may_loop_) [[unlikely]]
    pump_loop(now);
  fill(now, wire_);
  while (!wire_.control.empty() || !wire_.fetched.empty()) {
    const bool is_control = !wire_.control.empty();
    Packet* packet = is_control ? wire_.control.front() : wire_.fetched.front().packet;
    const std::uint32_t wire_bytes = is_control ? control_bytes_ : wire_.fetched.front().wire_bytes;
    const Time credit = transmitter_.credit_at(kFirstLane, wire_bytes, now);
    if (credit == kNever) return transmitter_.wait_for_credit();
    Time at = std::max(transmitter_.free_at(), credit);
    if (!is_control) at = std::max(at, wire_.fetched.front().ready);
    at = std::max(at, now);
    if (dispatcher_.causes() != nullptr && at > now) [[unlikely]]
      mark_wait(at, credit);
    if (at > now && (credit > now || !may_go_ahead(at - now))) return arm(at, packet);
    take_first(now, wire_);
    if (probe_ != nullptr) [[unlikely]]
      draw(*packet, at);
    transmitter_.send(*packet, at);
    fill(now, wire_);
  }
}

/// The first packet goes at `at`: when the one before it has left, when there is credit, or when its bytes are here.
void Nic::mark_wait(Time at, Time credit) {
  if (at == credit) return transmitter_.mark_credit(at);
  if (at != transmitter_.free_at()) return explained_->mark_first(wire_, at);
  dispatcher_.causes()->mark(CauseKind::kSerialisation, at, transmitter_.place());
}

bool Nic::may_go_ahead(Time ahead) const {
  return posts_ && wire_.ring.empty() && wire_.control.empty() && ahead <= most_ahead_;
}

void Nic::pump_loop(Time now) {
  fill(now, loop_);
  while (!loop_.control.empty() || !loop_.fetched.empty()) {
    const bool is_control = !loop_.control.empty();
    Packet* packet = is_control ? loop_.control.front() : loop_.fetched.front().packet;
    if (!is_control && loop_.fetched.front().ready > now) {
      if (dispatcher_.causes() != nullptr) [[unlikely]]
        explained_->mark_first(loop_, loop_.fetched.front().ready);
      return arm(loop_.fetched.front().ready, packet);
    }
    take_first(now, loop_);
    loop_back(now, *packet);
    fill(now, loop_);
  }
}

void Nic::take_first(Time now, WayOut& way) {
  ++counters_.packets_sent;
  if (!way.control.empty()) return way.control.pop_front();
  const Fetched first = way.fetched.front();
  way.fetched.pop_front();
  if (dispatcher_.causes() != nullptr) [[unlikely]]
    explained_->first_left(way);
  way.bytes -= first.wire_bytes;
  if (recovers_ && !pairs_[first.queue_pair].grouped) [[unlikely]]
    note_sent(now, *first.packet, first.queue_pair);
  if (sprays_ && !pairs_[first.queue_pair].grouped) [[unlikely]]
    uet_->note_left(now, *first.packet, first.queue_pair);
  if (hears_ && !pairs_[first.queue_pair].grouped) [[unlikely]]
    note_left(now, *first.packet, first.queue_pair);
  if (first.packet->opcode != Opcode::kReadRequest && &way == &wire_)
    counters_.bytes_sent += first.packet->payload_bytes;
}

void Nic::draw(const Packet& packet, Time now) {
  // Transactions that follow each other closely are one bar; its height is drawn as the payload rate of each bar's
  // length.
  constexpr Time kGap = Time(1'000'000);
  if (now > drawn_until_ + kGap) {
    finish_drawing();
    drawn_from_ = now;
    drawn_bytes_ = 0;
  }
  drawn_until_ = now + transfer_time(Bytes(packet.wire_bytes), transmitter_.rate());
  drawn_bytes_ += packet.payload_bytes;
}

void Nic::finish_drawing() {
  if (probe_ == nullptr || drawn_bytes_ == 0) return;
  probe_->slice(track_, {.what = "sending", .from = drawn_from_, .to = drawn_until_, .bytes = drawn_bytes_});
  const double seconds = static_cast<double>((drawn_until_ - drawn_from_).count()) * 1e-12;
  probe_->counter(track_, "GB/s", drawn_from_, static_cast<double>(drawn_bytes_) / seconds * 1e-9);
  probe_->counter(track_, "GB/s", drawn_until_, 0);
}

void Nic::acknowledge(Time now, std::uint32_t number, std::uint32_t psn, std::uint32_t echo) {
  QueuePair& pair = pairs_[number];
  if (static_cast<std::int32_t>(psn - pair.acknowledged) > 0) {
    const bool stood = recovers_ && !may_number(pair);
    pair.acknowledged = psn;
    if (recovers_) [[unlikely]]
      note_acknowledged(now, pair);
    if (hears_ && !pair.grouped) [[unlikely]]
      note_heard(now, number, psn, echo);
    if (stood) [[unlikely]]
      activate(number);
  }
  retire(now, number);
}

void Nic::retire(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  while (pair.next_job > 0) {
    const Job& job = pair.jobs.front();
    if (static_cast<std::int32_t>(job.first_psn + job.packets - 1 - pair.acknowledged) > 0) break;
    // An acknowledgement of what follows a read may overtake its data.
    if (job.request.verb == Verb::kRead && !job.visible) break;
    if (job.request.signaled) {
      complete(pair, {job.request.id, job.request.bytes, number, 0, job.request.verb, false},
               now + config_.write_latency);
    }
    pair.jobs.pop_front();
    --pair.next_job;
    --pair.ready_jobs;
    free_place(now, number, false);
  }
}

template <typename Rule>
void Nic::drop_read_ahead(const Rule& rule) {
  const Time now = dispatcher_.now();
  std::int64_t unread = 0;
  const auto drop = [&](const Fetched& entry) {
    if (!rule(entry)) return false;
    if (entry.ready == kNever) {
      forget_read(*entry.packet);
      return true;
    }
    if (entry.ready > now + config_.read_latency) unread += entry.packet->payload_bytes;
    packets_.give_back(entry.packet);
    return true;
  };
  for (WayOut* way : {&wire_, &loop_}) {
    for (std::size_t left = way->fetched.size(); left > 0; --left) {
      const Fetched entry = way->fetched.front();
      way->fetched.pop_front();
      const bool stays = !drop(entry);
      if (stays) {
        way->fetched.push_back(entry);
      } else {
        way->bytes -= entry.wire_bytes;
      }
      if (dispatcher_.causes() != nullptr) [[unlikely]]
        stays ? explained_->first_goes_back(*way) : explained_->first_left(*way);
    }
  }
  host_.give_up(now, unread);
}

void Nic::go_back(std::uint32_t number, std::uint32_t psn) {
  // Everything from this packet on goes again: what had begun after it starts over.
  QueuePair& pair = pairs_[number];
  std::size_t index = std::min<std::size_t>(pair.next_job, pair.jobs.size() - 1);
  for (;; --index) {
    Job& job = pair.jobs[index];
    const bool begun = index < pair.next_job || job.cut != 0;
    if (begun && static_cast<std::int32_t>(job.first_psn - psn) <= 0) {
      job.cut = static_cast<std::uint64_t>(psn - job.first_psn) * segment_;
      if (job.cut > job.request.bytes) job.cut = job.request.bytes;
      pair.next_job = static_cast<std::uint32_t>(index);
      break;
    }
    job.cut = 0;
    if (index == 0) break;
  }
  const std::uint32_t near = pair.next_psn;
  pair.next_psn = psn;
  if (hears_) forget_from(number, psn);
  drop_read_ahead([&](const Fetched& entry) {
    const Packet& packet = *entry.packet;
    const std::uint32_t number_of = whole_psn(packet.psn, near);
    if (entry.queue_pair != number || !asks(packet) || before(number_of, psn)) return false;
    const bool again = (packet.flags & Packet::kRepeated) != 0;
    if ((packet.flags & Packet::kLast) != 0) {
      --(again ? counters_.messages_repeated : counters_.messages_sent);
      if (!again) job_of(pair, number_of)->sent = false;
    }
    if (pair.recovery == nullptr) return true;
    if (again) {
      discount_repeat(packet);
    } else if (before(number_of, pair.recovery->end_psn)) {
      pair.recovery->end_psn = number_of;
    }
    return true;
  });
  if (pair.recovery != nullptr) pair.recovery->rewound_end = pair.recovery->end_psn;
}

void Nic::drop_answers(std::uint32_t number, std::uint32_t psn) {
  drop_read_ahead([&](const Fetched& entry) {
    const Packet& packet = *entry.packet;
    if (entry.queue_pair != number || packet.opcode != Opcode::kReadResponse) return false;
    if (before(whole_psn(packet.psn, psn), psn)) return false;
    if ((packet.flags & Packet::kRepeated) != 0) discount_repeat(packet);
    return true;
  });
}

void Nic::refused(Time now, std::uint32_t number, std::uint32_t psn) {
  QueuePair& pair = pairs_[number];
  if (static_cast<std::int32_t>(pair.next_psn - psn) <= 0 || pair.paused) return;
  if (static_cast<std::int32_t>(psn - pair.acknowledged) <= 0) return;  // overtaken by its acknowledgement
  go_back(number, psn);
  pair.paused = true;
  Extra& extra = pair.with_extra();
  if (extra.refused_since == kNever || extra.refused_psn != psn) {
    extra.refused_psn = psn;
    extra.refused_since = now;
  }
  const Time refused = now - extra.refused_since;
  if (refused < config_.rnr_limit) dispatcher_.post(now + config_.rnr_timer + refused / 8, *this, kResume, number);
}

}  // namespace weft::nic
