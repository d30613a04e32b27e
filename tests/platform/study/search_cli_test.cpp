// SPDX-License-Identifier: Apache-2.0
// Studies that search, and studies under mpirun.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/platform/study/study_cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

/// Skips a test only where CMake has not found a library that Weft is whole without.
#ifdef HAS_WEFT_SEARCH
constexpr bool kHasSearch = true;
#else
constexpr bool kHasSearch = false;
#endif
#ifdef HAS_WEFT_MPI
constexpr bool kHasMpi = true;
#else
constexpr bool kHasMpi = false;
#endif
constexpr const char* kWithoutSearch =
    "pagmo is optional: CMake did not find Debian's package libpagmo-dev, which ./weft test installs";
constexpr const char* kWithoutMpi =
    "MPI is optional: CMake did not find Debian's package libopenmpi-dev, or openmpi-bin is missing; ./weft test "
    "installs both";

using SearchCli = test::StudyCli;

/// A grid of 24 x 12 points, of which those with y = 5 are the front: along it one goal falls as the other grows.
// Each point has a seed of its own: points that differ in x and y alone would be simulated once.
constexpr const char* kFront = R"({
  "values": {"x": {"from": 0, "to": 23, "steps": 24}, "y": {"from": 0, "to": 11, "steps": 12}},
  "derived": {"seed": "1 + x + 24 * y"},
  "metrics": {"us": "rows.0.time_us", "one": "x + 1.5 * (y - 5)^2", "other": "23 - x + 1.5 * (y - 5)^2"},
  "search": {"minimise": ["one", "other"], "evaluations": 96, "population": 24, "seed": SEED}
})";

/// Of points (one, other), what part of the square below (30, 30) they are better than.
double volume(json points) {
  constexpr double kWorst = 30;
  std::sort(points.begin(), points.end(), [](const json& a, const json& b) { return a["one"] < b["one"]; });
  double sum = 0;
  double below = kWorst;
  for (const json& point : points) {
    const double one = point["one"];
    const double other = point["other"];
    if (one >= kWorst || other >= below) continue;
    sum += (kWorst - one) * (below - other);
    below = other;
  }
  return sum;
}

std::string with_seed(std::string text, int seed) {
  return text.replace(text.find("SEED"), 4, std::to_string(seed));
}

TEST_F(SearchCli, FindsAFrontInAThirdOfTheGrid) {
  if (!kHasSearch) GTEST_SKIP() << kWithoutSearch;
  json whole = json::array();
  for (int x = 0; x < 24; ++x) whole.push_back({{"one", x}, {"other", 23 - x}});
  write_study(with_seed(kFront, 1));
  const json told = weft_json("sweep ../s.json --db s.db");
  EXPECT_LE(told["done"], 96);
  EXPECT_EQ(told["equal"], 0);
  const json front = weft_json("study s.db --pareto one,other")["rows"];
  EXPECT_GE(volume(front), 0.95 * volume(whole)) << front;
  // The same search once more finds all that it asks for.
  const std::string before = stored("s.db");
  const json again = weft_json("sweep ../s.json --db s.db");
  EXPECT_EQ(again["done"], 0);
  EXPECT_EQ(again["before"], told["done"]);
  EXPECT_EQ(stored("s.db"), before);
}

/// A search that was ended goes on as if it had not been.
TEST_F(SearchCli, GoesOnAsTheSameSearch) {
  if (!kHasSearch) GTEST_SKIP() << kWithoutSearch;
  std::string shorter = with_seed(kFront, 3);
  shorter.replace(shorter.find("96"), 2, "40");
  write_study(shorter);
  ASSERT_EQ(weft("sweep ../s.json --db whole.db").code, 0);
  EXPECT_EQ(query("whole.db", "SELECT count(*) FROM points"), "40\n");
  run("timeout -s KILL 0.7 " WEFT_BINARY " sweep ../s.json --db s.db --jobs 1");
  ASSERT_EQ(weft("sweep ../s.json --db s.db").code, 0);
  EXPECT_EQ(stored("s.db"), stored("whole.db"));
}

