// SPDX-License-Identifier: Apache-2.0
// weft validate: published measurements beside what the simulator says.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/result_files.h"
#include "platforms/cli/signals.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/results/accuracy/accuracy_pages.h"
#include "platforms/results/write_file.h"
#include "traces/files/data_path.h"
#include "traces/files/temporary.h"
#include "traces/json/json_path.h"
#include "traces/published_table.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using traces::PublishedResult;
using traces::PublishedRow;

struct ValidateOptions {
  std::vector<std::string> tables;
  std::string markdown;
  std::string suite;
  unsigned jobs = 2;
  bool json = false;
};

/// A command line that one or more rows need.
struct Run {
  std::vector<std::string> arguments;
  nlohmann::json output;
  std::string message;  ///< why there is no output
  bool done = false;
};

std::vector<std::string> default_tables() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(traces::find_data("published"))) {
    if (entry.path().extension() != ".csv") continue;
    // The folder also has measurements of other shapes, which tests compare with models.
    if (traces::CsvTable::read(entry.path()).has_column("metric")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A file beside the table, or else one from where the command runs, or a name of the catalogue.
std::string platform_of(const PublishedRow& row) {
  std::error_code ignored;
  const fs::path beside = fs::path(row.file).parent_path() / row.platform;
  return fs::is_regular_file(beside, ignored) ? beside.string() : row.platform;
}

/// "collective --op all_gather" on PLATFORM: the platform follows the command's name.
std::vector<std::string> command_line(const PublishedRow& row, const std::string& arguments, const fs::path& scratch) {
  std::vector<std::string> words;
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.empty()) {
    throw UsageError(fmt::format("{}:{}: column 'arguments': expected a command of weft", row.file, row.line));
  }
  words.insert(words.begin() + 1, platform_of(row));
  if (words.front() == "run") words.insert(words.end(), {"--out", scratch.string(), "--timeline-ranks", "0"});
  words.emplace_back("--json");
  return words;
}

void execute(Run& run) {
  const ChildResult child = run_self(run.arguments);
  // A run may compare its own data, and say by exit code 1 that they differ: then its times mean nothing.
  if (child.exit_code != 0) {
    run.message = child.err.empty() ? fmt::format("weft ended with {}", child.exit_code) : child.err;
    while (run.message.ends_with('\n')) run.message.pop_back();
    return;
  }
  run.output = nlohmann::json::parse(child.out, nullptr, /*allow_exceptions=*/false);
  if (run.output.is_discarded()) run.message = "weft printed no JSON";
}

/// Runs all, `jobs` at a time. A signal ends those that run, and the others are left out.
std::optional<Interrupted> execute_all(std::vector<Run*>& runs, unsigned jobs) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0;
  std::size_t done = 0;
  std::size_t working = jobs;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < runs.size() && interruption() == 0) {
      Run& run = *runs[next++];
      lock.unlock();
      bool ended = true;
      try {
        execute(run);
      } catch (const Interrupted&) {
        ended = false;
      } catch (const std::exception& error) {
        run.message = error.what();
      }
      lock.lock();
      run.done = ended && interruption() == 0;
      if (run.done) ++done;
      changed.notify_one();
    }
    --working;
    changed.notify_one();
  };
  const Interruptible rows;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < jobs; ++i) threads.emplace_back(work);
  {
    StatusLine line;
    TimeLeft left;
    std::unique_lock lock(mutex);
    while (working > 0) {
      changed.wait_for(lock, std::chrono::milliseconds(200));
      if (!line.due()) continue;
      left.update(line.seconds(), static_cast<double>(done) / static_cast<double>(runs.size()));
      const std::string rest = left.text();
      line.show(fmt::format("{} of {} runs are done{}", done, runs.size(), rest.empty() ? "" : ", " + rest));
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (interruption() == 0) return std::nullopt;
  Interrupted interrupted(interruption());
  interrupted.kept = fmt::format("{} of {} runs are done", done, runs.size());
  return interrupted;
}

/// `runs`: the row's own, and that of what is taken off or what it is divided by, if anything is.
PublishedResult judge(const PublishedRow& row, const std::vector<const Run*>& runs) {
  double value = 0;
  double divisor = 0;
  for (const Run* run : runs) {
    if (!run->message.empty()) return traces::broken(row, run->message);
    try {
      for (const auto& [path, constant, sign] : row.terms()) {
        if (path.empty() && run != runs.front()) continue;  // of the row, not of a run
        const double said = path.empty() ? constant : row.in_unit(path, traces::resolve_number(run->output, path));
        if (run != runs.front() && row.is_ratio()) {
          divisor += sign * said;
        } else {
          value += (run == runs.front() ? sign : -sign) * said;
        }
      }
    } catch (const traces::PathError& error) {
      return traces::broken(row, error.what());
    }
  }
  if (!row.is_ratio()) return traces::evaluate(row, value);
  if (divisor == 0) return traces::broken(row, "the value that it is divided by is 0");
  return traces::evaluate(row, value / divisor);
}

/// The pages of `--markdown`.
class Pages {
 public:
  /// `rows`: of the suites that are run. Places that cannot be written are known then.
  Pages(const ValidateOptions& options, const std::vector<PublishedRow>& rows, ResultFiles& files)
      : options_(&options) {
    if (options.markdown.empty()) return;
    std::deque<std::string> names;
    std::vector<NamedResult> results;
    for (const PublishedRow& row : rows) {
      if (!can_name_a_page(row.suite)) {
        throw UsageError(
            fmt::format("{}:{}: column 'suite': expected letters, digits, -, _ and . for --markdown, which "
                        "names a page so, got {}",
                        row.file, row.line, in_quotes(row.suite)));
      }
      if (!tables_.emplace(row.suite, row.file).second) continue;
      results.push_back({names.emplace_back(row.suite + ".md"), ResultKind::kAccuracy});
      results.push_back({names.emplace_back(row.suite + ".svg"), ResultKind::kPicture});
      results.push_back({names.emplace_back(row.suite + ".csv"), ResultKind::kAccuracyTable});
    }
    results.push_back({"README.md", ResultKind::kAccuracy});
    folder_ = files.folder("--markdown", options.markdown, results);
  }

  void write(const std::vector<PublishedResult>& results) const {
    if (folder_.empty()) return;
    std::vector<std::pair<traces::SuiteStatistics, Reading>> suites;
    for (const traces::SuiteStatistics& suite : traces::statistics(results)) {
      std::vector<PublishedResult> rows;
      std::copy_if(results.begin(), results.end(), std::back_inserter(rows),
                   [&suite](const PublishedResult& result) { return result.row.suite == suite.suite; });
      const fs::path& table = tables_.at(suite.suite);
      suites.emplace_back(suite, Reading::find(table, suite.suite));
      const SuitePage page = suite_page(rows, suites.back().second, options_->tables.empty() ? "" : table.string());
      write_file(folder_ / (suite.suite + ".md"), page.markdown);
      write_file(folder_ / (suite.suite + ".svg"), page.plot);
      if (!page.table.empty()) write_file(folder_ / (suite.suite + ".csv"), page.table);
    }
    // A run of all that come with Weft is the whole summary; another one renews its own rows.
    const bool is_all = options_->tables.empty() && options_->suite.empty();
    write_file(folder_ / "README.md", accuracy_summary(suites, reading(), is_all ? "" : earlier(), options_->tables));
  }

 private:
  /// Of the summary: that beside the tables, if they lie in one folder. A user's tables beside Weft's have none.
  [[nodiscard]] Reading reading() const {
    const fs::path folder = tables_.begin()->second.parent_path();
    for (const auto& [suite, table] : tables_) {
      if (table.parent_path() != folder) return {};
    }
    return Reading::find(tables_.begin()->second, "README");
  }

  [[nodiscard]] std::string earlier() const {
    std::ifstream file(fs::path(options_->markdown) / "README.md");
    std::ostringstream text;
    if (file) text << file.rdbuf();
    return text.str();
  }

  const ValidateOptions* options_;
  fs::path folder_;
  std::map<std::string, fs::path> tables_;  ///< by suite, the first that has it
};

void print_results(const std::vector<PublishedResult>& results, bool json,
                   const std::optional<Interrupted>& interrupted) {
  if (!json) {
    if (!results.empty()) print(traces::to_text(results));
    return;
  }
  nlohmann::ordered_json object = traces::to_json(results);
  object["partial"] = partial_json(interrupted);
  if (interrupted) object["pass"] = nullptr;
  print_json(object);
}

int run(const ValidateOptions& options) {
  const std::vector<std::string> tables = options.tables.empty() ? default_tables() : options.tables;
  ResultFiles files;
  for (const std::string& table : tables) files.spare(table);
  std::vector<PublishedRow> rows;
  std::set<std::string> suites;
  for (const std::string& table : tables) {
    for (PublishedRow& row : traces::read_published(table)) {
      suites.insert(row.suite);
      if (options.suite.empty() || row.suite == options.suite) rows.push_back(std::move(row));
    }
  }
  if (rows.empty() && !options.suite.empty()) {
    throw UsageError("--suite: expected one of " + join(std::vector<std::string>(suites.begin(), suites.end()), ", ") +
                     ", got " + in_quotes(options.suite));
  }
  const Pages pages(options, rows, files);
  const auto scratch = traces::Temporary::make_folder(fs::temp_directory_path());
  std::map<std::vector<std::string>, Run> runs;
  std::vector<Run*> order;
  std::vector<std::vector<const Run*>> runs_of;
  for (const PublishedRow& row : rows) {
    auto& needed = runs_of.emplace_back();
    for (const std::string& arguments : row.command_lines()) {
      const auto [entry, fresh] = runs.try_emplace({platform_of(row), arguments});
      if (fresh) {
        // Each run writes to a folder of its own.
        entry->second.arguments = command_line(row, arguments, scratch.path() / std::to_string(order.size()));
        order.push_back(&entry->second);
      }
      needed.push_back(&entry->second);
    }
  }
  const std::optional<Interrupted> interrupted = execute_all(order, options.jobs);

  std::vector<PublishedResult> results;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool done = std::all_of(runs_of[i].begin(), runs_of[i].end(), [](const Run* run) { return run->done; });
    if (done) results.push_back(judge(rows[i], runs_of[i]));
  }
  if (interrupted) {
    // Pages are of all rows or are not written.
    print_results(results, options.json, interrupted);
    throw Interrupted(*interrupted);
  }
  pages.write(results);
  files.keep();
  print_results(results, options.json, interrupted);
  return traces::all_pass(results) ? kDone : kFailed;
}

}  // namespace

Command validate_command(const Arguments& parent) {
  auto options = std::make_shared<ValidateOptions>();
  const Arguments app =
      parent.add_subcommand("validate", "Compares the simulator's results with published measurements");
  app.add_option("tables", options->tables, "Tables of measurements; all that come with Weft if left out")
      .type_name("FILE");
  app.add_option("--suite", options->suite, "Only rows of this suite").type_name("SUITE");
  app.add_option("--markdown", options->markdown,
                 "Write a page with a plot for each suite, and a summary, to this folder")
      .type_name("FOLDER");
  app.add_option("--jobs", options->jobs, "Runs at a time").shows_default().check(Within(1, 64));
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
