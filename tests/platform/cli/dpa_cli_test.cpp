// SPDX-License-Identifier: Apache-2.0
// weft dpa, and machines whose firmware runs on an accelerator's cores. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

TEST_F(CliTest, DpaPrintsRatesAndThreads) {
  const Ran table = weft("dpa");
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("bluefield-3-dpa: 16 cores of 16 threads"), std::string::npos) << table.out;
  for (const char* line : {"\n200Gbps", "\n400Gbps", "\n800Gbps", "\n1600Gbps"}) {
    EXPECT_NE(table.out.find(line), std::string::npos) << line;
  }
  EXPECT_TRUE(nothing_written());

  const Ran ran = weft("dpa --json");
  EXPECT_EQ(weft("dpa --json").out, ran.out);
  const json result = json::parse(ran.out);
  ASSERT_EQ(result["rows"].size(), 18U);  // two paths of 1, 2, 4 to 256 threads
  for (const json& row : result["rows"]) {
    const double gbps = row["mpps"].get<double>() * 4096 * 8e-3;
    EXPECT_NEAR(row["gbps"].get<double>(), gbps, 1e-6 * gbps);
    // Siblings come from 17 threads on; 16 on each core are several times slower.
    const double alone = row["path"] == "connection" ? 594 : 1081;
    const auto cycles = row["cycles_per_packet"].get<double>();
    const auto threads = row["threads"].get<int>();
    EXPECT_NEAR(cycles, alone, threads <= 16 ? 1 : 5 * alone);
    EXPECT_GT(cycles, threads == 256 ? 3.5 * alone : alone - 1);
  }
  ASSERT_EQ(result["threads_for"].size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const json& need = result["threads_for"][i];
    EXPECT_EQ(need["gbps"], 200 << i);
    EXPECT_GT(need["datagram"], need["connection"]);
    EXPECT_GT(need["connection"].get<int>(), i == 0 ? 0 : result["threads_for"][i - 1]["connection"].get<int>());
  }
}

TEST_F(CliTest, DpaTakesOtherCoresAndLines) {
  const json packed =
      json::parse(weft("dpa --path connection --threads 16 --set placement=pack --lines 200Gbps,9Tbps --json").out);
  const json spread = json::parse(weft("dpa --path connection --threads 16 --lines 200Gbps --json").out);
  EXPECT_LT(packed["rows"][0]["mpps"].get<double>(), 0.5 * spread["rows"][0]["mpps"].get<double>());
  EXPECT_EQ(packed["threads_for"][1]["connection"], nullptr);
  EXPECT_NE(weft("dpa --path bitmap --threads 4 --lines 9Tbps").out.find("out of reach"), std::string::npos);
  for (const char* more : {"--set wait=event", "--set clock=1MHz", "--set threads=1", "--set cores=1"}) {
    const Ran ran = weft(std::string("dpa --lines 1Mbps,200Gbps ") + more);
    EXPECT_EQ(ran.code, 0) << more << ran.err;
  }
}

