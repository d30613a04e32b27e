// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How a module's configuration describes itself. Each module has a `struct Config` whose members hold the defaults of
/// a real part, and lists them once:
///
///     using namespace weft::literals;  // 400_Gbps
///
///     struct Config {
///       Rate rate = 400_Gbps;
///       int lanes = 2;
///       template <typename Visitor>
///       void fields(Visitor&& visit) {
///         visit("rate", rate, "Bits per second in each direction");
///         visit("lanes", lanes, "Virtual lanes", Range{1, 8});
///       }
///     };
///
/// The same list reads JSON, prints the effective configuration and writes the configuration reference, so the three
/// never disagree. A member may be a quantity, an integer, a double, a bool, a string, an enum with `enum_names`, or
/// another Config. hw/ knows nothing of JSON: the visitors are in platforms/config.
namespace weft {

/// Limits of a field, in counts of its unit: picoseconds, bytes, bits per second, Hz, FLOPS, femtojoules and milliwatts
/// for quantities, and the number itself for integers and doubles, which without a range are 0 or more. Both limits are
/// integers and included; a double's can be excluded. Values of a list are each within them.
struct Range {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
  bool above_min = false;  ///< a double is more than min
  bool below_max = false;  ///< a double is less than max

  /// Whether a double is within the limits.
  [[nodiscard]] constexpr bool has(double value) const {
    const auto least = static_cast<double>(min);
    const auto most = static_cast<double>(max);
    const bool is_enough = above_min ? value > least : value >= least;
    return is_enough && (max == INT64_MAX || (below_max ? value < most : value <= most));
  }
};

inline constexpr Range kAboveZero = {0, INT64_MAX, true, false};
/// More than 0 and at most 1.
inline constexpr Range kShareAboveZero = {0, 1, true, false};
/// At least 0 and less than 1.
inline constexpr Range kShareBelowOne = {0, 1, false, true};

/// Names of an enum's values in a configuration: found by argument-dependent lookup as
/// `EnumNames<E> enum_names(E)`.
template <typename E>
using EnumNames = std::vector<std::pair<std::string_view, E>>;

/// The name of a value.
template <typename E>
std::string_view name_of(E value) {
  for (const auto& [name, each] : enum_names(E{})) {
    if (each == value) return name;
  }
  return {};
}

/// The user's configuration is wrong. `path` is the place in the platform ("fabric.link.rate"), `expected` a sentence
/// that says what would be right. The command line adds the file and exits with 2.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(std::string path, std::string expected)
      : std::runtime_error(path + ": " + expected), path_(std::move(path)), expected_(std::move(expected)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& expected() const { return expected_; }

 private:
  std::string path_;
  std::string expected_;
};

}  // namespace weft
