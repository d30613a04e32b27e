// SPDX-License-Identifier: Apache-2.0
// weft collective as a user meets it. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::CliTest;
using test::Ran;

TEST_F(CliTest, CollectiveTable) {
  const Ran table = weft("collective ../small.json --op all_gather --bytes 1KiB:16KiB:x4,1MiB");
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 3 + 4) << table.out;
  EXPECT_TRUE(nothing_written());

  const json result =
      json::parse(weft("collective ../small.json --op all_reduce --bytes 64KiB,1MiB --data --json").out);
  EXPECT_EQ(result["op"], "all_reduce");
  ASSERT_EQ(result["rows"].size(), 2U);
  for (const json& row : result["rows"]) {
    EXPECT_EQ(row["wrong"], 0);
    const double algbw = row["bytes"].get<double>() / row["time_us"].get<double>() * 1e-3;
    EXPECT_NEAR(row["algbw"].get<double>(), algbw, algbw * 1e-6);
    EXPECT_NEAR(row["busbw"].get<double>(), algbw * 2 * 3 / 4, algbw * 1e-6);
  }
  const json unchecked = json::parse(weft("collective ../small.json --op all_reduce --bytes 64KiB --json").out);
  EXPECT_EQ(unchecked["rows"][0]["wrong"], nullptr);
  EXPECT_EQ(unchecked["rows"][0]["time_us"], result["rows"][0]["time_us"]);
}

/// By what a collective ran, also where the algorithm that was asked for has no such collective.
TEST_F(CliTest, CollectivesNameTheirAlgorithm) {
  const auto row = [&](const std::string& op, const std::string& algorithm) {
    const Ran ran = weft("collective ../small.json --bytes 64KiB --json --op " + op + " --algorithm " + algorithm);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const json result = json::parse(ran.out);
    EXPECT_EQ(result["algorithm"], algorithm.substr(0, algorithm.find(' ')));
    return std::pair(result["rows"][0]["algorithm"].get<std::string>(), result["remark"].get<std::string>());
  };
  using Expected = std::pair<std::string, std::string>;
  EXPECT_EQ(row("all_gather", "ring"), Expected("ring", ""));
  EXPECT_EQ(row("all_reduce", "tree"), Expected("tree", ""));
  EXPECT_EQ(row("barrier", "tree"), Expected("tree", ""));
  EXPECT_EQ(row("reduce_scatter", "tree"), Expected("ring", "reduce_scatter by ring: tree has AllReduces alone"));
  EXPECT_EQ(row("all_gather", "hierarchical"), Expected("hierarchical", ""));
  EXPECT_EQ(row("all_gather", "hierarchical --set per_node=1"),
            Expected("ring", "all_gather by ring: hierarchical needs several nodes of several accelerators each"));
  EXPECT_EQ(row("all_gather", "multicast"), Expected("multicast", ""));
  EXPECT_EQ(row("all_reduce", "multicast"),
            Expected("ring",
                     "all_reduce by ring: multicast distributes, and collectives.multicast.sums says how sums "
                     "are made"));
  EXPECT_EQ(row("all_gather+reduce_scatter", "multicast").first, "multicast+ring");
  const std::string chosen = row("all_reduce", "nccl").first;
  EXPECT_TRUE(chosen == "ring" || chosen == "tree") << chosen;
}

/// The largest whole number that a type has with all below it bounds what many ranks add up.
TEST_F(CliTest, SumsOfShortTypesOverManyRanksAreExact) {
  for (const char* run : {"sharp-128 --op all_reduce --type bf16",
                          "sharp-128 --op reduce_scatter --type bf16 "
                          "--algorithm ring --set accelerators=40",
                          "fdr-188 --op all_reduce --type fp16 --set accelerators=150"}) {
    const Ran ran = weft(std::string("collective ") + run + " --bytes 32KiB --data --no-warmup --json");
    ASSERT_EQ(ran.code, 0) << run << ran.err;
    EXPECT_EQ(json::parse(ran.out)["rows"][0]["wrong"], 0) << run;
  }
}

TEST_F(CliTest, MulticastThatIsFetchedAgainIsSaid) {
  const std::string run =
      "collective fdr-188 --set accelerators=24 --op broadcast --bytes 4MiB --no-warmup --set fabric.link.rate=";
  EXPECT_EQ(weft(run + "56Gbps").out.find("fetched again"), std::string::npos);
  EXPECT_NE(weft(run + "800Gbps")
                .out.find("multicast chunks were lost, most likely where receivers had no receive "
                          "posted, and were fetched again"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
