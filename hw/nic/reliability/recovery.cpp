// SPDX-License-Identifier: Apache-2.0
// Recovery of Nic: what comes out of turn, what is asked for again, what is repeated when nothing is heard.
#include "hw/nic/reliability/recovery.h"

#include <algorithm>

#include "hw/nic/congestion/pacing.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {
namespace {

/// Packets after which a message that goes on is acknowledged, or as part of the timeout, whichever comes first: many
/// queue pairs may share the link.
constexpr std::uint32_t kAcknowledgeEvery = 64;
constexpr std::int64_t kAcknowledgePart = 8;

/// Of a NAK's address: above are which packet is the newest that has come, from the first missing one on and plus one,
/// or nothing; below where what it asks for begins.
constexpr int kNewestShift = 32;

}  // namespace

// --- As responder ---

void Nic::receive_in_turn(Time now, Packet& packet, QueuePair& pair) {
  const std::uint32_t number = packet.queue_pair;
  const Turn turn = turn_of(now, packet, pair);
  const Time drained = turn == Turn::kNow ? take(now, packet, pair) : now;
  release(packet, drained - now);
  if (turn != Turn::kHeld) packets_.give_back(&packet);
  if (turn == Turn::kNow) take_held(now, number);
  pump(now);
}

Nic::Turn Nic::turn_of(Time now, Packet& packet, QueuePair& pair) {
  if (pair.recovery->failed) return Turn::kNever;
  switch (packet.opcode) {
    case Opcode::kSend:
    case Opcode::kWrite:
    case Opcode::kReadRequest:
      return turn_of_request(now, packet, pair);
    case Opcode::kReadResponse:
      return turn_of_response(now, packet, pair);
    default:
      return Turn::kNow;
  }
}

Nic::Turn Nic::turn_of_request(Time now, Packet& packet, QueuePair& pair) {
  Recovery& recovery = *pair.recovery;
  const std::uint32_t number = packet.queue_pair;
  if (before(packet.psn, pair.expected_psn)) {
    ++counters_.duplicates;
    if (packet.opcode == Opcode::kReadRequest) {
      answer_again(packet, pair);
    } else {
      control(Opcode::kAck, number, pair.expected_psn - 1);
    }
    return Turn::kNever;
  }
  if (before(recovery.asked_end, pair.expected_psn)) recovery.asked_end = pair.expected_psn;
  if (before(recovery.dropped_end, pair.expected_psn)) recovery.dropped_end = pair.expected_psn;
  if (before(recovery.dropped_asked, pair.expected_psn)) recovery.dropped_asked = pair.expected_psn;
  if (packet.psn == pair.expected_psn) return Turn::kNow;
  const bool refused = recovery.told_psn == pair.expected_psn;  // then all comes again
  if (config_.reorder == Bytes(0)) {
    ++counters_.dropped;
    if (refused) return Turn::kNever;
    recovery.told_psn = pair.expected_psn;
    ++counters_.naks;
    control(Opcode::kNak, number, pair.expected_psn);
    return Turn::kNever;
  }
  if (recovery.requests.bytes() + packet.wire_bytes > config_.reorder.count()) {
    ++counters_.dropped;
    if (!refused && before(recovery.dropped_end, packet.psn + 1)) recovery.dropped_end = packet.psn + 1;
    if (before(packet.psn, recovery.dropped_asked)) recovery.dropped_asked = packet.psn;  // in vain
    return Turn::kNever;
  }
  if (!recovery.requests.insert(packet)) {
    ++counters_.duplicates;
    return Turn::kNever;
  }
  ++counters_.held;
  recovery.gaps.begin_at(pair.expected_psn);
  if (recovery.gaps.fill(packet.psn) && !refused) {
    ++recovery.further;
    wait_for_gaps(now, number);
  }
  return Turn::kHeld;
}

void Nic::wait_for_gaps(Time now, std::uint32_t number) {
  Recovery& recovery = *pairs_[number].recovery;
  if (recovery.gap_timer) return;
  recovery.gap_timer = true;
  recovery.asking_end = recovery.gaps.end();
  dispatcher_.post(now + config_.reorder_wait, *this, kGap, number);
}

