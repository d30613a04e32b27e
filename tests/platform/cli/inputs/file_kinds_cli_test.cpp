// SPDX-License-Identifier: Apache-2.0
// Files that Weft knows, given to commands that want another kind: the message says what it is and which command helps.
// Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::Ran;

class FileKindsCli : public test::CliTest {
 protected:
  FileKindsCli() {
    write("requests.trc", "# requests\nR 0x0 0.5\n");
    write("edges.csv", "between,link.rate\ne0 s0,400Gbps\n");
    write("links.csv", "link,utilisation,packets\nnic0 out,0.1,5\n");
    write("measured.csv", "# own\nsuite,platform,arguments,metric,published,unit,tolerance,source\n");
    write("tree.topo", "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nRadix_Down 4\n");
    write("config.txt", "FF V2\nPACKET_PAYLOAD_SIZE 1000\nTOPOLOGY_FILE a.txt\n");
    write("groups.json", R"({"1": [0, 1], "2": [2, 3]})");
    write("layers.json", R"({"batch": 16, "layers": [{"layer": "a", "kind": "linear"}]})");
    write("summary.json", R"({"weft": {"version": "1"}, "platform": "p", "collectives": 12})");
    write("rtl.vcd", "$timescale 1ns $end\n");
    write("system.json",
          R"({"preferred-dataset-splits": 4, "local-mem-bw": 50, "all-reduce-implementation": ["ring"]})");
    write("net.yml", "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n");
  }

  /// What each is, and the command that helps.
  static std::vector<std::pair<std::string, std::string>> kinds() {
    return {
        {"requests.trc", "a trace of memory requests; weft memory ../requests.trc runs it"},
        {"edges.csv", "edges of a network in CSV; a graph takes them: --set fabric.topology=graph --set fabric.edges="},
        {"links.csv", "the links of a run in CSV; the platform of the run is beside it: weft run ../config.json "},
        {"measured.csv", "measurements in CSV; weft validate ../measured.csv "},
        {"tree.topo", "a fat tree of htsim; weft import astra-sim --htsim-topology ../tree.topo "},
        {"config.txt", "a configuration of ns-3; weft import astra-sim --ns3-config ../config.txt "},
        {"groups.json", "a file of communicator groups; name it with --groups "},
        {"layers.json", "a network of layers; a workload of kind kfac takes it: "},
        {"summary.json", "results of Weft in JSON; the platform of a run is beside it: weft run ../config.json "},
        {"rtl.vcd", "a VCD waveform; weft vcd info ../rtl.vcd reads it"},
        {"system.json", "a system file of ASTRA-sim; weft import astra-sim --network "},
        {"net.yml", "a network file of ASTRA-sim; weft import astra-sim --network ../net.yml "}};
  }

  /// With @ for each file but those of the kind itself.
  void expect_named(const std::string& command, const std::string& expected, const std::string& own = "") {
    for (const auto& [file, what] : kinds()) {
      if (file == own) continue;
      std::string arguments = command;
      arguments.replace(arguments.find('@'), 1, "../" + file);
      const Ran ran = weft(arguments);
      EXPECT_EQ(ran.code, 2) << arguments;
      EXPECT_TRUE(ran.err.starts_with("weft: ../" + file + ": expected " + expected + ", got " + what))
          << arguments << ": " << ran.err;
      EXPECT_TRUE(nothing_written()) << arguments;
    }
  }
};

TEST_F(FileKindsCli, WherePlatformsAreExpected) {
  const std::string expected = "a platform in JSON";
  for (const char* const command :
       {"run @", "collective @ --op all_reduce", "topology @", "kernel copy @ --bytes 1KiB"})
    expect_named(command, expected);
  expect_named("run ../small.json --patch @", "a patch of a platform in JSON");
}

TEST_F(FileKindsCli, WhereOtherSimulatorsFilesAreExpected) {
  const std::string import = "import astra-sim --workload w --out p.json ";
  const std::string files = import + "--network ../net.yml --system ../system.json ";
  expect_named(files + "--htsim-topology @", "htsim's fat tree", "tree.topo");
  expect_named(files + "--ns3-config @", "ns-3's configuration, a key and its values in each line", "config.txt");
  expect_named(import + "--system ../system.json --network @", "a network file of ASTRA-sim", "net.yml");
  expect_named(import + "--network ../net.yml --system @", "a system file of ASTRA-sim", "system.json");
}

TEST_F(FileKindsCli, WhereTablesAreExpected) {
  expect_named("validate @", "a CSV file", "measured.csv");
  expect_named("workload @ --out o", "a transformer in JSON, or a table of them in CSV");
  const Ran ran = weft("run resnet50-kfac-64xh100 --set workload.network=../rtl.vcd");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("rtl.vcd: expected a network in CSV or JSON, got a VCD waveform; weft vcd info ../rtl.vcd "),
            std::string::npos)
      << ran.err;
}

/// A name without an ending is that of a known network.
TEST_F(FileKindsCli, ANetworkWithoutAnEndingIsNoFile) {
  const Ran ran = weft("run resnet50-kfac-64xh100 --set workload.network=empty");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("or a file whose name ends in .csv or .json or has a / in it"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace weft
