// SPDX-License-Identifier: Apache-2.0
// What commands leave behind: all of their results or nothing, whatever else runs and wherever they go. Runs the
// binary.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/results.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::BadInput;
using test::Ran;
using test::read_file;

using ResultsCli = test::ResultsTest;

/// Four of one name, each with its own length: those that come while another runs are refused, and what is there in the
/// end is one run's, whole.
TEST_F(ResultsCli, FourRunsOfOneNameDoNotMix) {
  const std::vector<std::string> sequences = {"64", "96", "128", "160"};
  std::vector<pid_t> runs;
  for (const std::string& sequence : sequences) {
    runs.push_back(start({"run", "../small.json", "--set", "workload.sequence=" + sequence}));
  }
  std::set<std::string> whole;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int status = status_of(runs[i]);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2) << status;
    if (WEXITSTATUS(status) == 0) whole.insert(sequences[i]);
  }
  ASSERT_FALSE(whole.empty());
  const std::string errors = read_file(folder_ / "stderr");
  EXPECT_EQ(static_cast<std::size_t>(std::count(errors.begin(), errors.end(), '\n')), runs.size() - whole.size())
      << errors;
  const fs::path out = folder_ / "work" / "out" / "small";
  EXPECT_EQ(names_in(out), (std::vector<std::string>{"config.json", "links.csv", "network.svg", "over_time.csv",
                                                     "summary.json", "timeline.pftrace.gz", "timeline.svg"}));
  EXPECT_TRUE(is_whole_timeline(out / "timeline.pftrace.gz"));
  const json summary = json::parse(read_file(out / "summary.json"));
  const json config = json::parse(read_file(out / "config.json"));
  const std::string sequence = std::to_string(config["values"]["workload.sequence"]["value"].get<int>());
  EXPECT_TRUE(whole.contains(sequence));
  ASSERT_EQ(weft("run ../small.json --out ../alone --set workload.sequence=" + sequence).code, 0);
  for (const char* name : {"config.json", "links.csv", "network.svg", "timeline.svg", "timeline.pftrace.gz"}) {
    EXPECT_TRUE(read_file(out / name) == read_file(folder_ / "alone" / name)) << name;
  }
  const json alone = json::parse(read_file(folder_ / "alone" / "summary.json"));
  EXPECT_EQ(summary["simulator"]["digest"], alone["simulator"]["digest"]);
}

/// Who comes second learns who is there; who was killed locks nobody out.
TEST_F(ResultsCli, APlaceNamesWhoHasIt) {
  const pid_t run = start_long({"run", "llama3-8b-fsdp-64xh100", "--out", "mine", "--timeline", "t.pftrace"});
  const std::string who = "which process " + std::to_string(run) + " since 20";
  for (const auto& [arguments, option] : std::vector<std::pair<std::string, std::string>>{
           {"run ../small.json --out mine", "--out: expected a folder that no other command writes to, got \"mine\", "},
           {"run ../small.json --out other --timeline t.pftrace",
            "--timeline: expected a file that no other command writes to, got "}}) {
    const Ran second = weft(arguments);
    EXPECT_EQ(second.code, 2);
    EXPECT_EQ(second.out, "");
    EXPECT_NE(second.err.find(option), std::string::npos) << second.err;
    EXPECT_NE(second.err.find(who), std::string::npos) << second.err;
    EXPECT_NE(
        second.err.find(": weft run llama3-8b-fsdp-64xh100 --out mine --timeline t.pftrace has; wait for it, or give"),
        std::string::npos)
        << second.err;
  }
  EXPECT_EQ(weft("run ../small.json --out other").code, 0);
  kill(run, SIGKILL);
  static_cast<void>(status_of(run));
  EXPECT_TRUE(fs::exists(folder_ / "work/mine/.weft-lock"));
  EXPECT_EQ(weft("run ../small.json --out mine").code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "work/mine/.weft-lock"));
}

/// A run without a timeline does not leave an earlier one's beside its summary; what is not Weft's stays.
TEST_F(ResultsCli, AnEarlierRunsFilesGo) {
  ASSERT_EQ(weft("run ../small.json").code, 0);
  const fs::path out = folder_ / "work" / "out" / "small";
  std::ofstream(out / "notes.txt") << "mine";
  ASSERT_EQ(weft("run ../small.json --timeline-ranks 0").code, 0);
  EXPECT_EQ(names_in(out), (std::vector<std::string>{"config.json", "links.csv", "network.svg", "notes.txt",
                                                     "over_time.csv", "summary.json"}));
  EXPECT_TRUE(json::parse(read_file(out / "summary.json"))["timeline"].is_null());
}