void Nic::ask_for_dropped(std::uint32_t number) {
  // What found no room is asked for when its turn comes: there is room then.
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  const std::uint32_t from = pair.expected_psn;
  if (!before(from, recovery.dropped_end) || before(from, recovery.dropped_asked)) return;
  std::uint32_t until = recovery.dropped_end;
  if (!recovery.requests.empty() && before(recovery.requests.front()->psn, until)) {
    until = recovery.requests.front()->psn;
  }
  recovery.dropped_asked = until;
  ask_again(number, from, until, std::nullopt);  // a repeat of it may have been dropped as well
}

void Nic::note_taken(Time now, const Packet& packet, QueuePair& pair) {
  Recovery& recovery = *pair.recovery;
  if ((packet.flags & Packet::kLast) != 0) return;
  if (++recovery.unacknowledged < kAcknowledgeEvery &&
      now - recovery.acknowledged_at <= config_.ack_timeout / kAcknowledgePart) {
    return;
  }
  recovery.unacknowledged = 0;
  recovery.acknowledged_at = now;
  control(Opcode::kAck, packet.queue_pair, packet.psn);
}

void Nic::request_gap(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  recovery.gap_timer = false;
  if (recovery.failed) return dispatcher_.disregard();
  // Asks for what was missing when the timer began; what is missing after it has waited too short. A NAK names the
  // newest packet that was here then, by which the sender knows whether what it has repeated since is lost. Gaps are
  // asked for again no more often than packets come.
  recovery.gaps.begin_at(pair.expected_psn);
  const std::size_t gaps = recovery.gaps.size();
  const bool again = recovery.further >= gaps;
  bool asked = false;
  for (std::size_t i = 0; i < gaps && recovery.told_psn != pair.expected_psn; ++i) {
    const auto [psn, end] = recovery.gaps[i];
    const std::uint32_t from = !again && before(psn, recovery.asked_end) ? recovery.asked_end : psn;
    const std::uint32_t until = before(recovery.asking_end, end) ? recovery.asking_end : end;
    if (!before(from, until)) continue;
    asked = true;
    ask_again(number, from, until, recovery.asking_end - 1);
  }
  if (again) recovery.further = 0;
  if (before(recovery.asked_end, recovery.asking_end)) recovery.asked_end = recovery.asking_end;
  if (gaps != 0 && before(recovery.asking_end, recovery.gaps.end())) {
    wait_for_gaps(now, number);
  } else if (!asked && !owes_control()) {
    dispatcher_.disregard();
  }
  pump(now);
}

void Nic::ask_again(std::uint32_t number, std::uint32_t psn, std::uint32_t end, std::optional<std::uint32_t> newest) {
  const std::uint32_t expected = pairs_[number].expected_psn;
  ++counters_.naks;
  Packet& nak = control(Opcode::kNak, number, expected);
  nak.immediate = end - psn;
  nak.address = psn - expected;
  if (newest) nak.address |= static_cast<std::uint64_t>(*newest - expected + 1) << kNewestShift;
}

void Nic::note_refused(QueuePair& pair) {
  // The refused packet comes again with all that follows: nothing of it is missing.
  pair.recovery->told_psn = pair.expected_psn;
  pair.recovery->dropped_end = pair.expected_psn;
}

void Nic::answer_again(const Packet& request, QueuePair& pair) {
  // A requester that goes back repeats all later reads as well, and what is read ahead of their answers is in vain. One
  // that holds what comes may miss only what has left already: then the rest still follows.
  const bool goes_back = config_.reorder == Bytes(0);
  if (goes_back) drop_answers(request.queue_pair, request.psn);
  Fifo<Response>& responses = pair.with_extra().responses;
  Response again{request.address & Packet::kAddressMask, request.payload_bytes, request.immediate, request.psn, true};
  for (std::size_t left = responses.size(); left > 0; --left) {
    const Response response = responses.front();
    responses.pop_front();
    if (goes_back ? !before(response.psn, request.psn)
                  : response.psn == request.psn && response.cut < again.bytes && again.cut <= response.bytes) {
      if (!goes_back) again.bytes = std::max(again.bytes, response.bytes);
      continue;
    }
    responses.push_back(response);
  }
  responses.push_back(again);
  activate(request.queue_pair);
}

