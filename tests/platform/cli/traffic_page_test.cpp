// SPDX-License-Identifier: Apache-2.0
// The table of traffic by the number of ranks in docs/architect/collectives/multicast.md, made again by the commands
// that stand above it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::CliTest;
using test::Ran;

/// The cells of a row of a table in Markdown.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row);
  std::string cell;
  std::getline(in, cell, '|');
  while (std::getline(in, cell, '|')) {
    const std::size_t from = cell.find_first_not_of(' ');
    if (from != std::string::npos) cells.push_back(cell.substr(from, cell.find_last_not_of(' ') + 1 - from));
  }
  return cells;
}

TEST_F(CliTest, TrafficOfThePageIsWhatItsCommandsPrint) {
  constexpr int kMostRanks = 32;  // the others take longer, and are no different
  std::istringstream page(test::read_file(WEFT_SOURCE_DIR "/docs/architect/collectives/multicast.md"));
  std::string line;
  while (std::getline(page, line) && !line.starts_with("| P | chain |")) continue;
  const std::vector<std::string> columns = cells_of(line);
  ASSERT_EQ(columns.size(), 7U) << "the page has its table of traffic";
  std::getline(page, line);
  int compared = 0;
  while (std::getline(page, line) && line.starts_with("|")) {
    const std::vector<std::string> cells = cells_of(line);
    ASSERT_EQ(cells.size(), columns.size()) << line;
    const int ranks = std::stoi(cells[0]);
    if (ranks > kMostRanks) continue;
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const bool gathers = columns[i].starts_with("Allgather, ");
      const std::string algorithm = gathers ? columns[i].substr(columns[i].find(' ') + 1) : columns[i];
      const Ran ran = weft("collective " WEFT_SOURCE_DIR "/platforms/fdr-188.json --no-warmup --json --op " +
                           std::string(gathers ? "all_gather" : "broadcast") + " --algorithm " + algorithm +
                           " --bytes " + (gathers ? std::to_string(64 * ranks) + "KiB" : "1MiB") +
                           " --set accelerators=" + std::to_string(ranks));
      ASSERT_EQ(ran.code, 0) << ran.err;
      const json row = json::parse(ran.out)["rows"][0];
      double sum = 0;
      for (const auto& [kind, bytes] : row["traffic"]["fabric"].items()) sum += bytes.get<double>();
      const double shown = std::stod(cells[i]);
      EXPECT_NEAR(sum / row["bytes"].get<double>(), shown, 0.01 * shown) << columns[i] << " over " << ranks;
      ++compared;
    }
  }
  EXPECT_GE(compared, 4 * 6);
}

}  // namespace
}  // namespace weft
