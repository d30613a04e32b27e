// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/perfetto.h"

/// Commands in the background, and what they leave behind.
namespace weft::test {

class ResultsTest : public CliTest {
 protected:
  /// Starts the command in the background; its process. What it prints goes to `out`, and to the file "stderr".
  pid_t start(const std::vector<std::string>& words, int out = -1) const {
    const pid_t child = fork();
    if (child != 0) return child;
    const std::filesystem::path work = folder_ / "work";
    if (chdir(work.c_str()) != 0) _exit(126);
    setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(out < 0 ? nowhere : out, STDOUT_FILENO);
    dup2(open((folder_ / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
    std::vector<char*> argv = {const_cast<char*>(WEFT_BINARY)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(WEFT_BINARY, argv.data());
    _exit(127);
  }
  /// The same of a command as a shell takes it.
  pid_t start_shell(const std::string& arguments, int out) const {
    const pid_t child = fork();
    if (child != 0) return child;
    if (chdir((folder_ / "work").c_str()) != 0) _exit(126);
    dup2(out, STDOUT_FILENO);
    dup2(open((folder_ / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
    const std::string command = std::string("exec ") + WEFT_BINARY + " " + arguments;
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  /// A run that takes minutes, once its events are simulated: it says so every time that it looks.
  pid_t start_long(const std::vector<std::string>& words, int out = -1) {
    std::filesystem::remove(folder_ / "stderr");
    setenv("WEFT_HEARTBEAT", "0", 1);
    const pid_t child = start(words, out);
    unsetenv("WEFT_HEARTBEAT");
    EXPECT_TRUE(comes([&] { return read_file(folder_ / "stderr").find("weft: simulated ") != std::string::npos; }));
    return child;
  }
  [[nodiscard]] std::string last_line() const {
    std::string text = read_file(folder_ / "stderr");
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

  static int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  /// Whether it comes to be within a minute.
  template <typename Condition>
  static bool comes(const Condition& condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  static std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  /// Throws std::runtime_error for a part of one.
  static bool is_whole_timeline(const std::filesystem::path& file) {
    return PerfettoTrace(read_packed(file)).events() > 0;
  }
};

}  // namespace weft::test
