// SPDX-License-Identifier: Apache-2.0
// Pipelines over accelerators and links that differ, with real numbers and without. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;

class PipelineCli : public test::CliTest {
 protected:
  PipelineCli() {
    json layers = json::array();
    const std::vector<int> sizes = {24, 40, 40, 32, 32, 32, 8};
    for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
      layers.push_back({{"layer", "layer" + std::to_string(l)},
                        {"kind", "linear"},
                        {"channels_in", sizes[l]},
                        {"channels_out", sizes[l + 1]},
                        {"bias", true}});
    }
    write("chain.json", json{{"name", "chain"}, {"layers", layers}}.dump());
  }
  /// Training a small chain of layers on some of the accelerators.
  json train(int stages, const std::string& more) {
    return pipeline("--data --set workload.model=../chain.json --set workload.steps=6 --set workload.stages=" +
                    std::to_string(stages) + " " + more);
  }
  json pipeline(const std::string& more) {
    return run_json("fusionllm-48 --set workload.batch=8 --set workload.microbatches=4 " + more);
  }
};

// Whatever stages there are, the same is learnt.
TEST_F(PipelineCli, StagesLearnWhatOneLearns) {
  const json one = train(1, "--set workload.compression.method=none");
  EXPECT_EQ(one["wrong"], 0);
  EXPECT_LT(one["losses"][5], 0.8 * one["losses"][0].get<double>());
  for (const int stages : {2, 6}) {
    const json cut = train(stages, "--set workload.compression.method=none");
    EXPECT_EQ(cut["wrong"], 0) << stages;
    EXPECT_EQ(cut["losses"], one["losses"]) << stages;
  }
  // Gradients are added up in another order.
  const json other = train(6, "--set workload.compression.method=none --set workload.schedule=1f1b");
  EXPECT_EQ(other["wrong"], 0);
  for (std::size_t step = 0; step < 6; ++step) {
    EXPECT_NEAR(other["losses"][step].get<double>(), one["losses"][step].get<double>(), 1e-5);
  }
}

// Numbers that grow beyond all bounds are no wrong elements.
TEST_F(PipelineCli, ADivergedTrainingIsNamed) {
  const test::Ran ran = weft(
      "run fusionllm-48 --set workload.batch=8 --set workload.microbatches=4 --data "
      "--set workload.model=../chain.json --set workload.steps=40 --set workload.stages=2 --set workload.rate=100 "
      "--set workload.compression.method=none");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find(": expected a finite number, got "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("a lower workload.rate than 100 helps"), std::string::npos) << ran.err;
}

// What is left of messages travels as bytes, and is what training goes on with.
TEST_F(PipelineCli, CompressedMessagesAreWhatComes) {
  const json whole = train(4, "--set workload.compression.method=none");
  for (const char* schedule : {"gpipe", "1f1b"}) {
    for (const char* bits : {"32", "64"}) {
      const json sparse =
          train(4, std::string("--set workload.placement=random --set workload.compression.ratio=0.1 ") +
                       "--set workload.compressed_links=all --set workload.schedule=" + schedule +
                       " --set workload.index_bits=" + bits);
      EXPECT_EQ(sparse["wrong"], 0) << schedule << bits;
      EXPECT_EQ(sparse["compressed_links"], 3);
      EXPECT_LT(sparse["sent_bytes"], 0.2 * sparse["uncompressed_bytes"].get<double>());
      EXPECT_NE(sparse["losses"], whole["losses"]);
      EXPECT_LT(sparse["losses"][5], sparse["losses"][0].get<double>());
    }
  }
  // The largest of each sample, of which a message has two.
  const json by_sample = train(4,
                               "--set workload.compression.ratio=0.1 --set workload.compressed_links=all "
                               "--set workload.compression.by_tensor=true");
  EXPECT_EQ(by_sample["wrong"], 0);
  EXPECT_LT(by_sample["losses"][5], by_sample["losses"][0].get<double>());
  const json by_message = train(4, "--set workload.compression.ratio=0.1 --set workload.compressed_links=all");
  EXPECT_NE(by_sample["losses"], by_message["losses"]);
  // All elements, with their places: nothing is lost, and nothing gained.
  const json all = train(4, "--set workload.compression.ratio=1");
  EXPECT_EQ(all["losses"], whole["losses"]);
  EXPECT_EQ(all["sent_bytes"], all["uncompressed_bytes"]);
}

// Numbers that tell stage, microbatch and step come to their places.
TEST_F(PipelineCli, MessagesOfLargeModelsAreCompared) {
  const json result =
      pipeline("--data --set workload.model=resnet101 --set workload.batch=2 --set workload.microbatches=2");
  EXPECT_EQ(result["wrong"], 0);
  EXPECT_EQ(result["losses"], nullptr);
  EXPECT_GT(result["compared"], 100'000'000);
}

// Each of the published measures saves time on its own.
TEST_F(PipelineCli, FencesCutsAndCompressionSaveTime) {
  const auto time = [this](const std::string& more) {
    return pipeline(more + " --set workload.steps=1")["step_time_us"].get<double>();
  };
  const double best = time("");
  EXPECT_GT(time("--set workload.compression.method=none"), 3 * best);
  EXPECT_GT(time("--set workload.placement=random"), 1.5 * best);
  // Where stages have more than a unit or two.
  const double fitted = time("--set workload.stages=36");
  EXPECT_GT(time("--set workload.stages=36 --set workload.cut=units"), fitted);
  EXPECT_GT(time("--set workload.stages=36 --set workload.cut=compute"), 1.05 * fitted);
}

