// SPDX-License-Identifier: Apache-2.0
// What Ultra Ethernet adds to sending: a path for each packet, what is under way, and what leaves again.
#include <algorithm>
#include <bit>

#include "hw/nic/congestion/pacing.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {

void Nic::Uet::add_queue_pair() {
  if (flows_.size() > Packet::kQueuePairMask) {
    SC_REPORT_FATAL(nic_.name(), "more queue pairs than Ultra Ethernet has numbers for here, which are 1048576");
  }
  flows_.push_back(std::make_unique<Flow>());
  const PathSelection& selection = path_selections().at(nic_.config_.uet.spray.text(), "nic.uet.spray");
  const auto paths = static_cast<std::uint16_t>(nic_.config_.uet.paths);
  flows_.back()->paths = selection.make({paths, nic_.config_.ack_timeout, Random(nic_.random_.next(), "paths")});
}

Nic::Uet::Sent* Nic::Uet::find(std::uint32_t number, std::uint32_t psn) {
  Flow& mine = flow(number);
  const std::uint32_t place = psn - (nic_.pairs_[number].acknowledged + 1);
  return place < mine.sent.size() ? &mine.sent[place] : nullptr;
}

bool Nic::Uet::has_repeats(std::uint32_t number) {
  Flow& mine = flow(number);
  for (; !mine.lost.empty(); mine.lost.pop_front()) {
    const Sent* sent = find(number, mine.lost.front());
    if (sent != nullptr && sent->state == State::kLost) return true;
  }
  for (; !mine.wanted.empty(); mine.wanted.pop_front()) {
    if (mine.reads.find(mine.wanted.front().psn) != mine.reads.end()) return true;
  }
  return false;
}

bool Nic::Uet::has_something(const QueuePair& pair) {
  if (pair.owes()) return true;
  if (pair.paused) return false;
  if (has_repeats(number_of(pair))) return true;
  return pair.next_job < pair.ready_jobs && pair.next_psn - pair.acknowledged <= kMostOutstanding;
}

void Nic::Uet::begin_message(std::uint32_t number, Job& job) {
  WorkRequest& request = job.request;
  Flow& mine = flow(number);
  if (request.verb == Verb::kRead) {
    Answer& answer = mine.reads[job.first_psn];
    answer.missing = nic_.packets_of(request.bytes);
    answer.here.assign(answer.missing, false);
    mine.progress = nic_.dispatcher_.now();
    return;
  }
  // A send has no address of its own: it says which receive it takes.
  if (request.verb == Verb::kSend) request.remote_address = static_cast<std::uint64_t>(mine.taking) << 32;
  if (request.verb == Verb::kSend || request.with_immediate) ++mine.taking;
}

Time Nic::Uet::form_repeat(Time now, Packet& packet, std::uint32_t number) {
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  if (!mine.lost.empty()) {
    packet.psn = mine.lost.front();
    mine.lost.pop_front();
    const Job& job = *job_of(pair, packet.psn);
    const Time ready =
        nic_.form(now, packet, job, static_cast<std::uint64_t>(packet.psn - job.first_psn) * nic_.segment_);
    if ((packet.flags & Packet::kLast) != 0) ++nic_.counters_.messages_repeated;
    nic_.count_repeat(packet);
    return ready;
  }
  const Piece piece = mine.wanted.front();
  mine.wanted.pop_front();
  packet.psn = piece.psn;
  nic_.form(now, packet, *job_of(pair, piece.psn), 0);
  packet.immediate = piece.from;
  packet.payload_bytes = piece.to;
  nic_.count_repeat(packet);
  return now;
}

