// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline/kineto.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace weft::traces {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class KinetoTest : public testing::Test {
 protected:
  KinetoTest() : folder_(fs::path(testing::TempDir()) / ("weft_kineto_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~KinetoTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::vector<fs::path> files(int count, const std::string& ending = ".json") const {
    std::vector<fs::path> all;
    for (int i = 0; i < count; ++i) all.push_back(folder_ / ("t.rank" + std::to_string(i) + ending));
    return all;
  }
  static json read(const fs::path& file) { return json::parse(test::read_file(file)); }
  static std::vector<json> of_category(const json& trace, const std::string& category) {
    std::vector<json> some;
    for (const json& event : trace["traceEvents"]) {
      if (event.value("cat", "") == category) some.push_back(event);
    }
    return some;
  }

  fs::path folder_;
};

/// Where Holistic Trace Analysis finds the rank of a file, and what it drops without.
TEST_F(KinetoTest, EachRankHasAFile) {
  const auto timeline = kineto_timeline(files(2), 64);
  for (const char* process : {"accelerator 0", "accelerator 1", "accelerator 2", "node 0", "network"}) {
    const auto row = timeline->track(process, "compute");
    timeline->slice(row, {.name = timeline->name(process), .start = 0, .end = 1000, .kind = TimelineKind::kKernel});
  }
  timeline->close();
  for (int rank = 0; rank < 2; ++rank) {
    const json trace = read(files(2)[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(trace["distributedInfo"], (json{{"backend", "nccl"}, {"rank", rank}, {"world_size", 64}}));
    const std::vector<json> kernels = of_category(trace, "kernel");
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels[0]["name"], "accelerator " + std::to_string(rank));
    for (const json& event : trace["traceEvents"]) {
      EXPECT_TRUE(event["ts"].is_number());
      if (event["ph"] == "X") {
        EXPECT_TRUE(event["dur"].is_number() && event.contains("cat")) << event;
      }
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

/// Kernels are what has a stream above 0; host and accelerator find each other by the correlation.
TEST_F(KinetoTest, KernelsHaveStreamsAndLaunches) {
  const auto timeline = kineto_timeline(files(1), 1);
  const auto compute = timeline->track("accelerator 0", "compute");
  const auto gather = timeline->track("accelerator 0", "allgather");
  timeline->slice(compute, {.name = timeline->name("gemm"),
                            .start = 5'000'000,
                            .end = 9'500'999,
                            .kind = TimelineKind::kKernel,
                            .asked = 1'000'000});
  timeline->slice(gather, {.name = timeline->name("allgather block 1"),
                           .start = 0,
                           .end = 2'000'000,
                           .kind = TimelineKind::kCollective,
                           .operation = "AllGather",
                           .asked = 0,
                           .bytes = 4096,
                           .ranks = 8});
  timeline->slice(compute, {.name = timeline->name("other"), .start = 0, .end = 1});
  timeline->close();
  const json trace = read(files(1)[0]);
  const std::vector<json> kernels = of_category(trace, "kernel");
  ASSERT_EQ(kernels.size(), 2U) << "what is of no kind is left out";
  EXPECT_EQ(kernels[0]["name"], "gemm");
  EXPECT_DOUBLE_EQ(kernels[0]["ts"], 5);
  EXPECT_DOUBLE_EQ(kernels[0]["dur"], 4.5);
  EXPECT_EQ(kernels[0]["args"]["stream"], kernels[0]["tid"]);
  EXPECT_GT(kernels[0]["args"]["stream"], 0);
  EXPECT_NE(kernels[0]["args"]["stream"], kernels[1]["args"]["stream"]);
  EXPECT_EQ(kernels[1]["name"], "ncclDevKernel_AllGather");
  EXPECT_EQ(kernels[1]["args"]["what"], "allgather block 1");
  EXPECT_EQ(kernels[1]["args"]["bytes"], 4096);
  EXPECT_EQ(kernels[1]["args"]["Group size"], 8);
  const std::vector<json> launches = of_category(trace, "cuda_runtime");
  ASSERT_EQ(launches.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(launches[i]["name"], "cudaLaunchKernel");
    EXPECT_EQ(launches[i]["args"]["correlation"], kernels[i]["args"]["correlation"]);
    EXPECT_FALSE(launches[i]["args"].contains("stream"));
    EXPECT_NE(launches[i]["pid"], kernels[i]["pid"]);
  }
  EXPECT_DOUBLE_EQ(launches[0]["ts"], 1);
  EXPECT_NE(kernels[0]["args"]["correlation"], kernels[1]["args"]["correlation"]);
  // Readers take the first event's place, 0, for no correlation.
  EXPECT_EQ(trace["traceEvents"][0]["ph"], "M");
}

TEST_F(KinetoTest, EveryKindHasItsCategory) {
  const auto timeline = kineto_timeline(files(1), 1);
  const auto row = timeline->track("accelerator 0", "row");
  std::int64_t at = 0;
  for (const TimelineKind kind :
       {TimelineKind::kSend, TimelineKind::kReceive, TimelineKind::kLoad, TimelineKind::kStore, TimelineKind::kHost}) {
    timeline->slice(row, {.name = timeline->name("x"), .start = at, .end = at + 1000, .kind = kind, .peer = 3});
    at += 1000;
  }
  timeline->close();
  std::vector<std::string> told;
  const json trace = read(files(1)[0]);
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") told.push_back(event["cat"].get<std::string>() + " " + event["name"].get<std::string>());
  }
  EXPECT_EQ(told, (std::vector<std::string>{"kernel ncclDevKernel_SendRecv", "kernel ncclDevKernel_SendRecv",
                                            "gpu_memcpy Memcpy HtoD", "gpu_memcpy Memcpy DtoH", "cpu_op x"}));
}

/// Iterations are found by these names, on the host.
TEST_F(KinetoTest, StepsAreThoseOfTheProfiler) {
  const auto timeline = kineto_timeline(files(1), 1);
  const auto phases = timeline->track("accelerator 0", "phases");
  timeline->begin(phases, timeline->name("profile"), 0);
  timeline->end(phases, 1'000'000);
  timeline->begin(phases, timeline->name("step 12, then 3 left out"), 1'000'000);
  timeline->begin(phases, timeline->name("forward"), 1'000'000);
  timeline->end(phases, 3'000'000);
  timeline->end(phases, 4'000'000);
  timeline->begin(phases, timeline->name("step 13"), 4'000'000);
  timeline->close();
  const std::vector<json> annotations = of_category(read(files(1)[0]), "user_annotation");
  ASSERT_EQ(annotations.size(), 3U) << "what has not ended is left out";
  EXPECT_EQ(annotations[0]["name"], "profile");
  EXPECT_EQ(annotations[1]["name"], "forward");
  EXPECT_EQ(annotations[2]["name"], "ProfilerStep#12");
  EXPECT_DOUBLE_EQ(annotations[2]["ts"], 1);
  EXPECT_DOUBLE_EQ(annotations[2]["dur"], 3);
  EXPECT_FALSE(annotations[2]["args"].contains("stream"));
}

TEST_F(KinetoTest, IsGzipIfTheNameEndsSo) {
  const auto timeline = kineto_timeline(files(1, ".json.gz"), 1);
  timeline->slice(timeline->track("end 0", "compute nodes"),
                  {.name = timeline->name("a \"b\"\n\xff"), .start = 0, .end = 1, .kind = TimelineKind::kKernel});
  timeline->close();
  gzFile stream = gzopen(files(1, ".json.gz")[0].c_str(), "rb");
  std::array<char, 4096> buffer{};
  const int size = gzread(stream, buffer.data(), buffer.size());
  EXPECT_EQ(gzclose(stream), Z_OK);
  ASSERT_GT(size, 0);
  const std::string text(buffer.data(), static_cast<std::size_t>(size));
  EXPECT_TRUE(text.starts_with(kKinetoBeginning));
  EXPECT_EQ(of_category(json::parse(text), "kernel").at(0)["name"], "a \"b\"\n\xEF\xBF\xBD");
}

}  // namespace
}  // namespace weft::traces
