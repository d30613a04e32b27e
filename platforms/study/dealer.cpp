// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/dealer.h"

#include <algorithm>
#include <deque>
#include <set>

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

void Dealer::store(const Point& point, Answer answer) {
  database_.store(row_of(point, std::move(answer), metrics_));
}

Dealt Dealer::run(const std::vector<Point>& points) {
  Dealt dealt{.points = points.size()};
  set_base(points);
  std::vector<const Point*> order;
  std::set<std::string> seen;
  for (const Point& point : points) {
    if (!seen.insert(point.key).second || database_.has(point.key, retries_)) {
      ++dealt.before;
    } else if (!point.error.empty()) {
      Answer answer;
      answer.error = point.error;
      store(point, std::move(answer));
      ++dealt.failed;
    } else {
      order.push_back(&point);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const Point* a, const Point* b) { return a->size > b->size; });
  double all = 0;
  for (const Point* const point : order) all += point->size;

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
      workers_.give(idle.back(), index, order[index]->task);
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
    ended += order[index]->size;
    dealt.share = ended / all;
    store(*order[index], std::move(answer));
  }
  if (progress_) progress_(dealt);
  return dealt;
}

void Dealer::renew_metrics() {
  for (const Row& row : database_.rows()) {
    if (!row.is_done) continue;
    const ordered_json metrics = metrics_.of(row.result, row.values, row.configuration);
    if (metrics != row.metrics) database_.store_metrics(row.key, metrics);
  }
}

}  // namespace weft::study
