// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/nic/dcqcn.h"
#include "hw/nic/nic.h"

namespace weft::nic {

/// What a queue pair needs for DCQCN, as the sender and as the one that notifies.
struct Nic::Congestion {
  Congestion(const RateControl::Config& config, Rate line) : control(config, line) {}

  RateControl control;
  Time next;                  ///< when it may cut its next packet
  bool waiting = false;       ///< an event at that time is pending
  Time notify_from = Time();  ///< when it may notify again
};

}  // namespace weft::nic
