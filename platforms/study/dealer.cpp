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

}  // namespace

Row row_of(const Point& point, Answer answer, Metrics& metrics) {
  Row row;
  row.key = point.key;
  row.run = point.run;
  for (const auto& [path, value] : point.values) row.values[path] = value;
  row.task = to_json(point.task);
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
    ordered_json base = platforms::configuration(ReadTask(point.task).platform().document());
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

void Dealer::store(const Point& point, Answer answer) {
  const Row row = row_of(point, std::move(answer), metrics_);
  note(row);
  database_.store(row);
}

bool Dealer::take(const Point& point, Dealt& dealt) {
  const auto as_now = [&](Row row) {
    row.key = point.key;
    row.is_current = true;
    row.values = ordered_json::object();
    for (const auto& [path, value] : point.values) row.values[path] = value;
    row.task = to_json(point.task);
    if (row.is_done) row.metrics = metrics_.of(row.result, row.values, row.configuration);
    note(row);
    return row;
  };
  if (std::optional<Row> known = database_.find(point.key); known && (known->is_done || !retries_)) {
    database_.take(as_now(std::move(*known)));
    ++dealt.before;
    return true;
  }
  std::optional<Row> equal = database_.find_run(point.run, retries_);
  if (!equal) return false;
  ++(equal->is_done ? dealt.equal : dealt.failed);
  database_.store(as_now(std::move(*equal)));
  return true;
}

Dealt Dealer::run(const std::vector<Point>& points) {
  Dealt dealt{.points = points.size()};
  set_base(points);
  // By what is simulated, in order; the first of each is.
  std::vector<std::vector<const Point*>> order;
  database_.in_one([&] {
    if (!std::exchange(has_begun_, true)) database_.leave_all();
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
        store(point, std::move(answer));
        ++dealt.failed;
      } else if (const auto [at, is_new] = place.emplace(point.run, order.size()); is_new) {
        order.push_back({&point});
      } else {
        order[at->second].push_back(&point);
      }
    }
  });
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
      workers_.give(idle.back(), index, order[index].front()->task);
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
    for (const Point* const point : order[index]) store(*point, answer);
  }
  if (progress_) progress_(dealt);
  return dealt;
}

void Dealer::renew_metrics() {
  // What is wrong with those of points that have left the study is nobody's concern.
  Metrics renewed(study_);
  for (const Row& row : database_.rows()) {
    if (!row.is_done) continue;
    const ordered_json metrics = renewed.of(row.result, row.values, row.configuration);
    if (metrics != row.metrics) database_.store_metrics(row.key, metrics);
  }
}

}  // namespace weft::study