// Where messages wait for none but those of their own link, the closed form is what is simulated.
TEST_F(PipelineCli, TakesWhatTheClosedFormSays) {
  for (const char* more : {"--set workload.compression.method=none --set workload.batch=16",
                           "--set workload.batch=16 --set fabric.link.propagation=40ms"}) {
    const json result = pipeline(more);
    EXPECT_NEAR(result["step_time_us"].get<double>() / result["estimate_us"].get<double>(), 1, 0.05) << more;
  }
}

// A table of measured rates, rates that are drawn, and links of a megabit and seconds of flight.
TEST_F(PipelineCli, LinksMayVaryAndBeVerySlow) {
  const json even = pipeline("--set workload.compression.method=none --set workload.steps=1");
  write("rates.csv", "link,from,until,rate\nsite2-site3,0s,2s,0.8\nsite2-site3,2s,3s,0.25\nsite2-site3,3s,100s,0.6\n");
  const json traced =
      pipeline("--set workload.compression.method=none --set workload.steps=1 --set fabric.faults=../rates.csv");
  // The link is the slowest, with others as slow: 9.2 s at its full rate.
  EXPECT_GT(traced["step_time_us"], 1.3 * even["step_time_us"].get<double>());
  EXPECT_LT(traced["step_time_us"], 1.8 * even["step_time_us"].get<double>());
  const json drawn =
      pipeline(R"(--data --set workload.model=../chain.json --set workload.stages=6 --set workload.placement=random )"
               R"(--set 'fabric.faults=[{"link": "site1-site2", "rate": 0.3, "every": "10ms", "jitter": "5ms"}]')");
  EXPECT_EQ(drawn["wrong"], 0);
  const json slow = pipeline(
      "--data --set workload.model=../chain.json --set workload.stages=6 --set workload.placement=random "
      "--set fabric.mtu=256B --set fabric.segment=256B --set 'fabric.edges.48.link={\"rate\": \"1Mbps\", "
      "\"propagation\": \"2s\"}'");
  EXPECT_EQ(slow["wrong"], 0);
}

// An accelerator's own part says how fast it is, what it holds and what it draws.
TEST_F(PipelineCli, AcceleratorsAreOfTheirOwnParts) {
  const json result = pipeline(
      "--set workload.cut=units --set workload.placement=index --set workload.steps=1 "
      "--set workload.compression.method=none");
  const json& stages = result["stages"];
  EXPECT_EQ(stages[3]["units"], stages[40]["units"]);
  EXPECT_LT(3 * stages[3]["busy_us"].get<double>(), stages[40]["busy_us"].get<double>());
  EXPECT_LT(2 * stages[3]["microbatch_us"].get<double>(), stages[40]["microbatch_us"].get<double>());
  const json fitted = pipeline("--set workload.placement=index --set workload.steps=1 --set workload.stages=36");
  std::int64_t of_fast = 0;
  for (int s = 0; s < 24; ++s) of_fast += fitted["stages"][static_cast<std::size_t>(s)]["units"].get<std::int64_t>();
  EXPECT_EQ(of_fast, 50 - 12);  // a unit for each of the slow ones
}

// Which others are told of by their place.
TEST_F(PipelineCli, OtherAcceleratorsAreChecked) {
  for (const BadInput& bad : std::vector<BadInput>{
           {"places", "run fusionllm-48 --set others.1.first=40", {"others.1.first: ", "48, got 40 to 51"}},
           {"engines",
            "run fusionllm-48 --set others.0.accelerator.copy_engines=999",
            {"others.0.accelerator.copy_engines: "}},
           {"kinds that count on like ones",
            "run ../small.json --set 'others=[{\"accelerator\": \"v100-sxm2\"}]'",
            {"others: ", "alike"}}}) {
    expect_refused(bad);
  }
}

TEST_F(PipelineCli, WhatCannotBeIsRefused) {
  for (const BadInput& bad : std::vector<BadInput>{
           {"stages", "run fusionllm-48 --set workload.stages=49", {"workload.stages: ", "48 accelerators, got 49"}},
           {"microbatches",
            "run fusionllm-48 --set workload.microbatches=3",
            {"workload.microbatches: ", "divisor", "got 3"}},
           {"schedule",
            "run fusionllm-48 --set workload.schedule=interleaved",
            {"workload.schedule: ", "one of gpipe, 1f1b", "got \"interleaved\""}},
           {"index_bits", "run fusionllm-48 --set workload.index_bits=48", {"workload.index_bits: ", "32 or 64"}},
           {"type", "run fusionllm-48 --set workload.type=bf16", {"workload.type: ", "fp32"}},
           {"compression.method",
            "run fusionllm-48 --set workload.compression.method=random-k",
            {"workload.compression.method: ", "qsgd", "got random-k"}},
           {"model", "run fusionllm-48 --set workload.model=densenet201", {"workload.model: ", "branches"}},
           {"model", "run fusionllm-48 --set workload.model=gpt2", {"workload.stages: ", "14 units", "got 48"}},
           {"model", "run fusionllm-48 --set workload.model=gpt2-xll", {"workload.model: ", "gpt2-xl"}},
           {"stages",
            "run fusionllm-48 --set workload.stages=2 --set workload.placement=random",
            {"workload.cut: ", "memories", "GiB of activations", "in all of 2 stages"}}}) {
    expect_refused(bad);
  }
}

}  // namespace
}  // namespace weft
