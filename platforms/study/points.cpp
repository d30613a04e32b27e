// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "hw/core/random.h"
#include "platforms/config/text.h"
#include "platforms/study/expression/quantity_value.h"
#include "platforms/study/stored_text.h"

namespace weft::study {

using nlohmann::json;
using platforms::InputError;

namespace {

constexpr std::string_view kCollective = "collective.";

void assign(const Study& study, const std::string& path, const json& value, Task& task) {
  if (study.is_own(path)) return;
  if (path == "platform") {
    if (!value.is_string()) throw InputError(study.file, path, "a platform's name", platforms::got_text(value));
    task.platform = value.get<std::string>();
  } else if (path.starts_with(kCollective)) {
    if (task.collective.is_null()) {
      throw InputError(study.file, path, "collective beside it, an object with op and bytes", "none");
    }
    task.collective[path.substr(kCollective.size())] = value;
  } else {
    task.overrides.emplace_back(path, value);
  }
}

/// The task of points with these values.
Task task_with(const Study& study, const Assignments* more, const Assignments& values) {
  Task task;
  task.platform = study.platform;
  task.collective = study.collective;
  task.options = study.options;
  task.limits = study.limits;
  task.by = study.file;
  for (const auto& [path, value] : study.set) assign(study, path, value, task);
  if (more != nullptr) {
    for (const auto& [path, value] : *more) assign(study, path, value, task);
  }
  for (const auto& [path, value] : values) {
    if (path != kFidelity) assign(study, path, value, task);
  }
  task.platform = study.platform_file(task.platform);
  return task;
}

/// What tells tasks of one study apart.
std::string text_of(const Task& task) {
  json overrides = json::array();
  for (const auto& [path, value] : task.overrides) overrides.push_back({path, value});
  return task.platform + overrides.dump() + task.collective.dump();
}

/// What most of the time goes with: accelerators, layers and bytes.
double size_of_task(const json& values) {
  double size = 1;
  for (const char* const path : {"accelerators", "workload.layers", "workload.steps", "workload.batch",
                                 "workload.micro_batch", "collective.bytes"}) {
    const auto found = values.find(path);
    const std::optional<double> number = found == values.end() ? std::nullopt : number_of(*found);
    if (number && *number > 1) size *= *number;
  }
  return size;
}

std::vector<Assignments> values_of(const std::vector<Axis>& together) {
  std::vector<Assignments> all(together.front().values.size());
  for (const Axis& axis : together) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].emplace_back(axis.path, axis.values[i]);
  }
  return all;
}

/// Shares of an axis, one for each point. Each axis has random numbers of its own, so that another one does not change
/// them.
std::vector<double> shares(const Sampling& sampling, const Axis& axis) {
  const auto points = static_cast<std::size_t>(sampling.points);
  Random random(static_cast<std::uint64_t>(sampling.seed), axis.path);
  std::vector<double> all(points);
  for (double& share : all) share = random.share();
  if (!sampling.latin) return all;
  std::vector<std::size_t> strata(points);
  std::iota(strata.begin(), strata.end(), 0);
  for (std::size_t i = points; i > 1; --i) std::swap(strata[i - 1], strata[random.next() % i]);
  for (std::size_t i = 0; i < points; ++i) {
    all[i] = (static_cast<double>(strata[i]) + all[i]) / static_cast<double>(points);
  }
  return all;
}

std::vector<Assignments> samples(const Sampling& sampling) {
  std::vector<Assignments> all(static_cast<std::size_t>(sampling.points));
  for (const Axis& axis : sampling.axes) {
    const std::vector<double> at = shares(sampling, axis);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].emplace_back(axis.path, value_at(axis, at[i]));
  }
  return all;
}

}  // namespace

json value_at(const Axis& axis, double share) {
  if (!axis.span) {
    const auto count = static_cast<double>(axis.values.size());
    return axis.values[std::min(static_cast<std::size_t>(share * count), axis.values.size() - 1)];
  }
  const Span& span = *axis.span;
  const double from = *number_of(span.from);
  const double to = *number_of(span.to);
  // Of a size that is a plain number, too, whole elements are wanted.
  const json example = axis.path == "collective.bytes" && span.from.is_number() ? json("1B") : span.from;
  const auto between = [&](double last) {
    return span.log ? from * std::pow(last / from, share) : from + share * (last - from);
  };
  if (example.is_number_integer() && span.to.is_number_integer()) {
    return static_cast<std::int64_t>(std::min(std::floor(between(to + 1)), to));
  }
  const json sampled = round_like(example, between(to), /*down=*/true);
  return *number_of(sampled) < from ? span.from : sampled;
}

