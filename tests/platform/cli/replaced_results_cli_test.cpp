// SPDX-License-Identifier: Apache-2.0
// What commands write takes the place of what the same command wrote, and of nothing else. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::Ran;

struct Written {
  const char* what;
  std::string arguments;  ///< in which @ stands for the file
  std::string name;       ///< of a good file
};

class ReplacedResultsCli : public test::CliTest {
 protected:
  ReplacedResultsCli() {
    for (const char* const name : {"ddp.0.json", "ddp.1.json", "ddp.2.json", "ddp.3.json", "network.yml", "system.json",
                                   "moe.txt", "edges.csv", "measured.csv", "mlp.json"}) {
      fs::copy_file(fs::path(WEFT_SOURCE_DIR "/docs/inputs") / name, folder_ / name);
    }
    write("rows.csv",
          "suite,platform,arguments,metric,published,unit,tolerance,source\n"
          "own,../small.json,collective --op all_gather --bytes 4KiB,rows[0].busbw,300,GB/s,,an example\n");
    write("e.topo", "# fat tree\nNodes 8\nTiers 2\nPodsize 8\n");
    write("config.txt", "TOPOLOGY_FILE ns3-topology.txt\nCC_MODE 1\n");
    write("notes.md", "# Notes\n\nWhat I measured.\n");
    write("patch.json", R"({"seed": 3})");
    write("mine.json", R"({"name": "mine", "accelerators": 8, "fabric": {"topology": "ring"}})");
    write("wave.vcd", "$version Icarus Verilog $end\n$timescale 1ns $end\n");
    write("chrome.json", R"({"traceEvents": [{"ph": "X"}]})");
    write("picture.svg", "<?xml version=\"1.0\"?>\n<svg></svg>\n");
    write("run.sh", "#!/bin/sh\necho\n");
    write("binary", std::string("\x01\x02\x03\xff\xfe\0\x07", 7));
    write("packed.gz", std::string("\x1f\x8b\x08\0\0\0", 6));
    write("blank", "\n");
  }

  static std::vector<Written> commands() {
    return {{"platform", "import astra-sim --network ../network.yml --system ../system.json --workload ../ddp --out @",
             "p.json"},
            {"timeline", "run ../small.json --out r --timeline @", "t.pftrace"},
            {"waveform", "collective ../small.json --op all_reduce --bytes 1KiB --vcd-scope 'network.leaf0*' --vcd @",
             "w.vcd"},
            {"trace", "trace convert ../ddp.0.json @", "w.et"},
            {"mended trace", "trace repair ../ddp.0.json @", "mended.et"}};
  }

  static std::string with(const Written& command, const std::string& file) {
    std::string arguments = command.arguments;
    return arguments.replace(arguments.find('@'), 1, file);
  }
};

TEST_F(ReplacedResultsCli, AnotherKindOfFileStays) {
  for (const Written& command : commands()) {
    for (const char* const name :
         {"edges.csv", "measured.csv", "mlp.json", "e.topo", "config.txt", "notes.md", "patch.json", "mine.json",
          "wave.vcd", "chrome.json", "picture.svg", "run.sh", "binary", "packed.gz", "blank"}) {
      if (command.arguments.find(name) != std::string::npos) continue;  // it is read
      // A timeline in JSON has a name of its own for each rank.
      if (std::string(name).ends_with(".json") && command.arguments.ends_with("--timeline @")) continue;
      SCOPED_TRACE(std::string(command.what) + " over " + name);
      const std::string before = test::read_file(folder_ / name);
      const Ran ran = weft(with(command, std::string("../") + name));
      EXPECT_EQ(ran.code, 2) << ran.err;
      EXPECT_EQ(ran.out, "");
      EXPECT_NE(ran.err.find("expected a place for a new file, or one of the same kind to replace, "),
                std::string::npos)
          << ran.err;
      EXPECT_NE(ran.err.find(std::string("got \"../") + name + "\", which is "), std::string::npos) << ran.err;
      EXPECT_TRUE(test::read_file(folder_ / name) == before);
      EXPECT_TRUE(nothing_written());
    }
  }
}

