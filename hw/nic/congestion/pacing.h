// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>

#include "hw/nic/congestion/congestion_control.h"
#include "hw/nic/nic.h"

namespace weft::nic {

/// What a queue pair needs for congestion control, as the sender and as the one that notifies.
struct Nic::Congestion {
  /// Of a scheme that is told of acknowledgements: packets that are not acknowledged, in the order of their numbers,
  /// which have no gaps.
  struct UnderWay {
    struct Sent {
      std::uint32_t psn = 0;
      std::uint32_t wire_bytes = 0;  ///< 0 of a read, which is answered and not acknowledged
      Time left;
    };
    std::deque<Sent> packets;
    std::int64_t bytes = 0;
    bool full = false;  ///< the window has held a packet back
  };

  explicit Congestion(std::unique_ptr<CongestionControl> of_pair) : control(std::move(of_pair)) {}

  std::unique_ptr<CongestionControl> control;
  Time next;                            ///< when it may cut its next packet
  bool waiting = false;                 ///< an event at that time is pending
  Time notify_from = Time();            ///< when it may notify again
  std::unique_ptr<UnderWay> under_way;  ///< null where acknowledgements are of no interest
};

}  // namespace weft::nic
