// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

/// The load of the fullest link on a packet's path, in the 8 bits that a packet has for it.
///
/// A load is what HPCC calls U (Li et al., SIGCOMM 2019, section 3.2): the share of a link's rate that is used, plus
/// the bytes that wait for the link over those that it carries in a round trip. 1 is a link that is full without a
/// queue. The code is logarithmic as that of PINT (Ben Basat et al., SIGCOMM 2020, section 4.3): steps of 5 %, so that
/// a decoded load is at most 2.5 % off.
namespace weft {

namespace path_load_detail {
constexpr std::size_t kCodes = 256;
constexpr double kLeast = 1.0 / 256;
constexpr double kStep = 1.05;
constexpr double kHalfStep = 1.02469507659595985;  // its square root

/// From which load on each code but 0 stands. Multiplied up, not computed by pow: the same on each machine.
constexpr std::array<double, kCodes> thresholds() {
  std::array<double, kCodes> all{};
  double load = kLeast;
  for (std::size_t code = 1; code < kCodes; ++code, load *= kStep) all[code] = load;
  return all;
}
inline constexpr std::array<double, kCodes> kThresholds = thresholds();
}  // namespace path_load_detail

/// 0 for a load below 1/256; the highest code for one of 900 and above.
[[nodiscard]] inline std::uint8_t load_code(double load) {
  using path_load_detail::kThresholds;
  const auto above = std::upper_bound(kThresholds.begin() + 1, kThresholds.end(), load);
  return static_cast<std::uint8_t>(above - kThresholds.begin() - 1);
}

/// In the middle of those that have this code; 0 for code 0.
[[nodiscard]] inline double load_of(std::uint8_t code) {
  return path_load_detail::kThresholds[code] * path_load_detail::kHalfStep;
}

}  // namespace weft
