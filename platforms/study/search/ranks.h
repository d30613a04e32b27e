// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

/// Which of several points are better, where each has several costs.
namespace weft::study {

/// Whether a point with the first costs is nowhere worse than one with the others, and better somewhere.
[[nodiscard]] bool dominates(const std::vector<double>& a, const std::vector<double>& b);

/// Rank 0 are the points of the Pareto front, rank 1 those of the front of the rest, and so on.
[[nodiscard]] std::vector<std::size_t> ranks(const std::vector<std::vector<double>>& costs);

/// So many of the points, in their order: whole fronts, the best first, and of the front that is cut those that are
/// spread most evenly over it. The points with the least of each cost stay before all others of a front; between them
/// the one whose neighbours are nearest goes first (crowding distance, as in NSGA-II). Points of a front whose costs
/// are equal count as one, and the others of them come after all else of the front.
[[nodiscard]] std::vector<std::size_t> survivors(const std::vector<std::vector<double>>& costs, std::size_t count);

}  // namespace weft::study
