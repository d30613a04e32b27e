// SPDX-License-Identifier: Apache-2.0
// Links that their buffers fill or not, as users meet them: defaults, imported machines, and what is said of those that
// were set. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::CliTest;
using test::Ran;

class LinkBuffersCli : public CliTest {
 protected:
  /// Two sites, 20 us apart.
  LinkBuffersCli() {
    write("far.json", R"json({"name": "far", "accelerators": 2, "per_node": 1, "accelerator": "h100-sxm",
        "nic": "connectx-7",
        "fabric": {"topology": "graph", "segment": "16KiB", "link": {"rate": "400Gbps", "propagation": "500ns"},
                   "edges": ["end0 - a", "end1 - b", {"between": "a - b", "link": {"propagation": "20us"}}]}})json");
  }
  double busbw(const std::string& arguments, std::string& err) {
    const Ran ran = weft("collective " + arguments + " --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    err = ran.err;
    return json::parse(ran.out)["rows"][0]["busbw"];
  }
};

constexpr const char* kGather = "../far.json --op all_gather --bytes 64MiB --algorithm ring ";

TEST_F(LinkBuffersCli, WhatNobodySetsFillsALinkOfAnyLength) {
  std::string err;
  const double near = busbw(std::string(kGather) + "--set fabric.edges.2.link.propagation=500ns", err);
  EXPECT_EQ(err, "");
  // 32 MiB leave an end in 690 us, and three flights take 60 us more.
  EXPECT_GT(busbw(kGather, err), 0.9 * near);
  EXPECT_EQ(err, "");
  const Ran table = weft("topology ../far.json --json --out pictures");
  const json network = json::parse(table.out)["networks"][0];
  EXPECT_EQ(network["starved"], json::array());
  EXPECT_EQ(network["least_buffer_bytes"], 256 << 10);
  EXPECT_GT(network["most_buffer_bytes"], 2'000'000);
}

TEST_F(LinkBuffersCli, WhatIsSetIsKeptAndNamedWithTheShareThatPasses) {
  std::string err;
  const std::string set = "--set fabric.edges.2.link.buffer=256KiB";
  // Of so much the first and last slices' flights are a small part.
  const std::string gather = "../far.json --op all_gather --bytes 256MiB --algorithm ring ";
  const double whole = busbw(gather, err);
  const double starved = busbw(gather + set, err);
  const std::string line =
      "fabric: a - b: a buffer of 256KiB fills 12.2 % of a link of 400Gbps and 20us; it takes 2024KiB "
      "(fabric.edges.2.link.buffer)\n";
  EXPECT_EQ(err, "weft: warning: " + line);
  const json starved_links =
      json::parse(weft("topology ../far.json --json --out pictures " + set).out)["networks"][0]["starved"];
  ASSERT_EQ(starved_links.size(), 1U);
  const double share = starved_links[0]["share"];
  EXPECT_NEAR(share, 0.122, 0.001);
  EXPECT_NEAR(starved / whole, share, 0.03 * share + 0.02 * (1 - share));
  EXPECT_NE(weft("topology ../far.json --out pictures " + set).out.find(line), std::string::npos);
  // Wherever it is set, and of what it is inherited by.
  busbw(std::string(kGather) + "--set fabric.link.buffer=256KiB", err);
  EXPECT_EQ(err, "weft: warning: " + line);
}

TEST_F(LinkBuffersCli, RunNamesThemToo) {
  write("run.json", R"json({"name": "run", "accelerators": 2, "per_node": 2, "accelerator": "h100-sxm",
      "scale_up": {"fabric": {"link": {"propagation": "5us", "buffer": "64KiB"}}},
      "workload": {"kind": "fsdp", "model": "nano", "sequences": 1, "sequence": 128}})json");
  const Ran ran = weft("run ../run.json --json --out r");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json warnings = json::parse(ran.out)["warnings"];
  ASSERT_EQ(warnings.size(), 2U) << "and the slots of rings are few for so long a way";
  EXPECT_EQ(warnings[0].get<std::string>().find("scale_up.fabric: end0 - switch0 and 1 more: a buffer of 64KiB fills "),
            0U)
      << warnings[0];
}

/// A switch of 8 ends as ASTRA-sim describes it.
class ImportedLinks : public LinkBuffersCli {
 protected:
  void machine(const std::string& topology, double bandwidth, double latency, double memory) {
    write("network.yml", "topology: [" + topology + "]\nnpus_count: [8]\nbandwidth: [" + std::to_string(bandwidth) +
                             "]\nlatency: [" + std::to_string(latency) + "]\n");
    const json system = {{"scheduling-policy", "LIFO"},
                         {"endpoint-delay", 10},
                         {"active-chunks-per-dimension", 1},
                         {"preferred-dataset-splits", 4},
                         {"all-reduce-implementation", {"ring"}},
                         {"local-mem-bw", memory},
                         {"peak-perf", 100},
                         {"roofline-enabled", 1}};
    write("system.json", system.dump());
    // Bound by memory: 1 GB for 1 GFLOP.
    write("t.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [
        {"id": 0, "name": "work", "type": "COMP_NODE",
         "attr": [{"name": "num_ops", "int64_val": 1000000000}, {"name": "tensor_size", "uint64_val": 1000000000}]}]})");
    for (int r = 0; r < 8; ++r) {
      EXPECT_EQ(weft("trace convert ../t.json w." + std::to_string(r) + ".et").code, 0);
    }
    const std::string import = "import astra-sim --network ../network.yml --system ../system.json --workload w ";
    EXPECT_EQ(weft(import + "--out m.json").code, 0);
    EXPECT_EQ(weft(import + "--analytical unaware --out a.json").code, 0);
  }
  double time_us(const std::string& platform, const std::string& bytes) {
    const Ran ran = weft("collective " + platform + " --op all_reduce --bytes " + bytes + " --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return json::parse(ran.out)["rows"][0]["time_us"];
  }
};

TEST_F(ImportedLinks, AreFullWhateverTheirRateAndLength) {
  machine("Switch", 400, 936.25, 3350);
  // With 256 KiB of buffer links of this rate and length would take three times as long.
  const double wires = 2 * 7 / 8.0 * (256 << 20) * (4096 + 66) / 4096 / (400.0 * (1 << 30)) * 1e6;
  const double time =
      time_us("m.json --set fabric.segment=16KiB --set collectives.dimensions.active_chunks=2", "256MiB");
  EXPECT_GT(time, wires);
  EXPECT_LT(time, 1.1 * wires);
}

TEST_F(ImportedLinks, MemoryTakesOfReductionsAndKernelsWhatItDoesInAstraSim) {
  for (const double memory : {50.0, 400.0, 1600.0}) {
    machine("Ring", 50, 500, memory);
    const double theirs = time_us("a.json", "64MiB");
    EXPECT_NEAR(time_us("m.json --set fabric.segment=16KiB", "64MiB"), theirs, 0.12 * theirs) << memory;
    const Ran ran = weft("run m.json --json --out r");
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_NEAR(json::parse(ran.out)["simulated_us"].get<double>(), 1e6 / memory, 0.01 * 1e6 / memory + 5) << memory;
  }
}

}  // namespace
}  // namespace weft
