// SPDX-License-Identifier: Apache-2.0
// Links, switches and topologies, driven by test ends that send packets and hold or return credits.
#include "hw/fabric/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/kernel.h"
#include "tests/support/sockets.h"

namespace weft::fabric {
namespace {

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

LinkConfig link(Rate rate = 400_Gbps, Time propagation = 10_ns, Bytes buffer = 256_KiB, int lanes = 2) {
  LinkConfig config;
  config.rate = rate;
  config.propagation = propagation;
  config.buffer = buffer;
  config.lanes = lanes;
  return config;
}

// --- One link ---

/// Two ends joined directly.
class Wire {
 public:
  explicit Wire(const LinkConfig& config)
      : dispatcher("dispatcher"),
        script("script", dispatcher),
        left("left", dispatcher, packets, config),
        right("right", dispatcher, packets, config) {
    left.out.bind(right.in);
    right.out.bind(left.in);
  }
  void expect_nothing_left() {
    EXPECT_EQ(left.transmitter().credit_missing(), 0);
    EXPECT_EQ(right.transmitter().credit_missing(), 0);
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(dispatcher.pending(), 0u);
  }
  PacketPool packets;
  Dispatcher dispatcher;
  test::Script script;
  End left;
  End right;
};

TEST(Link, TakesSerialisationAndPropagation) {
  Wire wire(link());
  wire.script.at(1_us, [&] {
    for (const std::uint32_t bytes : {64U, 4162U, 1U}) wire.left.send(0, 1, bytes);
  });
  sc_core::sc_start();
  ASSERT_EQ(wire.right.arrivals.size(), 3u);
  Time head = 1_us + 10_ns;
  for (const auto& [i, bytes] : std::map<std::size_t, std::int64_t>{{0, 64}, {1, 4162}, {2, 1}}) {
    EXPECT_EQ(wire.right.arrivals[i].head, head);
    head += bytes * 20_ps;
    EXPECT_EQ(wire.right.arrivals[i].tail, head);
  }
  EXPECT_EQ(wire.left.transmitter().counters().packets, 3);
  EXPECT_EQ(wire.left.transmitter().counters().wire_bytes, 64 + 4162 + 1);
  EXPECT_EQ(wire.left.transmitter().busy(), (64 + 4162 + 1) * 20_ps);
  wire.expect_nothing_left();
}

TEST(Link, RunsAtItsRateInBothDirectionsAtOnce) {
  Wire wire(link());
  wire.script.at(1_us, [&] {
    for (int i = 0; i < 1000; ++i) {
      wire.left.send(0, 1, 4096);
      wire.right.send(1, 0, 4096);
    }
  });
  sc_core::sc_start();
  for (const End* end : {&wire.left, &wire.right}) {
    ASSERT_EQ(end->arrivals.size(), 1000u);
    EXPECT_EQ(end->arrivals.back().tail, 1_us + 10_ns + 1000 * 4096 * 20_ps);
  }
  wire.expect_nothing_left();
}

TEST(Link, StopsWhenTheBufferIsFullAndGoesOnWithACredit) {
  for (const int spare : {0, 1, 999}) {  // bytes that are too few for one packet more
    test::fresh_kernel();
    Wire wire(link(400_Gbps, 10_ns, Bytes(4 * 1000 + spare)));
    wire.right.hold = true;
    wire.script.at(1_us, [&] {
      for (int i = 0; i < 7; ++i) wire.left.send(0, 1, 1000);
    });
    wire.script.at(100_us - 1_ps, [&] { EXPECT_EQ(wire.right.arrivals.size(), 4u); });
    wire.script.at(100_us, [&] { wire.right.release(); });
    const Time fifth = 100_us + 10_ns /* credit */ + 10_ns + 1000 * 20_ps;
    wire.script.at(fifth - 1_ps, [&] { EXPECT_EQ(wire.right.arrivals.size(), 4u); });
    wire.script.at(fifth + 1_ps, [&] { EXPECT_EQ(wire.right.arrivals.size(), 5u); });
    wire.script.at(200_us, [&] {
      EXPECT_EQ(wire.right.arrivals.size(), 5u);
      EXPECT_EQ(wire.left.unsent(), 2u);
      wire.right.hold = false;
      while (!wire.right.held.empty()) wire.right.release();
    });
    sc_core::sc_start();
    ASSERT_EQ(wire.right.arrivals.size(), 7u);
    EXPECT_EQ(wire.right.arrivals[4].tail, fifth);
    wire.expect_nothing_left();
  }
}

TEST(Link, CountsCreditsByLane) {
  Wire wire(link(400_Gbps, 10_ns, 2000_B, 3));
  wire.right.hold = true;
  wire.script.at(1_us, [&] {
    for (const std::uint8_t lane : {0, 0, 1, 2, 2, 1}) wire.left.send(0, 1, 1000, lane);
  });
  wire.script.at(100_us, [&] {
    EXPECT_EQ(wire.right.arrivals.size(), 6u);
    EXPECT_EQ(wire.left.transmitter().credit_missing(), 6000);
    for (std::uint8_t lane = 0; lane < 3; ++lane) EXPECT_EQ(wire.left.transmitter().credit_at(lane, 1, 100_us), kNever);
    wire.right.release();  // a packet of lane 0
    EXPECT_EQ(wire.left.transmitter().credit_at(0, 1000, 100_us), 100_us + 10_ns);
    EXPECT_EQ(wire.left.transmitter().credit_at(0, 1001, 100_us), kNever);
    EXPECT_EQ(wire.left.transmitter().credit_at(1, 1, 100_us), kNever);
    while (!wire.right.held.empty()) wire.right.release();
  });
  sc_core::sc_start();
  wire.expect_nothing_left();
}

TEST(Link, FillsAPipeLongerThanItsRingOfCredits) {
  // 10 us of flight hold 500 packets of 1,000 bytes; as many credits are on their way back.
  Wire wire(link(400_Gbps, 10_us, 2_MiB));
  wire.script.at(1_us, [&] {
    for (int i = 0; i < 5000; ++i) wire.left.send(0, 1, 1000);
  });
  sc_core::sc_start();
  ASSERT_EQ(wire.right.arrivals.size(), 5000u);
  EXPECT_EQ(wire.right.arrivals.back().tail, 1_us + 10_us + 5000 * 1000 * 20_ps);
  wire.expect_nothing_left();
}

TEST(Link, IsAsFastAsItsBufferPerRoundTripAllows) {
  // 10 packets of buffer, a round trip of 2 x 1 us and a packet of 20 ns: 10 packets per 2.02 us.
  Wire wire(link(400_Gbps, 1_us, 10'000_B));
  wire.script.at(1_us, [&] {
    for (int i = 0; i < 100; ++i) wire.left.send(0, 1, 1000);
  });
  sc_core::sc_start();
  ASSERT_EQ(wire.right.arrivals.size(), 100u);
  for (std::size_t i = 10; i < 100; ++i) {
    EXPECT_EQ((wire.right.arrivals[i].tail - wire.right.arrivals[i - 10].tail), 2_us + 20_ns) << i;
  }
  wire.expect_nothing_left();
}

// --- One switch ---

/// A switch with an end at each port, whose number is the port's. `links[i]` is both directions of port i.
class Star {
 public:
  explicit Star(const std::vector<LinkConfig>& links, Time latency = 220_ns, const Stall::Config& stall = {})
      : routes(links.size()), dispatcher("dispatcher"), script("script", dispatcher) {
    for (std::uint32_t i = 0; i < links.size(); ++i) routes.set(i, {static_cast<std::uint16_t>(i)});
    Switch::Config config;
    config.latency = latency;
    sw = std::make_unique<Switch>("switch", config, dispatcher, routes, links, std::vector<std::uint8_t>(), stall);
    for (std::size_t i = 0; i < links.size(); ++i) {
      ends.push_back(std::make_unique<End>(("end" + std::to_string(i)).c_str(), dispatcher, packets, links[i], stall));
      ends[i]->out.bind(sw->port(i).in);
      sw->port(i).out.bind(ends[i]->in);
    }
  }
  End& end(std::size_t i) { return *ends[i]; }
  void expect_nothing_left() {
    EXPECT_EQ(sw->waiting(), 0);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      EXPECT_EQ(ends[i]->transmitter().credit_missing(), 0) << "end " << i;
      EXPECT_EQ(sw->transmitter(i).credit_missing(), 0) << "port " << i;
      EXPECT_EQ(ends[i]->unsent(), 0u) << "end " << i;
    }
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(dispatcher.pending(), 0u);
  }
  PacketPool packets;
  RoutingTable routes;
  Dispatcher dispatcher;
  test::Script script;
  std::unique_ptr<Switch> sw;
  std::vector<std::unique_ptr<End>> ends;
};

TEST(Switch, CutsThrough) {
  for (const std::uint32_t bytes : {66U, 1000U, 4162U}) {
    test::fresh_kernel();
    Star star({link(), link()});
    star.script.at(1_us, [&] { star.end(0).send(0, 1, bytes); });
    sc_core::sc_start();
    ASSERT_EQ(star.end(1).arrivals.size(), 1u);
    // The head waits for nothing but wire and switch, whatever the size.
    EXPECT_EQ(star.end(1).arrivals[0].head, 1_us + 10_ns + 220_ns + 10_ns);
    EXPECT_EQ(star.end(1).arrivals[0].tail, 1_us + 240_ns + std::int64_t{bytes} * 20_ps);
    EXPECT_EQ(star.sw->counters().queued, 0);
    star.expect_nothing_left();
  }
}

TEST(Switch, NeverIdlesAnOutputUnderLoad) {
  Star star({link(), link()});
  constexpr int kPackets = 2000;
  star.script.at(1_us, [&] {
    for (int i = 0; i < kPackets; ++i) star.end(0).send(0, 1, 4162);
  });
  sc_core::sc_start();
  ASSERT_EQ(star.end(1).arrivals.size(), static_cast<std::size_t>(kPackets));
  for (int i = 0; i < kPackets; ++i) {
    EXPECT_EQ(star.end(1).arrivals[static_cast<std::size_t>(i)].tail, 1_us + 240_ns + (i + 1) * 4162 * 20_ps);
  }
  star.expect_nothing_left();
}

TEST(Switch, SlowOutputStretchesAndFastOutputWaitsForTheLastByte) {
  // From 400 to 100 Gb/s: the first byte goes on at once, the last one four times as late.
  Star slow({link(400_Gbps), link(100_Gbps)});
  slow.script.at(1_us, [&] {
    for (int i = 0; i < 3; ++i) slow.end(0).send(0, 1, 1000);
  });
  sc_core::sc_start();
  ASSERT_EQ(slow.end(1).arrivals.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(slow.end(1).arrivals[static_cast<std::size_t>(i)].head, 1_us + 240_ns + i * 80_ns);
    EXPECT_EQ(slow.end(1).arrivals[static_cast<std::size_t>(i)].tail, 1_us + 240_ns + (i + 1) * 80_ns);
  }
  slow.expect_nothing_left();

  test::fresh_kernel();
  // From 100 to 400 Gb/s: held until it cannot run dry, so that its last byte goes on without a pause.
  Star fast({link(100_Gbps), link(400_Gbps)});
  fast.script.at(1_us, [&] {
    for (int i = 0; i < 3; ++i) fast.end(0).send(0, 1, 1000);
  });
  sc_core::sc_start();
  ASSERT_EQ(fast.end(1).arrivals.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fast.end(1).arrivals[static_cast<std::size_t>(i)].tail, 1_us + 240_ns + (i + 1) * 80_ns);
    EXPECT_EQ(fast.end(1).arrivals[static_cast<std::size_t>(i)].head, 1_us + 240_ns + (i + 1) * 80_ns - 20_ns);
  }
  fast.expect_nothing_left();
}

TEST(Switch, BackPressureReachesTheSenderExactlyWhenBothBuffersAreFull) {
  Star star({link(400_Gbps, 10_ns, 3000_B), link(400_Gbps, 10_ns, 5000_B)});
  star.end(1).hold = true;
  star.script.at(1_us, [&] {
    for (int i = 0; i < 20; ++i) star.end(0).send(0, 1, 1000);
  });
  star.script.at(100_us, [&] {
    EXPECT_EQ(star.end(1).arrivals.size(), 5u);
    EXPECT_EQ(star.sw->waiting(), 3);
    EXPECT_EQ(star.end(0).unsent(), 12u);
    star.end(1).release();
  });
  // The credit comes back, the switch sends its first packet, and when that has left, the end may send one.
  const Time sixth = 100_us + 10_ns + 220_ns + 10_ns + 20_ns;
  star.script.at(sixth - 1_ps, [&] { EXPECT_EQ(star.end(1).arrivals.size(), 5u); });
  star.script.at(150_us, [&] {
    ASSERT_EQ(star.end(1).arrivals.size(), 6u);
    EXPECT_EQ(star.end(1).arrivals[5].tail, sixth);
    EXPECT_EQ(star.sw->waiting(), 3);
    EXPECT_EQ(star.end(0).unsent(), 11u);
    star.end(1).hold = false;
    while (!star.end(1).held.empty()) star.end(1).release();
  });
  sc_core::sc_start();
  EXPECT_EQ(star.end(1).arrivals.size(), 20u);
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(star.end(1).arrivals[i].number, i);
  EXPECT_GT(star.sw->counters().credit_waits, 0);
  star.expect_nothing_left();
}

TEST(Switch, ABlockedOutputDoesNotBlockAnother) {
  Star star({link(), link(400_Gbps, 10_ns, 1000_B), link()});
  star.end(1).hold = true;
  star.script.at(1_us, [&] {
    for (int i = 0; i < 40; ++i) star.end(0).send(0, 1 + static_cast<std::uint32_t>(i % 2), 1000);
  });
  star.script.at(100_us, [&] {
    EXPECT_EQ(star.end(1).arrivals.size(), 1u);
    EXPECT_EQ(star.sw->waiting(), 19);
    // Every packet of the free output came when it would have without the blocked one.
    ASSERT_EQ(star.end(2).arrivals.size(), 20u);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(star.end(2).arrivals[static_cast<std::size_t>(i)].tail, 1_us + 240_ns + (2 * i + 2) * 20_ns);
    }
    star.end(1).hold = false;
    star.end(1).release();
  });
  sc_core::sc_start();
  EXPECT_EQ(star.end(1).arrivals.size(), 20u);
  star.expect_nothing_left();
}

TEST(Switch, ABlockedLaneDoesNotBlockAnother) {
  Star star({link(), link(400_Gbps, 10_ns, 3000_B)});
  star.end(1).hold = true;
  star.script.at(1_us, [&] {
    for (int i = 0; i < 10; ++i) star.end(0).send(0, 1, 1000, 0);
    for (int i = 0; i < 3; ++i) star.end(0).send(0, 1, 1000, 1);
  });
  star.script.at(100_us, [&] {
    EXPECT_EQ(star.end(1).arrivals.size(), 6u);  // three of each
    EXPECT_EQ(std::count_if(star.end(1).arrivals.begin(), star.end(1).arrivals.end(),
                            [](const auto& a) { return a.lane == 1; }),
              3);
    star.end(1).hold = false;
    while (!star.end(1).held.empty()) star.end(1).release();
  });
  sc_core::sc_start();
  EXPECT_EQ(star.end(1).arrivals.size(), 13u);
  star.expect_nothing_left();
}

/// Sends `packets` from each (end, lane) to end 0 and checks that while all have some left, each gets its share to
/// within one packet.
void expect_fair_incast(std::size_t radix, const std::vector<std::pair<std::size_t, std::uint8_t>>& flows) {
  constexpr int kPackets = 60;
  std::vector<LinkConfig> links(radix, link());
  Star star(links);
  star.script.at(1_us, [&] {
    for (int i = 0; i < kPackets; ++i) {
      for (const auto& [from, lane] : flows) star.end(from).send(static_cast<std::uint32_t>(from), 0, 1000, lane);
    }
  });
  sc_core::sc_start();
  ASSERT_EQ(star.end(0).arrivals.size(), kPackets * flows.size());
  std::map<std::pair<std::size_t, std::uint8_t>, int> count;
  for (std::size_t i = 0; i < star.end(0).arrivals.size(); ++i) {
    const auto& arrival = star.end(0).arrivals[i];
    ++count[{arrival.source, arrival.lane}];
    // No gap on the wire.
    EXPECT_EQ(arrival.tail, 1_us + 240_ns + static_cast<std::int64_t>(i + 1) * 20_ns);
    if (i + 1 < flows.size() || i >= (kPackets - 2) * flows.size()) continue;
    int least = kPackets;
    int most = 0;
    for (const auto& [from, lane] : flows) {
      least = std::min(least, count[{from, lane}]);
      most = std::max(most, count[{from, lane}]);
    }
    ASSERT_LE(most - least, 1) << "after " << i + 1 << " packets";
  }
  star.expect_nothing_left();
}

TEST(Fairness, AmongInputs) {
  expect_fair_incast(4, {{1, 0}, {2, 0}, {3, 0}});
}
TEST(Fairness, AmongInputsOfALargeSwitch) {
  std::vector<std::pair<std::size_t, std::uint8_t>> flows;
  for (std::size_t i = 1; i < 130; i += 3) flows.emplace_back(i, 0);
  expect_fair_incast(130, flows);
}
TEST(Fairness, AmongLanes) {
  expect_fair_incast(3, {{1, 0}, {2, 1}});
}

TEST(Fairness, InputsOfALaneAreNotStarvedByAnotherLane) {
  // Lanes take turns, so lane 1 gets half; the two inputs of lane 0 get a quarter each.
  Star star({link(), link(), link(), link()});
  star.script.at(1_us, [&] {
    for (int i = 0; i < 50; ++i) {
      star.end(1).send(1, 0, 1000, 0);
      star.end(2).send(2, 0, 1000, 0);
      star.end(3).send(3, 0, 1000, 1);
    }
  });
  sc_core::sc_start();
  std::map<std::uint32_t, int> count;
  ASSERT_EQ(star.end(0).arrivals.size(), 150u);
  for (std::size_t i = 0; i < 80; ++i) ++count[star.end(0).arrivals[i].source];
  EXPECT_NEAR(count[1], 20, 1);
  EXPECT_NEAR(count[2], 20, 1);
  EXPECT_NEAR(count[3], 40, 2);
  star.expect_nothing_left();
}

TEST(Switch, KeepsOrderAndLosesNothingUnderStalls) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    test::fresh_kernel();
    constexpr std::uint32_t kEnds = 5;
    Star star(std::vector<LinkConfig>(kEnds, link(400_Gbps, 10_ns, 2500_B)), 220_ns, {300_ns, seed});
    star.script.at(1_us, [&] {
      for (std::uint32_t i = 0; i < 200; ++i) {
        for (std::uint32_t s = 0; s < kEnds; ++s) {
          star.end(s).send(s, (s + 1 + (i * 7 + s) % (kEnds - 1)) % kEnds, 64 + (i * 97 + s * 31) % 2400,
                           static_cast<std::uint8_t>((i + s) % 2));
        }
      }
    });
    sc_core::sc_start();
    std::size_t arrived = 0;
    for (std::uint32_t d = 0; d < kEnds; ++d) {
      std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> last;
      for (const auto& arrival : star.end(d).arrivals) {
        auto& next = last[{arrival.source, arrival.lane}];
        EXPECT_GE(arrival.number, next);
        next = arrival.number + 1;
      }
      arrived += star.end(d).arrivals.size();
    }
    EXPECT_EQ(arrived, 200u * kEnds);
    star.expect_nothing_left();
  }
}