void Nic::take_held(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  while (!recovery.requests.empty() && !before(pair.expected_psn, recovery.requests.front()->psn)) {
    Packet& packet = *recovery.requests.take_front();
    if (turn_of_request(now, packet, pair) == Turn::kNow) take(now, packet, pair);
    packets_.give_back(&packet);
  }
  ask_for_dropped(number);
  while (!recovery.responses.empty()) {
    Packet& packet = *recovery.responses.front();
    const Job* read = awaited_read(pair);
    const bool ahead = read != nullptr && (before(read->first_psn, packet.psn) ||
                                           (read->first_psn == packet.psn && read->received < packet.address));
    if (ahead) break;
    recovery.responses.take_front();
    if (turn_of_response(now, packet, pair) == Turn::kNow) take(now, packet, pair);
    packets_.give_back(&packet);
  }
  if (!recovery.responses.empty()) wait_for_response(now, number);
  if (recovery.response_dropped && recovery.responses.empty()) {
    recovery.response_dropped = false;
    if (awaited_read(pair) != nullptr) repeat_reads(pair, true);
    activate(number);
  }
}

// --- As requester ---

Job* Nic::awaited_read(QueuePair& pair) {
  for (std::size_t i = 0; i < pair.jobs.size() && pair.jobs[i].packets != 0; ++i) {
    Job& job = pair.jobs[i];
    if (job.request.verb == Verb::kRead && !job.answered) return &job;
  }
  return nullptr;
}

Job* Nic::job_of(QueuePair& pair, std::uint32_t psn) {
  for (std::size_t i = 0; i < pair.jobs.size() && pair.jobs[i].packets != 0; ++i) {
    Job& job = pair.jobs[i];
    if (!before(psn, job.first_psn) && before(psn, job.first_psn + job.packets)) return &job;
  }
  return nullptr;
}

Nic::Turn Nic::turn_of_response(Time now, Packet& packet, QueuePair& pair) {
  Recovery& recovery = *pair.recovery;
  const Job* read = awaited_read(pair);
  if (read == nullptr || before(packet.psn, read->first_psn) ||
      (packet.psn == read->first_psn && packet.address < read->received)) {
    ++counters_.duplicates;
    return Turn::kNever;
  }
  if (packet.psn == read->first_psn && packet.address == read->received &&
      (packet.payload_bytes != 0 || read->request.bytes == 0)) {
    recovery.progress = now;
    recovery.retries = 0;
    recovery.jitter = Time();
    return Turn::kNow;
  }
  // Who answers reads takes them in turn: the answer to one that was asked for later shows that this is lost again.
  if (recovery.asked_before && !before(packet.psn, *recovery.asked_before)) {
    recovery.asked_psn = read->first_psn - 1;
    recovery.asked_before.reset();
  }
  const bool asked = recovery.asked_psn == read->first_psn && recovery.asked_offset == read->received;
  if (config_.reorder == Bytes(0)) {
    ++counters_.dropped;
    if (!asked) repeat_reads(pair, true);
    activate(packet.queue_pair);
    return Turn::kNever;
  }
  const bool hold = recovery.responses.bytes() + packet.wire_bytes <= config_.reorder.count();
  if (hold && !recovery.responses.insert(packet)) {
    ++counters_.duplicates;
    return Turn::kNever;
  }
  ++(hold ? counters_.held : counters_.dropped);
  if (!hold) recovery.response_dropped = true;
  wait_for_response(now, packet.queue_pair);
  return hold ? Turn::kHeld : Turn::kNever;
}

void Nic::wait_for_response(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  const Job* read = awaited_read(pair);
  if (recovery.response_timer || read == nullptr) return;
  if (recovery.asked_psn == read->first_psn && recovery.asked_offset == read->received) return;
  recovery.response_timer = true;
  recovery.waited_psn = read->first_psn;
  recovery.waited_offset = read->received;
  dispatcher_.post(now + config_.reorder_wait, *this, kResponseGap, number);
}

void Nic::response_gap(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  recovery.response_timer = false;
  const Job* read = awaited_read(pair);
  if (recovery.failed || read == nullptr || recovery.responses.empty()) return dispatcher_.disregard();
  if (recovery.waited_psn == read->first_psn && recovery.waited_offset == read->received) {
    repeat_reads(pair, false);
    activate(number);
    return pump(now);
  }
  wait_for_response(now, number);  // that one came, and another has been missing for a shorter time
}

