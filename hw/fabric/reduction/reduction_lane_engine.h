// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <systemc>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/gated_clock.h"
#include "hw/core/packet.h"
#include "hw/core/waves.h"
#include "hw/fabric/reduction/lane_pins.h"
#include "hw/fabric/reduction/lane_waves.h"
#include "hw/fabric/reduction/reduction_engines.h"

namespace weft::fabric {

/// The engine of a switch around one lane that adds, RTL or a ModelledLane, all else being as in the model: packets
/// come in and go out, and the lane sees their bytes as beats on pins, at the edges of `reduction.clock`.
///
/// Operands wait in buffers, of which each open chunk has one for each child; so an operand leaves its input buffer as
/// fast as it comes. With `operand_buffer` a port has so many bytes for that, and the first operands that do not fit
/// keep the credit of their link until the lane has taken as much as is too much. Operands of trees that come in
/// another order from one child than from the other can then wait for each other for ever, as in hardware that is built
/// so.
///
/// With `sum_buffer` the lane's output is taken while there is room for the whole of the sum that it begins, or nothing
/// else is there; a sum leaves the buffer with the last byte of its last copy.
///
/// Chunks pass the lane one after the other, of all trees together, in the order in which the last of their operands
/// began to come. Each child's beats are put on its pins as they come in, those of the next chunk right behind. When
/// the next chunk is of another tree or element type, the lane runs empty first. The sum leaves the switch's pipeline
/// as if its first byte had entered it at the edge at which the first beat came out, or at that of the last one in a
/// low-latency tree.
///
/// The clock runs while something is to do (GatedClock). The adapter is a register: what has come at an edge is on the
/// pins after it, and the lane takes it at the next one. Reset is held for the first edges of the simulation.
///
/// What it finds wrong ends the simulation: an error pin that rises, a sum that is not the next one due, a lane that
/// does nothing for 100,000 cycles with beats before it or in it.
///
/// Without data the lane adds zeros, at the same times.
class ReductionLaneEngine final : public sc_core::sc_module, public ReductionEngine {
 public:
  SC_HAS_PROCESS(ReductionLaneEngine);
  ReductionLaneEngine(sc_core::sc_module_name name, const LaneShape& shape, const PinsMaker& make,
                      const ReductionSite& site);

  [[nodiscard]] std::size_t most_children() const override { return shape_.children; }
  Outcome take(std::uint32_t group, std::uint16_t port, Packet& packet, Time now) override;
  void left(std::uint32_t bytes, Time gone) override;
  /// The pins of the lane, under the names that they have in its source, in SCOPE.lane.
  void record(Waves& waves, const std::string& scope) override;
  [[nodiscard]] std::size_t open_chunks() const override { return chunks_.size(); }

 private:
  /// Operands of a port for which it has no buffer beyond that of its link.
  struct Operands {
    struct Held {
      ReductionSite::Held place;
      std::uint32_t bytes;
      Time whole;
    };
    std::int64_t waiting = 0;  ///< bytes that are here and not in the lane
    std::int64_t held_bytes = 0;
    std::deque<Held> held;
  };
  struct Leaving {
    Time gone;
    std::uint32_t bytes;
  };
  struct Chunk {
    std::uint64_t key = 0;
    bool streaming = true;
    std::vector<Packet*> operands;  ///< by child
    std::vector<Time> came;         ///< their first bytes
    std::size_t missing = 0;
    Packet* sum = nullptr;  ///< the operand that becomes it, once all are here
    std::uint32_t beats = 0;
    std::uint32_t number = 0;  ///< its id in the lane
    Time head{};
  };
  /// The next beat of a child, or of the output.
  struct Position {
    std::uint64_t chunk = 0;  ///< counted over all that were ever scheduled
    std::uint32_t beat = 0;

    bool operator==(const Position&) const = default;
  };

  void toggle();
  void step();
  [[nodiscard]] bool takes_part(std::size_t child) const { return (in_.children >> child & 1) != 0; }
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] bool starves() const;
  [[nodiscard]] Time next_arrival() const;
  [[nodiscard]] Time arrival(const Chunk& chunk, std::size_t child, std::uint32_t beat) const;
  bool schedule_next();
  void offer(std::size_t child, Time now);
  void collect(Time now);
  void taken(std::size_t child);
  void release_held(std::uint16_t port, Time now);
  [[nodiscard]] bool has_room(Time now);
  void finish(Chunk& chunk, Time now);
  [[noreturn]] void fail(const std::string& what) const;

  LaneShape shape_;
  Dispatcher& dispatcher_;
  PacketPool& packets_;
  std::function<void(Packet&, Time)> pass_on_;
  std::function<void(const ReductionSite::Held&, Time)> release_;
  GatedClock clock_;
  std::unique_ptr<LanePins> pins_;
  LaneInputs in_;
  LaneOutputs out_;

  int idle_edges_ = 0;  ///< since anything moved

  std::unordered_map<std::uint64_t, Chunk> chunks_;
  std::deque<Chunk*> ready_;      ///< all their operands have begun to come, and none is in the lane
  std::deque<Chunk*> scheduled_;  ///< the first one is the next that the lane gives
  Position given_;
  std::vector<Position> fed_;       ///< by child
  std::vector<Operands> operands_;  ///< by port; none where they have all the room
  std::int64_t sum_bytes_ = 0;      ///< of sums that have begun to come out of the lane and not left the switch
  std::vector<Leaving> leaving_;    ///< of these, what goes at a time that is known
  std::unique_ptr<LaneWaves> waves_;
};

}  // namespace weft::fabric
