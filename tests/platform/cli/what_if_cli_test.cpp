// SPDX-License-Identifier: Apache-2.0
// weft why --what-if: what estimates are of, against simulations. Runs the binary.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class WhatIfCli : public test::CliTest {
 protected:
  void run(const std::string& arguments) {
    const Ran ran = weft("run --timeline-ranks 0 --out out --why " + arguments);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  json told(const std::string& arguments) {
    const Ran ran = weft("why out --json --verify" + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  }
  json why() { return json::parse(test::read_file(folder_ / "work/out/why.json")); }
  void rewrite_why(const json& why) { write("work/out/why.json", why.dump()); }
};

void expect_near(const json& row, double within) {
  const double simulated = row["simulated_ps"];
  EXPECT_NEAR(row["estimate_ps"].get<double>() / simulated, 1, within) << row;
  EXPECT_GE(simulated, 0.99 * row["least_ps"].get<double>()) << row;
  if (!row["most_ps"].is_null()) {
    EXPECT_LE(simulated, 1.01 * row["most_ps"].get<double>()) << row;
  }
}

/// Of edges the one that holds a run up, and one that holds up nothing.
TEST_F(WhatIfCli, ForetellsAChangeOfOneEdge) {
  write("edges.json", R"json({"name": "edges", "accelerators": 8, "per_node": 1, "accelerator": "h100-sxm",
      "nic": "connectx-7",
      "fabric": {"topology": "graph", "segment": "16KiB", "link": {"rate": "400Gbps", "propagation": "500ns"},
                 "edges": ["end0 - a", "end1 - a", "end2 - a", "end3 - a", "end4 - b", "end5 - b", "end6 - b",
                           {"between": "end7 - b", "link": {"rate": "50Gbps"}}, "a - b", "a - b", "a - b", "a - b"]},
      "workload": {"kind": "fsdp", "model": "gpt2", "layers": 1, "sequences": 1, "sequence": 128}})json");
  run("../edges.json");
  const json rows = told(
      " --what-if fabric.edges.7.link.rate=x2 --what-if fabric.edges.7.link.rate=20Gbps"
      " --what-if fabric.edges.1.link.rate=x2 --what-if fabric.edges.1.link.rate=x0.05 --what-if fabric.link.rate=x2");
  ASSERT_EQ(rows.size(), 5U);
  for (const json& row : rows) expect_near(row, 0.05);
  EXPECT_LT(rows[0]["simulated_ps"].get<double>(), 0.9 * rows[0]["before_ps"].get<double>());
  EXPECT_EQ(rows[0]["simulated_with"][0]["field"], "fabric.edges.7.link.rate");
  EXPECT_EQ(rows[0]["simulated_with"][0]["value"], "100Gbps");
  EXPECT_GT(rows[3]["simulated_ps"].get<double>(), 1.1 * rows[3]["before_ps"].get<double>());
  // What an end sends is that of its own link.
  EXPECT_LT(why()["used_ps"]["nic"], why()["used_ps"]["link"]);
}

/// The dimension that holds a collective up, and the last one, which has little to carry.
TEST_F(WhatIfCli, ForetellsAChangeOfOneDimension) {
  ASSERT_EQ(weft("collective astra1-torus-3d --op all_reduce --bytes 64MiB --why --out out").code, 0);
  const json rows = told(
      " --what-if fabric.dimensions.1.link.rate=x2 --what-if fabric.dimensions.1.link.rate=x0.5"
      " --what-if fabric.dimensions.2.link.rate=x2");
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) expect_near(row, 0.05);
  EXPECT_LT(rows[0]["simulated_ps"].get<double>(), 0.8 * rows[0]["before_ps"].get<double>());
  EXPECT_GT(rows[2]["simulated_ps"].get<double>(), 0.95 * rows[2]["before_ps"].get<double>());
}

/// Accelerators of another kind in a pipeline.
TEST_F(WhatIfCli, ForetellsAChangeOfAnEntryOfOthers) {
  run("fusionllm-48 --set workload.compression.method=none --set workload.steps=1");
  const json rows = told(
      " --what-if others.0.accelerator.compute.tensor_16bit=x2 --what-if others.1.accelerator.hbm.rate=x0.5"
      " --what-if fabric.edges.49.link.rate=x0.5");
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) {
    const double simulated = row["simulated_ps"];
    EXPECT_GE(simulated, 0.99 * row["least_ps"].get<double>()) << row;
    EXPECT_LE(simulated, 1.01 * row["most_ps"].get<double>()) << row;
  }
  expect_near(rows[0], 0.05);
  const json parts = why()["parts"];
  ASSERT_EQ(parts.size(), 3U);
  for (const json& part : parts) EXPECT_GT(part["used_ps"]["compute"], 0) << part;
}

