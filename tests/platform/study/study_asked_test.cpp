// SPDX-License-Identifier: Apache-2.0
// Expressions over points: what --where, require and derived values ask, and parts of many numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "platforms/study/points.h"
#include "platforms/study/progress.h"
#include "tests/platform/study/study_cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

using StudyAsked = test::StudyCli;

/// A value is in one part, so that pairs compare equal sets.
TEST_F(StudyAsked, ManyNumbersAreCutBetweenThem) {
  write_study(
      R"j({"values": {"a": {"from": 1, "to": 13, "steps": 13}, "b": [0, 1, 2]}, "metrics": {"m": "a * 0 + b"}})j",
      "p.json");
  ASSERT_EQ(weft("sweep ../p.json --db p.db").code, 0);
  const json groups = weft_json("study p.db --group-by a")["rows"];
  ASSERT_EQ(groups.size(), 4U) << groups;
  int points = 0;
  for (const json& group : groups) {
    EXPECT_EQ(group["points"].get<int>() % 3, 0) << group;
    EXPECT_EQ(group["m mean"], 1.0) << group;
    points += group["points"].get<int>();
  }
  EXPECT_EQ(points, 39);
  EXPECT_EQ(groups[0]["a"], "1 to 3");
  EXPECT_EQ(groups[1]["a"], "4 to 6");
  const json lines = weft_json("study p.db --sensitivity m")["rows"];
  EXPECT_EQ(lines[1]["parameter"], "a");
  EXPECT_EQ(lines[1]["m changes by %"], 0.0) << lines;
}

/// What is asked of all points is not answered with one point's number.
TEST_F(StudyAsked, WhereKnowsTheBestOfAllPoints) {
  write_study(R"j({"axes": {"collective.bytes": ["64KiB", "1MiB"]}, "values": {"x": [1, 2, 3]},
      "constraints": ["collective.bytes > 65536 || x < 3"],
      "metrics": {"us": "rows.0.time_us * x", "price": "1000 * x + collective.bytes / 1024", "by": "rows.0.algorithm"}})j");
  ASSERT_EQ(weft("sweep ../s.json --db s.db").code, 0);
  const json all = weft_json("study s.db --best us")["rows"];
  ASSERT_EQ(all.size(), 5U);
  const double mean = std::accumulate(all.begin(), all.end(), 0.0,
                                      [](double sum, const json& row) { return sum + row["price"].get<double>() / 5; });
  const double best = all[0]["us"];
  const double most = all.back()["us"];
  const auto count = [this](const std::string& where) {
    return weft_json("study s.db --where '" + where + "'")["rows"].size();
  };
  EXPECT_EQ(count("us <= best(us)"), 1U);
  EXPECT_EQ(count("us > 1.0001 * least( us )"), 4U);
  EXPECT_EQ(count("us >= largest(us)"), 1U);
  EXPECT_EQ(count(json(best).dump() + " == best(us) && largest(us) == " + json(most).dump()), 5U);
  const auto below =
      std::count_if(all.begin(), all.end(), [mean](const json& row) { return row["price"].get<double>() < mean; });
  EXPECT_EQ(count("price < mean(price)"), static_cast<std::size_t>(below));
  const struct {
    const char* where;
    const char* message;
  } kBad[] = {
      {"us <= 1.05 * min(us)",
       "--where: expected best(NAME), least(NAME), largest(NAME) or mean(NAME), which are of all points, got "
       "\"min(us)\", which is of one number"},
      {"us <= best(usx)", "--where: in best(): expected "},
      {"us <= best(by)", "--where: in best(): expected a metric or a parameter of which points have numbers"},
      {"0 / 0", "got \"0 / 0\", which has no finite value at 5 points"},
  };
  for (const auto& bad : kBad) {
    const Ran ran = weft(std::string("study s.db --where '") + bad.where + "'");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(bad.message), std::string::npos) << ran.err;
  }
  EXPECT_EQ(count("min(us, price) > 0"), 5U);
  const Ran some = weft("study s.db --best us --where 'us / (collective.bytes > 65536)'");
  EXPECT_NE(some.out.find("left out, without a value of --where: 2 points\n"), std::string::npos) << some.out;
}

