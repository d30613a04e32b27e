// SPDX-License-Identifier: Apache-2.0
// Caps of clock and power on kernels.
#include <gtest/gtest.h>

#include <vector>

#include "hw/accelerator/kernel.h"

namespace weft::accelerator {
namespace {

using namespace weft::literals;

const ComputeConfig kGpu;
const Gemm kCube{.m = 8192, .n = 8192, .k = 8192};
constexpr FlashAttention kAttention{.heads = 32, .kv_heads = 8, .seq = 8192};

double seconds_of(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}
Time time_of(const KernelWork& work) {
  return estimate(work, kGpu.planned_memory);
}
double watts_of(const ComputeConfig& config, const KernelWork& work) {
  return energy(config.power, work, kGpu.planned_memory) / seconds_of(time_of(work));
}
Time part(const KernelWork& work, Cost cost) {
  for (const auto& [each, time] : breakdown(work, kGpu.planned_memory)) {
    if (each == cost) return time;
  }
  return {};
}
ComputeConfig held_to(Frequency clock, Power power = {}) {
  ComputeConfig config = kGpu;
  config.clock_cap = clock;
  config.power.cap = power;
  return config;
}

TEST(ClockCap, HalfOfTheClockDoublesWhatTheArrayDoes) {
  const ComputeConfig half = held_to(915_MHz);
  const auto ratio = [&](const auto& shape) {
    const KernelWork work = kernel_work(half, shape);
    EXPECT_EQ(work.clock, 0.5);
    EXPECT_EQ(part(work, Cost::kClockCap), kernel_work(kGpu, shape).compute);
    EXPECT_EQ(work.launch, kernel_work(kGpu, shape).launch);
    return seconds_of(work.compute) / seconds_of(kernel_work(kGpu, shape).compute);
  };
  EXPECT_NEAR(ratio(kCube), 2, 1e-9);
  EXPECT_NEAR(ratio(kAttention), 2, 1e-9);
  EXPECT_NEAR(ratio(Elementwise{.elements = 1 << 28, .flops_per_element = 1000}), 2, 1e-9);
  EXPECT_NEAR(ratio(Cholesky{.n = 128}), 2, 1e-9);
  // HBM has a clock of its own.
  EXPECT_EQ(time_of(kernel_work(half, Copy{1_GiB})), time_of(kernel_work(kGpu, Copy{1_GiB})));
}

TEST(ClockCap, SlowsTheLastLevelCacheUntilItBoundsStreams) {
  const KernelWork full = kernel_work(kGpu, Copy{1_GiB});
  const KernelWork slow = kernel_work(held_to(366_MHz), Copy{1_GiB});
  EXPECT_NEAR(seconds_of(slow.cache) / seconds_of(full.cache), 5, 1e-9);
  EXPECT_EQ(breakdown(full, kGpu.planned_memory).front().first, Cost::kMemory);
  // The cap takes what the slower cache adds to the time that HBM takes.
  EXPECT_EQ(part(slow, Cost::kMemory), part(full, Cost::kMemory));
  EXPECT_EQ(part(slow, Cost::kClockCap), time_of(slow) - time_of(full));
  EXPECT_GT(part(slow, Cost::kClockCap), Time());
}

TEST(ClockCap, TakesWhatItAddsToKernelsThatHbmBounds) {
  const Gemm flat{.m = 16, .n = 16384, .k = 16384};
  const KernelWork full = kernel_work(kGpu, flat);
  ASSERT_EQ(breakdown(full, kGpu.planned_memory).front().first, Cost::kMemory);
  const KernelWork slow = kernel_work(held_to(345_MHz), flat);
  ASSERT_GT(slow.compute, part(full, Cost::kMemory));
  EXPECT_EQ(part(slow, Cost::kClockCap), time_of(slow) - time_of(full));
  const KernelWork both = kernel_work(held_to(900_MHz, 150_W), flat);
  EXPECT_EQ(part(both, Cost::kClockCap), time_of(kernel_work(held_to(900_MHz), flat)) - time_of(full));
  EXPECT_EQ(part(both, Cost::kPowerCap), time_of(both) - time_of(kernel_work(held_to(900_MHz), flat)));
}

TEST(ClockCap, LowerOnesTakeLongerAndNoMoreEnergyForOperations) {
  Time last;
  double joules = kernel_work(kGpu, kCube).array_energy;
  for (const Frequency clock : {0_MHz, 1980_MHz, 1830_MHz, 1600_MHz, 1400_MHz, 1200_MHz, 900_MHz, 345_MHz}) {
    const KernelWork work = kernel_work(held_to(clock), kCube);
    if (clock == 0_MHz || clock >= kGpu.clock) {
      EXPECT_EQ(work.compute, kernel_work(kGpu, kCube).compute);
    } else {
      EXPECT_GT(work.compute, last);
    }
    EXPECT_LE(work.array_energy, joules);
    last = work.compute;
    joules = work.array_energy;
  }
  // The voltage stops to fall at its lowest.
  const double least = kGpu.power.lowest_voltage * kGpu.power.lowest_voltage;
  EXPECT_DOUBLE_EQ(joules, kernel_work(kGpu, kCube).array_energy * least);
}

TEST(ClockCap, TheLowerOfBothCapsCounts) {
  const KernelWork by_power = kernel_work(held_to(0_MHz, 500_W), kCube);
  ASSERT_LT(by_power.clock, 0.8);
  const KernelWork high = kernel_work(held_to(1600_MHz, 500_W), kCube);
  EXPECT_NEAR(high.clock, by_power.clock, 1e-9);
  EXPECT_GT(part(high, Cost::kClockCap), Time());
  EXPECT_GT(part(high, Cost::kPowerCap), Time());
  const KernelWork low = kernel_work(held_to(900_MHz, 500_W), kCube);
  EXPECT_EQ(low.clock, 900.0 / 1830);
  EXPECT_EQ(part(low, Cost::kPowerCap), Time());
  EXPECT_EQ(low.compute, kernel_work(held_to(900_MHz), kCube).compute);
}

TEST(ClockCap, HoldsProductsThatAddUpWithinAFactorisation) {
  const KernelWork full = kernel_work(kGpu, Inverse{.n = 1024});
  const KernelWork half = kernel_work(held_to(915_MHz), Inverse{.n = 1024});
  EXPECT_NEAR(seconds_of(half.compute) / seconds_of(full.compute), 2, 1e-6);
}

TEST(PowerCap, HoldsKernelsThatHbmBounds) {
  const double free = watts_of(kGpu, kernel_work(kGpu, Copy{1_GiB}));
  EXPECT_GT(free, 500);
  for (const Power cap : {450_W, 300_W, 200_W, 150_W}) {
    const ComputeConfig config = held_to(0_MHz, cap);
    const KernelWork work = kernel_work(config, Copy{1_GiB});
    EXPECT_NEAR(watts_of(config, work), watts(cap), 0.1);
    EXPECT_EQ(work.memory_energy, kernel_work(kGpu, Copy{1_GiB}).memory_energy);
    // First the cache is too slow at the clock that is left, then the array pauses.
    EXPECT_EQ(work.paused > Time(), cap <= 200_W);
    EXPECT_EQ(part(work, Cost::kPowerCap), time_of(work) - time_of(kernel_work(kGpu, Copy{1_GiB})));
  }
  // What draws no more than the cap is not slowed.
  EXPECT_EQ(kernel_work(held_to(0_MHz, 600_W), Copy{1_GiB}).compute, kernel_work(kGpu, Copy{1_GiB}).compute);
}

/// The rate that tiles are chosen for says nothing about how long a kernel really lasts.
TEST(PowerCap, FollowsTheMemoryThatThereIs) {
  const Rate memory = 3082_GBps;
  for (const Rate planned : {50_GBps, 500_GBps, 3080_GBps, 30'000_GBps}) {
    ComputeConfig config = held_to(0_MHz, 500_W);
    config.planned_memory = planned;
    config.memory = memory;
    const KernelWork work = kernel_work(config, kCube);
    EXPECT_LE(energy(config.power, work, memory) / seconds_of(estimate(work, memory)), 500.1);
  }
}

TEST(PowerCap, PausesBelowTheLowestClock) {
  Time last;
  for (const Power cap : {500_W, 300_W, 250_W, 200_W, 150_W, 140_W}) {
    const ComputeConfig config = held_to(0_MHz, cap);
    const KernelWork work = kernel_work(config, kCube);
    EXPECT_NEAR(watts_of(config, work), watts(cap), 0.1);
    EXPECT_GE(work.clock, 345.0 / 1830);
    EXPECT_EQ(work.paused > Time(), cap <= 200_W) << to_text(cap);
    if (work.paused > Time()) {
      EXPECT_DOUBLE_EQ(work.clock, 345.0 / 1830);
    }
    EXPECT_GT(work.compute, last);
    last = work.compute;
  }
}

TEST(CapCheck, SaysWhatTheBoardTakes) {
  const auto message_of = [](const ComputeConfig& config) -> std::string {
    try {
      check(config, "compute");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message_of(held_to(345_MHz, 200_W)), "none");
  EXPECT_EQ(message_of(held_to(100_MHz)),
            "compute.clock_cap: expected 0 or at least the lowest clock, 345MHz, got 100MHz");
  EXPECT_EQ(message_of(held_to(0_MHz, 100_W)),
            "compute.power.cap: expected 0 or at least what the board takes, 200W, got 100W");
  ComputeConfig open = held_to(0_MHz, 80_W);
  open.power.lowest_cap = 0_W;
  EXPECT_EQ(message_of(open), "compute.power.cap: expected 0 or more than what the part draws idle, 133W, got 80W");
}

}  // namespace
}  // namespace weft::accelerator
