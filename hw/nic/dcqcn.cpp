// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/dcqcn.h"

#include <algorithm>
#include <cmath>

#include "hw/nic/congestion.h"
#include "hw/nic/tags.h"

namespace weft::nic {

void RateControl::congested(Time now) {
  advance(now);
  if (!limited_) {
    limited_ = true;
    alpha_ = 1;
  }
  target_ = current_;
  const auto lower = std::llround(static_cast<double>(current_.count()) * (1 - alpha_ / 2));
  current_ = std::min(line_, std::max(config_.minimum, Rate(lower)));
  alpha_ = (1 - config_.g) * alpha_ + config_.g;
  timer_rounds_ = byte_rounds_ = 0;
  bytes_ = 0;
  timer_at_ = now + config_.timer;
  alpha_at_ = now + config_.alpha_timer;
}

void RateControl::sent(Time now, std::int64_t wire_bytes) {
  advance(now);
  if (!limited_) return;
  bytes_ += wire_bytes;
  while (bytes_ >= config_.byte_counter.count()) {
    bytes_ -= config_.byte_counter.count();
    ++byte_rounds_;
    increase();
  }
}

void RateControl::advance(Time now) {
  while (limited_ && std::min(alpha_at_, timer_at_) <= now) {
    if (alpha_at_ <= timer_at_) {
      alpha_ *= 1 - config_.g;
      alpha_at_ += config_.alpha_timer;
    } else {
      timer_at_ += config_.timer;
      ++timer_rounds_;
      increase();
    }
  }
}

void RateControl::increase() {
  const auto [fewer, more] = std::minmax(timer_rounds_, byte_rounds_);
  if (fewer > config_.fast_recovery) {
    target_ += config_.rate_hai;
  } else if (more >= config_.fast_recovery) {
    target_ += config_.rate_ai;
  }
  target_ = std::min(target_, line_);
  current_ = (current_ + target_) / 2;
  // Halves of what is missing never add up to all of it.
  if (line_ - current_ > config_.rate_ai) return;
  current_ = target_ = line_;
  limited_ = false;
}

// --- In the network interface ---

void Nic::notify_congestion(Time now, const Packet& packet) {
  if (packet.payload_bytes == 0 || packet.opcode == Opcode::kReadRequest) return;
  Congestion& congestion = *pairs_[packet.queue_pair].congestion;
  if (now < congestion.notify_from) return;
  congestion.notify_from = now + config_.dcqcn.cnp_interval;
  ++counters_.notifications;
  control(Opcode::kCongestionNotification, packet.queue_pair, packet.psn);
}

Rate Nic::rate(std::uint32_t queue_pair) const {
  Congestion* congestion = pairs_[queue_pair].congestion.get();
  if (congestion == nullptr) return transmitter_.rate();
  congestion->control.advance(dispatcher_.now());
  return congestion->control.rate();
}

bool Nic::may_cut(Time now, std::uint32_t number) {
  Congestion& congestion = *pairs_[number].congestion;
  if (congestion.waiting) return false;
  congestion.control.advance(now);
  if (!congestion.control.limited() || congestion.next <= now) return true;
  congestion.waiting = true;
  dispatcher_.post(congestion.next, *this, kPace, number);
  return false;
}

void Nic::note_paced(Time now, std::uint32_t number, std::uint32_t wire_bytes) {
  Congestion& congestion = *pairs_[number].congestion;
  congestion.control.sent(now, wire_bytes);
  if (!congestion.control.limited()) return;
  congestion.next = std::max(now, congestion.next) + transfer_time(Bytes(wire_bytes), congestion.control.rate());
}

}  // namespace weft::nic
