// SPDX-License-Identifier: Apache-2.0
#include "traces/published_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::traces {
namespace {

constexpr const char* kHeader = "suite,platform,arguments,metric,published,unit,tolerance,source\n";

std::vector<PublishedRow> rows_of(const std::string& lines) {
  return read_published(CsvTable::parse(kHeader + lines, "p.csv"));
}

std::string error_of(const std::string& lines) {
  try {
    rows_of(lines);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

/// Pass, fail, reported and broken, in two suites.
std::vector<PublishedResult> some_results() {
  const auto rows = rows_of(
      "nccl,dgx.json,--op all_reduce,rows[0].time_us,20,us,10%,NVIDIA\n"
      "nccl,dgx.json,--op a|b,rows[1].time_us,40,us,0.5us,NVIDIA\n"
      "fsdp,pod.json,,step.tokens,5762,,-,torchtitan\n"
      "fsdp,pod.json,,step.speed,1,,1%,torchtitan\n");
  return {evaluate(rows[0], 21), evaluate(rows[1], 38), evaluate(rows[2], 6000), broken(rows[3], "no 'speed'")};
}

TEST(PublishedTable, ReadsRows) {
  const auto rows = rows_of(
      "# a comment\nnccl,dgx.json,\"--op all_reduce, x\",rows[bytes=8].time_us,13.67,us,10%,NVIDIA\n"
      "nccl,dgx.json,,t,1.5,us,0.5 us,NVIDIA\nnccl,dgx.json,,t,0,,0.25,NVIDIA\nnccl,dgx.json,,t,2,us,-,NVIDIA\n"
      "nccl,dgx.json,,t,2,us,,NVIDIA\n");
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].file, "p.csv");
  EXPECT_EQ(rows[0].line, 3);
  EXPECT_EQ(rows[0].arguments, "--op all_reduce, x");
  EXPECT_EQ(rows[0].metric, "rows[bytes=8].time_us");
  EXPECT_EQ(rows[0].published, 13.67);
  EXPECT_EQ(rows[0].tolerance.kind, Tolerance::Kind::kRelative);
  EXPECT_DOUBLE_EQ(rows[0].tolerance.value, 0.1);
  EXPECT_EQ(rows[1].tolerance.kind, Tolerance::Kind::kAbsolute);
  EXPECT_EQ(rows[1].tolerance.value, 0.5);
  EXPECT_EQ(rows[2].tolerance.kind, Tolerance::Kind::kAbsolute);
  EXPECT_EQ(rows[3].tolerance.kind, Tolerance::Kind::kReportOnly);
  EXPECT_EQ(rows[4].tolerance.kind, Tolerance::Kind::kReportOnly);
}

TEST(PublishedTable, ReadsRatiosOfRuns) {
  const auto rows = rows_of("s,p,run --a over run --b,tokens_per_s,1.2,,1%,src\n");
  EXPECT_TRUE(rows[0].is_ratio());
  EXPECT_EQ(rows[0].command_lines(), (std::vector<std::string>{"run --a", "run --b"}));
  EXPECT_FALSE(rows_of("s,p,run --x less run,a.b,1,us,-,src\n")[0].is_ratio());
  EXPECT_EQ(error_of("s,p,a over b over c,m,1,,1%,src\n"),
            "p.csv:2: column 'arguments': expected a command, or one less or over another, got 'a over b over c'");
  EXPECT_EQ(error_of("s,p,a over b,time_us,1,us,1%,src\n"),
            "p.csv:2: column 'unit': expected none, since one run over another has none, got 'us'");
}

TEST(PublishedTable, ReadsDifferencesOfRunsAndSumsOfValues) {
  const auto rows = rows_of("s,p,run --x less run,a.b + a.c,1,us,-,src\ns,p,run,a.b,1,us,-,src\n");
  EXPECT_EQ(rows[0].command_lines(), (std::vector<std::string>{"run --x", "run"}));
  ASSERT_EQ(rows[0].terms().size(), 2U);
  EXPECT_EQ(rows[0].terms()[0].path, "a.b");
  EXPECT_EQ(rows[0].terms()[1].path, "a.c");
  EXPECT_EQ(rows[1].command_lines(), std::vector<std::string>{"run"});
  ASSERT_EQ(rows[1].terms().size(), 1U);
  EXPECT_EQ(rows[1].terms()[0].path, "a.b");
}

TEST(PublishedTable, ReadsTermsThatAreTakenOffAndValues) {
  const auto terms = rows_of("s,p,run,a.b - a.c + 2.5us - 1us,1,us,-,src\n")[0].terms();
  ASSERT_EQ(terms.size(), 4U);
  EXPECT_EQ(terms[0].sign, 1);
  EXPECT_EQ(terms[1].path, "a.c");
  EXPECT_EQ(terms[1].sign, -1);
  EXPECT_EQ(terms[2].path, "");
  EXPECT_EQ(terms[2].value, 2.5);
  EXPECT_EQ(terms[2].sign, 1);
  EXPECT_EQ(terms[3].value, 1);
  EXPECT_EQ(terms[3].sign, -1);
  // A value in another unit is the name of a result, which no run has.
  EXPECT_EQ(rows_of("s,p,run,a + 2ms,1,us,-,src\n")[0].terms()[1].path, "2ms");
}

TEST(PublishedTable, ConvertsToTheRowsUnit) {
  const auto factor = [](const std::string& metric, const std::string& unit) {
    return rows_of("s,p,run," + metric + ",1," + unit + ",-,src\n")[0].in_unit(metric, 1);
  };
  EXPECT_DOUBLE_EQ(factor("rows[0].time_us", "ms"), 1e-3);
  EXPECT_DOUBLE_EQ(factor("rows[0].time_us", "ns"), 1e3);
  EXPECT_EQ(factor("rows[0].time_us", "us"), 1);
  EXPECT_DOUBLE_EQ(factor("breakdown_us.total", "s"), 1e-6);
  EXPECT_EQ(factor("rows[0].busbw", "GB/s"), 1);
  EXPECT_DOUBLE_EQ(factor("rows[0].busbw", "Gb/s"), 8);
  EXPECT_DOUBLE_EQ(factor("power_w", "kW"), 1e-3);
  EXPECT_DOUBLE_EQ(factor("tflops", "GFLOPS"), 1e3);
  // What says no unit, or one that is not known, stays.
  EXPECT_EQ(factor("tokens_per_s", "s"), 1);
  EXPECT_EQ(factor("share", "%"), 1);
  EXPECT_EQ(factor("time_us", "cycles"), 1);
  EXPECT_EQ(factor("breakdown_us.count", ""), 1);
}

TEST(PublishedTable, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("s,p,run,rows[0].time_us,1,W,-,src\n"),
            "p.csv:2: column 'unit': expected a unit of rows[0].time_us, one of ps, ns, us, ms, s, got 'W'");
  EXPECT_EQ(error_of(""), "p.csv:1: expected a measurement below the names of the columns, found none");
  EXPECT_EQ(error_of("s,p,a less b less c,m,1,us,1%,src\n"),
            "p.csv:2: column 'arguments': expected a command, or one less or over another, got 'a less b less c'");
  EXPECT_EQ(error_of("s,p,a over b less c,m,1,us,1%,src\n"),
            "p.csv:2: column 'arguments': expected a command, or one less or over another, got 'a over b less c'");
  EXPECT_EQ(error_of("s,p,,m,x,us,1%,src\n"), "p.csv:2: column 'published': expected a number, got 'x'");
  EXPECT_EQ(error_of("s,p,,m,1,us,1ms,src\n"),
            "p.csv:2: column 'tolerance': expected a tolerance such as 10%, 0.5us or -, got '1ms'");
  EXPECT_EQ(error_of("s,p,,m,1,us,-1%,src\n"),
            "p.csv:2: column 'tolerance': expected a tolerance such as 10%, 0.5us or -, got '-1%'");
  EXPECT_EQ(error_of("s,p,,m,1,us,tight,src\n"),
            "p.csv:2: column 'tolerance': expected a tolerance such as 10%, 0.5us or -, got 'tight'");
  EXPECT_EQ(error_of("s,p,,m,0,us,1%,src\n"),
            "p.csv:2: column 'tolerance': expected an absolute tolerance, because the published value is 0, got '1%'");
  EXPECT_EQ(error_of(",p,,m,1,us,1%,src\n"), "p.csv:2: column 'suite': expected a text, got ''");
  EXPECT_EQ(error_of("s,,,m,1,us,1%,src\n"), "p.csv:2: column 'platform': expected a text, got ''");
  EXPECT_EQ(error_of("s,p,,,1,us,1%,src\n"), "p.csv:2: column 'metric': expected a text, got ''");
  EXPECT_EQ(error_of("s,p,,m,1,us,1%,\n"), "p.csv:2: column 'source': expected a text, got ''");
  EXPECT_THROW(read_published(CsvTable::parse("suite,platform\n", "p.csv")), FormatError);
  EXPECT_THROW(read_published("/nowhere/p.csv"), FormatError);
}

