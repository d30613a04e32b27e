// SPDX-License-Identifier: Apache-2.0
// Links whose rates and flights vary.
#include <gtest/gtest.h>

#include "hw/fabric/fault.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;

// Shares are drawn by period, the same for the same seed, and evenly.
TEST(LinkFaults, RatesVaryByPeriod) {
  LinkFaults faults(Random(1, "a link"));
  faults.add({.from = 2_us, .rate = 0.25, .every = 1_us});
  EXPECT_EQ(faults.stretched(1_us, 100_ns), 100_ns);
  EXPECT_EQ(faults.stretched(2_us, 100_ns), faults.stretched(2_us + 999_ns, 100_ns));
  double sum = 0;
  constexpr int kPeriods = 4000;
  for (int i = 0; i < kPeriods; ++i) {
    const Time length = faults.stretched(2_us + i * 1_us, 1_us);
    EXPECT_GE(length, 1_us);
    EXPECT_LE(length, 4_us);
    sum += 1e6 / static_cast<double>(length.count());
  }
  EXPECT_NEAR(sum / kPeriods, 0.625, 0.01);
  LinkFaults same(Random(1, "a link"));
  LinkFaults other(Random(2, "a link"));
  same.add({.from = 2_us, .rate = 0.25, .every = 1_us});
  other.add({.from = 2_us, .rate = 0.25, .every = 1_us});
  EXPECT_EQ(same.stretched(9_us, 1_us), faults.stretched(9_us, 1_us));
  EXPECT_NE(other.stretched(9_us, 1_us), faults.stretched(9_us, 1_us));
}

TEST(LinkFaults, FlightsAreLongerByUpToTheJitter) {
  LinkFaults faults(Random(1, "a link"));
  faults.add({.until = 10_us, .jitter = 5_us});
  Time sum;
  constexpr int kPackets = 4000;
  for (int i = 0; i < kPackets; ++i) {
    const Time more = faults.jitter(1_us);
    EXPECT_LT(more, 5_us);
    sum += more;
  }
  EXPECT_NEAR(static_cast<double>((sum / kPackets).count()), 2.5e6, 0.1e6);
  EXPECT_EQ(faults.jitter(10_us), Time());
}

}  // namespace
}  // namespace weft::fabric
