// SPDX-License-Identifier: Apache-2.0
// Firmware threads on modelled cores, with a register file as the only device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sw/firmware/memory_map.h"
#include "sw/firmware/processor.h"
#include "sw/firmware/verbs.h"
#include "tests/support/benches/firmware_bench.h"

namespace weft::firmware {
namespace {

using namespace weft::literals;

Processor::Config free_of_charge() {
  Processor::Config config;
  config.cores = 2;
  config.clock = 1000_MHz;  // 1 ns a cycle
  config.wake_cycles = 0;
  config.post_cycles = 0;
  config.poll_cycles = 0;
  return config;
}

struct Bench : test::FirmwareBench {
  explicit Bench(const Processor::Config& config = free_of_charge()) : FirmwareBench(config) {}
  void run() { sc_core::sc_start(); }
  void note(const std::string& what) { log.emplace_back(processor.now(), what); }

  std::vector<std::pair<Time, std::string>> log;
};

using Log = std::vector<std::pair<Time, std::string>>;

Task leaf(Bench& bench, std::string what, Time length) {
  bench.note(what + " begins");
  co_await bench.processor.delay(length);
  bench.note(what + " ends");
}

Task nested(Bench& bench, int depth) {
  if (depth == 0) {
    co_await leaf(bench, "leaf", 1_us);
    co_return;
  }
  co_await nested(bench, depth - 1);
}

Task tree(Bench& bench) {
  co_await nested(bench, 3);
  co_await leaf(bench, "second", 2_us);
  co_await bench.processor.delay(Time());  // nothing to wait for
  bench.note("root ends");
}

TEST(Task, NestsAndReturnsToItsAwaiter) {
  Bench bench;
  bench.processor.spawn("root", 0, tree(bench));
  bench.run();
  EXPECT_EQ(bench.log, (Log{{Time(), "leaf begins"},
                            {1_us, "leaf ends"},
                            {1_us, "second begins"},
                            {3_us, "second ends"},
                            {3_us, "root ends"}}));
  EXPECT_EQ(bench.processor.unfinished(), 0u);
}

TEST(Task, ThatNobodyAwaitsDoesNotRun) {
  Bench bench;
  { const Task unused = leaf(bench, "never", 1_us); }
  bench.processor.spawn("another", 0, leaf(bench, "another", 1_us));
  bench.run();
  EXPECT_EQ(bench.log, (Log{{Time(), "another begins"}, {1_us, "another ends"}}));
}

TEST(Task, ManyDeepInARowUseNoStack) {
  Bench bench;
  struct Loop {
    static Task run(Bench& b, int& count) {
      for (int i = 0; i < 10'000; ++i) {
        co_await b.processor.delay(1_ps);
        ++count;
      }
    }
  };
  int count = 0;
  bench.processor.spawn("loop", 0, Loop::run(bench, count));
  bench.run();
  EXPECT_EQ(count, 10'000);
  EXPECT_EQ(bench.dispatcher.now(), 10'000_ps);
}

Task busy(Bench& bench, std::string what, std::int64_t cycles) {
  bench.note(what + " begins");
  bench.processor.charge(cycles);
  bench.note(what + " computed");
  co_return;
}

TEST(Cores, RunOneThreadAtATimeFirstComeFirstServed) {
  Bench bench;
  bench.processor.spawn("a", 0, busy(bench, "a", 100));
  bench.processor.spawn("b", 0, busy(bench, "b", 50));
  bench.processor.spawn("c", 1, busy(bench, "c", 70));
  bench.processor.spawn("d", 2, busy(bench, "d", 10));  // two cores: this is core 0
  bench.run();
  std::stable_sort(bench.log.begin(), bench.log.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  EXPECT_EQ(bench.log, (Log{{Time(), "a begins"},
                            {Time(), "c begins"},
                            {70_ns, "c computed"},
                            {100_ns, "a computed"},
                            {100_ns, "b begins"},
                            {150_ns, "b computed"},
                            {150_ns, "d begins"},
                            {160_ns, "d computed"}}));
  EXPECT_EQ(bench.processor.busy(0), 160_ns);
  EXPECT_EQ(bench.processor.busy(1), 70_ns);
}

Task wait_and_compute(Bench& bench, std::string what, Time length, std::int64_t cycles) {
  co_await bench.processor.delay(length);
  bench.note(what);
  bench.processor.charge(cycles);
}

TEST(Cores, ATimerThatEndsWhileTheCoreIsBusyWaits) {
  Bench bench;
  bench.processor.spawn("a", 0, wait_and_compute(bench, "a", 1_us, 1000));
  bench.processor.spawn("b", 0, wait_and_compute(bench, "b", 1500_ns, 10));
  bench.run();
  EXPECT_EQ(bench.log, (Log{{1_us, "a"}, {2_us, "b"}}));
}

TEST(Charges, AddUpForWakesWritesAndPolls) {
  Processor::Config config = free_of_charge();
  config.wake_cycles = 100;
  config.post_cycles = 150;
  config.poll_cycles = 50;
  Bench bench(config);
  CompletionQueue& queue = bench.processor.create_completion_queue("something");
  struct Body {
    static Task run(Bench& b, CompletionQueue& q) {
      b.note("woken");
      const std::uint64_t value = 7;
      b.processor.write(0, 16, &value, sizeof value);
      b.note("written");
      EXPECT_EQ((co_await q.next()).id, 1u);
      b.note("first");
      EXPECT_EQ((co_await q.next()).id, 2u);
      b.note("second");
    }
  };
  bench.processor.spawn("thread", 0, Body::run(bench, queue));
  bench.script.at(1_us, [&] {
    bench.complete(queue, 1);
    bench.complete(queue, 2);
  });
  bench.run();
  EXPECT_EQ(bench.log, (Log{{100_ns, "woken"}, {250_ns, "written"}, {1150_ns, "first"}, {1200_ns, "second"}}));
  // The device sees the write when the core has got there.
  ASSERT_EQ(bench.registers.written.size(), 1u);
  EXPECT_EQ(bench.registers.written[0].at, 250_ns);
  EXPECT_EQ(bench.registers.written[0].address, 16u);
  EXPECT_EQ(bench.registers.written[0].entry, 7u);
  EXPECT_EQ(bench.processor.busy(0), 450_ns);
}

TEST(Charges, OfABatchAreAWriteAndItsEntries) {
  struct Queue : WorkQueue {
    explicit Queue(const Interface& interface) : WorkQueue(interface, 3, false) {}
    static Task run(Bench& b, std::size_t requests) {
      const Interface interface { &b.processor, nullptr, nullptr, 0 };
      Queue(interface).post_batch(std::vector<nic::WorkRequest>(requests));
      b.note("posted");
      co_return;
    }
  };
  Processor::Config config = free_of_charge();
  config.post_cycles = 150;
  config.entry_cycles = 10;
  Bench bench(config);
  bench.processor.spawn("few", 0, Queue::run(bench, 5));
  bench.processor.spawn("many", 1, Queue::run(bench, nic::kLongestBatch + 2));
  bench.run();
  EXPECT_EQ(bench.log, (Log{{200_ns, "posted"}, {1600_ns, "posted"}}));
  ASSERT_EQ(bench.registers.written.size(), 3u) << "two doorbells for what is too long for one";
  for (const auto& written : bench.registers.written) EXPECT_EQ(written.address, nic::kAnnouncement);
}

Task take(Bench& bench, CompletionQueue& queue, int count) {
  for (int i = 0; i < count; ++i) bench.note(std::to_string((co_await queue.next()).id));
}

TEST(CompletionQueue, KeepsEntriesInTheOrderOfTheirTimes) {
  Bench bench;
  CompletionQueue& first = bench.processor.create_completion_queue("a");
  CompletionQueue& second = bench.processor.create_completion_queue("b");
  EXPECT_NE(first.address(), second.address());
  bench.processor.spawn("a", 0, take(bench, first, 4));
  bench.processor.spawn("b", 1, take(bench, second, 1));
  bench.script.at(1_us, [&] {
    bench.complete(first, 1, 500_ns);
    bench.complete(first, 2, 100_ns);
    bench.complete(first, 3, 500_ns);
    bench.complete(second, 4, 300_ns);
    bench.complete(first, 5, 2_us);
  });
  bench.run();
  EXPECT_EQ(bench.log, (Log{{1100_ns, "2"}, {1300_ns, "4"}, {1500_ns, "1"}, {1500_ns, "3"}, {3_us, "5"}}));
}

TEST(CompletionQueue, RefusesWhatItCannotTake) {
  Bench bench;
  bench.processor.create_completion_queue("only");
  bench.script.at(1_us, [&] {
    std::byte entry[64]{};
    bench.device.write(1, entry, 32);
    EXPECT_EQ(bench.device.status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
    bench.device.write(0, entry, 64);
    EXPECT_EQ(bench.device.status(), tlm::TLM_BURST_ERROR_RESPONSE);
    bench.device.read(0, entry, 32);
    EXPECT_EQ(bench.device.status(), tlm::TLM_COMMAND_ERROR_RESPONSE);
    bench.device.write(0, entry, 8);  // a device whose entries are shorter
    EXPECT_EQ(bench.device.status(), tlm::TLM_OK_RESPONSE);
  });
  bench.run();
}

Task reach(Bench& bench, Counter& counter, std::uint64_t value) {
  co_await counter.reach(value);
  bench.note("reached " + std::to_string(value));
}

Task count_up(Bench& bench, Counter& counter) {
  co_await bench.processor.delay(1_us);
  counter.increment();
  co_await bench.processor.delay(1_us);
  counter.set(5);
  counter.set(3);
  EXPECT_EQ(counter.value(), 5u);
  co_await bench.processor.delay(1_us);
  counter.increment();
}

TEST(Counter, WakesThoseWhoseValueIsReached) {
  Bench bench;
  Counter counter(bench.processor, "a counter");
  for (const std::uint64_t value : {6, 1, 4, 0, 5}) {
    bench.processor.spawn("waits", 0, reach(bench, counter, value));
  }
  bench.processor.spawn("counts", 1, count_up(bench, counter));
  bench.run();
  EXPECT_EQ(
      bench.log,
      (Log{{Time(), "reached 0"}, {1_us, "reached 1"}, {2_us, "reached 4"}, {2_us, "reached 5"}, {3_us, "reached 6"}}));
}

Task spawner(Bench& bench, Counter& done, int generations) {
  struct Child {
    static Task run(Bench& b, Counter& d) {
      co_await b.processor.delay(1_ns);
      d.increment();
    }
  };
  for (int g = 0; g < generations; ++g) {
    for (int i = 0; i < 10; ++i) bench.processor.spawn("child", i, Child::run(bench, done));
    co_await done.reach(10 * (static_cast<std::uint64_t>(g) + 1));
  }
}

TEST(Threads, SpawnOthersAndEnd) {
  Bench bench;
  Counter done(bench.processor, "children");
  bench.processor.spawn("parent", 0, spawner(bench, done, 500));
  bench.run();
  EXPECT_EQ(done.value(), 5000u);
  EXPECT_EQ(bench.processor.unfinished(), 0u);
  EXPECT_EQ(bench.processor.left_over(), std::vector<std::string>());
}

TEST(Threads, StartAfterTheSpawnThatASpawningThreadHasGotTo) {
  Bench bench;
  struct Parent {
    static Task run(Bench& b) {
      b.processor.charge(500);
      b.processor.spawn("child", 1, leaf(b, "child", 1_ns));
      b.processor.charge(500);
      co_return;
    }
  };
  bench.processor.spawn("parent", 0, Parent::run(bench));
  bench.run();
  EXPECT_EQ(bench.log, (Log{{500_ns, "child begins"}, {501_ns, "child ends"}}));
}

Task take_before(Bench& bench, CompletionQueue& queue, std::vector<Time> deadlines) {
  for (const Time deadline : deadlines) {
    const std::optional<nic::Completion> entry = co_await queue.next_before(deadline);
    bench.note(entry ? "got " + std::to_string(entry->id) : "nothing");
  }
}

TEST(Completions, AreAwaitedUntilADeadline) {
  Bench bench;
  CompletionQueue& queue = bench.processor.create_completion_queue("an answer, queue");
  // Nothing by 1 us; one at 2 us, long before its deadline, whose timer must not wake the wait that follows.
  bench.processor.spawn("taker", 0, take_before(bench, queue, {1_us, 5_us, 20_us, 3_us}));
  bench.script.at(2_us, [&] { bench.complete(queue, 7); });
  bench.run();
  EXPECT_EQ(bench.log, (Log{{1_us, "nothing"}, {2_us, "got 7"}, {20_us, "nothing"}, {20_us, "nothing"}}));
}

TEST(LeftOver, NamesThreadsAndWhatTheyWaitFor) {
  Bench bench;
  Counter counter(bench.processor, "a semaphore");
  CompletionQueue& queue = bench.processor.create_completion_queue("an answer, queue");
  bench.processor.spawn("first", 0, reach(bench, counter, 9));
  bench.processor.spawn("second", 0, take(bench, queue, 1));
  bench.processor.spawn("third", 0, leaf(bench, "third", 1_us));
  bench.run();
  EXPECT_EQ(bench.processor.unfinished(), 2u);
  EXPECT_EQ(bench.processor.left_over(),
            (std::vector<std::string>{"processor: thread first waits for a semaphore (9)",
                                      "processor: thread second waits for an answer, queue (0)"}));
}

TEST(CompletionQueue, ThatIsTooFullSaysHowManyPlacesItTakes) {
  Processor::Config config = free_of_charge();
  config.completion_queue_depth = 2;
  Bench bench(config);
  CompletionQueue& queue = bench.processor.create_completion_queue("an answer, queue");
  CompletionQueue& other = bench.processor.create_completion_queue("another, queue");
  // Two are taken as they come; the next two fit, and of what comes then there are two more than fit at a time.
  bench.processor.spawn("quick", 0, take(bench, queue, 2));
  bench.script.at(1_us, [&] { bench.complete(queue, 1); });
  bench.script.at(2_us, [&] { bench.complete(queue, 2); });
  for (std::uint64_t id = 3; id < 5; ++id) bench.script.at(3_us, [&bench, &queue, id] { bench.complete(queue, id); });
  bench.script.at(4_us, [&] {
    EXPECT_EQ(bench.processor.fullest().entries, 0U);
    bench.processor.spawn("late", 1, take(bench, queue, 5));
    bench.complete(other, 9);
  });
  for (std::uint64_t id = 5; id < 9; ++id) bench.script.at(5_us, [&bench, &other, id] { bench.complete(other, id); });
  for (std::uint64_t id = 10; id < 13; ++id) bench.script.at(6_us, [&bench, &queue, id] { bench.complete(queue, id); });
  bench.run();
  EXPECT_EQ(bench.log.size(), 7U);  // nothing is lost
  EXPECT_EQ(bench.processor.fullest().entries, 5U);
  EXPECT_EQ(bench.processor.fullest().what, "another, queue");
}

TEST(MemoryMap, HandsOutAlignedBuffersUntilItIsFull) {
  MemoryMap map(Bytes(1024));
  EXPECT_EQ(map.allocate("a", 1), 0u);
  EXPECT_EQ(map.allocate("b", 256), 256u);
  EXPECT_EQ(map.allocate("c", 0), 512u);
  EXPECT_EQ(map.used(), 512u);
  try {
    map.allocate("the parameters", 513);
    FAIL() << "more than there is";
  } catch (const std::length_error& error) {
    EXPECT_EQ(std::string(error.what()), "the parameters needs 513 B, and 512 of 1024 B are free");
  }
  EXPECT_EQ(map.allocate("d", 512), 512u);
  EXPECT_EQ(map.used(), 1024u);
}

}  // namespace
}  // namespace weft::firmware
