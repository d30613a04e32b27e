// SPDX-License-Identifier: Apache-2.0
#include "hw/core/config/number_limits.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "hw/core/number_text.h"

namespace weft {
namespace {

class NumberChecker final : public FieldVisitor {
 public:
  explicit NumberChecker(std::string path) : path_(std::move(path)) {}

 protected:
  void scalar(std::string_view name, std::string_view /*doc*/, const Scalar& member, Range range) override {
    check(place_of(name), member, range);
  }
  void nested(std::string_view name, std::string_view /*doc*/, std::string_view /*kind*/,
              const Fields& fields) override {
    NumberChecker inner(place_of(name));
    fields(inner);
  }
  void list(std::string_view name, std::string_view /*doc*/, const ListRef& member) override {
    for (std::size_t i = 0; i < member.size(); ++i) {
      const std::string place = place_of(name) + "." + std::to_string(i);
      if (member.scalar) {
        check(place, member.scalar(i), member.range);
      } else {
        NumberChecker inner(place);
        member.fields(i, inner);
      }
    }
  }

 private:
  [[nodiscard]] std::string place_of(std::string_view name) const { return path_ + "." + std::string(name); }

  static void check(const std::string& place, const Scalar& member, Range range) {
    double* const* const number = std::get_if<double*>(&member);
    if (number == nullptr || range.has(**number)) return;
    throw ConfigError(place, "expected " + number_within(range) + ", got " + to_text(**number));
  }

  std::string path_;
};

}  // namespace

std::string number_limits(Range range) {
  const std::string least = std::to_string(range.min);
  const std::string most = std::to_string(range.max);
  const bool has_most = range.max < INT64_MAX;
  if (has_most && !range.above_min && !range.below_max) return least + " to " + most;
  const std::string from = (range.above_min ? "more than " : "at least ") + least;
  return has_most ? from + " and " + (range.below_max ? "less than " : "at most ") + most : from;
}

std::string number_within(Range range) {
  const bool is_span = range.max < INT64_MAX && !range.above_min && !range.below_max;
  return (is_span ? "a number from " : "a number, ") + number_limits(range);
}

void check_numbers(const std::function<void(FieldVisitor&)>& fields, const std::string& path) {
  NumberChecker checker(path);
  fields(checker);
}

}  // namespace weft
