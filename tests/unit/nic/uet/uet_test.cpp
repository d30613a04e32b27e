// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet as transport: real bytes over many paths, through loss, trimming, refusals and failed paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/support/benches/nic_bench.h"
#include "tests/support/random_messages.h"
#include "tests/unit/nic/uet/uet_tree.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;
using namespace uet_tree;
using fabric::FlowControl;
using test::Draw;

constexpr std::uint64_t kMessage = 300'000;

/// Each end writes to one of the other leaf, several messages.
void permute(Bench& bench, int messages) {
  for (std::size_t e = 0; e < kEnds; ++e) {
    const std::size_t to = (e + 4) % kEnds;
    const Connection pair = bench.connect(e, to);
    for (int m = 0; m < messages; ++m) {
      const std::uint64_t place = 1'000'000ULL * static_cast<std::uint64_t>(m);
      bench.store(e, place, pattern_bytes(kMessage, static_cast<unsigned>(10 * e) + static_cast<unsigned>(m)));
      bench.ring_at(Time(), e, write(pair.a, place, 0x8000'0000 + place, kMessage, static_cast<std::uint64_t>(m)));
    }
  }
}

void expect_permuted(Bench& bench, int messages) {
  for (std::size_t e = 0; e < kEnds; ++e) {
    const std::size_t to = (e + 4) % kEnds;
    for (int m = 0; m < messages; ++m) {
      const std::uint64_t place = 1'000'000ULL * static_cast<std::uint64_t>(m);
      EXPECT_EQ(bench.load(to, 0x8000'0000 + place, kMessage),
                pattern_bytes(kMessage, static_cast<unsigned>(10 * e) + static_cast<unsigned>(m)))
          << e << ", " << m;
    }
    const auto entries = bench.completions(e);
    ASSERT_EQ(entries.size(), static_cast<std::size_t>(messages));
    for (int m = 0; m < messages; ++m) {
      EXPECT_EQ(entries[static_cast<std::size_t>(m)].entry.id, static_cast<std::uint64_t>(m)) << "in their order";
      EXPECT_EQ(entries[static_cast<std::size_t>(m)].entry.status, Status::kSuccess);
    }
  }
}

class Sprays : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Uet, Sprays, testing::Values("oblivious", "bitmap", "reps"),
                         [](const auto& spray) { return spray.param; });

TEST_P(Sprays, PlaceBytesThatOvertakeEachOther) {
  Bench bench(tree(GetParam()));
  permute(bench, 3);
  bench.run();
  expect_permuted(bench, 3);
  EXPECT_GT(sum(bench, &NicCounters::held), 10) << "packets came ahead of their turn";
  EXPECT_EQ(sum(bench, &NicCounters::retransmitted_packets), 0);
  EXPECT_EQ(sum(bench, &NicCounters::duplicates), 0);
}

TEST_P(Sprays, UseAllPathsAndTakeATimeOfTheirs) {
  Bench bench(tree(GetParam()));
  permute(bench, 3);
  bench.run();
  // 900,000 bytes at 100 Gb/s take 73 us; the hashes of the leaves do not load all their links alike.
  EXPECT_LT(finished(bench), 95_us);
  for (std::uint32_t spine = 2; spine < 6; ++spine) {
    std::int64_t bytes = 0;
    for (std::size_t p = 0; p < bench.network.switch_at(spine).radix(); ++p) {
      bytes += bench.network.switch_at(spine).transmitter(p).counters().payload_bytes;
    }
    EXPECT_NEAR(static_cast<double>(bytes), kEnds * 3 * kMessage / 4.0, kEnds * 3 * kMessage / 12.0) << spine;
  }
}

TEST(Uet, WithOneEntropyValueTakesOnePath) {
  BenchConfig config = tree();
  config.nic.uet.paths = 1;
  Bench bench(config);
  permute(bench, 3);
  bench.run();
  expect_permuted(bench, 3);
  EXPECT_EQ(sum(bench, &NicCounters::held), 0);
  EXPECT_GT(finished(bench), 140_us) << "two flows at least meet on a link";
}

TEST_P(Sprays, RepeatWhatSwitchesHaveCut) {
  Bench bench(lossy_tree(40_KiB, GetParam()));
  // All to one, and then some.
  for (std::size_t e = 1; e < kEnds; ++e) {
    const Connection pair = bench.connect(e, 0);
    bench.store(e, 0, pattern_bytes(kMessage, static_cast<unsigned>(e)));
    bench.ring_at(Time(), e, write(pair.a, 0, 1'000'000 * e, kMessage));
  }
  bench.run();
  for (std::size_t e = 1; e < kEnds; ++e) {
    EXPECT_EQ(bench.load(0, 1'000'000 * e, kMessage), pattern_bytes(kMessage, static_cast<unsigned>(e))) << e;
  }
  const std::int64_t cut = ports_sum(bench, &fabric::AnySwitch::PortCounters::trimmed);
  EXPECT_GT(cut, 100);
  EXPECT_EQ(sum(bench, &NicCounters::naks), cut);
  EXPECT_EQ(sum(bench, &NicCounters::retransmitted_packets), cut) << "each once";
  EXPECT_EQ(sum(bench, &NicCounters::timeouts), 0);
  EXPECT_EQ(ports_sum(bench, &fabric::AnySwitch::PortCounters::dropped), 0);
  // 7 x 300,000 bytes at 100 Gb/s with headers take 171 us; headers of what is cut take some of the link.
  EXPECT_GT(finished(bench), 171_us);
  EXPECT_LT(finished(bench), 200_us);
}

TEST(Uet, RepeatsWhatSwitchesDrop) {
  BenchConfig config = lossy_tree(0_B);
  config.network.link.buffer = 32_KiB;
  config.network.switch_config.buffer.shared = 64_KiB;
  config.nic.ack_timeout = 100_us;
  Bench bench(config);
  for (std::size_t e = 1; e < kEnds; ++e) {
    const Connection pair = bench.connect(e, 0);
    bench.store(e, 0, pattern_bytes(kMessage, static_cast<unsigned>(e)));
    bench.ring_at(Time(), e, write(pair.a, 0, 1'000'000 * e, kMessage));
  }
  sc_core::sc_start();
  for (std::size_t e = 1; e < kEnds; ++e) {
    EXPECT_EQ(bench.load(0, 1'000'000 * e, kMessage), pattern_bytes(kMessage, static_cast<unsigned>(e))) << e;
  }
  EXPECT_GT(ports_sum(bench, &fabric::AnySwitch::PortCounters::dropped), 0);
  EXPECT_GT(sum(bench, &NicCounters::retransmitted_packets), 0);
}

TEST(Uet, PlacesSendsInTheReceivesOfTheirTurn) {
  Bench bench(tree());
  const Connection pair = bench.connect(0, 4);
  constexpr int kMessages = 6;
  for (int m = 0; m < kMessages; ++m) {
    const auto place = static_cast<std::uint64_t>(m) * 100'000;
    bench.store(0, place, pattern_bytes(50'000, static_cast<unsigned>(m)));
    bench.ring_at(Time(), 4, receive(pair.b, 0x1000'0000 + place, 60'000, static_cast<std::uint64_t>(m)));
    // Every other one is a write that takes a receive, too.
    WorkRequest request = m % 2 == 0 ? send(pair.a, place, 50'000) : write(pair.a, place, 0x1000'0000 + place, 50'000);
    bench.ring_at(1_us, 0, immediate(request, static_cast<std::uint32_t>(m)));
  }
  bench.run();
  const auto entries = bench.completions(4);
  ASSERT_EQ(entries.size(), static_cast<std::size_t>(kMessages));
  for (int m = 0; m < kMessages; ++m) {
    const auto place = static_cast<std::uint64_t>(m) * 100'000;
    EXPECT_EQ(bench.load(4, 0x1000'0000 + place, 50'000), pattern_bytes(50'000, static_cast<unsigned>(m)));
    EXPECT_EQ(entries[static_cast<std::size_t>(m)].entry.id, static_cast<std::uint64_t>(m));
    EXPECT_EQ(entries[static_cast<std::size_t>(m)].entry.immediate, static_cast<std::uint32_t>(m));
    EXPECT_EQ(entries[static_cast<std::size_t>(m)].entry.bytes, 50'000u);
  }
}

TEST(Uet, WaitsForReceives) {
  for (const bool writes : {false, true}) {
    test::fresh_kernel();
    BenchConfig config = tree();
    config.nic.rnr_timer = 5_us;
    Bench bench(config);
    const Connection pair = bench.connect(0, 4);
    bench.store(0, 0, pattern_bytes(50'000, 3));
    bench.ring_at(Time(), 0, immediate(writes ? write(pair.a, 0, 0x1000, 50'000) : send(pair.a, 0, 50'000), 9));
    bench.ring_at(30_us, 4, receive(pair.b, 0x1000, 50'000));
    bench.run();
    EXPECT_EQ(bench.load(4, 0x1000, 50'000), pattern_bytes(50'000, 3));
    EXPECT_GT(sum(bench, &NicCounters::not_ready), 0);
    ASSERT_EQ(bench.completions(4).size(), 1u);
    EXPECT_GT(bench.completions(4)[0].at, 30_us);
    EXPECT_EQ(bench.completions(0).size(), 1u);
  }
}

TEST(Uet, ReadsInPieces) {
  for (const Bytes trim : {0_B, 20_KiB}) {
    test::fresh_kernel();
    Bench bench(trim == Bytes() ? tree() : lossy_tree(trim));
    for (std::size_t e = 1; e < kEnds; ++e) {
      const Connection pair = bench.connect(0, e);
      bench.store(e, 0x5000, pattern_bytes(kMessage, static_cast<unsigned>(e)));
      bench.ring_at(Time(), 0, read(pair.a, 1'000'000 * e, 0x5000, kMessage, e));
      bench.ring_at(Time(), 0, read(pair.a, 0x4000'0000 + 100 * e, 0x5000, 100, 10 + e));
    }
    bench.run();
    for (std::size_t e = 1; e < kEnds; ++e) {
      EXPECT_EQ(bench.load(0, 1'000'000 * e, kMessage), pattern_bytes(kMessage, static_cast<unsigned>(e))) << e;
    }
    EXPECT_EQ(bench.completions(0).size(), 2 * (kEnds - 1));
    const std::int64_t cut = ports_sum(bench, &fabric::AnySwitch::PortCounters::trimmed);
    EXPECT_EQ(cut > 0, trim > Bytes());
    EXPECT_EQ(sum(bench, &NicCounters::timeouts), 0);
  }
}

TEST(Uet, FailsAfterItsRetries) {
  BenchConfig config = tree();
  config.nic.retry_limit = 3;
  config.nic.ack_timeout = 50_us;
  config.wire.emplace();
  config.wire->lose = [](const Packet& packet) { return packet.destination == 4; };
  Bench bench(config);
  const Connection pair = bench.connect(0, 4);
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, 20'000, 1));
  bench.ring_at(Time(), 0, write(pair.a, 0, 0, 20'000, 2));
  sc_core::sc_start();
  const auto entries = bench.completions(0);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].entry.status, Status::kRetryExceeded);
  EXPECT_EQ(entries[1].entry.status, Status::kFlushed);
  EXPECT_EQ(sum(bench, &NicCounters::timeouts), 3);
  EXPECT_EQ(bench.packets.outstanding(), 0);
  ASSERT_EQ(bench.nics[0]->failures().size(), 1u);
  EXPECT_NE(bench.nics[0]->failures()[0].find("retries ran out after 3, each 50us without an answer"),
            std::string::npos)
      << bench.nics[0]->failures()[0];
}

TEST(Uet, RefusesMemoryThatAKeyDoesNotOpen) {
  Bench bench(tree());
  const Connection pair = bench.connect(0, 4);
  WorkRequest request = write(pair.a, 0, 0x1000, 20'000, 1);
  request.remote_key = 77;
  bench.ring_at(Time(), 0, request);
  sc_core::sc_start();
  ASSERT_EQ(bench.completions(0).size(), 1u);
  EXPECT_EQ(bench.completions(0)[0].entry.status, Status::kRemoteAccessError);
  EXPECT_EQ(bench.packets.outstanding(), 0);
}

/// A permutation of which one spine of four loses everything that comes from a leaf, of three seeds together.
struct WithFailedSpine {
  static constexpr int kSeeds = 3;
  Time time;
  std::int64_t lost = 0;

  explicit WithFailedSpine(const std::string& spray) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) run(spray, seed);
  }
  void run(const std::string& spray, std::uint64_t seed) {
    test::fresh_kernel();
    BenchConfig config = lossy_tree(100_KiB, spray);
    config.network.faults.push_back({.link = "leaf0>spine1", .loss = 1});
    config.nic.ack_timeout = 100_us;
    config.nic.reorder_wait = 10_us;
    config.nic.uet.paths = 64;
    config.stall.seed = seed;
    Bench bench(config);
    permute(bench, 8);
    sc_core::sc_start();
    expect_permuted(bench, 8);
    EXPECT_EQ(sum(bench, &NicCounters::timeouts), 0) << spray;
    time += finished(bench);
    lost += ports_sum(bench, &fabric::AnySwitch::PortCounters::damaged);
  }
};

TEST(Uet, AvoidsAFailedPath) {
  // Four flows of 2.4 MB by three spines take 256 us at least, with headers more; and so does what is sent again.
  const WithFailedSpine oblivious("oblivious");
  EXPECT_LT(oblivious.time, WithFailedSpine::kSeeds * 450_us);
  for (const char* spray : {"bitmap", "reps"}) {
    const WithFailedSpine avoiding(spray);
    EXPECT_LT(avoiding.lost * 4, oblivious.lost * 3) << spray;
    EXPECT_LT(avoiding.time, oblivious.time) << spray;
  }
}

/// Two flows that share a link arrive there in step: whom the switch cuts must not be decided by that.
TEST(Uet, FlowsThatMeetInStepAreCutAlike) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    test::fresh_kernel();
    BenchConfig config = lossy_tree(100_KiB);
    config.stall.seed = seed;
    config.network.spines = 1;
    config.network.uplinks = 1;
    Bench bench(config);
    for (const std::size_t from : {0, 1}) {
      bench.ring_at(Time(), from, write(bench.connect(from, from + 4).a, 0, 0, 4'000'000));
    }
    bench.run();
    const Time first = std::min(bench.completions(0).front().at, bench.completions(1).front().at);
    EXPECT_GT(ports_sum(bench, &fabric::AnySwitch::PortCounters::trimmed), 400);
    EXPECT_GT(first * 100, finished(bench) * 93) << seed;
    EXPECT_EQ(sum(bench, &NicCounters::timeouts), 0);
  }
}

/// Of a spine that loses everything, packets are sent again without a timeout, and nobody has to wait long for that.
TEST(Uet, LossesNeverHoldAWindowForLong) {
  constexpr std::uint64_t kBytes = 4'000'000;
  const auto time_of = [](const char* scheme, Time wait) {
    test::fresh_kernel();
    BenchConfig config = lossy_tree(100_KiB);
    config.network.faults.push_back({.link = "leaf0>spine1", .loss = 1});
    config.network.switch_config.marking = {20_KiB, 80_KiB, 1};
    config.nic.congestion = scheme;
    config.nic.round_trip = 6_us;
    config.nic.reorder_wait = wait;
    Bench bench(config);
    bench.ring_at(Time(), 0, write(bench.connect(0, 4).a, 0, 0, kBytes));
    sc_core::sc_start();
    EXPECT_EQ(bench.completions(0).front().entry.status, Status::kSuccess);
    EXPECT_LT(sum(bench, &NicCounters::timeouts), 3) << scheme << ", " << to_text(wait);
    return finished(bench);
  };
  // 4 MB at 100 Gb/s take 325 us, and a third as much again what is lost.
  Time longest;
  for (const Time wait : {2_us, 5_us, 20_us}) {
    const Time time = time_of("nscc", wait);
    EXPECT_LT(time, 1500_us) << to_text(wait);
    EXPECT_LT(longest * 9, time * 10) << "a shorter wait takes no longer: " << to_text(wait);
    longest = std::max(longest, time);
  }
}

// --- At random ---

bool messages_arrive(std::uint64_t seed) {
  test::fresh_kernel();
  Draw draw(seed, "unordered messages");
  auto plan =
      test::random_plan(draw, {FlowControl::kCredits, FlowControl::kPfc, FlowControl::kLossy, FlowControl::kLossy});
  BenchConfig config;
  config.ends = static_cast<int>(plan->topology().ends.size());
  config.network = plan->config();
  // Buffers of a few packets may be full of headers for ever: answers to reads know no congestion control.
  const Bytes packet(config.network.wire_bytes(static_cast<std::uint32_t>(config.network.segment.count())));
  if (draw.chance(0.5) && config.network.link.lanes > plan->topology().lanes_needed &&
      config.network.link.buffer >= 16 * packet) {
    const auto least = static_cast<int>(2 * packet.count());
    config.network.switch_config.buffer.trim = Bytes(draw(least, 100'000 + least));
  }
  config.network.link.replay = draw.chance(0.2);
  config.network.faults.push_back({.link = "*", .loss = draw.of<double>({0, 0.001, 0.01, 0.05})});
  config.stall.seed = seed;
  config.nic.transport = Transport::kUet;
  config.nic.uet.spray = draw.of<const char*>({"oblivious", "bitmap", "reps"});
  config.nic.uet.paths = draw.of<int>({1, 4, 128});
  config.nic.uet.ack_every = draw.of<Bytes>({0_B, 16_KiB});
  config.nic.ack_timeout = Time(draw(20, 100) * 1'000'000);
  config.nic.retry_limit = 1'000'000;
  config.nic.reorder_wait = Time(draw.of<int>({0, 1'000'000, 20'000'000}));
  // Without congestion control nothing keeps headers from filling all buffers.
  const bool cuts = config.network.switch_config.buffer.trim > Bytes();
  config.nic.congestion = draw.of<const char*>({cuts ? "nscc" : "none", cuts ? "rccc" : "dcqcn", "nscc", "nscc-rccc"});
  Bench bench(config);
  const std::vector<test::Message> messages = test::draw_messages(draw, bench, {});
  bench.dispatcher.run_until(100_ms);
  test::expect_all_arrived(bench, messages);
  if (testing::Test::HasFailure()) {
    ADD_FAILURE() << "seed " << seed << ": " << test::describe(bench.network.plan()) << ", "
                  << config.nic.congestion.text();
    return false;
  }
  return true;
}

TEST(UetRandomNetworks, DeliverEachMessage) {
  for (const std::uint64_t seed : test::seeds(1500)) {
    if (!messages_arrive(seed)) break;
  }
}

}  // namespace
}  // namespace weft::nic
