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
#include "hw/fabric/routing.h"

namespace weft::fabric {

/// An input-buffered switch: virtual output queues per input, lane and output; a round-robin arbiter per output over
/// lanes, then over inputs; virtual cut-through; lossless by credits.
///
/// A packet is routed when its first byte is in, and leaves `latency` later at the earliest. It is arbitrated `latency`
/// before its output becomes free, so that an output under load never idles for arbitration. Its input buffer is given
/// back when its last byte has left. A packet that finds its output free and nobody waiting costs one event.
///
/// Approximations: the crossbar is fast enough that one input can feed several outputs at once (speed-up as the outputs
/// need it); latency is one number; a packet waits in the queue of the lane on which it will leave, so that none
/// waits for credit of another lane. Checked against closed forms in tests/unit/switch_test.cpp.
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

  /// `links` gives the outgoing direction of each port, all with as many lanes. `routes` must outlive the switch.
  Switch(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, const Routes& routes,
         const std::vector<LinkConfig>& links, const Stall::Config& stall);
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
    /// A packet that came at `now` will wait.
    void waits(Time now, const Packet& packet) {
      latest_ = &packet;
      tail_at_ = now + Time(packet.tail_lag_ps);
    }
    /// What has not come yet of a packet that waited: only the latest one's last byte can be missing.
    [[nodiscard]] Time missing(Time now, const Packet& packet) const {
      return latest_ == &packet && tail_at_ > now ? tail_at_ - now : Time();
    }

   private:
    Switch* owner_;
    std::uint32_t port_;
    Backward* peer_ = nullptr;
    const Transmitter* sender_ = nullptr;  ///< the same, if it is one of ours: its credits will be touched
    const Packet* latest_ = nullptr;
    Time tail_at_;
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
  };

  void end_of_elaboration() override;
  void arrive(Time now, std::uint32_t input, Packet& packet);
  void serve(Time now, std::uint32_t output);
  void forward(Time now, std::uint32_t output, std::uint32_t lane, Packet& packet);
  void enqueue(std::uint32_t output, std::uint32_t lane, Packet& packet);
  Packet* dequeue(std::uint32_t output, std::uint32_t lane, std::uint32_t input);
  [[nodiscard]] int pick_input(std::uint32_t output, std::uint32_t lane) const;
  void arm(Time now, std::uint32_t output);
  [[nodiscard]] std::uint32_t route(Time now, Packet& packet) const;
  [[nodiscard]] std::uint32_t least_queued(Time now, const Choices& choices) const;
  Queue& queue(std::uint32_t output, std::uint32_t lane, std::uint32_t input) {
    return queues_[output][lane * inputs_.size() + input];
  }
  [[nodiscard]] const std::uint64_t* bitmap(std::uint32_t output, std::uint32_t lane) const {
    return &nonempty_[(output * lanes_ + lane) * words_];
  }

  Dispatcher& dispatcher_;
  const Routes& routes_;
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
