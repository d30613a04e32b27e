// SPDX-License-Identifier: Apache-2.0
// The pages of weft validate --markdown: what is written by hand stays, and rows of other suites do.
#include "platforms/results/accuracy/accuracy_pages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platforms/results/accuracy/accuracy_plot.h"
#include "traces/csv.h"

namespace weft::platforms {
namespace {

using traces::PublishedResult;

constexpr const char* kHeader = "suite,platform,arguments,metric,published,unit,tolerance,source\n";

std::vector<traces::PublishedRow> rows_of(const std::string& lines) {
  return traces::read_published(traces::CsvTable::parse(kHeader + lines, "p.csv"));
}

/// A pass, a failure and a row without a result.
std::vector<PublishedResult> few() {
  const auto rows = rows_of(
      "nccl,dgx,collective --bytes 1MiB,rows[0].time_us,20,us,10%,NVIDIA\n"
      "nccl,dgx,collective --bytes 1|2,rows[0].time_us,40,us,0.5us,NVIDIA\n"
      "nccl,dgx,collective --bytes 4MiB,rows[0].speed,1,,,OpenXLA\n");
  return {traces::evaluate(rows[0], 21), traces::evaluate(rows[1], 38), traces::broken(rows[2], "no 'speed'")};
}

std::vector<PublishedResult> many(int count) {
  traces::PublishedRow row = rows_of("own,h100,kernel --gemm,t,1,us,,\"mine, 2026\"\n")[0];
  std::vector<PublishedResult> results;
  results.reserve(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    row.arguments = fmt::format("kernel --gemm {}", i);
    row.published = i;
    results.push_back(traces::evaluate(row, i + 0.001 * i * i));
  }
  return results;
}

int count_of(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(AccuracyPages, ReadingsAreOfTwoParts) {
  const Reading reading =
      Reading::parse("# Rings\n\nMeasured by NCCL.\n\n    # not a heading\n\n## Reading\n\nFast.\n\n## More\n\nEnd.\n");
  EXPECT_EQ(reading.title, "Rings");
  EXPECT_EQ(reading.before, "Measured by NCCL.\n\n    # not a heading");
  EXPECT_EQ(reading.behind, "## Reading\n\nFast.\n\n## More\n\nEnd.");
  EXPECT_EQ(Reading::parse("").title, "");
  EXPECT_EQ(Reading::find("/nowhere/p.csv", "nccl").title, "");
}

TEST(AccuracyPages, APageHasTextsPlotAndRows) {
  EXPECT_EQ(suite_page(few(), Reading::parse("# Rings\n\nBy NCCL.\n\n## Reading\n\nFast.\n"), "").markdown, R"(# Rings

This page is written by `weft validate`. To measure again: `weft validate --suite nccl`.

By NCCL.

| rows | outside tolerance | mean error | mean \|error\| | 95th percentile | worst |
| --- | --- | --- | --- | --- | --- |
| 3 | 1 of 2, 1 without a result | +0.0% | 5.0% | 5.0% | -5.0% |

![Simulated over published values of nccl](nccl.svg)

## Reading

Fast.

## Rows

| # | platform | arguments | metric | published | simulated | error | tolerance |  | source |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 1 | dgx | collective --bytes 1MiB | rows[0].time_us | 20 us | 21 us | +5.0% | 10% | pass | [1] |
| 2 | dgx | collective --bytes 1\|2 | rows[0].time_us | 40 us | 38 us | -5.0% | 0.5us | FAIL | [1] |
| 3 | dgx | collective --bytes 4MiB | rows[0].speed | 1 | no 'speed' | - | - | BROKEN | [2] |

Sources:

1. NVIDIA
2. OpenXLA
)");
  const std::string mine = suite_page(few(), Reading(), "../p.csv").markdown;
  EXPECT_EQ(
      mine.substr(0, mine.find(".\n\n")),
      "# nccl\n\nThis page is written by `weft validate`. To measure again: `weft validate ../p.csv --suite nccl`");
}

TEST(AccuracyPages, LargeValuesHaveNoExponent) {
  const auto row = rows_of("s,p,,m,36790.4,us,,x\n")[0];
  EXPECT_NE(suite_page({traces::evaluate(row, 123456)}, {}, "").markdown.find("| 36790 us | 123500 us |"),
            std::string::npos);
}

TEST(AccuracyPages, LongTablesAreFilesBeside) {
  EXPECT_EQ(suite_page(many(120), {}, "").table, "");
  const SuitePage page = suite_page(many(121), {}, "");
  EXPECT_EQ(count_of(page.table, "\n"), 122);
  EXPECT_NE(page.table.find("\n121,h100,kernel --gemm 121,t,121,135.641,us,0.121,,-,\"mine, 2026\"\n"),
            std::string::npos)
      << page.table.substr(page.table.size() - 200);
  EXPECT_NE(page.markdown.find("The 40 of 121 rows with the largest errors; [own.csv](own.csv) has all of them.\n"),
            std::string::npos);
  EXPECT_EQ(count_of(page.markdown, "| kernel --gemm "), 40);
  EXPECT_EQ(page.markdown.find("| kernel --gemm 81 |"), std::string::npos);
  EXPECT_LT(page.markdown.find("| 82 | h100 | kernel --gemm 82 |"), page.markdown.find("| 121 | h100 |"));
}

TEST(AccuracyPages, FewRowsAreBarsAndManyArePoints) {
  const std::string bars = accuracy_plot(few(), "a & b");
  EXPECT_NE(bars.find(">a &amp; b, with a band of 10 %; red: outside its tolerance</text>"), std::string::npos);
  EXPECT_EQ(count_of(bars, "<circle"), 0);
  // What the rows have in common is not said.
  EXPECT_NE(bars.find(">#1 1MiB rows[0].time_us</text>"), std::string::npos) << bars;
  EXPECT_NE(bars.find(">+5.0%</text>"), std::string::npos);
  EXPECT_NE(bars.find(">-5.0%</text>"), std::string::npos);
  EXPECT_NE(bars.find("fill=\"#d02020\""), std::string::npos) << "a failure is red";

  std::vector<PublishedResult> rows = many(150);
  const std::string points = accuracy_plot(rows, "own");
  EXPECT_EQ(count_of(points, "<circle"), 150);
  EXPECT_NE(points.find(">published, us</text>"), std::string::npos);
  EXPECT_NE(points.find(">simulated, us</text>"), std::string::npos);
  EXPECT_NE(points.find(">100</text>"), std::string::npos) << "a tick";
  EXPECT_NE(points.find(">#150</text>"), std::string::npos) << "the worst";
  EXPECT_EQ(points.find("no place"), std::string::npos);
  EXPECT_EQ(points.find("nan"), std::string::npos);
  EXPECT_EQ(points.find("inf"), std::string::npos);
  rows.push_back(traces::broken(rows[0].row, "no"));
  EXPECT_NE(accuracy_plot(rows, "own").find(">1 of 151 rows have no place on these axes.</text>"), std::string::npos);
}

/// From the smallest numbers to the largest.
TEST(AccuracyPages, PlotsTakeAnyNumbers) {
  std::vector<PublishedResult> rows;
  for (const char* value : {"5e-324", "1e-300", "1", "1.7e308", "1e300", "7", "-3", "0"}) {
    const auto row = rows_of(std::string("s,p,,m,") + value + ",us,,x\n")[0];
    for (const double simulated : {5e-324, 1.0, 1.7e308, -2.0, 0.0}) rows.push_back(traces::evaluate(row, simulated));
  }
  for (const std::string& text : {accuracy_plot(rows, "s"), accuracy_plot({rows.begin(), rows.begin() + 4}, "s")}) {
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_EQ(text.find("inf"), std::string::npos);
    EXPECT_LT(text.size(), 20'000U);
  }
  EXPECT_LT(suite_page(rows, {}, "").markdown.size(), 20'000U);
}

/// One value on all axes: points would lie above each other.
TEST(AccuracyPages, EqualValuesAreBars) {
  std::vector<PublishedResult> rows(8);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = traces::evaluate(rows_of(fmt::format("themis,p{},,u,56,%,,x\n", i))[0], 50 + static_cast<double>(i));
  }
  EXPECT_NE(accuracy_plot(rows, "themis").find(">#8 p7</text>"), std::string::npos);
  const std::string nothing = accuracy_plot({traces::broken(rows[0].row, "no")}, "themis");
  EXPECT_EQ(nothing.find("nan"), std::string::npos);
  EXPECT_NE(nothing.find(">#1</text>"), std::string::npos);
}

TEST(AccuracyPages, ASummaryKeepsRowsOfOtherSuites) {
  const Reading reading = Reading::parse("# Accuracy\n\nErrors.\n\n## Notes\n\nNone.\n");
  const std::vector<PublishedResult> own = many(2);
  const std::string first = accuracy_summary(
      {{traces::statistics(few())[0], Reading::parse("# Rings\n")}, {traces::statistics(own)[0], Reading()}}, reading,
      "");
  EXPECT_EQ(first, R"(# Accuracy

This page is written by `weft validate --markdown`.

Errors.

| suite | compares | rows | outside tolerance | mean error | mean \|error\| | 95th percentile | worst |
| --- | --- | --- | --- | --- | --- | --- | --- |
| [nccl](nccl.md) | Rings | 3 | 1 of 2, 1 without a result | +0.0% | 5.0% | 5.0% | -5.0% |
| [own](own.md) |  | 2 | - | +0.1% | 0.1% | 0.2% | +0.2% |

## Notes

None.
)");
  // The second one is measured again, and a third is new.
  const std::string again =
      accuracy_summary({{traces::statistics(many(10))[0], Reading::parse("# Mine | yours\n")}}, reading, first);
  EXPECT_EQ(count_of(again, "\n| ["), 2);
  EXPECT_NE(again.find("\n| [nccl](nccl.md) | Rings | 3 |"), std::string::npos);
  EXPECT_NE(again.find("\n| [own](own.md) | Mine \\| yours | 10 |"), std::string::npos);
  std::vector<PublishedResult> other = few();
  for (PublishedResult& result : other) result.row.suite = "other";
  EXPECT_LT(accuracy_summary({{traces::statistics(other)[0], Reading()}}, reading, again).find("| [own]"),
            accuracy_summary({{traces::statistics(other)[0], Reading()}}, reading, again).find("| [other]"));
}

TEST(AccuracyPages, NamesOfPagesAreNamesOfFiles) {
  for (const char* name : {"nccl", "h100-own-gemm", "a_b.2"}) EXPECT_TRUE(can_name_a_page(name)) << name;
  for (const char* name : {"", "a/b", "..", "a b", "README", ".x"}) EXPECT_FALSE(can_name_a_page(name)) << name;
}

}  // namespace
}  // namespace weft::platforms
