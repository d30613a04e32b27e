// SPDX-License-Identifier: Apache-2.0
// Congestion control of Ultra Ethernet: windows and credits on a tree whose switches cut packets.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/nic/uet/uet_tree.h"

namespace weft::nic {
namespace {

using namespace uet_tree;

/// What hosts take to read is no reason for a window to leave a link idle.
TEST(UetCongestion, OneFlowFillsALinkThoughItsHostReadsSlowly) {
  for (const char* scheme : {"nscc", "rccc", "swift"}) {
    test::fresh_kernel();
    BenchConfig config = lossy_tree(100_KiB);
    config.network.switch_config.marking = {20_KiB, 80_KiB, 1};
    config.nic.congestion = scheme;
    config.nic.read_latency = 6_us;
    config.nic.read_ahead = 256_KiB;
    config.nic.round_trip = 12_us;
    Bench bench(config);
    bench.ring_at(Time(), 0, write(bench.connect(0, 1).a, 0, 0, 4'000'000));  // by one switch
    bench.run();
    EXPECT_LT(finished(bench), 350_us) << scheme << ": 325 us at 100 Gb/s";
  }
}

/// Seven send to one at once; what was cut, and the time.
struct Incast {
  std::int64_t cut = 0;
  Time time;

  explicit Incast(const std::string& scheme) {
    test::fresh_kernel();
    BenchConfig config = lossy_tree(100_KiB);
    config.nic.congestion = scheme;
    config.nic.round_trip = 6_us;
    config.network.switch_config.marking = {20_KiB, 80_KiB, 1};
    Bench bench(config);
    for (std::size_t e = 1; e < kEnds; ++e) {
      const Connection pair = bench.connect(e, 0);
      bench.ring_at(Time(), e, write(pair.a, 0, 0, 2'000'000));
    }
    bench.run();
    cut = ports_sum(bench, &fabric::AnySwitch::PortCounters::trimmed);
    time = finished(bench);
  }
};

TEST(UetCongestion, SchemesKeepQueuesShortWithoutLosingTime) {
  // 14 MB at 100 Gb/s, with headers, take 1138 us.
  const Incast none("none");
  EXPECT_GT(none.cut, 3000);
  for (const char* scheme : {"nscc", "rccc", "nscc-rccc"}) {
    const Incast controlled(scheme);
    EXPECT_LT(controlled.cut, 700) << scheme;
    EXPECT_LT(controlled.time, 1200_us) << scheme;
    EXPECT_GT(controlled.time, 1138_us) << scheme;
  }
}

TEST(UetCongestion, SchemesOfRoceWorkAsWell) {
  for (const char* scheme : {"dctcp", "swift"}) {
    const Incast controlled(scheme);
    EXPECT_LT(controlled.time, 1250_us) << scheme;
  }
}

/// What a window holds when it is cut may be less than what a receiver acknowledges together, and none of it asks.
TEST(UetCongestion, ACutWindowNeverWaitsForATimeout) {
  for (const Bytes mark : {8_KiB, 20_KiB, 40_KiB}) {
    for (const char* scheme : {"nscc", "dctcp"}) {
      test::fresh_kernel();
      BenchConfig config = tree();
      config.nic.congestion = scheme;
      config.nic.uet.ack_every = 64_KiB;
      config.nic.round_trip = 12_us;
      config.network.switch_config.marking = {mark, 4 * mark, 1};
      Bench bench(config);
      for (std::size_t e = 0; e < kEnds; ++e) {
        for (std::size_t to = 0; to < kEnds; ++to) {
          if (to == e) continue;
          const Connection pair = bench.connect(e, to);
          bench.ring_at(Time(), e, write(pair.a, 0, 0, 400'000));
        }
      }
      bench.run();
      EXPECT_EQ(sum(bench, &NicCounters::timeouts), 0) << scheme << ", " << to_text(mark);
    }
  }
}

/// The grant for packets that were cut may be lost, where nothing else of a flow needs credit. What has come all the
/// same no longer waits for it.
TEST(UetCongestion, CreditsOutlastLosses) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    test::fresh_kernel();
    BenchConfig config = lossy_tree(16_KiB);
    config.stall.seed = seed;
    config.nic.congestion = "rccc";
    config.nic.round_trip = 12_us;
    config.nic.ack_timeout = 100_us;
    config.nic.retry_limit = 15;
    config.network.faults.push_back({.link = "*", .loss = 0.03});
    Bench bench(config);
    for (std::size_t e = 1; e < kEnds; ++e) {
      const Connection pair = bench.connect(e, 0);
      bench.ring_at(Time(), e, write(pair.a, 0, 0, 30'000));
    }
    bench.dispatcher.run_until(100_ms);
    for (std::size_t e = 1; e < kEnds; ++e) {
      ASSERT_EQ(bench.completions(e).size(), 1U) << "seed " << seed << ", end " << e;
      EXPECT_EQ(bench.completions(e).front().entry.status, Status::kSuccess) << "seed " << seed << ", end " << e;
    }
  }
}

/// Every end of a leaf sends to its like under the other leaf, and one of four spines dies on the way: when all is
/// there. A timeout would take longer than all that.
Time through_a_dead_spine(const std::string& scheme, const std::string& spray, std::uint64_t seed) {
  test::fresh_kernel();
  BenchConfig config = lossy_tree(100_KiB, spray);
  config.stall.seed = seed;
  config.nic.congestion = scheme;
  config.nic.round_trip = 6_us;
  config.nic.ack_timeout = 10_ms;
  config.network.switch_config.marking = {20_KiB, 80_KiB, 1};
  config.network.faults.push_back({.link = "spine0", .from = 20_us, .down = true});
  Bench bench(config);
  for (std::size_t e = 0; e < kEnds; ++e) {
    const Connection pair = bench.connect(e, (e + kEnds / 2) % kEnds);
    bench.ring_at(Time(), e, write(pair.a, 0, 0, 1'000'000));
  }
  bench.dispatcher.run_until(100_ms);
  for (std::size_t e = 0; e < kEnds; ++e) {
    const bool is_done =
        bench.completions(e).size() == 1 && bench.completions(e).front().entry.status == Status::kSuccess;
    if (!is_done) return kNever;
  }
  return finished(bench);
}

/// Packets, credits and requests for credit are lost with the path, and none of that costs a timeout.
TEST(UetCongestion, ADeadPathCostsNoTimeout) {
  for (const char* spray : {"oblivious", "bitmap", "reps"}) {
    for (const char* scheme : {"nscc", "rccc", "nscc-rccc"}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        EXPECT_LT(through_a_dead_spine(scheme, spray, seed), 10_ms) << scheme << ", " << spray << ", seed " << seed;
      }
    }
  }
}

/// Windows that losses cut to a packet or two find another path by themselves: a ring of nothing but dead values is not
/// used for ever.
TEST(UetCongestion, WindowsThatLossesCutComeThroughADeadPath) {
  for (const char* spray : {"bitmap", "reps"}) {
    for (const char* scheme : {"dctcp", "swift"}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        EXPECT_LT(through_a_dead_spine(scheme, spray, seed), 10_ms) << scheme << ", " << spray << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace weft::nic