void Nic::Uet::note_cut(Time now, std::uint32_t number, Packet& packet) {
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  const std::uint16_t entropy = mine.paths->next(now);
  packet.queue_pair |= static_cast<std::uint32_t>(entropy) << Packet::kQueuePairBits;
  if (!asks(packet)) return;
  packet.flags &= static_cast<std::uint8_t>(~Packet::kFirst);
  const std::uint32_t place = packet.psn - (pair.acknowledged + 1);
  const std::uint32_t bytes = packet.opcode == Opcode::kReadRequest ? 0 : packet.wire_bytes;
  if (place == mine.sent.size()) {
    mine.sent.push_back({now, kNever, bytes, entropy, State::kOut, 0});
    mine.credits.backlog -= bytes;
  } else if (place < mine.sent.size() && mine.sent[place].state == State::kLost) {
    mine.sent[place] = {now, kNever, bytes, entropy, State::kOut, mine.sent[place].doubts};
    mine.credits.backlog -= bytes;
  } else {
    return;  // a piece of a read whose request has come
  }
  mine.credits.sent += bytes;
  bool last = !has_something(pair);
  if (Congestion* congestion = pair.congestion.get(); congestion != nullptr && congestion->under_way != nullptr) {
    congestion->under_way->bytes += bytes;
    last = last || congestion->under_way->bytes + nic_.network_.wire_bytes(nic_.segment_) > congestion->window(now);
  }
  if (last) packet.flags |= Packet::kAsks;
  if ((packet.flags & (Packet::kAsks | Packet::kLast)) != 0) mine.asked = pair.acknowledged + 1 + place;
}

bool Nic::Uet::awaits_acknowledgement(std::uint32_t number) {
  const Sent* asked = find(number, flow(number).asked);
  if (asked != nullptr && asked->state == State::kOut) return true;
  return nic_.pairs_[number].congestion->under_way->bytes >= nic_.config_.uet.ack_every.count();
}

void Nic::Uet::arm_timer(Time now, std::uint32_t number) {
  Flow& mine = flow(number);
  if (mine.timer) return;
  mine.timer = true;
  nic_.dispatcher_.post(now + nic_.config_.ack_timeout, nic_, kTimeout, number);
}

void Nic::Uet::note_left(Time now, const Packet& packet, std::uint32_t number) {
  if (!asks(packet)) return;
  const std::uint32_t psn = whole_psn(packet.psn, nic_.pairs_[number].next_psn);
  Sent* sent = find(number, psn);
  if (sent == nullptr || sent->state != State::kOut) return;
  sent->left = now;
  forget_confirmed(number);
  flow(number).order.push_back({psn, now});
  flow(number).heard = now;
  arm_timer(now, number);
  plan_look(now, number);
}

void Nic::Uet::forget_confirmed(std::uint32_t number) {
  Flow& mine = flow(number);
  for (; !mine.order.empty(); mine.order.pop_front()) {
    const Left& first = mine.order.front();
    const Sent* sent = find(number, first.psn);
    if (sent != nullptr && sent->state == State::kOut && sent->left == first.left) return;
  }
}

void Nic::Uet::confirm(std::uint32_t number, Sent& sent, std::int64_t& wire_bytes) {
  if (sent.state == State::kHere) return;
  if (sent.state == State::kLost) {
    Flow::Credits& credits = flow(number).credits;
    credits.backlog -= sent.wire_bytes;
    if (credits.blocked && credits.backlog == 0) {  // what waited for credit has come all the same
      credits.blocked = false;
      nic_.activate(number);  // a read may stand behind it
    }
  }
  if (sent.state == State::kOut) {
    if (Congestion* congestion = nic_.pairs_[number].congestion.get(); congestion && congestion->under_way != nullptr) {
      congestion->under_way->bytes -= sent.wire_bytes;
    }
  }
  wire_bytes += sent.wire_bytes;
  sent.state = State::kHere;
}

void Nic::Uet::lose(Time now, std::uint32_t number, std::uint32_t psn, Sent& sent, bool surely) {
  Flow& mine = flow(number);
  sent.state = State::kLost;
  if (!surely && sent.doubts < UINT8_MAX) ++sent.doubts;
  mine.lost.push_back(psn);
  mine.credits.backlog += sent.wire_bytes;
  QueuePair& pair = nic_.pairs_[number];
  if (Congestion* congestion = pair.congestion.get(); congestion != nullptr && congestion->under_way != nullptr) {
    congestion->under_way->bytes -= sent.wire_bytes;
    congestion->under_way->full = false;
  }
  nic_.activate(number);
  nic_.arm(now, nullptr);
}

