// SPDX-License-Identifier: Apache-2.0
// weft study: what the points of a sweep say.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/results/write_file.h"
#include "platforms/study/expression/quantity_value.h"
#include "platforms/study/points.h"
#include "platforms/study/progress.h"
#include "platforms/study/tables/study_page.h"
#include "platforms/study/tables/tables.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr int kTop = 20;

struct StudyOptions {
  std::string database;
  std::string group_by;
  std::string best;
  std::string pareto;
  std::string sensitivity;
  std::string csv;
  std::string html;
  std::string point;
  std::string where;
  bool failed = false;
  bool all = false;
  bool all_fidelities = false;
  int top = kTop;
  bool has_top = false;
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

/// Points that the study has, or all; what is left out is said in `left_out`.
std::vector<study::Row> rows_of(study::Database& database, bool all, std::size_t& left_out) {
  std::vector<study::Row> rows = database.rows();
  if (rows.empty()) throw UsageError(database.file() + ": expected points, got none: weft sweep makes them");
  if (all) return rows;
  left_out = std::erase_if(rows, [](const study::Row& row) { return !row.is_current; });
  if (rows.empty()) {
    throw UsageError(fmt::format("{}: expected points of the study, got {} that {} left it: --all shows them",
                                 database.file(), left_out, left_out == 1 ? "has" : "have"));
  }
  return rows;
}

/// A table of the points of each step of fidelity, which tell of different things.
using TableOf = std::function<study::Table(const std::vector<study::Row>& rows)>;

/// Of JSON, of which a program reads all, lines are left out only where they are to be.
study::Table top_of(study::Table table, const StudyOptions& options, std::size_t& left_out) {
  const auto most = static_cast<std::size_t>(options.top);
  if (!options.json || !options.has_top || table.rows.size() <= most) return table;
  left_out += table.rows.size() - most;
  table.rows.resize(most);
  return table;
}

/// What is true of all tables of a call.
struct Said {
  study::Unfinished unfinished;
  std::vector<std::string> notes;

  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> lines = notes;
    if (!unfinished.text.empty()) lines.push_back("unfinished: " + unfinished.text);
    return lines;
  }
  [[nodiscard]] std::string text() const {
    std::string lines;
    for (const std::string& line : all()) lines += line + "\n";
    return lines;
  }
};

void print_table(ordered_json columns, ordered_json rows, ordered_json notes, std::size_t left_out, const Said& said) {
  ordered_json told = {{"columns", std::move(columns)}, {"rows", std::move(rows)}, {"notes", std::move(notes)}};
  if (left_out > 0) told["rows_left_out"] = left_out;
  for (const std::string& note : said.all()) told["notes"].push_back(note);
  if (!said.unfinished.text.empty()) told["unfinished"] = said.unfinished.known;
  print_json(told);
}

