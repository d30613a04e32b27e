// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/pat/pat_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::collectives {
namespace {

using Step = PatPlan::Step;

int above(int place) {
  return place & (place - 1);
}

std::vector<int> places_of(const Step& step) {
  std::vector<int> places;
  for (const std::vector<int>& message : step.messages) places.insert(places.end(), message.begin(), message.end());
  return places;
}

/// What both collectives' plans have: one peer in a step, as many messages and blocks as there is room for, and every
/// other member's block once.
void expect_whole(const PatPlan& plan, int members, int together, int slots) {
  std::vector<int> all;
  for (const Step& step : plan.steps) {
    EXPECT_LE(step.messages.size(), static_cast<std::size_t>(slots));
    for (const std::vector<int>& message : step.messages) {
      EXPECT_LE(message.size(), static_cast<std::size_t>(together));
      EXPECT_FALSE(message.empty());
    }
    for (const int place : places_of(step)) {
      EXPECT_EQ(place - above(place), 1 << step.dimension);
      all.push_back(place);
    }
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), static_cast<std::size_t>(members - 1));
  for (int place = 1; place < members; ++place) EXPECT_EQ(all[static_cast<std::size_t>(place - 1)], place);
}

template <typename Check>
void for_all_sizes(const Check& check) {
  for (int members = 1; members <= 70; ++members) {
    for (int together = 1; together == 1 || together <= members / 2; together *= 2) {
      for (const int slots : {2, 3, 8}) check(members, together, slots);
    }
  }
  check(1000, 1, 8);
  check(1024, 512, 8);
}

TEST(PatPlan, AnAllgatherSendsWhatHasComeInEarlierSteps) {
  for_all_sizes([](int members, int together, int slots) {
    const PatPlan plan = PatPlan::allgather(members, together, slots);
    expect_whole(plan, members, together, slots);
    std::vector<bool> has(static_cast<std::size_t>(members));
    has[0] = true;
    for (const Step& step : plan.steps) {
      for (const int place : places_of(step)) EXPECT_TRUE(has[static_cast<std::size_t>(above(place))]) << place;
      for (const int place : places_of(step)) has[static_cast<std::size_t>(place)] = true;
    }
  });
}

TEST(PatPlan, AReduceScatterSendsSumsOfAllThatIsBelow) {
  for_all_sizes([](int members, int together, int slots) {
    const PatPlan plan = PatPlan::reduce_scatter(members, together, slots);
    expect_whole(plan, members, together, slots);
    std::vector<bool> sent(static_cast<std::size_t>(members));
    for (const Step& step : plan.steps) {
      for (const int place : places_of(step)) {
        for (int below = 1; below < (1 << step.dimension) && place + below < members; below *= 2) {
          EXPECT_TRUE(sent[static_cast<std::size_t>(place + below)]) << place << ", " << below;
        }
      }
      for (const int place : places_of(step)) sent[static_cast<std::size_t>(place)] = true;
    }
  });
}

// A sum is formed where it leaves. All members being at the same step, its slot has been given back: what went through
// it before was taken in an earlier step or before in this one.
TEST(PatPlan, AReduceScatterFormsSumsInSlotsThatAreFree) {
  for_all_sizes([](int members, int together, int slots) {
    const PatPlan plan = PatPlan::reduce_scatter(members, together, slots);
    std::vector<int> taken(plan.ordered.size());
    for (const Step& step : plan.steps) {
      for (const std::vector<int>& message : step.messages) {
        for (const int place : message) {
          if (above(place) == 0) continue;
          const PatPlan::Position& sum = plan.positions[static_cast<std::size_t>(above(place))];
          EXPECT_LT(sum.message, taken[static_cast<std::size_t>(sum.dimension)] + slots);
        }
        ++taken[static_cast<std::size_t>(step.dimension)];
      }
    }
  });
}

TEST(PatPlan, ShortBlocksTakeALogarithmOfMessages) {
  for (const int members : {2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 64, 65, 1000, 1024}) {
    const bool is_one_more = members > 4 && std::has_single_bit(static_cast<unsigned>(members - 1));
    const std::size_t steps = std::bit_width(static_cast<unsigned>(members - 1)) + (is_one_more ? 1U : 0U);
    const int together = pat_together(members, 8, 64 << 10);
    for (const PatPlan& plan :
         {PatPlan::allgather(members, together, 8), PatPlan::reduce_scatter(members, together, 8)}) {
      EXPECT_EQ(plan.steps.size(), steps) << members;
      for (const Step& step : plan.steps) EXPECT_EQ(step.messages.size(), 1U) << members;
    }
  }
}

// Eight trees side by side, of 64: three steps to reach the eight, and seven for those between them.
TEST(PatPlan, BlocksOfAChunkGoThroughAsManyTreesAsThereAreSlots) {
  const PatPlan plan = PatPlan::allgather(64, pat_together(64, 64 << 10, 64 << 10), 8);
  ASSERT_EQ(plan.steps.size(), 3U + 7U);
  EXPECT_EQ(places_of(plan.steps[0]), std::vector<int>({32}));
  EXPECT_EQ(places_of(plan.steps[2]), std::vector<int>({8, 24, 40, 56}));
  EXPECT_EQ(places_of(plan.steps[3]), std::vector<int>({4, 12, 20, 28, 36, 44, 52, 60}));
  EXPECT_EQ(plan.steps[3].messages.size(), 8U);
  std::vector<int> between;
  for (std::size_t i = 3; i < plan.steps.size(); ++i) between.push_back(places_of(plan.steps[i])[0]);
  EXPECT_EQ(between, std::vector<int>({4, 6, 7, 5, 2, 3, 1}));
}

TEST(PatPlan, BlocksTravelTogetherAsFarAsAChunkHoldsThem) {
  EXPECT_EQ(pat_together(64, 64 << 10, 64 << 10), 1);
  EXPECT_EQ(pat_together(64, 32 << 10, 64 << 10), 2);
  EXPECT_EQ(pat_together(64, (32 << 10) + 1, 64 << 10), 1);
  EXPECT_EQ(pat_together(64, 1, 64 << 10), 32);
  EXPECT_EQ(pat_together(2, 1, 64 << 10), 1);
  EXPECT_EQ(pat_together(5, 1, 64 << 10), 2);
}

}  // namespace
}  // namespace weft::collectives
