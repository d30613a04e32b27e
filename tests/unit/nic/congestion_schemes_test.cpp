// SPDX-License-Identifier: Apache-2.0
// Congestion control by marks, delay and load: each scheme by its paper's equations, what receivers and switches tell
// it, and eight senders of one receiver.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/path_load.h"
#include "hw/nic/congestion/dctcp.h"
#include "hw/nic/congestion/hpcc.h"
#include "hw/nic/congestion/swift.h"
#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

// --- Codes of load ---

TEST(PathLoad, IsKeptWithinTwoAndAHalfPercent) {
  EXPECT_EQ(load_code(0), 0);
  EXPECT_EQ(load_of(0), 0);
  EXPECT_EQ(load_code(1.0 / 300), 0);
  EXPECT_EQ(load_code(1e9), 255);
  for (double load = 1.0 / 255; load < 900; load *= 1.013) {
    EXPECT_NEAR(load_of(load_code(load)) / load, 1, 0.025) << load;
    EXPECT_LE(load_code(load), load_code(load * 1.013));
  }
}

// --- Schemes, by hand ---

constexpr std::int64_t kSegment = 4000;
constexpr double kCarried = 50'000;  // bytes: 40 Gb/s for 10 us

CongestionSite site(const AnyConfig& own) {
  return {own, 40_Gbps, Bytes(kSegment), 10_us};
}

/// Of a packet that left a round trip ago.
Acknowledged ack_after(Time round_trip) {
  Acknowledged one;
  one.wire_bytes = kSegment;
  one.round_trip = round_trip;
  return one;
}
Acknowledged marked(Acknowledged one) {
  one.marked = true;
  return one;
}
Acknowledged held(Acknowledged one) {
  one.held = true;
  return one;
}
Acknowledged loaded(double load) {
  Acknowledged one = ack_after(10_us);
  one.load = load;
  return one;
}

