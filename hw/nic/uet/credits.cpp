// SPDX-License-Identifier: Apache-2.0
// Credits of receivers in Ultra Ethernet: who wants some, and who gets the next.
#include <algorithm>

#include "hw/nic/congestion/pacing.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {

void Nic::Uet::note_ready(std::uint32_t number) {
  const QueuePair& pair = nic_.pairs_[number];
  const WorkRequest& request = pair.jobs[pair.ready_jobs - 1].request;
  if (pair.grouped || request.verb == Verb::kRead) return;
  const std::uint64_t whole = request.bytes / nic_.segment_;
  const auto rest = static_cast<std::uint32_t>(request.bytes % nic_.segment_);
  std::int64_t bytes = static_cast<std::int64_t>(whole) * nic_.network_.wire_bytes(nic_.segment_);
  if (rest > 0 || whole == 0) bytes += nic_.network_.wire_bytes(rest);
  Flow& mine = flow(number);
  Flow::Credits& credits = mine.credits;
  if (pair.congestion != nullptr && credits.backlog == 0 && mine.sent.empty()) {
    // After a rest the first round trip needs no credit: a receiver hears no earlier of what is to come.
    const std::int64_t left = credits.unasked + credits.granted - credits.sent;
    credits.unasked += std::max<std::int64_t>(0, pair.congestion->unasked - left);
  }
  credits.backlog += bytes;
}

void Nic::Uet::end_unasked(std::uint32_t number) {
  Flow::Credits& credits = flow(number).credits;
  credits.unasked = std::min(credits.unasked, std::max<std::int64_t>(0, credits.sent - credits.granted));
}

bool Nic::Uet::has_credit(Time now, std::uint32_t number) {
  Flow::Credits& credits = flow(number).credits;
  const std::int64_t wants = std::max<std::int64_t>(0, credits.sent + credits.backlog - credits.cut - credits.unasked);
  if (wants > credits.told) {
    credits.told = wants;
    nic_.control(Opcode::kCredit, number, 0).address = static_cast<std::uint64_t>(wants) << 1 | 1U;
  }
  const std::int64_t most = credits.unasked + credits.granted;
  const bool was_blocked = credits.blocked;
  credits.blocked =
      credits.sent + std::min<std::int64_t>(nic_.network_.wire_bytes(nic_.segment_), credits.backlog) > most;
  if (!credits.blocked) return true;
  if (!was_blocked) credits.asked = now;
  arm_timer(now, number);
  plan_look(now, number);
  return false;
}

Time Nic::Uet::next_request(std::uint32_t number) {
  const Flow& mine = flow(number);
  if (!mine.credits.blocked) return kNever;
  const Time round_trip = mine.round_trip > Time() ? mine.round_trip : nic_.idle_round_trip();
  // Who has never waited for credit does not know how many the receiver serves.
  constexpr int kUnknown = 4;
  const Time soon = nic_.config_.reorder_wait + 2 * round_trip;
  const Time least = mine.credits.took == Time() ? kUnknown * soon : std::max(soon, 2 * mine.credits.took);
  const Time wait = doubled(least, mine.credits.repeats);
  return wait < nic_.config_.ack_timeout ? mine.credits.asked + wait : kNever;
}

void Nic::Uet::take_credit(Time now, const Packet& packet) {
  const std::uint32_t number = packet.queue_pair;
  Flow::Credits& credits = flow(number).credits;
  const auto bytes = static_cast<std::int64_t>(packet.address >> 1);
  if ((packet.address & 1U) != 0) {
    if (bytes <= credits.peer_asked && !credits.peer_waits) {  // a grant has been lost
      nic_.control(Opcode::kCredit, number, 0).address = static_cast<std::uint64_t>(credits.peer_granted) << 1;
    }
    credits.peer_asked = std::max(credits.peer_asked, bytes);
    return make_hungry(now, number);
  }
  if (bytes <= credits.granted) return;
  // Its first credit may have come before a receiver knew of the others. Of one that was asked for again it is not
  // known what it took, but the latest wait for it is better than nothing.
  if (credits.blocked && (credits.repeats == 0 ? credits.granted > 0 : credits.took == Time())) {
    credits.took = std::max(credits.took, now - credits.asked);
  }
  credits.granted = bytes;
  credits.asked = now;
  credits.repeats = 0;
  flow(number).progress = now;
  flow(number).retries = 0;
  if (!credits.blocked) return;
  credits.blocked = false;
  nic_.activate(number);
}

void Nic::Uet::make_hungry(Time now, std::uint32_t number) {
  if (!nic_.scheme_->grants) return;
  Flow::Credits& credits = flow(number).credits;
  if (credits.peer_waits || credits.peer_asked + credits.peer_cut <= credits.peer_granted) return;
  credits.peer_waits = true;
  hungry_.push_back(number);
  if (granting_) return;
  granting_ = true;
  nic_.dispatcher_.post(std::max(now, grant_at_), nic_, kGrant);
}

void Nic::Uet::grant(Time now) {
  granting_ = false;
  if (hungry_.empty()) return nic_.dispatcher_.disregard();
  const std::uint32_t number = hungry_.front();
  hungry_.pop_front();
  Flow::Credits& credits = flow(number).credits;
  const std::int64_t wants = credits.peer_asked + credits.peer_cut;
  const std::int64_t bytes =
      std::min<std::int64_t>(nic_.network_.wire_bytes(nic_.segment_), wants - credits.peer_granted);
  credits.peer_granted += bytes;
  nic_.control(Opcode::kCredit, number, 0).address = static_cast<std::uint64_t>(credits.peer_granted) << 1;
  credits.peer_waits = wants > credits.peer_granted;
  if (credits.peer_waits) hungry_.push_back(number);
  // A little less than the link's rate: what came without credit before must leave the queues, and headers are extra.
  constexpr std::int64_t kPercent = 99;
  grant_at_ = now + transfer_time(Bytes(bytes), nic_.transmitter_.rate()) * 100 / kPercent;
  if (!hungry_.empty()) {
    granting_ = true;
    nic_.dispatcher_.post(grant_at_, nic_, kGrant);
  }
  nic_.pump(now);
}

}  // namespace weft::nic