TEST_F(SearchCli, OtherMethodsRun) {
  if (!kHasSearch) GTEST_SKIP() << kWithoutSearch;
  for (const char* const method : {"moead", "sga", "de", "annealing"}) {
    SCOPED_TRACE(method);
    const std::string goals = method == std::string("moead") ? R"("us", "one", "less")" : R"("one")";
    write_study(R"({"axes": {"fabric.link.rate": {"from": "100Gbps", "to": "400Gbps"}},
      "values": {"x": {"from": 0, "to": 9}}, "metrics": {"us": "rows.0.time_us", "one": "us + x", "less": "9 - x"},
      "search": {"minimise": [)" +
                goals + R"(], "evaluations": 20, "population": 8, "method": ")" + method + "\"}}");
    const json told = weft_json(std::string("sweep ../s.json --db ") + method + ".db");
    const int all = told["done"].get<int>() + told["equal"].get<int>();
    EXPECT_EQ(all, 20) << "which it has, since it begins anew where it finds nothing";
  }
}

/// A search goes on to points that it does not have, and says how often it asked.
TEST_F(SearchCli, EvaluationsAreDifferentPoints) {
  if (!kHasSearch) GTEST_SKIP() << kWithoutSearch;
  for (const char* const method : {"sga", "de", "annealing"}) {
    SCOPED_TRACE(method);
    write_study(R"({"values": {"x": {"from": 0, "to": 199}}, "metrics": {"us": "rows.0.time_us", "far": "x"},
        "search": {"minimise": ["far"], "evaluations": 120, "population": 8, "method": ")" +
                std::string(method) + "\"}}");
    const json told = weft_json(std::string("sweep ../s.json --db ") + method + ".db");
    EXPECT_EQ(told["points"], 120);
    EXPECT_GE(told["asked"], 120);
  }
  // All that there is, and no more.
  write_study(R"({"values": {"x": {"from": 0, "to": 29}}, "metrics": {"us": "rows.0.time_us", "far": "x"},
      "search": {"minimise": ["far"], "evaluations": 100, "population": 8}})");
  const Ran ran = weft("sweep ../s.json --db few.db");
  EXPECT_NE(ran.out.find(" points, of which 30 are different; it found no more, of at most 100\n"), std::string::npos)
      << ran.out;
}

/// Where no point meets the constraints, nothing is written.
TEST_F(SearchCli, ConstraintsThatNothingMeetsAreRefused) {
  for (const char* const method : {"grid", "sga"}) {
    if (!kHasSearch && method == std::string("sga")) continue;
    expect_study_refused(
        std::string(R"({"values": {"x": [1, 2]}, "constraints": ["x > 5"],
        "search": {"minimise": ["us"], "method": ")") +
            method + "\"}}",
        method == std::string("grid")
            ? "s.json: constraints: expected at least one point that meets them, got none of 2 that were tried"
            : "s.json: constraints: expected at least one point that meets them, got none of 1000");
  }
}

/// Without a method, of one metric too.
TEST_F(SearchCli, HasAMethodForAnyNumberOfMetrics) {
  if (!kHasSearch) GTEST_SKIP() << kWithoutSearch;
  const std::string members = R"("values": {"x": {"from": 0, "to": 40}},
      "metrics": {"us": "rows.0.time_us", "far": "(x - 30)^2", "x2": "x * 2"}, )";
  write_study("{" + members + R"("search": {"minimise": ["far"], "evaluations": 40, "population": 12}})");
  EXPECT_EQ(weft_json("sweep ../s.json --db s.db --dry-run")["method"], "sga");
  const Ran told = weft("sweep ../s.json --db s.db --dry-run");
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(told.out,
            "s: a search for the least far\n  method: sga\n  variables: x\n  at most 40 evaluations, in generations of "
            "12, seed 1\nnothing was simulated\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work" / "s.db"));
  EXPECT_GT(weft_json("sweep ../s.json --db s.db")["points"], 12);
  EXPECT_LE(weft_json("study s.db --best far")["rows"][0]["far"], 25);
  write_study("{" + members + R"("search": {"minimise": ["far"], "maximise": ["x2"]}})");
  EXPECT_EQ(weft_json("sweep ../s.json --dry-run")["method"], "nsga2");
  // Its file is checked as that of a study whose points are known.
  write_study("{" + members + R"("axes": {"sed": [1]}, "search": {"minimise": ["far"]}})");
  const Ran wrong = weft("sweep ../s.json --dry-run");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("s.json: axes.sed: expected a known key"), std::string::npos) << wrong.err;
}