TEST_F(ReplacedResultsCli, ItsOwnIsWrittenAnew) {
  write("empty", "");
  for (const Written& command : commands()) {
    SCOPED_TRACE(command.what);
    for (int i = 0; i < 2; ++i) {
      const Ran ran = weft(with(command, command.name));
      EXPECT_EQ(ran.code, 0) << ran.err;
      EXPECT_TRUE(fs::file_size(folder_ / "work" / command.name) > 0);
    }
    if (command.what == std::string("trace")) continue;
    fs::copy_file(folder_ / "empty", folder_ / "work/empty", fs::copy_options::overwrite_existing);
    EXPECT_EQ(weft(with(command, "empty")).code, 0);
    EXPECT_TRUE(fs::file_size(folder_ / "work/empty") > 0);
  }
}

TEST_F(ReplacedResultsCli, FoldersAreAsFiles) {
  for (const std::string arguments :
       {"run ../small.json --out r", "topology ../small.json --out r", "validate ../rows.csv --markdown r",
        "workload llama3-8b --parallel tp=2 --layers 1 --out r --name w", "trace convert ../moe.txt r/m",
        "trace repair ../ddp r/d"}) {
    SCOPED_TRACE(arguments);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(weft(arguments).code, 0);
    for (const auto& entry : fs::directory_iterator(folder_ / "work" / "r")) {
      const std::string name = entry.path().filename().string();
      SCOPED_TRACE(name);
      const fs::path kept = folder_ / "kept";
      fs::rename(entry.path(), kept);
      fs::copy_file(folder_ / "notes.md", entry.path());
      const Ran ran = weft(arguments);
      EXPECT_EQ(ran.code, 2);
      EXPECT_NE(ran.err.find("expected a place for a new file, or one of the same kind to replace, "),
                std::string::npos)
          << ran.err;
      EXPECT_EQ(test::read_file(entry.path()), test::read_file(folder_ / "notes.md"));
      fs::rename(kept, entry.path());
    }
    fs::remove_all(folder_ / "work" / "r");
  }
}

/// A trace and its groups are two kinds.
TEST_F(ReplacedResultsCli, GroupsAreNoTrace) {
  ASSERT_EQ(weft("trace convert ../moe.txt m").code, 0);
  fs::copy_file(folder_ / "work/m.groups.json", folder_ / "work/m.0.et", fs::copy_options::overwrite_existing);
  const Ran ran = weft("trace convert ../moe.txt m");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("got \"./m.0.et\", which is a file of communicator groups, not a Chakra trace: remove it"),
            std::string::npos)
      << ran.err;
}

/// No file of these names comes to be, least of all among the devices.
TEST_F(ReplacedResultsCli, SeveralFilesDoNotGoToAStream) {
  const auto devices = [] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator("/dev")) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  const std::vector<std::string> before = devices();
  for (const std::string to : {"-", "/dev/stdout", "/dev/null", "/dev/fd/1"}) {
    for (const std::string command : {"trace convert ../moe.txt ", "trace convert ../ddp ", "trace repair ../ddp "}) {
      expect_refused({"prefix", (command + to).c_str(), {"TO: expected a prefix, for several files, got \""}});
    }
    for (const std::string command :
         {"workload llama3-8b --parallel tp=1 --layers 1 --out ", "run ../small.json --out ",
          "topology ../small.json --out ", "validate ../rows.csv --markdown "}) {
      expect_refused({"folder", (command + to).c_str(), {": expected a ", "several files"}});
    }
  }
  for (const Written& command : commands()) {
    expect_refused({command.what, with(command, "/dev/weft-test").c_str(), {"no files are made among devices"}});
  }
  EXPECT_EQ(devices(), before);
}

/// Exit 1, as for any result that cannot be written.
TEST_F(ReplacedResultsCli, AFullDiskFailsTheCommand) {
  for (const std::string arguments :
       {"trace convert ../ddp.0.json w.et", "trace convert ../moe.txt m", "trace repair ../ddp d",
        "workload llama3-8b --parallel tp=2 --layers 1 --out w", "topology ../small.json --out t",
        "import astra-sim --network ../network.yml --system ../system.json --workload ../ddp --out p.json",
        "collective ../small.json --op all_reduce --bytes 1KiB --vcd-scope 'network.leaf0*' --vcd w.vcd"}) {
    SCOPED_TRACE(arguments);
    const Ran ran = weft("--version > /dev/null; ulimit -f 0; " WEFT_BINARY " " + arguments + " 2>&1; echo exit $?");
    EXPECT_NE(ran.out.find("weft: cannot write "), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(": File too large\nexit 1\n"), std::string::npos) << ran.out;
    EXPECT_TRUE(nothing_written());
  }
}

}  // namespace
}  // namespace weft
