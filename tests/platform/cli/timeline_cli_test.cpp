// SPDX-License-Identifier: Apache-2.0
// What the timelines of weft run show. Runs the binary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/perfetto.h"

namespace weft {
namespace {

using nlohmann::json;
using test::PerfettoFlow;
using test::PerfettoSlice;
using test::PerfettoTrace;
using test::Ran;

class TimelineCli : public test::CliTest {
 protected:
  json run(const std::string& arguments) {
    const Ran ran = weft("run " + arguments + " --json --out out");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  }
  [[nodiscard]] PerfettoTrace trace() const {
    return PerfettoTrace(test::read_packed(folder_ / "work/out/timeline.pftrace.gz"));
  }
};

TEST_F(TimelineCli, OfFsdpHasKernelsCollectivesAndPhases) {
  const json ran = run("../small.json --set workload.steps=2");
  EXPECT_EQ(ran["timeline"], "timeline.pftrace.gz");
  const PerfettoTrace trace = this->trace();
  const std::vector<std::string> processes = trace.processes();
  for (const char* process : {"accelerator 0", "accelerator 3"})
    EXPECT_NE(std::find(processes.begin(), processes.end(), process), processes.end()) << process;
  for (const PerfettoSlice& slice : trace.slices()) {
    ASSERT_GE(slice.to, slice.from) << slice.name << " has not ended";
    EXPECT_FALSE(slice.name.empty());
  }

  // Kernels follow each other, and wait for what is gathered.
  const std::vector<PerfettoSlice> kernels = trace.slices("accelerator 0", "compute");
  ASSERT_GT(kernels.size(), 20U);
  std::int64_t computed = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].category, "kernel");
    EXPECT_EQ(kernels[i].depth, 0);
    EXPECT_GE(kernels[i].numbers.at("queued_ns"), 0);
    if (i > 0) {
      EXPECT_GE(kernels[i].from, kernels[i - 1].to);
    }
    computed += kernels[i].length();
  }
  EXPECT_GT(computed, 0);
  const std::vector<PerfettoSlice> gathers = trace.slices("accelerator 0", "allgather");
  ASSERT_FALSE(gathers.empty());
  for (const PerfettoSlice& gather : gathers) {
    EXPECT_TRUE(gather.name.starts_with("allgather ")) << gather.name;
    EXPECT_EQ(gather.texts.at("operation"), "AllGather");
    EXPECT_EQ(gather.numbers.at("ranks"), 4);
    EXPECT_GT(gather.numbers.at("bytes"), 0);
  }

  // Steps have passes, which have layers.
  const std::vector<PerfettoSlice> phases = trace.slices("accelerator 0", "phases");
  std::vector<PerfettoSlice> steps;
  std::int64_t of_passes = 0;
  std::set<std::string> passes;
  for (const PerfettoSlice& phase : phases) {
    if (phase.depth == 0) steps.push_back(phase);
    if (phase.depth == 1) of_passes += phase.length();
    if (phase.depth == 1) passes.insert(phase.name);
    if (phase.depth == 2) {
      EXPECT_TRUE(phase.within == "forward" || phase.within == "backward") << phase.name;
    }
  }
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "step 1");
  EXPECT_EQ(steps[1].from, steps[0].to);
  EXPECT_EQ(of_passes, steps[1].to) << "passes fill the steps";
  EXPECT_EQ(passes, (std::set<std::string>{"forward", "head, forward and backward", "backward", "optimizer"}));
  std::int64_t last_rank = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const auto all = trace.slices("accelerator " + std::to_string(rank), "phases");
    for (const PerfettoSlice& phase : all) last_rank = std::max(last_rank, phase.to);
  }
  EXPECT_NEAR(static_cast<double>(last_rank),
              1e3 * (ran["steps_us"][0].get<double>() + ran["steps_us"][1].get<double>()), 2);
}

/// Every Allgather leads to the first kernel that needs it, on its accelerator, which begins when it has ended.
TEST_F(TimelineCli, ArrowsGoFromCollectivesToKernels) {
  run("../small.json");
  const PerfettoTrace trace = this->trace();
  std::size_t of_gathers = 0;
  for (const PerfettoFlow& flow : trace.flows()) {
    EXPECT_EQ(flow.from->category, "collective");
    EXPECT_EQ(flow.to->category, "kernel");
    EXPECT_EQ(flow.from->process, flow.to->process);
    EXPECT_GE(flow.to->from, flow.from->to) << flow.from->name << " to " << flow.to->name;
    if (flow.from->row == "allgather") ++of_gathers;
  }
  std::size_t gathers = 0;
  for (const PerfettoSlice& slice : trace.slices()) gathers += slice.row == "allgather" ? 1 : 0;
  EXPECT_EQ(of_gathers, gathers);
}