void Nic::repeat_reads(QueuePair& pair, bool all) {
  Recovery& recovery = *pair.recovery;
  const Job* first = awaited_read(pair);
  recovery.asked_psn = first->first_psn;
  recovery.asked_offset = first->received;
  recovery.asked_before.reset();
  for (std::size_t i = 0; i < pair.jobs.size() && pair.jobs[i].packets != 0; ++i) {
    const Job& job = pair.jobs[i];
    if (job.request.verb != Verb::kRead || job.answered || !before(job.first_psn, pair.next_psn)) continue;
    recovery.repeats.ask(job.first_psn, job.first_psn + 1, std::nullopt);
    if (!all) return;
  }
}

void Nic::take_nak(Time now, const Packet& nak) {
  const std::uint32_t number = nak.queue_pair;
  QueuePair& pair = pairs_[number];
  if (pair.recovery == nullptr) SC_REPORT_FATAL(name(), "a NAK came, and nic.recovery is off at this end");
  acknowledge(now, number, nak.psn - 1);
  const bool open = before(pair.acknowledged, nak.psn);
  if (paces_ && open) [[unlikely]]
    note_lost(now, number);
  if (nak.immediate != 0) {
    const std::uint32_t psn = nak.psn + static_cast<std::uint32_t>(nak.address);
    std::optional<std::uint32_t> newest;
    if (nak.address >> kNewestShift != 0)
      newest = nak.psn + static_cast<std::uint32_t>(nak.address >> kNewestShift) - 1;
    const bool overtaken = newest && before(*newest, pair.recovery->rewound_end);  // all of it goes again
    if (!overtaken) pair.recovery->repeats.ask(psn, psn + nak.immediate, newest);
  } else if (open && !pair.paused && before(nak.psn, pair.next_psn)) {
    go_back(number, nak.psn);
  }
  activate(number);
}

bool Nic::has_repeats(QueuePair& pair) {
  Repeats& repeats = pair.recovery->repeats;
  for (; !repeats.empty(); repeats.skip()) {
    // What lies ahead goes out by itself; what has been acknowledged since need not, but for the data of a read.
    const std::uint32_t psn = repeats.front();
    if (!before(psn, pair.next_psn)) continue;
    if (before(pair.acknowledged, psn)) return true;
    const Job* job = job_of(pair, psn);
    if (job != nullptr && job->request.verb == Verb::kRead && !job->answered) return true;
  }
  return false;
}

Time Nic::form_repeat(Time now, Packet& packet, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  packet.psn = recovery.repeats.front();
  recovery.repeats.take(recovery.end_psn);
  const Job& job = *job_of(pair, packet.psn);
  const Time ready = form(now, packet, job, static_cast<std::uint64_t>(packet.psn - job.first_psn) * segment_);
  if (packet.opcode == Opcode::kReadRequest && !recovery.responses.empty() &&
      recovery.responses.front()->psn == packet.psn && recovery.responses.front()->address > packet.immediate) {
    packet.payload_bytes = static_cast<std::uint32_t>(recovery.responses.front()->address);  // the rest is here
  }
  if ((packet.flags & Packet::kLast) != 0) ++counters_.messages_repeated;
  note_cut(pair, packet);
  return ready;
}

void Nic::count_repeat(Packet& packet) {
  packet.flags |= Packet::kRepeated;
  ++counters_.retransmitted_packets;
  if (packet.opcode != Opcode::kReadRequest) counters_.retransmitted_bytes += packet.payload_bytes;
}

void Nic::discount_repeat(const Packet& packet) {
  --counters_.retransmitted_packets;
  if (packet.opcode != Opcode::kReadRequest) counters_.retransmitted_bytes -= packet.payload_bytes;
}

void Nic::note_cut(QueuePair& pair, Packet& packet) {
  Recovery& recovery = *pair.recovery;
  if (before(packet.psn, recovery.end_psn)) {
    count_repeat(packet);
  } else {
    recovery.end_psn = packet.psn + 1;
  }
  if (packet.opcode == Opcode::kReadRequest && packet.psn == recovery.asked_psn)
    recovery.asked_before = recovery.end_psn;
}

void Nic::note_sent(Time now, const Packet& packet, std::uint32_t number) {
  if (!asks(packet)) return;
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  const std::uint32_t psn = whole_psn(packet.psn, pair.next_psn);
  if (!before(psn, recovery.sent_end)) {
    if (!outstanding(pair)) recovery.progress = now;
    recovery.sent_end = psn + 1;
  }
  if (recovery.timer || !config_.recovery) return;
  recovery.timer = true;
  recovery.progress = now;
  dispatcher_.post(now + config_.ack_timeout, *this, kTimeout, number);
}

