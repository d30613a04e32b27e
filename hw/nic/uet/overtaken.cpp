// SPDX-License-Identifier: Apache-2.0
// What Ultra Ethernet takes for lost before a timeout: packets that others have overtaken, the last ones of all, and
// requests for credit.
#include <algorithm>

#include "hw/nic/congestion/pacing.h"
#include "hw/nic/reliability/recovery.h"
#include "hw/nic/tags.h"
#include "hw/nic/uet/uet.h"

namespace weft::nic {

Time Nic::Uet::doubled(Time wait, std::uint32_t times) {
  constexpr std::uint32_t kMost = 20;
  return wait * (std::int64_t{1} << std::min(times, kMost));
}

void Nic::Uet::note_progress(Time now, std::uint32_t number) {
  Flow& mine = flow(number);
  mine.progress = now;
  mine.retries = 0;
  mine.probes = 0;
  mine.jitter = Time();
}

void Nic::Uet::lose_overtaken(Time now, std::uint32_t number) {
  const std::uint32_t psn = flow(number).order.front().psn;
  Sent& sent = *find(number, psn);
  flow(number).paths->heard(now, sent.entropy, PathNews::kLost);
  if (Congestion* congestion = nic_.pairs_[number].congestion.get()) {
    congestion->control->overtaken(now, sent.wire_bytes, sent.left);
  }
  lose(now, number, psn, sent, false);
}

void Nic::Uet::find_overtaken(Time now, std::uint32_t number) {
  Flow& mine = flow(number);
  const Time wait = nic_.config_.reorder_wait;
  for (forget_confirmed(number); !mine.order.empty(); forget_confirmed(number)) {
    const Left first = mine.order.front();
    const bool is_older = first.left < mine.newest && first.left + wait + mine.round_trip <= now;
    if (!is_older && first.left + wait >= mine.newest) break;
    lose_overtaken(now, number);
  }
}

Time Nic::Uet::next_look(std::uint32_t number) {
  Flow& mine = flow(number);
  forget_confirmed(number);
  if (mine.order.empty() || mine.round_trip == Time()) return kNever;
  const Time wait = nic_.config_.reorder_wait + mine.round_trip;
  if (mine.order.front().left < mine.newest) return mine.order.front().left + wait;
  // A path of a few may be dead: others are tried soon, which no network is too full for, since any window lets a packet
  // go in a round trip. Of four paths with one dead, six tries and their acknowledgements fail together in 0.7 %.
  constexpr std::uint32_t kSoon = 6;
  const Time longer = doubled(wait + mine.round_trip, mine.probes < kSoon ? 0 : mine.probes - kSoon + 1);
  return longer < nic_.config_.ack_timeout ? mine.heard + longer : kNever;
}

void Nic::Uet::plan_look(Time now, std::uint32_t number) {
  Flow& mine = flow(number);
  const Time at = std::min(next_look(number), next_request(number));
  if (at >= mine.look_at) return;  // it looks before that
  mine.look_at = std::max(at, now);
  nic_.dispatcher_.post(mine.look_at, nic_, kOvertaken, number);
}

void Nic::Uet::look_for_overtaken(Time now, std::uint32_t number) {
  Flow& mine = flow(number);
  if (now != mine.look_at) return nic_.dispatcher_.disregard();  // an earlier look has been planned since
  mine.look_at = kNever;
  const QueuePair& pair = nic_.pairs_[number];
  if (nic_.stands_in_error(pair) || pair.paused) return nic_.dispatcher_.disregard();
  const Time due = next_look(number);
  const Time request_due = next_request(number);
  if (std::min(due, request_due) > now) {
    plan_look(now, number);
    return nic_.dispatcher_.disregard();
  }
  if (request_due <= now) {
    Flow::Credits& credits = mine.credits;
    ++credits.repeats;
    credits.asked = now;
    credits.told = -1;
  }
  if (due <= now && mine.order.front().left < mine.newest) {
    find_overtaken(now, number);
  } else if (due <= now) {
    ++mine.probes;
    lose_overtaken(now, number);
  }
  plan_look(now, number);
  nic_.activate(number);
  nic_.pump(now);
}

}  // namespace weft::nic