// --- Whole networks ---

struct NetworkCase {
  Shape shape;
  int ends;
  int hosts_per_leaf;
  int radix;
  int spines;
  Routing routing;
};

FabricConfig config_of(const NetworkCase& c) {
  FabricConfig config;
  config.topology = c.shape;
  config.hosts_per_leaf = c.hosts_per_leaf;
  config.radix = c.radix;
  config.spines = c.spines;
  config.routing = c.routing;
  return config;
}

class Net {
 public:
  /// `reversed` makes the ends in the opposite order, with the same names.
  explicit Net(const FabricConfig& config, int count, bool reversed = false, const Stall::Config& stall = {})
      : dispatcher("dispatcher"), script("script", dispatcher), ends(static_cast<std::size_t>(count)) {
    if (!reversed) network = std::make_unique<Fabric>("network", config, count, dispatcher, stall, "fabric");
    for (int i = 0; i < count; ++i) {
      const int index = reversed ? count - 1 - i : i;
      ends[static_cast<std::size_t>(index)] =
          std::make_unique<End>(("end" + std::to_string(index)).c_str(), dispatcher, packets, config.link, stall);
    }
    if (reversed) network = std::make_unique<Fabric>("network", config, count, dispatcher, stall, "fabric");
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      network->bind_end(index, ends[index]->out, ends[index]->in);
    }
  }
  void expect_nothing_left() {
    EXPECT_EQ(network->left_over(), std::vector<std::string>());
    for (const auto& end : ends) {
      EXPECT_EQ(end->transmitter().credit_missing(), 0) << end->name();
      EXPECT_EQ(end->unsent(), 0u) << end->name();
    }
    EXPECT_EQ(packets.outstanding(), 0);
  }
  /// `packets_each` from all to all others, at once.
  void all_to_all(int packets_each, std::uint32_t wire_bytes) {
    script.at(1_us, [this, packets_each, wire_bytes] {
      const auto n = static_cast<std::uint32_t>(ends.size());
      for (int i = 0; i < packets_each; ++i) {
        for (std::uint32_t d = 1; d < n; ++d) {
          for (std::uint32_t s = 0; s < n; ++s) ends[s]->send(s, (s + d) % n, wire_bytes);
        }
      }
    });
  }
  void expect_all_arrived(int packets_each) {
    for (std::size_t d = 0; d < ends.size(); ++d) {
      std::map<std::uint32_t, int> from;
      for (const auto& arrival : ends[d]->arrivals) ++from[arrival.source];
      for (std::uint32_t s = 0; s < ends.size(); ++s) EXPECT_EQ(from[s], s == d ? 0 : packets_each) << s << " to " << d;
    }
  }
  PacketPool packets;
  Dispatcher dispatcher;
  test::Script script;
  std::unique_ptr<Fabric> network;
  std::vector<std::unique_ptr<End>> ends;
};

