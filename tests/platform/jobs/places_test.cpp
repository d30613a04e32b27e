// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/several/places.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::platforms {
namespace {

using Places = std::vector<int>;

TEST(FreePlaces, PackedTakesTheFirst) {
  FreePlaces free(8, 4, 1);
  free.take(1);
  EXPECT_EQ(free.take(3, Spot::kPacked), (Places{0, 2, 3}));
  EXPECT_EQ(free.take(4, Spot::kPacked), (Places{4, 5, 6, 7}));
  EXPECT_EQ(free.count(), 0);
  EXPECT_EQ(free.take(1, Spot::kPacked), std::nullopt);
}

TEST(FreePlaces, SpreadTakesOneOfEachNodeInTurn) {
  FreePlaces free(12, 4, 1);
  free.take(0);
  free.take(1);
  EXPECT_EQ(free.take(4, Spot::kSpread), (Places{2, 3, 4, 8}));
  EXPECT_EQ(free.take(3, Spot::kSpread), (Places{5, 6, 9}));
}

TEST(FreePlaces, RandomTakesEachOnceAndFollowsTheSeed) {
  const auto drawn = [](std::int64_t seed) {
    FreePlaces free(64, 8, seed);
    Places places = *free.take(40, Spot::kRandom);
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
    const Places rest = *free.take(24, Spot::kRandom);
    Places all = places;
    all.insert(all.end(), rest.begin(), rest.end());
    std::sort(all.begin(), all.end());
    for (int i = 0; i < 64; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
    return places;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

}  // namespace
}  // namespace weft::platforms