/// Each step simulates the best of the step before, and the last is what counts.
TEST_F(SearchCli, HalvesByFidelity) {
  write_study(R"({"axes": {"fabric.link.rate": ["100Gbps", "200Gbps", "300Gbps", "400Gbps"], "seed": [1, 2]},
      "metrics": {"us": "rows.0.time_us"},
      "search": {"minimise": ["us"], "method": "grid"},
      "fidelity": [{"set": {"collective.bytes": "1KiB"}, "keep": 0.5}, {"set": {"collective.bytes": "64KiB"}, "keep": 0.5},
                   {"set": {"collective.bytes": "1MiB"}}]})");
  EXPECT_EQ(weft_json("sweep ../s.json --db s.db")["done"], 8 + 4 + 2);
  EXPECT_EQ(query("s.db",
                  "SELECT json_extract(parameters, '$.\"fabric.link.rate\"') FROM points WHERE "
                  "json_extract(parameters, '$.fidelity')=2"),
            "400Gbps\n400Gbps\n");
  EXPECT_EQ(weft_json("study s.db --best us")["rows"].size(), 2U);
  EXPECT_EQ(weft_json("study s.db --all-fidelities")["rows"].size(), 14U);
  // Each step is ranked for itself.
  const json all = weft_json("study s.db --best us --all-fidelities")["rows"];
  ASSERT_EQ(all.size(), 14U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i - 1]["fidelity"], all[i]["fidelity"]);
    if (all[i - 1]["fidelity"] == all[i]["fidelity"]) {
      EXPECT_LE(all[i - 1]["us"], all[i]["us"]);
    }
  }
  const std::string text = weft("study s.db --pareto us --all-fidelities").out;
  for (const char* const head : {"fidelity 0, 8 points\n", "\nfidelity 1, 4 points\n", "\nfidelity 2, 2 points\n"}) {
    EXPECT_NE(text.find(head), std::string::npos) << text;
  }
  const json groups = weft_json("study s.db --group-by seed --all-fidelities")["rows"];
  EXPECT_EQ(groups[0]["points"], 4);
  EXPECT_EQ(groups[0]["fidelity"], 0);
}

