// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/tournament.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hw/core/random.h"

namespace weft::dram {
namespace {

TEST(Tournament, IsWonByTheFirstOfTheLeast) {
  Random random(5, "tournament");
  for (const std::size_t size : {1, 2, 3, 5, 16, 80}) {
    Tournament<std::int64_t> tournament(size);
    std::vector<std::int64_t> values(size, INT64_MAX);
    EXPECT_EQ(tournament.first(), 0);
    for (int i = 0; i < 2'000; ++i) {
      // Of so few values many are equal.
      const std::size_t place = random.next() % size;
      values[place] = static_cast<std::int64_t>(random.next() % 20);
      tournament.set(place, values[place]);
      const auto least = std::ranges::min_element(values);
      ASSERT_EQ(tournament.least(), *least) << size;
      ASSERT_EQ(tournament.first(), static_cast<std::size_t>(least - values.begin())) << size;
    }
  }
}

}  // namespace
}  // namespace weft::dram
