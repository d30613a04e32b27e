// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/accelerator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/benches/accelerator_bench.h"
#include "tests/support/kernel.h"

namespace weft::accelerator {
namespace {

using namespace weft::literals;
using namespace test_bench;

TEST(Streams, RunInOrderAndKernelsTakeTheirTime) {
  Bench bench;
  for (std::uint64_t i = 0; i < 3; ++i) {
    bench.at(1_us, kernel(0, 5_us, 20_us));
    bench.at(1_us, notify(0, i));
  }
  bench.run();
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(bench.notified(i), 1_us + static_cast<std::int64_t>(i + 1) * 25_us);
  EXPECT_EQ(bench.done.written[0].address, 5u);
  EXPECT_EQ(bench.accelerator.counters().kernels, 3);
  EXPECT_EQ(bench.accelerator.counters().busy, 75_us);
  EXPECT_EQ(bench.accelerator.counters().computing, 60_us);
}

/// A product of its length and its slices goes beyond 64 bits.
TEST(Kernels, OfMinutesEndOnTime) {
  for (const char* length : {"21s", "22s", "300s", "9000s"}) {
    test::fresh_kernel();
    Bench bench;
    bench.at(1_us, kernel(0, 5_us, parse_time(length)));
    bench.at(1_us, notify(0, 1));
    bench.run();
    EXPECT_EQ(bench.notified(1), 1_us + 5_us + parse_time(length)) << length;
  }
}

TEST(Streams, ShareTheArrayInOrderOfReadiness) {
  Bench bench;
  for (std::uint32_t s = 0; s < 3; ++s) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      bench.at(1_us, kernel(s, Time(), 10_us));
      bench.at(1_us, notify(s, 10 * s + i));
    }
  }
  bench.run();
  for (std::uint32_t s = 0; s < 3; ++s) {
    EXPECT_EQ(bench.notified(10 * s), 1_us + (s + 1) * 10_us);
    EXPECT_EQ(bench.notified(10 * s + 1), 1_us + (s + 4) * 10_us);
  }
}

TEST(Streams, TakeACommandWhenItsDelayIsOver) {
  Bench bench;
  bench.script.at(1_us, [&] {
    bench.submit(notify(0, 1), 3_us);
    bench.submit(notify(1, 2), 2_us);
  });
  bench.run();
  EXPECT_EQ(bench.notified(1), 4_us);
  EXPECT_EQ(bench.notified(2), 3_us);
}

TEST(Semaphores, HoldAStreamUntilAnotherSignals) {
  Bench bench;
  bench.at(1_us, wait(0, 3, 2));
  bench.at(1_us, notify(0, 1));
  bench.at(1_us, kernel(1, Time(), 10_us));
  bench.at(1_us, signal(1, 3, 1));
  bench.at(1_us, kernel(1, Time(), 10_us));
  bench.at(1_us, signal(1, 3, 2));
  bench.run();
  EXPECT_EQ(bench.notified(1), 21_us);
  EXPECT_EQ(bench.accelerator.semaphore(3), 2u);
  EXPECT_EQ(bench.accelerator.semaphore(99), 0u);
}

TEST(Semaphores, CountWhatIsWaitedWhileTheArrayIsIdle) {
  Bench bench;
  bench.at(1_us, wait(0, 0, 1));
  bench.at(3_us, kernel(1, Time(), 10_us));
  bench.at(20_us, signal(Command::kImmediate, 0, 1));
  bench.run();
  EXPECT_EQ(bench.accelerator.counters().waited.at(0), 2_us + 7_us);
}

TEST(Semaphores, OnlyRise) {
  Bench bench;
  bench.at(1_us, signal(Command::kImmediate, 0, 7));
  bench.at(2_us, signal(Command::kImmediate, 0, 3));
  bench.at(3_us, wait(0, 0, 7));
  bench.at(3_us, notify(0, 1));
  bench.run();
  EXPECT_EQ(bench.accelerator.semaphore(0), 7u);
  EXPECT_EQ(bench.notified(1), 3_us);
}