/// A requirement is of results: its points are simulated and shown, and are never the best.
TEST_F(StudyAsked, RequireKeepsPointsOffTheFront) {
  write_study(
      R"j({"values": {"x": [1, 2, 3, 4], "most": 10}, "metrics": {"us": "rows.0.time_us", "cost": "x", "speed": "6 - x"},
      "require": ["speed * 2 < most - 1", "us > 0"]})j",
      "r.json");
  ASSERT_EQ(weft("sweep ../r.json --db r.db").code, 0);
  const json best = weft_json("study r.db --best cost");
  ASSERT_EQ(best["rows"].size(), 3U);
  EXPECT_EQ(best["rows"][0]["x"], 2);
  EXPECT_EQ(best["notes"][1], "left out, without what the study requires: 1 point");
  EXPECT_EQ(weft_json("study r.db --pareto cost,speed:max")["rows"].size(), 1U);
  EXPECT_EQ(weft_json("study r.db --where 'cost == best(cost)'")["rows"][0]["cost"], 2.0);
  const json all = weft_json("study r.db")["rows"];
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0]["require"], "not met");
  EXPECT_EQ(all[1]["require"], "met");
  ASSERT_EQ(weft("study r.db --html r.html").code, 0);
  EXPECT_NE(test::read_file(folder_ / "work" / "r.html").find("1 of them do not meet what the study requires"),
            std::string::npos);
  for (const auto& [require, message] :
       {std::pair(R"("accelerators > 1")", "require.0: expected a metric, an axis or a value of the study, got \"acc"),
        std::pair(R"("us >")", "require.0: expected an expression"),
        std::pair(R"x("us < 2 * min(us)")x", "require.0: expected two values or more in min()"),
        std::pair(R"x("us < 2 * best( us )")x",
                  "require.0: expected an expression of one point alone, got \"best(us)\", which is of all points")}) {
    write_study(std::string(R"({"require": [)") + require + "]}", "bad.json");
    const Ran ran = weft("sweep ../bad.json");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  }
}

TEST_F(StudyAsked, ARequirementThatNoPointMeetsIsSaid) {
  write_study(R"({"axes": {"seed": [1, 2]}, "metrics": {"alg": "rows.0.algorithm", "us": "rows.0.time_us"},
              "require": ["alg < 3", "us > 0"]})");
  const std::string said =
      "require.0: expected a number or a quantity at alg, got \"ring\"\nno point meets what the study requires\n";
  const Ran swept = weft("sweep ../s.json --db s.db");
  EXPECT_NE(swept.out.find(said), std::string::npos) << swept.out;
  const Ran shown = weft("study s.db --best us");
  EXPECT_NE(shown.out.find(said), std::string::npos) << shown.out;
  const Ran ran = weft("study s.db --where 'us <= best(us)'");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: --where: in best(): expected a point that meets what the study requires, got none\n");
  EXPECT_EQ(weft_json("study s.db --where 'alg != \"best(us)\"'")["rows"].size(), 2U);
}

/// Whatever else follows from a value that cannot be read, the value is to blame.
TEST_F(StudyAsked, AGivenValueIsBlamedBeforeADerivedOne) {
  write_study(R"({"axes": {"fabric.link.rate": {"from": 200, "to": 400, "steps": 3}},
              "derived": {"nic.context_cache": "fabric.link.rate * 1e12"}})");
  const Ran ran = weft("sweep ../s.json --db s.db");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.err.find("axes.fabric.link.rate: expected a rate") != std::string::npos) << ran.err;
}

/// A part of a range that the unit can say exactly is rounded all the same where nobody would write it.
TEST_F(StudyAsked, PartsOfARangeAreShort) {
  write_study(R"({"axes": {"fabric.link.rate": {"from": "100Gbps", "to": "411.7Gbps", "steps": 30}}})");
  const json points = weft_json("sweep ../s.json --db s.db --dry-run")["points"];
  ASSERT_EQ(points.size(), 30U);
  EXPECT_EQ(points[14]["parameters"]["fabric.link.rate"], "250500Mbps");
}