/// What --steady leaves out changes by the same share, so that percents are those of the whole run.
TEST_F(WhatIfCli, EstimatesTheWholeRunOfSteady) {
  const std::string arguments =
      "../small.json --set workload.model=gpt2 --set workload.layers=12 --set workload.steps=3";
  run(arguments + " --steady");
  const double left_out = why()["left_out_us"];
  ASSERT_GT(left_out, 0);
  const json summary = json::parse(test::read_file(folder_ / "work/out/summary.json"));
  const json row = told(" --what-if hbm=x2").front();
  EXPECT_NEAR(row["before_ps"].get<double>() * 1e-6, summary["simulated_us"].get<double>(), 1e-5);
  EXPECT_NEAR(row["left_out_ps"].get<double>() * 1e-6, left_out, 1e-5);
  EXPECT_NEAR(row["estimate_ps"].get<double>() / row["simulated_ps"].get<double>(), 1, 0.05) << row;
  const std::string text = weft("why out --what-if hbm=x2").out;
  EXPECT_NE(text.find("All times are of the whole run of "), std::string::npos) << text;
  EXPECT_NE(text.find("--steady left out "), std::string::npos) << text;
  run(arguments);
  const json whole = told(" --what-if hbm=x2").front();
  EXPECT_FALSE(whole.contains("left_out_ps"));
  EXPECT_NEAR(row["simulated_ps"].get<double>() / whole["simulated_ps"].get<double>(), 1, 0.01);
  EXPECT_EQ(weft("why out --what-if hbm=x2").out.find("--steady"), std::string::npos);
}

/// Launches that a program waits for are the host's.
TEST_F(WhatIfCli, ForetellsAFasterHostOfSecondOrderTraining) {
  run(R"(../small.json --set 'workload={"kind":"kfac","network":"nano-conv","launch":"20us","steps":1}')");
  const json rows = told(" --what-if host=x2 --what-if host=x0.5 --what-if workload.launch=x2");
  ASSERT_EQ(rows.size(), 3U);
  // What is ready together is fused, so that other times make other messages: no bound knows that.
  for (const json& row : rows) {
    EXPECT_NEAR(row["estimate_ps"].get<double>() / row["simulated_ps"].get<double>(), 1, 0.1) << row;
    EXPECT_TRUE(row["loose"].get<bool>()) << row;
  }
  EXPECT_EQ(rows[1]["estimate_ps"], rows[2]["estimate_ps"]);
  EXPECT_EQ(rows[1]["simulated_ps"], rows[2]["simulated_ps"]);
  EXPECT_LT(rows[0]["simulated_ps"].get<double>(), 0.9 * rows[0]["before_ps"].get<double>());
  EXPECT_NE(weft("why out").out.find("  workload.launch 20us"), std::string::npos);
}

/// What fields cannot have is not what a simulation is compared with.
TEST_F(WhatIfCli, ComparesWithTheEstimateOfWhatIsSimulated) {
  run("../small.json --set workload.model=nano --set nic.pcie.generation=5 --set nic.pcie.lanes=1");
  const json row = told(" --what-if nic=x0.5 --what-if nic-latency=x0.001");
  EXPECT_EQ(row[0]["simulated_change"], "nic=x1");
  EXPECT_EQ(row[0]["estimate_of_simulated_ps"], row[0]["before_ps"]);
  EXPECT_EQ(row[0]["simulated_ps"], row[0]["before_ps"]);
  EXPECT_GT(row[0]["estimate_ps"], row[0]["before_ps"]);
  EXPECT_TRUE(row[1]["simulated_change"].get<std::string>().starts_with("nic.read_latency=x")) << row[1];
  const std::string text = weft("why out --verify --what-if nic=x0.5").out;
  EXPECT_NE(text.find(" was simulated with nic.pcie.lanes=1 (not 0.5), which is nic=x1: the estimate of that is "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("+0.0 %\nnic=x0.5 was"), std::string::npos) << text;
  EXPECT_FALSE(told(" --what-if cable=x2").front().contains("estimate_of_simulated_ps"));
}

/// Of a reader of another version one sentence, not zeros.
TEST_F(WhatIfCli, SaysWhatResultsOfOtherVersionsLack) {
  run("../small.json --set workload.model=nano");
  json why = this->why();
  EXPECT_EQ(weft("why out").out.find("was written by"), std::string::npos);
  why.erase("parts");
  for (json& link : why["links"]) link.erase("payload");
  why["weft"] = {{"version", "0.0.9"}, {"commit", "abc"}, {"schema", 1}};
  rewrite_why(why);
  const std::string missing = weft("why out --what-if hbm=x2").out;
  EXPECT_TRUE(missing.starts_with("out/why.json was written by weft 0.0.9 (abc), which did not tell parts and links' "))
      << missing;
  EXPECT_NE(weft("why out --what-if hbm=x2 --json").err.find("did not tell parts"), std::string::npos);
  EXPECT_EQ(weft("compare out out").out.find("was written by"), std::string::npos);
  why.erase("weft");
  rewrite_why(why);
  EXPECT_TRUE(weft("why out").out.starts_with("out/why.json was written by an earlier Weft, which did not tell "));
  why["weft"] = {{"version", "9.0.0"}, {"commit", "abc"}, {"schema", 99}};
  rewrite_why(why);
  EXPECT_TRUE(weft("why out").out.starts_with("out was written by weft 9.0.0 (abc), with schema 99 where weft "));
  EXPECT_NE(weft("compare out out").out.find("out was written by weft 9.0.0 (abc), with schema 99"), std::string::npos);
  why.erase("from_ps");
  rewrite_why(why);
  const Ran refused = weft("why out");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(refused.err.starts_with("weft: out/why.json: weft.schema: expected 1, which weft ")) << refused.err;
  EXPECT_NE(refused.err.find(", got 99, which weft 9.0.0 (abc) wrote"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace weft
