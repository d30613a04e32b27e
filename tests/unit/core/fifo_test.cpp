// SPDX-License-Identifier: Apache-2.0
// The queue beneath NICs, against std::deque.
#include "hw/core/fifo.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>

namespace weft {
namespace {

TEST(Fifo, BehavesLikeADequeThroughAnyMixOfPushAndPop) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Fifo<int> fifo;
    std::deque<int> reference;
    for (int step = 0; step < 2000; ++step) {
      // Longer runs of one kind let it grow while its front is anywhere in the array.
      const bool push = (random() % 8 < (step / 200 % 2 == 0 ? 5U : 3U)) || reference.empty();
      if (push) {
        fifo.push_back(step);
        reference.push_back(step);
      } else {
        EXPECT_EQ(fifo.front(), reference.front());
        fifo.pop_front();
        reference.pop_front();
      }
      ASSERT_EQ(fifo.size(), reference.size());
      ASSERT_EQ(fifo.empty(), reference.empty());
      if (reference.empty()) continue;
      const std::size_t at = random() % reference.size();
      ASSERT_EQ(fifo[at], reference[at]);
      ASSERT_EQ(fifo.back(), reference.back());
    }
  }
}

TEST(Fifo, TakesWhatCanOnlyBeMoved) {
  Fifo<std::unique_ptr<int>> fifo;
  for (int i = 0; i < 9; ++i) fifo.push_back(std::make_unique<int>(i));
  for (int i = 0; i < 9; ++i) {
    ASSERT_NE(fifo.front(), nullptr);
    EXPECT_EQ(*fifo.front(), i);
    fifo.pop_front();
  }
  EXPECT_TRUE(fifo.empty());
}

}  // namespace
}  // namespace weft
