// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/core/packet.h"
#include "hw/core/stream_pins.h"

namespace weft::fabric {

/// The pins of a reduction engine, as those of hw/rtl/reduction_lane.sv: SCOPE.clk, SCOPE.portN.in_valid, ready, data,
/// last, adds, id, kind and group for each port, and SCOPE.out_valid to out_group. A beat is as
/// wide as the most bytes that an adder takes in a cycle; of a type with slower adders one comes every few cycles. The
/// id is the chunk's number in its group; an operand without payload is one beat with `adds` 0. The clock runs while
/// chunks are open.
class ReductionWaves {
 public:
  ReductionWaves(Waves& waves, const std::string& scope, Frequency clock, std::size_t beat_bytes, std::size_t ports);

  struct Operand {
    std::uint32_t group;
    std::uint16_t port;
    Time now;    ///< it is there
    Time start;  ///< its adder begins
    Time free;   ///< the adder could have ended
    Time whole;  ///< it has ended, when the last byte is there too
  };
  void operand(const Packet& packet, const Operand& times);
  void sum(const Packet& packet, std::uint32_t group, Time head, Time tail);
  /// The engine has open chunks, or none any more.
  void busy(Time from) { waves_.hold(clock_, from); }
  void idle(Time from) { waves_.release(clock_, from); }

 private:
  StreamPins::Transfer transfer(const Packet& packet, Time from, Time to) const;

  Waves& waves_;
  std::size_t beat_bytes_;
  Waves::Clock clock_;
  std::vector<std::unique_ptr<StreamPins>> inputs_;  ///< by port
  std::unique_ptr<StreamPins> output_;
};

}  // namespace weft::fabric
