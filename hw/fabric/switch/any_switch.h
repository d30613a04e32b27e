// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <systemc>
#include <vector>

#include "hw/core/config/named.h"
#include "hw/core/packet.h"
#include "hw/core/probe.h"
#include "hw/core/waves.h"
#include "hw/fabric/link.h"
#include "hw/fabric/protocol.h"
#include "hw/fabric/reduction/reduction_engine.h"
#include "hw/fabric/topology/group_trees.h"
#include "hw/fabric/topology/routing.h"

namespace weft::fabric {

class Planes;

/// A model of the switch by its name, which is one of switch_models() (switch_model.h).
struct SwitchModel;
[[nodiscard]] const Names& registered(const SwitchModel* kind);
using SwitchName = NameOf<SwitchModel>;

/// A switch as its network sees it, whatever is inside. Each port has a Transmitter (hw/fabric/link.h), which sends to
/// the neighbour and keeps the credits of its input, and an input that takes packets and gives their space back.
/// Between the two it routes (Routes) and has its queues. Nothing of this is virtual where packets pass: neighbours
/// call each other through the fabric protocol.
class AnySwitch : public sc_core::sc_module {
 public:
  struct Counters {
    std::int64_t packets = 0;
    std::int64_t queued = 0;        ///< packets that had to wait for their output
    std::int64_t credit_waits = 0;  ///< times an output with packets stood still for credit or a pause
    std::int64_t unroutable = 0;    ///< packets dropped since no way to their end was left
  };
  /// Of what happens less often than a packet.
  struct PortCounters {
    std::int64_t marked = 0;       ///< packets marked on their way to this output
    std::int64_t trimmed = 0;      ///< packets cut to their headers on their way to this output
    std::int64_t dropped = 0;      ///< packets from this input that found no room
    std::int64_t damaged = 0;      ///< packets that arrived damaged
    std::int64_t pauses = 0;       ///< sent from this input
    std::int64_t most_queued = 0;  ///< bytes that waited for this output at a time
    Time blocked;                  ///< how long this output had packets and neither credit nor leave to send
  };

  /// One port: `out` sends to the neighbour's input, `in` receives from the neighbour's output.
  struct Port {
    Port(const std::string& name) : out(("out" + name).c_str()), in(("in" + name).c_str()) {}
    InitiatorSocket out;
    TargetSocket in;
  };

  /// This switch's part of a group's tree.
  struct Group {
    std::uint16_t parent = Packet::kNowhere;             ///< port to the root; none at the root
    std::vector<std::uint16_t> children;                 ///< ports away from it, ascending
    std::map<std::uint32_t, std::uint16_t> port_of_end;  ///< which child leads to an end; for reductions with one taker
    bool reduces = false;
    int window = 0;                    ///< chunks that may be open
    bool streaming = true;             ///< else low latency
    bool takes_over = false;           ///< the place in the engine that an earlier tree of its group has
    std::uint8_t lane = kSendersLane;  ///< on which its packets leave
  };
  static constexpr std::uint8_t kSendersLane = UINT8_MAX;

  explicit AnySwitch(sc_core::sc_module_name name) : sc_module(name) {}

  [[nodiscard]] virtual std::size_t radix() const = 0;
  /// The sockets of a port that is not joined: those of ends.
  virtual Port& port(std::size_t index) = 0;
  /// Joins a port to one of another switch of the same network, without sockets, which would be most of what a
  /// simulator of it needs in memory: what leaves by `port` comes to other.input(other_port), and the other's
  /// take_from() is told of the transmitter. The way back is the other's to join. Before the run.
  virtual void join(std::size_t port, AnySwitch& other, std::size_t other_port) = 0;
  virtual ForwardCall& input(std::size_t port) = 0;
  virtual void take_from(std::size_t port, Transmitter& sender) = 0;
  virtual Transmitter& transmitter(std::size_t port) = 0;
  /// The transmitter at the other end of a port's link; null if it is not one of ours. After elaboration.
  [[nodiscard]] virtual Transmitter* sender(std::size_t port) const = 0;

  [[nodiscard]] virtual const Counters& counters() const = 0;
  [[nodiscard]] virtual PortCounters port_counters(std::size_t port) const = 0;
  /// Counts of its own up to now, the same names in the same order for each switch of a network: `summary.json` has
  /// them, added up over switches.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::int64_t>> own_counts() const { return {}; }
  /// Packets in its queues.
  [[nodiscard]] virtual std::int64_t waiting() const = 0;

  /// Control path, of a model with `groups`: takes part in a tree from now on; false if its engine has no room for it.
  /// Its number is that of the group, unless groups change trees.
  virtual bool join(std::uint32_t /*id*/, const Group& /*group*/) { return false; }
  virtual void leave(std::uint32_t /*id*/) {}
  /// The engine of a switch that reduces; may be null.
  [[nodiscard]] virtual const ReductionEngine* engine() const { return nullptr; }
  /// Of a model that `reroutes`: from `at` on it takes other routes. In order of time, before the run; they outlive the
  /// switch.
  virtual void change_routes(Time /*at*/, const Routes& /*routes*/) {}
  /// Likewise: groups change trees in the run, by this, which outlives the switch. Before the run.
  virtual void change_trees(const GroupTrees& /*trees*/) {}
  /// Some planes of its network will be down. Its transmitters are told by themselves. Before the run.
  virtual void spread_over(const Planes& /*planes*/) {}
  /// Some of its links will be slower than they are meant to be. Before the run.
  virtual void expect_slow_links() {}

  /// Draws how much waits for its outputs. `finish_drawing` ends that after the run.
  virtual void record(Probe& /*probe*/, const std::string& /*process*/) {}
  virtual void finish_drawing() {}
  /// Tells what the pins of its outputs, NAME.outN, of their arbiters, NAME.arbiterN, if these have any, and of its
  /// engine, NAME.reduction, would show. Before the run.
  virtual void record(Waves& /*waves*/) {}
};

}  // namespace weft::fabric
