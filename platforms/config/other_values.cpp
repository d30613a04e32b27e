// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/other_values.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "platforms/config/find_field.h"

namespace weft::platforms {
namespace {

/// The neighbours, and steps away from it in both directions: by eights to the limits, or where large values cost by
/// twos and no further than a thousand.
std::vector<std::int64_t> other_counts(std::int64_t count, Range range, Extremes extremes) {
  constexpr std::int64_t kFar = 1024;
  const bool tries = extremes == Extremes::kTried;
  const std::int64_t step = tries ? 8 : 2;
  const std::int64_t most = tries ? range.max : std::min(range.max, std::max(kFar, count));
  std::vector<std::int64_t> all = {range.min, count / 2};
  if (count < range.max) all.push_back(count + 1);
  if (count > 0) all.push_back(count - 1);
  for (std::int64_t less = count / step; less > range.min; less /= step) all.push_back(less);
  for (std::int64_t more = std::max<std::int64_t>(count, 1); more <= most / step;) all.push_back(more *= step);
  all.push_back(most);
  std::erase_if(all, [&](std::int64_t other) { return other < range.min || other > range.max || other == count; });
  return all;
}

/// Calls `attempt` with each other value stored, and puts the first one back.
class Attempts {
 public:
  Attempts(Range range, Extremes extremes, const std::function<void()>& attempt)
      : range_(range), extremes_(extremes), attempt_(attempt) {}

  template <typename Tag>
  void operator()(Quantity<Tag>* member) const {
    const Quantity<Tag> value = *member;
    for (const std::int64_t other : other_counts(value.count(), range_, extremes_)) {
      *member = Quantity<Tag>(other);
      attempt_();
    }
    *member = value;
  }
  void operator()(const IntegerRef& member) const {
    const std::int64_t value = member.load();
    const Range both{std::max(range_.min, member.type.min), std::min(range_.max, member.type.max)};
    for (const std::int64_t other : other_counts(value, both, extremes_)) {
      member.store(other);
      attempt_();
    }
    member.store(value);
  }
  void operator()(double* member) const {
    const double value = *member;
    std::vector<double> all = {value / 2, value * 0.9, value * 1.1, value * 2, 0.01, 0.1, 0.5, 1};
    if (extremes_ == Extremes::kTried) {
      all.push_back(static_cast<double>(range_.min));
      if (range_.max < INT64_MAX) all.push_back(static_cast<double>(range_.max));
    }
    for (const double other : all) {
      if (other == value || !range_.has(other)) continue;
      *member = other;
      attempt_();
    }
    *member = value;
  }
  void operator()(bool* member) const {
    *member = !*member;
    attempt_();
    *member = !*member;
  }
  void operator()(const EnumRef& member) const {
    const std::size_t value = member.load();
    for (std::size_t other = 0; other < member.names.size(); ++other) {
      if (other == value) continue;
      member.store(other);
      attempt_();
    }
    member.store(value);
  }
  void operator()(std::string* /*member*/) const {}

 private:
  Range range_;
  Extremes extremes_;
  const std::function<void()>& attempt_;
};

/// Stores a value that is far away.
class FarAway {
 public:
  FarAway(Range range, bool up) : range_(range), up_(up) {}

  template <typename Tag>
  void operator()(Quantity<Tag>* member) const {
    *member = Quantity<Tag>(from(member->count(), range_));
  }
  void operator()(const IntegerRef& member) const {
    member.store(from(member.load(), {std::max(range_.min, member.type.min), std::min(range_.max, member.type.max)}));
  }
  void operator()(double* member) const {
    const double least = static_cast<double>(range_.min);
    const double far = *member == 0 ? 1 : up_ ? *member * kFar : *member / kFar;
    const double clamped = std::clamp(far, least, static_cast<double>(range_.max));
    if (range_.has(clamped)) *member = clamped;  // else it would be at an excluded limit
  }
  template <typename Other>
  void operator()(const Other& /*member*/) const {}

 private:
  static constexpr std::int64_t kFar = 1024;

  [[nodiscard]] std::int64_t from(std::int64_t value, Range range) const {
    const std::int64_t up = value > range.max / kFar ? range.max : value * kFar;
    return std::clamp(value == 0 ? 1 : up_ ? up : value / kFar, range.min, range.max);
  }

  Range range_;
  bool up_;
};

}  // namespace

void move_far(const std::function<void(FieldVisitor&)>& fields, std::string_view path, bool up) {
  const std::optional<FoundField> field = find_field(fields, path);
  if (field) std::visit(FarAway(field->range, up), field->scalar);
}

bool is_indifferent(const std::function<void(FieldVisitor&)>& fields, std::string_view path,
                    const std::function<std::uint64_t()>& result, Extremes extremes) {
  const std::optional<FoundField> field = find_field(fields, path);
  if (!field) return false;
  const std::uint64_t usual = result();
  bool tried = false;
  bool same = true;
  const std::function<void()> attempt = [&] {
    if (!same) return;
    try {
      same = result() == usual;
      tried = true;
    } catch (const std::exception&) {
      // Nobody could set that.
    }
  };
  std::visit(Attempts(field->range, extremes, attempt), field->scalar);
  return tried && same;
}

}  // namespace weft::platforms
