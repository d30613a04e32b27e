// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/dealer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "platforms/results/version.h"

namespace weft::study {

using nlohmann::ordered_json;

namespace {

/// A process that is killed from outside, as by a system that is out of memory, has this many tries in all.
constexpr int kTries = 3;
constexpr double kLookEvery = 0.2;

/// What a row says of its point alone. One that failed keeps the limits by which it did.
void tell_of(const Point& point, Row& row) {
  row.key = point.key;
  row.is_current = true;
  row.values = ordered_json::object();
  for (const auto& [path, value] : point.values) row.values[path] = value;
  ordered_json task = to_json(point.task());
  if (!row.is_done && row.task.is_object()) {
    for (const char* const limit : {"time_ps", "memory"}) task[limit] = row.task.at(limit);
  }
  row.task = std::move(task);
}

}  // namespace

Row row_of(const Point& point, Answer answer, Metrics& metrics) {
  Row row;
  row.key = point.key;
  row.run = point.run;
  for (const auto& [path, value] : point.values) row.values[path] = value;
  row.task = to_json(point.task());
  row.version = platforms::version_text();
  row.error = std::move(answer.error);
  row.is_done = row.error.empty();
  row.wall_s = answer.wall_s;
  row.user_s = answer.user_s;
  row.peak_bytes = answer.peak_bytes;
  if (!row.is_done) return row;
  row.result = std::move(answer.result);
  row.configuration = std::move(answer.configuration);
  row.digest = std::move(answer.digest);
  row.metrics = metrics.of(row.result, row.values, row.configuration);
  return row;
}

void Dealer::set_base(const std::vector<Point>& points) {
  if (has_base_) return;
  for (const Point& point : points) {
    if (!point.error.empty()) continue;
    ordered_json base = platforms::configuration(ReadTask(point.task()).platform().document());
    base.erase("weft");
    database_.set_base(base);
    has_base_ = true;
    return;
  }
}

std::vector<IdleField> idle_fields_of(const Row& row) {
  std::vector<IdleField> found;
  const auto idle = row.result.is_object() ? row.result.find("without_effect") : row.result.end();
  if (!row.result.is_object() || idle == row.result.end()) return found;
  for (const ordered_json& each : *idle) {
    const std::string field = each.value("field", "");
    const ordered_json& overrides = row.task.at("overrides");
    const bool is_set = std::any_of(overrides.begin(), overrides.end(), [&field](const ordered_json& given) {
      const auto& path = given.at(0).get_ref<const std::string&>();
      return path == field || path.starts_with(field + ".") || field.starts_with(path + ".");
    });
    if (is_set) found.emplace_back(field, each.value("because", ""));
  }
  return found;
}

void Dealer::note(const Row& row) {
  for (const IdleField& field : idle_fields_of(row)) ++without_effect_[field];
}

void Dealer::store(const std::vector<const Point*>& points, Answer answer) {
  Row row = row_of(*points.front(), std::move(answer), metrics_);
  const auto store_all = [&] {
    note(row);
    database_.store(row);
    const std::string first = row.key;
    for (std::size_t i = 1; i < points.size(); ++i) {
      tell_of(*points[i], row);
      if (row.is_done) row.metrics = metrics_.of(row.result, row.values, row.configuration);
      note(row);
      database_.store_like(row, first);
    }
  };
  points.size() == 1 ? store_all() : database_.in_one(store_all);
}

const Row* Dealer::stored(const std::string& run, bool done_alone) {
  constexpr std::size_t kMostKept = 128;
  if (const auto kept = stored_.find(run); kept != stored_.end() && (kept->second.is_done || !done_alone)) {
    return &kept->second;
  }
  std::optional<Row> found = database_.find_run(run, done_alone);
  if (!found) return nullptr;
  if (stored_.size() >= kMostKept) stored_.clear();
  return &(stored_.insert_or_assign(run, std::move(*found)).first->second);
}

bool Dealer::is_to_retry(const Row& row) const {
  if (row.is_done) return false;
  if (retries_) return true;
  // What it was allowed when it failed.
  const auto less = [&](const char* name, std::int64_t allowed) {
    const auto before = row.task.at(name).get<std::int64_t>();
    return before != 0 && (allowed == 0 || allowed > before);
  };
  return (is_of_time(row.error) && less("time_ps", study_.limits.time.count())) ||
         (is_of_memory(row.error) && less("memory", study_.limits.memory.count()));
}

bool Dealer::take(const Point& point, Dealt& dealt) {
  const std::optional<Row> known = database_.find_short(point.key);
  const bool has_it = known && !is_to_retry(*known);
  // Of another point that failed and is to be tried again nothing is taken.
  const Row* const of_run = stored(has_it ? known->run : point.run, has_it ? known->is_done : retries_);
  if (of_run == nullptr || (!has_it && is_to_retry(*of_run))) return false;
  Row row;
  row.key = point.key;
  row.is_done = of_run->is_done;
  row.result = of_run->result;
  row.task = has_it ? known->task : of_run->task;
  tell_of(point, row);
  if (row.is_done) row.metrics = metrics_.of(row.result, row.values, of_run->configuration);
  note(row);
  if (!has_it) {
    ++(row.is_done ? dealt.equal : dealt.failed);
    database_.store_like(row, of_run->key);
    return true;
  }
  ++dealt.before;
  const bool is_as_stored =
      known->is_current && known->values == row.values && known->task == row.task && known->metrics == row.metrics;
  if (!is_as_stored) database_.take(row);
  return true;
}

Dealt Dealer::run(const std::vector<Point>& points) {
  Dealt dealt{.points = points.size()};
  set_base(points);
  // By what is simulated, in order; the first of each is.
  std::vector<std::vector<const Point*>> order;
  database_.in_one([&] {
    std::set<std::string> seen;
    std::map<std::string, std::size_t> place;
    for (const Point& point : points) {
      if (!seen.insert(point.key).second) {
        ++dealt.equal;
      } else if (take(point, dealt)) {
        continue;
      } else if (!point.error.empty()) {
        Answer answer;
        answer.error = point.error;
        const Row row = row_of(point, std::move(answer), metrics_);
        database_.store(row);
        ++dealt.failed;
      } else if (const auto [at, is_new] = place.emplace(point.run, order.size()); is_new) {
        order.push_back({&point});
      } else {
        order[at->second].push_back(&point);
      }
    }
    if (!std::exchange(has_begun_, true)) database_.leave_but(seen);
  });
  stored_.clear();
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.front()->size > b.front()->size; });
  double all = 0;
  for (const auto& points_of_run : order) all += points_of_run.front()->size;

  std::deque<std::size_t> waiting;
  for (std::size_t i = 0; i < order.size(); ++i) waiting.push_back(i);
  std::vector<int> tries(order.size(), 0);
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < workers_.count(); ++i) idle.push_back(workers_.count() - 1 - i);
  std::size_t under_way = 0;
  double ended = 0;
  while (!waiting.empty() || under_way > 0) {
    while (!waiting.empty() && !idle.empty()) {
      const std::size_t index = waiting.front();
      waiting.pop_front();
      ++tries[index];
      ++under_way;
      workers_.give(idle.back(), index, order[index].front()->task());
      idle.pop_back();
    }
    if (progress_) progress_(dealt);
    std::optional<Workers::Taken> taken = workers_.take(kLookEvery);
    if (!taken) continue;
    idle.push_back(taken->worker);
    --under_way;
    Answer& answer = taken->answer;
    const std::size_t index = answer.id;
    if (answer.is_lost && tries[index] < kTries) {
      waiting.push_front(index);
      continue;
    }
    if (answer.is_lost) {
      answer.error = "its process was killed, by SIGKILL, " + std::to_string(kTries) +
                     " times: the system does so when it is out of memory";
    }
    ++(answer.error.empty() ? dealt.done : dealt.failed);
    (answer.error.empty() ? dealt.equal : dealt.failed) += order[index].size() - 1;
    ended += order[index].front()->size;
    dealt.share = ended / all;
    store(order[index], std::move(answer));
  }
  if (progress_) progress_(dealt);
  return dealt;
}

void Dealer::renew_metrics() {
  // What is wrong with those of points that have left the study is nobody's concern.
  Metrics renewed(study_);
  std::vector<std::pair<std::string, ordered_json>> changed;
  database_.each_short(
      [&](const Row& row) {
        const Row* const of_run = stored(row.run, true);
        ordered_json metrics = renewed.of(of_run->result, row.values, of_run->configuration);
        if (metrics != row.metrics) changed.emplace_back(row.key, std::move(metrics));
      },
      " WHERE status='done'");
  if (changed.empty()) return;
  database_.in_one([&] {
    for (const auto& [key, metrics] : changed) database_.store_metrics(key, metrics);
  });
}

}  // namespace weft::study