/// The last step is under way and has no point: what is shown is of the step before.
TEST(StudyProgress, ALastStepWithoutPointsHasNotBegun) {
  const json stored = study::to_json(study::Progress{.points = 3, .step = 1, .steps = 2, .evaluations = 0});
  std::vector<study::Row> rows(6);
  for (study::Row& row : rows) row.values[study::kFidelity] = 0;
  EXPECT_EQ(study::unfinished(stored, rows).text,
            "step 2 of 2: 0 of 3 points; 3 not simulated yet; the last step, whose points count, has not begun");
  rows.emplace_back().values[study::kFidelity] = 1;
  EXPECT_EQ(study::unfinished(stored, rows).text, "step 2 of 2: 1 of 3 points; 2 not simulated yet");
}

/// What no table could show is refused by what is wrong with it.
TEST_F(StudyAsked, OnlyNumbersAreBest) {
  write_study(R"({"axes": {"seed": [1, 2]}, "metrics": {"alg": "rows.0.algorithm", "us": "rows.0.time_us"}})");
  ASSERT_EQ(weft("sweep ../s.json --db s.db").code, 0);
  for (const char* const action : {"--best", "--pareto", "--sensitivity"}) {
    const Ran ran = weft(std::string("study s.db ") + action + " alg");
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, std::string("weft: ") + action +
                           ": expected a metric with numbers, got \"alg\", whose values are texts\n");
  }
  write_study(R"({"axes": {"fabric.hosts_per_leaf": [3, 5]}})", "f.json");
  EXPECT_EQ(weft("sweep ../f.json --db f.db").code, 1);
  const Ran ran = weft("study f.db --best us");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: --best: expected points that are done, got 2 that failed; --failed shows why\n");
}

/// weft study stores nothing, and does not say so.
TEST_F(StudyAsked, WhatCannotBeReadIsSaidByWhatItIs) {
  write("work/empty.db", "");
  Ran ran = weft("study empty.db");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "weft: empty.db: expected a database of weft sweep, got an empty file, which weft sweep would fill\n");
  write_study(R"({"axes": {"seed": [1]}})");
  ASSERT_EQ(weft("sweep ../s.json --db s.db").code, 0);
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ / "work" / "s.db").c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  ran = weft("study s.db");
  sqlite3_close(handle);
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "weft: s.db: another program has it locked for more than 10 s\n");
}

/// A mistake of writing is where the text has it, or the text is shown as it was read.
TEST_F(StudyAsked, AnExpressionIsShownAsItWasRead) {
  write_study(R"j({"axes": {"seed": [1]}, "metrics": {"x": "(nic == \"none\") + 2 +"}})j");
  const Ran ran = weft("sweep ../s.json");
  EXPECT_NE(ran.err.find("metrics.x: expected an expression, got \"(nic == \"none\") + 2 +\", read as \"("),
            std::string::npos)
      << ran.err;
}

/// An expression without a value at a point fails that point alone.
TEST_F(StudyAsked, APointWithoutAValueFailsAlone) {
  write_study(R"j({"values": {"k": [0, 4], "n": [0, 1]}, "derived": {"fabric.link.rate": "4e11 / k"},
      "constraints": ["2 / n"]})j",
              "u.json");
  const json told = weft_json("sweep ../u.json --db u.db");
  EXPECT_EQ(told["points"], 4);
  EXPECT_EQ(told["failed"], 3);
  EXPECT_EQ(query("u.db", "SELECT DISTINCT error FROM points WHERE status='failed' ORDER BY error"),
            "../u.json: constraints.0: expected a finite number, got inf of \"2 / n\" with n 0\n"
            "../u.json: derived.fabric.link.rate: expected a finite number, got inf of \"4e11 / k\" with k 0\n");
  EXPECT_EQ(weft_json("sweep ../u.json --db u.db")["before"], 4);
}

}  // namespace
}  // namespace weft
