// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hw/core/packet.h"
#include "hw/core/stream_pins.h"
#include "hw/fabric/link.h"

namespace weft::fabric {

/// What one direction of a link would show: SCOPE.clk, valid, ready, last, psn, bytes (of the whole packet on the
/// wire), destination, opcode and lane; and for each lane the credits in bytes that the sender has, with all of what
/// lanes share, or whether it is paused. A link has no clock of its own that a model knows. This one has 1 GHz, or as
/// many times two as it takes for beats of no more than 64 bytes, the least that a packet has: its edges then are those
/// of most other clocks, and a file is mostly edges of clocks.
class LinkWaves {
 public:
  LinkWaves(Waves& waves, const std::string& scope, const LinkConfig& config);

  /// The packet is on the wire from `head` on, and takes `held` bytes of credit.
  void packet(const Packet& packet, std::int64_t held, Time head, Time length);
  void credit(Time at, int lane, std::int64_t bytes);
  void pause(Time at, int lane, bool paused);

 private:
  Waves& waves_;
  Frequency frequency_;
  ClockEdges edges_;
  StreamPins pins_;
  FlowControl flow_control_;
  std::vector<Waves::Pin> lanes_;
};

}  // namespace weft::fabric
