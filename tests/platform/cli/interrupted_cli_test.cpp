// SPDX-License-Identifier: Apache-2.0
// Signals: what is finished is kept and what is not leaves nothing; and what long commands say of where they are. Runs
// the binary.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/results.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ran;
using test::read_file;

using InterruptedCli = test::ResultsTest;

/// What a line says is done, or -1.
int percent_of(const std::string& line) {
  const std::size_t end = line.find(" % done");
  return end == std::string::npos ? -1 : std::stoi(line.substr(line.rfind(' ', end - 1) + 1));
}

TEST_F(InterruptedCli, ASignalKeepsWhatARunHasFinished) {
  fs::create_directories(folder_ / "tmp");
  const std::vector<std::pair<int, std::string>> signals = {
      {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}};
  for (const auto& [signal, name] : signals) {
    // Before the first step has ended, with the critical path as well.
    const bool has_path = signal == SIGTERM;
    std::vector<std::string> command = {"run",         "llama3-8b-fsdp-64xh100", "--vcd", "waves.vcd",
                                        "--vcd-scope", "network.leaf0"};
    if (has_path) command.emplace_back("--why");
    const pid_t run = start_long(command);
    kill(run, signal);
    const int status = status_of(run);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_TRUE(last_line().starts_with("weft: ended by " + name + ": ")) << last_line();
    EXPECT_TRUE(last_line().ends_with("; out/llama3-8b-fsdp-64xh100/summary.json has what is finished")) << last_line();
    const fs::path work = folder_ / "work";
    EXPECT_EQ(names_in(work), (std::vector<std::string>{"out", "waves.vcd"}));
    const fs::path out = work / "out" / "llama3-8b-fsdp-64xh100";
    EXPECT_TRUE(is_whole_timeline(out / "timeline.pftrace.gz"));
    const json summary = json::parse(read_file(out / "summary.json"));
    EXPECT_EQ(summary["partial"]["ended_by"], name);
    EXPECT_GT(summary["simulated_us"], 0);
    EXPECT_EQ(summary["steps_us"], json::array());
    EXPECT_FALSE(summary.contains("step_time_us"));
    EXPECT_EQ(fs::exists(out / "why.json"), has_path);
    fs::remove_all(work);
    fs::create_directories(work);
  }
  // What is complete says so.
  EXPECT_EQ(json::parse(weft("run ../small.json --json").out)["partial"], nullptr);
}

TEST_F(InterruptedCli, ASignalKeepsStepsThatAreFinished) {
  std::array<std::string, 2> runs = {
      "workload={\"kind\":\"fsdp\",\"model\":\"llama3-8b\",\"layers\":1,\"sequence\":128}",
      "workload={\"kind\":\"kfac\",\"network\":\"nano-conv\","
      "\"algorithm\":\"spd\",\"steps\":100,"
      "\"skip_equal_steps\":false}"};
  for (const std::string& workload : runs) {
    const pid_t run =
        start_long({"run", "../small.json", "--timeline-ranks", "0", "--set", workload, "--set", "workload.steps=100"});
    ASSERT_TRUE(comes([&] { return percent_of(last_line()) >= 3; })) << last_line();
    kill(run, SIGTERM);
    static_cast<void>(status_of(run));
    const json summary = json::parse(read_file(folder_ / "work/out/small/summary.json"));
    EXPECT_EQ(summary["partial"]["ended_by"], "SIGTERM") << last_line();
    EXPECT_GT(summary["steps_us"].size(), 1U);
    EXPECT_LT(summary["steps_us"].size(), 100U);
  }
}

/// What is told of a run afterwards says that it is not all of it.
TEST_F(InterruptedCli, WhatIsToldOfAPartOfARunSaysSo) {
  const pid_t run = start_long({"run", "llama3-8b-fsdp-64xh100", "--why", "--timeline-ranks", "0", "--out", "part"});
  kill(run, SIGINT);
  static_cast<void>(status_of(run));
  const std::string early = "part was ended early by SIGINT: its time is that of what had run until then.";
  for (const char* words : {"why part", "why part --all", "why part --advise", "why part --what-if link=x2"}) {
    EXPECT_TRUE(weft(words).out.starts_with(early + "\n\n")) << words;
  }
  const Ran json_of = weft("why part --json");
  EXPECT_EQ(json_of.err, "weft: warning: " + early + "\n");
  EXPECT_TRUE(json::accept(json_of.out));
  EXPECT_NE(weft("compare part part").out.find(early), std::string::npos);
  // What is complete says nothing of it.
  EXPECT_EQ(weft("run ../small.json --why --out whole").code, 0);
  EXPECT_EQ(weft("why whole").out.find("ended early"), std::string::npos);
}

