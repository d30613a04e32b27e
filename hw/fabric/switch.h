// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fixed_vector.h"
#include "hw/fabric/link.h"
#include "hw/fabric/protocol.h"

namespace weft::fabric {

/// Which port of a switch leads to a destination. Shared by all that ask; built once by the topology.
class RoutingTable {
 public:
  explicit RoutingTable(std::size_t destinations) : entries_(destinations) {}

  /// `ports` are the equal choices for `destination`; with more than one, the flow's hash picks.
  void set(std::uint32_t destination, const std::vector<std::uint16_t>& ports);

  [[nodiscard]] std::uint16_t port(const Packet& packet) const {
    const Entry entry = entries_[packet.destination];
    if (entry.count == 1) return static_cast<std::uint16_t>(entry.first);
    return choices_[entry.first + flow_hash(packet) % entry.count];
  }

 private:
  struct Entry {
    std::uint32_t first : 20;  // the port, or where the choices begin
    std::uint32_t count : 12;
  };

  static std::uint32_t flow_hash(const Packet& packet) {
    std::uint64_t h = packet.source * 0x9e3779b97f4a7c15ULL ^ packet.destination * 0xc2b2ae3d27d4eb4fULL;
    h = (h ^ packet.queue_pair) * 0xff51afd7ed558ccdULL;
    return static_cast<std::uint32_t>(h >> 32);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint16_t> choices_;
};

/// An input-buffered switch: virtual output queues per input, lane and output; a round-robin arbiter per output over
/// lanes, then over inputs; virtual cut-through; lossless by credits.
///
/// A packet is routed when its first byte is in, and leaves `latency` later at the earliest. It is arbitrated `latency`
/// before its output becomes free, so that an output under load never idles for arbitration. Its input buffer is given
/// back when its last byte has left. A packet that finds its output free and nobody waiting costs one event.
///
/// Approximations: the crossbar is fast enough that one input can feed several outputs at once (speed-up as the outputs
/// need it); latency is one number; the lane keeps its own queue from input to output. Checked against closed forms in
/// tests/unit/switch_test.cpp.
class Switch final : public sc_core::sc_module, public EventTarget {
 public:
  struct Config {
    Time latency = Time(220'000);

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("latency", latency, "First byte in to first byte out of an idle switch", Range{0, 100'000'000});
    }
  };
  struct Counters {
    std::int64_t packets = 0;
    std::int64_t queued = 0;        ///< packets that had to wait for their output
    std::int64_t credit_waits = 0;  ///< times an output with packets stood still for credit
  };

  /// One port: `out` sends to the neighbour's input, `in` receives from the neighbour's output.
  struct Port {
    Port(const std::string& name) : out(("out" + name).c_str()), in(("in" + name).c_str()) {}
    InitiatorSocket out;
    TargetSocket in;
  };

  /// `links` gives the outgoing direction of each port. `lane_shift[p]` is added to the lane of what leaves by port p,
  /// which is how a ring crosses its dateline; empty for none.
  Switch(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, const RoutingTable& routes,
         const std::vector<LinkConfig>& links, const std::vector<std::uint8_t>& lane_shift, const Stall::Config& stall);
  ~Switch() override;

  [[nodiscard]] std::size_t radix() const { return ports_.size(); }
  Port& port(std::size_t index) { return *ports_[index]; }

  [[nodiscard]] const Counters& counters() const { return counters_; }
  Transmitter& transmitter(std::size_t index) { return transmitters_[index]; }
  /// Packets in its queues.
  [[nodiscard]] std::int64_t waiting() const;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  void prepare(std::uint32_t tag, std::uint64_t data) override;

 private:
  /// The forward interface of one port's input.
  class Input final : public Receiver {
   public:
    Input(Switch& owner, std::uint32_t port) : owner_(&owner), port_(port) {}
    tlm::tlm_sync_enum nb_transport_fw(Packet& packet, Phase& phase, sc_core::sc_time& delay) override;
    void resolve(TargetSocket& socket) {
      peer_ = socket.operator->();
      sender_ = dynamic_cast<const Transmitter*>(peer_);
    }
    void prefetch() const {
      __builtin_prefetch(this);
      if (sender_ != nullptr) sender_->prefetch();
    }
    void release(Packet& packet, Time delay) {
      sc_core::sc_time annotated = to_delay(delay);
      Phase phase = Phase::kCredit;
      peer_->nb_transport_bw(packet, phase, annotated);
    }

   private:
    Switch* owner_;
    std::uint32_t port_;
    Backward* peer_ = nullptr;
    const Transmitter* sender_ = nullptr;  ///< the same, if it is one of ours: its credits will be touched
  };

  struct Queue {
    Packet* head = nullptr;
    Packet* tail = nullptr;
  };
  /// Arbitration state of one output; its queues and bitmaps are in arrays of the switch.
  struct Output {
    Time service_at = kNever;  ///< when its next arbitration is scheduled
    std::uint32_t waiting = 0;
    std::array<std::uint16_t, 8> next_input{};  ///< by lane
    std::uint8_t next_lane = 0;
    std::uint8_t lane_shift = 0;
  };

  void end_of_elaboration() override;
  void arrive(Time now, std::uint32_t input, Packet& packet);
  void serve(Time now, std::uint32_t output);
  void forward(Time now, std::uint32_t output, Packet& packet);
  void enqueue(std::uint32_t output, Packet& packet);
  Packet* dequeue(std::uint32_t output, std::uint32_t lane, std::uint32_t input);
  [[nodiscard]] int pick_input(std::uint32_t output, std::uint32_t lane) const;
  void arm(Time now, std::uint32_t output);
  [[nodiscard]] std::uint8_t lane_out(std::uint32_t output, const Packet& packet) const {
    return static_cast<std::uint8_t>(packet.lane + outputs_[output].lane_shift);
  }
  Queue& queue(std::uint32_t output, std::uint32_t lane, std::uint32_t input) {
    return queues_[output][lane * inputs_.size() + input];
  }
  [[nodiscard]] const std::uint64_t* bitmap(std::uint32_t output, std::uint32_t lane) const {
    return &nonempty_[(output * lanes_ + lane) * words_];
  }

  Dispatcher& dispatcher_;
  const RoutingTable& routes_;
  Time latency_;
  std::uint32_t lanes_;
  std::uint32_t words_;
  FixedVector<Input> inputs_;
  std::vector<Output> outputs_;
  FixedVector<Transmitter> transmitters_;
  std::vector<std::unique_ptr<Queue[]>> queues_;  // per output, once it is contended: by lane, then input
  std::vector<std::uint64_t> nonempty_;           // per output and lane, a bit per input with a packet
  std::vector<std::unique_ptr<Port>> ports_;
  Counters counters_;
};

}  // namespace weft::fabric