void Nic::Uet::take_acknowledgement(Time now, const Packet& ack) {
  const std::uint32_t number = ack.queue_pair;
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  const bool was_full = pair.next_psn - pair.acknowledged > kMostOutstanding;
  const std::uint32_t cumulative = whole_psn(ack.psn, pair.acknowledged);
  const std::uint32_t furthest = cumulative + static_cast<std::uint32_t>(ack.address >> kBeyondShift);
  const auto back = static_cast<std::uint32_t>(ack.address >> kSackBits & 0xff);
  std::int64_t wire_bytes = 0;
  Time left = kNever;
  const Sent* sent = back == kNoLatest ? nullptr : find(number, furthest - back);
  // Of several copies it is known which one this is for if they are two.
  const int copy = (ack.flags & Packet::kRepeated) != 0 ? 1 : 0;
  if (sent != nullptr && sent->state == State::kOut && sent->left != kNever &&
      (sent->doubts == 0 || (sent->doubts == 1 && copy == 1))) {
    left = sent->left;
    mine.round_trip = now - left;
    mine.in_sender = left - sent->cut;
    mine.newest = std::max(mine.newest, left);
    const bool marked = Congestion::marked(ack.immediate);
    mine.paths->heard(now, sent->entropy, marked ? PathNews::kMarked : PathNews::kGood);
  }
  const auto beyond = static_cast<std::int32_t>(furthest - cumulative);
  for (std::uint64_t bits = ack.address & ((1ULL << kSackBits) - 1); bits != 0 && beyond > 0; bits &= bits - 1) {
    const int down = std::countr_zero(bits);
    if (down >= beyond) break;
    Sent* one = find(number, furthest - static_cast<std::uint32_t>(down));
    if (one != nullptr) confirm(number, *one, wire_bytes);
  }
  const bool advances = before(pair.acknowledged, cumulative);
  while (before(pair.acknowledged, cumulative) && !mine.sent.empty()) {
    confirm(number, mine.sent.front(), wire_bytes);
    mine.sent.pop_front();
    ++pair.acknowledged;
  }
  if (wire_bytes > 0 || advances) note_progress(now, number);
  if (wire_bytes > 0 && pair.congestion != nullptr) {
    Acknowledged acknowledged;
    acknowledged.wire_bytes = wire_bytes;
    acknowledged.round_trip = mine.round_trip;
    acknowledged.in_sender = mine.in_sender;
    nic_.note_confirmed(now, number, acknowledged, ack.immediate);
  }
  mine.heard = now;
  if (left != kNever) find_overtaken(now, number);
  plan_look(now, number);
  if (advances) {
    if (pair.extra != nullptr) pair.extra->refused_since = kNever;
    nic_.retire(now, number);
  }
  if (was_full) nic_.activate(number);
}

void Nic::Uet::take_nak(Time now, const Packet& nak) {
  const std::uint32_t number = nak.queue_pair;
  const std::uint32_t psn = whole_psn(nak.psn, nic_.pairs_[number].acknowledged);
  Sent* sent = find(number, psn);
  if (sent == nullptr || sent->state != State::kOut) return;
  // At its end all paths meet: there is no better one.
  if ((nak.flags & Packet::kBeforeLastHop) != 0) flow(number).paths->heard(now, sent->entropy, PathNews::kTrimmed);
  nic_.note_lost(now, number);
  flow(number).credits.cut += sent->wire_bytes;
  end_unasked(number);
  lose(now, number, psn, *sent, true);
}

