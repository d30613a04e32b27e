// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "hw/core/quantity.h"

/// A replay of the chunks of RingMember (sw/collectives/ring/ring.h) in numbers alone, for what its staging slots let
/// through.
namespace weft::platforms {

/// From a member of a ring to the next.
struct RingLane {
  Time request;  ///< from the thread's write to the first byte on the link: the interface, and memory
  Time notice;   ///< the same of an empty message, which needs no memory
  Time length;   ///< a chunk on the slowest link of the way
  Time turn;     ///< what a queue pair sends at most before another's empty message
  Time way;      ///< links and switches
  Time visible;  ///< from the last byte to its completion
};

/// Rings that share the interfaces of their members. All chunks of a lane follow each other on one link, in the order
/// in which they were asked for. A message that gives slots back waits for those before it, a turn of each ring at most
/// (nic::NicConfig::turn). A member's thread
/// takes one completion after the other and does one thing at a time, as RingMember's coroutine does.
struct RingModel {
  std::vector<RingLane> lanes;  ///< by member
  int rings = 1;
  Time wake;    ///< of a thread that waits
  Time post;    ///< and what it takes to take a completion and to post what follows
  Time engine;  ///< a chunk added or copied

  /// The share of the slowest lane's rate that a ReduceScatter of many chunks has with so many slots: half of them go
  /// all the way round before the next.
  [[nodiscard]] double reduce_scatter(int slots) const;
  /// The same of a Broadcast and of an Allgather through staging, whose slots come back a quarter of them at a time.
  [[nodiscard]] double staged_flow(int slots) const;

  /// How long an empty message that is ready waits for chunks that have the link until `link_free`.
  [[nodiscard]] Time notice_waits(const RingLane& lane, Time ready, Time link_free) const {
    return std::clamp(link_free - ready, Time(), lane.turn * rings);
  }

 private:
  [[nodiscard]] Time slowest() const;
};

}  // namespace weft::platforms
