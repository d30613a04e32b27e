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
  flow(number).credits.backlog += bytes;
}

bool Nic::Uet::has_credit(Time now, std::uint32_t number) {
  const QueuePair& pair = nic_.pairs_[number];
  Flow::Credits& credits = flow(number).credits;
  // The first round trip needs none, since a receiver hears no earlier of what is to come.
  const std::int64_t first = pair.congestion->unasked;
  const std::int64_t wants = credits.sent + credits.backlog - first;
  if (wants > credits.told) {
    credits.told = wants;
    nic_.control(Opcode::kCredit, number, 0).address = static_cast<std::uint64_t>(wants) << 1 | 1U;
  }
  credits.blocked = credits.sent + nic_.network_.wire_bytes(nic_.segment_) > first + credits.granted &&
                    credits.sent + credits.backlog > first + credits.granted;
  if (credits.blocked) arm_timer(now, number);
  return !credits.blocked;
}

void Nic::Uet::take_credit(Time now, const Packet& packet) {
  const std::uint32_t number = packet.queue_pair;
  Flow::Credits& credits = flow(number).credits;
  const auto bytes = static_cast<std::int64_t>(packet.address >> 1);
  if ((packet.address & 1U) != 0) {
    if (bytes <= credits.peer_granted) {  // its grant has been lost
      nic_.control(Opcode::kCredit, number, 0).address = static_cast<std::uint64_t>(credits.peer_granted) << 1;
      return;
    }
    return want(now, number, std::max<std::int64_t>(0, bytes - credits.peer_wants));
  }
  if (bytes <= credits.granted) return;
  credits.granted = bytes;
  flow(number).progress = now;
  if (!credits.blocked) return;
  credits.blocked = false;
  nic_.activate(number);
}

void Nic::Uet::want(Time now, std::uint32_t number, std::int64_t bytes) {
  if (!nic_.scheme_->grants) return;
  Flow::Credits& credits = flow(number).credits;
  credits.peer_wants += bytes;
  if (credits.peer_waits || credits.peer_wants <= credits.peer_granted) return;
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
  const std::int64_t bytes = std::min<std::int64_t>(nic_.network_.wire_bytes(nic_.segment_),
                                                    credits.peer_wants - credits.peer_granted);
  credits.peer_granted += bytes;
  nic_.control(Opcode::kCredit, number, 0).address = static_cast<std::uint64_t>(credits.peer_granted) << 1;
  credits.peer_waits = credits.peer_wants > credits.peer_granted;
  if (credits.peer_waits) hungry_.push_back(number);
  grant_at_ = now + transfer_time(Bytes(bytes), nic_.transmitter_.rate());
  if (!hungry_.empty()) {
    granting_ = true;
    nic_.dispatcher_.post(grant_at_, nic_, kGrant);
  }
  nic_.pump(now);
}

}  // namespace weft::nic