/// Rows are there as soon as they are done, and stay.
TEST_F(InterruptedCli, ASignalKeepsRowsThatAreDone) {
  for (const bool is_json : {false, true}) {
    const fs::path rows = folder_ / "rows";
    const int out = open(rows.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    std::vector<std::string> words = {"collective", "../small.json", "--op",
                                      "all_reduce", "--bytes",       "1KiB,1MiB,64GiB"};
    if (is_json) words.emplace_back("--json");
    const pid_t run = start_long(words, out);
    close(out);
    // Those before it are done.
    ASSERT_TRUE(comes([&] { return percent_of(last_line()) >= 1; })) << last_line();
    if (!is_json) {
      EXPECT_NE(read_file(rows).find("  1048576 "), std::string::npos) << "before the end";
    }
    kill(run, SIGINT);
    const int status = status_of(run);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
    EXPECT_EQ(last_line(), "weft: ended by SIGINT: 2 of 3 rows are done");
    if (!is_json) continue;
    const json result = json::parse(read_file(rows));
    EXPECT_EQ(result["partial"], json({{"ended_by", "SIGINT"}, {"done", "2 of 3 rows are done"}}));
    EXPECT_EQ(result["rows"].size(), 2U);
  }
}

/// SIGQUIT does not wait, and others leave no part of what they had begun.
TEST_F(InterruptedCli, ASignalThatEndsAtOnceLeavesNothing) {
  const pid_t run = start_long({"run", "llama3-8b-fsdp-64xh100", "--vcd", "waves.vcd", "--vcd-scope", "network.leaf0"});
  kill(run, SIGQUIT);
  const int status = status_of(run);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT) << status;
  EXPECT_EQ(last_line(), "weft: ended by SIGQUIT");
  EXPECT_TRUE(nothing_written());
}

/// Without a terminal a run says where it is, in lines of their own, and what is left never grows.
TEST_F(InterruptedCli, ALongRunSaysWhereItIs) {
  const Ran quiet = weft("collective ../small.json --op all_reduce --bytes 256MiB,256MiB");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "") << "nothing within the first minute";
  const Ran ran = weft("--version >/dev/null; WEFT_HEARTBEAT=0 " WEFT_BINARY
                       " collective ../small.json --op all_reduce --bytes 256MiB,256MiB");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, quiet.out);
  std::istringstream lines(ran.err);
  int told = 0;
  double left = 1e9;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("weft: simulated ")) << line;
    EXPECT_NE(line.find(" M events/s"), std::string::npos) << line;
    const std::size_t end = line.find(" s left");
    if (end == std::string::npos) continue;
    EXPECT_NE(line.find(" % done, "), std::string::npos) << line;
    const double seconds = std::stod(line.substr(line.rfind(' ', end - 1)));
    EXPECT_LE(seconds, left) << ran.err;
    left = seconds;
    ++told;
  }
  EXPECT_GT(told, 0) << ran.err;
}

TEST_F(InterruptedCli, AHeartbeatIsANumberOfSeconds) {
  const Ran ran = weft("--version >/dev/null; WEFT_HEARTBEAT=abc " WEFT_BINARY
                       " collective ../small.json --op all_reduce --bytes 1MiB");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: WEFT_HEARTBEAT: expected seconds, 0 or more, got \"abc\"\n");
}

/// However early it comes: what is about to be made is known before it is there.
TEST_F(InterruptedCli, AnEarlySignalLeavesNothing) {
  fs::create_directories(folder_ / "tmp");
  const fs::path out = folder_ / "work" / "out";
  const std::vector<fs::path> seen = {out, out / "llama3-8b-fsdp-64xh100"};
  for (int i = 0; i < 40; ++i) {
    const pid_t run = start({"run", "llama3-8b-fsdp-64xh100", "--vcd", "waves.vcd", "--vcd-scope", "network.*"});
    // Without a pause: the run is at its next step.
    while (!fs::exists(seen[static_cast<std::size_t>(i) % seen.size()])) {
      ASSERT_EQ(waitpid(run, nullptr, WNOHANG), 0);
    }
    kill(run, SIGTERM);
    static_cast<void>(status_of(run));
    ASSERT_TRUE(nothing_written()) << i;
  }
}

/// The runs that it has started end with it.
TEST_F(InterruptedCli, ASignalToValidateEndsItsRuns) {
  fs::create_directories(folder_ / "tmp");
  const pid_t validate = start({"validate", "--suite", "fsdp", "--jobs", "2"});
  const auto runs = [&] {
    // Those that have its folder among their arguments.
    int found = 0;
    for (const auto& process : fs::directory_iterator("/proc")) {
      const std::string arguments = read_file(process.path() / "cmdline");
      if (arguments.find((folder_ / "tmp").string() + "/") != std::string::npos) ++found;
    }
    return found;
  };
  ASSERT_TRUE(comes([&] { return runs() == 2; }));
  kill(validate, SIGTERM);
  const int status = status_of(validate);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_TRUE(comes([&] { return runs() == 0; }));
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

/// What is built takes longer than a word takes.
TEST_F(InterruptedCli, WhatIsBuiltForLongSaysSoAndEndsAtOnce) {
  const std::vector<std::string> large = {
      "../small.json",     "--set", "accelerators=200000",       "--set", "per_node=8",     "--set",
      "fabric.radix=1024", "--set", "fabric.hosts_per_leaf=512", "--set", "fabric.levels=3"};
  std::vector<std::string> run = {"run"};
  std::vector<std::string> collective = {"collective", "--op", "barrier"};
  for (std::vector<std::string>* words : {&run, &collective}) {
    words->insert(words->end(), large.begin(), large.end());
    fs::remove(folder_ / "stderr");
    setenv("WEFT_HEARTBEAT", "0", 1);
    const pid_t child = start(*words);
    unsetenv("WEFT_HEARTBEAT");
    EXPECT_TRUE(comes([&] { return last_line().starts_with("weft: builds 200000 accelerators, "); })) << last_line();
    kill(child, SIGINT);
    const int status = status_of(child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
    EXPECT_EQ(last_line(), "weft: ended by SIGINT");
    EXPECT_TRUE(nothing_written());
  }
}

}  // namespace
}  // namespace weft
