// SPDX-License-Identifier: Apache-2.0
#include "hw/core/config/own_fields.h"

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <variant>

#include "hw/core/config/number_limits.h"
#include "hw/core/number_text.h"

namespace weft {
namespace {

class FieldChecker final : public FieldVisitor {
 public:
  explicit FieldChecker(std::string path) : path_(std::move(path)) {}

 protected:
  void scalar(std::string_view name, std::string_view /*doc*/, const Scalar& member, Range range) override {
    enter(name);
    check(place_of(name), member, range);
  }
  void nested(std::string_view name, std::string_view /*doc*/, std::string_view /*kind*/,
              const Fields& fields) override {
    enter(name);
    FieldChecker inner(place_of(name));
    fields(inner);
  }
  void list(std::string_view name, std::string_view /*doc*/, const ListRef& member) override {
    enter(name);
    for (std::size_t i = 0; i < member.size(); ++i) {
      const std::string place = place_of(name) + "." + std::to_string(i);
      if (member.scalar) {
        check(place, member.scalar(i), member.range);
      } else {
        FieldChecker inner(place);
        member.fields(i, inner);
      }
    }
  }

 private:
  [[nodiscard]] std::string place_of(std::string_view name) const { return path_ + "." + std::string(name); }

  void enter(std::string_view name) {
    constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const std::string got = ", got \"" + std::string(name) + "\"";
    if (name.empty() || name.find_first_not_of(kCharacters) != std::string_view::npos) {
      throw std::invalid_argument(path_ + ": expected names of fields of letters, digits, - and _" + got);
    }
    // A platform names a part there, whose fields stand below.
    if (name == "part") {
      throw std::invalid_argument(path_ + ": expected a field of another name than a platform has for parts" + got);
    }
    if (names_.insert(std::string(name)).second) return;
    throw std::invalid_argument(place_of(name) + ": expected one field of this name, got two");
  }

  static void check(const std::string& place, const Scalar& member, Range range) {
    if (const auto* number = std::get_if<IntegerRef>(&member)) {
      check_count(place, number->load(), range, [](std::int64_t count) { return std::to_string(count); });
    } else if (const auto* name = std::get_if<EnumRef>(&member)) {
      if (name->load() >= name->names.size()) {
        throw std::invalid_argument(place + ": expected a default that has a name, got one that enum_names lacks");
      }
    } else if (double* const* real = std::get_if<double*>(&member)) {
      const double value = **real;
      if (range.has(value)) return;
      throw std::invalid_argument(place + ": expected a default that is " + number_within(range) + ", got " +
                                  to_text(value));
    } else {
      std::visit(
          [&]<typename Held>(Held held) {
            if constexpr (requires { to_text(*held), held->count(); }) {
              using Q = std::remove_cvref_t<decltype(*held)>;
              check_count(place, held->count(), range, [](std::int64_t count) { return to_text(Q(count)); });
            }
          },
          member);
    }
  }

  template <typename Print>
  static void check_count(const std::string& place, std::int64_t count, Range range, const Print& print) {
    if (count < range.min || count > range.max) {
      fail_default(place, print(range.min), range.max == INT64_MAX ? "" : print(range.max), print(count));
    }
  }

  [[noreturn]] static void fail_default(const std::string& place, const std::string& least, const std::string& most,
                                        const std::string& got) {
    throw std::invalid_argument(place + ": expected a default " +
                                (most.empty() ? "of at least " + least : "from " + least + " to " + most) + ", got " +
                                got);
  }

  std::string path_;
  std::set<std::string> names_;
};

}  // namespace

void check_own_fields(const std::string& path, const AnyConfig& config) {
  AnyConfig defaults = config;
  FieldChecker checker(path);
  defaults.fields(checker);
}

}  // namespace weft