TEST(Semaphores, PassAChainOfStreamsAtOnce) {
  Bench bench;
  for (std::uint32_t s = 0; s < 4; ++s) {
    bench.at(1_us, wait(s, s, 1));
    bench.at(1_us, signal(s, s + 1, 1));
    bench.at(1_us, notify(s, s));
  }
  bench.at(5_us, signal(Command::kImmediate, 0, 1));
  bench.run();
  for (std::uint64_t s = 0; s < 4; ++s) EXPECT_EQ(bench.notified(s), 5_us);
}

TEST(LeftOver, NamesTheSemaphoreAndItsValue) {
  Bench bench;
  bench.at(1_us, wait(2, 9, 5));
  bench.at(1_us, notify(2, 1));
  bench.at(2_us, signal(Command::kImmediate, 9, 4));
  sc_core::sc_start();
  EXPECT_EQ(bench.accelerator.left_over(),
            (std::vector<std::string>{
                "accelerator: stream 2 holds 2 commands, the first waits for semaphore 9 to reach 5, which is at 4"}));
}

// --- Kernels and memory ---

TEST(Kernels, TakeTheLongerOfComputingAndMoving) {
  const auto time_of = [](const Command& command) {
    test::fresh_kernel();
    Bench bench;
    bench.at(Time(), command);
    bench.at(Time(), notify(0, 1));
    bench.run();
    return bench.notified(1);
  };
  constexpr std::uint64_t k100us = 100'000'000;  // bytes
  EXPECT_EQ(time_of(kernel(0, 5_us, 300_us, k100us, k100us)), 305_us);
  EXPECT_EQ(time_of(kernel(0, 5_us, 300_us, 3 * k100us, k100us)), 405_us);
  EXPECT_EQ(time_of(kernel(0, 5_us, 1_us, 3 * k100us, k100us)), 405_us);
  EXPECT_EQ(time_of(kernel(0, 5_us, Time(), 0, k100us)), 105_us);
  EXPECT_EQ(time_of(kernel(0, 5_us, Time())), 5_us);
  // More than the 32 bits of a generic payload's length.
  EXPECT_EQ(time_of(kernel(0, Time(), Time(), 60 * k100us)), 6000_us);
}

