// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/study/study_file.h"
#include "traces/published_table.h"

/// Regression on hardware configurations: platforms with results that have to stay. A case is a file NAME.regress.json:
///
///     {
///       "platform": "rack.json",
///       "set": {"fabric.link.rate": "400Gbps"},
///       "collective": {"op": "all_reduce", "bytes": "1MiB"},
///       "metrics": {
///         "us": {"path": "rows.0.time_us", "tolerance": "1%"},
///         "busbw": "rows.0.busbw"
///       },
///       "golden": {"us": 57.2, "busbw": 32.1}
///     }
///
/// Its golden values stand in the same file, where `weft regress --update` writes them. Without `collective` it is the
/// platform's workload that runs. A case of another kind compares a table of measurements, as weft validate does:
///
///     {"validate": {"table": "measured.csv", "mean_error": "5%", "row_error": "20%"}}
///
/// Paths in a case count from its file.
namespace weft::regress {

inline constexpr const char* kSuffix = ".regress.json";
inline constexpr const char* kGolden = "golden";
/// The metric of a digest.
inline constexpr const char* kDigest = "digest";

/// What of a case has a fixed name and a simple value.
struct CaseFields {
  std::string description;
  std::string platform;
  std::string tolerance = "0%";
  bool digest = false;
  study::RunOptions options;
  study::Limits limits;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("description", description, "For people");
    visit("platform", platform, "A file, beside the case or from where the command runs, or a name of the catalogue");
    visit("tolerance", tolerance, "Of metrics without one of their own");
    visit("digest", digest, "Whether the digest of all events has to stay, too");
    visit("options", options, "How it is run");
    visit("limits", limits, "What it may take of the computer");
  }
};

/// `validate` of a case.
struct ValidateFields {
  std::string table;
  std::string suite;
  std::string mean_error;
  std::string row_error;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("table", table, "A table of measurements as weft validate reads it; those that come with Weft if left out");
    visit("suite", suite, "Only rows of this suite");
    visit("mean_error", mean_error, "The most that the mean |error| of a suite may be, such as 5%");
    visit("row_error", row_error,
          "The most that the |error| of each row may be, such as 20%, in place of the tolerances that the table has");
  }
};

/// Members of a case whose keys are a user's, for the reference.
[[nodiscard]] const std::vector<study::StudyMember>& case_members();

/// How far a metric may be from its golden value.
struct Allowed {
  traces::Tolerance tolerance;  ///< in the metric's own unit
  std::string text;
};

struct Validation {
  std::string table;  ///< empty: all that come with Weft
  std::string suite;
  std::optional<double> mean_error;
  std::optional<double> row_error;
};

struct Case {
  std::string name;
  std::string file;
  std::string text;              ///< of the file
  study::Study study;            ///< of one point: platform, overrides, what runs and metrics
  std::vector<Allowed> allowed;  ///< of each metric
  bool digest = false;
  nlohmann::ordered_json golden;  ///< by metric; null: none yet
  std::optional<Validation> validation;
};

/// Reads a case, in JSON with comments. Throws InputError.
[[nodiscard]] Case read_case(const std::string& file, const std::string& name);

/// All cases of these places: a folder has all NAME.regress.json below it, in the order of their names. Throws
/// InputError and UsageError.
[[nodiscard]] std::vector<Case> read_cases(const std::vector<std::string>& places);

/// The text of a case with these golden values, all else as it is.
[[nodiscard]] std::string with_golden(const std::string& text, const nlohmann::ordered_json& golden);

}  // namespace weft::regress
