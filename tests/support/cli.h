// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/files.h"

/// The command as a user meets it. A test that includes this has WEFT_BINARY.
namespace weft::test {

/// Why a test is skipped that looks at a page as people do.
inline constexpr const char* kWithoutBrowser =
    "no browser to look at pages with: Debian's package chromium (300 MB) is optional. What is in a page is checked "
    "without one";

struct Ran {
  int code;
  std::string out;
  std::string err;
};

/// A machine of 4 accelerators that runs a training step of one layer in a blink.
inline constexpr const char* kSmall = R"({
  "name": "small",
  "accelerators": 4,
  "per_node": 2,
  "accelerator": "h100-sxm",
  "nic": "connectx-7",
  "fabric": { "topology": "fat-tree", "radix": 4, "hosts_per_leaf": 2, "segment": "64KiB" },
  "workload": { "kind": "fsdp", "model": "gpt2", "layers": 1, "sequence": 128 }
})";

struct BadInput {
  const char* what;
  const char* arguments;
  std::vector<const char*> message;  ///< what it must say
};

/// Each test has an empty folder of its own, in which the command runs.
class CliTest : public testing::Test {
 protected:
  CliTest() : folder_(std::filesystem::temp_directory_path() / ("weft-cli-test-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "work");
    write("small.json", kSmall);
  }
  ~CliTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Input files lie outside of the folder that the command runs in.
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  Ran weft(const std::string& arguments) { return run(WEFT_BINARY " " + arguments); }

  /// What it prints with --json; null if it fails, which is reported.
  nlohmann::json weft_json(const std::string& arguments) {
    const Ran ran = weft(arguments + " --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? nlohmann::json::parse(ran.out) : nlohmann::json();
  }
  /// Of a run, which draws nothing.
  nlohmann::json run_json(const std::string& arguments) {
    return weft_json("run " + arguments + " --timeline-ranks 0");
  }

  /// Of a shell.
  Ran run(const std::string& what) {
    const std::string command =
        "cd " + (folder_ / "work").string() + " && " + what + " 2>" + (folder_ / "err").string();
    Ran ran{};
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
      ADD_FAILURE() << "cannot run " << command;
      return ran;
    }
    char buffer[4096];
    for (std::size_t count = 0; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.out.append(buffer, count);
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.err = read_file(folder_ / "err");
    return ran;
  }

  /// Exit 2, one message on stderr that says all of it, nothing on stdout, nothing written.
  void expect_refused(const BadInput& bad) {
    SCOPED_TRACE(bad.what);
    const Ran ran = weft(bad.arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("weft: ")) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    for (const char* part : bad.message) EXPECT_NE(ran.err.find(part), std::string::npos) << part << " in " << ran.err;
    EXPECT_TRUE(nothing_written());
  }

  [[nodiscard]] bool nothing_written() const { return std::filesystem::is_empty(folder_ / "work"); }

  std::filesystem::path folder_;
};

}  // namespace weft::test