void show(const std::vector<study::Row>& rows, const TableOf& table_of, const StudyOptions& options, const Said& said) {
  std::size_t left_out = 0;
  const std::vector<int> steps = study::steps_of(rows);
  if (steps.size() <= 1) {
    const study::Table table = top_of(table_of(rows), options, left_out);
    if (options.json) {
      print_table(table.columns, study::to_json(table), table.notes, left_out, said);
    } else {
      print(study::to_text(table, static_cast<std::size_t>(options.top)) + said.text());
    }
    return;
  }
  ordered_json columns = {study::kFidelity};
  ordered_json all = ordered_json::array();
  ordered_json notes = ordered_json::array();
  std::string text;
  for (const int step : steps) {
    const std::vector<study::Row> own = study::of_step(rows, step);
    const study::Table table = top_of(table_of(own), options, left_out);
    text += fmt::format("{}fidelity {}, {}\n", text.empty() ? "" : "\n", step, counted(own.size(), "point")) +
            study::to_text(table, static_cast<std::size_t>(options.top));
    for (const std::string& column : table.columns) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    }
    for (const ordered_json& row : study::to_json(table)) {
      ordered_json& told = all.emplace_back(ordered_json{{study::kFidelity, step}});
      told.update(row);
    }
    for (const std::string& note : table.notes) notes.push_back(fmt::format("fidelity {}: {}", step, note));
  }
  if (options.json) {
    print_table(std::move(columns), std::move(all), std::move(notes), left_out, said);
  } else {
    print(text + said.text());
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

/// "s: 5 points, 0 of them failed; 2 points that the study no longer has are left out (--all shows them)"
std::string headline(const std::string& name, const std::vector<study::Row>& rows, std::size_t left_out,
                     const Said& said) {
  const auto failed = std::count_if(rows.begin(), rows.end(), [](const study::Row& row) { return !row.is_done; });
  std::string text = fmt::format("{}: {}, {} of them failed", name, counted(rows.size(), "point"), failed);
  if (left_out > 0) {
    text += fmt::format("; {} that the study no longer has {} left out (--all shows {})", counted(left_out, "point"),
                        left_out == 1 ? "is" : "are", left_out == 1 ? "it" : "them");
  }
  return text + "\n" + said.text() + "\n";
}

/// A metric of which some point has a number: others are never best.
study::Goal goal_of(const std::string& text, const std::string& action, const std::vector<study::Row>& rows,
                    const study::About& about) {
  if (std::none_of(rows.begin(), rows.end(), [](const study::Row& row) { return row.is_done; })) {
    throw UsageError(fmt::format("{}: expected points that are done, got {}; --failed shows why", action,
                                 rows.size() == 1 ? "one that failed" : fmt::format("{} that failed", rows.size())));
  }
  study::Goal goal = study::goal_of(text, action, study::metrics_of(rows), about);
  bool has_texts = false;
  for (const study::Row& row : rows) {
    const ordered_json value = row.metrics.value(goal.metric, ordered_json());
    if (study::number_of(nlohmann::json(value))) return goal;
    has_texts = has_texts || value.is_string();
  }
  throw UsageError(fmt::format("{}: expected a metric with numbers, got {}, {}", action, in_quotes(goal.metric),
                               has_texts ? "whose values are texts" : "of which no point has a value"));
}

/// Points, and what parameters do to each metric.
void show_overview(const std::vector<study::Row>& rows, const StudyOptions& options, const study::About& about,
                   const Said& said) {
  // A text has it above, once.
  show(rows, study::all_points, options, options.json ? said : Said());
  if (options.json) return;
  for (const std::string& metric : study::metrics_of(rows)) {
    const auto of_metric = [&](const std::vector<study::Row>& some) { return study::sensitivity(some, metric, about); };
    if (of_metric(study::of_last_step(rows)).rows.empty()) continue;
    print("\n");
    show(rows, of_metric, options, Said());
  }
}

/// What the command line asks to see; nothing for the overview. One table at a time: files may be written beside it.
std::string action_of(const Arguments& app) {
  std::vector<std::string> given;
  for (const char* const option : {"--point", "--group-by", "--best", "--pareto", "--sensitivity", "--failed"}) {
    if (app.given(option)) given.emplace_back(option);
  }
  if (given.size() > 1) throw UsageError(join(given, ", ") + ": expected one of them at a time");
  return given.empty() ? "" : given.front();
}

bool write_files(const StudyOptions& options, const std::vector<study::Row>& rows, const std::string& name,
                 const study::About& about, const Said& said) {
  ResultFiles files;
  std::string told;
  if (!options.csv.empty()) {
    write_file(files.file("--csv", options.csv, ResultKind::kStudyTable), study::to_csv(study::whole_points(rows)));
    told += "wrote " + options.csv + "\n";
  }
  if (!options.html.empty()) {
    const std::string database = std::filesystem::path(options.database).filename().string();
    write_file(files.file("--html", options.html, ResultKind::kStudyPage),
               study::study_page(name, database, rows, about, said.unfinished.text));
    told += "wrote " + options.html + "\n";
  }
  files.keep();
  if (!options.json && !told.empty()) print(told + said.text());
  return !told.empty();
}

int run(const StudyOptions& options, const Arguments& app) {
  const std::string action = action_of(app);
  study::Database database(options.database, study::Database::Access::kRead);
  const study::About about = study::about_of(database.about());
  std::size_t left_out = 0;
  std::vector<study::Row> rows;
  Said said;
  if (action != "--point" || !options.csv.empty() || !options.html.empty()) {
    rows = rows_of(database, options.all, left_out);
    said.unfinished = study::unfinished(database.progress(), rows);
    said.notes = study::judge(rows, about);
    if (!options.all_fidelities) rows = study::of_last_step(rows);
    if (!options.where.empty()) {
      study::Chosen chosen = study::those_where(std::move(rows), options.where, "--where", about);
      rows = std::move(chosen.rows);
      if (chosen.without_value > 0) {
        said.notes.push_back("left out, without a value of --where: " + counted(chosen.without_value, "point"));
      }
    }
    rows = study::in_order(std::move(rows));
  }
  // What is wrong with what is asked for is found before a file is written.
  std::vector<study::Goal> goals;
  if (action == "--best") goals = {goal_of(options.best, action, rows, about)};
  if (action == "--pareto") {
    for (const std::string& each : split(options.pareto)) goals.push_back(goal_of(each, action, rows, about));
  }
  if (action == "--sensitivity") goals = {goal_of(options.sensitivity, action, rows, about)};
  if (action == "--group-by") {
    if (const std::string wrong = not_one_of(study::parameters_of(rows), options.group_by); !wrong.empty()) {
      throw UsageError(action + ": " + wrong);
    }
  }
  const bool wrote = write_files(options, rows, database.study(), about, said);
  if (action == "--point") return show_point(database, options);
  if (action.empty() && wrote) return kDone;
  if (action == "--failed") {
    std::erase_if(rows, [](const study::Row& row) { return row.is_done; });
    if (rows.empty() && !options.json) {
      print("no point failed\n" + said.text());
      return kDone;
    }
  }
  if (action == "--group-by") {
    show(
        rows, [&](const auto& some) { return study::grouped(some, options.group_by); }, options, said);
  } else if (action == "--best") {
    show(
        rows,
        [&](const auto& some) { return study::chosen_points(some, study::best_first(some, goals.front()), goals); },
        options, said);
  } else if (action == "--pareto") {
    show(
        rows, [&](const auto& some) { return study::chosen_points(some, study::pareto_front(some, goals), goals); },
        options, said);
  } else if (action == "--sensitivity") {
    show(
        rows, [&](const auto& some) { return study::sensitivity(some, goals.front().metric, about); }, options, said);
  } else {
    if (!options.json) print(headline(database.study(), rows, left_out, said));
    show_overview(rows, options, about, said);
  }
  return kDone;
}

}  // namespace