/// Time of a kernel of `compute` that reads 4 ms worth of memory while another master takes half of the memory all
/// along.
Time time_beside_a_reader(Time compute) {
  Bench bench;
  bench.at(Time(), kernel(0, Time(), compute, 4'000'000'000));
  bench.at(Time(), notify(0, 1));
  // Every 2 us a read of 1 us, whether or not the last one is done.
  for (std::int64_t i = 0; i < 5000; ++i) {
    bench.script.at(Time(i * 2'000'000), [&] { bench.other.read(0, nullptr, 1'000'000); });
  }
  bench.run();
  return bench.notified(1);
}

// Half of the memory is left, so it takes 8 ms, less what the last slices do not notice.
TEST(Kernels, BoundByMemorySlowDownBesideAnotherMaster) {
  EXPECT_NEAR(static_cast<double>(time_beside_a_reader(3_ms).count()) * 1e-9, 8.0, 0.4);
}

TEST(Kernels, ThatOnlyMoveSlowDownBesideAnotherMasterToo) {
  EXPECT_NEAR(static_cast<double>(time_beside_a_reader(1_us).count()) * 1e-9, 8.0, 0.8);
}

TEST(Kernels, BoundByComputingDoNot) {
  Bench bench;
  bench.at(Time(), kernel(0, Time(), 1000_us, 100'000'000));
  bench.at(Time(), notify(0, 1));
  for (std::int64_t i = 0; i < 500; ++i) {
    bench.script.at(Time(i * 2'000'000), [&] { bench.other.read(0, nullptr, 1'000'000); });
  }
  bench.run();
  EXPECT_EQ(bench.notified(1), 1000_us);
}

// --- Copy engines ---

TEST(CopyEngines, MoveBytes) {
  Bench bench;
  const auto bytes = test::pattern_bytes(100'001, 4);
  bench.hbm.store().write(1000, bytes.data(), bytes.size());
  bench.at(1_us, copy(Operation::kCopy, 0, 1000, 0, 5'000'003, 100'001, ElementType::kFp32, 8));
  bench.run();
  std::vector<std::byte> back(bytes.size());
  bench.hbm.store().read(5'000'003, back.data(), back.size());
  EXPECT_TRUE(back == bytes);
  EXPECT_NE(bench.notified(8), kNever);
  EXPECT_EQ(bench.accelerator.counters().copies, 1);
  EXPECT_EQ(bench.accelerator.counters().copied_bytes, 100'001);
}

TEST(CopyEngines, TakeOverheadAndRateAndQueueByEngine) {
  Accelerator::Config config;
  config.copy_rate = 50_GBps;  // 20 ps a byte: slower than the memory's three passes
  config.copy_overhead = 1_us;
  Bench bench(config);
  bench.at(1_us, copy(Operation::kCopy, 0, 0, 0, 1 << 20, 100'000, ElementType::kFp32, 1));
  bench.at(1_us, copy(Operation::kCopy, 0, 0, 0, 1 << 20, 100'000, ElementType::kFp32, 2));
  bench.at(1_us, copy(Operation::kReduce, 1, 0, 0, 2 << 20, 100'000, ElementType::kFp32, 3));
  bench.run();
  EXPECT_EQ(bench.notified(1), 1_us + 1_us + 2_us);
  EXPECT_EQ(bench.notified(2), 1_us + 2 * 3_us);
  EXPECT_EQ(bench.notified(3), 1_us + 1_us + 2_us);
  EXPECT_EQ(bench.accelerator.counters().copying, (std::vector<Time>{6_us, 3_us}));
}

TEST(CopyEngines, AreHeldUpByTheMemory) {
  Accelerator::Config config;
  config.copy_rate = 100'000_GBps;
  config.copy_overhead = Time();
  Bench bench(config);
  bench.at(1_us, copy(Operation::kReduce, 0, 0, 0, 1 << 20, 100'000, ElementType::kFp32, 1));
  bench.run();
  EXPECT_EQ(bench.notified(1), 1_us + 300_ns);  // two reads and a write
}

// Nine lines of 128 bytes have 1,000 bytes and the flags.
TEST(CopyEngines, NeedNoStartForWhatHasFlags) {
  Accelerator::Config config;
  config.copy_rate = 50_GBps;
  config.copy_overhead = 1_us;
  for (const auto& [flags, bytes_moved] : {std::pair{Flags::kWords, 2000}, {Flags::kLines, 9 * 128}}) {
    test::fresh_kernel();
    Bench bench(config);
    const auto bytes = test::pattern_bytes(1000, 4);
    bench.hbm.store().write(0, bytes.data(), bytes.size());
    Command command = copy(Operation::kCopy, 0, 0, 0, 1 << 20, 1000, ElementType::kFp32, 1);
    command.flags = flags;
    bench.at(1_us, command);
    bench.run();
    EXPECT_EQ(bench.notified(1), 1_us + Time(bytes_moved * 20));
    std::vector<std::byte> back(bytes.size());
    bench.hbm.store().read(1 << 20, back.data(), back.size());
    EXPECT_TRUE(back == bytes);
  }
}

TEST(CopyEngines, TakeLinesThroughTheMemoryAndWordsThroughTheCache) {
  Accelerator::Config config;
  config.copy_rate = 100'000_GBps;
  for (const auto& [flags, time] : {std::pair{Flags::kWords, 2_ns}, {Flags::kLines, 300_ns}}) {
    test::fresh_kernel();
    Bench bench(config);
    Command command = copy(Operation::kReduce, 0, 0, 0, 1 << 20, 100'000, ElementType::kFp32, 1);
    command.flags = flags;
    bench.at(1_us, command);
    bench.run();
    EXPECT_EQ(bench.notified(1), 1_us + time);
  }
}

TEST(CopyEngines, KeepTheirPlaceInAStream) {
  Accelerator::Config config;
  config.copy_rate = 1000_GBps;
  config.copy_overhead = 1_us;
  Bench bench(config);
  Command first = copy(Operation::kCopy, 0, 0, 0, 1 << 20, 0);
  first.stream = 1;
  bench.at(1_us, kernel(1, Time(), 10_us));
  bench.at(1_us, first);
  bench.at(1_us, notify(1, 1));
  bench.run();
  EXPECT_EQ(bench.notified(1), 12_us);
  EXPECT_EQ(bench.done.written.size(), 1u);  // a copy in a stream tells nobody by itself
}

template <typename T>
std::vector<T> reduced(ElementType type, const std::vector<T>& a, const std::vector<T>& b) {
  test::fresh_kernel();
  Bench bench;
  const std::size_t bytes = a.size() * sizeof(T);
  bench.hbm.store().write(0, reinterpret_cast<const std::byte*>(a.data()), bytes);
  bench.hbm.store().write(1 << 20, reinterpret_cast<const std::byte*>(b.data()), bytes);
  bench.at(1_us, copy(Operation::kReduce, 0, 0, 1 << 20, 2 << 20, bytes, type));
  bench.run();
  std::vector<T> sum(a.size());
  bench.hbm.store().read(2 << 20, reinterpret_cast<std::byte*>(sum.data()), bytes);
  return sum;
}

TEST(Reduction, OfInt32Wraps) {
  EXPECT_EQ(reduced<std::int32_t>(ElementType::kInt32, {1, -5, INT32_MAX, INT32_MIN}, {2, 3, 1, -1}),
            (std::vector<std::int32_t>{3, -2, INT32_MIN, INT32_MAX}));
}

TEST(Reduction, OfFp32IsIeeeAddition) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto sum = reduced<float>(ElementType::kFp32, {1.5F, 1e8F, 0x1p-149F, infinity, infinity, NAN},
                                  {2.25F, 1.0F, 0x1p-149F, 1.0F, -infinity, 1.0F});
  EXPECT_EQ(sum[0], 3.75F);
  EXPECT_EQ(sum[1], 1e8F);
  EXPECT_EQ(sum[2], 0x1p-148F);
  EXPECT_EQ(sum[3], infinity);
  EXPECT_TRUE(std::isnan(sum[4]));
  EXPECT_TRUE(std::isnan(sum[5]));
}

TEST(Reduction, OfBf16RoundsToNearestEvenOnce) {
  // 1 + 2^-8 lies half-way between 1 and 1 + 2^-7: to even, down; 1 + 2^-7 + 2^-8: to even, up.
  constexpr std::uint16_t kOne = 0x3f80;
  constexpr std::uint16_t kHalfUlp = 0x3b80;  // 2^-8
  constexpr std::uint16_t kAboveHalf = 0x3b81;
  constexpr std::uint16_t kInfinity = 0x7f80;
  constexpr std::uint16_t kLargest = 0x7f7f;
  const auto sum = reduced<std::uint16_t>(
      ElementType::kBf16, {kOne, kOne + 1, kOne, kLargest, kInfinity, kInfinity, 0x7f81, 0xc000, 0x8000},
      {kHalfUlp, kHalfUlp, kAboveHalf, kLargest, kOne, kInfinity | 0x8000, kOne, 0x4000, 0x8000});
  EXPECT_EQ(sum[0], kOne);
  EXPECT_EQ(sum[1], kOne + 2);
  EXPECT_EQ(sum[2], kOne + 1);
  EXPECT_EQ(sum[3], kInfinity);
  EXPECT_EQ(sum[4], kInfinity);
  for (const std::size_t nan : {5U, 6U}) {
    EXPECT_EQ(sum[nan] & 0x7f80, 0x7f80) << nan;
    EXPECT_NE(sum[nan] & 0x007f, 0) << nan;
    EXPECT_NE(sum[nan] & 0x0040, 0) << nan << " is not quiet";
  }
  EXPECT_EQ(sum[7], 0x0000);  // -2 + 2 is +0
  EXPECT_EQ(sum[8], 0x8000);  // -0 + -0
}

TEST(Reduction, MayBeInPlaceAndLeavesWhatFillsNoElement) {
  std::vector<std::byte> a(10, std::byte{1});
  const std::vector<std::byte> b(10, std::byte{2});
  add(ElementType::kInt32, a.data(), b.data(), a.data(), 10);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(a[i], std::byte{3});
  EXPECT_EQ(a[8], std::byte{1});
  EXPECT_EQ(a[9], std::byte{1});
}

// ---- Core partitions

TEST(Pace, SpreadsAsAsked) {
  constexpr int kAccelerators = 10'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kAccelerators; ++i) {
    const std::string name = "accelerator" + std::to_string(i);
    const double speed = static_cast<double>(kEvenPace) / static_cast<double>(draw_pace(0.02, 1, name)) - 1;
    sum += speed;
    squares += speed * speed;
    EXPECT_EQ(draw_pace(0, 1, name), kEvenPace);
  }
  EXPECT_NEAR(sum / kAccelerators, 0, 0.001);
  EXPECT_NEAR(std::sqrt(squares / kAccelerators), 0.02, 0.0005);
  EXPECT_NE(draw_pace(0.02, 1, "a"), draw_pace(0.02, 2, "a"));
}

TEST(Pace, IsThatOfComputingAndNotOfMemory) {
  Accelerator::Config config;
  config.speed_spread = 0.02;
  Bench bench(config);
  const std::int64_t pace = draw_pace(0.02, 0, bench.accelerator.name());
  ASSERT_NE(pace, kEvenPace);
  bench.at(1_us, kernel(0, Time(), 40_us));
  bench.at(1_us, notify(0, 0));
  bench.at(1_us, kernel(0, Time(), Time(), 10'000'000));
  bench.at(1_us, notify(0, 1));
  bench.run();
  EXPECT_EQ(bench.notified(0), 1_us + Time(40 * pace));
  EXPECT_EQ(bench.notified(1) - bench.notified(0), 10_us);
}

TEST(Energy, IsCountedByKernel) {
  Bench bench;
  Command command = kernel(0, Time(), 5_us);
  command.energy = 0.25;
  bench.at(1_us, command);
  bench.at(1_us, command);
  bench.run();
  EXPECT_DOUBLE_EQ(bench.accelerator.counters().energy, 0.5);
}

TEST(Registers, RefuseWhatIsNoCommand) {
  Bench bench;
  bench.script.at(1_us, [&] {
    Command command = notify(0, 1);
    bench.window.write(kCommandWindow + 8, &command, sizeof command);
    EXPECT_EQ(bench.window.status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    bench.window.write(kCommandWindow, &command, 8);
    EXPECT_EQ(bench.window.status(), tlm::TLM_BURST_ERROR_RESPONSE);
    bench.window.read(kCommandWindow, &command, sizeof command);
    EXPECT_EQ(bench.window.status(), tlm::TLM_COMMAND_ERROR_RESPONSE);
    command.stream = 4;
    bench.window.write(kCommandWindow, &command, sizeof command);
    EXPECT_EQ(bench.window.status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
    command = on_cores(133, kernel(0, Time(), 1_us));
    bench.window.write(kCommandWindow, &command, sizeof command);
    EXPECT_EQ(bench.window.status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
    command = copy(Operation::kCopy, 16, 0, 0, 0, 0);
    bench.window.write(kCommandWindow, &command, sizeof command);
    EXPECT_EQ(bench.window.status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
  });
  bench.run();
  EXPECT_TRUE(bench.done.written.empty());
}

}  // namespace
}  // namespace weft::accelerator