TEST(Dctcp, CutsItsWindowByTheMarkedShareOnceInARoundTrip) {
  const AnyConfig own = MarkWindow::Config();
  MarkWindow control(site(own));
  EXPECT_EQ(control.window(Time()), 50'000);
  EXPECT_EQ(control.rate(Time()), std::nullopt);
  control.acknowledged(10_us, ack_after(10_us));
  control.acknowledged(15_us, marked(ack_after(10_us)));
  EXPECT_EQ(control.window(15_us), 25'000) << "alpha begins at 1";
  // Of the three packets of the first round two were marked.
  control.acknowledged(20_us, marked(ack_after(10_us)));
  const double alpha = 15.0 / 16 + 1.0 / 16 * 2 / 3;
  EXPECT_DOUBLE_EQ(control.alpha(), alpha);
  EXPECT_EQ(control.window(20_us), 25'000) << "it left before the cut";
  control.acknowledged(25_us, marked(ack_after(10_us)));
  EXPECT_EQ(control.window(25_us), static_cast<std::int64_t>(25'000 * (1 - alpha / 2)));
}

TEST(Dctcp, GrowsByAPacketInARoundTripAndOnlyIfItHoldsSomethingBack) {
  const AnyConfig own = MarkWindow::Config();
  MarkWindow control(site(own));
  control.acknowledged(10_us, ack_after(10_us));
  EXPECT_EQ(control.window(10_us), 50'000);
  control.acknowledged(10_us, held(ack_after(10_us)));
  EXPECT_EQ(control.window(10_us), static_cast<std::int64_t>(kCarried + kSegment * kSegment / kCarried));
  for (int i = 0; i < 100; ++i) control.acknowledged(20_us + 20_us * i, marked(ack_after(10_us)));
  EXPECT_EQ(control.window(3_ms), kSegment) << "no less than a packet";
  EXPECT_NEAR(control.alpha(), 1, 0.01);
  for (int i = 0; i < 100; ++i) control.acknowledged(3_ms + 20_us * i, ack_after(10_us));
  EXPECT_NEAR(control.alpha(), std::pow(15.0 / 16, 100), 1e-3);
}

TEST(Dctcp, HalvesByALossOnceInARoundTrip) {
  const AnyConfig own = MarkWindow::Config();
  MarkWindow control(site(own));
  control.lost(10_us);
  control.lost(19_us);
  EXPECT_EQ(control.window(19_us), 25'000);
  control.lost(20_us);
  EXPECT_EQ(control.window(20_us), 12'500);
}

TEST(Dctcp, HalvesOnceForWhatWasUnderWayTogether) {
  const AnyConfig own = MarkWindow::Config();
  MarkWindow control(site(own));
  control.overtaken(30_us, kSegment, 1_us);
  control.overtaken(45_us, kSegment, 9_us);
  control.overtaken(90_us, kSegment, 29_us);
  EXPECT_EQ(control.window(90_us), 25'000) << "all left before the cut";
  control.overtaken(95_us, kSegment, 31_us);
  EXPECT_EQ(control.window(95_us), 12'500);
}

DelayWindow::Config plain_swift() {
  DelayWindow::Config config;
  config.queueing = 5_us;
  config.flow_scaling = 0;
  return config;
}

TEST(Swift, FollowsTheDelayOfTheFabric) {
  const AnyConfig own = plain_swift();
  DelayWindow control(site(own));
  EXPECT_EQ(control.window(Time()), 50'000);
  EXPECT_EQ(control.target(), 15_us);
  control.acknowledged(50_us, ack_after(12_us));
  EXPECT_DOUBLE_EQ(control.packets(), 12.5) << "nothing was held back";
  control.acknowledged(50_us, held(ack_after(12_us)));
  EXPECT_DOUBLE_EQ(control.packets(), 12.58);
  // Beyond the target by a quarter of itself, of which 0.8 are taken.
  control.acknowledged(100_us, ack_after(20_us));
  EXPECT_DOUBLE_EQ(control.packets(), 12.58 * 0.8);
  control.acknowledged(119_us, ack_after(20_us));
  EXPECT_DOUBLE_EQ(control.packets(), 12.58 * 0.8) << "a round trip has not passed";
  control.acknowledged(120_us, ack_after(20_us));
  EXPECT_DOUBLE_EQ(control.packets(), 12.58 * 0.8 * 0.8);
  // By no more than a half.
  control.acknowledged(2_ms, ack_after(1_ms));
  EXPECT_DOUBLE_EQ(control.packets(), 12.58 * 0.8 * 0.8 * 0.5);
  control.lost(4_ms);
  EXPECT_DOUBLE_EQ(control.packets(), 12.58 * 0.8 * 0.8 * 0.5 * 0.5);
}

TEST(Swift, IsCutOnceForWhatWasUnderWayTogether) {
  const AnyConfig own = plain_swift();
  DelayWindow control(site(own));
  control.overtaken(30_us, kSegment, 1_us);
  control.overtaken(90_us, kSegment, 29_us);
  EXPECT_DOUBLE_EQ(control.packets(), 12.5 * 0.5) << "both left before the cut";
  control.overtaken(95_us, kSegment, 31_us);
  EXPECT_DOUBLE_EQ(control.packets(), 12.5 * 0.5 * 0.5);
}

TEST(Swift, FollowsTheDelayOfTheEndpointApart) {
  const AnyConfig own = plain_swift();
  DelayWindow control(site(own));
  Acknowledged late = ack_after(10_us);
  late.endpoint = 10_us;
  control.acknowledged(50_us, late);
  EXPECT_DOUBLE_EQ(control.packets(), 12.5 * (1 - 0.8 * 0.5));
}

TEST(Swift, IsARateBelowAPacketAndKeepsALongerTarget) {
  DelayWindow::Config config = plain_swift();
  config.flow_scaling = 5;
  const AnyConfig own = config;
  DelayWindow control(site(own));
  const auto target = [](double window) {
    return 15e6 * (1 + 5 * (1 / std::sqrt(window) - 0.1) / (std::sqrt(10.0) - 0.1));
  };
  EXPECT_NEAR(static_cast<double>(control.target().count()), target(12.5), 1);
  EXPECT_EQ(control.rate(Time()), std::nullopt);
  for (int i = 1; i <= 5; ++i) control.acknowledged(2_ms * i, ack_after(1_ms));
  EXPECT_DOUBLE_EQ(control.packets(), 12.5 / 32);
  EXPECT_NEAR(static_cast<double>(control.target().count()), target(12.5 / 32), 1);
  EXPECT_EQ(control.window(10_ms), kSegment);
  ASSERT_TRUE(control.rate(10_ms).has_value());
  EXPECT_EQ(*control.rate(10_ms), Rate(12'500'000)) << "a packet of 32,000 bits in 1 ms over 0.39";
  control.acknowledged(11_ms, held(ack_after(10_us)));
  EXPECT_DOUBLE_EQ(control.packets(), 12.5 / 32 + 1);
}

LoadWindow::Config plain_hpcc() {
  LoadWindow::Config config;
  config.flows = 100;
  return config;
}

TEST(Hpcc, SetsTheWindowByTheLoad) {
  const AnyConfig own = plain_hpcc();
  LoadWindow control(site(own));
  constexpr double kIncrease = kCarried * 0.05 / 100;  // 25 bytes
  EXPECT_EQ(control.window(Time()), 50'000);
  EXPECT_EQ(control.rate(Time()), std::nullopt);
  control.acknowledged(10_us, loaded(1.9));
  EXPECT_EQ(control.window(10_us), std::llround(kCarried / 2 + kIncrease));
  EXPECT_EQ(*control.rate(10_us), Rate(25'025LL * 8 * 100'000)) << "the window over a round trip of 10 us";
  // Packets that left before have met the old window: each is compared with the same reference.
  control.acknowledged(12_us, loaded(1.9));
  control.acknowledged(14_us, loaded(1.9));
  EXPECT_EQ(control.window(14_us), std::llround(25'025 / 2.0 + kIncrease));
  control.acknowledged(16_us, loaded(0.95));
  EXPECT_EQ(control.window(16_us), 25'050);
  control.acknowledged(20_us, loaded(0.95));
  EXPECT_EQ(control.window(20_us), 25'050);
}

TEST(Hpcc, GrowsBySmallStepsForSomeRoundTripsAndThenFollowsALowLoad) {
  const AnyConfig own = plain_hpcc();
  LoadWindow control(site(own));
  control.acknowledged(10_us, loaded(3.8));
  EXPECT_EQ(control.window(10_us), 12'525);
  for (int round = 1; round <= 5; ++round) {
    control.acknowledged(10_us + 10_us * round, loaded(0.475));
    EXPECT_EQ(control.window(Time()), 12'525 + 25 * round);
  }
  control.acknowledged(70_us, loaded(0.475));
  EXPECT_EQ(control.window(Time()), 2 * 12'650 + 25);
  // Never more than a round trip carries.
  for (int round = 0; round < 20; ++round) control.acknowledged(80_us + 10_us * round, loaded(0.1));
  EXPECT_EQ(control.window(Time()), 50'000);
  EXPECT_EQ(control.rate(Time()), std::nullopt);
}

// --- What receivers and switches tell ---

struct Told {
  int acknowledgements = 0;
  int marks = 0;
  double load = 0;  ///< the latest
  Time endpoint;    ///< the longest
};
Told& told() {
  static Told all;
  return all;
}

struct ListenerConfig {
  Rate rate;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("rate", rate, "At which packets go");
  }
};

class Listener final : public CongestionControl {
 public:
  explicit Listener(Rate rate) : rate_(rate) {}

  void sent(Time /*now*/, std::int64_t /*wire_bytes*/) override {}
  void congested(Time /*now*/) override {}
  void acknowledged(Time /*now*/, const Acknowledged& packets) override {
    ++told().acknowledgements;
    told().marks += packets.marked ? 1 : 0;
    told().load = packets.load;
    told().endpoint = std::max(told().endpoint, packets.endpoint);
  }
  std::optional<Rate> rate(Time /*now*/) override { return rate_; }

 private:
  Rate rate_;
};

BenchConfig listening(Rate rate) {
  if (congestion_schemes().find("listener") == nullptr) {
    provide({.name = "listener",
             .doc = "for tests",
             .config = ListenerConfig(),
             .acknowledges = true,
             .make = [](const CongestionSite& of) {
               return std::make_unique<Listener>(of.config<ListenerConfig>().rate);
             }});
  }
  told() = {};
  test::fresh_kernel();
  BenchConfig config;
  config.data = false;
  config.nic.congestion = "listener";
  config.nic.sections.of<ListenerConfig>().rate = rate;
  config.network.link.rate = 40_Gbps;
  config.network.link.buffer = 1_MiB;
  return config;
}

void write_megabyte(const BenchConfig& config) {
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, 1 << 20));
  bench.run();
}

TEST(Telling, SwitchesWriteTheirLoadIntoPackets) {
  BenchConfig config = listening(10_Gbps);
  write_megabyte(config);
  EXPECT_GT(told().acknowledgements, 10);
  EXPECT_EQ(told().load, 0) << "nobody measures it";
  config = listening(10_Gbps);
  config.network.switch_config.load_window = 100_us;
  write_megabyte(config);
  // A quarter of the link, and the packet that has just passed; the rest is the code's. It has been measured for 8
  // windows.
  EXPECT_NEAR(told().load, 0.25, 0.02);
  config = listening(40_Gbps);
  config.network.switch_config.load_window = 20_us;
  write_megabyte(config);
  EXPECT_NEAR(told().load, 1, 0.06);
}

TEST(Telling, ReceiversReturnMarks) {
  BenchConfig config = listening(40_Gbps);
  config.wire = test::LossyWire::Config{};
  int count = 0;
  config.wire->mark = [&](const Packet& packet) { return packet.opcode == Opcode::kWrite && ++count % 4 == 0; };
  write_megabyte(config);
  EXPECT_NEAR(told().marks, told().acknowledgements / 2, 1) << "a packet passes two wires";
}

TEST(Telling, ReceiversReturnTheirWaitForTheHostLink) {
  write_megabyte(listening(40_Gbps));
  const Time quick = told().endpoint;
  EXPECT_LT(quick, 5_us);
  BenchConfig config = listening(40_Gbps);
  config.nic.pcie.generation = 3;
  config.nic.pcie.lanes = 4;
  write_megabyte(config);
  EXPECT_GT(told().endpoint, quick);
}

// --- In a network ---

const fabric::MarkingConfig kMarkAll = {64_KiB, 64_KiB, 1};

BenchConfig congested(const std::string& scheme, int ends) {
  test::fresh_kernel();
  BenchConfig config;
  config.ends = ends;
  config.data = false;
  config.nic.congestion = scheme;
  config.nic.round_trip = 8_us;
  fabric::LinkConfig& link = config.network.link;
  link.rate = 100_Gbps;
  link.propagation = 1500_ns;
  link.buffer = 1_MiB;
  config.network.switch_config.load_window = 8_us;
  config.network.switch_config.marking = kMarkAll;
  return config;
}

class Schemes : public testing::TestWithParam<const char*> {};

/// Eight senders of one receiver: what it gets, how evenly, and what waits at the switch.
struct Incast {
  double share = 0;
  double jain = 0;
  std::int64_t mean_packets = 0;
  std::int64_t most_packets = 0;

  explicit Incast(const std::string& scheme) {
    constexpr std::size_t kSenders = 8;
    constexpr Time kMeasured = 3_ms;
    constexpr Time kEnd = 6_ms;
    constexpr Time kSample = 1_us;
    constexpr double kShareOfPayload = 4096.0 / (4096 + 66);
    const BenchConfig config = congested(scheme, kSenders + 1);
    Bench bench(config);
    for (std::size_t s = 0; s < kSenders; ++s) {
      const Connection pair = bench.connect(s, kSenders);
      bench.ring_at(static_cast<std::int64_t>(s) * 10_us, s, write(pair.a, 0, 0, std::uint64_t{1} << 30));
    }
    std::vector<std::int64_t> before(kSenders);
    bench.script.at(kMeasured, [&] {
      for (std::size_t s = 0; s < kSenders; ++s) before[s] = bench.nics[s]->counters().bytes_sent;
    });
    std::int64_t samples = 0;
    for (Time at = kMeasured; at < kEnd; at += kSample, ++samples) {
      bench.script.at(at, [&] {
        mean_packets += bench.network.switch_at(0).waiting();
        most_packets = std::max(most_packets, bench.network.switch_at(0).waiting());
      });
    }
    bench.dispatcher.run_until(kEnd);
    mean_packets /= samples;
    double sum = 0;
    double squares = 0;
    for (std::size_t s = 0; s < kSenders; ++s) {
      const auto sent = static_cast<double>(bench.nics[s]->counters().bytes_sent - before[s]);
      sum += sent;
      squares += sent * sent;
    }
    share = sum / (static_cast<double>((kEnd - kMeasured).count()) * 1e-12 * 100e9 / 8 * kShareOfPayload);
    jain = sum * sum / (kSenders * squares);
  }
};

TEST_P(Schemes, ShareALinkEvenlyWithAShortQueue) {
  const Incast incast(GetParam());
  EXPECT_GE(incast.share, 0.9);
  EXPECT_LE(incast.share, 1.001);
  EXPECT_GE(incast.jain, 0.9);
  // 64 KiB are 16 packets: where switches mark, and about what Swift has for its target.
  EXPECT_LE(incast.mean_packets, 40);
  EXPECT_LE(incast.most_packets, 64);
  ::testing::Test::RecordProperty("share", std::to_string(incast.share));
  ::testing::Test::RecordProperty("jain", std::to_string(incast.jain));
  ::testing::Test::RecordProperty("mean_packets", std::to_string(incast.mean_packets));
  ::testing::Test::RecordProperty("most_packets", std::to_string(incast.most_packets));
}

TEST(Incast, FillsTheBuffersWithoutCongestionControl) {
  EXPECT_GT(Incast("none").mean_packets, 8 * 200);
}

/// HPCC keeps 5 % of a link free.
TEST_P(Schemes, CostNothingWithoutCongestion) {
  const auto time_of = [](const std::string& scheme) {
    Bench bench(congested(scheme, 2));
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 0, write(pair.a, 0, 0, 32 << 20));
    bench.run();
    return static_cast<double>(bench.completions(0).at(0).at.count());
  };
  const double free = time_of("none");
  const bool keeps_some = std::string(GetParam()) == "hpcc";
  EXPECT_LE(time_of(GetParam()) / free, keeps_some ? 1.07 : 1.005);
}

/// Where packets are lost, all data comes all the same.
TEST_P(Schemes, LiveWithLosses) {
  constexpr std::uint64_t kBytes = 1 << 20;
  BenchConfig config = congested(GetParam(), 2);
  config.data = true;
  config.nic.recovery = true;
  config.nic.reorder = 256_KiB;
  config.nic.ack_timeout = 100_us;
  config.nic.retry_limit = 100;
  config.wire = test::LossyWire::Config{};
  config.wire->loss = 0.02;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  const std::vector<std::byte> sent = pattern_bytes(kBytes, 1);
  bench.store(0, 0, sent);
  bench.ring_at(Time(), 0, write(pair.a, 0, 4096, kBytes));
  bench.run();
  EXPECT_EQ(bench.load(1, 4096, kBytes), sent);
  EXPECT_GT(bench.nics[0]->counters().retransmitted_packets, 0);
}

/// A switch with little memory drops most of what eight senders begin with, and hardly anything later. Without
/// congestion control it goes on dropping.
TEST_P(Schemes, LiveWithALossySwitch) {
  constexpr std::uint64_t kBytes = 8 << 20;
  const auto run = [](const std::string& scheme, bool ends) {
    BenchConfig config = congested(scheme, 9);
    config.network.link.flow_control = fabric::FlowControl::kLossy;
    config.network.link.buffer = 16_KiB;
    config.network.switch_config.buffer.shared = 256_KiB;
    config.nic.recovery = true;
    config.nic.ack_timeout = 100_us;
    config.nic.retry_limit = 1000;
    Bench bench(config);
    for (std::size_t s = 0; s < 8; ++s) {
      const Connection pair = bench.connect(s, 8);
      bench.ring_at(Time(), s, write(pair.a, 0, 0, kBytes));
    }
    bench.dispatcher.run_until(100_ms);  // all of it takes 5.5 ms of the link
    std::int64_t dropped = 0;
    for (std::size_t s = 0; ends && s < 8; ++s) {
      EXPECT_EQ(bench.completions(s).size(), 1u);
      for (const auto& done : bench.completions(s)) EXPECT_EQ(done.entry.status, Status::kSuccess);
    }
    for (std::size_t p = 0; p < 9; ++p) dropped += bench.network.switch_at(0).port_counters(p).dropped;
    return dropped;
  };
  EXPECT_LT(run(GetParam(), true), run("none", false) / 4);
}

INSTANTIATE_TEST_SUITE_P(Of, Schemes, testing::Values("dctcp", "swift", "hpcc"),
                         [](const auto& scheme) { return std::string(scheme.param); });

}  // namespace
}  // namespace weft::nic
