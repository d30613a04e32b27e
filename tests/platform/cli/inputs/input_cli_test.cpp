// SPDX-License-Identifier: Apache-2.0
// Every command with inputs that are not what it takes: exit 2, one line that names the file and what was expected, no
// byte that a terminal obeys, nothing written. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::Ran;

struct Input {
  const char* what;
  std::string arguments;  ///< in which @ stands for the file
};

class InputCli : public test::CliTest {
 protected:
  InputCli() {
    write("net.yml", "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n");
    write("sys.json", R"({"preferred-dataset-splits": 4, "local-mem-bw": 50, "all-reduce-implementation": ["ring"]})");
    fs::create_directories(folder_ / "folder");
    fs::create_symlink("loop", folder_ / "loop");
    write("empty", "");
    write("zeros", std::string(100, '\0'));
    std::string bytes;
    for (int i = 1; i < 256; ++i) bytes += static_cast<char>(i);
    write("bytes", bytes);
    write("latin", "{\"name\": \"caf\xe9\"}\n");
    write("utf16", std::string("\xff\xfe{\0}\0", 6));
    write("escape", "\x1b[31mred\x1b[0m\n");
    write("list", "[1, 2]");
    write("huge", R"({"accelerators": 1e999})");
    write("nan", R"({"accelerators": NaN})");
    write("twice", R"({"name": "a", "name": "b"})");
    write("long", "{\"" + std::string(100'000, 'k') + "\": 1}");
    write("control", "{\"\\u001b[31m\": 1}");
  }

  static std::vector<std::string> files() {
    return {"../absent",
            "../folder",
            "../loop",
            "../empty",
            "../zeros",
            "../bytes",
            "../latin",
            "../utf16",
            "../escape",
            "../list",
            "../huge",
            "../nan",
            "../twice",
            "../long",
            "../control",
            "/dev/zero",
            "/dev/null",
            "../small.json/x",
            "../" + std::string(300, 'n')};
  }

  void expect_refused_with(const Input& input, const std::string& file) {
    SCOPED_TRACE(std::string(input.what) + ": " + file.substr(0, 40));
    std::string arguments = input.arguments;
    arguments.replace(arguments.find('@'), 1, file);
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_NE(ran.err.find("expected "), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(file.substr(file.rfind('/') + 1, 50)), std::string::npos) << ran.err;
    EXPECT_LT(ran.err.size(), 3000);
    for (const char* of_a_library : {"filesystem error", "exception", "basic_filebuf", "invalid node"}) {
      EXPECT_EQ(ran.err.find(of_a_library), std::string::npos) << ran.err;
    }
    EXPECT_TRUE(std::none_of(ran.err.begin(), ran.err.end(), [](char c) {
      return (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f';
    })) << ran.err;
    EXPECT_TRUE(nothing_written());
  }
};

TEST_F(InputCli, PlatformsAndPatches) {
  for (const Input& input : std::vector<Input>{{"run", "run @"},
                                               {"collective", "collective @ --op all_reduce"},
                                               {"topology", "topology @"},
                                               {"kernel", "kernel copy @ --bytes 1KiB"},
                                               {"patch", "run ../small.json --patch @"}}) {
    for (const std::string& file : files()) expect_refused_with(input, file);
  }
}

TEST_F(InputCli, FilesOfAstraSim) {
  const std::string rest = " --workload w --out o.json";
  for (const Input& input :
       std::vector<Input>{{"network", "import astra-sim --network @ --system ../sys.json" + rest},
                          {"system", "import astra-sim --network ../net.yml --system @" + rest},
                          {"groups", "import astra-sim --network ../net.yml --system ../sys.json --groups @" + rest},
                          {"memory", "import astra-sim --network ../net.yml --system ../sys.json --memory @" + rest}}) {
    for (const std::string& file : files()) {
      // Groups that no node names stop nothing.
      const bool is_unused = std::string(input.what) == "groups" && (file == "../long" || file == "../control");
      if (!is_unused) expect_refused_with(input, file);
    }
  }
}

TEST_F(InputCli, Tables) {
  for (const Input& input :
       std::vector<Input>{{"published", "validate @"},
                          {"networks", "workload @ --out o"},
                          {"edges", "topology ../small.json --set fabric.topology=graph --set fabric.edges=@"},
                          {"network", "run resnet50-kfac-64xh100 --set workload.network=@"}}) {
    for (const std::string& file : files()) {
      // Named by an option of the platform, a file has to be one to be a table.
      const bool is_name = input.arguments.find("--set") != std::string::npos;
      if (!is_name || file.find('.') != std::string::npos) expect_refused_with(input, file);
    }
  }
}

/// A table that ends in .csv is read as one, and never to its end where it has none.
TEST_F(InputCli, EdgesInATable) {
  for (const char* target : {"/dev/zero", "../folder", "../bytes", "../latin", "../escape"}) {
    fs::remove(folder_ / "edges.csv");
    fs::create_symlink(fs::path(target).is_absolute() ? target : target + 3, folder_ / "edges.csv");
    expect_refused_with({target, "topology ../small.json --set fabric.topology=graph --set fabric.edges=@"},
                        "../edges.csv");
  }
}

}  // namespace
}  // namespace weft
