// SPDX-License-Identifier: Apache-2.0
// weft regress: platforms whose results have to stay.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/result_files.h"
#include "platforms/cli/signals.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/regress/judge.h"
#include "platforms/results/write_file.h"
#include "platforms/study/dealer.h"
#include "platforms/study/metric_check.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using regress::Case;
using regress::CaseResult;

struct RegressOptions {
  std::vector<std::string> places;
  std::string junit;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool update = false;
  bool json = false;
};

/// Runs cases: those that are simulated side by side, then those that compare measurements, each of which runs its rows
/// side by side itself.
class CaseRunner {
 public:
  explicit CaseRunner(const RegressOptions& options, const std::vector<Case>& cases)
      : options_(options), cases_(cases), results_(cases.size()), points_(cases.size()) {}

  /// Throws Interrupted, after which results() has what is done.
  void run() {
    const Interruptible interruptible;
    try {
      simulate();
      for (std::size_t i = 0; i < cases_.size(); ++i) {
        if (cases_[i].validation) end(i, validate(cases_[i]));
      }
      line_.hide();
    } catch (Interrupted& by) {
      line_.hide();
      by.kept = counted_done(ended_, cases_.size(), "case");
      throw;
    }
  }

  /// Of those that are done, in the order of the cases.
  [[nodiscard]] std::vector<CaseResult> results() const {
    std::vector<CaseResult> done;
    for (const std::optional<CaseResult>& each : results_) {
      if (each) done.push_back(*each);
    }
    return done;
  }

 private:
  void end(std::size_t index, CaseResult result) {
    failed_ += result.passes() ? 0 : 1;
    results_[index] = std::move(result);
    ++ended_;
    look();
  }

  void look() {
    check_interrupted();
    if (!line_.due()) return;
    left_.update(line_.seconds(), static_cast<double>(ended_) / static_cast<double>(cases_.size()));
    std::string text = fmt::format("{} of {}", ended_, counted(cases_.size(), "case"));
    if (failed_ > 0) text += fmt::format(", {} failed", failed_);
    if (const std::string left = left_.text(); !left.empty()) text += ", " + left;
    line_.show(text);
  }

  void simulate() {
    std::vector<std::size_t> waiting;
    for (std::size_t i = cases_.size(); i-- > 0;) {
      if (!cases_[i].validation) waiting.push_back(i);
    }
    if (waiting.empty()) return;
    // Before anything else is begun in this process: workers are copies of it.
    study::LocalWorkers workers(std::min(static_cast<std::size_t>(options_.jobs), waiting.size()));
    for (const std::size_t i : waiting) check(cases_[i]);
    std::vector<std::size_t> idle(workers.count());
    for (std::size_t i = 0; i < idle.size(); ++i) idle[i] = i;
    while (!waiting.empty() || idle.size() < workers.count()) {
      while (!waiting.empty() && !idle.empty()) {
        const std::size_t index = waiting.back();
        waiting.pop_back();
        points_[index] = study::PointMaker(cases_[index].study).make({});
        if (!points_[index]->error.empty()) {
          end(index, regress::failed(cases_[index], points_[index]->error));
          continue;
        }
        workers.give(idle.back(), index, points_[index]->task());
        idle.pop_back();
      }
      constexpr double kLook = 0.1;
      if (std::optional<study::Workers::Taken> taken = workers.take(kLook)) {
        idle.push_back(taken->worker);
        end(taken->answer.id, judged(std::move(taken->answer)));
      }
      look();
    }
  }

  /// Throws InputError for a metric that no result can have. A case that cannot be read fails when its turn comes.
  static void check(const Case& of) {
    const std::optional<study::Point> point = study::PointMaker(of.study).make({});
    std::optional<study::ReadTask> task;
    try {
      task.emplace(point->task());
      task->check();
    } catch (const std::exception&) {
      return;
    }
    study::check_metrics(of.study, *point, *task, {of.file, "metrics."});
  }

  CaseResult judged(study::Answer answer) {
    const std::size_t index = answer.id;
    if (answer.is_lost) answer.error = "its process was killed from outside";
    study::Metrics metrics(cases_[index].study);
    const study::Row row = study::row_of(*points_[index], std::move(answer), metrics);
    return regress::judge(cases_[index], row, metrics.wrong());
  }

