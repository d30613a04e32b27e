// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace weft::traces {

/// What the value at `metric`, a path within a result, is to be multiplied by so that it is in `unit`: 0.001 for
/// "rows[0].time_us" in ms. The metric's name says its unit, or that of an object around it ("breakdown_us.total").
/// Nothing where either is none that is known here: times, rates, powers, energies and operations a second. Throws
/// std::invalid_argument, whose text says which units fit, where the unit is of another kind than the metric's own.
[[nodiscard]] std::optional<double> unit_factor(std::string_view metric, std::string_view unit);

}  // namespace weft::traces
