// SPDX-License-Identifier: Apache-2.0
// Rounds, channels and batches of sends and receives, as NCCL 2.28 has them: by hand from its rules.
#include "sw/collectives/nccl/p2p_schedule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <numeric>
#include <set>
#include <vector>

#include "sw/collectives/nccl/p2p_turns.h"

namespace weft::collectives {
namespace {

using namespace weft::literals;

constexpr std::uint64_t kKibibyte = 1 << 10;
constexpr std::uint64_t kMebibyte = 1 << 20;

/// Ranks on nodes of so many each.
struct RanksOnNodes {
  explicit RanksOnNodes(const std::vector<int>& sizes) {
    for (std::size_t node = 0; node < sizes.size(); ++node) {
      for (int i = 0; i < sizes[node]; ++i) {
        ranks.emplace_back();
        ranks.back().node = static_cast<int>(node);
        pointers.push_back(&ranks.back());
      }
    }
  }
  std::deque<firmware::Rank> ranks;
  std::vector<firmware::Rank*> pointers;
};

P2pSchedule schedule_of(const std::vector<int>& sizes, int cores = 16, Rate within = 450_GBps) {
  return {Nodes(RanksOnNodes(sizes).pointers), within, cores};
}

std::vector<int> peers(const P2pSchedule& schedule, int member) {
  std::vector<int> to;
  for (int round = 0; round < schedule.rounds(); ++round) to.push_back(schedule.to(member, round));
  return to;
}

/// All members send so much to each.
Parts even_parts(const P2pSchedule& schedule, std::uint64_t bytes) {
  const std::vector<std::uint64_t> each(static_cast<std::size_t>(schedule.rounds()), bytes);
  return {each, each};
}

TEST(P2pSchedule, HasEachPeerOnceAndBothEndsInOneRound) {
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{
           {1}, {8}, {72}, {8, 8}, {16, 16}, {4, 4, 4}, {72, 72}, {1, 1, 1, 1, 1}, {8, 4, 12}, {3, 8}}) {
    const P2pSchedule schedule = schedule_of(sizes);
    for (int member = 0; member < schedule.rounds(); ++member) {
      const std::vector<int> to = peers(schedule, member);
      EXPECT_EQ(std::set<int>(to.begin(), to.end()).size(), to.size());
      EXPECT_EQ(to[0], member);
      for (int round = 0; round < schedule.rounds(); ++round) {
        const int peer = to[static_cast<std::size_t>(round)];
        EXPECT_EQ(schedule.from(peer, round), member);
        EXPECT_EQ(schedule.round_to(member, peer), round);
      }
    }
  }
}

// Four groups of eight on two nodes. Distances of groups are 0, 1, 3 and 2: rank 10, third of its group, begins with
// itself, then with the third of the next group.
TEST(P2pSchedule, GoesFromGroupToGroupOfEight) {
  const std::vector<int> expected = {10, 11, 12, 13, 14, 15, 8, 9, 18, 19, 20, 21, 22, 23, 16, 17,
                                     2,  3,  4,  5,  6,  7,  0, 1, 26, 27, 28, 29, 30, 31, 24, 25};
  EXPECT_EQ(peers(schedule_of({16, 16}), 10), expected);
  // Nodes that eight do not divide have groups of four.
  EXPECT_EQ(peers(schedule_of({4, 4}), 2), (std::vector<int>{2, 3, 0, 1, 6, 7, 4, 5}));
  // A node is one group.
  EXPECT_EQ(peers(schedule_of({5}), 3), (std::vector<int>{3, 4, 0, 1, 2}));
}

TEST(P2pSchedule, TakesChannelsByPathAndSize) {
  const P2pSchedule two = schedule_of({2});
  EXPECT_EQ(two.channels(), 16);
  EXPECT_EQ(two.channels_per_peer(), 16);  // 18 links have 36
  // Of two members each has eight of sixteen, of 64 KiB at the least; more from 16 MiB a channel on.
  EXPECT_EQ(two.channels_of(0), 1);
  EXPECT_EQ(two.channels_of(64 * kKibibyte), 1);
  EXPECT_EQ(two.channels_of(64 * kKibibyte + 1), 2);
  EXPECT_EQ(two.channels_of(kMebibyte), 8);
  EXPECT_EQ(two.channels_of(128 * kMebibyte), 8);
  EXPECT_EQ(two.channels_of(128 * kMebibyte + 1), 16);
  // Two links of NVLink have four channels.
  EXPECT_EQ(schedule_of({4}, 16, 50_GBps).channels_per_peer(), 4);
  EXPECT_EQ(schedule_of({2}, 32, 900_GBps).channels_per_peer(), 32);
  // Over the network two; one where members are more than twice the channels.
  const P2pSchedule nodes = schedule_of({8, 8, 8, 8});
  EXPECT_EQ(nodes.channels_per_peer(), 2);
  EXPECT_EQ(nodes.channels_of(128 * kKibibyte), 1);
  EXPECT_EQ(nodes.channels_of(128 * kKibibyte + 1), 2);
  EXPECT_EQ(schedule_of({8, 8, 8, 8, 8}).channels_per_peer(), 1);
  EXPECT_EQ(schedule_of({8, 8, 8, 8, 8}, 32).channels_per_peer(), 2);
}

TEST(P2pSchedule, SpreadsFirstChannels) {
  const P2pSchedule node = schedule_of({8});
  EXPECT_EQ(node.first_channel(1), 8);
  EXPECT_EQ(node.first_channel(2), 4);
  EXPECT_EQ(node.first_channel(3), 12);
  const P2pSchedule nodes = schedule_of({8, 8, 8, 8});
  EXPECT_EQ(nodes.first_channel(7), 0);
  EXPECT_EQ(nodes.first_channel(8), 8);
  EXPECT_EQ(nodes.first_channel(31), 12);
}

/// How many are under way at first.
std::size_t at_first(const P2pSchedule& schedule, std::uint64_t bytes) {
  return P2pTurns(schedule, 0, even_parts(schedule, bytes)).ready().size();
}

TEST(P2pTurns, AreUnderWayAsChannelsAllow) {
  EXPECT_EQ(at_first(schedule_of({8}), kMebibyte), 7U);
  EXPECT_EQ(at_first(schedule_of({8}), 1024 * kMebibyte), 7U);  // all channels each, which eight share
  EXPECT_EQ(at_first(schedule_of({16, 16}), 8 * kMebibyte), 31U);
  // A channel each, which another takes later.
  EXPECT_EQ(at_first(schedule_of({72}), kMebibyte), 16U);
  // 18 groups on 16 channels.
  EXPECT_EQ(at_first(schedule_of({72, 72}), kMebibyte), 127U);
}

TEST(P2pTurns, GoOnWhenABatchHasEnded) {
  const P2pSchedule schedule = schedule_of({72, 72});
  P2pTurns turns(schedule, 5, even_parts(schedule, kMebibyte));
  const std::vector<int> first = turns.ready();
  EXPECT_EQ(first.back(), 127);
  EXPECT_TRUE(turns.ready().empty());
  // Rounds 1 to 7 are the first batch of channel 0, on which 128 to 135 are the next.
  for (int round = 1; round < 8; ++round) {
    turns.end_one(round);
    EXPECT_TRUE(turns.ready().empty());
  }
  for (int round = 1; round < 8; ++round) turns.end_one(round);
  std::vector<int> next(8);
  std::iota(next.begin(), next.end(), 128);
  EXPECT_EQ(turns.ready(), next);
  EXPECT_FALSE(turns.all_ended());
}

// Every exchange comes to its end when rounds end in any order, empty parts among them.
TEST(P2pTurns, ComeToAnEnd) {
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{1}, {8}, {72}, {16, 16}, {72, 72}, {3, 8}}) {
    const P2pSchedule schedule = schedule_of(sizes);
    Parts parts = even_parts(schedule, 0);
    for (std::size_t i = 0; i < parts.to.size(); ++i) {
      parts.to[i] = i % 3 * 300 * kKibibyte;
      parts.from[i] = i * i % 4 * 40 * kMebibyte;
    }
    P2pTurns turns(schedule, 0, parts);
    std::vector<int> open;
    std::set<int> done;
    for (;;) {
      for (const int round : turns.ready()) open.push_back(round);
      if (open.empty()) break;
      const int round = open.back();
      open.pop_back();
      EXPECT_TRUE(done.insert(round).second);
      if (parts.to[static_cast<std::size_t>(schedule.to(0, round))] != 0) turns.end_one(round);
      if (parts.from[static_cast<std::size_t>(schedule.from(0, round))] != 0) turns.end_one(round);
    }
    EXPECT_TRUE(turns.all_ended());
    std::size_t expected = 0;
    for (int round = 1; round < schedule.rounds(); ++round) {
      expected += parts.to[static_cast<std::size_t>(schedule.to(0, round))] != 0 ||
                          parts.from[static_cast<std::size_t>(schedule.from(0, round))] != 0
                      ? 1
                      : 0;
    }
    EXPECT_EQ(done.size(), expected);
  }
}

}  // namespace
}  // namespace weft::collectives