/// What points of one task have in common.
struct PointMaker::Known {
  std::string error;
  std::map<std::string, std::optional<json>> fields;  ///< those that were asked for
  std::string run;                                    ///< empty: it was not needed yet
  double size = 0;
  std::set<std::string> unread;  ///< names of what a point varies that no value of the platform has
};

/// Values by name while a point is made: given ones, derived ones, and those that the platform has with them.
class PointMaker::Making {
 public:
  Making(const PointMaker& maker, const Assignments& values) : maker_(maker), study_(*maker.study_) {
    for (const auto& [name, value] : study_.constants) given_.emplace(name, value);
    for (const auto& [name, value] : values) given_.insert_or_assign(name, value);
    point_.values = values;
    point_.study = maker.study_;
    point_.more = maker.more_;
    task_ = task_with(study_, maker.more_.get(), values);
  }

  std::optional<Point> point() {
    for (const auto& [path, expression] : study_.derived) derive(path);
    if (!undefined_.empty()) return undefined();
    if (!derived_.empty()) {
      // What was read so far is without what is derived.
      point_.values.insert(point_.values.end(), derived_.begin(), derived_.end());
      for (const auto& [path, value] : derived_) assign(study_, path, value, task_);
      read_.reset();
      known_ = nullptr;
    }
    for (std::size_t i = 0; i < study_.constraints.size(); ++i) {
      const std::string place = "constraints." + std::to_string(i);
      const std::optional<double> met = value_of(study_.constraints[i], place);
      if (!undefined_.empty()) return undefined();
      if (met && *met == 0) return std::nullopt;
    }
    Known& known = this->known();
    if (known.run.empty()) name(known);
    point_.error = known.error;
    point_.run = known.run;
    point_.size = known.size;
    if (maker_.step_) point_.values.emplace_back(kFidelity, *maker_.step_);
    point_.key = key(known);
    return std::move(point_);
  }

 private:
  Known& known() {
    if (known_ != nullptr) return *known_;
    if (maker_.repeats_) {
      known_ = &(*maker_.known_)[text_of(task_)];
    } else {
      own_known_ = Known();
      known_ = &own_known_;
    }
    return *known_;
  }

  /// The platform with what is assigned so far. Null, and the error kept, if it cannot be read.
  ReadTask* read() {
    Known& known = this->known();
    if (read_ == nullptr && known.error.empty()) {
      try {
        read_ = std::make_unique<ReadTask>(task_);
      } catch (const std::exception& error) {
        known.error = error.what();
      }
    }
    return read_.get();
  }

  std::optional<json> field(const std::string& name) {
    Known& known = this->known();
    if (const auto found = known.fields.find(name); found != known.fields.end()) return found->second;
    ReadTask* const task = read();
    if (task == nullptr) return json(0);  // The point has an error, which is what is told of it.
    const auto found = task->values().find(name);
    std::optional<json>& kept = known.fields[name];
    if (found != task->values().end()) kept = *found;
    return kept;
  }

  void name(Known& known) {
    ReadTask* const task = read();
    known.run = task == nullptr ? key_of_unreadable(task_) : task->key();
    known.size = task == nullptr ? 1 : size_of_task(task->values());
    for (const auto& [path, value] : point_.values) {
      if (task == nullptr || !task->values().contains(path)) known.unread.insert(path);
    }
  }

  std::optional<json> find(const std::string& name) {
    if (const auto found = given_.find(name); found != given_.end()) return found->second;
    for (const auto& [path, expression] : study_.derived) {
      if (path == name) return derive(path);
    }
    return field(name);
  }

  json derive(const std::string& path) {
    for (const auto& [known, value] : derived_) {
      if (known == path) return value;
    }
    const std::string place = "derived." + path;
    if (!under_way_.insert(path).second) {
      throw InputError(study_.file, place, "an expression that does not need its own value", "a circle");
    }
    const auto found = std::find_if(study_.derived.begin(), study_.derived.end(),
                                    [&path](const auto& each) { return each.first == path; });
    const double number = value_of(found->second, place).value_or(0);
    json example;
    if (!study_.is_own(path) && !path.starts_with(kCollective) && known().error.empty()) {
      example = field(path).value_or(json());
    }
    json value = 0;
    try {
      value = value_like(example, number);
    } catch (const std::exception&) {
      undefine(place, "a value that the field can have, got " + fmt::format("{:g}", number), found->second, {});
    }
    derived_.emplace_back(path, value);
    return value;
  }

  std::optional<double> value_of(const Expression& expression, const std::string& place) {
    Assignments used;
    try {
      const double value = expression.value([&](const std::string& name) {
        const std::optional<json> found = find(name);
        if (!found) throw ExpressionError("an axis, a value or a field of the platform, got " + unknown(name));
        used.emplace_back(name, *found);
        return found;
      });
      if (!known().error.empty() || !undefined_.empty()) return std::nullopt;
      if (std::isfinite(value)) return value;
      undefine(place, "a finite number, got " + not_finite_text(value), expression, used);
      return std::nullopt;
    } catch (const ExpressionError& error) {
      throw InputError(study_.file, place, error.what(), "");
    }
  }

