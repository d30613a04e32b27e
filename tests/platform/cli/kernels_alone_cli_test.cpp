// SPDX-License-Identifier: Apache-2.0
// What kernels take beside collectives and what they take alone. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::CliTest;
using test::Ran;

class KernelsAloneCli : public CliTest {
 protected:
  /// Two accelerators in a node, each with a kernel bound by its memory and beside it what `beside` has.
  KernelsAloneCli() {
    write("pair.json", R"json({"name": "pair", "accelerators": 2, "per_node": 2, "accelerator": "h100-sxm",
        "scale_up": "nvswitch-h100", "nic": "connectx-7", "collectives": {"algorithm": "ring"}})json");
  }
  json kernels(const std::vector<json>& beside, const std::string& more = "") {
    json trace = {
        {"metadata", {{"version", "0.0.4"}}},
        {"nodes",
         {{{"id", 0},
           {"name", "stream"},
           {"type", "COMP_NODE"},
           {"attr", {{{"name", "num_ops"}, {"int64_val", 1}}, {{"name", "tensor_size"}, {"uint64_val", 1 << 30}}}}}}}};
    for (const json& node : beside) trace["nodes"].push_back(node);
    for (const char* name : {"w.0.json", "w.1.json"}) write(name, trace.dump());
    const Ran ran = weft("run ../pair.json --traces ../w --json --timeline-ranks 0 " + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["kernels"];
  }
};

json collective(int id, std::int64_t bytes) {
  return {{"id", id},
          {"name", "sum"},
          {"type", "COMM_COLL_NODE"},
          {"attr", {{{"name", "comm_type"}, {"int64_val", 0}}, {{"name", "comm_size"}, {"int64_val", bytes}}}}};
}

TEST_F(KernelsAloneCli, WhatCollectivesCostKernelsIsToldApart) {
  const json alone = kernels({});
  EXPECT_GT(alone["time_us"], 300);  // 1 GiB at 3.35 TB/s
  EXPECT_LT(alone["time_us"], 400);
  EXPECT_NEAR(alone["longer_us"].get<double>(), 0, 1e-3 * alone["time_us"].get<double>());
  const json beside = kernels({collective(1, 256 << 20)});
  EXPECT_NEAR(beside["alone_us"].get<double>(), alone["alone_us"].get<double>(), 1e-9);
  // A ring of two reads and writes the buffer a few times, which the kernel waits for.
  EXPECT_GT(beside["longer_us"], 0.05 * alone["time_us"].get<double>());
  EXPECT_NEAR(beside["time_us"].get<double>() - beside["alone_us"].get<double>(), beside["longer_us"].get<double>(),
              1e-6);
}

TEST_F(KernelsAloneCli, TheTableSaysSo) {
  kernels({collective(1, 256 << 20)});
  EXPECT_NE(weft("run ../pair.json --traces ../w --timeline-ranks 0").out.find(" because of what runs beside them\n"),
            std::string::npos);
  kernels({});
  EXPECT_NE(weft("run ../pair.json --traces ../w --timeline-ranks 0").out.find(" as long as they take alone\n"),
            std::string::npos);
}

// The time of a step stands beside kernels and energy of all steps.
TEST_F(KernelsAloneCli, SeveralStepsAreNamed) {
  const std::string two = weft("run dlrm-16xv100 --set accelerators=2 --set workload.steps=2 --timeline-ranks 0").out;
  EXPECT_NE(two.find(" in 2 steps, "), std::string::npos) << two;
  EXPECT_NE(two.find(" samples each, step 2 of 2\n"), std::string::npos) << two;
  const std::size_t energy = two.find("\nenergy ");
  EXPECT_NE(two.find(" in 2 steps, ", energy), std::string::npos) << two;
  const std::string one = weft("run dlrm-16xv100 --set accelerators=2 --set workload.steps=1 --timeline-ranks 0").out;
  EXPECT_EQ(one.find(" in 1 step"), std::string::npos) << one;
  EXPECT_NE(weft("run edge-12-workers --set workload.parameters=100").out.find(" in 10 rounds, "), std::string::npos);
}

TEST_F(KernelsAloneCli, KernelsOfAGivenTimeTakeItAlone) {
  const json given = {{"id", 1}, {"name", "given"}, {"type", "COMP_NODE"}, {"duration_micros", 100}};
  const json one = kernels({});
  const json two = kernels({given}, "--set accelerator.speed_spread=0");
  EXPECT_NEAR(two["alone_us"].get<double>(), one["alone_us"].get<double>() + 100, 5);
}

}  // namespace
}  // namespace weft