TEST_F(ResultsCli, WhatCannotBeWrittenIsKnownBeforeTheRun) {
  fs::create_directories(folder_ / "inside" / "folder");
  write("file", "text");
  fs::create_symlink("/dev/null", folder_ / "inside" / "summary.json");
  const std::string long_name(256, 'n');
  const std::string too_long = "run ../small.json --set name=" + long_name;
  const std::vector<BadInput> cases = {
      {"timeline is a folder",
       "run ../small.json --timeline ../inside",
       {"--timeline: ", "../inside", "Is a directory"}},
      {"timeline of nothing",
       "run ../small.json --timeline t.pftrace --timeline-ranks 0",
       {"--timeline: expected --timeline-ranks of at least 1", "got 0"}},
      {"timeline in a file", "run ../small.json --timeline ../file/t.pftrace", {"--timeline: ", "Not a directory"}},
      {"wave is a folder",
       "run ../small.json --vcd ../inside --vcd-scope '*'",
       {"--vcd: ", "../inside", "Is a directory"}},
      {"folder of a wave", "run ../small.json --vcd ../inside/ --vcd-scope '*'", {"--vcd: ", "it is a folder"}},
      {"out is a file", "run ../small.json --out ../file", {"--out: ", "../file", "it is a file"}},
      {"out in a file", "run ../small.json --out ../file/out", {"--out: ", "../file/out", "Not a directory"}},
      {"a result is no file", "run ../small.json --out ../inside", {"--out: ", "summary.json", "it is no file"}},
      {"one file for two", "run ../small.json --vcd w --timeline w", {"--vcd: ", "another file than --timeline"}},
      {"one of the results",
       "run ../small.json --timeline out/small/links.csv",
       {"--timeline: ", "another file than --out"}},
      {"not UTF-8", "run ../small.json --out \"$(printf 'caf\\351')\"", {"UTF-8", "caf\\xe9"}},
      {"value not UTF-8", "run ../small.json --set description=\"$(printf '\\377')\"", {"UTF-8", "\\xff"}},
      {"name of control characters", "run ../small.json --set name=\"$(printf '\\033[31m')\"", {"name: ", "\\x1b[31m"}},
      {"long name", too_long.c_str(), {"name: ", "a name that a folder can have"}},
      {"collective's wave", "collective ../small.json --op all_reduce --vcd ../file/w --vcd-scope '*'", {"--vcd: "}},
      {"topology", "topology ../small.json --out ../file", {"--out: ", "it is a file"}},
      {"markdown", "validate --suite gemm-h100 --markdown ../file/pages", {"--markdown: ", "Not a directory"}},
      {"markdown is a file", "validate --suite gemm-h100 --markdown ../file", {"--markdown: ", "it is a file"}},
      {"suite", "validate --suite nosuch", {"--suite: expected one of ", "gemm-h100", "got \"nosuch\""}},
      {"own input",
       "run ../small.json --vcd ../small.json --vcd-scope 'network.*'",
       {"--vcd: expected another file than ../small.json, which is read"}},
      {"workload", "workload llama3-8b --layers 1 --out ../file", {"--out: ", "it is a file"}},
      {"import",
       "import astra-sim --network n --system s --workload w --out ../inside",
       {"--out: ", "Is a directory"}}};
  for (const BadInput& bad : cases) expect_refused(bad);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(names_in(folder_ / "inside"), (std::vector<std::string>{"folder", "summary.json"}));
}