  CaseResult validate(const Case& of) {
    look();
    const Stopwatch watch;
    std::vector<std::string> arguments = {"validate", "--json", "--jobs", std::to_string(std::min(options_.jobs, 64))};
    if (!of.validation->suite.empty()) arguments.insert(arguments.end(), {"--suite", of.validation->suite});
    if (!of.validation->table.empty()) arguments.push_back(of.validation->table);
    const ChildResult child = run_self(arguments);
    const nlohmann::json told = nlohmann::json::parse(child.out, nullptr, /*allow_exceptions=*/false);
    CaseResult result;
    if (child.exit_code > kFailed || !told.is_object()) {
      std::string message = child.err.substr(0, child.err.find_last_not_of('\n') + 1);
      if (message.starts_with("weft: ")) message.erase(0, std::string_view("weft: ").size());
      result =
          regress::failed(of, message.empty() ? fmt::format("weft validate ended with {}", child.exit_code) : message);
    } else {
      result = regress::judge_validation(of, told);
    }
    result.wall_s = watch.seconds();
    return result;
  }

  const RegressOptions& options_;
  const std::vector<Case>& cases_;
  std::vector<std::optional<CaseResult>> results_;
  std::vector<std::optional<study::Point>> points_;
  std::size_t ended_ = 0;
  std::size_t failed_ = 0;
  StatusLine line_;
  TimeLeft left_;
};

/// Golden values of cases that came to a result, which pass then. Says what changes, in text and JSON.
/// The mark of byte order that a file begins with, which its text is read without.
std::string mark_of(const std::string& file) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  std::string begin(kMark.size(), '\0');
  std::ifstream(file, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kMark ? begin : "";
}

ordered_json update(const std::vector<Case>& cases, std::vector<CaseResult>& results, std::string& text) {
  ordered_json updated = ordered_json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].validation || !results[i].message.empty()) continue;
    const ordered_json golden = regress::golden_of(results[i]);
    const std::string changes = regress::changes_text(cases[i].golden, golden);
    regress::take_as_golden(results[i]);
    if (changes.empty()) continue;
    write_file(cases[i].file, mark_of(cases[i].file) + regress::with_golden(cases[i].text, golden));
    text += "updated " + cases[i].file + "\n" + changes;
    updated.push_back({{"file", cases[i].file}, {"before", cases[i].golden}, {"golden", golden}});
  }
  if (updated.empty()) text += "no golden value has changed\n";
  return updated;
}

int run(const RegressOptions& options) {
  const std::vector<Case> cases = regress::read_cases(options.places);
  ResultFiles files;
  for (const Case& each : cases) files.spare(each.file);
  const std::filesystem::path junit =
      options.junit.empty() ? std::filesystem::path() : files.file("--junit", options.junit, ResultKind::kJunit);
  CaseRunner runner(options, cases);
  std::optional<Interrupted> interrupted;
  try {
    runner.run();
  } catch (const Interrupted& by) {
    interrupted = by;
  }
  std::vector<CaseResult> results = runner.results();
  std::string changes;
  ordered_json updated;
  if (!interrupted && options.update) updated = update(cases, results, changes);
  const bool passes = regress::all_pass(results);
  // Of all cases, or not written.
  if (!interrupted && !junit.empty()) write_file(junit, regress::to_junit(results));
  if (!interrupted) files.keep();
  if (options.json) {
    ordered_json told = regress::to_json(results);
    if (!updated.is_null()) told["updated"] = updated;
    told["partial"] = partial_json(interrupted);
    if (interrupted) told["pass"] = nullptr;
    print_json(told);
  } else if (!results.empty()) {
    print(changes + (updated.is_null() || !passes ? regress::to_text(results) : ""));
  }
  if (interrupted) throw Interrupted(*interrupted);
  return passes ? kDone : kFailed;
}

}  // namespace

Command regress_command(const Arguments& parent) {
  auto options = std::make_shared<RegressOptions>();
  const Arguments app = parent.add_subcommand(
      "regress", "Runs platforms whose results have to stay, and compares them with golden values");
  app.add_option("cases", options->places, "Cases, NAME.regress.json, or folders of them").required().type_name("FILE");
  app.add_flag("--update", options->update, "Write what comes out into the cases as their golden values");
  app.add_option("--junit", options->junit, "Write the verdicts as XML of JUnit, for CI").type_name("FILE");
  app.add_option("--jobs", options->jobs, "Cases at a time")
      .check(Within(1, 4096))
      .shows_default("the number of processors");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
