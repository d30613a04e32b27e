// SPDX-License-Identifier: Apache-2.0
// Firmware on cores of several hardware threads: event-driven and polling, and the rates of a data-path accelerator.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "platforms/commands/dpa_bench.h"
#include "platforms/config/document.h"
#include "tests/support/benches/firmware_bench.h"

namespace weft {
namespace {

using firmware::CompletionQueue;
using firmware::Placement;
using firmware::Processor;
using firmware::Task;
using firmware::Wait;
using platforms::DpaBench;
using namespace weft::literals;

// ---- Threads of one core

Processor::Config one_core(int threads, Wait wait) {
  Processor::Config config;
  config.cores = 1;
  config.threads = threads;
  config.clock = 1000_MHz;  // 1 ns a cycle
  config.wake_cycles = 100;
  config.post_cycles = config.poll_cycles = 0;
  config.access_cycles = 0;
  config.port_cycles = 10;
  config.wait = wait;
  return config;
}

struct ProcessorBench : test::FirmwareBench {
  using FirmwareBench::FirmwareBench;

  std::vector<Time> done;
};

Task take_and_work(ProcessorBench& bench, CompletionQueue& queue, std::int64_t cycles) {
  co_await queue.next();
  bench.processor.charge(cycles);
  bench.done.push_back(bench.processor.now());
}

Task work(ProcessorBench& bench, std::int64_t cycles) {
  bench.processor.charge(cycles);
  co_await bench.processor.delay(1_ps);
  bench.done.push_back(bench.processor.now());
}

TEST(HardwareThreads, RunAtATimeAndShareThePipeline) {
  Processor::Config config = one_core(2, Wait::kEvent);
  config.wake_cycles = 0;
  ProcessorBench bench(config);
  for (int i = 0; i < 3; ++i) bench.processor.spawn("thread", 0, work(bench, 100));
  sc_core::sc_start();
  // Two of them in 200 ns, at half speed; the third waits for a hardware thread, and is alone then.
  ASSERT_EQ(bench.done.size(), 3U);
  EXPECT_GE(bench.done[0], 200_ns);
  EXPECT_LE(bench.done[1], 201_ns);
  EXPECT_GE(bench.done[2], 300_ns);
  EXPECT_LE(bench.done[2], 301_ns);
}

TEST(HardwareThreads, PayForAWakeUpUnlessTheyPoll) {
  for (const Wait wait : {Wait::kEvent, Wait::kPoll}) {
    test::fresh_kernel();
    ProcessorBench bench(one_core(1, wait));
    CompletionQueue& queue = bench.processor.create_completion_queue("a packet");
    bench.processor.spawn("thread", 0, take_and_work(bench, queue, 50));
    bench.script.at(1_us, [&] { bench.complete(queue); });
    sc_core::sc_start();
    EXPECT_EQ(bench.done, std::vector<Time>{wait == Wait::kEvent ? 1150_ns : 1050_ns});
    EXPECT_EQ(bench.processor.unfinished(), 0U);
  }
}

TEST(HardwareThreads, AreSlowedByThoseThatPollAndNotByThoseThatSleep) {
  for (const Wait wait : {Wait::kEvent, Wait::kPoll}) {
    test::fresh_kernel();
    Processor::Config config = one_core(2, wait);
    config.wake_cycles = 0;
    ProcessorBench bench(config);
    CompletionQueue& never = bench.processor.create_completion_queue("nothing");
    CompletionQueue& queue = bench.processor.create_completion_queue("a packet");
    bench.processor.spawn("waits", 0, take_and_work(bench, never, 0));
    bench.processor.spawn("works", 0, take_and_work(bench, queue, 1000));
    bench.script.at(1_us, [&] { bench.complete(queue); });
    sc_core::sc_start();
    // Polling and working are all pipeline and port here, so that each gets half.
    EXPECT_EQ(bench.done, std::vector<Time>{wait == Wait::kEvent ? 2_us : 3_us});
  }
}

TEST(HardwareThreads, AreKeptByThreadsThatPoll) {
  ProcessorBench bench(one_core(1, Wait::kPoll));
  CompletionQueue& queue = bench.processor.create_completion_queue("a packet");
  bench.processor.spawn("polls", 0, take_and_work(bench, queue, 10));
  bench.processor.spawn("waits", 0, work(bench, 20));
  bench.script.at(5_us, [&] { bench.complete(queue); });
  sc_core::sc_start();
  ASSERT_EQ(bench.done.size(), 2U);
  EXPECT_EQ(bench.done[0], 5010_ns);
  EXPECT_GT(bench.done[1], 5030_ns);
}

TEST(Placement, IsThatOfThreads) {
  for (const Placement placement : {Placement::kSpread, Placement::kPack}) {
    test::fresh_kernel();
    Processor::Config config = one_core(2, Wait::kEvent);
    config.cores = 2;
    config.placement = placement;
    ProcessorBench bench(config);
    for (int i = 0; i < 2; ++i) bench.processor.spawn("thread", i, work(bench, 100));
    sc_core::sc_start();
    EXPECT_EQ(bench.processor.busy(1) > Time(), placement == Placement::kSpread);
  }
}

TEST(Placement, SpreadsOrPacks) {
  Processor::Config config = one_core(2, Wait::kEvent);
  config.cores = 2;
  std::vector<std::vector<int>> cores;
  for (const Placement placement : {Placement::kSpread, Placement::kPack}) {
    test::fresh_kernel();
    config.placement = placement;
    const ProcessorBench bench(config);
    cores.emplace_back();
    for (int i = 0; i < 5; ++i) cores.back().push_back(bench.processor.core_for(i));
  }
  EXPECT_EQ(cores, (std::vector<std::vector<int>>{{0, 1, 0, 1, 0}, {0, 0, 1, 1, 0}}));
}

// ---- The accelerator of BlueField-3

Processor::Config bluefield() {
  platforms::Document document = platforms::Document::from_text(R"({"processor": "bluefield-3-dpa"})", "test");
  Processor::Config config;
  document.root().read_part("processor", config);
  return config;
}

/// Of a thread that shares a core of one part with `running` others, in closed form.
double closed_form(const Processor::Config& config, const firmware::Work& packet, std::size_t running) {
  const std::int64_t shared = packet.instructions + packet.accesses * config.port_cycles;
  const std::int64_t alone = shared + packet.accesses * config.access_cycles;
  const double stretch =
      static_cast<double>(firmware::Core::stretch(firmware::Core::share_of(Time(alone), Time(shared)), running)) /
      firmware::Core::kOne;
  return static_cast<double>(config.clock.count()) / (static_cast<double>(alone) * stretch);
}

TEST(Dpa, ReachesTheRatesOfTheClosedForm) {
  const Processor::Config config = bluefield();
  DpaBench bench(config);
  for (const firmware::ReceiveCost& cost : {firmware::kConnectionReceive, firmware::kDatagramReceive}) {
    for (const int siblings : {1, 2, 4, 16}) {
      const int threads = siblings * config.cores;
      const double expected = threads * closed_form(config, cost.packet, static_cast<std::size_t>(siblings));
      EXPECT_NEAR(bench.saturated_rate(cost, threads), expected, 0.01 * expected) << siblings;
    }
  }
}

// traces/published/dpa.csv; `weft validate` prints these rows.
TEST(Dpa, ReachesTheMeasuredRates) {
  DpaBench bench(bluefield());
  const auto expect = [&](int threads, int chunk, double published) {
    EXPECT_NEAR(bench.saturated_rate(firmware::bitmap_receive(chunk), threads), published, 0.15 * published)
        << threads << " threads, chunks of " << chunk;
  };
  expect(8, 16, 11.6e6);
  expect(16, 16, 22.9e6);
  expect(32, 16, 42.9e6);
  expect(16, 1, 15e6);
  expect(16, 4, 19e6);
  expect(16, 16, 23e6);
  expect(16, 64, 24.5e6);
  expect(128, 16, 3.2e12 / 8 / 4096);
}

TEST(Dpa, WorksTheSameWhicheverWayItsThreadsWait) {
  for (const Wait wait : {Wait::kPoll, Wait::kEvent}) {
    test::fresh_kernel();
    Processor::Config config = bluefield();
    config.wait = wait;
    DpaBench bench(config);
    // All are at work all the time, so none sleeps or spins.
    EXPECT_NEAR(bench.saturated_rate(firmware::kConnectionReceive, 128), 193.7e6, 0.05 * 193.7e6);
    EXPECT_NEAR(bench.saturated_rate(firmware::kConnectionReceive, 16), 48.5e6, 0.02 * 48.5e6);
  }
}

TEST(Dpa, NeedsTheThreadsForALine) {
  DpaBench bench(bluefield());
  const auto& cost = firmware::kDatagramReceive;
  for (const Rate line : {200_Gbps, 800_Gbps}) {
    const int threads = bench.threads_for(cost, line, 4_KiB);
    ASSERT_GT(threads, 1);
    EXPECT_TRUE(bench.sustains(cost, threads, line, 4_KiB));
    EXPECT_FALSE(bench.sustains(cost, threads - 1, line, 4_KiB));
    const double packets = static_cast<double>(line.count()) / (8 * 4096);
    EXPECT_GE(bench.saturated_rate(cost, threads), packets);
    EXPECT_LE(bench.saturated_rate(cost, threads - 1), packets);
  }
  EXPECT_EQ(bench.threads_for(cost, 100'000_Gbps, 4_KiB), 0);
}

}  // namespace
}  // namespace weft