TEST(PublishedTable, JudgesByTolerance) {
  const auto rows = rows_of("s,p,,m,20,us,10%,x\ns,p,,m,20,us,0.5us,x\ns,p,,m,20,us,-,x\ns,p,,m,-4,,50%,x\n");
  EXPECT_EQ(evaluate(rows[0], 22).verdict, Verdict::kPass);
  EXPECT_EQ(evaluate(rows[0], 18).verdict, Verdict::kPass);
  EXPECT_EQ(evaluate(rows[0], 22.01).verdict, Verdict::kFail);
  EXPECT_EQ(evaluate(rows[0], 17.99).verdict, Verdict::kFail);
  EXPECT_DOUBLE_EQ(*evaluate(rows[0], 22).relative_error, 0.1);
  EXPECT_EQ(evaluate(rows[1], 20.5).verdict, Verdict::kPass);
  EXPECT_EQ(evaluate(rows[1], 19.4).verdict, Verdict::kFail);
  EXPECT_EQ(evaluate(rows[2], 999).verdict, Verdict::kReported);
  EXPECT_EQ(evaluate(rows[3], -6).verdict, Verdict::kPass);
  EXPECT_DOUBLE_EQ(*evaluate(rows[3], -6).relative_error, -0.5);
  const PublishedResult nan = evaluate(rows[2], std::nan(""));
  EXPECT_EQ(nan.verdict, Verdict::kBroken);
  EXPECT_EQ(nan.message, "the simulated value is not a finite number");
  EXPECT_FALSE(nan.simulated);
}

