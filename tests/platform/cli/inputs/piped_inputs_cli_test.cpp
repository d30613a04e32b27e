// SPDX-License-Identifier: Apache-2.0
// Every input of every command as a FIFO and as a descriptor of a pipe: it is read as the file is. Runs the binary.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::Ran;

struct PipedInput {
  const char* what;
  const char* file;       ///< a sample of docs/inputs, or a file that the test has written
  std::string arguments;  ///< in which @ stands for the file
};

class PipedInputsCli : public test::CliTest {
 protected:
  PipedInputsCli() {
    fs::copy(WEFT_SOURCE_DIR "/docs/inputs", folder_, fs::copy_options::recursive);
    write("patch.json", R"({"seed": 3})");
    write("groups.json", R"({"1": [0, 1, 2, 3]})");
    write("rows.csv",
          "suite,platform,arguments,metric,published,unit,tolerance,source\n"
          "own,../small.json,collective --op all_gather --bytes 4KiB,rows[0].busbw,300,GB/s,,an example\n");
    write(
        "same.json",
        R"({"metadata": {"version": "0.0.4"}, "nodes": [{"id": 3, "name": "forward", "type": "COMP_NODE", "duration_micros": 400, "attr": [{"name": "is_cpu_op", "bool_val": false}]}]})");
    write("ns3.txt", "TOPOLOGY_FILE ns3-topology.txt\nPACKET_PAYLOAD_SIZE 1000\n");
    write("e.topo",
          "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 400\nRadix_Up 2\nRadix_Down 2\n"
          "Downlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 2\nDownlink_Latency_ns 500\n");
  }

  /// With @ as `path`, after `before`; ended where it hangs.
  Ran run(const std::string& before, const PipedInput& input, const std::string& path) {
    std::string arguments = input.arguments;
    for (std::size_t at = 0; (at = arguments.find('@', at)) != std::string::npos; at += path.size()) {
      arguments.replace(at, 1, path);
    }
    fs::remove_all(folder_ / "work");
    fs::create_directories(folder_ / "work");
    Ran ran = weft("--version > /dev/null; " + before + " timeout 100 " WEFT_BINARY " " + arguments);
    for (std::string* const text : {&ran.out, &ran.err}) {
      for (std::size_t at = 0; (at = text->find(path, at)) != std::string::npos;) text->replace(at, path.size(), "@");
    }
    return ran;
  }

  /// Read as the file is, whatever it is called.
  void expect_read(const PipedInput& input, bool same_text) {
    SCOPED_TRACE(std::string(input.what) + ": " + input.arguments);
    const std::string file = std::string("../") + input.file;
    const Ran expected = run("", input, file);
    ASSERT_EQ(expected.code, 0) << expected.err;
    const Ran described = run("cat " + file + " |", input, "/dev/fd/0");
    EXPECT_EQ(described.code, 0) << described.err;
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    const Ran named = run("timeout 100 sh -c 'cat " + file + " > ../fifo' > /dev/null &", input, "../fifo");
    EXPECT_EQ(named.code, 0) << named.err;
    fs::remove(folder_ / "fifo");
    if (!same_text) return;
    EXPECT_EQ(described.out, expected.out);
    EXPECT_EQ(named.out, expected.out);
  }
};

constexpr const char* kImport = "import astra-sim --workload ../ddp --out four.json ";