void Nic::note_acknowledged(Time now, QueuePair& pair) {
  pair.recovery->progress = now;
  pair.recovery->retries = 0;
  pair.recovery->jitter = Time();
  pair.recovery->repeats.forget(pair.acknowledged);
  // What was about to be repeated has arrived after all.
  while (!before(pair.acknowledged, pair.next_psn)) {
    Job& job = pair.jobs[pair.next_job];
    const std::uint32_t end = job.first_psn + job.packets;
    if (before(pair.acknowledged + 1, end)) {
      job.cut = static_cast<std::uint64_t>(pair.acknowledged + 1 - job.first_psn) * segment_;
      pair.next_psn = pair.acknowledged + 1;
    } else {
      job.cut = job.request.verb == Verb::kRead ? 0 : job.request.bytes;
      pair.next_psn = end;
      ++pair.next_job;
    }
  }
}

bool Nic::outstanding(QueuePair& pair) {
  const std::uint32_t sent_end = pair.recovery->sent_end;
  if (pair.acknowledged + 1 != sent_end) return true;
  const Job* read = awaited_read(pair);
  return read != nullptr && before(read->first_psn, sent_end);
}

void Nic::timeout(Time now, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  recovery.timer = false;
  // The pause after an RNR NAK has a timer of its own, and the first packet after it starts this one.
  if (recovery.failed || pair.paused || !outstanding(pair)) return dispatcher_.disregard();
  const Time due = recovery.progress + config_.ack_timeout + recovery.jitter;
  if (now < due) {
    recovery.timer = true;
    dispatcher_.post(due, *this, kTimeout, number);
    return;
  }
  if (recovery.retries == static_cast<std::uint32_t>(config_.retry_limit))
    return fail(now, number, Status::kRetryExceeded);
  ++recovery.retries;
  recovery.progress = now;
  recovery.jitter = Time(static_cast<std::int64_t>(random_.share() * config_.retry_jitter *
                                                   static_cast<double>(config_.ack_timeout.count())));
  recovery.timer = true;
  dispatcher_.post(now + config_.ack_timeout + recovery.jitter, *this, kTimeout, number);
  ++counters_.timeouts;
  if (paces_ && pair.congestion != nullptr) [[unlikely]]
    note_timed_out(now, number, pair.congestion->under_way == nullptr ? 0 : pair.congestion->under_way->bytes);
  recovery.repeats.clear();
  if (before(pair.acknowledged + 1, pair.next_psn)) go_back(number, pair.acknowledged + 1);
  if (awaited_read(pair) != nullptr) repeat_reads(pair, true);
  activate(number);
  pump(now);
}

void Nic::fail(Time now, std::uint32_t number, Status reason) {
  QueuePair& pair = pairs_[number];
  // Without recovery a queue pair gets one when it fails.
  if (pair.recovery == nullptr) pair.recovery = std::make_unique<Recovery>(pair.next_psn, pair.expected_psn);
  Recovery& recovery = *pair.recovery;
  may_fail_ = true;
  recovery.failed = true;
  recovery.reason = reason;
  while (!recovery.requests.empty()) packets_.give_back(recovery.requests.take_front());
  while (!recovery.responses.empty()) packets_.give_back(recovery.responses.take_front());
  recovery.repeats.clear();
  while (pair.owes()) pair.extra->responses.pop_front();
  while (!pair.jobs.empty()) {
    flush(now, number, pair.jobs.front().request);
    pair.jobs.pop_front();
  }
  pair.next_job = pair.ready_jobs = 0;
  if (sprays_) uet_->give_up(number);
}

bool Nic::has_failed(const QueuePair& pair) {
  return pair.recovery != nullptr && pair.recovery->failed;
}

void Nic::flush(Time now, std::uint32_t number, const WorkRequest& request) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  const bool first = recovery.flushed++ == 0;
  if (first) recovery.first_flushed = request;
  free_place(now, number, false);
  if (!request.signaled) return;
  Completion entry{request.id, 0, number, 0, request.verb, false};
  entry.status = first ? recovery.reason : Status::kFlushed;
  complete(pair, entry, now + config_.write_latency);
}

}  // namespace weft::nic
