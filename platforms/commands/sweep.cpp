// SPDX-License-Identifier: Apache-2.0
// weft sweep: the points of a study, into its database.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
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
#include "platforms/study/progress.h"
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
  const study::Combinations combinations(of);
  StatusLine line;
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    if (std::optional<study::Point> point = maker.make(combinations.at(i))) {
      made.points.push_back(std::move(*point));
    } else {
      ++made.left_out;
    }
    check_interrupted();
    if (line.due()) line.show(fmt::format("reading {} of {}", i + 1, counted(combinations.size(), "point")));
  }
  line.hide();
  if (made.points.empty()) {
    throw InputError(of.file, "constraints", "at least one point that meets them",
                     fmt::format("none of {}", made.left_out));
  }
  return made;
}

std::size_t different(const std::vector<study::Point>& points) {
  std::set<std::string> keys;
  for (const study::Point& point : points) keys.insert(point.key);
  return keys.size();
}

/// What is wrong with all points is said before any is simulated.
void check(const study::Study& of, const Made& made) {
  const study::MetricPlace place{of.file, "metrics."};
  const std::vector<study::Point> examples = of.search ? study::examples(of) : std::vector<study::Point>();
  const std::vector<study::Point>& points = of.search ? examples : made.points;
  study::check_sizes(of, points);
  study::check_texts(of, points);
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
  for (const study::Point& point : made.points) {
    ordered_json values = ordered_json::object();
    for (const auto& [path, value] : point.values) values[path] = value;
    if (json) {
      all.push_back({{"key", point.key}, {"parameters", values}, {"error", point.error}});
    } else {
      print(point.key + " " + values.dump() + (point.error.empty() ? "" : "  " + point.error) + "\n");
    }
  }
  if (json) {
    print_json(ordered_json{{"points", all}, {"left_out", made.left_out}});
  } else {
    print(fmt::format("{}; constraints leave out {}\n", counted(made.points.size(), "point"), made.left_out));
  }
  return kDone;
}

void print_failures(study::Database& database) {
  constexpr std::size_t kMost = 5;
  const std::vector<study::Row> failed = database.failed();
  for (std::size_t i = 0; i < std::min(kMost, failed.size()); ++i) {
    const study::Row& row = failed[i];
    print(fmt::format("failed {} {}: {}\n", row.key.substr(0, 8), row.values.dump(), row.error));
  }
  if (failed.size() > kMost) {
    print(fmt::format("and {} more: weft study {} --failed\n", failed.size() - kMost, database.file()));
  }
  if (std::any_of(failed.begin(), failed.end(), [](const study::Row& row) { return study::is_of_limits(row.error); })) {
    print(
        "points that failed by a limit are simulated again when the study allows more; --retry-failed does so for all "
        "that failed\n");
  }
}

/// Says what metrics have no value at some points; those that none has are returned.
std::vector<std::string> tell_metrics(const study::Study& of, const study::Dealer& dealer) {
  std::vector<std::string> valueless;
  for (const auto& [metric, expression] : of.metrics) {
    const bool is_missed = dealer.is_missed(metric);
    if (is_missed) valueless.push_back(metric);
    const auto wrong = dealer.wrong_metrics().find(metric);
    if (wrong == dealer.wrong_metrics().end() && !is_missed) continue;
    const std::string expected = wrong == dealer.wrong_metrics().end() ? "a value at one point or more" : wrong->second;
    print_warnings(
        {InputError(of.file, "metrics." + metric, expected, wrong != dealer.wrong_metrics().end() ? "" : "none")
             .what()});
  }
  return valueless;
}