TEST(PublishedTable, HasNoRelativeErrorOfZero) {
  const PublishedResult result = evaluate(rows_of("s,p,,m,0,us,0.1us,x\n")[0], 0.05);
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_FALSE(result.relative_error);
  const auto sums = statistics({result});
  EXPECT_FALSE(sums[0].mean_error);
  EXPECT_FALSE(sums[0].percentile_95_error);
  EXPECT_FALSE(sums[0].worst_error);
}

TEST(PublishedTable, SumsUpSuites) {
  const auto sums = statistics(some_results());
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].suite, "nccl");
  EXPECT_EQ(sums[0].rows, 2);
  EXPECT_EQ(sums[0].passed, 1);
  EXPECT_EQ(sums[0].failed, 1);
  EXPECT_DOUBLE_EQ(*sums[0].mean_error, 0.0);
  EXPECT_DOUBLE_EQ(*sums[0].mean_absolute_error, 0.05);
  EXPECT_DOUBLE_EQ(std::abs(*sums[0].worst_error), 0.05);
  EXPECT_EQ(sums[1].reported, 1);
  EXPECT_EQ(sums[1].broken, 1);
  EXPECT_DOUBLE_EQ(*sums[1].worst_error, 238.0 / 5762);
  EXPECT_FALSE(all_pass(some_results()));
  EXPECT_TRUE(all_pass({some_results()[0], some_results()[2]}));
  EXPECT_FALSE(all_pass({some_results()[3]}));
  EXPECT_TRUE(all_pass({}));
}

TEST(PublishedTable, HasThePercentileThatFiveOfAHundredExceed) {
  const auto row = rows_of("s,p,,m,100,us,-,x\n")[0];
  std::vector<PublishedResult> results;
  for (int error = 1; error <= 100; ++error)
    results.push_back(evaluate(row, error % 2 == 0 ? 100 + error : 100 - error));
  EXPECT_DOUBLE_EQ(*statistics(results)[0].percentile_95_error, 0.95);
  results.resize(20);  // the 19th of 20
  EXPECT_DOUBLE_EQ(*statistics(results)[0].percentile_95_error, 0.19);
  results.resize(3);
  EXPECT_DOUBLE_EQ(*statistics(results)[0].percentile_95_error, 0.03);
}

TEST(PublishedTable, PrintsText) {
  EXPECT_EQ(to_text(some_results()),
            R"(suite  platform  arguments        metric           published  simulated  error  tolerance
nccl   dgx.json  --op all_reduce  rows[0].time_us  20 us      21 us      +5.0%  10%        pass
nccl   dgx.json  --op a|b         rows[1].time_us  40 us      38 us      -5.0%  0.5us      FAIL
fsdp   pod.json                   step.tokens      5762       6000       +4.1%  -          -
fsdp   pod.json                   step.speed       1          -          -      1%         BROKEN

suite  rows  pass  fail  reported  broken  mean error  mean |error|  95th percentile  worst
nccl   2     1     1     0         0       +0.0%       5.0%          5.0%             -5.0%
fsdp   2     0     0     1         1       +4.1%       4.1%          4.1%             +4.1%

p.csv:5: no 'speed'
)");
}

TEST(PublishedTable, PrintsJson) {
  const auto json = to_json(some_results());
  EXPECT_EQ(json["pass"], false);
  EXPECT_EQ(json["suites"][0]["failed"], 1);
  EXPECT_EQ(json["suites"][1]["mean_error"], 238.0 / 5762);
  EXPECT_EQ(json["suites"][1]["percentile_95_error"], 238.0 / 5762);
  EXPECT_EQ(json["rows"].size(), 4u);
  EXPECT_EQ(json["rows"][0]["verdict"], "pass");
  EXPECT_EQ(json["rows"][0]["error"], 0.05);
  EXPECT_EQ(json["rows"][1]["verdict"], "fail");
  EXPECT_EQ(json["rows"][2]["verdict"], "reported");
  EXPECT_EQ(json["rows"][3]["verdict"], "broken");
  EXPECT_TRUE(json["rows"][3]["simulated"].is_null());
  EXPECT_EQ(json["rows"][3]["message"], "no 'speed'");
  EXPECT_TRUE(to_json({})["rows"].is_array());
  EXPECT_TRUE(to_json({})["pass"]);
}

}  // namespace
}  // namespace weft::traces
