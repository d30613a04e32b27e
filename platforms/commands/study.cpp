// SPDX-License-Identifier: Apache-2.0
// weft study: what the points of a sweep say.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/results/version.h"
#include "platforms/results/write_file.h"
#include "platforms/study/tables/study_page.h"
#include "platforms/study/tables/tables.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct StudyOptions {
  std::string database;
  std::string group_by;
  std::string best;
  std::string pareto;
  std::string sensitivity;
  std::string csv;
  std::string html;
  std::string point;
  bool failed = false;
  bool all_fidelities = false;
  int top = 20;
  bool json = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t comma = text.find(',', from);
    parts.push_back(text.substr(from, comma - from));
    if (comma == std::string::npos) return parts;
    from = comma + 1;
  }
}

/// Those of the last step of fidelity, where there are steps: the others tell of something else.
std::vector<study::Row> of_last_fidelity(std::vector<study::Row> rows) {
  int last = -1;
  for (const study::Row& row : rows) last = std::max(last, row.values.value("fidelity", -1));
  std::erase_if(rows, [last](const study::Row& row) { return row.values.value("fidelity", -1) != last; });
  return rows;
}

/// Points of this version of Weft; of all versions if it has none.
std::vector<study::Row> rows_of(study::Database& database) {
  std::vector<study::Row> all = database.rows();
  if (all.empty()) throw UsageError(database.file() + ": expected points, got none: weft sweep makes them");
  std::vector<study::Row> own;
  for (const study::Row& row : all) {
    if (row.version == version_text()) own.push_back(row);
  }
  if (own.empty()) return all;
  if (own.size() < all.size()) {
    print_warnings({fmt::format("{}: {} points of other versions of Weft are passed over", database.file(),
                                all.size() - own.size())});
  }
  return own;
}

void show(const study::Table& table, const StudyOptions& options) {
  if (options.json) {
    print_json(ordered_json{{"columns", table.columns}, {"rows", study::to_json(table)}});
  } else {
    print(study::to_text(table, static_cast<std::size_t>(options.top)));
  }
}

int show_point(study::Database& database, const StudyOptions& options) {
  const std::vector<std::string> keys = database.keys_like(options.point);
  if (keys.size() != 1) {
    throw UsageError("--point: expected the key of a point, or how one alone begins, got " + in_quotes(options.point) +
                     fmt::format(", which {} have", keys.size()));
  }
  const study::Row row = *database.find(keys.front());
  if (options.json) {
    print_json(ordered_json{{"key", row.key},
                            {"status", row.is_done ? "done" : "failed"},
                            {"parameters", row.values},
                            {"metrics", row.metrics},
                            {"error", row.error},
                            {"digest", row.digest},
                            {"version", row.version},
                            {"wall_s", row.wall_s},
                            {"user_s", row.user_s},
                            {"peak_bytes", row.peak_bytes},
                            {"command", study::command_of(row)},
                            {"result", row.result},
                            {"configuration", row.configuration}});
    return kDone;
  }
  std::string text = fmt::format("{} {}\n", row.key, row.is_done ? "done" : "failed: " + row.error);
  for (const auto& [path, value] : row.values.items()) text += fmt::format("  {} = {}\n", path, value.dump());
  for (const auto& [name, value] : row.metrics.items()) text += fmt::format("  {}: {}\n", name, value.dump());
  text += fmt::format("  {:.2f} s, {:.2f} s of processor time, {:.0f} MiB, {}\n", row.wall_s, row.user_s,
                      static_cast<double>(row.peak_bytes) / (1 << 20), row.version);
  print(text + "again, with its critical path:\n  " + study::command_of(row) + "\n");
  return kDone;
}

