// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's arithmetic: closed forms of single collectives, and results that it gave where there is none.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/benches/analytical_bench.h"

namespace weft::analytical {
namespace {

using test::config_of;
using test::Finish;
using test::gibps;
using test::ring_of;
using test::run_collective;
using Bench = test::AnalyticalBench;

Finish run(const std::vector<Dimension>& dimensions, const std::vector<Algorithm>& algorithms, Operation operation,
           std::int64_t bytes, Congestion congestion = Congestion::kUnaware) {
  return run_collective(dimensions, config_of(algorithms), operation, bytes, congestion);
}

class Sizes : public testing::TestWithParam<std::uint32_t> {};

constexpr std::int64_t kBytes = 1 << 20;
constexpr std::int64_t kSplits = 4;
constexpr std::int64_t kDelay = 10;

std::int64_t step(double bytes, int links = 1) {
  return static_cast<std::int64_t>(links * 500 + bytes / (gibps(50)));
}
std::int64_t reduction(double bytes) {
  return 3 * static_cast<std::int64_t>(bytes / 1600);
}

TEST_P(Sizes, RingsTakeTheTimeOfTheirClosedForms) {
  const std::int64_t n = GetParam();
  const std::int64_t chunk = kBytes / kSplits;
  const std::int64_t part = chunk / n;
  for (const Congestion congestion : {Congestion::kUnaware, Congestion::kAware}) {
    const auto time = [&](Operation operation, std::int64_t bytes) {
      const Finish finish = run({ring_of(GetParam())}, {Algorithm::kRing}, operation, bytes, congestion);
      EXPECT_EQ(finish.first, finish.last);
      return finish.last;
    };
    EXPECT_EQ(time(Operation::kAllReduce, kBytes),
              kSplits * ((2 * (n - 1) + 1) * kDelay + 2 * (n - 1) * step(part) + (n - 1) * reduction(part)));
    EXPECT_EQ(time(Operation::kReduceScatter, kBytes),
              kSplits * (n * kDelay + (n - 1) * (step(part) + reduction(part))));
    EXPECT_EQ(time(Operation::kAllgather, kBytes), kSplits * (n * kDelay + (n - 1) * step(chunk)));
    if (n > 128) continue;
    const std::int64_t steps = n * (n - 1) / 2;
    EXPECT_EQ(time(Operation::kAllToAll, kBytes), kSplits * ((steps + 1) * kDelay + steps * step(part)));
  }
}

TEST_P(Sizes, DirectTakesTwoRounds) {
  const std::int64_t n = GetParam();
  const Dimension full{Block::kFullyConnected, GetParam(), gibps(50), 500};
  const std::int64_t part = kBytes / kSplits / n;
  for (const Congestion congestion : {Congestion::kUnaware, Congestion::kAware}) {
    const Finish finish = run({full}, {Algorithm::kDirect}, Operation::kAllReduce, kBytes, congestion);
    EXPECT_EQ(finish.last, kSplits * (3 * kDelay + 2 * step(part) + reduction(part)));
    EXPECT_EQ(finish.first, finish.last);
    EXPECT_EQ(finish.messages, kSplits * 2 * n * (n - 1));
  }
}

TEST_P(Sizes, HalvingDoublingTakesTwiceTheLevels) {
  const int levels = std::countr_zero(GetParam());
  const Dimension one_switch{Block::kSwitch, GetParam(), gibps(50), 500};
  std::int64_t expected = (2 * levels + 1) * kDelay;
  for (int i = 1; i <= levels; ++i) {
    const std::int64_t bytes = kBytes / kSplits >> i;
    expected += 2 * step(static_cast<double>(bytes), 2) + (i >= 2 ? reduction(static_cast<double>(bytes)) : 0);
  }
  const Finish finish = run({one_switch}, {Algorithm::kHalvingDoubling}, Operation::kAllReduce, kBytes);
  EXPECT_EQ(finish.last, kSplits * expected);
  EXPECT_EQ(finish.first, finish.last);
}

INSTANTIATE_TEST_SUITE_P(Ends, Sizes, testing::Values(8, 64, 256),
                         [](const auto& test) { return "N" + std::to_string(test.param); });

// What ASTRA-sim (commit 518bd51) gives for an AllReduce of 1 MiB in 4 chunks.

TEST(Analytical, DoubleBinaryTreesAsAstraSim) {
  const Finish unaware = run({ring_of(8)}, {Algorithm::kDoubleBinaryTree}, Operation::kAllReduce, kBytes);
  EXPECT_EQ(unaware.first, 119'898);
  EXPECT_EQ(unaware.last, 139'052);
  const Finish aware =
      run({ring_of(8)}, {Algorithm::kDoubleBinaryTree}, Operation::kAllReduce, kBytes, Congestion::kAware);
  EXPECT_EQ(aware.first, 271'210);
  EXPECT_EQ(aware.last, 309'892);
}

TEST(Analytical, DirectAndHalvingWhereLinksAreSharedAsAstraSim) {
  const Dimension one_switch{Block::kSwitch, 8, gibps(50), 500};
  EXPECT_EQ(run({one_switch}, {Algorithm::kDirect}, Operation::kAllReduce, kBytes, Congestion::kAware).last, 47'400);
  EXPECT_EQ(run({one_switch}, {Algorithm::kDirect}, Operation::kAllReduce, kBytes).last, 13'240);
  EXPECT_EQ(run({ring_of(8)}, {Algorithm::kHalvingDoubling}, Operation::kAllReduce, kBytes, Congestion::kAware).last,
            87'568);
  EXPECT_EQ(run({ring_of(8)}, {Algorithm::kHalvingDoubling}, Operation::kAllReduce, kBytes).last, 63'168);
}

TEST(Analytical, RefusesReductionsOfTimesThatNobodyCounts) {
  const BusConfig bus{true, 10, 10, 10, 0, 1'000'000'000};
  test::fresh_kernel();
  Bench bench({ring_of(2)}, Congestion::kUnaware, config_of({Algorithm::kRing}), bus);
  constexpr std::int64_t kHundreds = 7LL << 44;  // by 1 s each, of which 64 bits of picoseconds would show 46 days
  EXPECT_THROW(bench.run(Operation::kAllReduce, 8 * 100 * kHundreds), ConfigError);
}

TEST(Analytical, PacketsPassTheSharedBusAsInAstraSim) {
  const BusConfig bus{true, 10, 10, 10, 0.001, 1};
  for (const Congestion congestion : {Congestion::kUnaware, Congestion::kAware}) {
    test::fresh_kernel();
    Bench bench({ring_of(8)}, congestion, config_of({Algorithm::kRing}), bus);
    const Finish finish = bench.run(Operation::kAllReduce, kBytes);
    EXPECT_EQ(finish.first, 106'348);
    EXPECT_EQ(finish.last, 106'348);
  }
}

TEST_P(Sizes, RingsOnTheBusTakeTheTimeOfTheirTransfers) {
  const std::int64_t n = GetParam();
  const std::int64_t shard = kBytes / kSplits / n;
  const BusConfig bus{true, 20, 7, 5, 0.01, 2};
  // A transfer: overhead, data, latency, overhead.
  const auto crossing = [&](double ns_per_byte) {
    return static_cast<std::int64_t>(7 + ns_per_byte * static_cast<double>(shard - 1) + 20 + 7);
  };
  const std::int64_t across = crossing(0.01);
  const std::int64_t memory = crossing(0.0038);
  const std::int64_t work = shard / 100 * 2 + 50 + reduction(static_cast<double>(shard));
  const std::int64_t out = memory + across;
  const std::int64_t reduced = across + 2 * memory + work;  // and on to memory or the adapter
  const auto time = [&](Operation operation) {
    test::fresh_kernel();
    Bench bench({ring_of(GetParam())}, Congestion::kUnaware, config_of({Algorithm::kRing}), bus);
    return bench.run(operation, operation == Operation::kAllgather ? kBytes / n : kBytes).last;
  };
  const std::int64_t scatter = out + (n - 2) * (reduced + 2 * memory + across) + reduced + memory;
  const std::int64_t gather = out + (n - 2) * (2 * across + 2 * memory);
  const std::int64_t steps = (n - 1) * step(static_cast<double>(shard));
  EXPECT_EQ(time(Operation::kReduceScatter), kSplits * (scatter + steps));
  EXPECT_EQ(time(Operation::kAllgather), kSplits * (gather + across + memory + steps));
  EXPECT_EQ(time(Operation::kAllReduce), kSplits * (scatter + gather + 2 * steps));
}

TEST(Analytical, DirectExchangesQueueOnTheBus) {
  const Dimension full{Block::kFullyConnected, 8, gibps(50), 500};
  const auto time = [&](std::uint32_t window) {
    test::fresh_kernel();
    CollectiveConfig config = config_of({Algorithm::kDirect});
    config.windows = {{window}, {window}, {window}, {window}};
    Bench bench({full}, Congestion::kUnaware, config, {true, 10, 10, 10, 0.001, 1});
    const Finish finish = bench.run(Operation::kAllReduce, kBytes);
    EXPECT_EQ(finish.messages, kSplits * 2 * 8 * 7);
    return finish.last;
  };
  // Seven shards of 32 KiB are read one after the other, and what is reduced passes memory four times.
  const std::int64_t memory = 7 * 124;
  EXPECT_GT(time(0), kSplits * 3 * memory);
  EXPECT_GT(time(1), time(0));
}

TEST(Analytical, DirectWithAWindowSendsSoManyAtATime) {
  const std::int64_t n = 8;
  const Dimension full{Block::kFullyConnected, n, gibps(50), 500};
  const auto time = [&](Operation operation, std::uint32_t window) {
    test::fresh_kernel();
    CollectiveConfig config = config_of({Algorithm::kDirect});
    config.windows = {{window}, {window}, {window}, {window}};
    Bench bench({full}, Congestion::kUnaware, config);
    const Finish finish = bench.run(operation, kBytes);
    EXPECT_EQ(finish.first, finish.last);
    return finish.last;
  };
  constexpr std::int64_t kChunk = kBytes / kSplits;
  const std::int64_t part = kChunk / n;
  for (const Operation operation : {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllToAll}) {
    EXPECT_EQ(time(operation, n - 1), time(operation, 0));
    EXPECT_EQ(time(operation, 100), time(operation, 0));
  }
  // One at a time is a ring's order, on links of its own.
  EXPECT_EQ(time(Operation::kAllToAll, 1), kSplits * (n * kDelay + (n - 1) * step(part)));
  EXPECT_EQ(time(Operation::kAllgather, 1), kSplits * (n * kDelay + (n - 1) * step(kChunk)));
  // ASTRA-sim charges a reduction where a packet's turn is the network's: half of them.
  EXPECT_EQ(time(Operation::kReduceScatter, 1),
            kSplits * (n * kDelay + (n - 1) * step(part) + n / 2 * reduction(part)));
  EXPECT_GT(time(Operation::kAllToAll, 2), time(Operation::kAllToAll, 3));
}

TEST(Analytical, OneRingPassesAllDimensions) {
  const auto time = [](const std::vector<Dimension>& dimensions, Algorithm algorithm) {
    return run(dimensions, std::vector<Algorithm>(dimensions.size(), algorithm), Operation::kAllReduce, kBytes).last;
  };
  const auto joined = [](Algorithm algorithm) {
    return run({ring_of(4), ring_of(2)}, {algorithm, Algorithm::kRing}, Operation::kAllReduce, kBytes).last;
  };
  EXPECT_EQ(joined(Algorithm::kOneRing), time({ring_of(8)}, Algorithm::kRing));
  const Dimension full{Block::kFullyConnected, 8, gibps(50), 500};
  const Dimension half{Block::kFullyConnected, 2, gibps(50), 500};
  const Dimension other{Block::kFullyConnected, 4, gibps(50), 500};
  EXPECT_EQ(run({half, other}, {Algorithm::kOneDirect, Algorithm::kRing}, Operation::kAllReduce, kBytes).last,
            time({full}, Algorithm::kDirect));
  EXPECT_EQ(run({half, other}, {Algorithm::kOneHalvingDoubling, Algorithm::kRing}, Operation::kAllReduce, kBytes).last,
            time({full}, Algorithm::kHalvingDoubling));
  EXPECT_THROW(run({half, other}, {Algorithm::kRing, Algorithm::kOneRing}, Operation::kAllReduce, kBytes), ConfigError);
}

TEST(Analytical, ChunksPassDimensionsAsInAstraSim) {
  EXPECT_EQ(run({ring_of(4), ring_of(2)}, {Algorithm::kRing, Algorithm::kRing}, Operation::kAllReduce, kBytes).last,
            43'040);
  const auto three = [](std::uint32_t size) {
    return std::vector<Dimension>{{Block::kRing, size, gibps(250), 50},
                                  {Block::kFullyConnected, size, gibps(200), 500},
                                  {Block::kSwitch, size, gibps(50), 2000}};
  };
  const std::vector<Algorithm> algorithms = {Algorithm::kRing, Algorithm::kDirect, Algorithm::kHalvingDoubling};
  EXPECT_EQ(run(three(2), algorithms, Operation::kAllReduce, 1 << 20).last, 40'129);
  EXPECT_EQ(run(three(2), algorithms, Operation::kAllReduce, 1 << 30).last, 7'035'787);
  EXPECT_EQ(run(three(4), algorithms, Operation::kAllReduce, 1 << 20).last, 69'474);
  EXPECT_EQ(run(three(4), algorithms, Operation::kAllReduce, 16 << 20).last, 127'648);
}

TEST(Analytical, ListedGroupsAreRings) {
  for (const auto& [congestion, expected] : {std::pair{Congestion::kUnaware, 49'000}, {Congestion::kAware, 63'640}}) {
    test::fresh_kernel();
    Bench bench({ring_of(8)}, congestion, config_of({Algorithm::kRing}));
    EXPECT_EQ(bench.run(Operation::kAllReduce, kBytes, {{1, {0, 1, 2, 3}}, {2, {4, 5, 6, 7}}}).last, expected);
  }
}

TEST(Analytical, PadsWhatIsLessThanAByteForEach) {
  for (const std::int64_t bytes : {0, 8, 32}) {
    EXPECT_EQ(run({ring_of(8)}, {Algorithm::kRing}, Operation::kAllReduce, bytes).last, 28'600);
  }
  EXPECT_EQ(run({ring_of(8)}, {Algorithm::kRing}, Operation::kAllReduce, 1'000'003).last, 78'485)
      << "what does not divide is one chunk more";
}

TEST(Analytical, TreesAreNumberedInOrder) {
  for (const std::uint32_t members : {2U, 8U, 64U}) {
    for (const bool first : {true, false}) {
      std::uint32_t edges = 0;
      for (std::uint32_t m = 0; m < members; ++m) {
        const TreePlace place = tree_place(m, members, first);
        for (std::uint32_t i = 0; i < place.count(); ++i) {
          EXPECT_EQ(tree_place(place.children[i], members, first).parent, m);
          ++edges;
        }
        EXPECT_EQ(place.parent == TreePlace::kNone, m == (first ? 0 : members - 1));
      }
      EXPECT_EQ(edges, members - 1);
    }
  }
}

TEST(Analytical, SaysWhichMembersAnAlgorithmCanHave) {
  for (const Algorithm algorithm : {Algorithm::kHalvingDoubling, Algorithm::kDoubleBinaryTree}) {
    test::fresh_kernel();
    Bench bench({ring_of(6)}, Congestion::kUnaware, config_of({algorithm}));
    try {
      bench.collectives.enter(Time(), 0, {}, Operation::kAllReduce, kBytes, 0, 0);
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("expected a power of two of members"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("got 6"), std::string::npos);
    }
  }
  test::fresh_kernel();
  EXPECT_THROW(Bench({ring_of(2), ring_of(2)}, Congestion::kAware, config_of({Algorithm::kRing, Algorithm::kRing})),
               ConfigError);
}

TEST(Analytical, NamesMembersThatEnterDifferentCollectives) {
  test::fresh_kernel();
  Bench bench({ring_of(4)}, Congestion::kUnaware, config_of({Algorithm::kRing}));
  bench.starter.start = [&] {
    for (std::uint32_t r = 0; r < 4; ++r) {
      const auto enter = [&](Operation operation) {
        bench.collectives.enter(Time(), r, {}, operation, kBytes, 0, r, Collectives::kAllDimensions, 10 + r);
      };
      enter(r == 2 ? Operation::kAllgather : Operation::kAllReduce);
      enter(r == 2 ? Operation::kAllReduce : Operation::kAllgather);
    }
  };
  bench.dispatcher.run_to_end();
  EXPECT_GT(bench.collectives.unfinished(), 0);
  const std::optional<Collectives::Mismatch>& mismatch = bench.collectives.mismatch();
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->number, 0U);
  EXPECT_EQ(mismatch->first.end, 0U);
  EXPECT_EQ(mismatch->first.node, 10U);
  EXPECT_EQ(mismatch->first.operation, Operation::kAllReduce);
  EXPECT_EQ(mismatch->other.end, 2U);
  EXPECT_EQ(mismatch->other.node, 12U);
  EXPECT_EQ(mismatch->other.operation, Operation::kAllgather);
}

/// All have the same messages, so that all ends: of what, nobody knows.
TEST(Analytical, TellsCollectivesOfOtherDimensionsApart) {
  constexpr std::uint32_t kFirst = 1;
  constexpr std::uint32_t kLast = 2;
  const auto mismatch_of = [&](const std::vector<std::uint32_t>& involved) {
    test::fresh_kernel();
    Bench bench({ring_of(2), ring_of(2)}, Congestion::kUnaware, config_of({Algorithm::kRing, Algorithm::kRing}));
    bench.starter.start = [&] {
      for (std::uint32_t r = 0; r < 4; ++r) {
        bench.collectives.enter(Time(), r, {}, Operation::kAllReduce, kBytes, 0, r, involved[r], 10 + r, "sum");
      }
    };
    bench.dispatcher.run_to_end();
    const auto partly = bench.collectives.partly_entered();
    if (!partly.empty()) {
      EXPECT_EQ(partly.front().involved, kFirst);
    }
    return bench.collectives.mismatch();
  };
  EXPECT_FALSE(mismatch_of({kFirst, kFirst, kFirst, kFirst}));
  EXPECT_FALSE(mismatch_of({kFirst | kLast, Collectives::kAllDimensions, Collectives::kAllDimensions, kFirst | kLast}));
  const auto mismatch = mismatch_of({kFirst, kFirst, kFirst, kLast});
  ASSERT_TRUE(mismatch);
  EXPECT_TRUE(mismatch->is_of_dimensions());
  EXPECT_EQ(mismatch->first.end, 2U);
  EXPECT_EQ(mismatch->first.involved, kFirst);
  EXPECT_EQ(mismatch->first.name, "sum");
  EXPECT_EQ(mismatch->other.end, 3U);
  EXPECT_EQ(mismatch->other.involved, kLast);
}

TEST(Analytical, SaysWhereAstraSimNumbersCollectivesApart) {
  const Group pairs[] = {{1, {0, 1}}, {2, {2, 3}}};
  const auto remarks_of = [&](bool same_order) {
    test::fresh_kernel();
    CollectiveConfig config = config_of({Algorithm::kRing});
    config.active_chunks = 8;
    Bench bench({ring_of(4)}, Congestion::kUnaware, config);
    bench.starter.start = [&] {
      for (std::uint32_t r = 0; r < 4; ++r) {
        const auto enter = [&](const Group& group) {
          bench.collectives.enter(Time(), r, group, Operation::kAllReduce, kBytes, 0, r);
        };
        const bool all_first = same_order || r < 2;
        enter(all_first ? Group{} : pairs[r / 2]);
        enter(all_first ? pairs[r / 2] : Group{});
      }
    };
    sc_core::sc_start();
    EXPECT_EQ(bench.collectives.unfinished(), 0);
    return bench.collectives.remarks();
  };
  EXPECT_TRUE(remarks_of(true).empty());
  const std::vector<std::string> remarks = remarks_of(false);
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_NE(remarks.front().find("different numbers of chunks of their groups"), std::string::npos) << remarks.front();
}

}  // namespace
}  // namespace weft::analytical
