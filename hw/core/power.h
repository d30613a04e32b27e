// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "hw/core/quantity.h"

/// Energy of single operations and power, as quantities. A run's energy, which leaves the range of the first, is
/// counted in joules as a double.
namespace weft {

/// Femtojoules: of one operation, one byte, one command.
using Energy = Quantity<struct FemtojouleTag>;
/// Milliwatts.
using Power = Quantity<struct MilliwattTag>;

constexpr double joules(Energy energy) {
  return static_cast<double>(energy.count()) * 1e-15;
}
constexpr double watts(Power power) {
  return static_cast<double>(power.count()) * 1e-3;
}

namespace literals {
constexpr Energy operator""_fJ(unsigned long long n) {
  return Energy(static_cast<std::int64_t>(n));
}
constexpr Energy operator""_pJ(unsigned long long n) {
  return Energy(static_cast<std::int64_t>(n) * 1'000);
}
constexpr Power operator""_W(unsigned long long n) {
  return Power(static_cast<std::int64_t>(n) * 1'000);
}
}  // namespace literals

/// Reads "0.75pJ" or "700W", as the parsers of quantity.h do.
Energy parse_energy(std::string_view text);
Power parse_power(std::string_view text);

std::string to_text(Energy energy);
std::string to_text(Power power);

}  // namespace weft
