// SPDX-License-Identifier: Apache-2.0
// What the critical path says of kernels that a cap of power or clock slows down.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <ostream>

#include "hw/accelerator/accelerator.h"
#include "hw/accelerator/kernel.h"
#include "hw/accelerator/kernel_command.h"
#include "hw/core/cause/causes.h"
#include "tests/support/benches/accelerator_bench.h"

namespace weft::accelerator {
namespace {

using namespace weft::literals;
using namespace test_bench;

using Sums = std::map<CauseKind, Time>;

Accelerator::Config in_slices(bool shared_cores) {
  Accelerator::Config config;
  config.slice = 10_us;
  config.shared_cores = shared_cores;
  return config;
}

/// A kernel of 40 us, of which a cap adds `capped`; a byte takes a picosecond.
Command capped_kernel(Time capped, std::uint64_t bytes) {
  Command command = kernel(0, Time(), 40_us, bytes);
  command.capped_ps = capped.count();
  return command;
}

Command with_cores(Operation operation, std::uint32_t count) {
  Command command;
  command.operation = operation;
  command.stream = Command::kImmediate;
  command.cores = count;
  return command;
}

/// What the path goes to, whose pieces add up to its end.
Sums sums_of(const Causes& causes) {
  Sums sums;
  Time before;
  for (const Causes::Step& step : causes.path(kNever)) {
    EXPECT_GE(Time(step.until), before);
    sums[step.kind] += Time(step.until) - before;
    before = Time(step.until);
  }
  return sums;
}

struct Capped {
  const char* name;
  std::uint64_t bytes;
  Time capped;  ///< of 40 us
  Time computing;
  Time memory;
  Time cap;
};

std::ostream& operator<<(std::ostream& out, const Capped& tested) {
  return out << tested.name;
}

class CappedKernel : public testing::TestWithParam<Capped> {};

/// And without the cap the kernel takes that much less.
TEST_P(CappedKernel, HasWhatItTakesLongerAsTheCaps) {
  const Capped& c = GetParam();
  Bench bench(in_slices(false));
  const Causes& causes = bench.dispatcher.keep_causes();
  bench.at(1_us, capped_kernel(c.capped, c.bytes));
  bench.at(1_us, notify(0, 1));
  bench.run();
  Sums sums = sums_of(causes);
  EXPECT_EQ(sums[CauseKind::kKernel], c.computing);
  EXPECT_EQ(sums[CauseKind::kMemory], c.memory);
  EXPECT_EQ(sums[CauseKind::kCap], c.cap);
  EXPECT_EQ(c.computing + c.memory + c.cap, bench.notified(1) - 1_us);
}

TEST_P(CappedKernel, TakesThatMuchLessWithoutIt) {
  const Capped& c = GetParam();
  Bench bench(in_slices(false));
  bench.at(1_us, kernel(0, Time(), 40_us - c.capped, c.bytes));
  bench.at(1_us, notify(0, 1));
  bench.run();
  EXPECT_EQ(bench.notified(1) - 1_us, c.computing + c.memory);
}

INSTANTIATE_TEST_SUITE_P(Bound, CappedKernel,
                         testing::Values(Capped{"ByArithmetic", 4'000'000, 30_us, 10_us, 0_us, 30_us},
                                         Capped{"ByNothingElse", 0, 30_us, 10_us, 0_us, 30_us},
                                         Capped{"ByHbm", 24'000'000, 30_us, 10_us, 14_us, 16_us},
                                         Capped{"ByHbmAlone", 24'000'000, 40_us, 0_us, 24_us, 16_us},
                                         Capped{"ByHbmUnderTheCapAsWell", 80'000'000, 30_us, 10_us, 70_us, 0_us},
                                         Capped{"ByNoCap", 24'000'000, 0_us, 40_us, 0_us, 0_us}),
                         [](const auto& drawn) { return drawn.param.name; });

/// Cores that collectives have make it longer at the full clock too.
TEST(CappedKernels, LoseCoresAsTheyWouldAtTheFullClock) {
  Bench bench(in_slices(true));
  const Causes& causes = bench.dispatcher.keep_causes();
  bench.at(1_us, with_cores(Operation::kKeepCores, 12));
  bench.at(2_us, capped_kernel(20_us, 0));
  bench.at(2_us, notify(0, 1));
  bench.run();
  EXPECT_EQ(bench.notified(1), 2_us + 44_us);
  Sums sums = sums_of(causes);
  EXPECT_EQ(sums[CauseKind::kKernel], 20_us);
  EXPECT_EQ(sums[CauseKind::kLostCores], 2_us);
  EXPECT_EQ(sums[CauseKind::kCap], 22_us);
}

/// Late blocks take as long again, cap and all.
TEST(CappedKernels, HaveLateBlocksThatAreCappedToo) {
  Bench bench(in_slices(true));
  const Causes& causes = bench.dispatcher.keep_causes();
  Command product = capped_kernel(20_us, 0);
  product.blocks = 132;
  bench.at(1_us, with_cores(Operation::kKeepCores, 12));
  bench.at(2_us, product);
  bench.at(2_us, notify(0, 1));
  bench.run();
  EXPECT_EQ(bench.notified(1), 2_us + 80_us);
  Sums sums = sums_of(causes);
  EXPECT_EQ(sums[CauseKind::kKernel], 20_us);
  EXPECT_EQ(sums[CauseKind::kLostCores], 20_us);
  EXPECT_EQ(sums[CauseKind::kCap], 40_us);
}

/// A slow accelerator computes longer, and so does what a cap adds there.
TEST(CappedKernels, AreAsSlowAsTheirAccelerator) {
  Accelerator::Config config = in_slices(false);
  config.speed_spread = 0.1;
  Bench bench(config);
  const Causes& causes = bench.dispatcher.keep_causes();
  bench.at(1_us, capped_kernel(20_us, 0));
  bench.at(1_us, notify(0, 1));
  bench.run();
  Sums sums = sums_of(causes);
  EXPECT_NE(bench.notified(1), 41_us);
  EXPECT_EQ(sums[CauseKind::kKernel] + sums[CauseKind::kCap], bench.notified(1) - 1_us);
  EXPECT_EQ(sums[CauseKind::kKernel], sums[CauseKind::kCap]);
}

/// Its pauses are the cap's, where no clock is lower than the full one.
TEST(CappedKernels, PauseAtTheFullClock) {
  ComputeConfig config;
  config.lowest_clock = config.clock;
  config.power.cap = 400_W;
  const KernelWork work = kernel_work(config, Gemm{.m = 8192, .n = 8192, .k = 8192});
  ASSERT_EQ(work.clock, 1);
  ASSERT_GT(work.paused, Time());
  const Command command = kernel_command(0, nullptr, work);
  EXPECT_EQ(command.compute_ps - command.capped_ps, work.uncapped.compute.count());
}

}  // namespace
}  // namespace weft::accelerator
