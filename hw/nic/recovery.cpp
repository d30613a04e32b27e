// SPDX-License-Identifier: Apache-2.0
// Recovery of Nic: what comes out of turn, what is asked for again, what is repeated when nothing is heard.
#include "hw/nic/recovery.h"

#include <algorithm>

#include "hw/nic/tags.h"

namespace weft::nic {
namespace {

/// Packets after which a message that goes on is acknowledged, or as part of the timeout, whichever comes first: many
/// queue pairs may share the link.
constexpr std::uint32_t kAcknowledgeEvery = 64;
constexpr std::int64_t kAcknowledgePart = 8;

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
  if (before(recovery.seen_end, pair.expected_psn)) recovery.seen_end = pair.expected_psn;
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
  const bool gap = before(recovery.seen_end, packet.psn);
  if (!before(packet.psn, recovery.seen_end)) recovery.seen_end = packet.psn + 1;
  if (refused) {
    recovery.asked_end = recovery.seen_end;
  } else if (gap && !recovery.gap_timer) {
    recovery.gap_timer = true;
    recovery.asking_end = recovery.seen_end;
    dispatcher_.post(now + config_.reorder_wait, *this, kGap, number);
  }
  return Turn::kHeld;
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
  ++counters_.naks;
  control(Opcode::kNak, number, from).immediate = until - from;
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
  // Asks once for each gap that was there when the timer began; those after it have waited too short.
  bool later = false;
  std::uint32_t from = pair.expected_psn;
  const auto ask = [&](std::uint32_t until) {
    if (before(from, recovery.asked_end)) from = recovery.asked_end;
    if (!before(from, until)) return;
    const std::uint32_t end = before(recovery.asking_end, until) ? recovery.asking_end : until;
    later = later || before(end, until);
    if (!before(from, end)) return;
    ++counters_.naks;
    Packet& nak = control(Opcode::kNak, number, pair.expected_psn);
    nak.address = from - pair.expected_psn;
    nak.immediate = end - from;
  };
  for (std::size_t i = 0; i < recovery.requests.size(); ++i) {
    const std::uint32_t held = recovery.requests[i]->psn;
    if (before(from, held)) ask(held);
    from = held + 1;
  }
  if (before(from, recovery.seen_end)) ask(recovery.seen_end);
  if (before(recovery.asked_end, recovery.asking_end)) recovery.asked_end = recovery.asking_end;
  if (later) {
    recovery.gap_timer = true;
    recovery.asking_end = recovery.seen_end;
    dispatcher_.post(now + config_.reorder_wait, *this, kGap, number);
  } else if (control_.empty()) {
    dispatcher_.disregard();
  }
  pump(now);
}

void Nic::note_refused(QueuePair& pair) {
  // The refused packet comes again with all that follows: nothing of it is missing.
  pair.recovery->told_psn = pair.expected_psn;
  pair.recovery->asked_end = pair.recovery->seen_end;
  pair.recovery->dropped_end = pair.expected_psn;
}

void Nic::answer_again(const Packet& request, QueuePair& pair) {
  // A requester that goes back repeats all later reads as well.
  const bool goes_back = config_.reorder == Bytes(0);
  Fifo<Response>& responses = pair.with_extra().responses;
  for (std::size_t left = responses.size(); left > 0; --left) {
    const Response response = responses.front();
    responses.pop_front();
    const bool again = goes_back ? !before(response.psn, request.psn) : response.psn == request.psn;
    if (!again) responses.push_back(response);
  }
  responses.push_back(
      {request.address & Packet::kAddressMask, request.payload_bytes, request.immediate, request.psn, true});
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

Nic::Job* Nic::awaited_read(QueuePair& pair) {
  for (std::size_t i = 0; i < pair.jobs.size() && pair.jobs[i].packets != 0; ++i) {
    Job& job = pair.jobs[i];
    if (job.request.verb == Verb::kRead && !job.answered) return &job;
  }
  return nullptr;
}

Nic::Job* Nic::job_of(QueuePair& pair, std::uint32_t psn) {
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
  for (std::size_t i = 0; i < pair.jobs.size() && pair.jobs[i].packets != 0; ++i) {
    const Job& job = pair.jobs[i];
    if (job.request.verb != Verb::kRead || job.answered || !before(job.first_psn, pair.next_psn)) continue;
    recovery.repeats.push_back({job.first_psn, 1});
    if (!all) return;
  }
}

void Nic::take_nak(Time now, const Packet& nak) {
  const std::uint32_t number = nak.queue_pair;
  QueuePair& pair = pairs_[number];
  if (pair.recovery == nullptr) SC_REPORT_FATAL(name(), "a NAK came, and nic.recovery is off at this end");
  acknowledge(now, number, nak.psn - 1);
  const bool open = before(pair.acknowledged, nak.psn);
  if (nak.immediate != 0) {
    pair.recovery->repeats.push_back({nak.psn + static_cast<std::uint32_t>(nak.address), nak.immediate});
  } else if (open && !pair.paused && before(nak.psn, pair.next_psn)) {
    rewind(pair, nak.psn, segment_);
  }
  activate(number);
}

bool Nic::has_repeats(QueuePair& pair) {
  Recovery& recovery = *pair.recovery;
  while (!recovery.repeats.empty()) {
    Recovery::Range& range = recovery.repeats.front();
    while (range.count > 0) {
      // What lies ahead goes out by itself; what has been acknowledged since need not, but for the data of a read.
      if (before(range.psn, pair.next_psn)) {
        if (before(pair.acknowledged, range.psn)) return true;
        const Job* job = job_of(pair, range.psn);
        if (job != nullptr && job->request.verb == Verb::kRead && !job->answered) return true;
      }
      ++range.psn;
      --range.count;
    }
    recovery.repeats.pop_front();
  }
  return false;
}

Time Nic::form_repeat(Time now, Packet& packet, std::uint32_t number) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  Recovery::Range& range = recovery.repeats.front();
  packet.psn = range.psn;
  ++range.psn;
  if (--range.count == 0) recovery.repeats.pop_front();
  const Job& job = *job_of(pair, packet.psn);
  const Time ready = form(now, packet, job, static_cast<std::uint64_t>(packet.psn - job.first_psn) * segment_);
  if (packet.opcode == Opcode::kReadRequest && !recovery.responses.empty() &&
      recovery.responses.front()->psn == packet.psn && recovery.responses.front()->address > packet.immediate) {
    packet.payload_bytes = static_cast<std::uint32_t>(recovery.responses.front()->address);  // the rest is here
  }
  if ((packet.flags & Packet::kLast) != 0) ++counters_.messages_repeated;
  note_cut(now, number, packet);
  return ready;
}

void Nic::count_repeat(const Packet& packet) {
  ++counters_.retransmitted_packets;
  if (packet.opcode != Opcode::kReadRequest) counters_.retransmitted_bytes += packet.payload_bytes;
}

void Nic::note_cut(Time now, std::uint32_t number, const Packet& packet) {
  QueuePair& pair = pairs_[number];
  Recovery& recovery = *pair.recovery;
  const bool resting = recovery.end_psn == pair.acknowledged + 1 && awaited_read(pair) == nullptr;
  if (before(packet.psn, recovery.end_psn)) {
    count_repeat(packet);
  } else {
    if (resting) recovery.progress = now;
    recovery.end_psn = packet.psn + 1;
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
  return pair.acknowledged + 1 != pair.recovery->end_psn || awaited_read(pair) != nullptr;
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
  if (recovery.unsent > 0) return;  // the fabric takes nothing: more of it would not help
  ++counters_.timeouts;
  while (!recovery.repeats.empty()) recovery.repeats.pop_front();
  if (before(pair.acknowledged + 1, pair.next_psn)) rewind(pair, pair.acknowledged + 1, segment_);
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
  while (!recovery.repeats.empty()) recovery.repeats.pop_front();
  while (pair.owes()) pair.extra->responses.pop_front();
  while (!pair.jobs.empty()) {
    flush(now, number, pair.jobs.front().request);
    pair.jobs.pop_front();
  }
  pair.next_job = pair.ready_jobs = 0;
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
