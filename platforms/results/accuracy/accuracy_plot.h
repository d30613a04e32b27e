// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/published_table.h"

namespace weft::platforms {

/// Simulated over published values of a suite as SVG, with the band of 10 % around equality: points on logarithmic
/// axes, or a bar of the error for each row where rows are few. `#3` is the row of that number, counted from 1 as on
/// its page.
std::string accuracy_plot(const std::vector<traces::PublishedResult>& rows, const std::string& title);

}  // namespace weft::platforms