/// What a search would do, of which no point is known before it runs.
int tell_search(const study::Study& of, bool json) {
  const study::Search& search = *of.search;
  std::vector<std::string> variables;
  for (const study::Axis& axis : of.axes) variables.push_back(axis.path);
  for (const std::vector<study::Axis>& zip : of.zips) {
    std::vector<std::string> together;
    for (const study::Axis& axis : zip) together.push_back(axis.path);
    variables.push_back(join(together, " with "));
  }
  const std::string method(name_of(search.method));
  if (json) {
    print_json(ordered_json{{"method", method},
                            {"minimise", search.minimise},
                            {"maximise", search.maximise},
                            {"variables", variables},
                            {"evaluations", search.evaluations},
                            {"population", search.population},
                            {"seed", search.seed},
                            {"fidelity", of.fidelity.size()}});
    return kDone;
  }
  std::vector<std::string> goals;
  for (const std::string& name : search.minimise) goals.push_back("least " + name);
  for (const std::string& name : search.maximise) goals.push_back("largest " + name);
  std::string text = fmt::format("{}: a search for the {}\n  method: {}\n  variables: {}\n", of.name, join(goals, ", "),
                                 method, join(variables, ", "));
  if (search.method == study::SearchMethod::kGrid) {
    text += "  every combination of them is evaluated\n";
  } else {
    text += fmt::format("  at most {}, in generations of {}, seed {}\n", counted(search.evaluations, "evaluation"),
                        search.population, search.seed);
  }
  if (!of.fidelity.empty()) text += fmt::format("  {} of fidelity\n", counted(of.fidelity.size(), "step"));
  print(text + "nothing was simulated\n");
  return kDone;
}

/// A search asks for points that it had: "the search asked 1000 times for 55 points".
std::string text_of_search(const study::Study& of, const study::Dealt& dealt) {
  if (!of.search || of.search->method == study::SearchMethod::kGrid) return "";
  std::string text = fmt::format("the search asked for {}", counted(dealt.asked, "point"));
  if (of.fidelity.empty()) {
    text += fmt::format(", of which {} are different", dealt.points);
    const auto most = static_cast<std::size_t>(of.search->evaluations);
    if (dealt.points < most) text += fmt::format("; it found no more, of at most {}", most);
  }
  return text + "\n";
}

int deal(const SweepOptions& options, const study::Study& of, study::Workers& workers) {
  if (of.search) study::check_search(of);
  const Made made = of.search ? Made() : make_points(of);
  check(of, made);
  if (options.dry_run) return of.search ? tell_search(of, options.json) : list_points(made, options.json);
  const fs::path file =
      options.database.empty() ? fs::path(options.study).replace_extension(".db") : fs::path(options.database);
  std::error_code ignored;  // The database says what cannot be written.
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  study::Database database(file.string(), study::Database::Access::kWrite, of.name);
  const ordered_json about = study::to_json(study::about(of));
  const bool is_changed = database.about() != about;
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
      if (is_changed) dealer.renew_metrics();
      database.set_about(about);
      if (of.search) {
        dealt = study::search(of, database, dealer);
      } else {
        database.set_progress(study::to_json(study::Progress{.points = different(made.points)}));
        dealt = dealer.run(made.points);
      }
      database.set_progress(study::to_json(study::Progress{.points = std::nullopt, .is_done = true}));
    } catch (Interrupted& by) {
      by.kept = fmt::format("{} has {} of {}; the same command goes on from there", file.string(), dealt.ended(),
                            counted(dealt.points, "point"));
      throw;
    }
  }
  const bool none_done = dealt.before == 0 && dealt.done == 0 && dealt.equal == 0;
  const std::vector<std::string> valueless = tell_metrics(of, dealer);
  std::vector<std::string> requirements;
  if (!of.require.empty()) {
    std::vector<study::Row> rows = database.rows();
    std::erase_if(rows, [](const study::Row& row) { return !row.is_current; });
    rows = study::of_last_step(rows);
    requirements = study::judge(rows, study::about(of));
  }
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
                            {"asked", of.search ? ordered_json(dealt.asked) : ordered_json()},
                            {"without_effect", idle},
                            {"require", requirements},
                            {"without_value", valueless}});
  } else {
    print(fmt::format("{}: {}, {} of them simulated now, {}{} failed now{}\n", of.name, counted(dealt.points, "point"),
                      dealt.done, dealt.equal > 0 ? fmt::format("{} equal to others, ", dealt.equal) : "", dealt.failed,
                      made.left_out > 0 ? fmt::format("; constraints leave out {}", made.left_out) : ""));
    print(text_of_search(of, dealt));
    print_failures(database);
    print(idle_text);
    for (const std::string& line : requirements) print(line + "\n");
    print(fmt::format("wrote {}; weft study {} shows it\n", file.string(), file.string()));
  }
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
