// SPDX-License-Identifier: Apache-2.0
// One core with hardware threads, alone: how siblings slow each other, spinning, and conservation of work.
#include "sw/firmware/core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace weft::firmware {
namespace {

using namespace weft::literals;

constexpr std::int64_t kHalf = Core::kOne / 2;

TEST(Stretch, IsOneForOneThreadAndForThoseThatShareNothing) {
  for (const std::int64_t share : {std::int64_t{0}, kHalf, Core::kOne}) EXPECT_EQ(Core::stretch(share, 1), Core::kOne);
  for (const std::size_t running : {2U, 16U, 256U}) EXPECT_EQ(Core::stretch(0, running), Core::kOne);
}

TEST(Stretch, IsTheNumberOfThreadsWhereAllIsShared) {
  for (const std::size_t running : {2U, 3U, 16U, 256U}) {
    EXPECT_EQ(Core::stretch(Core::kOne, running), static_cast<std::int64_t>(running) * Core::kOne);
  }
}

// Bard and Schweitzer: who arrives at the server finds what the others have there on average.
TEST(Stretch, SolvesTheEquationOfMeanValueAnalysis) {
  for (const std::int64_t share : {100, 400, 1000, 2048, 4000}) {
    for (const std::size_t running : {2U, 4U, 16U, 64U}) {
      const double d = static_cast<double>(share) / Core::kOne;
      const double stretch = static_cast<double>(Core::stretch(share, running)) / Core::kOne;
      const double at_server = stretch - (1 - d);
      EXPECT_NEAR(at_server, d * (1 + static_cast<double>(running - 1) * at_server / stretch), 1e-2 * stretch);
      EXPECT_GE(stretch, std::max(1.0, d * static_cast<double>(running)) - 1e-3);
    }
  }
}

TEST(Stretch, GrowsWithThreadsAndWithWhatIsShared) {
  for (std::int64_t share = 256; share < Core::kOne; share += 256) {
    for (std::size_t running = 2; running < 32; ++running) {
      EXPECT_GT(Core::stretch(share, running), Core::stretch(share, running - 1));
      EXPECT_GT(Core::stretch(share, running), Core::stretch(share - 256, running));
    }
  }
}

TEST(Core, RunsOneThreadAtItsOwnSpeed) {
  Core core(1);
  core.begin(1, 100_ns, 40_ns);
  EXPECT_EQ(core.free_at(1), 100_ns);
  EXPECT_EQ(core.free_at(2), 100_ns);
  core.advance(30_ns);
  EXPECT_EQ(core.free_at(2), 100_ns);
  core.advance(100_ns);
  EXPECT_EQ(core.running(), 0U);
  EXPECT_LE(core.free_at(2), 100_ns);
}

TEST(Core, SlowsSiblingsAndConservesTheirWork) {
  Core core(2);
  core.begin(1, 100_ns, 100_ns);
  core.advance(20_ns);
  core.begin(2, 50_ns, 50_ns);
  // Both at half speed until 2 ends at 120 ns; 1 has done 70 ns by then and goes on alone.
  EXPECT_EQ(core.free_at(3), 120_ns);
  EXPECT_EQ(core.free_at(2), 120_ns);
  EXPECT_EQ(core.free_at(1), 150_ns);
  core.advance(120_ns);
  EXPECT_EQ(core.running(), 1U);
  EXPECT_EQ(core.free_at(1), 150_ns);
}

TEST(Core, DoesNotSlowThoseThatOnlyWaitForMemory) {
  Core core(4);
  for (std::uint32_t thread = 0; thread < 4; ++thread) core.begin(thread, 100_ns, Time());
  EXPECT_EQ(core.free_at(0), 100_ns);
  EXPECT_EQ(core.free_at(9), 100_ns);
}

TEST(Core, EndsRunsAtTheSameTimeHoweverOftenItIsAsked) {
  Core core(3);
  for (std::uint32_t thread = 0; thread < 3; ++thread) core.begin(thread, Time(1000 + thread), Time(700));
  const Time end = core.free_at(2);
  EXPECT_GT(end, Time(2100));
  for (Time now; now < end; now += 1_ps) {  // each step is shorter than it takes to do a picosecond of work
    core.advance(now);
    ASSERT_EQ(core.free_at(2), end) << now.count();
  }
  core.advance(end);
  EXPECT_EQ(core.running(), 0U);
}

TEST(Core, KeepsAHardwareThreadForOneThatSpins) {
  Core core(2);
  core.begin(1, 100_ns, 100_ns, kHalf);
  core.begin(2, Time(), Time(), kHalf);
  EXPECT_EQ(core.free_at(2), Time());  // its own, at once
  EXPECT_EQ(core.free_at(3), kNever);
  EXPECT_EQ(core.free_at(1), 200_ns);  // slowed by one that spins
  core.advance(300_ns);
  EXPECT_EQ(core.running(), 2U);
  core.stop(2);
  EXPECT_EQ(core.running(), 1U);
  EXPECT_LE(core.free_at(3), 300_ns);
}

TEST(Core, GoesOnFasterWhenASpinningThreadStops) {
  Core core(2);
  core.begin(2, Time(), Time(), kHalf);
  core.begin(1, 100_ns, 100_ns);
  core.advance(100_ns);
  core.stop(1);  // it does not spin
  EXPECT_EQ(core.free_at(1), 200_ns);
  core.stop(2);
  EXPECT_EQ(core.free_at(1), 150_ns);
}

}  // namespace
}  // namespace weft::firmware
