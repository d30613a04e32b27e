// SPDX-License-Identifier: Apache-2.0
// weft sweep: the points of a study, into its database.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "platforms/cli/output.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/signals.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/results/version.h"
#include "platforms/study/dealer.h"
#include "platforms/study/metric_check.h"
#include "platforms/study/mpi/mpi_workers.h"
#include "platforms/study/search/search.h"
#include "platforms/study/tables/about.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct SweepOptions {
  std::string study;
  std::string database;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool retry_failed = false;
  bool dry_run = false;
  bool json = false;
};

/// "12 of 300 points, 2 of them failed, 34 s left".
class SweepLine {
 public:
  void show(const study::Dealt& dealt) {
    check_interrupted();
    if (!line_.due()) return;
    left_.update(line_.seconds(), dealt.share);
    std::string text = fmt::format("{} of {}", dealt.ended(), counted(dealt.points, "point"));
    if (dealt.failed > 0) text += fmt::format(", {} failed", dealt.failed);
    if (const std::string left = left_.text(); !left.empty()) text += ", " + left;
    line_.show(text);
  }
  void hide() { line_.hide(); }

 private:
  StatusLine line_;
  TimeLeft left_;
};

struct Made {
  std::vector<study::Point> points;
  std::size_t left_out = 0;  ///< by constraints
};

Made make_points(const study::Study& of) {
  Made made;
  const study::PointMaker maker(of);
  for (const study::Assignments& values : study::combinations(of)) {
    if (std::optional<study::Point> point = maker.make(values)) {
      made.points.push_back(std::move(*point));
    } else {
      ++made.left_out;
    }
    check_interrupted();
  }
  if (made.points.empty()) {
    throw InputError(of.file, "constraints", "at least one point that meets them",
                     fmt::format("none of {}", made.left_out));
  }
  return made;
}

/// What is wrong with all points is said before any is simulated.
void check(const study::Study& of, const Made& made) {
  const study::MetricPlace place{of.file, "metrics."};
  const std::vector<study::Point> examples = of.search ? study::examples(of) : std::vector<study::Point>();
  const std::vector<study::Point>& points = of.search ? examples : made.points;
  study::check_sizes(of, points);
  study::check_points(of, points, place);
  for (std::size_t i = 0; i < of.fidelity.size(); ++i) {
    const study::PointMaker maker(of, of.fidelity[i].set, i);
    std::vector<study::Point> own;
    for (const study::Point& point : points) {
      study::Assignments values = point.values;
      std::erase_if(values, [&of](const auto& value) {
        return std::any_of(of.derived.begin(), of.derived.end(),
                           [&](const auto& each) { return each.first == value.first; });
      });
      if (std::optional<study::Point> made_anew = maker.make(values)) own.push_back(std::move(*made_anew));
    }
    study::check_points(of, own, place);
  }
}

int list_points(const Made& made, bool json) {
  ordered_json all = ordered_json::array();
  std::string text;
  for (const study::Point& point : made.points) {
    ordered_json values = ordered_json::object();
    for (const auto& [path, value] : point.values) values[path] = value;
    text += point.key + " " + values.dump() + (point.error.empty() ? "" : "  " + point.error) + "\n";
    all.push_back({{"key", point.key}, {"parameters", values}, {"error", point.error}});
  }
  if (json) {
    print_json(ordered_json{{"points", all}, {"left_out", made.left_out}});
  } else {
    print(text + fmt::format("{}; constraints leave out {}\n", counted(made.points.size(), "point"), made.left_out));
  }
  return kDone;
}

void print_failures(study::Database& database, const std::vector<study::Point>& points) {
  constexpr std::size_t kMost = 5;
  std::size_t failed = 0;
  for (const study::Point& point : points) {
    const std::optional<study::Row> row = database.find(point.key);
    if (!row || row->is_done) continue;
    if (++failed <= kMost)
      print(fmt::format("failed {} {}: {}\n", row->key.substr(0, 8), row->values.dump(), row->error));
  }
  if (failed > kMost) print(fmt::format("and {} more: weft study {} --failed\n", failed - kMost, database.file()));
}

