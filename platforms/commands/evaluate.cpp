// SPDX-License-Identifier: Apache-2.0
// weft evaluate: a platform that another program asks about, a line for each question.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/choices.h"
#include "platforms/config/text.h"
#include "platforms/study/dealer.h"
#include "platforms/study/metric_check.h"
#include "platforms/study/read_members.h"
#include "platforms/study/stored_text.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct EvaluateOptions {
  std::string platform;
  std::vector<std::string> set;
  std::vector<std::string> metrics;
  std::string op;
  std::string bytes = "1MiB";
  std::string algorithm;
  std::string time;
  std::string memory;
  bool steady = false;
  int jobs = 1;
};

/// NAME=TEXT.
std::pair<std::string, std::string> halves(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw UsageError(option + ": expected NAME=TEXT, got " + in_quotes(text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

template <typename Quantity>
Quantity limit(const char* option, const std::string& text, Quantity (*parse)(std::string_view)) {
  if (text.empty()) return Quantity();
  try {
    return parse(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string(option) + ": expected a quantity, got " + in_quotes(text) + ": " + error.what());
  }
}

/// The study of which each line is a point.
study::Study study_of(const EvaluateOptions& options) {
  study::Study of;
  of.file = "PLATFORM";
  of.platform = of.platform_file(options.platform);
  of.options.steady = options.steady;
  of.limits = {limit<Time>("--time", options.time, parse_time), limit<Bytes>("--memory", options.memory, parse_bytes)};
  for (const std::string& each : options.set) {
    const auto [path, text] = halves("--set", each);
    nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    of.set.emplace_back(path, value.is_discarded() ? nlohmann::json(text) : value);
  }
  if (!options.op.empty()) {
    of.collective = {{"op", options.op}, {"bytes", options.bytes}};
    if (!options.algorithm.empty()) of.collective["algorithm"] = options.algorithm;
  }
  for (const std::string& each : options.metrics) {
    const auto [name, text] = halves("--metric", each);
    const std::vector<std::string>& taken = study::reserved_names();
    if (std::find(taken.begin(), taken.end(), name) != taken.end()) {
      throw UsageError("--metric: expected another name than " + join(taken, ", ") + ", got " + in_quotes(name));
    }
    if (const std::string wrong = study::wrong_for_one_point(text); !wrong.empty()) {
      throw UsageError("--metric: " + name + ": expected " + wrong);
    }
    if (std::any_of(of.metrics.begin(), of.metrics.end(),
                    [&name = name](const auto& known) { return known.first == name; })) {
      throw UsageError("--metric: expected each name once, got " + in_quotes(name) + " again");
    }
    of.metrics.emplace_back(name, study::Expression(text));
  }
  return of;
}

/// Lines of standard input, as they come.
class Lines {
 public:
  /// Waits for some if `waits`, else takes what is there.
  void read(bool waits) {
    if (ended_) return;
    pollfd watched{STDIN_FILENO, POLLIN, 0};
    if (poll(&watched, 1, waits ? -1 : 0) <= 0) return;
    char bytes[65536];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) return;
    if (count < 0) throw UsageError(std::string("standard input: expected lines, got ") + std::strerror(errno));
    if (count <= 0) {
      ended_ = true;
      if (!text_.empty()) lines_.push_back(std::exchange(text_, ""));
      return;
    }
    text_.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      lines_.push_back(text_.substr(0, end));
    }
  }
  [[nodiscard]] bool ended() const { return ended_ && lines_.empty(); }
  std::optional<std::string> next() {
    if (lines_.empty()) return std::nullopt;
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::deque<std::string> lines_;
  std::string text_;
  bool ended_ = false;
};

/// Gives answers in the order of the questions.
class Server {
 public:
  Server(study::Study of, study::Workers& workers) : study_(std::move(of)), workers_(workers) {
    for (std::size_t i = 0; i < workers.count(); ++i) idle_.push_back(i);
  }

  int serve() {
    Lines lines;
    while (!lines.ended() || !asked_.empty()) {
      if (!idle_.empty()) lines.read(asked_.empty());
      while (!idle_.empty()) {
        const std::optional<std::string> line = lines.next();
        if (!line) break;
        ask(*line);
      }
      // A client that waits for one answer before it asks for the next does so for no longer than this.
      constexpr double kLook = 0.005;
      if (!asked_.empty()) take(idle_.empty() ? 1 : kLook);
      tell();
    }
    return kDone;
  }

 private:
  struct Asked {
    std::shared_ptr<const study::Study> of;
    study::Point point;
    std::size_t line;
  };

  void ask(const std::string& line) {
    ++line_;
    const std::uint64_t id = asked_next_++;
    try {
      // A point needs it until it is answered.
      auto shared = std::make_shared<study::Study>(study_);
      study::Study& of = *shared;
      of.file = "line " + std::to_string(line_);
      if (line.find_first_not_of(" \t\r") == std::string::npos) {
        throw InputError(of.file, "", "an object of overrides, PATH: VALUE", "nothing");
      }
      const nlohmann::json given = parse_own_json(line, of.file);
      if (!given.is_object()) throw InputError(of.file, "", "an object of overrides, PATH: VALUE", got_text(given));
      study::Assignments values;
      add_overrides(given, "", values);
      std::set<std::string> paths;
      for (const auto& [path, value] : values) {
        if (!paths.insert(path).second) throw InputError(of.file, path, "one value", "a second one in the same line");
      }
      std::optional<study::Point> point = study::PointMaker(of).make(values);
      if (!point->error.empty()) throw UsageError(point->error);
      workers_.give(idle_.back(), id, point->task());
      idle_.pop_back();
      asked_.emplace(id, Asked{std::move(shared), std::move(*point), line_});
    } catch (const std::exception& error) {
      told_.emplace(id, ordered_json{{"error", with_line(line_, error.what())}});
    }
  }

  /// As a patch has them: what stands beside an object's members stays.
  static void add_overrides(const nlohmann::json& given, const std::string& path, study::Assignments& values) {
    if (!given.is_object()) {
      values.emplace_back(path, given);
      return;
    }
    for (const auto& [key, member] : given.items())
      add_overrides(member, path.empty() ? key : path + "." + key, values);
  }

  static std::string with_line(std::size_t line, const std::string& error) {
    const std::string place = "line " + std::to_string(line) + ": ";
    return error.starts_with(place) ? error : place + error;
  }

  void take(double seconds) {
    std::optional<study::Workers::Taken> taken = workers_.take(seconds);
    if (!taken) return;
    idle_.push_back(taken->worker);
    const auto asked = asked_.find(taken->answer.id);
    told_.emplace(asked->first, told_of(asked->second, std::move(taken->answer)));
    asked_.erase(asked);
  }

  /// Whatever it is, a question has an answer.
  ordered_json told_of(const Asked& asked, study::Answer answer) {
    try {
      const study::Point& point = asked.point;
      if (answer.is_lost) answer.error = "its process was killed from outside";
      study::Metrics metrics(study_);
      study::Row row = study::row_of(point, std::move(answer), metrics);
      for (const auto& [field, why] : study::idle_fields_of(row)) {
        if (!without_effect_.insert(field).second) continue;
        print_warnings({fmt::format("{}: {}: without effect: {}", point.study->file, field, why)});
      }
      if (!row.error.empty()) return {{"error", with_line(asked.line, row.error)}};
      if (study_.metrics.empty()) return row.result;
      if (metrics.wrong().empty()) return row.metrics;
      std::vector<std::string> wrong;
      for (const auto& [metric, expected] : metrics.wrong()) wrong.push_back(metric + ": expected " + expected);
      ordered_json told = row.metrics;  // others may be known
      told["error"] = with_line(asked.line, "--metric: " + join(wrong, "; "));
      return told;
    } catch (const std::exception& error) {
      return {{"error", with_line(asked.line, error.what())}};
    }
  }

  void tell() {
    for (auto next = told_.find(told_next_); next != told_.end(); next = told_.find(told_next_)) {
      print(study::dumped(next->second) + "\n");
      told_.erase(next);
      ++told_next_;
    }
  }

  study::Study study_;
  study::Workers& workers_;
  std::vector<std::size_t> idle_;
  std::map<std::uint64_t, Asked> asked_;
  std::map<std::uint64_t, ordered_json> told_;
  std::uint64_t asked_next_ = 0;
  std::uint64_t told_next_ = 0;
  std::size_t line_ = 0;
  std::set<std::string> without_effect_;  ///< fields of which that was said
};

/// What is wrong with options would be wrong with each line.
void check(const study::Study& of) {
  study::Study options = of;
  options.file = "--set";
  const std::optional<study::Point> point = study::PointMaker(options).make({});
  try {
    study::ReadTask task(point->task());
    task.check();
    study::check_metrics(options, *point, task, {"--metric", ""});
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const std::string collective = options.file + ": collective.";
    if (text.starts_with(collective)) throw UsageError("--" + text.substr(collective.size()));
    // What else does not fit may do so with the values of a line.
    if (dynamic_cast<const InputError*>(&error) != nullptr) throw;
  }
}

int run(const EvaluateOptions& options) {
  study::Study of = study_of(options);
  // Before anything else is begun in this process: workers are copies of it.
  study::LocalWorkers workers(static_cast<std::size_t>(options.jobs));
  check(of);
  return Server(std::move(of), workers).serve();
}

}  // namespace

Command evaluate_command(const Arguments& parent) {
  auto options = std::make_shared<EvaluateOptions>();
  const Arguments app = parent.add_subcommand(
      "evaluate", "Answers other programs: an object of overrides a line on standard input, metrics a line on output");
  app.add_option("platform", options->platform, "A platform in JSON, or the name of one of the catalogue")
      .required()
      .type_name("PLATFORM");
  app.add_option("--set", options->set, "path=value: overrides a value for all lines; can be repeated")
      .one_at_a_time()
      .type_name("PATH=VALUE");
  app.add_option(
         "--metric", options->metrics,
         "A path in summary.json, or an expression; can be repeated. Without any, a line is all of summary.json")
      .one_at_a_time()
      .type_name("NAME=PATH");
  app.add_option("--op", options->op, "Time this collective in place of the platform's workload")
      .check(OneOf(names_of<CollectiveOp>()));
  app.add_option("--bytes", options->bytes, "Of the collective's whole buffer").type_name("SIZES").shows_default();
  app.add_option("--algorithm", options->algorithm, "Of the collective, instead of the platform's");
  app.add_flag("--steady", options->steady, "As weft run has it");
  app.add_option("--time", options->time, "What a line may take on the wall, such as 60s").type_name("TIME");
  app.add_option("--memory", options->memory, "What a line may take of memory, such as 4GiB").type_name("SIZE");
  app.add_option("--jobs", options->jobs, "Lines at a time").check(Within(1, 4096)).shows_default();
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
