// SPDX-License-Identifier: Apache-2.0
#include "traces/metric_unit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::traces {
namespace {

enum class Kind { kTime, kRate, kPower, kEnergy, kCompute };

struct Unit {
  std::string_view in_name;  ///< as names of results end; "busbw" and "algbw" have none of their own
  std::string_view text;
  Kind kind;
  double size;
};

constexpr std::array kUnits = {
    Unit{"ps", "ps", Kind::kTime, 1e-12},
    Unit{"ns", "ns", Kind::kTime, 1e-9},
    Unit{"us", "us", Kind::kTime, 1e-6},
    Unit{"ms", "ms", Kind::kTime, 1e-3},
    Unit{"s", "s", Kind::kTime, 1},
    Unit{"gbps", "Gb/s", Kind::kRate, 1e9},
    Unit{"gb_per_s", "GB/s", Kind::kRate, 8e9},
    Unit{"busbw", "GB/s", Kind::kRate, 8e9},
    Unit{"algbw", "GB/s", Kind::kRate, 8e9},
    Unit{"", "MB/s", Kind::kRate, 8e6},
    Unit{"", "TB/s", Kind::kRate, 8e12},
    Unit{"", "GiB/s", Kind::kRate, 8.0 * (1 << 30)},
    Unit{"", "Gbps", Kind::kRate, 1e9},
    Unit{"", "Mb/s", Kind::kRate, 1e6},
    Unit{"", "Tb/s", Kind::kRate, 1e12},
    Unit{"", "mW", Kind::kPower, 1e-3},
    Unit{"w", "W", Kind::kPower, 1},
    Unit{"", "kW", Kind::kPower, 1e3},
    Unit{"", "mJ", Kind::kEnergy, 1e-3},
    Unit{"j", "J", Kind::kEnergy, 1},
    Unit{"", "kJ", Kind::kEnergy, 1e3},
    Unit{"", "GFLOPS", Kind::kCompute, 1e9},
    Unit{"tflops", "TFLOPS", Kind::kCompute, 1e12},
    Unit{"", "PFLOPS", Kind::kCompute, 1e15},
};

/// Of a name such as "time_us" or "tflops"; null if it says none. "tokens_per_s" is no time.
const Unit* unit_of_name(std::string_view name) {
  name = name.substr(0, name.find('['));
  const Unit* longest = nullptr;
  for (const Unit& unit : kUnits) {
    if (unit.in_name.empty() || !name.ends_with(unit.in_name)) continue;
    const std::string_view before = name.substr(0, name.size() - unit.in_name.size());
    if (!before.empty() && !before.ends_with('_')) continue;
    if (before == "per_" || before.ends_with("_per_")) continue;
    if (longest == nullptr || unit.in_name.size() > longest->in_name.size()) longest = &unit;
  }
  return longest;
}

std::string units_of(Kind kind) {
  std::vector<std::string_view> all;
  for (const Unit& unit : kUnits) {
    if (unit.kind == kind && std::find(all.begin(), all.end(), unit.text) == all.end()) all.push_back(unit.text);
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::optional<double> unit_factor(std::string_view metric, std::string_view unit) {
  const auto* const wanted =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& each) { return each.text == unit; });
  if (wanted == kUnits.end()) return std::nullopt;
  bool is_own = true;
  for (std::string_view path = metric; !path.empty(); is_own = false) {
    const std::size_t dot = path.rfind('.');
    const std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
    const Unit* const own = unit_of_name(name);
    if (own == nullptr) continue;
    if (own->kind == wanted->kind) return own->size / wanted->size;
    // What is in an object named for a unit may well be something else.
    if (!is_own) break;
    throw std::invalid_argument("a unit of " + std::string(metric) + ", one of " + units_of(own->kind));
  }
  return std::nullopt;
}

}  // namespace weft::traces