class Networks : public testing::TestWithParam<NetworkCase> {};

TEST_P(Networks, EverybodyReachesEverybody) {
  Net net(config_of(GetParam()), GetParam().ends);
  net.all_to_all(2, 500);
  sc_core::sc_start();
  net.expect_all_arrived(2);
  net.expect_nothing_left();
}

TEST_P(Networks, DoNotDeadlockWithBuffersOfOnePacket) {
  FabricConfig config = config_of(GetParam());
  config.mtu = 256_B;
  config.segment = 256_B;
  config.header = Bytes();
  config.link.buffer = 256_B;
  Net net(config, GetParam().ends);
  net.all_to_all(10, 256);
  sc_core::sc_start();
  net.expect_all_arrived(10);
  net.expect_nothing_left();
}

TEST_P(Networks, DoNotDependOnTheOrderOfElaboration) {
  const auto run = [](bool reversed) {
    test::fresh_kernel();
    FabricConfig config = config_of(GetParam());
    config.link.buffer = 9_KiB;
    Net net(config, GetParam().ends, reversed, {50_ns, 7});
    net.all_to_all(3, 4162);
    sc_core::sc_start();
    net.expect_nothing_left();
    std::vector<std::int64_t> tails;
    for (const auto& end : net.ends) {
      for (const auto& arrival : end->arrivals) tails.push_back(arrival.tail.count());
    }
    return std::pair{net.dispatcher.digest(), tails};
  };
  EXPECT_EQ(run(false), run(true));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Networks,
                         testing::Values(NetworkCase{Shape::kSwitch, 2, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kSwitch, 9, 1, 2, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kRing, 2, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kRing, 3, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kRing, 4, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kRing, 5, 1, 2, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kRing, 8, 1, 2, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kRing, 13, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 4, 4, 8, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 8, 4, 8, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 16, 4, 8, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kFatTree, 32, 4, 8, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 32, 4, 8, 4, Routing::kEcmp},
                                         NetworkCase{Shape::kFatTree, 11, 4, 8, 2, Routing::kEcmp},
                                         NetworkCase{Shape::kFatTree, 7, 1, 8, 1, Routing::kDmodk}),
                         [](const auto& test) {
                           const NetworkCase& c = test.param;
                           const char* shape = c.shape == Shape::kSwitch ? "Switch"
                                               : c.shape == Shape::kRing ? "Ring"
                                                                         : "FatTree";
                           return shape + std::to_string(c.ends) + "By" + std::to_string(c.hosts_per_leaf) + "Radix" +
                                  std::to_string(c.radix) + "Spines" + std::to_string(c.spines) +
                                  (c.routing == Routing::kDmodk ? "Dmodk" : "Ecmp");
                         });

