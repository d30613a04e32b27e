// SPDX-License-Identifier: Apache-2.0
// A switch of our own: it takes a packet in whole, looks up its output, and puts it at the end of that output's queue
// for its lane. Lanes take turns.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/fabric/switch/switch_model.h"

using namespace weft;

namespace {

// Fields of the platform, at fabric.switch.fifo and scale_up.fabric.switch.fifo.
struct Config {
  Time lookup = Time(300'000);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("lookup", lookup, "From the last byte in to the first byte out of an idle switch", Range{0, 100'000'000});
  }
};

class FifoSwitch final : public fabric::AnySwitch, public EventTarget {
 public:
  FifoSwitch(sc_core::sc_module_name name, const fabric::SwitchSite& site)
      : AnySwitch(name),
        dispatcher_(site.dispatcher),
        packets_(site.packets),
        routes_(site.routes),
        lookup_(site.own<Config>().lookup),
        lanes_(static_cast<std::size_t>(site.links.front().lanes)),
        outputs_(site.links.size(), Output{std::vector<std::deque<Packet*>>(lanes_)}),
        port_counters_(site.links.size()) {
    dispatcher_.attach(*this, this->name());
    for (std::uint32_t i = 0; i < site.links.size(); ++i) {
      const std::string number = std::to_string(i);
      inputs_.emplace_back(*this, i);
      // An output that waits for credit gets an event when some has come.
      transmitters_.emplace_back(dispatcher_, site.links[i], *this, kServe | i, site.stall,
                                 this->name() + (".out" + number));
      ports_.push_back(site.joined[i] ? nullptr : std::make_unique<Port>(number));
      if (ports_[i] == nullptr) continue;
      transmitters_[i].bind(ports_[i]->out);
      ports_[i]->in.bind(inputs_[i]);
    }
  }

  std::size_t radix() const override { return ports_.size(); }
  Port& port(std::size_t index) override { return *ports_[index]; }
  void join(std::size_t port, AnySwitch& other, std::size_t other_port) override {
    transmitters_[port].join(other.input(other_port));
    other.take_from(other_port, transmitters_[port]);
  }
  fabric::ForwardCall& input(std::size_t port) override { return inputs_[port]; }
  void take_from(std::size_t port, fabric::Transmitter& sender) override { inputs_[port].peer = &sender; }
  fabric::Transmitter& transmitter(std::size_t port) override { return transmitters_[port]; }
  fabric::Transmitter* sender(std::size_t port) const override {
    return dynamic_cast<fabric::Transmitter*>(inputs_[port].peer);
  }
  const Counters& counters() const override { return counters_; }
  std::vector<std::pair<std::string, std::int64_t>> own_counts() const override {
    return {{"lookups", counters_.packets - counters_.unroutable}};
  }
  PortCounters port_counters(std::size_t port) const override { return port_counters_[port]; }
  std::int64_t waiting() const override {
    std::int64_t sum = 0;
    for (const Output& output : outputs_) sum += output.waiting;
    return sum;
  }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    if ((tag & kServe) != 0) return serve(now, tag & ~kServe);
    take(now, tag, *reinterpret_cast<Packet*>(data));
  }

 private:
  static constexpr std::uint32_t kServe = 1U << 29;  // of the 30 bits of a tag; others are inputs

  struct Input final : fabric::Receiver {
    Input(FifoSwitch& owner_switch, std::uint32_t number) : owner(owner_switch), index(number) {}
    // The first byte comes after `delay`, the last one behind it.
    tlm::tlm_sync_enum nb_transport_fw(Packet& packet, fabric::Phase& /*phase*/, sc_core::sc_time& delay) override {
      const Time whole = owner.dispatcher_.now() + from_delay(delay) + Time(packet.tail_lag_ps);
      owner.dispatcher_.post(whole, owner, index, reinterpret_cast<std::uint64_t>(&packet));
      return tlm::TLM_ACCEPTED;
    }
    // Gives buffer space back to the sender.
    void release(std::uint8_t lane, std::uint32_t bytes, Time delay) const {
      Packet notice;
      notice.lane = lane;
      notice.wire_bytes = bytes;
      fabric::Phase phase = fabric::Phase::kCredit;
      sc_core::sc_time annotated = to_delay(delay);
      peer->nb_transport_bw(notice, phase, annotated);
    }
    FifoSwitch& owner;
    std::uint32_t index;
    fabric::BackwardCall* peer = nullptr;
  };
  struct Output {
    std::vector<std::deque<Packet*>> queues;  // by the lane on which they will leave
    std::size_t next_lane = 0;
    std::int64_t waiting = 0;
    std::int64_t bytes = 0;
    Time served_at = kNever;  // a pending event
  };

