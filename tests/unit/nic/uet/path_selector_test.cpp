// SPDX-License-Identifier: Apache-2.0
// Ways to spread packets over entropy values, by hand.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hw/core/quantity.h"
#include "hw/nic/uet/path_selectors.h"

namespace weft::nic {
namespace {

using namespace weft::literals;

PathSelectorSite site(std::uint16_t paths) {
  return {paths, 10_us, Random(1, "test")};
}

TEST(Oblivious, TakesEachValueOnceInARound) {
  ObliviousSpray spray(site(8));
  std::vector<std::uint16_t> first;
  for (int round = 0; round < 3; ++round) {
    std::set<std::uint16_t> seen;
    std::vector<std::uint16_t> order;
    for (int i = 0; i < 8; ++i) order.push_back(spray.next(Time()));
    seen.insert(order.begin(), order.end());
    EXPECT_EQ(seen.size(), 8u);
    EXPECT_EQ(*seen.rbegin(), 7);
    if (round == 0) first = order;
    if (round == 2) {
      EXPECT_NE(order, first) << "the order is drawn anew";
    }
  }
}

TEST(Oblivious, HasNoChoiceWithOnePath) {
  ObliviousSpray spray(site(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(spray.next(Time()), 0);
}

/// How often each value comes in so many packets.
std::map<std::uint16_t, int> count(PathSelector& spray, int packets, Time now = Time()) {
  std::map<std::uint16_t, int> counts;
  for (int i = 0; i < packets; ++i) ++counts[spray.next(now)];
  return counts;
}

TEST(Bitmap, PassesOverAValueForEachPoint) {
  BitmapSpray spray(site(4));
  spray.heard(Time(), 2, PathNews::kTrimmed);
  EXPECT_EQ(spray.points(2), BitmapSpray::kTrimmed);
  auto counts = count(spray, 3 * BitmapSpray::kTrimmed);
  EXPECT_EQ(counts[2], 0) << "four rounds of the three others";
  EXPECT_EQ(counts[0], 4);
  EXPECT_EQ(spray.points(2), 0);
  counts = count(spray, 40);
  EXPECT_EQ(counts[2], 10);
}

TEST(Bitmap, TakesPointsBackForGoodNewsAndHasAMost) {
  BitmapSpray spray(site(4));
  spray.heard(Time(), 1, PathNews::kMarked);
  EXPECT_EQ(spray.points(1), 1);
  spray.heard(Time(), 1, PathNews::kGood);
  spray.heard(Time(), 1, PathNews::kGood);
  EXPECT_EQ(spray.points(1), 0);
  spray.heard(Time(), 1, PathNews::kLost);
  spray.heard(Time(), 1, PathNews::kTrimmed);
  EXPECT_EQ(spray.points(1), BitmapSpray::kMostPoints);
}

TEST(Bitmap, EndsWhereAllValuesHoldPoints) {
  BitmapSpray spray(site(3));
  for (std::uint16_t e = 0; e < 3; ++e) spray.heard(Time(), e, PathNews::kLost);
  EXPECT_LT(spray.next(Time()), 3);
}

TEST(Reps, UsesGoodValuesAgainOnceEach) {
  RecycledSpray spray(site(1024));
  spray.heard(Time(), 900, PathNews::kGood);
  spray.heard(Time(), 901, PathNews::kMarked);
  spray.heard(Time(), 902, PathNews::kGood);
  EXPECT_EQ(spray.next(Time()), 900);
  EXPECT_EQ(spray.next(Time()), 902);
  // Then it draws: two in a row of a thousand would be those by a chance in a million.
  const bool again = spray.next(Time()) == 900 && spray.next(Time()) == 902;
  EXPECT_FALSE(again);
}

TEST(Reps, KeepsTheEightLatest) {
  RecycledSpray spray(site(1024));
  for (std::uint16_t e = 0; e < 10; ++e) spray.heard(Time(), e, PathNews::kGood);
  for (std::uint16_t e = 2; e < 10; ++e) EXPECT_EQ(spray.next(Time()), e);
}

TEST(Reps, DrawsNoneAfterALoss) {
  RecycledSpray spray(site(1024));
  for (std::uint16_t e = 0; e < 3; ++e) spray.heard(Time(), e, PathNews::kGood);
  spray.heard(5_us, 7, PathNews::kLost);
  const auto frozen = count(spray, 300, 24_us);
  EXPECT_EQ(frozen, (std::map<std::uint16_t, int>{{0, 100}, {1, 100}, {2, 100}}));
  EXPECT_GT(count(spray, 300, 26_us).size(), 200u) << "two timeouts later it does again";
}

TEST(Reps, IsNotFrozenForLongerByMoreLosses) {
  RecycledSpray spray(site(1024));
  spray.heard(Time(), 3, PathNews::kGood);
  for (int us = 5; us < 25; ++us) spray.heard(Time(us * 1'000'000), 7, PathNews::kLost);
  EXPECT_EQ(count(spray, 100, 24_us).size(), 1u);
  EXPECT_GT(count(spray, 300, 26_us).size(), 200u);
}

TEST(Reps, ForgetsWhatItHeldAndDrawsSixteenAfterIt) {
  RecycledSpray spray(site(1024));
  for (std::uint16_t e = 0; e < 3; ++e) spray.heard(Time(), e, PathNews::kGood);
  spray.heard(5_us, 7, PathNews::kLost);
  spray.heard(26_us, 900, PathNews::kGood);
  spray.heard(26_us, 7, PathNews::kLost);  // freezes nothing while values are drawn
  for (int i = 0; i < RecycledSpray::kExplored; ++i) static_cast<void>(spray.next(26_us));
  EXPECT_EQ(spray.next(26_us), 900);
  EXPECT_GT(count(spray, 300, 26_us).size(), 200u);
}

TEST(Reps, ALostValueLeavesTheRing) {
  RecycledSpray spray(site(1024));
  for (std::uint16_t e = 0; e < 10; ++e) spray.heard(Time(), e, PathNews::kGood);
  spray.heard(5_us, 4, PathNews::kLost);
  auto frozen = count(spray, 70, 6_us);
  EXPECT_EQ(frozen.size(), 7u);
  EXPECT_EQ(frozen.count(4), 0u);
  EXPECT_EQ(frozen[2], 10);
  spray.heard(7_us, 20, PathNews::kGood);
  spray.heard(7_us, 21, PathNews::kGood);
  frozen = count(spray, 80, 8_us);
  EXPECT_EQ(frozen.size(), 8u) << "it has room for one again, and the second takes that of the oldest";
  EXPECT_EQ(frozen.count(2), 0u);
  // Where nothing else is left it draws.
  RecycledSpray alone(site(1024));
  alone.heard(Time(), 4, PathNews::kGood);
  alone.heard(5_us, 4, PathNews::kLost);
  EXPECT_GT(count(alone, 300, 6_us).size(), 200u);
}

}  // namespace
}  // namespace weft::nic
