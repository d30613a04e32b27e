// SPDX-License-Identifier: Apache-2.0
// What ASTRA-sim (commit 518bd51) gives where its arithmetic is not that of a closed form: one case for each mechanism,
// on links of 50 GB/s and 500 ns.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sw/analytical/waiting_list.h"
#include "tests/support/benches/analytical_bench.h"

namespace weft::analytical {
namespace {

using test::config_of;
using test::Finish;
using test::gibps;
using test::ring_of;
using test::run_collective;
using Bench = test::AnalyticalBench;

constexpr std::int64_t kMiB = 1 << 20;
constexpr auto kRing = Algorithm::kRing;
constexpr auto kDirect = Algorithm::kDirect;
constexpr auto kHalving = Algorithm::kHalvingDoubling;
constexpr auto kTree = Algorithm::kDoubleBinaryTree;
constexpr auto kNone = Algorithm::kNone;

Dimension switch_of(std::uint32_t size) {
  return {Block::kSwitch, size, gibps(50), 500};
}
Dimension full_of(std::uint32_t size) {
  return {Block::kFullyConnected, size, gibps(50), 500};
}

CollectiveConfig config(const std::vector<Algorithm>& algorithms, int active = 1) {
  CollectiveConfig made = config_of(algorithms);
  made.active_chunks = active;
  return made;
}

void expect(const Finish& finish, std::int64_t first, std::int64_t last) {
  EXPECT_EQ(finish.first, first);
  EXPECT_EQ(finish.last, last);
}

TEST(AstraMechanisms, AnAllReduceHasItsOwnAlgorithmsInAllPhases) {
  CollectiveConfig mixed = config({kRing, kDirect});
  mixed.algorithms[static_cast<std::size_t>(Operation::kAllgather)] = {kDirect, kRing};
  mixed.algorithms[static_cast<std::size_t>(Operation::kReduceScatter)] = {kDirect, kHalving};
  expect(run_collective({ring_of(4), switch_of(2)}, mixed, Operation::kAllReduce, kMiB), 43'040, 43'040);
}

TEST(AstraMechanisms, DirectReducesWhileOthersArrive) {
  CollectiveConfig slow = config({kDirect});
  slow.memory_bytes_per_ns = 1;
  expect(run_collective({ring_of(8)}, slow, Operation::kAllReduce, kMiB), 410'216, 410'216);
  expect(run_collective({ring_of(8)}, slow, Operation::kAllReduce, kMiB, Congestion::kAware), 428'216, 428'216);
}

TEST(AstraMechanisms, HalvingDoublingOfSeveralChunks) {
  expect(run_collective({switch_of(8)}, config({kHalving}, 4), Operation::kAllReduce, kMiB, Congestion::kAware), 39'310,
         39'310);
  // Shards of an odd number of bytes lose one on their way back.
  CollectiveConfig whole = config({kHalving});
  whole.splits = 1;
  expect(run_collective({switch_of(8)}, whole, Operation::kAllReduce, 8 * 125'001), 39'366, 39'366);
}

TEST(AstraMechanisms, ReductionsAreRoundedByThePass) {
  CollectiveConfig rounded = config({kRing});
  rounded.splits = 1;
  rounded.memory_bytes_per_ns = 50;
  expect(run_collective({ring_of(4)}, rounded, Operation::kAllReduce, 4 * 750), 3'274, 3'274);
}

TEST(AstraMechanisms, TheWayBackGoesRoundInTheOtherDirection) {
  const auto late = [](int queues, Operation operation, int active, int splits) {
    test::fresh_kernel();
    CollectiveConfig made = config({kRing, kRing}, active);
    made.queues = queues;
    made.splits = splits;
    Bench bench({ring_of(4), ring_of(2)}, Congestion::kUnaware, made);
    bench.late[0] = Time(5'000'000);
    return bench.run(operation, kMiB);
  };
  expect(late(1, Operation::kAllReduce, 4, 4), 13'520, 18'070);
  // Queues share the active chunks, and half of them go round the other way.
  expect(late(2, Operation::kAllReduce, 4, 4), 20'800, 23'630);
  expect(late(3, Operation::kAllToAll, 3, 8), 22'990, 26'930);
}

TEST(AstraMechanisms, ListedGroupsAreRingsInSeveralDimensions) {
  const auto time = [](const std::vector<Algorithm>& algorithms) {
    test::fresh_kernel();
    Bench bench({full_of(4), full_of(2)}, Congestion::kUnaware, config(algorithms));
    return bench.run(Operation::kAllReduce, kMiB, {{1, {0, 1, 2, 3}}, {2, {4, 5, 6, 7}}}).last;
  };
  EXPECT_EQ(time({kDirect, kDirect}), 43'000);
  EXPECT_EQ(time({kRing, kRing}), 43'000);
  EXPECT_LT(time({kDirect, kNone}), 43'000) << "the only algorithm is the group's";
}

TEST(AstraMechanisms, AllAlgorithmsPassTheSharedBus) {
  const auto time = [](Algorithm algorithm) {
    test::fresh_kernel();
    Bench bench({switch_of(8)}, Congestion::kUnaware, config({algorithm}), {true, 10, 10, 10, 0.001, 1});
    return bench.run(Operation::kAllReduce, kMiB);
  };
  expect(time(kHalving), 85'176, 85'176);
  expect(time(kTree), 281'828, 316'488);
}

TEST(AstraMechanisms, OperationsHaveWindowsOfTheirOwn) {
  CollectiveConfig windows = config({kDirect});
  windows.windows = {{2}, {4}, {4}, {4}};
  expect(run_collective({full_of(8)}, windows, Operation::kAllReduce, kMiB), 36'360, 36'360);
  expect(run_collective({full_of(8)}, windows, Operation::kAllToAll, kMiB), 9'000, 9'000);
}

TEST(AstraMechanisms, ReceiversAskForMessages) {
  test::fresh_kernel();
  CollectiveConfig many = config({kRing}, 16);
  many.splits = 16;
  Bench flying({ring_of(3)}, Congestion::kAware, many, {}, true);
  expect(flying.run(Operation::kAllReduce, kMiB), 27'156, 27'156);
  test::fresh_kernel();
  Bench bench({ring_of(4)}, Congestion::kAware, config({kRing}), {}, true);
  bench.late[0] = Time(5'000'000);
  expect(bench.run(Operation::kAllReduce, kMiB), 61'692, 63'648);
}

TEST(AstraMechanisms, AnOperationLeavesOutDimensionsWithoutAlgorithm) {
  CollectiveConfig some = config({kRing, kRing});
  some.algorithms[static_cast<std::size_t>(Operation::kAllToAll)] = {kDirect, kNone};
  expect(run_collective({ring_of(4), switch_of(2)}, some, Operation::kAllToAll, kMiB), 8'960, 8'960);
  some.algorithms[static_cast<std::size_t>(Operation::kAllToAll)] = {kNone, kNone};
  test::fresh_kernel();
  Bench bench({ring_of(4), switch_of(2)}, Congestion::kUnaware, some);
  try {
    bench.collectives.enter(Time(), 0, {}, Operation::kAllToAll, kMiB, 0, 0);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "analytical.dimensions.0.all_to_all");
    EXPECT_NE(error.expected().find("all-to-all-implementation in ASTRA-sim's system file"), std::string::npos);
  }
}

TEST(AstraMechanisms, TreesTakeTurns) {
  test::fresh_kernel();
  Bench bench({switch_of(8)}, Congestion::kUnaware, config({kTree}, 4));
  bench.late[0] = Time(20'000'000);
  expect(bench.run(Operation::kAllReduce, kMiB), 39'153, 57'807);
  // In several dimensions a tree reduces everything, whatever its phase.
  expect(run_collective({ring_of(4), switch_of(4)}, config({kTree, kRing}), Operation::kAllReduce, kMiB), 175'195,
         186'968);
}

TEST(AstraMechanisms, SmallAllgathersAreNotPadded) {
  CollectiveConfig small = config({kRing, kDirect});
  small.splits = 8;
  expect(run_collective({ring_of(4), switch_of(2)}, small, Operation::kAllgather, 100), 14'880, 14'880);
}

/// A late rank and fewer active chunks than a collective has: in ASTRA-sim they hang, in Weft's own mode they end.
TEST(AstraMechanisms, ChunksTakeTurnsWhereLinksAreCutThrough) {
  const auto ended = [](Congestion congestion, std::uint32_t who) {
    test::fresh_kernel();
    CollectiveConfig two = config({kRing, kRing, kRing});
    two.splits = 2;
    Bench bench({ring_of(2), ring_of(2), ring_of(2)}, congestion, two);
    bench.starter.start = [&] {
      for (std::uint32_t r = 0; r < 8; ++r) bench.dispatcher.post(Time(r == who ? 50'000'000 : 0), bench, r);
    };
    bench.on_time = [&](Time now, std::uint32_t rank) {
      bench.collectives.enter(now, rank, {}, Operation::kAllReduce, 8 << 10, 0, rank);
    };
    bench.dispatcher.run_to_end();
    EXPECT_EQ(bench.collectives.waits_for_places(), bench.collectives.unfinished() > 0);
    return bench.collectives.unfinished() == 0;
  };
  EXPECT_FALSE(ended(Congestion::kUnaware, 0));
  for (std::uint32_t who = 0; who < 8; ++who) EXPECT_TRUE(ended(Congestion::kCutThrough, who)) << who;
}

TEST(AstraMechanisms, WhatCannotBeCountedIsRefused) {
  test::fresh_kernel();
  Bench bench({ring_of(2)}, Congestion::kUnaware, config({kRing}));
  EXPECT_THROW(bench.collectives.enter(Time(), 0, {}, Operation::kAllReduce, std::int64_t{1} << 62, 0, 0), ConfigError);
  EXPECT_THROW(bench.network.agenda().post(kNever, {}), ConfigError);
}

TEST(WaitingList, HighestPriorityFirstThenFirstCome) {
  struct Item {
    std::int64_t priority;
    int number;
  };
  WaitingList<Item> list;
  EXPECT_TRUE(list.empty());
  for (const auto& [priority, number] : {std::pair(1, 0), {3, 1}, {1, 2}, {2, 3}, {3, 4}, {2, 5}})
    list.add({priority, number});
  std::vector<int> all;
  auto place = list.first();
  do all.push_back(list[place].number);
  while (list.advance(place));
  EXPECT_EQ(all, (std::vector<int>{1, 4, 3, 5, 0, 2}));
  place = list.first();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(list.advance(place));
  EXPECT_EQ(list.take(place).number, 5);  // from within
  std::vector<int> taken;
  while (!list.empty()) taken.push_back(list.take(list.first()).number);
  EXPECT_EQ(taken, (std::vector<int>{1, 4, 3, 0, 2}));
  // Many, of which some come while others go.
  int next = 0;
  int expected = 0;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 3; ++i) list.add({7, next++});
    for (int i = 0; i < 2; ++i) EXPECT_EQ(list.take(list.first()).number, expected++);
  }
  while (!list.empty()) EXPECT_EQ(list.take(list.first()).number, expected++);
  EXPECT_EQ(expected, 900);
}

}  // namespace
}  // namespace weft::analytical
