// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/timeline_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/perfetto.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using test::PerfettoTrace;

PerfettoTrace drawn(const TimelineProbe::Limits& limits, const std::function<void(Probe&)>& tell) {
  const fs::path file = fs::path(testing::TempDir()) / ("weft_timeline_probe_" + std::to_string(getpid()));
  TimelineProbe probe(traces::perfetto_timeline(file), limits);
  tell(probe);
  probe.close();
  const std::string bytes = test::read_file(file);
  fs::remove(file);
  return PerfettoTrace(bytes);
}

TEST(TimelineProbe, DrawsTheFirstProcessesOfEachKind) {
  const PerfettoTrace trace = drawn({2, 0}, [](Probe& probe) {
    for (const char* process : {"accelerator 0", "accelerator 1", "accelerator 2", "node 0"}) {
      const int track = probe.add_track(process, "compute");
      probe.slice(track, {.what = "gemm", .from = Time(0), .to = Time(1000)});
      probe.counter(track, "GB/s", Time(0), 3);
      const int phases = probe.add_phases(process, "phases");
      probe.begin(phases, "step 1", Time(0));
      probe.end(phases, Time(1000));
    }
  });
  EXPECT_EQ(trace.processes(), (std::vector<std::string>{"accelerator 0", "accelerator 1", "node 0"}));
  EXPECT_EQ(trace.slices().size(), 6U);
  EXPECT_EQ(trace.counters().size(), 3U);
}

TEST(TimelineProbe, WhatOverlapsHasRowsOfItsOwn) {
  const PerfettoTrace trace = drawn({1, 0}, [](Probe& probe) {
    const int track = probe.add_track("accelerator 0", "messages");
    for (const auto& [from, to] : std::vector<std::pair<int, int>>{{0, 10}, {5, 15}, {10, 12}, {15, 20}})
      probe.slice(track, {.what = "m", .from = Time(from * 1000), .to = Time(to * 1000)});
  });
  EXPECT_EQ(trace.slices("accelerator 0", "messages").size(), 3U);
  EXPECT_EQ(trace.slices("accelerator 0", "messages 2").size(), 1U);
}

TEST(TimelineProbe, OfRivalsTheHighestAreDrawn) {
  const PerfettoTrace trace = drawn({1, 2}, [](Probe& probe) {
    // Whichever process they are of.
    std::vector<int> queues;
    for (int i = 0; i < 5; ++i)
      queues.push_back(probe.add_rival("node " + std::to_string(i), "port " + std::to_string(i)));
    for (int i = 0; i < 5; ++i) probe.counter(queues[static_cast<std::size_t>(i)], "queued bytes", Time(1000), i % 4);
    probe.counter(queues[1], "queued bytes", Time(2000), 9);
  });
  ASSERT_EQ(trace.counters().size(), 2U);
  EXPECT_EQ(trace.counters().at("node 1/port 1 queued bytes"), (PerfettoTrace::Values{{1, 1}, {2, 9}}));
  EXPECT_EQ(trace.counters().at("node 3/port 3 queued bytes"), (PerfettoTrace::Values{{1, 3}}));
}

/// What is kept of rivals does not grow with the run.
TEST(TimelineProbe, RivalsThatAreLowLoseTheirValues) {
  constexpr int kValues = 2'000;
  constexpr int kQueues = 1'000;
  const PerfettoTrace trace = drawn({1, 1}, [](Probe& probe) {
    std::vector<int> queues;
    queues.reserve(kQueues);
    for (int i = 0; i < kQueues; ++i) queues.push_back(probe.add_rival("network", "port " + std::to_string(i)));
    for (int at = 0; at < kValues; ++at) {
      for (int i = 0; i < kQueues; ++i)
        probe.counter(queues[static_cast<std::size_t>(i)], "queued bytes", Time(at * 1000), i == 77 ? 5 : 1);
    }
    probe.counter(queues[3], "queued bytes", Time(kValues * 1000), 6);
  });
  ASSERT_EQ(trace.counters().size(), 1U);
  const auto& [name, values] = *trace.counters().begin();
  EXPECT_EQ(name, "network/port 3 queued bytes");
  EXPECT_EQ(values.back(), (std::pair<std::int64_t, double>{kValues, 6}));
  EXPECT_LT(values.size(), static_cast<std::size_t>(kValues)) << "it was low for most of the run";
}

TEST(TimelineProbe, WhatIsLeftOutShiftsWhatFollows) {
  const PerfettoTrace trace = drawn({1, 0}, [](Probe& probe) {
    const int track = probe.add_track("accelerator 0", "compute");
    const int phases = probe.add_phases("accelerator 0", "phases");
    probe.begin(phases, "step 1", Time(0));
    probe.slice(track, {.what = "a", .from = Time(0), .to = Time(1000)});
    probe.leave_out(Time(2000), Time(10'000));
    probe.slice(track, {.what = "b", .from = Time(2000), .to = Time(3000), .asked = Time(1000)});
    probe.end(phases, Time(3000));
  });
  EXPECT_EQ(trace.slices("accelerator 0", "compute").back().from, 12);
  EXPECT_EQ(trace.slices("accelerator 0", "compute").back().numbers.at("queued_ns"), 1);
  EXPECT_EQ(trace.slices("accelerator 0", "phases").back().to, 13);
}

}  // namespace
}  // namespace weft::platforms
