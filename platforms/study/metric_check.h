// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/study/points.h"
#include "platforms/study/study_file.h"
#include "platforms/study/task.h"

/// Mistakes of a study that are found before anything is simulated.
namespace weft::study {

/// Where a message says that metrics stand: "s.json" and "metrics.", or "--metric" and nothing.
struct MetricPlace {
  std::string file;
  std::string before;
};

/// Throws InputError for a metric that is no expression, needs its own value, or names what no result of the point has.
/// Of a result the names of its first level are known, and those of a collective's rows; of a kind of workload that a
/// user provides, none. `task` is the point's, after ReadTask::check().
void check_metrics(const Study& study, const Point& point, ReadTask& task, const MetricPlace& place);

/// Reads points as their runs would, one after the other, until one can be read and has all metrics. Throws what is
/// wrong with the first one where none can: a key that nobody knows is so in all of them.
void check_points(const Study& study, const std::vector<Point>& points, const MetricPlace& place);

/// Points of a search to check: the first values of its axes, with each value of each of them in turn.
[[nodiscard]] std::vector<Point> examples(const Study& study);

/// Throws UsageError for a text among the listed values of an axis that no point can read: a part that there is not, a
/// quantity without its unit.
void check_texts(const Study& study, const std::vector<Point>& points);

/// Throws InputError for a size of a collective that is no multiple of its elements.
void check_sizes(const Study& study, const std::vector<Point>& points);

}  // namespace weft::study
