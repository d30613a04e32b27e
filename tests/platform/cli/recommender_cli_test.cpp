// SPDX-License-Identifier: Apache-2.0
// Recommenders with real numbers and without: what travels whole, and by dynamic thresholds. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;

class RecommenderCli : public test::CliTest {
 protected:
  /// A small one that is trained on four hosts.
  json train(const std::string& more) {
    return run_json(
        "dlrm-16xv100 --data --set accelerators=4 --set workload.tables=8 --set workload.rows=50 "
        "--set workload.width=8 --set workload.lookups=3 --set workload.dense=6 --set 'workload.bottom=[12]' "
        "--set 'workload.top=[16]' --set workload.batch=12 --set workload.steps=8 --set workload.rate=0.5 " +
        more);
  }
};

// Tables and perceptrons are what the same training comes to without a machine.
TEST_F(RecommenderCli, LearnsWhatItLearnsWithoutAMachine) {
  for (const char* algorithm : {"nccl", "dimensions"}) {
    const json result = train(std::string("--set collectives.algorithm=") + algorithm);
    EXPECT_EQ(result["wrong"], 0) << algorithm;
    EXPECT_LT(result["losses"][7], 0.97 * result["losses"][0].get<double>()) << algorithm;
  }
}

// A sample has two tables of 8 numbers on each rank: a quarter of these are 4, with 4 indices.
TEST_F(RecommenderCli, TheLargestOfEachSampleTravel) {
  const json whole = train("");
  const json sparse = train("--set workload.exchanged=0.25");
  EXPECT_EQ(whole["exchange_bytes"], 12 * 4 * 16 * 4);
  EXPECT_EQ(sparse["exchange_bytes"], 12 * 4 * 4 * 8);
  EXPECT_EQ(sparse["wrong"], 0);
  EXPECT_NE(sparse["losses"], whole["losses"]);
  EXPECT_LT(sparse["losses"][7], sparse["losses"][0].get<double>());
}

// Gradients above a threshold, with what stays behind added to the next ones: all ranks have the same weights.
TEST_F(RecommenderCli, GradientsTravelByADynamicThreshold) {
  const json whole = train("");
  const json sparse = train(
      "--set collectives.compression.method=dynamic-threshold --set collectives.compression.ratio=0.05 "
      "--set collectives.compression.dynamic_threshold.interval=4");
  EXPECT_EQ(sparse["wrong"], 0);
  EXPECT_LT(sparse["gradient_bytes"], 0.25 * whole["gradient_bytes"].get<double>());
  EXPECT_LT(sparse["losses"][7], sparse["losses"][0].get<double>());
}

// One meaning of bytes, whatever the collective of a compressor is.
TEST_F(RecommenderCli, GradientsAreAMessageAsItTravels) {
  const std::string by = "--set collectives.compression.method=";
  const double whole = train("")["gradient_bytes"];
  const double fixed = train(by + "fixed-rate")["gradient_bytes"];
  EXPECT_NEAR(fixed / whole, 0.25, 0.05) << "8 of 32 bits";
  EXPECT_NEAR(train(by + "qsgd")["gradient_bytes"].get<double>() / whole, 0.25, 0.05);
  const json one = train("--set accelerators=1");
  EXPECT_EQ(one["gradient_bytes"], 0);
  EXPECT_EQ(one["exchange_bytes"], 0);
}

// Numbers that grow beyond all bounds are no wrong elements.
TEST_F(RecommenderCli, ADivergedTrainingIsNamed) {
  const test::Ran ran = weft(
      "run dlrm-16xv100 --data --set accelerators=4 --set workload.tables=8 --set workload.rows=50 "
      "--set workload.width=8 --set workload.lookups=3 --set workload.dense=6 --set 'workload.bottom=[12]' "
      "--set 'workload.top=[16]' --set workload.batch=12 --set workload.steps=40 --set workload.rate=10");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find(": expected a finite number, got "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("a lower workload.rate than 10 helps"), std::string::npos) << ran.err;
}

// The published factors of traffic, 100 and 20, by shares that give them; steps are shorter.
TEST_F(RecommenderCli, ThresholdsSaveTime) {
  const json whole = run_json("dlrm-16xv100");
  const json sparse = run_json(
      "dlrm-16xv100 --set workload.exchanged=0.025 --set collectives.compression.method=dynamic-threshold "
      "--set collectives.compression.ratio=0.005");
  EXPECT_GE(whole["gradient_bytes"].get<double>() / sparse["gradient_bytes"].get<double>(), 99);
  EXPECT_NEAR(whole["exchange_bytes"].get<double>() / sparse["exchange_bytes"].get<double>(), 20, 1.5);
  EXPECT_LT(sparse["step_time_us"], 0.9 * whole["step_time_us"].get<double>());
}

TEST_F(RecommenderCli, RemarksStandBehindTheResultAndAreNoWarnings) {
  const std::string remark = "all_to_all by collectives of fixed-rate's own";
  const test::Ran ran = weft(
      "run dlrm-16xv100 --set accelerators=4 --set workload.rows=50 --set workload.batch=12 --set workload.steps=1 "
      "--set collectives.compression.method=fixed-rate");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_LT(ran.out.find("\nstep time "), ran.out.find("\n" + remark)) << ran.out;
  EXPECT_NE(ran.out.find("\n" + remark), std::string::npos) << ran.out;
  EXPECT_EQ(ran.err.find(remark), std::string::npos) << ran.err;
}

TEST_F(RecommenderCli, OneAcceleratorIsOne) {
  const test::Ran ran = weft(
      "run dlrm-16xv100 --set accelerators=1 --set workload.tables=1 --set workload.rows=50 --set workload.batch=1 "
      "--set workload.steps=1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("dlrm-16xv100: 1 table and perceptrons of "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(" on 1 accelerator, 1 sample each, step 1 of 1\n"), std::string::npos) << ran.out;
}

TEST_F(RecommenderCli, WhatCannotBeIsRefused) {
  for (const BadInput& bad : std::vector<BadInput>{
           {"tables", "run dlrm-16xv100 --set workload.tables=24", {"workload.tables: ", "16 accelerators, got 24"}},
           {"share",
            "run dlrm-16xv100 --set workload.exchanged=0",
            {"workload.exchanged: expected a number, more than 0 and at most 1, got 0"}},
           {"no AllToAll", "run dlrm-16xv100 --set collectives.algorithm=ring", {"collectives.algorithm: "}},
           {"memory", "run dlrm-16xv100 --set workload.rows=100000000", {"embedding tables", "accelerator.hbm"}}}) {
    expect_refused(bad);
  }
}

}  // namespace
}  // namespace weft
