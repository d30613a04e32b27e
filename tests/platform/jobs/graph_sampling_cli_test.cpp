// SPDX-License-Identifier: Apache-2.0
// Training of graph networks on sampled neighbourhoods: what is sampled, when it is copied, and what arrives. Runs the
// binary.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "sw/schedules/sampling/epoch_time.h"
#include "sw/schedules/sampling/neighbourhood.h"
#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using schedules::expected_hops;
using schedules::Hop;
using schedules::SampledGraph;

/// Of a log-normal number of neighbours, by drawing.
TEST(Neighbourhood, DrawsWhatALogNormalGives) {
  std::mt19937_64 random(1);
  for (const double fan_out : {2.0, 5.0, 15.0}) {
    std::lognormal_distribution<double> degrees(std::log(20.0) - 0.65, std::sqrt(1.3));
    double sum = 0;
    constexpr int kDraws = 200'000;
    for (int i = 0; i < kDraws; ++i) sum += std::min(degrees(random), fan_out);
    EXPECT_NEAR(schedules::mean_drawn(20, 1.3, fan_out), sum / kDraws, 0.01 * fan_out) << fan_out;
  }
  EXPECT_DOUBLE_EQ(schedules::mean_drawn(4, 0, 10), 4);
}

/// Without spread every node has 40 neighbours: of the ends of all draws, those that differ, as drawn.
TEST(Neighbourhood, CountsANodeOnce) {
  SampledGraph graph;
  graph.nodes = 5000;
  graph.edges = 200'000;
  graph.spread = 0;
  const std::vector<Hop> hops = expected_hops(graph, 50, {10, 10});
  ASSERT_EQ(hops.size(), 2U);
  EXPECT_EQ(hops[0].targets, 50);
  EXPECT_EQ(hops[0].edges, 500);
  EXPECT_EQ(hops[1].targets, hops[0].sources);
  EXPECT_NEAR(static_cast<double>(hops[1].edges), 10 * static_cast<double>(hops[1].targets), 10);  // of a rounded mean
  std::mt19937_64 random(2);
  std::set<std::uint64_t> found;
  for (std::uint64_t i = 0; i < 50; ++i) found.insert(i);
  for (int i = 0; i < hops[0].edges; ++i) found.insert(random() % 5000);
  EXPECT_NEAR(static_cast<double>(hops[0].sources), static_cast<double>(found.size()), 20);
  for (int i = 0; i < hops[1].edges; ++i) found.insert(random() % 5000);
  EXPECT_NEAR(static_cast<double>(hops[1].sources), static_cast<double>(found.size()), 60);
}

TEST(Neighbourhood, IsNoLargerThanTheGraph) {
  SampledGraph graph;
  graph.nodes = 100;
  graph.edges = 10'000;
  const std::vector<Hop> hops = expected_hops(graph, 80, {15, 10, 5});
  EXPECT_LE(hops.back().sources, 100);
  EXPECT_GE(hops.back().sources, 95);
}

class GraphSamplingCli : public test::CliTest {
 protected:
  GraphSamplingCli() {
    write("small.json", R"({"accelerators": 4, "per_node": 2, "accelerator": "v100-sxm2", "nic": "connectx-6",
        "fabric": {"topology": "switch"},
        "remote_memory": {"kind": "per-accelerator", "capacity": "1GiB", "rate": "12GB/s", "latency": "0us",
                          "dma": {"overhead": "0us"}},
        "firmware": {"cores": 16, "clock": "2GHz", "access_cycles": 200, "port_cycles": 0},
        "workload": {"kind": "graph-sampling", "batch": 16, "fan_outs": [5, 3], "hidden": 32, "batches": 9,
                     "samplers": 3, "launch": "0us",
                     "graph": {"nodes": 5000, "edges": 60000, "training": 1000, "features": 32, "classes": 5}}})");
  }
  json small(const std::string& options) { return run_json("../small.json " + options); }
};

/// Rows, edges and sums, with buffers that are used again.
TEST_F(GraphSamplingCli, BatchesArrive) {
  for (const char* options :
       {"", "--set workload.copies_ahead=0 --set workload.slicer=main --set workload.sampler=pyg",
        "--set workload.copies_ahead=3 --set workload.queue=4 --set workload.waits_for_loss=true",
        "--set workload.queue=1 --set workload.samplers=1 --set accelerators=1 --set per_node=1", "--set stall=20us"}) {
    const json ran = small(std::string("--data ") + options);
    EXPECT_EQ(ran["wrong"], 0) << options;
    EXPECT_EQ(ran["batch_ends_us"].size(), 9U) << options;
  }
}

TEST_F(GraphSamplingCli, ATableSaysWhatIsWrong) {
  const std::string line = "\nwrong elements                   0\n";
  EXPECT_NE(weft("run ../small.json --data").out.find(line), std::string::npos);
}

TEST_F(GraphSamplingCli, PartsAddUp) {
  const json ran = small("--set workload.copies_ahead=0 --set accelerators=1 --set per_node=1");
  double sum = 0;
  for (const json& part : ran["breakdown_us"]) sum += part.get<double>();
  EXPECT_NEAR(sum, ran["batch_ends_us"].back().get<double>(), 0.001);
  EXPECT_EQ(ran["epoch_batches"], 63);
}

