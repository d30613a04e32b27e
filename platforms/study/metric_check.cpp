// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/metric_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <map>
#include <optional>
#include <set>

#include "platforms/config/text.h"

namespace weft::study {

using nlohmann::json;
using platforms::InputError;

namespace {

using Names = std::set<std::string>;

/// Members of a result that a study keeps.
const Names kRows = {"weft",      "platform", "workload",       "op",     "type",         "ranks",
                     "algorithm", "remark",   "without_effect", "links",  "counters",     "warnings",
                     "events",    "hops",     "rows",           "digest", "simulated_us", "warm_up"};
const Names kRow = {"bytes",    "time_us",     "algbw", "busbw", "host_busy_us", "wrong",  "algorithm",
                    "protocol", "dpa_busy_us", "busy",  "binds", "multicast",    "phases", "traffic"};
const Names kRun = {"weft",         "platform",     "description",    "file",      "workload",
                    "accelerators", "simulated_us", "wrong",          "links",     "memory",
                    "counters",     "roofline",     "energy",         "prepared",  "remarks",
                    "simulator",    "warnings",     "without_effect", "compressed"};
const Names kSpeed = {"step_time_us",
                      "steps_us",
                      "steps_shown",
                      "tokens_per_s_per_gpu",
                      "tflops_per_gpu",
                      "mfu",
                      "mfu_percent",
                      "executed_tflops_per_gpu",
                      "accelerator_memory_bytes",
                      "optimizer_tflops_per_gpu",
                      "memory_of_stages_bytes",
                      "busiest_expert_rank",
                      "remote_memory_bytes",
                      "slowest_rank_us",
                      "steady"};
const Names kGraph = {"first_finish_ns",  "last_finish_ns", "finish_ns",    "nodes",
                      "collectives",      "messages",       "breakdown_us", "collectives_of_rank_0",
                      "memory_transfers", "steady"};
const Names kKfac = {
    "step_time_us",     "steps_us",   "steps_shown",       "steps_left_out",   "samples_per_s",
    "breakdown_us",     "factors",    "gradient_messages", "factor_messages",  "communicated_tensors",
    "delayed_messages", "rest_us",    "sent_share",        "activation_bytes", "allocated_activation_bytes",
    "profile",          "inversions", "inverting_us",      "messages",         "losses",
    "compared",         "steady"};

/// Names of the first level; none where they are not known.
std::optional<Names> names_of_result(ReadTask& task, bool has_why) {
  Names names;
  if (task.collective()) {
    names = kRows;
  } else {
    const json& workload = task.platform().workload().raw();
    const std::string kind = workload.is_object() && workload.contains("kind") && workload["kind"].is_string()
                                 ? workload["kind"].get<std::string>()
                                 : "";
    names = kRun;
    if (kind == "fsdp") {
      names.insert(kSpeed.begin(), kSpeed.end());
      names.insert({"breakdown_us", "collectives_of_rank_0"});
    } else if (kind == "chakra" || kind == "transformer") {
      names.insert(kSpeed.begin(), kSpeed.end());
      names.insert(kGraph.begin(), kGraph.end());
    } else if (kind == "kfac") {
      names.insert(kKfac.begin(), kKfac.end());
    } else {
      return std::nullopt;
    }
  }
  if (has_why) names.insert("why");
  return names;
}

std::vector<std::string> keys_of(const std::string& path) {
  std::vector<std::string> keys;
  for (std::size_t from = 0;;) {
    const std::size_t dot = path.find('.', from);
    keys.push_back(path.substr(from, dot - from));
    if (dot == std::string::npos) return keys;
    from = dot + 1;
  }
}

class MetricCheck {
 public:
  MetricCheck(const Study& study, const Point& point, ReadTask& task, const MetricPlace& place)
      : study_(study), task_(task), place_(place), results_(names_of_result(task, study.options.why)) {
    for (const auto& [name, value] : study.constants) given_.insert(name);
    for (const auto& [name, value] : point.values) given_.insert(name);
    // With what the run itself has asked for.
    const json effective = task.platform().document().effective();
    for (const auto& [path, value] : effective.items()) given_.insert(path);
  }

  /// A name of the study's own would hide a field of the same name from all expressions.
  void check_names() const {
    const json& fields = task_.values();
    for (const auto& [name, expression] : study_.metrics) {
      if (fields.contains(name) && expression.text() != name) {
        fail(name, "a name that no field of the platform has", platforms::in_quotes(name));
      }
    }
    for (const std::string& name : study_.own) {
      if (!fields.contains(name)) continue;
      throw InputError(study_.file, "values." + name, "a name that no field of the platform has",
                       platforms::in_quotes(name));
    }
  }

  void check(const std::string& name, const Expression& expression) {
    if (!under_way_.insert(name).second) fail(name, "an expression that does not need its own value");
    const std::string& text = expression.text();
    const std::vector<std::string> keys = keys_of(text);
    if (is_in_result(keys) && text.find(".*") == std::string::npos) {
      check_path(name, keys);
    } else {
      check_expression(name, expression);
    }
    under_way_.erase(name);
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& expected, const std::string& got = "") const {
    throw InputError(place_.file, place_.before + name, expected, got);
  }

