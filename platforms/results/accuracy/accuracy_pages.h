// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "traces/published_table.h"

/// What `weft validate --markdown FOLDER` leaves there: a page, a plot and, where the rows are too many for a page, a
/// table for each suite, and README.md, the summary of all suites. What is written by hand lies beside the tables of
/// measurements, in the folder `readings`, so that no run loses it:
///
///     readings/SUITE.md   a heading, what was measured and where it was published; from its first "## " on, how to
///     read the rows readings/README.md  the same of the summary: what comes before the table, and from its first "## "
///     on what comes behind it
///
/// A suite without such a file has its name for a heading.
namespace weft::platforms {

/// Text of a page that is written by hand: a heading, what comes before the numbers, what comes behind them.
struct Reading {
  std::string title;
  std::string before;
  std::string behind;

  static Reading parse(const std::string& text);
  /// Of the suite, or "README", beside a table; without a title if there is none.
  static Reading find(const std::filesystem::path& table, const std::string& name);
};

/// Whether its pages can have the suite's name.
bool can_name_a_page(const std::string& suite);

struct SuitePage {
  std::string markdown;
  std::string plot;   ///< SVG
  std::string table;  ///< CSV of all rows; empty where the page has all of them
};

/// `rows` are of one suite, and `tables` what weft validate needs to find them: empty, or a file.
SuitePage suite_page(const std::vector<traces::PublishedResult>& rows, const Reading& reading,
                     const std::string& tables);

/// The summary. Rows of `earlier`, a summary that was written before, stay if their suites are not among these.
/// `tables`: a user's own, after which a summary without a title of its own is called; empty for those of Weft.
std::string accuracy_summary(const std::vector<std::pair<traces::SuiteStatistics, Reading>>& suites,
                             const Reading& reading, const std::string& earlier,
                             const std::vector<std::string>& tables = {});

}  // namespace weft::platforms