/// What cores sustain, DMA and memory may not: the command and a machine name the same part, and the same rate.
TEST_F(CliTest, DpaAndMachinesAgreeOnWhatBinds) {
  const auto broadcast = [this](const std::string& platform) {
    const Ran ran =
        weft("collective " + platform + " --op broadcast --bytes 32MiB --json --set fabric.link.rate=800Gbps");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["rows"][0];
  };
  const auto dpa = [this](const std::string& platform) {
    const Ran ran = weft("dpa --path datagram --threads 1 --lines 100Gbps,800Gbps --json --platform " + platform);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  };
  // Of the second one the memory is slower, and so it is what binds.
  write("slow.json", R"({"accelerators": 2, "per_node": 1, "nic": "bluefield-3", "dpa": "bluefield-3-dpa",
                         "accelerator": {"part": "xeon-host", "hbm": {"rate": "500Gbps"}},
                         "fabric": {"topology": "switch", "link": "hdr-200g"},
                         "collectives": {"algorithm": "multicast", "multicast": {"placement": "dpa", "subgroups": 8,
                                                                                  "queue_depth": 8192}}})");
  for (const auto& [platform, in_dpa, in_machine] :
       {std::array{"bluefield-3-pair", "DMA", "dma_write"}, {"../slow.json", "host memory", "memory"}}) {
    const json said = dpa(platform);
    EXPECT_EQ(said["threads_for"][0]["binds"]["datagram"], nullptr);
    EXPECT_EQ(said["threads_for"][1]["binds"]["datagram"], in_dpa);
    const json carries = said["carries"]["datagram"];
    const double gbps = std::min(carries["dma_gbps"].get<double>(), carries["memory_gbps"].get<double>());
    const json row = broadcast(platform);
    EXPECT_EQ(row["binds"], in_machine) << row;
    EXPECT_NEAR(row["algbw"].get<double>() * 8, gbps, 0.1 * gbps) << platform;
    for (const auto& [part, share] : row["busy"].items()) EXPECT_LE(share.get<double>(), 1.001) << part;
  }
  EXPECT_NE(weft("dpa --threads 1").out.find("15, but DMA 208 Gb/s"), std::string::npos);
  EXPECT_NE(weft("dpa --threads 1 --platform \"\"").out.find("Only cores"), std::string::npos);
  const std::string table = weft("collective bluefield-3-pair --op broadcast --bytes 32MiB").out;
  EXPECT_NE(table.find("# at 33554432 B "), std::string::npos) << table;
  EXPECT_NE(table.find(" binds; busy, at the rank where most: link "), std::string::npos) << table;
}

/// The same firmware on the host's cores and on the accelerator's: times change, contents do not.
TEST_F(CliTest, FirmwareOfCollectivesRunsOnTheAcceleratorsCores) {
  const std::string all_reduce = "collective ../small.json --op all_reduce --bytes 64KiB --data --json";
  const json host = json::parse(weft(all_reduce).out);
  for (const char* wait : {"poll", "event"}) {
    const Ran ran = weft(all_reduce + " --set firmware=bluefield-3-dpa --set firmware.wait=" + wait);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json dpa = json::parse(ran.out);
    EXPECT_EQ(dpa["rows"][0]["wrong"], 0);
    EXPECT_NE(dpa["rows"][0]["time_us"], host["rows"][0]["time_us"]) << wait;
  }
}

TEST_F(CliTest, DpaRefusesBadInput) {
  const std::vector<BadInput> cases = {
      {"unknown part", "dpa bluefield-3", {"bluefield-3: ", "of kind processor", "bluefield-3-dpa"}},
      {"part of another kind", "dpa connectx-7", {"connectx-7: ", "of kind nic"}},
      {"override without value", "dpa --set foo", {"--set", "path=value"}},
      {"unknown field", "dpa --set clok=1GHz", {"clok", "Did you mean \"clock\"?"}},
      {"missing unit", "dpa --set clock=3", {"clock: expected a frequency", "got 3"}},
      {"unknown way to wait", "dpa --set wait=sleep", {"wait: expected one of event, poll", "sleep"}},
      {"no hardware thread", "dpa --set threads=0", {"threads: ", "1 to 256"}},
      {"unknown path", "dpa --path foo", {"--path", "foo", "datagram"}},
      {"no threads", "dpa --threads 0", {"--threads: ", "above 0"}},
      {"no number", "dpa --threads x", {"--threads: ", "\"x\""}},
      {"too many threads", "dpa --threads 257", {"--threads: ", "256 hardware threads of bluefield-3-dpa", "257"}},
      {"line without unit", "dpa --lines 5", {"--lines: ", "units", "\"5\""}},
      {"slow line", "dpa --lines 1bps", {"--lines: expected at least 1Mbps", "\"1bps\""}},
      {"empty line", "dpa --lines 200Gbps,", {"--lines: ", "\"\""}},
      {"packet without unit", "dpa --packet 1", {"--packet: ", "units", "\"1\""}},
      {"two packets", "dpa --packet 1KiB,2KiB", {"--packet: expected a size from 1B to 1MiB", "1KiB,2KiB"}},
      {"large packet", "dpa --packet 2MiB", {"--packet: expected a size from 1B to 1MiB", "2MiB"}},
      {"no platform", "dpa --platform bluefield-4", {"bluefield-4", "a platform's file, or the name of a platform"}},
      {"no chunk", "dpa --bitmap-chunk 0", {"--bitmap-chunk", "1 to 1048576"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

}  // namespace
}  // namespace weft
