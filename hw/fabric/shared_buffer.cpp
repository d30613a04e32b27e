// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/shared_buffer.h"

#include <algorithm>

namespace weft::fabric {

SharedBuffer::SharedBuffer(const Config& config, std::int64_t private_bytes, bool pauses, std::size_t inputs,
                           std::size_t lanes)
    : shared_(config.shared.count()),
      alpha_(config.alpha),
      headroom_(pauses ? config.headroom.count() : 0),
      resume_(config.resume.count()),
      private_(private_bytes),
      pauses_(pauses),
      lanes_(lanes),
      held_(inputs * lanes) {}

SharedBuffer::Verdict SharedBuffer::admit(std::size_t input, std::size_t lane, std::int64_t bytes, Time /*now*/) {
  Held& held = held_[input * lanes_ + lane];
  // A packet may lie in two places: what the private buffer has left, and the rest.
  const std::int64_t own = std::min(bytes, private_ - held.own);
  const std::int64_t rest = bytes - own;
  bool pause = false;
  if (rest == 0) {
    held.own += bytes;
  } else if (static_cast<double>(held.shared + rest) <= limit() && shared_used_ + rest <= shared_ && !held.paused) {
    held.own += own;
    held.shared += rest;
    shared_used_ += rest;
  } else if (held.headroom + rest <= headroom_) {
    held.own += own;
    held.headroom += rest;
    counters_.most_headroom = std::max(counters_.most_headroom, held.headroom);
    pause = pauses_ && !held.paused;
    held.paused = held.paused || pause;
  } else {
    return Verdict::kDropped;
  }
  held_sum_ += bytes;
  counters_.most = std::max(counters_.most, held_sum_);
  return pause ? Verdict::kTakenPause : Verdict::kTaken;
}

void SharedBuffer::leave(std::size_t input, std::size_t lane, std::int64_t bytes, Time at) {
  const Leaving one{at, static_cast<std::uint32_t>(input * lanes_ + lane), static_cast<std::uint32_t>(bytes)};
  leaving_.push_back(one);
  std::size_t place = leaving_.size() - 1;
  for (; place > 0 && one.before(leaving_[place - 1]); --place) leaving_[place] = leaving_[place - 1];
  leaving_[place] = one;
}

bool SharedBuffer::give_back(const Leaving& gone) {
  Held& held = held_[gone.lane];
  std::int64_t left = gone.bytes;
  const auto from = [&left](std::int64_t& place) {
    const std::int64_t part = std::min(left, place);
    place -= part;
    left -= part;
    return part;
  };
  from(held.headroom);
  shared_used_ -= from(held.shared);
  from(held.own);
  held_sum_ -= gone.bytes;
  if (!held.paused || held.headroom > 0) return false;
  const bool low = held.shared == 0 ? held.own + resume_ <= private_ || limit() >= static_cast<double>(resume_)
                                    : static_cast<double>(held.shared + resume_) <= limit();
  held.paused = !low && held.own > 0;
  return !held.paused;
}

}  // namespace weft::fabric
