// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/points.h"

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

/// Values by name while a point is made: given ones, derived ones, and those that the platform has with them.
class Making {
 public:
  Making(const Study& study, const Assignments& more, const Assignments& values) : study_(study) {
    for (const auto& [name, value] : study.constants) given_.emplace(name, value);
    for (const auto& [name, value] : values) given_.insert_or_assign(name, value);
    point_.values = values;
    Task& task = point_.task;
    task.platform = study.platform;
    task.collective = study.collective;
    task.options = study.options;
    task.limits = study.limits;
    task.by = study.file;
    for (const auto& [path, value] : study.set) assign(path, value);
    for (const auto& [path, value] : more) assign(path, value);
    for (const auto& [path, value] : values) assign(path, value);
    task.platform = study.platform_file(task.platform);
  }

  std::optional<Point> point(const std::optional<std::size_t>& step) {
    for (const auto& [path, expression] : study_.derived) derive(path);
    // Those that were read so far are without what is derived.
    before_ = std::move(read_);
    for (const auto& [path, value] : derived_) {
      assign(path, value);
      point_.values.emplace_back(path, value);
    }
    for (std::size_t i = 0; i < study_.constraints.size(); ++i) {
      const std::string place = "constraints." + std::to_string(i);
      const std::optional<double> met = value_of(study_.constraints[i], place);
      if (met && *met == 0) return std::nullopt;
    }
    if (ReadTask* const read = this->read()) {
      point_.run = read->key();
      point_.read = read->values();
    } else {
      point_.run = key_of_unreadable(point_.task);
    }
    if (step) point_.values.emplace_back(kFidelity, *step);
    point_.key = key();
    point_.size = size();
    return std::move(point_);
  }

 private:
  void assign(const std::string& path, const json& value) {
    if (study_.is_own(path)) return;
    Task& task = point_.task;
    if (path == "platform") {
      if (!value.is_string()) throw InputError(study_.file, path, "a platform's name", platforms::got_text(value));
      task.platform = value.get<std::string>();
    } else if (path.starts_with(kCollective)) {
      if (task.collective.is_null()) {
        throw InputError(study_.file, path, "collective beside it, an object with op and bytes", "none");
      }
      task.collective[path.substr(kCollective.size())] = value;
    } else {
      task.overrides.emplace_back(path, value);
    }
  }

  /// The platform with what is assigned so far. Null, and the error kept, if it cannot be read.
  ReadTask* read() {
    if (read_ == nullptr && point_.error.empty()) {
      try {
        read_ = std::make_unique<ReadTask>(point_.task);
      } catch (const std::exception& error) {
        point_.error = error.what();
      }
    }
    return read_.get();
  }

  std::optional<json> find(const std::string& name) {
    if (const auto found = given_.find(name); found != given_.end()) return found->second;
    for (const auto& [path, expression] : study_.derived) {
      if (path == name) return derive(path);
    }
    ReadTask* const task = read();
    if (task == nullptr) return json(0);  // The point has an error, which is what is told of it.
    const auto found = task->values().find(name);
    if (found == task->values().end()) return std::nullopt;
    return *found;
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
    if (!study_.is_own(path) && !path.starts_with(kCollective)) {
      if (ReadTask* const task = read(); task != nullptr) example = task->values().value(path, json());
    }
    json value = value_like(example, number);
    derived_.emplace_back(path, value);
    return value;
  }

  std::optional<double> value_of(const Expression& expression, const std::string& place) {
    try {
      const double value = expression.value([this](const std::string& name) { return find(name); });
      if (!point_.error.empty()) return std::nullopt;
      return value;
    } catch (const ExpressionError& error) {
      throw InputError(study_.file, place, error.what(), "");
    }
  }

  /// Of points that differ in own values alone, metrics differ; platforms of other names may be equal, and nobody may
  /// read what a point says.
  [[nodiscard]] std::string key() const {
    json own = json::object();
    for (const auto& [name, value] : point_.values) {
      const bool is_read = point_.read.is_object() && point_.read.contains(name);
      if (study_.is_own(name) || name == "platform" || name == kFidelity || !is_read) own[name] = value;
    }
    return own.empty() ? point_.run : hash_of(point_.run + own.dump());
  }

  /// What most of the time goes with: accelerators, layers and bytes.
  [[nodiscard]] double size() const {
    double size = 1;
    for (const char* const path : {"accelerators", "workload.layers", "workload.steps", "workload.batch",
                                   "workload.micro_batch", "collective.bytes"}) {
      if (!point_.read.is_object() || !point_.read.contains(path)) continue;
      const std::optional<double> number = number_of(point_.read[path]);
      if (number && *number > 1) size *= *number;
    }
    return size;
  }

  const Study& study_;
  Point point_;
  std::map<std::string, json> given_;
  Assignments derived_;
  std::set<std::string> under_way_;
  std::unique_ptr<ReadTask> before_;
  std::unique_ptr<ReadTask> read_;
};

/// Every list of values with every of another.
std::vector<Assignments> product(const std::vector<Assignments>& slow, const std::vector<Assignments>& fast) {
  std::vector<Assignments> all;
  all.reserve(slow.size() * fast.size());
  for (const Assignments& one : slow) {
    for (const Assignments& other : fast) {
      all.push_back(one);
      all.back().insert(all.back().end(), other.begin(), other.end());
    }
  }
  return all;
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

std::optional<Point> PointMaker::make(const Assignments& values) const {
  return Making(*study_, more_, values).point(step_);
}

std::vector<Assignments> combinations(const Study& study) {
  std::vector<Assignments> all = {{}};
  for (const Axis& axis : study.axes) all = product(all, values_of({axis}));
  for (const std::vector<Axis>& together : study.zips) all = product(all, values_of(together));
  std::vector<Assignments> sampled;
  for (const Sampling& sampling : study.samplings) {
    for (Assignments& each : samples(sampling)) sampled.push_back(std::move(each));
  }
  return sampled.empty() ? all : product(all, sampled);
}

}  // namespace weft::study
