// SPDX-License-Identifier: Apache-2.0
// Priority flow control, shared buffers, marking, stages, weights and faults of one switch.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hw/fabric/switch/switch.h"
#include "tests/support/benches/star.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

constexpr std::uint32_t kWire = 4162;

/// A star whose links are alike, but for the rate of the last.
class LimitedStar : public test_ends::Star {
 public:
  LimitedStar(std::size_t count, const Switch::Config& config, const LinkConfig& link, Rate slow_port = Rate())
      : test_ends::Star(links(count, link, slow_port), config) {}
  [[nodiscard]] std::int64_t dropped() const { return sum_of(&Switch::PortCounters::dropped); }
  [[nodiscard]] std::int64_t pauses() const { return sum_of(&Switch::PortCounters::pauses); }
  void expect_nothing_left() {
    test_ends::Star::expect_nothing_left();
    if (sw->buffer() != nullptr) {
      // What left last is given back when somebody next looks.
      EXPECT_LE(sw->buffer()->held(), static_cast<std::int64_t>(ends.size() * kWire * 64));
    }
  }

 private:
  static std::vector<LinkConfig> links(std::size_t count, const LinkConfig& link, Rate slow_port) {
    std::vector<LinkConfig> all(count, link);
    if (slow_port != Rate()) all.back().rate = slow_port;
    return all;
  }
  [[nodiscard]] std::int64_t sum_of(std::int64_t Switch::PortCounters::*counter) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) sum += sw->port_counters(i).*counter;
    return sum;
  }
};

LinkConfig pfc_link(Time propagation) {
  LinkConfig config = link(400_Gbps, propagation, 16_KiB, 2);
  config.flow_control = FlowControl::kPfc;
  return config;
}

/// What reaches an input after it has asked for silence (IEEE 802.1Qbb annex O): what is on the wire both ways, what
/// the sender answers in, the frame and what is sent before it, one packet that is being sent and one that was chosen.
std::int64_t headroom(const LinkConfig& link) {
  const Time round = 2 * link.propagation + link.pause_response + transfer_time(Bytes(64 + kWire), link.rate);
  const double bytes = static_cast<double>(round.count()) * 1e-12 * static_cast<double>(link.rate.count()) / 8;
  return static_cast<std::int64_t>(bytes) + 3 * kWire;
}

/// `senders` ends at full rate to the last one; both directions are busy.
std::int64_t dropped_in_incast(std::size_t senders, LinkConfig link, Bytes headroom, Bytes shared, double alpha) {
  test::fresh_kernel();
  Switch::Config config;
  config.buffer.headroom = headroom;
  config.buffer.shared = shared;
  config.buffer.alpha = alpha;
  LimitedStar star(senders + 1, config, link);
  constexpr std::uint32_t kPackets = 400;
  star.script.at(1_us, [&] {
    for (std::uint32_t p = 0; p < kPackets; ++p) {
      for (std::uint32_t s = 0; s < senders; ++s) {
        star.ends[s]->send(s, static_cast<std::uint32_t>(senders), kWire);
        if (p < kPackets / 2) star.ends[senders]->send(static_cast<std::uint32_t>(senders), s, kWire);
      }
    }
  });
  sc_core::sc_start();
  EXPECT_GT(star.pauses(), 0);
  star.expect_nothing_left();
  const auto arrived = static_cast<std::int64_t>(star.ends[senders]->arrivals.size());
  EXPECT_EQ(arrived + star.dropped(), static_cast<std::int64_t>(senders * kPackets));
  return star.dropped();
}

TEST(Pfc, LosesNothingWithTheHeadroomOfItsFormulaForAnyBufferAndDistance) {
  for (const Time propagation : {10_ns, 500_ns, 5_us}) {
    for (const Bytes shared : {0_B, 64_KiB, 1_MiB}) {
      for (const double alpha : {0.125, 1.0, 8.0}) {
        const LinkConfig link = pfc_link(propagation);
        EXPECT_EQ(dropped_in_incast(4, link, Bytes(headroom(link)), shared, alpha), 0)
            << to_text(propagation) << ' ' << to_text(shared) << ' ' << alpha;
      }
    }
  }
}

