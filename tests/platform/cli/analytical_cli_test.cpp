// SPDX-License-Identifier: Apache-2.0
// weft collective on analytical networks. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

/// 100 bytes a nanosecond, rings; times without latencies.
json platform() {
  const json dimension = {{"block", "Ring"}, {"size", 4}, {"bandwidth_GiBps", 93.13225746154785}, {"latency_ns", 0}};
  return {{"network", "analytical"},
          {"analytical",
           {{"congestion", "cut-through"},
            {"dimensions", {dimension, dimension}},
            {"collectives", {{"splits", 64}, {"active_chunks", 4}, {"endpoint_delay", "0ns"}}},
            {"end", {{"memory_GBps", 1'000'000}}}}}};
}

class AnalyticalCli : public CliTest {
 protected:
  AnalyticalCli() { write("p.json", platform().dump()); }
  json rows(const std::string& arguments) {
    const Ran ran = weft("collective ../p.json --json --op " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["rows"];
  }
};

TEST_F(AnalyticalCli, TellsTimesAndUtilisation) {
  // The first dimension has 3/4 of the bytes to move twice and is the bottleneck: chunk after chunk.
  const json ran = rows("all_reduce --bytes 64MiB,128MiB");
  ASSERT_EQ(ran.size(), 2U);
  EXPECT_EQ(ran[0]["bytes"], 64 << 20);
  const double least = 2 * 0.75 * (64 << 20) / 100e3;  // us
  EXPECT_GE(ran[0]["time_us"], 0.9999 * least);
  EXPECT_LE(ran[0]["time_us"], 1.05 * least);
  EXPECT_NEAR(ran[1]["time_us"].get<double>(), 2 * ran[0]["time_us"].get<double>(), 0.01 * least);
  const json shares = ran[0]["utilisation_by_dimension"];
  EXPECT_NEAR(shares[1].get<double>() / shares[0].get<double>(), 0.25, 1e-6);
  EXPECT_NEAR(ran[0]["utilisation"].get<double>(), (shares[0].get<double>() + shares[1].get<double>()) / 2, 1e-9);
  EXPECT_NEAR(ran[0]["busbw"].get<double>(), ran[0]["algbw"].get<double>() * 2 * 15 / 16, 1e-9);
}

TEST_F(AnalyticalCli, ThemisUsesBothDimensions) {
  const json before = rows("all_reduce --bytes 64MiB");
  const json after = rows(
      "all_reduce --bytes 64MiB --set analytical.collectives.inter_dimension=themis "
      "--set analytical.collectives.intra_dimension=SmallestFirst");
  EXPECT_NEAR(before[0]["utilisation"].get<double>(), 0.625, 0.03);  // 15/16 of the bytes, 3/4 on the first
  EXPECT_GT(after[0]["utilisation"], 0.93);
  for (const char* op : {"all_gather", "reduce_scatter"}) {
    const json one_way = rows(op + std::string(" --bytes 64MiB --set analytical.collectives.inter_dimension=themis"));
    EXPECT_GT(one_way[0]["utilisation"], 0.9) << op;
    EXPECT_LE(one_way[0]["utilisation"], 1.0) << op;
  }
}

TEST_F(AnalyticalCli, PrintsATable) {
  const Ran ran = weft("collective ../p.json --op all_reduce --bytes 1MiB,16B");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("# p, all_reduce on 16 ends, analytical network"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("util   dim 0   dim 1"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("# 16 B are padded to 1024 B"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("1048576 B are padded"), std::string::npos) << ran.out;
}

TEST_F(AnalyticalCli, RefusesByName) {
  for (const BadInput& bad : std::vector<BadInput>{
           {"no such collective", "--op broadcast", {"--op: expected all_reduce, all_gather or reduce_scatter"}},
           {"an algorithm for all",
            "--op all_reduce --algorithm ring",
            {"--algorithm: expected nothing", "analytical.dimensions.0.all_reduce=ring"}},
           {"data", "--op all_reduce --data", {"--data: expected nothing"}},
           {"a seed", "--op all_reduce --seed 1", {"--seed: expected nothing"}},
           {"an order",
            "--op all_reduce --set analytical.collectives.inter_dimension=greedy",
            {"analytical.collectives.inter_dimension", "baseline, themis"}},
           {"an order within",
            "--op all_reduce --set analytical.collectives.intra_dimension=RG",
            {"analytical.collectives.intra_dimension", "FIFO, SmallestFirst"}},
           {"nothing to order",
            "--op all_reduce --set analytical.collectives.inter_dimension=themis --set "
            "analytical.collectives.optimization=baseline",
            {"analytical.collectives.inter_dimension: expected baseline", "localBWAware"}},
           {"members",
            "--op all_reduce --set analytical.dimensions.0.size=6 --set "
            "analytical.dimensions.0.all_reduce=halvingDoubling",
            {"power of two"}},
           {"a key", "--op all_reduce --set analytical.collectives.chunks=4", {"analytical.collectives.chunks"}}}) {
    SCOPED_TRACE(bad.what);
    const Ran ran = weft(std::string("collective ../p.json --bytes 1MiB ") + bad.arguments);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    for (const char* text : bad.message) EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace weft
