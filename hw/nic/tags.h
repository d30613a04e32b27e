// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::nic {

/// Event tags of a Nic, in the order in which they run at one picosecond.
enum Tag : std::uint32_t {
  kArrive,
  kPosted,
  kAcknowledged,
  kWork,
  kResume,
  kCredit,
  kPump,
  kTimeout,
  kGap,
  kResponseGap,
  kPace,
  kContext,
  kFetch,
  kEntries,
  kMemory,
  kGrant,
  kOvertaken
};

}  // namespace weft::nic