  /// Whether a text is a path of a result, in which a key may have any characters.
  [[nodiscard]] bool is_in_result(const std::vector<std::string>& keys) const {
    return results_ && results_->contains(keys.front()) && !given_.contains(keys.front()) &&
           std::all_of(keys.front().begin(), keys.front().end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }) &&
           !has_operator(keys) && !is_sum_of_rows(keys);
  }
  /// Names of rows are known: what has other characters than a name is an expression, as "rows.1.time_us -
  /// rows.0.time_us".
  static bool is_sum_of_rows(const std::vector<std::string>& keys) {
    return keys.front() == "rows" && std::any_of(keys.begin(), keys.end(), [](const std::string& key) {
             return key != "*" && !std::all_of(key.begin(), key.end(),
                                               [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
           });
  }
  static bool has_operator(const std::vector<std::string>& keys) {
    return std::any_of(keys.begin(), keys.end(), [](const std::string& key) {
      return key != "*" && key.find_first_of("+*/^()<>=") != std::string::npos;
    });
  }

  void check_path(const std::string& name, const std::vector<std::string>& keys) const {
    if (!task_.collective() || keys.front() != "rows") return;
    const std::string rows =
        "rows.N." + platforms::join(std::vector<std::string>{kRow.begin(), kRow.end()}, ", rows.N.");
    const std::string got = platforms::in_quotes(platforms::join(keys, "."));
    if (keys.size() < 3) fail(name, "a path to a number or a text, one of " + rows, got);
    const std::optional<std::uint64_t> row = platforms::whole_number(keys[1]);
    const std::size_t count = task_.collective()->sizes.size();
    if (keys[1] != "*" && (!row || *row >= count)) {
      fail(name,
           "a row from rows.0 to rows." + std::to_string(count - 1) + ", or rows.* within max(), min(), sum() or avg()",
           got);
    }
    if (!kRow.contains(keys[2])) fail(name, "one of " + rows, got);
  }

  void check_expression(const std::string& name, const Expression& expression) {
    std::vector<std::string> needed;
    try {
      needed = expression.names();
    } catch (const ExpressionError& error) {
      fail(name, error.what());
    }
    for (const std::string& each : needed) {
      const auto metric = std::find_if(study_.metrics.begin(), study_.metrics.end(),
                                       [&each](const auto& known) { return known.first == each; });
      if (metric != study_.metrics.end()) {
        check(each, metric->second);
      } else if (given_.contains(each) || !results_) {
        continue;
      } else if (const std::vector<std::string> keys = keys_of(each); is_in_result(keys)) {
        check_path(name, keys);
      } else {
        std::vector<std::string> known(given_.begin(), given_.end());
        known.insert(known.end(), results_->begin(), results_->end());
        for (const auto& [other, of] : study_.metrics) known.push_back(other);
        const std::string near = platforms::nearest(each, known);
        fail(name, "an axis, a value, a metric, a field of the platform or a path of the result",
             platforms::in_quotes(each) + (near.empty() ? "" : "; did you mean " + platforms::in_quotes(near) + "?"));
      }
    }
  }

  const Study& study_;
  ReadTask& task_;
  const MetricPlace& place_;
  std::optional<Names> results_;
  Names given_;
  Names under_way_;
};

/// Where a study has said what is wrong: "axes.fabric.link.ratee".
InputError with_place(const Study& study, const InputError& error) {
  const auto is_it = [&error](const std::string& path) {
    return !error.path().empty() && (path == error.path() || path.starts_with(error.path() + "."));
  };
  const auto moved = [&](const std::string& place) {
    return InputError(study.file, place, error.expected(), error.got());
  };
  if (error.file() != study.file) return error;
  for (const auto& [path, value] : study.set) {
    if (is_it(path)) return moved("set." + path);
  }
  for (const Axis& axis : study.axes) {
    if (is_it(axis.path)) return moved("axes." + axis.path);
  }
  for (const std::vector<Axis>& zip : study.zips) {
    for (const Axis& axis : zip) {
      if (is_it(axis.path)) return moved("zip." + axis.path);
    }
  }
  for (const Sampling& sampling : study.samplings) {
    for (const Axis& axis : sampling.axes) {
      if (is_it(axis.path)) return moved((sampling.latin ? "latin_hypercube.ranges." : "random.ranges.") + axis.path);
    }
  }
  for (const auto& [path, expression] : study.derived) {
    if (is_it(path)) return moved("derived." + path);
  }
  for (std::size_t i = 0; i < study.fidelity.size(); ++i) {
    for (const auto& [path, value] : study.fidelity[i].set) {
      if (is_it(path)) return moved("fidelity." + std::to_string(i) + ".set." + path);
    }
  }
  return error;
}

/// The task of a point as read. What is derived follows from other values: where one of those cannot be read, that is
/// what is wrong.
ReadTask read_of(const Study& study, const Point& point) {
  try {
    ReadTask task(point.task());
    task.check();
    return task;
  } catch (const InputError&) {
    Point given = point;
    std::erase_if(given.values, [&study](const auto& value) {
      return std::any_of(study.derived.begin(), study.derived.end(),
                         [&value](const auto& each) { return each.first == value.first; });
    });
    if (given.values.size() < point.values.size()) {
      try {
        static_cast<void>(ReadTask(given.task()));
      } catch (const InputError& error) {
        if (error.file() == study.file && !error.path().empty()) throw;
      }
    }
    throw;
  }
}

}  // namespace

void check_metrics(const Study& study, const Point& point, ReadTask& task, const MetricPlace& place) {
  MetricCheck check(study, point, task, place);
  check.check_names();
  for (const auto& [name, expression] : study.metrics) check.check(name, expression);
}

void check_points(const Study& study, const std::vector<Point>& points, const MetricPlace& place) {
  constexpr std::size_t kMost = 64;
  std::exception_ptr first;
  const std::size_t every = std::max<std::size_t>(1, points.size() / kMost);
  for (std::size_t i = 0; i < points.size(); i += every) {
    const Point& point = points[i];
    std::optional<ReadTask> task;
    if (point.is_undefined) {
      if (!first) first = std::make_exception_ptr(platforms::UsageError(point.error));
      continue;
    }
    try {
      task.emplace(read_of(study, point));
    } catch (const InputError& error) {
      if (!first) first = std::make_exception_ptr(with_place(study, error));
      continue;
    } catch (const std::exception& error) {
      if (!first) first = std::make_exception_ptr(platforms::UsageError(error.what()));
      continue;
    }
    try {
      check_metrics(study, point, *task, place);
      return;
    } catch (const InputError&) {
      // Points of another platform may have it.
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

std::vector<Point> examples(const Study& study) {
  // Axes of a zip take their values together, and those with a span at both ends.
  std::vector<std::vector<Assignments>> variables;
  for (const Axis& axis : study.axes) {
    std::vector<Assignments>& all = variables.emplace_back();
    if (axis.span) {
      all = {{{axis.path, axis.span->from}}, {{axis.path, axis.span->to}}};
    } else {
      for (const json& value : axis.values) all.push_back({{axis.path, value}});
    }
  }
  for (const std::vector<Axis>& zip : study.zips) {
    std::vector<Assignments>& all = variables.emplace_back();
    for (std::size_t i = 0; i < zip.front().values.size(); ++i) {
      Assignments& together = all.emplace_back();
      for (const Axis& axis : zip) together.emplace_back(axis.path, axis.values[i]);
    }
  }
  std::vector<Point> points;
  const auto add = [&](const PointMaker& maker, std::size_t which, std::size_t value) {
    Assignments values;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Assignments& own = variables[i][i == which ? value : 0];
      values.insert(values.end(), own.begin(), own.end());
    }
    if (std::optional<Point> point = maker.make(values)) points.push_back(std::move(*point));
  };
  constexpr std::size_t kMostValues = 64;
  const PointMaker maker(study);
  add(maker, 0, 0);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    for (std::size_t value = 1; value < std::min(variables[i].size(), kMostValues); ++value) add(maker, i, value);
  }
  return points;
}

void check_texts(const Study& study, const std::vector<Point>& points) {
  std::map<std::string, const Axis*> axes;
  const auto add = [&axes](const Axis& axis) {
    if (std::any_of(axis.values.begin(), axis.values.end(), [](const json& value) { return value.is_string(); })) {
      axes.emplace(axis.path, &axis);
    }
  };
  for (const Axis& axis : study.axes) add(axis);
  for (const std::vector<Axis>& zip : study.zips) std::for_each(zip.begin(), zip.end(), add);
  // By path and text, of what points failed for want of it.
  std::map<std::pair<std::string, std::string>, std::string> wrong;
  const auto each_text = [&](const Point& point, const auto& work) {
    for (const auto& [path, value] : point.values) {
      if (axes.count(path) != 0 && value.is_string()) work(path, value.template get<std::string>());
    }
  };
  for (const Point& point : points) {
    if (point.error.empty()) continue;
    each_text(point, [&](const std::string& path, const std::string& text) {
      const std::string place = study.file + ": " + path + ": ";
      if (point.error.starts_with(place)) wrong.emplace(std::pair(path, text), point.error.substr(place.size()));
    });
  }
  if (wrong.empty()) return;
  for (const Point& point : points) {
    if (point.error.empty()) {
      each_text(point, [&wrong](const auto& path, const auto& text) { wrong.erase({path, text}); });
    }
  }
  if (wrong.empty()) return;
  const auto& [of, error] = *wrong.begin();
  const bool is_axis = std::any_of(study.axes.begin(), study.axes.end(),
                                   [&path = of.first](const Axis& axis) { return axis.path == path; });
  throw platforms::UsageError(study.file + (is_axis ? ": axes." : ": zip.") + of.first + ": " + error);
}

void check_sizes(const Study& study, const std::vector<Point>& points) {
  for (const Point& point : points) {
    if (point.error.starts_with(study.file + ": collective.bytes: ")) throw platforms::UsageError(point.error);
  }
}

}  // namespace weft::study
