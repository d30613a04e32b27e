// SPDX-License-Identifier: Apache-2.0
// weft collective as a user meets it. Runs the binary.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

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

/// What NCCL's cost model chose for each size stands beside it, in the table and in JSON.
TEST_F(CliTest, CollectivesNameTheProtocolThatNcclChose) {
  const std::string args = "collective llama3-8b-fsdp-64xh100 --op all_reduce --bytes 1KiB,4MiB,64MiB --no-warmup";
  const Ran table = weft(args);
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("busbw      algo   proto\n"), std::string::npos) << table.out;
  const json rows = json::parse(weft(args + " --json").out)["rows"];
  ASSERT_EQ(rows.size(), 3U);
  std::vector<std::string> protocols;
  for (const json& row : rows) {
    protocols.push_back(row["protocol"].get<std::string>());
    const std::string end =
        fmt::format(" {:>9} {:>7}\n", row["algorithm"].get<std::string>(), row["protocol"].get<std::string>());
    const std::size_t at = table.out.find(fmt::format("{:>13} ", row["bytes"].get<int>()));
    ASSERT_NE(at, std::string::npos) << table.out;
    const std::string line = table.out.substr(at, table.out.find('\n', at) + 1 - at);
    EXPECT_TRUE(line.ends_with(end)) << line;
    EXPECT_LE(line.size(), 121U);
  }
  EXPECT_EQ(protocols.front(), "LL");
  EXPECT_EQ(protocols.back(), "Simple");
  // NCCL_PROTO is followed, too.
  const json forced = json::parse(weft(args + " --json --set collectives.protocol=ll128").out)["rows"];
  for (const json& row : forced) EXPECT_EQ(row["protocol"], "LL128");
  // Where nothing is chosen the table stays as it is.
  const Ran ring = weft("collective ../small.json --op all_reduce --bytes 64KiB --algorithm ring");
  EXPECT_EQ(ring.out.find("proto"), std::string::npos) << ring.out;
  const Ran plain = weft("collective ../small.json --op all_reduce --bytes 64KiB --algorithm ring --json");
  EXPECT_EQ(json::parse(plain.out)["rows"][0]["protocol"], nullptr);
}

/// A tree is a Broadcast's alone, whatever the platform's algorithm is; another algorithm stands in for the platform's
/// tree.
TEST_F(CliTest, BroadcastsGoDownTrees) {
  for (const char* tree : {"chain", "direct", "binomial", "k-nomial", "binary-tree"}) {
    const Ran ran = weft(std::string("collective ../small.json --op broadcast --bytes 64KiB,1MiB --data --json "
                                     "--algorithm ") +
                         tree);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json result = json::parse(ran.out);
    EXPECT_EQ(result["algorithm"], tree);
    EXPECT_EQ(result["remark"], "");
    EXPECT_TRUE(result["without_effect"].empty()) << result["without_effect"];
    for (const json& row : result["rows"]) {
      EXPECT_EQ(row["algorithm"], tree);
      EXPECT_EQ(row["wrong"], 0);
    }
    const Ran set = weft(std::string("collective ../small.json --op broadcast --bytes 64KiB,1MiB --json --set "
                                     "collectives.broadcast.algorithm=") +
                         tree);
    ASSERT_EQ(set.code, 0) << set.err;
    EXPECT_EQ(json::parse(set.out)["digest"], result["digest"]);
  }
  const Ran ring = weft(
      "collective ../small.json --op broadcast --bytes 64KiB --json --algorithm ring --set "
      "collectives.broadcast.algorithm=k-nomial");
  ASSERT_EQ(ring.code, 0) << ring.err;
  EXPECT_EQ(json::parse(ring.out)["rows"][0]["algorithm"], "ring");
  EXPECT_EQ(json::parse(ring.out)["without_effect"][0]["field"], "collectives.broadcast.algorithm");

  const Ran other = weft("collective ../small.json --op all_reduce --bytes 64KiB --algorithm k-nomial");
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err,
            "weft: --algorithm: expected one of ring, tree, nccl, hierarchical, in-network, multicast, deepep, "
            "dimensions for "
            "all_reduce, since k-nomial is a tree for broadcasts only, got \"k-nomial\"\n");
}