TEST_F(PipedInputsCli, OfPlatformsAreReadAsFiles) {
  const std::string all_reduce = "collective ../small.json --op all_reduce --bytes 1KiB ";
  const std::vector<PipedInput> inputs = {
      {"platform", "small.json", "collective @ --op all_reduce --bytes 1KiB"},
      {"patch", "patch.json", all_reduce + "--patch @"},
      {"edges in CSV", "edges.csv", all_reduce + "--set fabric.topology=graph --set fabric.edges=@"},
      {"pictures", "small.json", "topology @ --out pictures"},
      {"requests", "requests.trc", "memory @ --device hbm3"}};
  for (const PipedInput& input : inputs) expect_read(input, input.what != std::string("requests"));
  for (const PipedInput& input : std::vector<PipedInput>{
           {"run", "small.json", "run @ --out r"},
           {"layers", "mlp.json",
            "run resnet50-kfac-64xh100 --set accelerators=8 --set workload.network=@ --out r --timeline-ranks 0"},
           {"trace", "same.json", "run ../two-sites.json --traces @ --out r --timeline-ranks 0"},
           {"groups", "groups.json", "run ../two-sites.json --traces ../ddp --groups @ --out r --timeline-ranks 0"},
           {"measurements", "rows.csv", "validate @"}}) {
    expect_read(input, false);
  }
}

TEST_F(PipedInputsCli, OfTracesAreReadAsFiles) {
  for (const PipedInput& input :
       std::vector<PipedInput>{{"check", "same.json", "trace check @ --ranks 4"},
                               {"groups", "groups.json", "trace check ../ddp --groups @"},
                               {"repair", "ddp.0.json", "trace repair @ mended.et"},
                               {"conversion", "ddp.0.json", "trace convert @ w.et"},
                               {"text workload", "moe.txt", "trace convert @ w"},
                               {"text workload of so many", "moe.txt", "trace convert @ w --ranks 8"}}) {
    expect_read(input, true);
  }
  // Of a pipe nothing says how long it is.
  expect_read({"information", "ddp.0.json", "trace info @"}, false);
}

TEST_F(PipedInputsCli, OfOtherSimulatorsAreReadAsFiles) {
  const std::string import = kImport;
  const std::string network = "--network ../network.yml ";
  const std::string packets = "--network ../ns3-logical.json --system ../ring.json ";
  for (const PipedInput& input : std::vector<PipedInput>{
           {"network", "network.yml", import + "--network @ --system ../system.json"},
           {"logical network", "ns3-logical.json",
            import + "--network @ --ns3-topology ../ns3-topology.txt --system ../ring.json"},
           {"system", "system.json", import + network + "--system @"},
           {"memory", "memory.json", import + network + "--system ../system.json --memory @"},
           {"groups", "groups.json", import + network + "--system ../system.json --groups @"},
           {"topology", "ns3-topology.txt", import + packets + "--ns3-topology @"},
           {"settings", "ns3.txt", import + packets + "--ns3-config @ --ns3-topology ../ns3-topology.txt"},
           {"fat tree", "e.topo", import + packets + "--htsim-topology @"}}) {
    expect_read(input, true);
  }
}

TEST_F(PipedInputsCli, OfWaveformsAreReadAsFiles) {
  const std::string how = " --clock tb.clk --valid tb.valid --data tb.data --map 'tb.*=weft.*' --tolerance 1";
  for (const PipedInput& input :
       std::vector<PipedInput>{{"reference", "rtl.vcd", "vcd compare @ ../model.vcd" + how},
                               {"subject", "model.vcd", "vcd compare ../rtl.vcd @" + how},
                               {"both", "rtl.vcd", "vcd compare @ @ --clock tb.clk --signals '*'"}}) {
    expect_read(input, true);
  }
  expect_read({"signals", "rtl.vcd", "vcd info @"}, false);
}

/// What is no input of a command is refused by what it is, not as a pipe that has been emptied.
TEST_F(PipedInputsCli, OfOtherKindsAreRefusedAsFilesAre) {
  for (const char* const arguments : {"collective @ --op all_reduce", "trace info @", "vcd info @", "memory @"}) {
    const PipedInput input{"another kind", "network.yml", arguments};
    const Ran expected = run("", input, "../network.yml");
    const Ran piped = run("cat ../network.yml |", input, "/dev/fd/0");
    EXPECT_EQ(expected.code, 2);
    EXPECT_EQ(piped.code, 2);
    EXPECT_EQ(piped.err, expected.err);
  }
}

}  // namespace
}  // namespace weft