  void end_of_elaboration() override {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (ports_[i] == nullptr) continue;
      transmitters_[i].resolve(ports_[i]->out);
      inputs_[i].peer = ports_[i]->in.operator->();
    }
  }

  void drop(Packet& packet) {
    inputs_[packet.ingress].release(packet.lane, packet.wire_bytes, Time());
    packets_.give_back(&packet);
  }

  void take(Time now, std::uint32_t input, Packet& packet) {
    ++counters_.packets;
    packet.ingress = static_cast<std::uint16_t>(input);
    packet.tail_lag_ps = 0;  // all of it is here
    if ((packet.flags & Packet::kDamaged) != 0) {
      ++port_counters_[input].damaged;
      return drop(packet);
    }
    if (routes_.detours()) routes_.arrive(packet, input);
    const std::uint16_t index = routes_.port(packet);
    if (index == Packet::kNowhere) {
      ++counters_.unroutable;
      return drop(packet);
    }
    Output& output = outputs_[index];
    output.queues[routes_.lane(packet, input, index)].push_back(&packet);
    output.bytes += packet.wire_bytes;
    if (output.waiting++ > 0) ++counters_.queued;
    port_counters_[index].most_queued = std::max(port_counters_[index].most_queued, output.bytes);
    serve(now, index);
  }

  void serve(Time now, std::uint32_t index) {
    Output& output = outputs_[index];
    fabric::Transmitter& transmitter = transmitters_[index];
    if (output.served_at <= now) output.served_at = kNever;
    if (output.waiting == 0) return;
    Time next = transmitter.free_at() - lookup_;  // so that no lookup leaves a gap
    if (next <= now) {
      next = kNever;
      for (std::size_t step = 0; step < lanes_; ++step) {
        const std::size_t lane = (output.next_lane + step) % lanes_;
        if (output.queues[lane].empty()) continue;
        Packet& packet = *output.queues[lane].front();
        const Time credit = transmitter.credit_at(static_cast<int>(lane), packet.wire_bytes, now);
        next = std::min(next, credit);
        if (credit > now) continue;
        output.queues[lane].pop_front();
        output.next_lane = (lane + 1) % lanes_;
        output.bytes -= packet.wire_bytes;
        --output.waiting;
        send(now, transmitter, static_cast<std::uint8_t>(lane), packet);
        next = transmitter.free_at() - lookup_;
        break;
      }
    }
    if (output.waiting == 0 || output.served_at <= next) return;
    if (next == kNever) {
      ++counters_.credit_waits;
      return transmitter.wait_for_credit();
    }
    output.served_at = next;
    dispatcher_.post(next, *this, kServe | index);
  }

  // The packet is the neighbour's from then on; its buffer here is free when its last byte has left.
  void send(Time now, fabric::Transmitter& transmitter, std::uint8_t lane, Packet& packet) const {
    const Input& from = inputs_[packet.ingress];
    const std::uint8_t came_on = packet.lane;
    const std::uint32_t bytes = packet.wire_bytes;
    packet.lane = lane;
    const Time gone = transmitter.send(packet, now + lookup_);
    from.release(came_on, bytes, gone - now);
  }

  Dispatcher& dispatcher_;
  PacketPool& packets_;
  const fabric::Routes& routes_;
  Time lookup_;
  std::size_t lanes_;
  std::vector<Output> outputs_;
  std::vector<PortCounters> port_counters_;
  Counters counters_;
  std::deque<Input> inputs_;
  std::deque<fabric::Transmitter> transmitters_;
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace

void provide_fifo_switch() {
  fabric::provide(
      {.name = "fifo",
       .doc = "store and forward, a queue for each output and lane",
       .config = Config(),
       .ignores = {"latency", "parse", "route", "admission", "arbitration", "arbiter", "crossbar", "egress", "speedup",
                   "flow_queues", "weights", "marking", "reduction"},
       .latency = [](const fabric::Switch::Config& of) { return of.sections.of<Config>().lookup; },
       .make = [](const fabric::SwitchSite& site) { return std::make_unique<FifoSwitch>(site.name.c_str(), site); }});
}
