// SPDX-License-Identifier: Apache-2.0
// Work queues in the host's memory: what a fetch costs, in which order entries run, and what is refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/benches/nic_bench.h"
#include "tests/support/reports.h"

namespace weft::nic {
namespace {

using namespace test_bench;

void announce(Bench& bench, std::size_t end, const std::vector<WorkRequest>& requests) {
  bench.doorbells[end]->write(kAnnouncement, requests.data(),
                              static_cast<std::uint32_t>(requests.size() * sizeof requests[0]));
}
void announce_at(Bench& bench, Time when, std::size_t end, const std::vector<WorkRequest>& requests) {
  bench.script.at(when, [&bench, end, requests] {
    announce(bench, end, requests);
    EXPECT_EQ(bench.doorbells[end]->status(), tlm::TLM_OK_RESPONSE);
  });
}

/// When the last of `count` short writes completes, announced together or each in its doorbell.
Time time_of(const BenchConfig& config, int count, bool announced) {
  test::fresh_kernel();
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  const std::vector<WorkRequest> requests(static_cast<std::size_t>(count), write(pair.a, 0x1000, 0x2000, 64));
  if (announced) announce_at(bench, 1_us, 0, requests);
  for (const WorkRequest& request : requests) {
    if (!announced) bench.ring_at(1_us, 0, request);
  }
  bench.run();
  EXPECT_EQ(bench.completions(0).size(), requests.size());
  return bench.completions(0).back().at;
}

TEST(WorkQueue, CostsAReadOfItsEntries) {
  BenchConfig config;
  const Time latency = config.nic.read_latency;
  const auto entries = [&](int count) { return transfer_time(Bytes(64 * count), config.nic.dma_rate); };
  EXPECT_EQ(time_of(config, 1, true) - time_of(config, 1, false), latency + entries(1));
  // Eight come at once; after them the engine takes one each message_cost, as those in doorbells.
  EXPECT_EQ(time_of(config, 8, true) - time_of(config, 8, false), latency + entries(8));
  config.nic.work_queue.fetch = 1;
  EXPECT_EQ(time_of(config, 8, true) - time_of(config, 8, false), latency + entries(1));
  config.nic.work_queue.inline_entries = false;
  EXPECT_EQ(time_of(config, 1, false), time_of(config, 1, true)) << "fetched as well";
}

TEST(WorkQueue, IsReadInAsManyReadsAsItTakes) {
  for (const auto& [fetch, reads] : {std::pair{1, 128}, {8, 16}, {50, 3}, {128, 1}}) {
    test::fresh_kernel();
    BenchConfig config;
    config.nic.work_queue.fetch = fetch;
    config.nic.pcie.generation = 5;
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    announce_at(bench, 1_us, 0, std::vector(kLongestBatch, write(pair.a, 0, 0x2000, 64)));
    bench.run();
    EXPECT_EQ(bench.nics[0]->counters().entry_reads, reads);
    EXPECT_EQ(bench.nics[0]->counters().entries_read, 128);
    EXPECT_EQ(bench.completions(0).size(), 128u);
  }
}

TEST(WorkQueue, IsNotOvertakenByADoorbellThatFollows) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  const Connection other = bench.connect(0, 1);
  announce_at(bench, 1_us, 0, {write(pair.a, 0, 0x2000, 64, 1), write(pair.a, 0, 0x2000, 64, 2)});
  bench.ring_at(1_us, 0, write(pair.a, 0, 0x2000, 64, 3));
  bench.ring_at(1_us, 0, write(other.a, 0, 0x2000, 64, 4));
  bench.ring_at(50_us, 0, write(pair.a, 0, 0x2000, 64, 5));
  bench.run();
  std::vector<std::uint64_t> order;
  for (const auto& got : bench.completions(0)) order.push_back(got.entry.id);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{4, 1, 2, 3, 5})) << "another queue pair does not wait";
  EXPECT_EQ(bench.nics[0]->counters().entries_read, 3) << "the third one behind the first two";
}

TEST(WorkQueue, OfReceivesTakesMessagesWhenItHasBeenFetched) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  bench.store(0, 0x1000, pattern_bytes(256, 1));
  announce_at(bench, 1_us, 1, {receive(pair.b, 0x4000, 256, 1), receive(pair.b, 0x5000, 256, 2, 2)});
  bench.ring_at(1_us, 1, receive(pair.b, 0x6000, 256, 3));
  for (int i = 0; i < 4; ++i) bench.ring_at(5_us, 0, send(pair.a, 0x1000, 256));
  bench.run();
  std::vector<std::uint64_t> order;
  for (const auto& got : bench.completions(1)) order.push_back(got.entry.id);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 2, 3}));
  for (const std::uint64_t address : {0x4000U, 0x5000U, 0x6000U}) {
    EXPECT_EQ(bench.load(1, address, 256), pattern_bytes(256, 1));
  }
  EXPECT_EQ(bench.nics[1]->counters().not_ready, 0);
}