/// What a field of trees changes, and where it changes nothing.
TEST_F(CliTest, FieldsOfBroadcastTreesAreReportedWhereIdle) {
  const auto idle = [&](const std::string& arguments) {
    const Ran ran = weft("collective ../small.json --bytes 64KiB --json " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::string fields;
    const json result = json::parse(ran.out);
    for (const json& field : result["without_effect"]) fields += field["field"].get<std::string>() + " ";
    return fields;
  };
  const std::string sets =
      " --set collectives.broadcast.radix=2 --set collectives.broadcast.segment=4KiB --set "
      "collectives.broadcast.depth=3";
  EXPECT_EQ(idle("--op broadcast --algorithm k-nomial" + sets), "");
  EXPECT_EQ(idle("--op broadcast --algorithm chain" + sets), "collectives.broadcast.radix ");
  EXPECT_EQ(idle("--op broadcast" + sets),
            "collectives.broadcast.depth collectives.broadcast.radix collectives.broadcast.segment ");
  EXPECT_EQ(idle("--op all_gather --set collectives.broadcast.algorithm=chain"), "collectives.broadcast.algorithm ");
}

/// Phases of a multicast and bytes on links, for people and for machines.
TEST_F(CliTest, CollectivesSayTheirPhasesAndTraffic) {
  const std::string run = "collective ../small.json --op broadcast --algorithm multicast --bytes 64KiB,1MiB";
  const json result = json::parse(weft(run + " --json").out);
  const Ran table = weft(run + " --traffic");
  ASSERT_EQ(table.code, 0) << table.err;
  for (const json& row : result["rows"]) {
    double sum = 0;
    for (const char* phase : {"barrier_us", "fast_path_us", "cutoff_us", "recovery_us", "handshake_us"}) {
      sum += row["phases"][phase].get<double>();
    }
    EXPECT_NEAR(sum, row["time_us"].get<double>(), 1e-6);
    EXPECT_TRUE(row["phases"]["rank"].is_number_integer());
    const json& traffic = row["traffic"]["fabric"];
    const double bytes = row["bytes"].get<double>();
    EXPECT_NEAR(traffic["to_ends"].get<double>(), 3 * bytes, 0.2 * bytes);
    EXPECT_NEAR(traffic["from_ends"].get<double>(), bytes, 0.2 * bytes);
    EXPECT_NE(table.out.find(fmt::format("{:.3f}", traffic["to_ends"].get<double>() * 1e-6)), std::string::npos);
    EXPECT_NE(table.out.find(fmt::format("{:.2f}", row["phases"]["fast_path_us"].get<double>())), std::string::npos);
  }
  EXPECT_NE(table.out.find("# phases of the rank that ended last:\n"), std::string::npos);
  const std::string plain = weft(run).out;
  EXPECT_EQ(plain.find("bytes that links carried"), std::string::npos);
  EXPECT_NE(plain.find("fast path"), std::string::npos);
  EXPECT_EQ(weft("collective ../small.json --op broadcast --bytes 64KiB").out.find("fast path"), std::string::npos);
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
  const std::string run = "collective fdr-188 --set accelerators=24 --op broadcast --bytes 4MiB --no-warmup --set ";
  EXPECT_EQ(weft(run + "fabric.link.rate=56Gbps").out.find("were fetched"), std::string::npos);
  // The timer is made for the link's rate, and a NIC that is much slower is cut off.
  EXPECT_NE(
      weft(run + "fabric.link.rate=800Gbps")
          .out.find("multicast chunks had not come when the timer ended, which supposes the link's rate, and were "
                    "fetched: a larger collectives.multicast.cutoff leaves them time\n"),
      std::string::npos);
  EXPECT_NE(weft(run + "collectives.multicast.queue_depth=16 --set firmware.clock=50MHz")
                .out.find("multicast chunks were lost, most likely where receivers had no receive posted, and were "
                          "fetched again"),
            std::string::npos);
  EXPECT_NE(weft(run + "nic.recovery=true --set 'fabric.faults=[{\"loss\": 0.001}]'")
                .out.find("multicast chunks were lost on links, and were fetched again\n"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