/// Batches at a steady rate stand for those of the epoch; others for none.
TEST_F(GraphSamplingCli, AnEpochFollowsFromASteadyStretch) {
  for (const char* options :
       {"", "--set firmware.cores=1", "--set remote_memory.rate=1Gbps", "--set workload.host_memory=1Gbps",
        "--set workload.copies_ahead=3", "--set workload.samplers=1 --set workload.queue=3"}) {
    const std::string all = std::string("--set workload.graph.training=4900 --set workload.batch=4 ") + options +
                            " --set workload.batches=";
    const double whole = small(all + "0")["epoch_us"].get<double>();
    EXPECT_NEAR(small(all + "200")["epoch_us"].get<double>(), whole, 0.01 * whole) << options;
    EXPECT_TRUE(small(all + "9")["epoch_us"].is_null()) << options;
  }
  const std::string told = weft("run ../small.json").out;
  EXPECT_NE(told.find("9 of its 16 batches have no stretch at a steady rate"), std::string::npos) << told;
}

TEST_F(GraphSamplingCli, AnEpochIsAllOfARunThatAsksForMore) {
  const json ran = small("--set workload.graph.training=200");
  EXPECT_EQ(ran["epoch_batches"], 4);
  EXPECT_EQ(ran["batches"], 4);
  ASSERT_EQ(ran["batch_ends_us"].size(), 4U);
  EXPECT_EQ(ran["epoch_us"], ran["batch_ends_us"].back());
  EXPECT_EQ(ran["epoch_us"], small("--set workload.graph.training=200 --set workload.batches=0")["epoch_us"]);
}

/// Bursts of 4 batches every 100 us.
TEST(EpochTime, NeedsAStretchThatNeitherFillsNorEmptiesQueues) {
  const auto us = [](double time) { return Time(std::llround(time * 1e6)); };
  std::vector<Time> begins;
  std::vector<Time> ends;
  for (int batch = 0; batch < 100; ++batch) {
    begins.push_back(us(batch / 4 * 100));
    ends.push_back(us(batch / 4 * 100 + 100 + batch % 4));
  }
  EXPECT_EQ(schedules::epoch_time(begins, ends, 4, 100), ends.back());
  EXPECT_EQ(schedules::epoch_time(begins, ends, 4, 500), ends.back() + us(10'000));
  // All begin at once: their ends tell how fast a queue is emptied.
  EXPECT_EQ(schedules::epoch_time(std::vector<Time>(100), ends, 4, 500), std::nullopt);
  // Samplers are twice as fast: their queue is filled.
  std::vector<Time> early = begins;
  for (Time& begin : early) begin = Time(begin.count() / 2);
  EXPECT_EQ(schedules::epoch_time(early, ends, 4, 500), std::nullopt);
  // Each batch takes longer than the one before it.
  std::vector<Time> later = ends;
  for (std::size_t batch = 0; batch < later.size(); ++batch)
    later[batch] += us(0.2 * static_cast<double>(batch * batch));
  EXPECT_EQ(schedules::epoch_time(ends, later, 4, 500), std::nullopt);
}

/// Of one thread: accesses of 200 cycles and instructions of one, at 2 GHz.
TEST_F(GraphSamplingCli, ASamplerTakesWhatItsAccessesTake) {
  const json ran = small("--set accelerators=1 --set per_node=1 --set workload.samplers=1");
  double cycles = 0;
  for (const json& hop : ran["hops"]) {
    cycles += hop["targets"].get<double>() * (50 + 200) + hop["edges"].get<double>() * (120 + 3 * 200);
  }
  EXPECT_NEAR(ran["of_a_batch_us"]["sampler"].get<double>(), cycles / 2000, 0.2);
}

/// Twice the samplers halve an epoch that they bound.
TEST_F(GraphSamplingCli, SamplersWorkSideBySide) {
  const std::string bound =
      "--set accelerators=1 --set per_node=1 --set workload.batches=0 --set firmware.clock=100MHz";
  const double one = small(bound + " --set workload.samplers=2")["epoch_us"].get<double>();
  const double two = small(bound + " --set workload.samplers=4")["epoch_us"].get<double>();
  EXPECT_NEAR(two / one, 0.5, 0.05);
}

/// A slow link: a batch takes its copy and its kernels in turn, or the longer of them.
TEST_F(GraphSamplingCli, CopiesHideBehindKernels) {
  const std::string slow =
      "--set accelerators=1 --set per_node=1 --set workload.batches=30 --set remote_memory.rate=150MB/s "
      "--set workload.samplers=8 ";
  const json in_turn = small(slow + "--set workload.copies_ahead=0");
  const json ahead = small(slow + "--set workload.copies_ahead=1");
  const double copy = ahead["copied_bytes"].get<double>() / 150;
  EXPECT_NEAR(ahead["of_a_batch_us"]["copy"].get<double>(), copy, 0.01 * copy);
  const double train = in_turn["breakdown_us"]["train"].get<double>() / 30;
  const auto each = [](const json& ran) {
    return (ran["batch_ends_us"][29].get<double>() - ran["batch_ends_us"][9].get<double>()) / 20;
  };
  EXPECT_NEAR(each(in_turn), copy + train, 0.03 * (copy + train));
  EXPECT_NEAR(each(ahead), std::max(copy, train), 0.03 * std::max(copy, train));
}

TEST_F(GraphSamplingCli, RefusesWhatItCannotDo) {
  const auto refused = [this](const std::string& options, const std::string& path) {
    const test::Ran ran = weft("run ../small.json " + options);
    EXPECT_EQ(ran.code, 2) << options;
    EXPECT_NE(ran.err.find(path + ": expected"), std::string::npos) << ran.err;
  };
  refused("--set remote_memory.kind=none", "remote_memory.kind");
  refused("--set workload.fan_outs=[]", "workload.fan_outs");
  refused("--set firmware.access_cycles=0", "firmware.access_cycles");
  refused("--set workload.sampler=dgl", "workload.sampler");
  refused("--set workload.graph.training=5001", "workload.graph.training");
}

}  // namespace
}  // namespace weft