TEST_F(ResultsCli, DevicesAndPipesAreWrittenToAndNeverReplaced) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const std::string collective =
      "collective ../small.json --op all_reduce --bytes 4KiB --vcd-scope 'network.leaf0*' --vcd ";
  expect_refused({"nobody reads", (collective + "../fifo").c_str(), {"--vcd: ", "which nobody reads"}});
  const Ran whole = weft(collective + "../waves.vcd");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string waves = read_file(folder_ / "waves.vcd");
  std::string piped;
  std::thread reader([&] { piped = read_file(folder_ / "fifo"); });
  EXPECT_EQ(weft(collective + "../fifo").code, 0);
  reader.join();
  EXPECT_TRUE(piped == waves);
  EXPECT_TRUE(fs::is_fifo(folder_ / "fifo"));
  EXPECT_EQ(weft(collective + "/dev/null").code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const Ran both = weft(collective + "/dev/stdout");
  EXPECT_TRUE(both.out == waves) << "data are alone there";
  EXPECT_EQ(both.err, whole.err + whole.out);
  const Ran file = weft(collective + "/dev/stdout > ../both.txt");
  EXPECT_TRUE(read_file(folder_ / "both.txt") == waves);
  const Ran full = weft(collective + "/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_NE(full.err.find("cannot write /dev/full: No space left"), std::string::npos) << full.err;
  EXPECT_EQ(weft("run ../small.json --timeline /dev/null --out ../out").code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(nothing_written());
}

/// A script must not take it for success: on a full disk, and where nobody reads on.
TEST_F(ResultsCli, OutputThatCannotBeWrittenIsAnError) {
  const std::string inputs = WEFT_SOURCE_DIR "/docs/inputs/";
  const std::string waves = " --clock tb.clk --valid tb.valid --data tb.data --map 'tb.*=weft.*' --tolerance 1";
  for (const std::string& arguments :
       std::vector<std::string>{"--help",
                                "--version",
                                "run --help",
                                "describe",
                                "describe --json",
                                "parts",
                                "parts --json",
                                "platforms",
                                "kernel copy --bytes 1KiB",
                                "kernel copy --bytes 1KiB --json",
                                "dpa",
                                "dpa --json",
                                "topology ../small.json",
                                "collective ../small.json --op all_reduce --bytes 4KiB",
                                "collective ../small.json --op all_reduce --bytes 4KiB --json",
                                "run ../small.json",
                                "run ../small.json --json",
                                "workload llama3-8b --layers 1 --out w",
                                "bench --quick --only machine-64",
                                "bench --quick --only machine-64 --json",
                                "memory " + inputs + "requests.trc",
                                "memory " + inputs + "requests.trc --json",
                                "validate --suite gemm-h100",
                                "validate --suite gemm-h100 --json",
                                "vcd info " + inputs + "rtl.vcd",
                                "vcd info --json " + inputs + "rtl.vcd",
                                "vcd compare " + inputs + "rtl.vcd " + inputs + "model.vcd" + waves,
                                "trace info " + inputs + "ddp",
                                "trace check " + inputs + "ddp",
                                "trace convert " + inputs + "ddp c"}) {
    SCOPED_TRACE(arguments);
    const Ran full = weft(arguments + " > /dev/full");
    EXPECT_EQ(full.code, 1);
    EXPECT_EQ(full.err, "weft: cannot write standard output: No space left on device\n");
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    close(ends[0]);
    fs::remove(folder_ / "stderr");
    const pid_t shell = start_shell(arguments, ends[1]);
    close(ends[1]);
    const int status = status_of(shell);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
    EXPECT_EQ(read_file(folder_ / "stderr"), "") << "who closes a pipe has read enough";
  }
  // What is printed must not go into a file that has its number.
  const Ran closed = weft("run ../small.json --out ../closed >&-");
  EXPECT_EQ(closed.code, 1);
  EXPECT_EQ(closed.err, "weft: cannot write standard output: Bad file descriptor\n");
  EXPECT_TRUE(is_whole_timeline(folder_ / "closed" / "timeline.pftrace.gz"));
}

/// As on a full disk, found in the middle of a run.
TEST_F(ResultsCli, AFileThatGrowsBeyondItsLimitLeavesNothing) {
  const Ran run = weft("run ../small.json --vcd waves.vcd --vcd-scope 'network.*'");
  ASSERT_EQ(run.code, 0);
  fs::remove_all(folder_ / "work");
  fs::create_directories(folder_ / "work");
  const Ran limited = weft("--version > /dev/null; ulimit -f 1; " WEFT_BINARY
                           " run ../small.json --vcd waves.vcd --vcd-scope 'network.*'");
  EXPECT_EQ(limited.code, 1) << limited.err;
  EXPECT_NE(limited.err.find("cannot write waves.vcd: File too large"), std::string::npos) << limited.err;
  EXPECT_TRUE(nothing_written());
}

/// What somebody made for a program to read is not replaced, though this command does not read it.
TEST_F(ResultsCli, InputsOfOthersAreNotReplaced) {
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"groups.json", R"({"1": [0, 1, 2, 3]})"},
      {"network.yml", "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"},
      {"system.json", R"({"scheduling-policy": "LIFO", "all-reduce-implementation": ["ring"]})"},
      {"other.json", R"({"accelerators": 8, "fabric": {"topology": "ring"}})"},
      {"requests.trc", "R 0x1f40\nW 8000 12.5\n"},
      {"model.vcd", "$timescale 1ns $end\n"},
      {"moe.txt", "DATA\n1\nfc -1 1500 NONE 0 100 NONE 0 2000 ALLREDUCE 4096 5\n"}};
  for (const auto& [name, text] : inputs) {
    write(name, text);
    // A timeline in JSON has a name of its own for each rank.
    const bool is_json = name.ends_with(".json");
    const std::string option = is_json ? "--vcd" : "--timeline";
    const Ran ran = weft("run ../small.json " + option + " ../" + name + (is_json ? " --vcd-scope 'network.*'" : ""));
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_NE(ran.err.find(option + ": expected a place for a new file, or one of the same kind to replace, got \"../" +
                           name + "\", which is a"),
              std::string::npos)
        << ran.err;
    EXPECT_EQ(read_file(folder_ / name), text);
    EXPECT_TRUE(nothing_written());
  }
  // Among results as well, and in a folder of one's own.
  fs::create_directories(folder_ / "mine");
  fs::copy_file(folder_ / "groups.json", folder_ / "mine/config.json");
  EXPECT_EQ(weft("run ../small.json --out ../mine").code, 2);
  EXPECT_EQ(read_file(folder_ / "mine/config.json"), inputs[0].second);
}

