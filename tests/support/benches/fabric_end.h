// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include "hw/fabric/link.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

/// An end of a network that tests drive, and the configurations that they share.
namespace weft::fabric::test_ends {

using namespace weft::literals;

/// An end of the network: sends what is queued as soon as it may, keeps a log of what comes, returns credits or holds
/// them.
class End final : public sc_core::sc_module, public EventTarget, public Receiver {
 public:
  struct Arrival {
    std::uint32_t source;
    std::uint32_t number;
    std::uint8_t lane;
    Time head;
    Time tail;
  };

  End(sc_core::sc_module_name name, Dispatcher& dispatcher, PacketPool& packets, const LinkConfig& link,
      const Stall::Config& stall = {})
      : sc_module(name),
        out("out"),
        in("in"),
        dispatcher_(dispatcher),
        packets_(packets),
        transmitter_(dispatcher, link, *this, kCredit, stall, this->name()) {
    dispatcher.attach(*this, this->name());
    transmitter_.bind(out);
    in.bind(static_cast<Receiver&>(*this));
  }

  InitiatorSocket out;
  TargetSocket in;
  bool hold = false;  ///< keeps what comes, with its credit
  std::vector<Arrival> arrivals;
  std::deque<Packet*> held;

  void send(std::uint32_t source, std::uint32_t destination, std::uint32_t wire_bytes, std::uint8_t lane = 0) {
    Packet* packet = packets_.take();
    packet->source = source;
    packet->destination = destination;
    packet->wire_bytes = wire_bytes;
    packet->psn = sent_++;
    packet->lane = lane;
    queue_.push_back(packet);
    pump(dispatcher_.now());
  }
  void send(Packet* packet) {
    queue_.push_back(packet);
    pump(dispatcher_.now());
  }
  std::function<void(Time, const Packet&)> on_packet;  ///< sees what arrives, if set

  /// Returns the credit of the oldest packet that is held.
  void release() {
    Packet* packet = held.front();
    held.pop_front();
    give_back(*packet);
  }

  [[nodiscard]] Transmitter& transmitter() { return transmitter_; }
  [[nodiscard]] std::size_t unsent() const { return queue_.size(); }

  tlm::tlm_sync_enum nb_transport_fw(Packet& packet, Phase& phase, sc_core::sc_time& delay) override {
    EXPECT_EQ(phase, Phase::kPacket);
    const Time head = dispatcher_.now() + from_delay(delay);
    const Time tail = head + Time(packet.tail_lag_ps);
    arriving_.push_back({packet.source, packet.psn, packet.lane, head, tail});
    dispatcher_.post(tail, *this, kArrive, reinterpret_cast<std::uint64_t>(&packet));
    return tlm::TLM_ACCEPTED;
  }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    if (tag != kArrive) return pump(now);
    arrivals.push_back(arriving_.front());
    arriving_.pop_front();
    EXPECT_EQ(arrivals.back().tail, now);
    auto& packet = *reinterpret_cast<Packet*>(data);
    if (on_packet) on_packet(now, packet);
    if (hold) {
      held.push_back(&packet);
    } else {
      give_back(packet);
    }
  }

 private:
  enum Tag : std::uint32_t { kArrive, kCredit, kPump };

  void end_of_elaboration() override {
    transmitter_.resolve(out);
    upstream_ = in.operator->();
  }
  void give_back(Packet& packet) {
    sc_core::sc_time delay;
    Phase phase = Phase::kCredit;
    upstream_->nb_transport_bw(packet, phase, delay);
    packets_.give_back(&packet);
  }
  void pump(Time now) {
    while (!queue_.empty()) {
      Packet& packet = *queue_.front();
      const Time credit = transmitter_.credit_at(packet.lane, packet.wire_bytes, now);
      if (credit == kNever) return transmitter_.wait_for_credit();
      const Time at = std::max(credit, transmitter_.free_at());
      if (at > now) {
        if (pumped_at_ != at) dispatcher_.post(at, *this, kPump);
        pumped_at_ = at;
        return;
      }
      queue_.pop_front();
      transmitter_.send(packet, now);
    }
  }

  Dispatcher& dispatcher_;
  PacketPool& packets_;
  Transmitter transmitter_;
  Backward* upstream_ = nullptr;
  std::deque<Packet*> queue_;
  std::deque<Arrival> arriving_;
  std::uint32_t sent_ = 0;
  Time pumped_at_ = kNever;
};

inline LinkConfig link(Rate rate = 400_Gbps, Time propagation = 10_ns, Bytes buffer = 256_KiB, int lanes = 2) {
  LinkConfig config;
  config.rate = rate;
  config.propagation = propagation;
  config.buffer = buffer;
  config.lanes = lanes;
  return config;
}

}  // namespace weft::fabric::test_ends
