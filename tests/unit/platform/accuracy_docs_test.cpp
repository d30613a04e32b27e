// SPDX-License-Identifier: Apache-2.0
// docs/accuracy is of the tables in traces/published: nothing runs here, but a row that was added, changed or removed
// shows.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/results/accuracy/accuracy_pages.h"
#include "tests/support/files.h"
#include "traces/csv.h"
#include "traces/published_table.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

const fs::path kTables = WEFT_SOURCE_DIR "/traces/published";
const fs::path kPages = WEFT_SOURCE_DIR "/docs/accuracy";

/// By suite.
std::map<std::string, std::vector<traces::PublishedRow>> published() {
  std::map<std::string, std::vector<traces::PublishedRow>> suites;
  for (const auto& entry : fs::directory_iterator(kTables)) {
    if (entry.path().extension() != ".csv" || !traces::CsvTable::read(entry.path()).has_column("metric")) continue;
    for (traces::PublishedRow& row : traces::read_published(entry.path())) suites[row.suite].push_back(std::move(row));
  }
  return suites;
}

TEST(AccuracyDocs, HaveTheRowsOfTheTables) {
  const auto suites = published();
  EXPECT_GT(suites.size(), 40U);
  const std::string summary = test::read_file(kPages / "README.md");
  for (const auto& [suite, rows] : suites) {
    SCOPED_TRACE(suite);
    EXPECT_NE(summary.find(fmt::format("\n| [{0}]({0}.md) | {1} | {2} |", suite,
                                       Reading::find(kTables / "x.csv", suite).title, rows.size())),
              std::string::npos);
    std::istringstream page(test::read_file(kPages / (suite + ".md")));
    std::vector<std::string> found;
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with("| ") && std::isdigit(static_cast<unsigned char>(line[2])) != 0 && line.ends_with("] |")) {
        found.push_back(line);
      }
    }
    ASSERT_EQ(found.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const traces::PublishedRow& row = rows[i];
      const std::string beginning =
          fmt::format("| {} | {} | {} | {} | ", i + 1, row.platform, row.arguments, row.metric);
      ASSERT_TRUE(found[i].starts_with(beginning)) << found[i];
      EXPECT_NEAR(std::stod(found[i].substr(beginning.size())), row.published, 6e-4 * std::abs(row.published))
          << found[i];
    }
  }
}

/// A suite that is gone leaves no page, and each has its text by hand.
TEST(AccuracyDocs, AreOfSuitesThatAreThere) {
  const auto suites = published();
  for (const auto& entry : fs::directory_iterator(kPages)) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with('.')) continue;  // of a weft validate that is at work
    EXPECT_TRUE(name == "README" || suites.contains(name)) << entry.path();
  }
  for (const auto& entry : fs::directory_iterator(kTables / "readings")) {
    const std::string name = entry.path().stem().string();
    EXPECT_TRUE(name == "README" || suites.contains(name)) << entry.path();
  }
  for (const auto& [suite, rows] : suites) {
    SCOPED_TRACE(suite);
    const Reading reading = Reading::find(kTables / "x.csv", suite);
    EXPECT_NE(reading.title, "");
    EXPECT_NE(reading.before, "");
    EXPECT_TRUE(reading.behind.starts_with("## "));
    const std::string page = test::read_file(kPages / (suite + ".md"));
    EXPECT_NE(page.find("\n" + reading.before + "\n"), std::string::npos) << "run weft validate --suite " << suite;
    EXPECT_NE(page.find("\n" + reading.behind + "\n"), std::string::npos) << "run weft validate --suite " << suite;
  }
}

}  // namespace
}  // namespace weft::platforms
