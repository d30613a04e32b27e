// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "hw/core/quantity.h"

namespace weft::schedules {

/// The rate of a node's memory, which threads of all of its ranks share: first come, first served. Latencies are the
/// threads' own.
class HostMemory {
 public:
  explicit HostMemory(Rate rate) : byte_time_(rate) {}

  /// When `bytes` have moved that are asked for at `at`.
  Time book(std::uint64_t bytes, Time at) {
    free_ = std::max(free_, at) + byte_time_(static_cast<std::int64_t>(bytes));
    return free_;
  }

 private:
  ByteTime byte_time_;
  Time free_;
};

}  // namespace weft::schedules