TEST(WorkQueue, RefusesWhatIsNotOneQueue) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  const Connection other = bench.connect(0, 1);
  const WorkRequest good = write(pair.a, 0, 0x2000, 64);
  bench.script.at(1_us, [&] {
    for (const std::vector<WorkRequest>& bad : {std::vector{good, receive(pair.a, 0, 0)},
                                                {good, write(other.a, 0, 0x2000, 64)},
                                                {good, write(99, 0, 0x2000, 64)},
                                                {receive(pair.a, 0, 0, 0, 0)}}) {
      announce(bench, 0, bad);
      EXPECT_EQ(bench.doorbells[0]->status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
    }
    announce(bench, 0, std::vector(kLongestBatch + 1, good));
    EXPECT_EQ(bench.doorbells[0]->status(), tlm::TLM_BURST_ERROR_RESPONSE);
    bench.doorbells[0]->write(kAnnouncement, &good, sizeof good + 1);
    EXPECT_EQ(bench.doorbells[0]->status(), tlm::TLM_GENERIC_ERROR_RESPONSE);
  });
  bench.run();
  EXPECT_EQ(bench.nics[0]->counters().messages_sent, 0);
}

/// Posts through the doorbell or an announcement, and returns what SystemC reported.
std::string refusal(Bench& bench, const std::vector<WorkRequest>& requests, bool announced) {
  const test::ExpectReports reports;
  bench.script.at(1_us, [&] {
    if (announced) return announce(bench, 0, requests);
    for (const WorkRequest& request : requests) bench.doorbells[0]->write(kDoorbell, &request, sizeof request);
  });
  EXPECT_THROW(sc_core::sc_start(), sc_core::sc_report);
  return reports.messages().empty() ? "" : reports.messages().front();
}

TEST(QueueDepth, IsAnErrorToOverrun) {
  for (const bool announced : {false, true}) {
    BenchConfig config;
    config.nic.send_queue_depth = 4;
    config.nic.receive_queue_depth = 6;
    {
      test::fresh_kernel();
      Bench bench(config);
      const Connection pair = bench.connect(0, 1);
      const std::string message = refusal(bench, std::vector(5, write(pair.a, 0, 0x2000, 64)), announced);
      EXPECT_EQ(
          message,
          "nic0: queue pair 0: more was posted than its send queue has room for (send_queue_depth is 4): firmware "
          "must await completions before it posts more");
      EXPECT_EQ(bench.nics[0]->counters().overruns, 1);
    }
    {
      test::fresh_kernel();
      Bench bench(config);
      bench.connect(0, 1);
      const Connection second = bench.connect(0, 1);
      const std::string message =
          refusal(bench, {receive(second.a, 0, 0, 0, 4), receive(second.a, 0, 0, 0, 3)}, announced);
      EXPECT_NE(message.find("queue pair 1: more was posted than its receive queue has room for (receive_queue_depth "
                             "is 6)"),
                std::string::npos)
          << message;
    }
  }
}

TEST(QueueDepth, IsThereAgainWhenRequestsAreDone) {
  BenchConfig config;
  config.nic.send_queue_depth = 4;
  config.nic.receive_queue_depth = 4;
  Bench bench(config);
  const Connection pair = bench.connect(0, 1);
  for (int round = 0; round < 5; ++round) {
    const Time begin(round * 50'000'000LL);
    bench.script.at(begin, [&] { bench.ring(1, receive(pair.b, 0, 0, 0, 4)); });
    announce_at(bench, begin + 1_us, 0, std::vector(4, immediate(write(pair.a, 0, 0x2000, 64), 1)));
  }
  bench.run();
  EXPECT_EQ(bench.completions(0).size(), 20u);
  EXPECT_EQ(bench.nics[0]->counters().overruns, 0);
}

/// Of requests that are flushed too, before and after the queue pair has failed: firmware waits for their places.
TEST(QueueDepth, IsThereAgainWhenRequestsAreFlushed) {
  for (const bool announced : {false, true}) {
    test::fresh_kernel();
    BenchConfig config;
    config.nic.recovery = true;
    config.nic.retry_limit = 1;
    config.nic.ack_timeout = 10_us;
    config.nic.send_queue_depth = 4;
    config.wire.emplace();
    config.wire->loss = 1;
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    constexpr std::uint64_t kPlaces = 300;
    bench.nics[0]->report_places(pair.a, kPlaces);
    WorkRequest quiet = write(pair.a, 0, 0x2000, 64);
    quiet.signaled = false;
    for (const Time when : {Time(1'000'000), 1_ms, 2_ms}) {
      if (announced) announce_at(bench, when, 0, std::vector(4, quiet));
      for (int i = 0; i < 4 && !announced; ++i) bench.ring_at(when, 0, quiet);
    }
    sc_core::sc_start();
    const auto told = bench.completions(0);
    ASSERT_EQ(told.size(), 12u) << "one for each place, a quarter of the depth";
    EXPECT_EQ(told.back().entry.id, 12u);
    EXPECT_EQ(bench.nics[0]->counters().overruns, 0);
  }
}

TEST(Doorbell, BeforeTheSimulationIsAnError) {
  Bench bench;
  const Connection pair = bench.connect(0, 1);
  const test::ExpectReports reports;
  EXPECT_THROW(bench.ring(0, write(pair.a, 0, 0x2000, 64)), sc_core::sc_report);
  ASSERT_EQ(reports.messages().size(), 1u);
  EXPECT_NE(reports.messages()[0].find("an event was posted to nic0 before the simulation has started"),
            std::string::npos)
      << reports.messages()[0];
}

}  // namespace
}  // namespace weft::nic