  [[nodiscard]] std::string unknown(const std::string& name) const {
    const bool is_metric = std::any_of(study_.metrics.begin(), study_.metrics.end(),
                                       [&name](const auto& metric) { return metric.first == name; });
    return platforms::in_quotes(name) +
           (is_metric ? ", a metric, which is known after the simulation; require has expressions over metrics" : "");
  }

  /// The point fails for want of this value, and others go on.
  void undefine(const std::string& place, const std::string& what, const Expression& expression,
                const Assignments& used) {
    if (!undefined_.empty()) return;
    std::string given;
    for (const auto& [name, value] : used) given += (given.empty() ? " with " : ", ") + name + " " + value.dump();
    undefined_ =
        InputError(study_.file, place, what + " of " + platforms::in_quotes(expression.text()) + given, "").what();
  }
  Point undefined() {
    point_.error = undefined_;
    point_.is_undefined = true;
    if (maker_.step_) point_.values.emplace_back(kFidelity, *maker_.step_);
    json values = json::object();
    for (const auto& [name, value] : point_.values) values[name] = value;
    point_.run = hash_of(key_of_unreadable(task_) + values.dump() + undefined_);
    point_.key = point_.run;
    point_.size = 1;
    return std::move(point_);
  }

  /// Of points that differ in own values alone, metrics differ; platforms of other names may be equal, and nobody may
  /// read what a point says.
  [[nodiscard]] std::string key(const Known& known) const {
    json own = json::object();
    for (const auto& [name, value] : point_.values) {
      const bool is_told = study_.is_own(name) || name == "platform" || name == kFidelity;
      if (is_told || known.unread.count(name) != 0) own[name] = value;
    }
    return own.empty() ? point_.run : hash_of(point_.run + own.dump());
  }

  const PointMaker& maker_;
  const Study& study_;
  Point point_;
  Task task_;
  std::map<std::string, json> given_;
  Assignments derived_;
  std::set<std::string> under_way_;
  std::string undefined_;  ///< what has no value
  Known own_known_;
  Known* known_ = nullptr;
  std::unique_ptr<ReadTask> read_;
};

PointMaker::PointMaker(const Study& study)
    : study_(&study),
      repeats_(std::any_of(study.axes.begin(), study.axes.end(),
                           [&study](const Axis& axis) { return study.is_own(axis.path); })),
      known_(std::make_unique<std::unordered_map<std::string, Known>>()) {}

PointMaker::PointMaker(const Study& study, Assignments more, std::size_t step) : PointMaker(study) {
  more_ = std::make_shared<const Assignments>(std::move(more));
  step_ = step;
}

PointMaker::~PointMaker() = default;

Task Point::task() const {
  return task_with(*study, more.get(), values);
}

std::optional<Point> PointMaker::make(const Assignments& values) const {
  return Making(*this, values).point();
}

Combinations::Combinations(const Study& study) {
  const auto too_many = [&](const std::string& count) {
    throw InputError(study.file, "", fmt::format("a study of at most {} points, before constraints", kMostPoints),
                     count + "; give its axes fewer values, or take samples of them (latin_hypercube) or a search");
  };
  // Counted before any is made.
  double count = 1;
  for (const Axis& axis : study.axes) count *= static_cast<double>(axis.values.size());
  for (const std::vector<Axis>& together : study.zips) count *= static_cast<double>(together.front().values.size());
  double sampled = 0;
  for (const Sampling& sampling : study.samplings) sampled += sampling.points;
  if (sampled > 0) count *= sampled;
  if (count > static_cast<double>(kMostPoints)) too_many(fmt::format("{:.0f}", count));
  for (const Axis& axis : study.axes) factors_.push_back(values_of({axis}));
  for (const std::vector<Axis>& together : study.zips) factors_.push_back(values_of(together));
  if (!study.samplings.empty()) {
    std::vector<Assignments>& all = factors_.emplace_back();
    for (const Sampling& sampling : study.samplings) {
      for (Assignments& each : samples(sampling)) all.push_back(std::move(each));
    }
  }
  for (const std::vector<Assignments>& factor : factors_) size_ *= factor.size();
}

Assignments Combinations::at(std::size_t index) const {
  std::vector<const Assignments*> parts(factors_.size());
  std::size_t count = 0;
  for (std::size_t i = factors_.size(); i-- > 0;) {
    parts[i] = &factors_[i][index % factors_[i].size()];
    index /= factors_[i].size();
    count += parts[i]->size();
  }
  Assignments all;
  all.reserve(count);
  for (const Assignments* const part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

}  // namespace weft::study
