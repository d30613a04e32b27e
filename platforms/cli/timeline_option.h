// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "platforms/cli/arguments.h"
#include "platforms/cli/result_files.h"
#include "platforms/results/timeline_probe.h"

/// --timeline of the commands that run a workload.
namespace weft::platforms {

struct TimelineOptions {
  std::string file;  ///< empty: among the results
  int ranks = 8;
  int queues = 4;

  void add_to(const Arguments& app);
  /// Throws UsageError for options that contradict each other.
  void check() const;
  /// What the file's name ends in asks for Kineto's JSON, in a file for each rank.
  [[nodiscard]] bool is_kineto() const;
  /// Where it will be, of results that will be in `out`: in Kineto's JSON with a star for the number of the rank.
  [[nodiscard]] std::filesystem::path place(const std::filesystem::path& out) const;
  /// The same for a summary, which lies among the results.
  [[nodiscard]] std::string text() const;
};

/// Of a run of `ranks` ranks that writes `files`: at the place that --timeline says, else among the results, in
/// `folder` of what will be `out`. Null if none are drawn. Throws UsageError, which names --timeline.
std::unique_ptr<TimelineProbe> open_timeline(ResultFiles& files, const TimelineOptions& options,
                                             const std::filesystem::path& out, const std::filesystem::path& folder,
                                             int ranks);

}  // namespace weft::platforms
