// SPDX-License-Identifier: Apache-2.0
// A thread that works on blocks: their order, how many wait, and what the work throws.
#include "traces/files/background.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace weft::traces {
namespace {

using Block = std::vector<int>;

TEST(Background, WorksInTheOrderGiven) {
  std::vector<int> seen;
  Background<Block> background([&](Block& block) {
    seen.insert(seen.end(), block.begin(), block.end());
    block.clear();
  });
  background.wait();
  Block block;
  constexpr int kAll = 10'000;
  for (int i = 0; i < kAll; ++i) {
    block.push_back(i);
    if (i % 7 != 0) continue;
    background.give(block);
    ASSERT_TRUE(block.empty());
    if (i % 1001 == 0) background.wait();
  }
  background.give(block);
  background.wait();
  std::vector<int> all(kAll);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

TEST(Background, MakesItsOwnerWaitForRoom) {
  std::promise<void> go;
  int done = 0;
  Background<Block> background([&, gate = go.get_future().share()](Block&) {
    gate.wait();
    ++done;
  });
  Block block;
  // One may be in work beside those that wait.
  for (std::size_t i = 0; i < Background<Block>::kBlocks; ++i) background.give(block);
  std::future<void> more = std::async(std::launch::async, [&] {
    for (int i = 0; i < 2; ++i) background.give(block);
  });
  EXPECT_EQ(more.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_TRUE(background.behind());
  go.set_value();
  more.get();
  background.wait();
  EXPECT_FALSE(background.behind());
  EXPECT_EQ(done, Background<Block>::kBlocks + 2);
}

TEST(Background, ThrowsWhatTheWorkThrew) {
  std::vector<int> seen;
  Background<Block> background([&](Block& block) {
    if (block.front() == 2) throw std::runtime_error("the disk is full");
    seen.push_back(block.front());
  });
  const auto fails = [](const auto& call) {
    try {
      call();
      ADD_FAILURE();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the disk is full");
    }
  };
  Block one = {1};
  background.give(one);
  background.wait();
  Block two = {2};
  background.give(two);
  fails([&] { background.wait(); });
  // And from then on.
  Block three = {3};
  fails([&] { background.give(three); });
  fails([&] { background.wait(); });
  EXPECT_EQ(seen, (std::vector<int>{1}));
}

/// An owner that fails does not wait for all of its work, and none is under way behind it.
TEST(Background, LeavesWhatWaits) {
  std::promise<void> begun;
  int done = 0;
  {
    Background<Block> background([&](Block&) {
      if (done++ == 0) begun.set_value();
    });
    Block block;
    for (int i = 0; i < 100; ++i) background.give(block);
    begun.get_future().wait();
  }
  EXPECT_GE(done, 1);
  EXPECT_LE(done, 100);
}

}  // namespace
}  // namespace weft::traces