void Nic::Uet::take_refusal(Time now, const Packet& refusal) {
  const std::uint32_t number = refusal.queue_pair;
  QueuePair& pair = nic_.pairs_[number];
  const std::uint32_t psn = whole_psn(refusal.psn, pair.acknowledged);
  Sent* sent = find(number, psn);
  if (sent == nullptr || sent->state == State::kLost) return;
  if (sent->state == State::kOut) {
    lose(now, number, psn, *sent, true);
  } else {
    // It had come ahead of its turn.
    sent->state = State::kLost;
    flow(number).lost.push_back(psn);
    flow(number).credits.backlog += sent->wire_bytes;
  }
  if (pair.paused) return;
  pair.paused = true;
  Extra& extra = pair.with_extra();
  if (extra.refused_since == kNever) extra.refused_since = now;
  const Time refused = now - extra.refused_since;
  if (refused < nic_.config_.rnr_limit) {
    nic_.dispatcher_.post(now + nic_.config_.rnr_timer + refused / 8, nic_, kResume, number);
  }
}

void Nic::Uet::ask_for_missing(std::uint32_t number, const Job& read) {
  Flow& mine = flow(number);
  const auto answer = mine.reads.find(read.first_psn);
  if (answer == mine.reads.end()) return;
  const std::vector<bool>& here = answer->second.here;
  const auto bytes = static_cast<std::uint32_t>(read.request.bytes);
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (here[i]) continue;
    std::size_t end = i + 1;
    while (end < here.size() && !here[end]) ++end;
    const auto from = static_cast<std::uint32_t>(i * nic_.segment_);
    mine.wanted.push_back(
        {read.first_psn, from, static_cast<std::uint32_t>(std::min<std::size_t>(end * nic_.segment_, bytes))});
    i = end;
  }
}

void Nic::Uet::timeout(Time now, std::uint32_t number) {
  QueuePair& pair = nic_.pairs_[number];
  Flow& mine = flow(number);
  mine.timer = false;
  if (nic_.stands_in_error(pair) || pair.paused) return nic_.dispatcher_.disregard();
  forget_confirmed(number);
  const Job* read = awaited_read(pair);
  if (read != nullptr && before(pair.acknowledged, read->first_psn)) read = nullptr;  // its request is on its way
  const Time wait = nic_.config_.ack_timeout;
  Time due = mine.order.empty() ? kNever : mine.order.front().left + wait;
  if (read != nullptr || mine.credits.blocked) due = std::min(due, mine.progress + wait);
  if (due == kNever) return nic_.dispatcher_.disregard();
  due += mine.jitter;
  if (now < due) {
    mine.timer = true;
    nic_.dispatcher_.post(due, nic_, kTimeout, number);
    return;
  }
  if (mine.retries == static_cast<std::uint32_t>(nic_.config_.retry_limit)) {
    return nic_.fail(now, number, Status::kRetryExceeded);
  }
  ++mine.retries;
  ++nic_.counters_.timeouts;
  mine.progress = now;
  mine.jitter = Time(
      static_cast<std::int64_t>(nic_.random_.share() * nic_.config_.retry_jitter * static_cast<double>(wait.count())));
  std::int64_t bytes = 0;
  for (; !mine.order.empty() && mine.order.front().left + wait <= now; forget_confirmed(number)) {
    const std::uint32_t psn = mine.order.front().psn;
    Sent& sent = *find(number, psn);
    mine.paths->heard(now, sent.entropy, PathNews::kLost);
    bytes += sent.wire_bytes;
    lose(now, number, psn, sent, false);
  }
  if (bytes > 0) nic_.note_timed_out(now, number, bytes);
  if (read != nullptr) ask_for_missing(number, *read);
  if (mine.credits.blocked) mine.credits.told = -1;  // it is asked for again: a grant for what was cut may be lost, too
  mine.timer = true;
  nic_.dispatcher_.post(now + wait + mine.jitter, nic_, kTimeout, number);
  nic_.activate(number);
  nic_.pump(now);
}

void Nic::Uet::give_up(std::uint32_t number) {
  Flow& mine = flow(number);
  nic_.pairs_[number].acknowledged = nic_.pairs_[number].next_psn - 1;
  mine.sent = {};
  mine.order = {};
  mine.lost = {};
  mine.wanted = {};
  mine.reads.clear();
  mine.came = {};
}

}  // namespace weft::nic
