// SPDX-License-Identifier: Apache-2.0
// What kernels take with a change: alone, with pieces made by hand.
#include "platforms/results/what_if/kernel_pieces.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weft::platforms {
namespace {

TEST(KernelPieces, WaitForTheSlowerOne) {
  const ArrayPower free;
  const KernelPieces bound{100, 0, 300};
  EXPECT_DOUBLE_EQ(bound.with({}, free), 400);
  EXPECT_DOUBLE_EQ(bound.with({2, 1, 1}, free), 400);
  EXPECT_DOUBLE_EQ(bound.with({1, 1, 2}, free), 200);
  EXPECT_DOUBLE_EQ(bound.with({1, 1, 8}, free), 100);
  EXPECT_DOUBLE_EQ(bound.with({0.2, 1, 1}, free), 500);
  EXPECT_DOUBLE_EQ(bound.at_least({2, 1, 1}, free), 350);
  const KernelPieces seldom{300, 0, 100};
  EXPECT_DOUBLE_EQ(seldom.with({2, 1, 1}, free), 250);
  EXPECT_DOUBLE_EQ(seldom.at_most({2, 1, 1}, free), 400);
}

TEST(KernelPieces, HideMemoryUntilItBinds) {
  const ArrayPower free;
  // Memory takes 60 ps for their bytes, and 20 ps where nothing hides it.
  const KernelPieces hidden{100, 0, 20, 0.6};
  EXPECT_DOUBLE_EQ(hidden.in_memory(), 80);
  EXPECT_DOUBLE_EQ(hidden.with({}, free), 120);
  EXPECT_DOUBLE_EQ(hidden.with({1, 1, 0.8}, free), 125);
  EXPECT_DOUBLE_EQ(hidden.with({1, 1, 0.5}, free), 160);
  EXPECT_DOUBLE_EQ(hidden.with({2, 1, 1}, free), 80);
  EXPECT_DOUBLE_EQ(hidden.at_least({1, 1, 0.5}, free), 154);
  EXPECT_DOUBLE_EQ(hidden.at_most({1, 1, 0.5}, free), 166);
  // It binds, whatever they waited.
  const KernelPieces bound{100, 0, 20, 1.2};
  EXPECT_DOUBLE_EQ(bound.in_memory(), 120);
  EXPECT_DOUBLE_EQ(bound.with({2, 1, 1}, free), 120);
  EXPECT_DOUBLE_EQ(bound.with({1, 1, 0.5}, free), 240);
  EXPECT_DOUBLE_EQ(bound.with({1, 1, 2}, free), 100);
  // Beside a cap.
  const KernelPieces capped{80, 20, 0, 0.5};
  EXPECT_DOUBLE_EQ(capped.with({1, 1, 0.5}, {true, 0.5}), 100);
  EXPECT_DOUBLE_EQ(capped.with({1, 1, 0.25}, {true, 0.5}), 160);
}

/// Energy at a cap goes with the square of the clock, power with its cube: twice the rate is the clock's cube root of a
/// half.
TEST(KernelPieces, TakeTheirEnergyAtTheCap) {
  const ArrayPower capped{true, 0.5};
  const KernelPieces pieces{80, 20, 0};
  EXPECT_DOUBLE_EQ(pieces.with({}, capped), 100);
  EXPECT_NEAR(pieces.with({2, 1, 1}, capped), 100 / std::cbrt(4), 1e-9);
  EXPECT_DOUBLE_EQ(pieces.with({1, 2, 1}, capped), 80);
  EXPECT_DOUBLE_EQ(pieces.with({0.5, 1, 1}, capped), 160);
  // Below the lowest voltage power goes with the clock alone.
  EXPECT_NEAR(pieces.with({1e6, 1, 1}, capped), 100 * 0.25 / 0.64, 1e-9);
  EXPECT_NEAR(pieces.with({std::numeric_limits<double>::infinity(), 1, 1}, capped), 100 * 0.25 / 0.64, 1e-9);
  // A kernel that no cap slows down may be just below it.
  const KernelPieces below{100, 0, 0};
  EXPECT_DOUBLE_EQ(below.with({2, 1, 1}, capped), 50);
  EXPECT_NEAR(below.at_most({2, 1, 1}, capped), 100 / std::cbrt(4), 1e-9);
  // Half of the power is drawn all the time: 0.3 more of the cap is 0.6 more for the clock.
  const KernelPieces slow{60, 40, 0};
  EXPECT_NEAR(slow.with({1, 1.3, 1}, {true, 0.5, 0.5}), 60 / (0.6 * std::cbrt(1.6)), 1e-9);
  EXPECT_DOUBLE_EQ(slow.at_least({1, 1.3, 1}, {true, 0.5, 0.5}), 60);
  // Without its cap it would wait for memory: that counts as far as it is more than the cap takes.
  const KernelPieces streaming{50, 50, 100};
  EXPECT_DOUBLE_EQ(streaming.with({1, 1, 2}, capped), 200);
  EXPECT_DOUBLE_EQ(streaming.with({1, 1, 0.5}, capped), 300);
  EXPECT_DOUBLE_EQ(streaming.with({1, std::numeric_limits<double>::infinity(), 1}, capped), 150);
  EXPECT_DOUBLE_EQ(streaming.with({1, std::numeric_limits<double>::infinity(), 2}, capped), 75);
}

/// A cap of the clock takes no more from a faster array; power may, as far as nothing says how near it is.
TEST(KernelPieces, FollowTheCapThatBinds) {
  const KernelPieces by_clock{80, 0, 0, KernelPieces::kUnknown, 20};
  EXPECT_TRUE(by_clock.is_by_clock());
  EXPECT_DOUBLE_EQ(by_clock.with({}, {}), 100);
  EXPECT_DOUBLE_EQ(by_clock.with({2, 1, 1}, {}), 50);
  EXPECT_DOUBLE_EQ(by_clock.with({1, 1, 1, 1.1}, {}), 80 / 0.88);
  EXPECT_DOUBLE_EQ(by_clock.with({1, 1, 1, 2}, {}), 80);
  EXPECT_DOUBLE_EQ(by_clock.with({1, 1, 1, 0.5}, {}), 200);
  const ArrayPower both{true, 0.5, 0, 0.8};
  EXPECT_DOUBLE_EQ(by_clock.with({1, 2, 1}, both), 100);  // more power
  EXPECT_DOUBLE_EQ(by_clock.at_least({1, 2, 1}, both), 100);
  EXPECT_DOUBLE_EQ(by_clock.with({2, 1, 1}, both), 50);
  EXPECT_NEAR(by_clock.at_most({2, 1, 1}, both), 100 / std::cbrt(4), 1e-9);
  EXPECT_DOUBLE_EQ(by_clock.with({1, 1, 1, 1.1}, both), 80 / 0.88);
  EXPECT_NEAR(by_clock.at_most({1, 1, 1, 1.1}, both), 100, 1e-9);
  // Some of what it would wait at the full clock is behind the array at its clock.
  const KernelPieces waits{80, 0, 15, 0.5, 16};
  EXPECT_DOUBLE_EQ(waits.with({}, both), 111);
  EXPECT_DOUBLE_EQ(waits.with({2, 1, 1}, both), 61);
  EXPECT_DOUBLE_EQ(waits.with({1, 1, 2}, both), 105.5);
  // The cap slows down more than its own cores' work: what collectives have of them is told apart.
  const KernelPieces lost{40, 0, 0, 0, 30};
  EXPECT_DOUBLE_EQ(lost.with({}, both), 70);
  EXPECT_DOUBLE_EQ(lost.with({2, 1, 1}, both), 35);
  // Memory hides at the full clock what the array takes; at its clock the array binds until it is faster than memory.
  const KernelPieces hidden{1, 0, 19, 64, 12};
  EXPECT_DOUBLE_EQ(hidden.with({}, both), 32);
  EXPECT_DOUBLE_EQ(hidden.with({1.25, 1, 1}, both), 25.6);
  EXPECT_DOUBLE_EQ(hidden.with({2, 1, 1}, both), 20);
  EXPECT_DOUBLE_EQ(hidden.at_least({2, 1, 1}, both), 20);
  EXPECT_DOUBLE_EQ(hidden.with({1, 1, 2}, both), 32);
  EXPECT_DOUBLE_EQ(hidden.with({1, 1, 1, 1.1}, both), 32 / 1.1);
  // Power leaves less than the clock's cap: a higher one gains nothing, and more power gains until that binds.
  const KernelPieces by_power{60, 40, 0};
  EXPECT_DOUBLE_EQ(by_power.with({1, 1, 1, 2}, both), 100);
  EXPECT_DOUBLE_EQ(by_power.with({1, 100, 1}, both), 75);
  EXPECT_DOUBLE_EQ(by_power.at_least({1, 100, 1}, both), 75);
  EXPECT_DOUBLE_EQ(by_power.with({1, 1, 1, 0.5}, both), 150);
  // One that neither holds is slower below a lower cap.
  EXPECT_DOUBLE_EQ((KernelPieces{100, 0, 0}.with({1, 1, 1, 0.5}, {true, 0.5, 0, 1.2})), 100 / 0.6);
}

}  // namespace
}  // namespace weft::platforms
