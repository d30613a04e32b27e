// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// Parts that an accelerator's data passes on its way between memory and the network, each with the time for which it
/// was busy by its own rate. What a NIC loops back to itself passes its DMA and memory and not the link.
enum class Passed { kLink, kDmaRead, kDmaWrite, kMemory, kNicCores };
constexpr std::size_t kPassedParts = 5;
using BusyTimes = std::array<Time, kPassedParts>;

struct PassedPart {
  std::string_view key;   ///< in JSON
  std::string_view name;  ///< for people
};
[[nodiscard]] PassedPart described(Passed part);

/// Of every accelerator, from the beginning of the simulation until now.
[[nodiscard]] std::vector<BusyTimes> busy_times(Machine& machine);

/// The share of `time` for which each part was busy between two answers of busy_times(), of the accelerator where that
/// was largest.
[[nodiscard]] std::array<double, kPassedParts> busy_shares(const std::vector<BusyTimes>& from,
                                                           const std::vector<BusyTimes>& until, Time time);

}  // namespace weft::platforms