TEST(Pfc, LosesPacketsWithLess) {
  for (const Time propagation : {500_ns, 5_us}) {
    const LinkConfig link = pfc_link(propagation);
    EXPECT_GT(dropped_in_incast(4, link, Bytes(headroom(link) / 2), 0_B, 1), 0) << to_text(propagation);
  }
}

TEST(Pfc, PausesOneLaneAndNotTheOther) {
  Switch::Config config;
  config.buffer.shared = 0_B;
  LimitedStar star(3, config, pfc_link(10_ns), 10_Gbps);
  // Lane 0 goes to the slow end 2, lane 1 to end 1.
  star.script.at(1_us, [&] {
    for (int i = 0; i < 100; ++i) star.ends[0]->send(0, 2, kWire, 0);
  });
  star.script.at(30_us, [&] { star.ends[0]->send(0, 1, kWire, 1); });
  sc_core::sc_start();
  EXPECT_GT(star.pauses(), 0);
  EXPECT_EQ(star.dropped(), 0);
  ASSERT_EQ(star.ends[1]->arrivals.size(), 1u);
  // The test's end sends in the order of its queue, so that what is measured is the switch.
  EXPECT_EQ(star.ends[2]->arrivals.size(), 100u);
  EXPECT_GT(star.sw->port_counters(0).pauses, 3);
}

TEST(Lossy, DropsWhatDoesNotFitAndNothingElse) {
  Switch::Config config;
  config.buffer.shared = 100_KiB;
  config.buffer.alpha = 1;
  LinkConfig link = pfc_link(10_ns);
  link.flow_control = FlowControl::kLossy;
  LimitedStar star(3, config, link);
  star.script.at(1_us, [&] {
    for (int i = 0; i < 1000; ++i) {
      star.ends[0]->send(0, 2, kWire);
      star.ends[1]->send(1, 2, kWire);
    }
  });
  sc_core::sc_start();
  EXPECT_EQ(star.pauses(), 0);
  const auto arrived = static_cast<std::int64_t>(star.ends[2]->arrivals.size());
  EXPECT_EQ(arrived + star.dropped(), 2000);
  // Twice what the output takes comes in; what fits into the buffers is late, not lost.
  EXPECT_NEAR(static_cast<double>(star.dropped()), 1000, 60);
  star.expect_nothing_left();
}

TEST(Marking, RisesWithTheQueue) {
  const auto marked = [](Bytes min, Bytes max) {
    test::fresh_kernel();
    Switch::Config config;
    config.marking = {min, max, 1.0};
    LimitedStar star(3, config, link());
    star.script.at(1_us, [&] {
      for (int i = 0; i < 200; ++i) {
        star.ends[0]->send(0, 2, kWire);
        star.ends[1]->send(1, 2, kWire);
      }
    });
    sc_core::sc_start();
    return star.sw->port_counters(2).marked;
  };
  EXPECT_EQ(marked(0_B, 0_B), 0);
  EXPECT_EQ(marked(10_MiB, 20_MiB), 0);
  // All but the first few find more than this waiting; half of all that come while the queue rises to 256 KiB do.
  EXPECT_GT(marked(4_KiB, 8_KiB), 380);
  const std::int64_t half = marked(4_KiB, 1_MiB);
  EXPECT_GT(half, 20);
  EXPECT_LT(half, 380);
}

