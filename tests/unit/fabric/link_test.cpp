// SPDX-License-Identifier: Apache-2.0
// One link, driven by test ends that send packets and hold or return credits.
#include "hw/fabric/link.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/benches/fabric_end.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

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

TEST(Link, HasItsRateWhateverAPacketTakesInPicoseconds) {
  struct Case {
    Rate rate;
    std::uint32_t bytes;
  };
  // A packet takes 5.12, 1.28, 20.3125, 40.625, 0.64 and 2,600 ps.
  for (const Case c : {Case{100'000_Gbps, 64}, Case{800'000_Gbps, 128}, Case{51'200_Gbps, 130}, Case{25'600_Gbps, 130},
                       Case{800'000_Gbps, 64}, Case{400_Gbps, 130}}) {
    test::fresh_kernel();
    Wire wire(link(c.rate, 10_ns, 4_MiB));
    constexpr int kPackets = 20'000;
    wire.script.at(1_us, [&] {
      for (int i = 0; i < kPackets; ++i) wire.left.send(0, 1, c.bytes);
    });
    sc_core::sc_start();
    const Time end = wire.right.arrivals.back().tail - 1_us - 10_ns;
    EXPECT_LE(std::abs((end - transfer_time(Bytes(c.bytes) * kPackets, c.rate)).count()), 1) << to_text(c.rate);
    wire.expect_nothing_left();
  }
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

TEST(Link, SharesABufferBetweenLanesThatHaveFilledTheirOwn) {
  LinkConfig config = link(400_Gbps, 10_ns, 2000_B, 3);
  config.shared = 3500_B;
  Wire wire(config);
  wire.right.hold = true;
  wire.script.at(1_us, [&] {
    for (const std::uint8_t lane : {0, 0, 0, 0, 0, 1, 1, 0, 0, 1}) wire.left.send(0, 1, 1000, lane);
  });
  Transmitter& sender = wire.left.transmitter();
  const auto arrived = [&](std::uint8_t lane) {
    std::size_t count = 0;
    for (const auto& arrival : wire.right.arrivals) count += arrival.lane == lane ? 1U : 0U;
    return count;
  };
  wire.script.at(100_us, [&] {
    // Lane 0 has 2,000 bytes of its own and 3,000 of all; lanes 1 and 2 have theirs, and share the last 500.
    EXPECT_EQ(arrived(0), 5u);
    EXPECT_EQ(arrived(1), 2u);
    EXPECT_EQ(sender.credit_missing(), 7000);
    EXPECT_EQ(sender.credit_at(0, 500, 100_us), 100_us);
    EXPECT_EQ(sender.credit_at(0, 501, 100_us), kNever);
    EXPECT_EQ(sender.credit_at(1, 500, 100_us), 100_us);
    EXPECT_EQ(sender.credit_at(2, 2500, 100_us), 100_us);
    EXPECT_EQ(sender.credit_at(2, 2501, 100_us), kNever);
    // What lane 0 gives back was shared: any lane may have it.
    wire.right.release();
    EXPECT_EQ(sender.credit_at(2, 3500, 100_us), 100_us + 10_ns);
    EXPECT_EQ(sender.credit_at(0, 1500, 100_us), 100_us + 10_ns);
    EXPECT_EQ(sender.credit_at(1, 1501, 100_us), kNever);
    wire.right.hold = false;
    while (!wire.right.held.empty()) wire.right.release();
  });
  sc_core::sc_start();
  EXPECT_EQ(arrived(0), 7u);
  EXPECT_EQ(arrived(1), 3u);
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

}  // namespace
}  // namespace weft::fabric
