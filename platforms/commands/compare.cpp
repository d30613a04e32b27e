// SPDX-License-Identifier: Apache-2.0
// weft compare: how runs differ, and why.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/results/compare/compare.h"
#include "platforms/results/run_results.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr double kMostPercent = 1e9;

struct CompareOptions {
  std::vector<std::string> results;
  double tolerance = -1;  ///< percent; below 0, which nobody can give: any difference is fine
  bool json = false;
};

int compare(const CompareOptions& options) {
  if (options.results.size() < 2) throw UsageError("OUT: expected at least two folders of results");
  const RunResults base = read_run(options.results.front());
  ordered_json all = ordered_json::array();
  std::string beyond;
  for (std::size_t i = 1; i < options.results.size(); ++i) {
    ordered_json comparison = compare_runs(base, read_run(options.results[i]));
    const double before = comparison["before_us"];
    const double percent = 100 * comparison["difference_us"].get<double>() / before;
    if (options.tolerance >= 0 && !(std::abs(percent) <= options.tolerance)) {
      beyond += fmt::format("{} takes {:+.2f} % compared to {}, beyond --tolerance {}\n", options.results[i], percent,
                            base.name, options.tolerance);
    }
    if (!options.json) print((i == 1 ? "" : "\n") + compare_text(comparison));
    all.push_back(std::move(comparison));
  }
  if (options.json) print_json(all);
  if (beyond.empty()) return kDone;
  print_error(beyond);
  return kFailed;
}

}  // namespace

Command compare_command(const Arguments& parent) {
  auto options = std::make_shared<CompareOptions>();
  const Arguments app = parent.add_subcommand("compare", "Tells how runs differ from the first, and why");
  app.add_option("OUT", options->results,
                 "Folders of results of weft run or weft collective; with --why, paths are compared")
      .required()
      .type_name("FOLDER");
  app.add_option("--tolerance", options->tolerance, "Exit with 1 if a run's time differs by more than so many percent")
      .type_name("PERCENT")
      .check(Within(0.0, kMostPercent));
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return compare(*options); }};
}

}  // namespace weft::platforms