/// A file that a command comes to read only by name in another is not replaced either.
TEST_F(ResultsCli, WhatInputsNameIsNotReplaced) {
  std::ofstream(folder_ / "edges.json") << R"(["end0 - a", "end1 - a", "end2 - a", "end3 - a"])";
  const std::string edges = read_file(folder_ / "edges.json");
  const Ran ran = weft(
      "run ../small.json --set fabric.topology=graph --set fabric.edges=edges.json --vcd-scope 'network.*' --vcd "
      "../edges.json --out r");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("edges.json, which is read, got \"../edges.json\""), std::string::npos) << ran.err;
  EXPECT_EQ(read_file(folder_ / "edges.json"), edges);
}

/// What a run wrote is a platform, wherever it lies, and names of files in it are those of the first.
TEST_F(ResultsCli, AConfigurationRunsAgain) {
  std::ofstream(folder_ / "edges.json") << R"(["end0 - a", "end1 - a", "end2 - a", "end3 - a"])";
  const std::string options =
      " --set accelerators=4 --set fabric.topology=graph --set fabric.edges=edges.json --seed 7";
  const json first = json::parse(weft("run ../small.json --out results --json" + options).out);
  ASSERT_EQ(first["accelerators"], 4);
  EXPECT_EQ(first["weft"]["schema"], 1);
  fs::create_directories(folder_ / "elsewhere");
  fs::copy_file(folder_ / "work/results/config.json", folder_ / "elsewhere/again.json");
  const json again = json::parse(weft("run ../elsewhere/again.json --json").out);
  EXPECT_EQ(again["platform"], "small");
  EXPECT_EQ(again["simulator"]["digest"], first["simulator"]["digest"]);
  const json changed = json::parse(weft("run ../elsewhere/again.json --json --out c --seed 8").out);
  EXPECT_EQ(changed["platform"], "small");
  // In its own place.
  EXPECT_EQ(weft("run results/config.json --out results").code, 0);
  const json config = json::parse(read_file(folder_ / "work/results/config.json"));
  EXPECT_EQ(config["platform"]["fabric"]["edges"], "edges.json");
  EXPECT_EQ(config["values"]["seed"], json({{"value", 7}, {"source", "command line"}}));
  EXPECT_EQ(config["weft"], first["weft"]);
  // Another run does not take the place of the one that it is made from.
  const Ran other = weft("run results/config.json --out results --set accelerators=3");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("expected another file than results/config.json, which is read"), std::string::npos)
      << other.err;
  EXPECT_EQ(json::parse(read_file(folder_ / "work/results/config.json")), config);
}

TEST_F(ResultsCli, AConfigurationSaysItsSourcesAsARunDoes) {
  ASSERT_EQ(weft("run ../small.json --out results --seed 7").code, 0);
  const json config = json::parse(read_file(folder_ / "work/results/config.json"));
  const auto refused = [&](const char* path, const json& value) {
    json odd = config;
    odd[json::json_pointer(path)] = value;
    std::ofstream(folder_ / "work/odd.json") << odd.dump();
    const Ran ran = weft("run odd.json --out again");
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_NE(refused("/values/seed/source", 3).find("odd.json: values.seed.source: expected where the value came from"),
            std::string::npos);
  EXPECT_NE(refused("/values/seed/source", nullptr).find("odd.json: values.seed.source: expected "), std::string::npos);
  EXPECT_NE(refused("/values/seed", "file").find("odd.json: values.seed: expected an object with value and source"),
            std::string::npos);
}

/// The same file by two names is one.
TEST_F(ResultsCli, TwoOptionsDoNotWriteToOneFile) {
  const Ran ran = weft("run ../small.json --out results --vcd x.vcd --timeline ./x.vcd --timeline-ranks 1");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("expected another file than --"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace weft
