// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sw/collectives/line/dimensional.h"
#include "sw/dimensions/plan.h"

/// Which dimensions of a machine a group of ranks has, and whether its collectives are possible there.
namespace weft::collectives {

/// Whether all operations take all dimensions for one; none may be different, since they share lines.
/// Throws ConfigError.
[[nodiscard]] bool joins_dimensions(const DimensionsConfig& config);

/// The machine's dimensions that a group keeps, and how many coordinates its members have in each.
struct GroupShape {
  std::vector<std::size_t> kept;
  std::vector<int> sizes;
};

/// Those in which members differ, if these are all combinations of their coordinates, in order; else one line.
[[nodiscard]] GroupShape shape_of(const std::vector<int>& ranks, const std::vector<int>& machine);

/// How such a group plans its collectives.
/// Throws ConfigError.
[[nodiscard]] dimensions::CollectiveConfig plan_config_of(const DimensionsConfig& config, const GroupShape& shape);

/// Throws ConfigError unless each phase of the operation, in whichever order its chunks may visit the dimensions, has a
/// possible algorithm.
void check_phases(const dimensions::CollectiveConfig& plan, dimensions::InterDimension inter_dimension,
                  const std::vector<int>& group, dimensions::Operation operation);

/// Throws ConfigError where a DimensionGroup of so many ranks, in a machine of the config's sizes, cannot be made, or
/// its check() would.
void expect_possible(const DimensionsConfig& config, const std::vector<int>& ranks, dimensions::Operation operation);

}  // namespace weft::collectives