/// Points that a step keeps of several metrics are spread over the front, whichever metric is named first.
TEST_F(SearchCli, WhatIsKeptOfAFrontIsSpreadOverIt) {
  const auto kept = [this](const char* goals) {
    write_study(std::string(R"({"values": {"x": [1, 2, 3, 4, 5, 6, 7, 8], "twin": [0, 1], "y": [0, 1]},
        "metrics": {"us": "rows.0.time_us", "one": "x + 100 * y", "other": "9 - x + 100 * y"},
        "search": {"minimise": [)") +
                goals + R"(], "method": "grid"}, "fidelity": [{"keep": 0.125}, {"set": {"seed": 2}}]})");
    std::filesystem::remove(folder_ / "work" / "s.db");
    EXPECT_EQ(weft("sweep ../s.json --db s.db --jobs 1").code, 0);
    return query("s.db",
                 "SELECT group_concat(x, ' ') FROM (SELECT json_extract(parameters, '$.x') AS x FROM points "
                 "WHERE json_extract(parameters, '$.fidelity')=1 ORDER BY x)");
  };
  // Four of 32: of the front of eight both ends and two between them, none of them twice.
  const std::string forth = kept(R"("one", "other")");
  EXPECT_EQ(forth, "1 4 6 8\n");
  EXPECT_EQ(kept(R"("other", "one")"), forth);
}

/// What a study requires of results counts in a search, too.
TEST_F(SearchCli, WhatIsRequiredIsWhatIsKept) {
  write_study(
      R"({"values": {"x": [1, 2, 3, 4, 5, 6, 7, 8]}, "metrics": {"us": "rows.0.time_us", "cost": "x", "slow": "9 - x"},
      "require": ["slow < 6"], "search": {"minimise": ["cost"], "method": "grid"},
      "fidelity": [{"keep": 0.25}, {"set": {"seed": 2}}]})");
  ASSERT_EQ(weft("sweep ../s.json --db s.db --jobs 1").code, 0);
  EXPECT_EQ(query("s.db",
                  "SELECT json_extract(parameters, '$.x') FROM points WHERE json_extract(parameters, '$.fidelity')=1 "
                  "ORDER BY 1"),
            "4\n5\n");
}

/// Rough points are not shown for those of the last step where the sweep has not come so far.
TEST_F(SearchCli, AnUnfinishedHalvingSaysHowFarItIs) {
  write_study(
      R"({"axes": {"seed": {"from": 1, "to": 400, "steps": 400}}, "collective": {"op": "all_reduce", "bytes": "1MiB"},
      "search": {"minimise": ["us"], "method": "grid"}, "fidelity": [{"keep": 0.5}, {"set": {"collective.type": "bf16"}}]})");
  const pid_t sweep = start({WEFT_BINARY, "sweep", "../s.json", "--db", "s.db", "--jobs", "1"});
  const auto has_points = [this] {
    return std::filesystem::exists(folder_ / "work" / "s.db") &&
           query("s.db", "SELECT name FROM sqlite_master WHERE name='points'") != "" &&
           query("s.db", "SELECT count(*) FROM points") != "0\n";
  };
  for (int i = 0; i < 1000 && !has_points(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(-sweep, SIGKILL);
  int status = 0;
  waitpid(sweep, &status, 0);
  const json told = weft_json("study s.db --best us")["unfinished"];
  EXPECT_EQ(told["of"], 400);
  EXPECT_EQ(told["step"], 1);
  EXPECT_EQ(told["steps"], 2);
  EXPECT_EQ(told["missing"].get<int>() + told["points"].get<int>(), 400);
  EXPECT_NE(weft("study s.db").out.find("unfinished: step 1 of 2: "), std::string::npos);
}

class MpiCli : public test::StudyCli {
 protected:
  /// Open MPI does not give back all it has taken, which is not ours to check.
  static constexpr const char* kEnvironment =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" ";
  Ran mpirun(const std::string& within, const std::string& arguments) {
    return run(kEnvironment + within + " mpirun --oversubscribe -n " + arguments);
  }

  void SetUp() override {
    if (!kHasMpi || run("command -v mpirun").code != 0) GTEST_SKIP() << kWithoutMpi;
  }
};

TEST_F(MpiCli, ADatabaseIsThatOfOneMachine) {
  write_study(R"({"axes": {"seed": {"from": 1, "to": 12, "steps": 12}, "fabric.hosts_per_leaf": [2, 3]}})");
  ASSERT_EQ(weft("sweep ../s.json --db whole.db").code, 0);
  const Ran ran = mpirun("timeout 120", "3 " WEFT_BINARY " sweep ../s.json --db s.db");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(stored("s.db"), stored("whole.db"));
  const Ran wrong = mpirun("timeout 120", "2 " WEFT_BINARY " sweep ../none.json");
  EXPECT_NE(wrong.code, 0);
  EXPECT_NE(wrong.err.find("none.json"), std::string::npos) << wrong.err;
}

/// A dealer that ends while others still simulate ends them, with its message: what they answer is longer than what MPI
/// keeps, so that they wait for somebody to take it.
TEST_F(MpiCli, ADatabaseThatCannotBeWrittenEndsAll) {
  write_study(R"({"axes": {"seed": {"from": 1, "to": 4000, "steps": 4000}},
      "collective": {"op": "all_reduce", "bytes": "4KiB:64KiB:x2"}})");
  const pid_t all = start({"sh", "-c",
                           std::string(kEnvironment) + "exec mpirun --oversubscribe -n 4 " WEFT_BINARY
                                                       " sweep ../s.json --db s.db 2> err"});
  const auto count = [this] {
    if (!std::filesystem::exists(folder_ / "work" / "s.db")) return 0;
    if (query("s.db", "SELECT name FROM sqlite_master WHERE name='points'").empty()) return 0;
    return std::atoi(query("s.db", "SELECT count(*) FROM points").c_str());
  };
  const auto wait_until = [](const auto& is_so) {
    for (int i = 0; i < 1000; ++i) {
      if (is_so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    return false;
  };
  EXPECT_TRUE(wait_until([&] { return count() > 0; }));
  // No file of the dealer may grow any more.
  for (const pid_t rank : children_of(all)) {
    const std::string environment = test::read_file("/proc/" + std::to_string(rank) + "/environ");
    if (environment.find(std::string("\0OMPI_COMM_WORLD_RANK=0\0", 24)) == std::string::npos) continue;
    const rlimit least{4096, 4096};
    EXPECT_EQ(prlimit(rank, RLIMIT_FSIZE, &least, nullptr), 0);
  }
  int status = 0;
  const bool has_ended = wait_until([&] { return waitpid(all, &status, WNOHANG) == all; });
  EXPECT_TRUE(has_ended);
  if (!has_ended) {
    kill(-all, SIGKILL);
    waitpid(all, &status, 0);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  const std::string error = test::read_file(folder_ / "work" / "err");
  EXPECT_NE(error.find("weft: s.db: cannot be written: disk I/O error; the points that are done so far are stored"),
            std::string::npos)
      << error;
}

/// The dealer, workers, or mpirun itself: mpirun ends the others when one is gone.
TEST_F(MpiCli, KilledItGoesOn) {
  write_study(R"({"axes": {"seed": {"from": 1, "to": 60, "steps": 60}, "fabric.hosts_per_leaf": [2, 3]}})");
  ASSERT_EQ(weft("sweep ../s.json --db whole.db --jobs 2").code, 0);
  const std::string whole = stored("whole.db");
  std::srand(static_cast<unsigned>(getpid()));
  for (int i = 0; i < kills(1); ++i) {
    SCOPED_TRACE(i);
    std::filesystem::remove(folder_ / "work" / "s.db");
    const pid_t all = start({"env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun",
                             "--oversubscribe", "-n", "3", WEFT_BINARY, "sweep", "../s.json", "--db", "s.db"});
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + std::rand() % 600));
    // It ends the others when one is gone.
    std::vector<pid_t> mine = children_of(all);
    mine.push_back(all);
    kill(mine[static_cast<std::size_t>(std::rand()) % mine.size()], SIGKILL);
    int status = 0;
    waitpid(all, &status, 0);
    Ran ran{};
    // What mpirun had started ends some moments after it.
    for (int again = 0; again < 50; ++again) {
      ran = mpirun("timeout 120", "3 " WEFT_BINARY " sweep ../s.json --db s.db");
      if (ran.code == 0) break;
      run("sleep 0.2");
    }
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(stored("s.db"), whole);
  }
}

}  // namespace
}  // namespace weft