TEST(Stages, AddUpAndBoundThePacketsOfAPort) {
  Switch::Config config;
  config.latency = 100_ns;
  config.parse = {20_ns, 1_ns};
  config.route = {10_ns, 15_ns};
  config.admission = {5_ns, 2_ns};
  config.arbitration = {7_ns, 25_ns};
  config.crossbar = {8_ns, 1_ns};
  config.egress = {50_ns, 1_ns};
  EXPECT_EQ(config.total_latency(), 200_ns);
  LimitedStar star(3, config, link());
  // 64 bytes take 1.28 ns: the stages are the bound.
  star.script.at(1_us, [&] {
    for (int i = 0; i < 100; ++i) {
      star.ends[0]->send(0, 2, 64);
      if (i < 50) star.ends[1]->send(1, static_cast<std::uint32_t>(i % 2 == 0 ? 1 : 0), 64);
    }
  });
  sc_core::sc_start();
  ASSERT_EQ(star.ends[2]->arrivals.size(), 100u);
  const auto& arrivals = star.ends[2]->arrivals;
  EXPECT_EQ(arrivals[0].head, 1_us + 10_ns + 200_ns + 10_ns);
  EXPECT_EQ(arrivals[99].head - arrivals[0].head, 99 * 25_ns);
  // From one input to two outputs: the input's slowest stage.
  const Time last = std::max(star.ends[0]->arrivals.back().head, star.ends[1]->arrivals.back().head);
  const Time first = std::min(star.ends[0]->arrivals.front().head, star.ends[1]->arrivals.front().head);
  EXPECT_EQ(last - first, 49 * 15_ns);
  star.expect_nothing_left();
}

TEST(Crossbar, WithoutSpeedupAnInputFeedsOneOutputAtATime) {
  const auto finish = [](double speedup) {
    test::fresh_kernel();
    Switch::Config config;
    config.speedup = speedup;
    // Two slow outputs, a fast input.
    LimitedStar star(3, config, link(400_Gbps, 10_ns, 4_MiB));
    star.script.at(1_us, [&] {
      for (int i = 0; i < 100; ++i) {
        star.ends[0]->send(0, 1, kWire);
        star.ends[0]->send(0, 2, kWire);
        star.ends[1]->send(1, 2, kWire);
      }
    });
    sc_core::sc_start();
    star.expect_nothing_left();
    return std::max(star.ends[1]->arrivals.back().tail, star.ends[2]->arrivals.back().tail);
  };
  const Time wire = transfer_time(Bytes(kWire), 400_Gbps);
  EXPECT_GE(finish(0), 1_us + 200 * wire);
  EXPECT_GE(finish(1), finish(0));
  EXPECT_LE(finish(2), finish(0) + 20 * wire);
}

TEST(Weights, DivideAnOutputBetweenLanes) {
  for (const std::vector<int>& weights : {std::vector<int>{}, {1, 1}, {3, 1}, {1, 7}}) {
    test::fresh_kernel();
    Switch::Config config;
    config.weights = weights;
    LimitedStar star(3, config, link());
    star.script.at(1_us, [&] {
      for (int i = 0; i < 1000; ++i) {
        star.ends[0]->send(0, 2, kWire, 0);
        star.ends[1]->send(1, 2, kWire, 1);
      }
    });
    sc_core::sc_start();
    // While both have packets: until one of them has had its last.
    std::map<int, int> count;
    for (const auto& arrival : star.ends[2]->arrivals) {
      ++count[arrival.lane];
      if (count[arrival.lane] == 1000) break;
    }
    const double share = static_cast<double>(count[0]) / (count[0] + count[1]);
    const double expected = weights.empty() ? 0.5 : static_cast<double>(weights[0]) / (weights[0] + weights[1]);
    EXPECT_NEAR(share, expected, 0.01);
    star.expect_nothing_left();
  }
}

TEST(Incast, FillsTheLastLink) {
  Switch::Config config;
  LimitedStar star(65, config, link(400_Gbps, 10_ns, 64_KiB));
  star.script.at(1_us, [&] {
    for (std::uint32_t s = 0; s < 64; ++s) {
      for (int i = 0; i < 50; ++i) star.ends[s]->send(s, 64, kWire);
    }
  });
  sc_core::sc_start();
  const auto& arrivals = star.ends[64]->arrivals;
  ASSERT_EQ(arrivals.size(), 64u * 50);
  const Time busy = transfer_time(Bytes(64LL * 50 * kWire), 400_Gbps);
  EXPECT_LE((arrivals.back().tail - arrivals.front().head).count(), static_cast<double>(busy.count()) / 0.99);
  // Max-min: every sender has the same share at any time.
  std::map<std::uint32_t, int> count;
  for (std::size_t i = 0; i < 64 * 25; ++i) ++count[arrivals[i].source];
  for (std::uint32_t s = 0; s < 64; ++s) EXPECT_NEAR(count[s], 25, 1) << s;
}

