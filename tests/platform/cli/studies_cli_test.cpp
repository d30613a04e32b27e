// SPDX-License-Identifier: Apache-2.0
// docs/architect/studies.md has what platforms/studies/wafer.py prints. Runs the binary.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/programs.h"

namespace weft {
namespace {

using Studies = test::CliTest;

/// Cells of the line of a table in Markdown that begins so.
std::vector<std::string> cells_of(const std::string& text, const std::string& row) {
  const std::size_t from = text.find(row);
  if (from == std::string::npos) return {};
  std::istringstream line(text.substr(from + row.size(), text.find('\n', from) - from - row.size()));
  std::vector<std::string> cells;
  for (std::string word; line >> word;) {
    if (word != "|") cells.push_back(word);
  }
  return cells;
}

TEST_F(Studies, WaferPrintsTheTableOfThePage) {
  if (test::skips_without("python3")) return;
  const std::string printed = (folder_ / "table").string();
  const std::string command = "WEFT=" WEFT_BINARY " python3 " WEFT_SOURCE_DIR "/platforms/studies/wafer.py --keep " +
                              (folder_ / "kept").string() + " --only 'GPT-3, W-1D, 500' > " + printed;
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string row = "| GPT-3 | W-1D, 500 GB/s |";
  const std::vector<std::string> here = cells_of(test::read_file(printed), row);
  const std::vector<std::string> there = cells_of(test::read_file(WEFT_SOURCE_DIR "/docs/architect/studies.md"), row);
  ASSERT_EQ(here.size(), 5U) << test::read_file(printed);
  ASSERT_EQ(there.size(), 5U);
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_NEAR(std::stod(here[i]), std::stod(there[i]), 0.01 * std::stod(there[i])) << i;
  }
  EXPECT_EQ(std::stoi(here[0]), std::stoi(here[1]) + std::stoi(here[2])) << "the step is computing and what is exposed";
  // The page's commands take what is kept.
  EXPECT_TRUE(std::filesystem::exists(folder_ / "kept/gpt-3-w-1d-500-gb-s-themis-platform.json"));
}

}  // namespace
}  // namespace weft
