// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// What accelerators of a machine are limited by, where several fields limit the same.
namespace weft::platforms {

struct MachineConfig;

/// "accelerator3" as "accelerator" and 3.
[[nodiscard]] std::pair<std::string_view, std::optional<int>> numbered(std::string_view place);

/// Rates of a memory, one behind the other, in bytes per second: the least of them is what it lets through.
struct MemoryRates {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  double rate = kNoLimit;               ///< of HBM itself, as far as long transfers sustain it
  double interconnect_rate = kNoLimit;  ///< for all
  double core_rate = kNoLimit;          ///< for kernels and copies, and not for interfaces

  /// What kernels and copies get, and what interfaces get.
  [[nodiscard]] double of_cores() const;
  [[nodiscard]] double of_interfaces() const;
  /// The field that sets it: "accelerator.hbm.core_rate".
  [[nodiscard]] std::string_view field_of_cores() const;
  [[nodiscard]] std::string_view field_of_interfaces() const;
  /// One of them by the name of its field; null: it is none.
  [[nodiscard]] double* named(std::string_view field);
};

/// `accelerator` of a machine, or an entry of its `others`.
struct AcceleratorLimits {
  int first = 0;
  int count = 0;  ///< 0: those that no entry of `others` has
  MemoryRates memory;
  double clock_cap = MemoryRates::kNoLimit;  ///< as a share of the clock at which the array is quoted
  bool has_power_cap = false;
  std::map<std::string, double, std::less<>> used_ps{};  ///< as why.json has it, of those alone
};

/// Parts as why.json has them (`parts`); none, as in results of earlier versions.
class Parts {
 public:
  explicit Parts(const nlohmann::ordered_json& why);
  /// Of the accelerator at a place, or of its interface; null: nothing is known.
  [[nodiscard]] const AcceleratorLimits* at(std::string_view place) const;
  /// The entry of `others` that has the accelerator at a place: "others.0"; empty: none.
  [[nodiscard]] std::string name_at(std::string_view place) const;
  /// Of an entry of `others`, or of those that are in none; null: nothing is known.
  [[nodiscard]] const AcceleratorLimits* called(std::string_view name) const;
  /// The names of all entries of `others`, and "" of the rest; none: nothing is known.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Of most of the machine.
  [[nodiscard]] const AcceleratorLimits* usual() const { return parts_.empty() ? nullptr : &parts_.front(); }

 private:
  std::vector<AcceleratorLimits> parts_;
};

/// Which of the caps of power and clock a piece of a kernel goes to. A kernel that the cap of the clock holds runs at
/// that clock; one that is slower is held by power. Of one that memory binds at the full clock nothing says how slow it
/// is: it is held by the clock, if it may be.
class Caps {
 public:
  explicit Caps(const nlohmann::ordered_json& why);
  /// Of a piece of a path or a collective that is `cap`.
  [[nodiscard]] bool is_by_clock(const nlohmann::ordered_json& piece) const;

 private:
  using Kernel = std::tuple<std::string, double, std::string>;  ///< its name, memory's share, and its place
  static Kernel kernel_of(const nlohmann::ordered_json& piece);
  std::map<Kernel, bool> by_clock_;
  bool has_power_cap_;
};

/// How many copy engines the accelerator has whose copies took longest, and how many of them it used; 0: nothing is
/// known.
class CopyEngines {
 public:
  explicit CopyEngines(const nlohmann::ordered_json& why);
  /// Copies may have waited for an engine.
  [[nodiscard]] bool are_all_used() const { return all_ > 0 && used_ == all_; }
  /// How many times as many copies at a time there are with so many times as many engines, at most.
  [[nodiscard]] double with(double times) const;

 private:
  double all_ = 0;
  double used_ = 0;
};

/// Why.json's `parts`.
[[nodiscard]] nlohmann::ordered_json parts_of(const MachineConfig& config);

}  // namespace weft::platforms
