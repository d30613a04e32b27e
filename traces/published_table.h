// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/csv.h"

/// Published measurements to compare the simulator with, one a row of a CSV file with exactly these columns:
///
///     suite      name under which rows are summed up
///     platform   the platform file to run
///     arguments  the rest of the command line; "A less B" where the measured value is that of one run less that of
///                another, "A over B" where it is that of one divided by that of another
///     metric     path of the result's value (traces/json/json_path.h), or several with " + " or " - " between them; a
///     term may
///                be a value in the row's unit instead, such as "2.16us" that a profiler adds to what it times
///     published  the measured value
///     unit       its unit; may be empty. A value whose name says another one (time_us for ms) is converted
///     tolerance  "10%" of the published value, or an absolute one with the row's unit such as "0.5us"; "-" or empty
///     for a
///                row that is reported and never fails
///     source     who measured it and where it was read
///
/// This is the reading, the judging and the rendering as text and JSON; `weft validate` runs the rows, and
/// platforms/results/accuracy writes pages.
namespace weft::traces {

/// How far a simulated value may be from the published one.
struct Tolerance {
  enum class Kind { kReportOnly, kRelative, kAbsolute };
  Kind kind = Kind::kReportOnly;
  /// A fraction of the published value, or a difference in the row's unit.
  double value = 0;

  /// Throws std::invalid_argument, whose text says what was expected.
  static Tolerance parse(std::string_view text, std::string_view unit);
  [[nodiscard]] bool allows(double published, double simulated) const;
};

struct PublishedRow {
  /// The command lines that it needs: one, or that of what is taken off, or of what it is divided by, as well.
  [[nodiscard]] std::vector<std::string> command_lines() const;
  [[nodiscard]] bool is_ratio() const;
  /// Of `metric`: a path of the result, or where it is empty a value in the row's unit.
  struct Term {
    std::string path;
    double value = 0;
    double sign = 1;
  };
  [[nodiscard]] std::vector<Term> terms() const;
  /// What a run says at a path, in the row's unit.
  [[nodiscard]] double in_unit(const std::string& path, double value) const;

  std::string file;
  int line = 0;
  std::string suite;
  std::string platform;
  std::string arguments;
  std::string metric;
  double published = 0;
  std::string unit;
  Tolerance tolerance;
  std::string tolerance_text;
  std::string source;
};

std::vector<PublishedRow> read_published(const CsvTable& table);
std::vector<PublishedRow> read_published(const std::filesystem::path& file);

enum class Verdict {
  kPass,
  kFail,
  kReported,  ///< The row has no tolerance.
  kBroken,    ///< There is no simulated value; counts as a failure.
};

struct PublishedResult {
  PublishedRow row;
  Verdict verdict = Verdict::kBroken;
  std::optional<double> simulated;
  /// (simulated - published) / |published|; none if either is missing or the published value is 0.
  std::optional<double> relative_error;
  /// Why there is no simulated value.
  std::string message;
};

PublishedResult evaluate(const PublishedRow& row, double simulated);
PublishedResult broken(const PublishedRow& row, std::string message);

struct SuiteStatistics {
  std::string suite;
  int rows = 0;
  int passed = 0;
  int failed = 0;
  int reported = 0;
  int broken = 0;
  /// Of the rows that have a relative error; none if no row has.
  std::optional<double> mean_error;           ///< Signed: a bias.
  std::optional<double> mean_absolute_error;  ///< The usual size.
  std::optional<double> percentile_95_error;  ///< The least size that 95 % of the rows do not exceed.
  std::optional<double> worst_error;          ///< Signed, of the largest absolute value.
};

/// One entry per suite, in the order of first mention.
std::vector<SuiteStatistics> statistics(const std::vector<PublishedResult>& results);
/// Whether no row failed or broke.
bool all_pass(const std::vector<PublishedResult>& results);

/// A table for people, in columns.
std::string to_text(const std::vector<PublishedResult>& results);
/// {"pass": bool, "suites": [...], "rows": [...]}
nlohmann::ordered_json to_json(const std::vector<PublishedResult>& results);

}  // namespace weft::traces
