// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/switch/shared_buffer.h"

namespace weft::fabric {

SharedBuffer::SharedBuffer(const Config& config, const std::vector<std::int64_t>& private_bytes, bool pauses,
                           std::size_t lanes)
    : shared_(config.shared.count()),
      alpha_(config.alpha),
      headroom_(pauses ? (config.headroom > Bytes() ? config.headroom : kLeastHeadroom).count() : 0),
      resume_(config.resume.count()),
      pauses_(pauses),
      lanes_(lanes),
      held_(private_bytes.size() * lanes) {
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i].most_own = private_bytes[i / lanes];
}

SharedBuffer::Verdict SharedBuffer::admit_beyond(Held& held, std::int64_t bytes) {
  // A packet may lie in two places: what the private buffer has left, and the rest.
  const std::int64_t own = held.most_own - held.own;
  const std::int64_t rest = bytes - own;
  bool pause = false;
  if (static_cast<double>(held.shared + rest) <= limit() && shared_used_ + rest <= shared_ && !held.paused) {
    held.shared += rest;
    shared_used_ += rest;
  } else if (held.headroom + rest <= headroom_) {
    held.headroom += rest;
    counters_.most_headroom = std::max(counters_.most_headroom, held.headroom);
    pause = pauses_ && !held.paused;
    held.paused = held.paused || pause;
  } else {
    return Verdict::kDropped;
  }
  held.own += own;
  count(bytes);
  return pause ? Verdict::kTakenPause : Verdict::kTaken;
}

bool SharedBuffer::give_back_paused(Held& held, std::int64_t bytes) {
  std::int64_t left = bytes;
  const auto from = [&left](std::int64_t& place) {
    const std::int64_t part = std::min(left, place);
    place -= part;
    left -= part;
    return part;
  };
  from(held.headroom);
  shared_used_ -= from(held.shared);
  from(held.own);
  if (held.headroom > 0) return false;
  const bool low = held.shared == 0 ? held.own + resume_ <= held.most_own || limit() >= static_cast<double>(resume_)
                                    : static_cast<double>(held.shared + resume_) <= limit();
  held.paused = !low && held.own > 0;
  return !held.paused;
}

}  // namespace weft::fabric