TEST(Ring, HasNoDeadlockWhenEveryLinkOfItIsFull) {
  for (const int ends : {3, 4, 6, 9}) {
    test::fresh_kernel();
    FabricConfig config;
    config.topology = Shape::kRing;
    config.link = link(400_Gbps, 10_ns, 4200_B);
    Net net(config, ends);
    // Everybody as far as it goes, in the same direction: each link is asked for by half of the ring.
    net.script.at(1_us, [&] {
      for (int i = 0; i < 200; ++i) {
        for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(ends); ++s) {
          net.ends[s]->send(s, (s + static_cast<std::uint32_t>((ends - 1) / 2)) % static_cast<std::uint32_t>(ends),
                            4162);
        }
      }
    });
    sc_core::sc_start();
    for (const auto& end : net.ends) EXPECT_EQ(end->arrivals.size(), 200u) << ends << " ends, " << end->name();
    net.expect_nothing_left();
  }
}

TEST(FatTree, CarriesAShiftByOneLeafAtFullRate) {
  // D-mod-k gives each host of a leaf an uplink of its own, and the way down is as disjoint (Zahavi 2012).
  FabricConfig config = config_of({Shape::kFatTree, 16, 4, 8, 0, Routing::kDmodk});
  Net net(config, 16);
  constexpr int kPackets = 100;
  net.script.at(1_us, [&] {
    for (int i = 0; i < kPackets; ++i) {
      for (std::uint32_t s = 0; s < 16; ++s) net.ends[s]->send(s, (s + 4) % 16, 4162);
    }
  });
  sc_core::sc_start();
  for (const auto& end : net.ends) {
    ASSERT_EQ(end->arrivals.size(), static_cast<std::size_t>(kPackets));
    EXPECT_EQ(end->arrivals.back().tail, 1_us + 4 * 10_ns + 3 * 220_ns + kPackets * 4162 * 20_ps);
  }
  net.expect_nothing_left();
}