Command study_command(const Arguments& parent) {
  auto options = std::make_shared<StudyOptions>();
  const Arguments app = parent.add_subcommand("study", "Shows what the points of weft sweep say");
  app.add_option("database", options->database, "The database of a study").required().type_name("FILE");
  app.add_option("--group-by", options->group_by, "A line for each value of this parameter").type_name("PARAMETER");
  app.add_option(
         "--best", options->best,
         "Points, those first that are best in this metric, of which rates are best when largest and all else when "
         "least: time, busbw, points:max, tokens_per_s:min")
      .type_name("METRIC");
  app.add_option("--pareto", options->pareto,
                 "Points than which no other is better in one of these metrics and no worse in the rest: time,cost")
      .type_name("METRICS");
  app.add_option("--sensitivity", options->sensitivity,
                 "Parameters, that first by which this metric changes most between points that differ in it alone")
      .type_name("METRIC");
  app.add_option(
         "--where", options->where,
         "Only points for which this expression over parameters and metrics holds: 'seed < 3 && us <= 1.05 * best(us)'")
      .type_name("EXPRESSION");
  app.add_flag("--failed", options->failed, "Only points that failed, with their errors");
  app.add_flag("--all", options->all, "Points that the study no longer has, too");
  app.add_flag("--all-fidelities", options->all_fidelities,
               "Points of all steps of fidelity, not of the last alone; a table for each");
  app.add_option("--top", options->top, "Lines at the most; with --json all, if it is left out")
      .check(Within(1, 1'000'000'000))
      .shows_default();
  app.add_option("--point", options->point, "One point, by its key or the beginning of it").type_name("KEY");
  app.add_option("--csv", options->csv, "Write all points as CSV").type_name("FILE");
  app.add_option("--html", options->html, "Write a page with charts of all points, which needs nothing but a browser")
      .type_name("FILE");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options, app] {
            options->has_top = app.given("--top");
            return run(*options, app);
          }};
}

}  // namespace weft::platforms
