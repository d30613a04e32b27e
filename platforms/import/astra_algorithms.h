// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "platforms/import/astra_sim.h"
#include "sw/dimensions/plan.h"

namespace weft::platforms::astra {

/// A collective as traces have it, as far as an algorithm may not fit it.
struct UsedCollective {
  dimensions::Operation operation{};
  std::vector<std::uint32_t> members;  ///< in their order; empty: everybody
  /// By dimension, of a collective of everybody; none: its node does not say.
  std::optional<std::vector<bool>> involved;

  auto operator<=>(const UsedCollective&) const = default;
};

/// Throws InputError, in the name of system.json and its key, for algorithms and schedules that the collectives of the
/// traces do not get: in the machine or, without it, in the arithmetic, of which a run would say so. `traces` is asked
/// only where something may not fit.
void expect_algorithms(const System& system, const std::filesystem::path& file, bool is_machine,
                       const std::function<std::set<UsedCollective>()>& traces);

}  // namespace weft::platforms::astra