TEST_F(TimelineCli, TheDeepestQueuesAreDrawn) {
  const std::string contended = "llama3-8b-fsdp-64xh100 --set accelerators=16 --set workload.layers=1 ";
  run(contended);
  const auto queues = [this] {
    std::map<std::string, double> highest;
    const PerfettoTrace trace = this->trace();
    for (const auto& [name, values] : trace.counters()) {
      if (!name.ends_with("queued bytes")) continue;
      for (const auto& [at, value] : values) highest[name] = std::max(highest[name], value);
    }
    return highest;
  };
  const std::map<std::string, double> four = queues();
  EXPECT_EQ(four.size(), 4U);
  run(contended + "--timeline-queues 1000");
  const std::map<std::string, double> all = queues();
  EXPECT_GT(all.size(), four.size());
  double least = 1e18;
  for (const auto& [name, highest] : four) {
    EXPECT_EQ(all.at(name), highest);
    least = std::min(least, highest);
  }
  for (const auto& [name, highest] : all) {
    if (!four.contains(name)) {
      EXPECT_LE(highest, least) << name;
    }
  }
  run(contended + "--timeline-queues 0");
  EXPECT_TRUE(queues().empty());
}

/// Messages of traces lead from the send to the receive, and generated steps have phases.
TEST_F(TimelineCli, OfATransformerHasMessagesAndPhases) {
  ASSERT_EQ(weft("workload llama3-8b --parallel pp=2,fsdp=2 --layers 2 --sequence 512 --out . --name w").code, 0);
  run("../small.json --traces w");
  const PerfettoTrace trace = this->trace();
  std::size_t sends = 0;
  std::size_t receives = 0;
  for (const PerfettoSlice& slice : trace.slices()) {
    if (slice.category != "send" && slice.category != "receive") continue;
    ++(slice.category == "send" ? sends : receives);
    EXPECT_TRUE(slice.numbers.contains("peer"));
    EXPECT_GT(slice.numbers.at("bytes"), 0);
  }
  EXPECT_GT(sends, 0U);
  EXPECT_EQ(sends, receives);
  std::size_t arrows = 0;
  for (const PerfettoFlow& flow : trace.flows()) {
    if (flow.from->category != "send") continue;
    ++arrows;
    EXPECT_EQ(flow.to->category, "receive");
    EXPECT_EQ(flow.from->process, "accelerator " + std::to_string(flow.to->numbers.at("peer")));
    EXPECT_EQ(flow.to->process, "accelerator " + std::to_string(flow.from->numbers.at("peer")));
    EXPECT_EQ(flow.to->numbers.at("bytes"), flow.from->numbers.at("bytes"));
    EXPECT_GE(flow.to->to, flow.from->from);
  }
  EXPECT_EQ(arrows, sends);
  std::map<std::string, std::set<std::string>> within;
  for (const PerfettoSlice& phase : trace.slices("accelerator 0", "phases")) within[phase.within].insert(phase.name);
  EXPECT_EQ(within[""], std::set<std::string>{"step 1"});
  EXPECT_EQ(within["step 1"], (std::set<std::string>{"forward, microbatch 0", "forward, microbatch 1",
                                                     "backward, microbatch 0", "backward, microbatch 1", "optimizer"}));
  EXPECT_EQ(within["forward, microbatch 0"], (std::set<std::string>{"embedding", "layer 0"}));
}

