// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "hw/core/quantity.h"

namespace weft::nic {

/// What handles the payload of groups in an interface, one packet after the other, at NicConfig::group_rate.
class GroupEngine {
 public:
  explicit GroupEngine(Rate rate) : time_(rate) {}

  /// Bytes that are there at `now` follow what it has.
  void serve(Time now, std::uint32_t bytes) {
    if (now > free_) rest_ = 0;
    free_ = std::max(free_, now) + time_.next(bytes, rest_);
    bytes_ += bytes;
  }
  /// By when it has passed all that it has.
  [[nodiscard]] Time free() const { return free_; }
  /// That it has passed, or will have by then.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  ByteTime time_;
  Time free_;
  ByteTime::Rest rest_ = 0;  ///< of free_
  std::int64_t bytes_ = 0;
};

}  // namespace weft::nic
