// SPDX-License-Identifier: Apache-2.0
// One switch with a test end at each port.
#include "hw/fabric/switch/switch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/benches/star.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

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

/// Small packets hold up the first stages. What comes in meanwhile of a large one that leaves faster than it comes need
/// not be waited for any more.
TEST(Switch, NobodyOvertakesInTheFirstStages) {
  Switch::Config config;
  config.parse.interval = 20_ns;
  Star star({link(400_Gbps), link(800_Gbps)}, config);
  const std::vector<std::uint32_t> sizes = {66, 66, 66, 66, 66, 4162, 66, 4162, 66, 66};
  star.script.at(1_us, [&] {
    for (const std::uint32_t bytes : sizes) star.end(0).send(0, 1, bytes);
  });
  sc_core::sc_start();
  ASSERT_EQ(star.end(1).arrivals.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(star.end(1).arrivals[i].number, i);
  star.expect_nothing_left();
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

TEST(Switch, PassesLongRunsAtTheLinksRateWhateverAPacketTakesInPicoseconds) {
  for (const Rate rate : {100'000_Gbps, 51'200_Gbps, 25'600_Gbps}) {
    test::fresh_kernel();
    // The first port is of another rate, so that the switch looks at who is slower.
    Star star({link(), link(rate, 10_ns, 4_MiB), link(rate, 10_ns, 4_MiB)});
    constexpr int kPackets = 20'000;
    star.script.at(1_us, [&] {
      for (int i = 0; i < kPackets; ++i) star.end(1).send(1, 2, 130);
    });
    sc_core::sc_start();
    const Time taken = star.end(2).arrivals.back().tail - star.end(2).arrivals.front().head;
    EXPECT_LE(std::abs((taken - transfer_time(Bytes(130) * kPackets, rate)).count()), 3) << to_text(rate);
    star.expect_nothing_left();
  }
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
    Star star(std::vector<LinkConfig>(kEnds, link(400_Gbps, 10_ns, 2500_B)), {}, {300_ns, seed});
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

/// Notes what is drawn.
class NotingProbe final : public Probe {
 public:
  int add_track(const std::string& process, const std::string& thread) override {
    ADD_FAILURE() << "of " << process << ", " << thread << " not all are to be drawn";
    return -1;
  }
  int add_phases(const std::string& process, const std::string& thread) override { return add_track(process, thread); }
  int add_rival(const std::string& process, const std::string& thread) override {
    tracks.push_back(process + ", " + thread);
    return static_cast<int>(tracks.size()) - 1;
  }
  void slice(int /*track*/, const ProbeSlice& /*slice*/) override {}
  void begin(int /*track*/, std::string_view /*what*/, Time /*at*/) override {}
  void end(int /*track*/, Time /*at*/) override {}
  void leave_out(Time /*at*/, Time /*span*/) override {}
  void counter(int track, std::string_view /*name*/, Time at, double value) override {
    EXPECT_EQ(track, 0);
    if (!values.empty()) {
      EXPECT_GE(at, values.back().first);
    }
    values.emplace_back(at, value);
  }
  std::vector<std::string> tracks;
  std::vector<std::pair<Time, double>> values;
};

TEST(Drawing, TellsTheDepthOfContendedQueues) {
  const auto run = [](Probe* probe) {
    test::fresh_kernel();
    Star star({link(), link(), link()});
    if (probe != nullptr) star.sw->record(*probe, "network");
    star.script.at(1_us, [&] {
      for (int i = 0; i < 50; ++i) {
        star.end(0).send(0, 2, 4162);
        star.end(1).send(1, 2, 4162);
      }
    });
    sc_core::sc_start();
    star.sw->finish_drawing();
    star.expect_nothing_left();
    return std::pair(star.dispatcher.digest(), star.sw->port_counters(2).most_queued);
  };
  NotingProbe probe;
  const auto drawn = run(&probe);
  EXPECT_EQ(drawn, run(nullptr));
  EXPECT_EQ(probe.tracks, std::vector<std::string>{"network, switch port 2"});
  double most = 0;
  for (const auto& [at, value] : probe.values) most = std::max(most, value);
  EXPECT_EQ(most, static_cast<double>(drawn.second));
  ASSERT_FALSE(probe.values.empty());
  EXPECT_EQ(probe.values.back().second, 0);
  EXPECT_LE(probe.values.size(), 24u);
}

}  // namespace
}  // namespace weft::fabric
