// SPDX-License-Identifier: Apache-2.0
// What is said of the time that is left: from the work that is left and the pace, and never more than before.
#include "platforms/cli/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::platforms {
namespace {

TEST(TimeLeft, IsOfTheWorkThatIsLeft) {
  TimeLeft left;
  EXPECT_EQ(left.text(), "");
  left.update(10, 0.1);
  EXPECT_EQ(left.text(), "90 s left");
  left.update(20, 0.2);
  EXPECT_EQ(left.text(), "80 s left");
  left.update(100, 1);
  EXPECT_EQ(left.text(), "0 s left");
}

/// The first tenth took as long as all of the rest will: an average of the whole run would say so only at its end.
TEST(TimeLeft, FollowsThePaceOfTheLatterHalf) {
  TimeLeft left;
  for (int second = 10; second <= 100; second += 10) left.update(second, 0.001 * second);
  EXPECT_EQ(left.text(), "15 min left");
  for (int second = 101; second <= 150; ++second) left.update(second, 0.1 + 0.01 * (second - 100));
  EXPECT_EQ(left.text(), "60 s left");  // 0.53 of the work in the 80 s since 70 s
  for (int second = 151; second <= 180; ++second) left.update(second, 0.1 + 0.01 * (second - 100));
  EXPECT_EQ(left.text(), "11 s left");
}

TEST(TimeLeft, DoesNotGrow) {
  TimeLeft left;
  left.update(10, 0.5);
  EXPECT_EQ(left.text(), "10 s left");
  // The pace falls to a tenth.
  double done = 0.5;
  for (int second = 11; second < 40; ++second) {
    left.update(second, done += 0.005);
    EXPECT_EQ(left.text(), "more than 10 s left") << second;
  }
  // Nothing is done: nothing is known.
  left.update(60, done);
  EXPECT_EQ(left.text(), "more than 10 s left");
  left.update(61, 1);
  EXPECT_EQ(left.text(), "0 s left");
}

TEST(TimeLeft, LongTimesAreInHours) {
  TimeLeft left;
  left.update(3600, 0.2);
  EXPECT_EQ(left.text(), "4.0 h left");
}

}  // namespace
}  // namespace weft::platforms