void show_overview(const std::vector<study::Row>& rows, const StudyOptions& options, const std::string& name) {
  const auto failed = std::count_if(rows.begin(), rows.end(), [](const study::Row& row) { return !row.is_done; });
  if (!options.json) print(fmt::format("{}: {} points, {} of them failed\n\n", name, rows.size(), failed));
  show(study::all_points(rows), options);
  if (options.json) return;
  for (const std::string& metric : study::metrics_of(rows)) {
    const study::Table table = study::sensitivity(rows, metric);
    if (!table.rows.empty()) print("\n" + study::to_text(table));
  }
}

int run(const StudyOptions& options) {
  study::Database database(options.database, study::Database::Access::kRead);
  if (!options.point.empty()) return show_point(database, options);
  std::vector<study::Row> rows = rows_of(database);
  if (!options.all_fidelities) rows = of_last_fidelity(std::move(rows));
  rows = study::in_order(std::move(rows));
  const std::vector<std::string> metrics = study::metrics_of(rows);
  if (!options.csv.empty()) {
    ResultFiles files;
    write_file(files.file("--csv", options.csv, ResultKind::kStudyTable), study::to_csv(study::whole_points(rows)));
    files.keep();
    print("wrote " + options.csv + "\n");
    return kDone;
  }
  if (!options.html.empty()) {
    ResultFiles files;
    const std::string name = std::filesystem::path(options.database).filename().string();
    write_file(files.file("--html", options.html, ResultKind::kStudyPage),
               study::study_page(database.study(), name, rows));
    files.keep();
    print("wrote " + options.html + "\n");
    return kDone;
  }
  if (options.failed) {
    std::erase_if(rows, [](const study::Row& row) { return row.is_done; });
    if (rows.empty() && !options.json) {
      print("no point failed\n");
      return kDone;
    }
  }
  if (!options.group_by.empty()) {
    if (const std::string wrong = not_one_of(study::parameters_of(rows), options.group_by); !wrong.empty()) {
      throw UsageError("--group-by: " + wrong);
    }
    show(study::grouped(rows, options.group_by), options);
  } else if (!options.best.empty()) {
    show(study::all_points(study::best_first(rows, study::goal_of(options.best, "--best", metrics))), options);
  } else if (!options.pareto.empty()) {
    std::vector<study::Goal> goals;
    for (const std::string& each : split(options.pareto)) goals.push_back(study::goal_of(each, "--pareto", metrics));
    show(study::all_points(study::pareto_front(rows, goals)), options);
  } else if (!options.sensitivity.empty()) {
    show(study::sensitivity(rows, study::goal_of(options.sensitivity, "--sensitivity", metrics).metric), options);
  } else {
    show_overview(rows, options, database.study());
  }
  return kDone;
}

}  // namespace

Command study_command(const Arguments& parent) {
  auto options = std::make_shared<StudyOptions>();
  const Arguments app = parent.add_subcommand("study", "Shows what the points of weft sweep say");
  app.add_option("database", options->database, "The database of a study").required().type_name("FILE");
  app.add_option("--group-by", options->group_by, "A line for each value of this parameter").type_name("PARAMETER");
  app.add_option("--best", options->best, "Points, those first that are best in this metric: time, or busbw:max")
      .type_name("METRIC");
  app.add_option("--pareto", options->pareto,
                 "Points than which no other is better in one of these metrics and no worse in the rest: time,cost")
      .type_name("METRICS");
  app.add_option("--sensitivity", options->sensitivity,
                 "Parameters, those first over whose values the mean of this metric changes most")
      .type_name("METRIC");
  app.add_flag("--failed", options->failed, "Only points that failed, with their errors");
  app.add_flag("--all-fidelities", options->all_fidelities, "Points of all steps of fidelity, not of the last alone");
  app.add_option("--top", options->top, "Lines at the most").check(Within(1, 1'000'000'000)).shows_default();
  app.add_option("--point", options->point, "One point, by its key or the beginning of it").type_name("KEY");
  app.add_option("--csv", options->csv, "Write all points as CSV").type_name("FILE");
  app.add_option("--html", options->html, "Write a page with charts of all points, which needs nothing but a browser")
      .type_name("FILE");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