// --- Faults ---

TEST(Faults, DamagedPacketsAreLostAndCounted) {
  LimitedStar star(2, Switch::Config(), link());
  star.ends[0]->transmitter().add_fault({.loss = 0.1});
  star.sw->transmitter(1).add_fault({.from = 50_us, .loss = 1});
  star.script.at(1_us, [&] {
    for (int i = 0; i < 500; ++i) star.ends[0]->send(0, 1, kWire);
  });
  sc_core::sc_start();
  const std::int64_t damaged = star.sw->port_counters(0).damaged;
  EXPECT_NEAR(static_cast<double>(damaged), 50, 25);
  EXPECT_EQ(damaged, star.ends[0]->transmitter().events().damaged);
  EXPECT_EQ(static_cast<std::int64_t>(star.ends[1]->arrivals.size()), 500 - damaged);
  EXPECT_EQ(star.ends[0]->transmitter().credit_missing(), 0);
  star.expect_nothing_left();
}

TEST(Faults, ReplayDeliversAllInOrderAndLater) {
  LinkConfig config = link();
  config.replay = true;
  LimitedStar star(2, Switch::Config(), config);
  // One bit in a hundred thousand: a third of these packets.
  star.ends[0]->transmitter().add_fault({.bit_errors = 1e-5});
  star.script.at(1_us, [&] {
    for (int i = 0; i < 500; ++i) star.ends[0]->send(0, 1, kWire);
  });
  sc_core::sc_start();
  const auto& arrivals = star.ends[1]->arrivals;
  ASSERT_EQ(arrivals.size(), 500u);
  for (std::uint32_t i = 0; i < 500; ++i) EXPECT_EQ(arrivals[i].number, i);
  const std::int64_t replays = star.ends[0]->transmitter().events().replayed;
  EXPECT_NEAR(static_cast<double>(replays), 197, 60);  // p / (1 - p) of 500, p = 1 - (1 - 1e-5)^(8 x 4162)
  EXPECT_GE(arrivals.back().tail, 1_us + (500 + replays) * transfer_time(Bytes(kWire), 400_Gbps));
  EXPECT_EQ(star.ends[0]->transmitter().busy(), (500 + replays) * transfer_time(Bytes(kWire), 400_Gbps));
  star.expect_nothing_left();
}

TEST(Faults, ALinkThatIsDownIsWaitedForAndASlowOneIsSlow) {
  LimitedStar star(2, Switch::Config(), link());
  star.sw->transmitter(1).add_fault({.from = 2_us, .until = 10_us, .down = true});
  star.sw->transmitter(1).add_fault({.from = 10_us, .until = 1_ms, .rate = 0.25});
  star.script.at(1_us, [&] {
    for (int i = 0; i < 100; ++i) star.ends[0]->send(0, 1, kWire);
  });
  sc_core::sc_start();
  const auto& arrivals = star.ends[1]->arrivals;
  ASSERT_EQ(arrivals.size(), 100u);
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    const Time head = arrivals[i].head - 10_ns;
    EXPECT_FALSE(head > 2_us + 220_ns && head < 10_us) << i;  // but for what the arbiter had chosen
  }
  const Time quarter = transfer_time(Bytes(kWire), 100_Gbps);
  EXPECT_EQ(arrivals[99].tail - arrivals[98].tail, quarter);
  const auto slow = std::count_if(arrivals.begin(), arrivals.end(), [](const auto& it) { return it.head > 10_us; });
  EXPECT_GT(slow, 50);
  EXPECT_EQ(star.sw->transmitter(1).busy(), slow * quarter + (100 - slow) * transfer_time(Bytes(kWire), 400_Gbps));
  star.expect_nothing_left();
}

}  // namespace
}  // namespace weft::fabric
