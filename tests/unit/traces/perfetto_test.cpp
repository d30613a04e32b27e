// SPDX-License-Identifier: Apache-2.0
#include "tests/support/perfetto.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "traces/timeline/timeline.h"

namespace weft::traces {
namespace {

namespace fs = std::filesystem;
using test::PerfettoSlice;
using test::PerfettoTrace;

class PerfettoTest : public testing::Test {
 protected:
  PerfettoTest() : folder_(fs::path(testing::TempDir()) / ("weft_perfetto_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~PerfettoTest() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path file(const std::string& name = "timeline.pftrace") const { return folder_ / name; }
  [[nodiscard]] bool is_empty() const { return fs::is_empty(folder_); }

  static std::string bytes(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path folder_;
};

TEST_F(PerfettoTest, SlicesSayWhatTheyAre) {
  const auto timeline = perfetto_timeline(file());
  const auto compute = timeline->track("accelerator 0", "compute");
  const auto gather = timeline->track("accelerator 0", "allgather");
  timeline->slice(compute, {.name = timeline->name("gemm"),
                            .start = 1'234'567,
                            .end = 2'000'000,
                            .kind = TimelineKind::kKernel,
                            .asked = 1'000'000,
                            .follows = 7});
  timeline->slice(gather, {.name = timeline->name("allgather block 1"),
                           .start = 5'999,
                           .end = 1'234'567,
                           .kind = TimelineKind::kCollective,
                           .operation = "AllGather",
                           .bytes = 4096,
                           .ranks = 64,
                           .leads = 7});
  timeline->slice(compute, {.name = timeline->name("gemm"), .start = 2'000'000, .end = 2'000'400, .peer = 0});
  timeline->close();
  const PerfettoTrace trace(bytes(file()));
  EXPECT_EQ(trace.processes(), std::vector<std::string>{"accelerator 0"});
  EXPECT_EQ(trace.rows("accelerator 0"), (std::vector<std::string>{"compute", "allgather"}));
  const std::vector<PerfettoSlice> kernels = trace.slices("accelerator 0", "compute");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name, "gemm");
  EXPECT_EQ(kernels[0].category, "kernel");
  EXPECT_EQ(kernels[0].from, 1234);
  EXPECT_EQ(kernels[0].to, 2000);
  EXPECT_EQ(kernels[0].numbers, (std::map<std::string, std::int64_t>{{"queued_ns", 234}}));
  EXPECT_EQ(kernels[1].length(), 0) << "it is shorter than a nanosecond";
  EXPECT_EQ(kernels[1].depth, 0);
  EXPECT_EQ(kernels[1].category, "");
  EXPECT_EQ(kernels[1].numbers, (std::map<std::string, std::int64_t>{{"peer", 0}}));
  const PerfettoSlice collective = trace.slices("accelerator 0", "allgather").at(0);
  EXPECT_EQ(collective.category, "collective");
  EXPECT_EQ(collective.from, 5);
  EXPECT_EQ(collective.numbers, (std::map<std::string, std::int64_t>{{"bytes", 4096}, {"ranks", 64}}));
  EXPECT_EQ(collective.texts, (std::map<std::string, std::string>{{"operation", "AllGather"}}));
  ASSERT_EQ(trace.flows().size(), 1U);
  EXPECT_EQ(trace.flows()[0].from->name, "allgather block 1");
  EXPECT_EQ(trace.flows()[0].to->name, "gemm");
}

TEST_F(PerfettoTest, PhasesNest) {
  const auto timeline = perfetto_timeline(file());
  const auto phases = timeline->track("accelerator 0", "phases");
  const auto name = [&](const char* text) { return timeline->name(text); };
  timeline->begin(phases, name("step 1"), 0);
  timeline->begin(phases, name("forward"), 0);
  timeline->begin(phases, name("layer 0"), 0);
  timeline->end(phases, 7'000);
  timeline->begin(phases, name("layer 1"), 7'000);
  timeline->end(phases, 9'000);
  timeline->end(phases, 9'000);
  timeline->begin(phases, name("backward"), 9'000);
  timeline->end(phases, 12'000);
  timeline->end(phases, 12'000);
  timeline->begin(phases, name("step 2"), 12'000);
  timeline->close();
  const PerfettoTrace trace(bytes(file()));
  std::vector<std::string> told;
  for (const PerfettoSlice& slice : trace.slices())
    told.push_back(std::to_string(slice.depth) + " " + slice.name + " " + std::to_string(slice.length()));
  EXPECT_EQ(told, (std::vector<std::string>{"0 step 1 12", "1 forward 9", "2 layer 0 7", "2 layer 1 2", "1 backward 3",
                                            "0 step 2 -13"}))
      << "the last did not end";
  EXPECT_EQ(trace.slices()[3].within, "forward");
}

TEST_F(PerfettoTest, CountersHaveRowsOfTheirOwn) {
  const auto timeline = perfetto_timeline(file());
  const auto queue = timeline->counter_track("node 0", "switch0 port 1 queued bytes", "bytes");
  timeline->counter(queue, 1'000'000, 4162);
  timeline->counter(queue, 2'000'000, 0.5);
  timeline->close();
  const PerfettoTrace trace(bytes(file()));
  ASSERT_EQ(trace.counters().size(), 1U);
  EXPECT_EQ(trace.counters().at("node 0/switch0 port 1 queued bytes"),
            (PerfettoTrace::Values{{1000, 4162}, {2000, 0.5}}));
}

TEST_F(PerfettoTest, NamesAndRowsAreWrittenOnce) {
  const auto timeline = perfetto_timeline(file());
  EXPECT_EQ(timeline->track("a", "x").id, timeline->track("a", "x").id);
  EXPECT_NE(timeline->track("a", "x").id, timeline->track("b", "x").id);
  EXPECT_NE(timeline->track("a", "x").id, timeline->track("a", "y").id);
  EXPECT_EQ(timeline->name("n").id, timeline->name("n").id);
  EXPECT_EQ(timeline->name("").id, 0U);
  const auto odd = timeline->name("R&D \"\xC3\xA9\"\n");
  for (int i = 0; i < 1000; ++i) timeline->slice(timeline->track("a", "x"), {.name = odd, .start = i, .end = i});
  timeline->close();
  EXPECT_LT(fs::file_size(file()), 1000U * 2 * 24);
  const PerfettoTrace trace(bytes(file()));
  EXPECT_EQ(trace.events(), 2000U);
  EXPECT_EQ(trace.slices().back().name, "R&D \"\xC3\xA9\"\n");
}

TEST_F(PerfettoTest, IsDeterministicBeyondItsBuffers) {
  for (const char* name : {"a", "b"}) {
    const auto timeline = perfetto_timeline(file(name));
    const auto track = timeline->track("gpu", "compute");
    const auto gemm = timeline->name("gemm");
    for (std::int64_t i = 0; i < 50'000; ++i)
      timeline->slice(track, {.name = gemm, .start = i * 123'457, .end = i * 123'457 + 100'000});
    timeline->close();
  }
  EXPECT_TRUE(bytes(file("a")) == bytes(file("b")));
  const PerfettoTrace trace(bytes(file("a")));
  ASSERT_EQ(trace.slices().size(), 50'000U);
  EXPECT_EQ(trace.slices().back().from, 49'999LL * 123'457 / 1000);
  EXPECT_TRUE(bytes(file("a")).starts_with(perfetto_beginning()));
}

TEST_F(PerfettoTest, LeavesNothingUnlessClosed) {
  {
    const auto timeline = perfetto_timeline(file());
    timeline->slice(timeline->track("a", "b"), {.name = timeline->name("n"), .start = 1, .end = 2});
    EXPECT_FALSE(fs::exists(file()));
    EXPECT_FALSE(is_empty());
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(PerfettoTest, KeepsThePreviousFileOfAFailedRun) {
  std::ofstream(file()) << "old";
  perfetto_timeline(file());
  EXPECT_EQ(bytes(file()), "old");
}

TEST_F(PerfettoTest, SaysThatItCannotWrite) {
  try {
    perfetto_timeline(file("missing") / "t");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.what(), "cannot write " + (file("missing") / "t").string() + ": No such file or directory");
  }
  // A directory of that name, from the beginning or when the file is to get its name.
  fs::create_directories(file("folder") / "inside");
  EXPECT_THROW(perfetto_timeline(file("folder")), std::system_error);
  const auto timeline = perfetto_timeline(file("late"));
  fs::create_directories(file("late") / "inside");
  EXPECT_THROW(timeline->close(), std::system_error);
  EXPECT_TRUE(fs::is_directory(file("late")));
}

TEST_F(PerfettoTest, SaysThatTheDiskIsFull) {
  fs::create_symlink("/dev/full", file("t"));
  const auto timeline = perfetto_timeline(file("t"));
  EXPECT_THROW(timeline->close(), std::system_error);
  EXPECT_TRUE(fs::is_symlink(file("t")));
}

}  // namespace
}  // namespace weft::traces