TEST(LeftOver, NamesThePortAndTheBytes) {
  FabricConfig config;
  config.topology = Shape::kSwitch;
  config.link.buffer = 5000_B;
  Net net(config, 2);
  net.ends[1]->hold = true;
  net.script.at(1_us, [&] {
    for (int i = 0; i < 7; ++i) net.ends[0]->send(0, 1, 1000);
  });
  sc_core::sc_start();
  EXPECT_EQ(net.network->left_over(),
            (std::vector<std::string>{"network.switch0: 2 packets wait for an output",
                                      "network.switch0.out1: 5000 bytes of credit are missing"}));
}

// --- What does not close ---

void expect_error(const FabricConfig& config, int ends, const std::string& path, const std::string& expected) {
  try {
    Topology::build(config, ends, "fabric");
    FAIL() << "no error at " << path;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.expected(), expected);
  }
}

TEST(Topology, TellsWhereAndWhyItDoesNotClose) {
  FabricConfig tree = config_of({Shape::kFatTree, 0, 4, 8, 0, Routing::kDmodk});
  tree.hosts_per_leaf = 5;
  expect_error(tree, 20, "fabric.hosts_per_leaf",
               "expected at most half of radix 8, since a leaf has as many uplinks as hosts; got 5");
  tree.hosts_per_leaf = 4;
  expect_error(
      tree, 33, "fabric.radix",
      "the fat tree does not close: 9 leaves with 1 links to each of 4 spines need a radix of 9, got 8; expected more "
      "hosts per leaf, more spines or a larger radix");
  tree.spines = 2;
  expect_error(
      tree, 32, "fabric.radix",
      "the fat tree does not close: 8 leaves with 2 links to each of 2 spines need a radix of 16, got 8; expected more "
      "hosts per leaf, more spines or a larger radix");
  tree.spines = 3;
  expect_error(tree, 16, "fabric.spines",
               "the fat tree does not close: expected a divisor of the 4 uplinks of a leaf, got 3");

  FabricConfig ring = config_of({Shape::kRing, 0, 4, 8, 0, Routing::kDmodk});
  ring.link.lanes = 1;
  expect_error(ring, 8, "fabric.link.lanes",
               "expected at least 2, got 1: packets change lane at a ring's dateline so that they cannot deadlock");

  FabricConfig any;
  any.mtu = 4_KiB;
  any.segment = 2_KiB;
  expect_error(any, 8, "fabric.segment", "expected at least the mtu of 4KiB, got 2KiB");
  any.segment = 16_KiB;
  any.link.buffer = 16_KiB;
  expect_error(any, 8, "fabric.link.buffer",
               "expected room for at least one segment with its headers, 16648 bytes, got 16KiB");
  any.link.buffer = Bytes(16'648);
  EXPECT_EQ(Topology::build(any, 8, "fabric").ends.size(), 8u);
}

TEST(Topology, BuildsAsFewSpinesAsClose) {
  const auto spines = [](int ends, int per_leaf, int radix) {
    const Topology topology =
        Topology::build(config_of({Shape::kFatTree, 0, per_leaf, radix, 0, Routing::kDmodk}), ends, "");
    return std::count_if(topology.switches.begin(), topology.switches.end(),
                         [](const auto& sw) { return sw.name.rfind("spine", 0) == 0; });
  };
  EXPECT_EQ(spines(4, 4, 8), 0);
  EXPECT_EQ(spines(8, 4, 8), 1);
  EXPECT_EQ(spines(16, 4, 8), 2);
  EXPECT_EQ(spines(32, 4, 8), 4);
}

TEST(WireBytes, PayAHeaderForEachPacket) {
  FabricConfig config;
  config.mtu = 4_KiB;
  config.header = 66_B;
  EXPECT_EQ(config.wire_bytes(0), 66u);
  EXPECT_EQ(config.wire_bytes(1), 67u);
  EXPECT_EQ(config.wire_bytes(4096), 4096u + 66);
  EXPECT_EQ(config.wire_bytes(4097), 4097u + 2 * 66);
  EXPECT_EQ(config.wire_bytes(65536), 65536u + 16 * 66);
}

}  // namespace
}  // namespace weft::fabric