/// Those of these metrics that no point has a value of.
std::vector<std::string> without_value(study::Database& database, const std::map<std::string, std::string>& metrics) {
  std::vector<std::string> found;
  if (metrics.empty()) return found;
  const std::vector<study::Row> rows = database.rows();
  for (const auto& [metric, expected] : metrics) {
    const bool has_one = std::any_of(rows.begin(), rows.end(), [&name = metric](const study::Row& row) {
      return row.is_current && row.metrics.contains(name) && !row.metrics[name].is_null();
    });
    if (!has_one) found.push_back(metric);
  }
  return found;
}

int deal(const SweepOptions& options, const study::Study& of, study::Workers& workers) {
  if (options.dry_run && of.search) {
    throw UsageError("--dry-run: expected a study without search, whose points are known before it is run");
  }
  const Made made = of.search ? Made() : make_points(of);
  check(of, made);
  if (options.dry_run) return list_points(made, options.json);
  const fs::path file =
      options.database.empty() ? fs::path(options.study).replace_extension(".db") : fs::path(options.database);
  study::Database database(file.string(), study::Database::Access::kWrite, of.name);
  database.set_about(study::to_json(study::about(of)));
  study::Dealer dealer(of, database, workers);
  if (options.retry_failed) dealer.retry_failed();
  study::Dealt dealt;
  {
    const Interruptible interruptible;
    SweepLine line;
    dealer.on_progress([&](const study::Dealt& now) {
      dealt = now;
      line.show(now);
    });
    try {
      dealer.renew_metrics();
      dealt = of.search ? study::search(of, database, dealer) : dealer.run(made.points);
    } catch (Interrupted& by) {
      by.kept = fmt::format("{} has {} of {}; the same command goes on from there", file.string(), dealt.ended(),
                            counted(dealt.points, "point"));
      throw;
    }
  }
  for (const auto& [metric, expected] : dealer.wrong_metrics()) {
    print_warnings({InputError(of.file, "metrics." + metric, expected, "").what()});
  }
  const std::vector<std::string> valueless = without_value(database, dealer.wrong_metrics());
  ordered_json idle = ordered_json::array();
  std::string idle_text;
  for (const auto& [field, points] : dealer.without_effect()) {
    idle.push_back({{"field", field.first}, {"because", field.second}, {"points", points}});
    idle_text += fmt::format("without effect at {}: {} ({})\n", counted(points, "point"), field.first, field.second);
  }
  if (options.json) {
    print_json(ordered_json{{"database", file.string()},
                            {"points", dealt.points},
                            {"before", dealt.before},
                            {"done", dealt.done},
                            {"equal", dealt.equal},
                            {"failed", dealt.failed},
                            {"left_out", made.left_out},
                            {"without_effect", idle},
                            {"without_value", valueless}});
  } else {
    print(fmt::format("{}: {}, {} of them simulated now, {}{} failed now{}\n", of.name, counted(dealt.points, "point"),
                      dealt.done, dealt.equal > 0 ? fmt::format("{} equal to others, ", dealt.equal) : "", dealt.failed,
                      made.left_out > 0 ? fmt::format("; constraints leave out {}", made.left_out) : ""));
    print_failures(database, made.points);
    print(idle_text);
    print(fmt::format("wrote {}; weft study {} shows it\n", file.string(), file.string()));
  }
  const bool none_done = dealt.before == 0 && dealt.done == 0 && dealt.equal == 0;
  return none_done || !valueless.empty() ? kFailed : kDone;
}

int run(const SweepOptions& options) {
  if (study::is_under_mpi()) {
    study::MpiWorkers workers;
    if (workers.deals()) return deal(options, study::read_study(options.study), workers);
    workers.serve();
    return kDone;
  }
  const study::Study of = study::read_study(options.study);
  // Before anything else is begun in this process: workers are copies of it.
  study::LocalWorkers workers(static_cast<std::size_t>(options.jobs));
  return deal(options, of, workers);
}

}  // namespace

Command sweep_command(const Arguments& parent) {
  auto options = std::make_shared<SweepOptions>();
  const Arguments app = parent.add_subcommand("sweep", "Simulates all points of a study, into a database");
  app.add_option("study", options->study, "A study in JSON").required().type_name("FILE");
  app.add_option("--db", options->database, "The database; that beside the study, STUDY.db, if it is left out")
      .type_name("FILE");
  app.add_option("--jobs", options->jobs, "Points at a time")
      .check(Within(1, 4096))
      .shows_default("the number of processors");
  app.add_flag("--retry-failed", options->retry_failed, "Simulate points again that have failed before");
  app.add_flag("--dry-run", options->dry_run, "List the points, and simulate none");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