/// The path is without gaps, from the start to the end that why.json tells.
TEST_F(TimelineCli, TheCriticalPathIsARow) {
  const json ran = run("../small.json --why");
  const PerfettoTrace trace = this->trace();
  const json why = json::parse(test::read_file(folder_ / "work/out/why.json"));
  std::int64_t at[2] = {0, 0};
  std::size_t kernels = 0;
  for (const PerfettoSlice& slice : trace.slices("critical path", "critical path")) {
    ASSERT_LT(slice.depth, 2);
    EXPECT_EQ(slice.from, at[slice.depth]) << slice.name;
    at[slice.depth] = slice.to;
    if (slice.name.starts_with("kernel, ")) ++kernels;
  }
  EXPECT_GT(kernels, 0U);
  EXPECT_EQ(at[0], at[1]);
  // What the last thread still does is no step of the path.
  EXPECT_LE(at[0], why["until_ps"].get<std::int64_t>() / 1000);
  EXPECT_GT(at[0], why["until_ps"].get<std::int64_t>() / 1000 - 10'000);
  EXPECT_TRUE(PerfettoTrace(test::read_packed(folder_ / "work/out/timeline.pftrace.gz")).events() > 0);
  EXPECT_EQ(run("../small.json")["simulator"]["digest"], ran["simulator"]["digest"]);
}

/// What Holistic Trace Analysis asks of a folder: every file of it names its rank, kernels have streams and launches,
/// and launches are within a step of the profiler.
TEST_F(TimelineCli, OfKinetoHasAFileForEachRank) {
  const json ran = run("../small.json --set workload.steps=2 --timeline hta/trace.json");
  EXPECT_EQ(ran["timeline"], "hta/trace.rank*.json");
  std::set<int> ranks;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "work/hta")) {
    const json trace = json::parse(test::read_file(entry.path()));
    const int rank = trace["distributedInfo"]["rank"];
    EXPECT_TRUE(ranks.insert(rank).second);
    EXPECT_EQ(entry.path().filename(), "trace.rank" + std::to_string(rank) + ".json");
    EXPECT_EQ(trace["distributedInfo"]["world_size"], 4);
    std::map<std::string, std::pair<double, double>> steps;
    std::map<int, double> launched;
    std::map<int, std::vector<std::pair<double, double>>> streams;
    std::size_t kernels = 0;
    std::size_t of_nccl = 0;
    for (const json& event : trace["traceEvents"]) {
      const std::string category = event.value("cat", "");
      const double from = event["ts"];
      const double length = event.value("dur", 0.0);
      EXPECT_GE(length, 0);
      if (category == "cuda_runtime") {
        EXPECT_TRUE(launched.emplace(event["args"]["correlation"], from).second);
      }
      if (category == "user_annotation" && event["name"].get<std::string>().starts_with("ProfilerStep#"))
        steps[event["name"]] = {from, from + length};
      if (category != "kernel") continue;
      ++kernels;
      of_nccl += event["name"].get<std::string>().starts_with("ncclDevKernel_") ? 1 : 0;
      streams[event["args"]["stream"]].emplace_back(from, from + length);
      EXPECT_LE(launched.at(event["args"]["correlation"]), from);
    }
    EXPECT_EQ(launched.size(), kernels);
    EXPECT_GT(of_nccl, 0U);
    EXPECT_GT(kernels, of_nccl);
    ASSERT_EQ(steps.size(), 2U);
    const double begun = steps.at("ProfilerStep#1").first;
    const double ended = steps.at("ProfilerStep#2").second;
    for (const auto& [correlation, at] : launched) EXPECT_TRUE(at >= begun && at < ended) << at;
    for (auto& [stream, slices] : streams) {
      EXPECT_GT(stream, 0);
      std::sort(slices.begin(), slices.end());
      for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].first, slices[i - 1].second - 1e-3);
    }
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2, 3}));
  // They are replaced as files of one kind.
  run("../small.json --timeline hta/trace.json --timeline-ranks 2");
}

TEST_F(TimelineCli, OfRowsOfACollectiveHasEachCall) {
  const Ran ran = weft(
      "collective ../small.json --op all_reduce --bytes 64KiB,1MiB --json --timeline hta/trace.json "
      "--timeline-ranks 2");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json rows = json::parse(ran.out)["rows"];
  std::map<std::int64_t, double> longest;
  for (const int rank : {0, 1}) {
    const json trace = json::parse(test::read_file(folder_ / "work/hta" / fmt::format("trace.rank{}.json", rank)));
    std::vector<std::int64_t> bytes;
    for (const json& event : trace["traceEvents"]) {
      if (event["name"] != "ncclDevKernel_AllReduce") continue;
      bytes.push_back(event["args"]["bytes"]);
      EXPECT_EQ(event["args"]["Group size"], 4);
      longest[bytes.back()] = std::max(longest[bytes.back()], event["dur"].get<double>());
    }
    EXPECT_EQ(bytes, (std::vector<std::int64_t>{64 << 10, 64 << 10, 1 << 20})) << "with the warm-up";
  }
  EXPECT_LE(longest[1 << 20], rows[1]["time_us"].get<double>() + 1e-3);
  EXPECT_GT(longest[1 << 20], 0.5 * rows[1]["time_us"].get<double>());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/hta/trace.rank2.json"));
}

}  // namespace
}  // namespace weft
