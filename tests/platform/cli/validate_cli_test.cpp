// SPDX-License-Identifier: Apache-2.0
// weft validate --markdown: pages in a folder. Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/results.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::read_file;

using ValidateCli = test::ResultsTest;

/// One run over another, and less it; a run over one that says 0 has no value.
TEST_F(ValidateCli, DividesARunByAnother) {
  write("t.csv",
        "suite,platform,arguments,metric,published,unit,tolerance,source\n"
        "s,h100-sxm,\"kernel --burst --gemm 4096,4096,4096 over kernel --burst --gemm 4096,4096,4096\","
        "rows[0].tflops,1,,0.001,x\n"
        "s,h100-sxm,\"kernel --burst --gemm 8192,4096,4096 over kernel --burst --gemm 4096,4096,4096\","
        "rows[0].time_us + rows[0].time_us,2,,10%,x\n"
        "s,h100-sxm,\"kernel --burst --gemm 4096,4096,4096 less kernel --burst --gemm 4096,4096,4096\","
        "rows[0].tflops,0,TFLOPS,0.001TFLOPS,x\n");
  EXPECT_EQ(weft("validate ../t.csv").code, 0);
  write("t.csv",
        "suite,platform,arguments,metric,published,unit,tolerance,source\n"
        "s,h100-sxm,\"kernel --burst --gemm 4096,4096,4096 over kernel --burst --gemm 4096,4096,4096\","
        "rows[0].tflops - rows[0].tflops,1,,0.001,x\n");
  const Ran ran = weft("validate ../t.csv");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE((ran.out + ran.err).find("by which nothing can be divided"), std::string::npos) << ran.out << ran.err;
}

/// One suite's page is written anew and its line in the summary renewed; the other one's stay.
TEST_F(ValidateCli, WritesPages) {
  const std::string head = "suite,platform,arguments,metric,published,unit,tolerance,source\n";
  const auto row = [](const std::string& suite, const std::string& published) {
    return suite + ",h100-sxm,\"kernel --burst --gemm 4096,4096,4096\",rows[0].tflops," + published + ",TFLOPS,,x\n";
  };
  const fs::path pages = folder_ / "work/pages";
  write("t.csv", head + row("one", "780") + row("two", "780"));
  fs::create_directories(folder_ / "readings");
  write("readings/one.md", "# Products\n\nBy hand.\n\n## Reading\n\nFast.\n");
  write("readings/README.md", "# Mine\n\nTwo suites.\n");
  ASSERT_EQ(weft("validate ../t.csv --markdown pages").code, 0);
  EXPECT_EQ(names_in(pages), (std::vector<std::string>{"README.md", "one.md", "one.svg", "two.md", "two.svg"}));
  const std::string one = read_file(pages / "one.md");
  EXPECT_TRUE(
      one.starts_with("# Products\n\nThis page is written by `weft validate`. To measure again: "
                      "`weft validate ../t.csv --suite one`.\n\nBy hand.\n"))
      << one;
  EXPECT_NE(one.find("\n## Reading\n\nFast.\n"), std::string::npos);
  const std::string two = read_file(pages / "two.md");
  const std::string summary = read_file(pages / "README.md");
  EXPECT_TRUE(summary.starts_with("# Mine\n\n")) << summary;

  write("t.csv", head + row("one", "390") + row("two", "390"));
  ASSERT_EQ(weft("validate ../t.csv --suite one --markdown pages").code, 0);
  EXPECT_NE(read_file(pages / "one.md").find("| 390 TFLOPS |"), std::string::npos);
  EXPECT_EQ(read_file(pages / "two.md"), two);
  const std::string renewed = read_file(pages / "README.md");
  const auto line_of = [](const std::string& text, const std::string& suite) {
    const std::size_t at = text.find("| [" + suite + "]");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line_of(renewed, "two"), line_of(summary, "two"));
  EXPECT_NE(line_of(renewed, "one"), line_of(summary, "one"));

  // Tables of two folders have no text in common: the summary is called after them, and says how it was made.
  fs::remove_all(pages);
  fs::create_directories(folder_ / "own");
  write("own/mine.csv", head + row("three", "780"));
  ASSERT_EQ(weft("validate ../t.csv ../own/mine.csv --markdown pages").code, 0);
  const std::string both = read_file(pages / "README.md");
  EXPECT_TRUE(
      both.starts_with("# Accuracy against t, mine\n\nThis page is written by `weft validate ../t.csv "
                       "../own/mine.csv --markdown`.\n\n| suite |"))
      << both;

  fs::remove_all(pages);
  write("slash.csv", head + row("a/b", "780"));
  EXPECT_EQ(weft("validate ../slash.csv").code, 0);
  expect_refused({"no name of a page",
                  "validate ../slash.csv --markdown other",
                  {"../slash.csv:2: column 'suite': expected letters, digits, -, _ and .", "got \"a/b\""}});
}

}  // namespace
}  // namespace weft
