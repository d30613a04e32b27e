// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/schedules/sampling/sampling_config.h"

namespace weft::schedules {

/// Expected sizes of a batch's sampled neighbourhood.
///
/// Numbers of neighbours are log-normal with mean edges / nodes and the graph's `spread`. 1.3 is what Radicchi,
/// Fortunato and Castellano (PNAS 105, 2008) found for citations of a paper relative to the mean of its field and year.
/// Training nodes are as other nodes. A node that is reached by an edge is met in proportion to its neighbours, so that
/// its number of them is log-normal with a mean e^spread times as large. A node of which fewer are known than the
/// fan-out gives all. Which nodes are reached is independent from draw to draw: of D draws, a node with d neighbours is
/// among them with 1 - exp(-D d / edges). Each hop draws for all nodes found so far, as PyG does.
///
/// Left out: neighbours that have neighbours in common (a citation graph has more of them than chance), nodes without
/// neighbours, how a batch differs from the next.
struct Hop {
  std::int64_t targets = 0;  ///< nodes whose neighbours are drawn
  std::int64_t edges = 0;    ///< neighbours that are drawn
  std::int64_t sources = 0;  ///< different nodes then, targets included
};
[[nodiscard]] std::vector<Hop> expected_hops(const SampledGraph& graph, int batch, const std::vector<int>& fan_outs);

/// The mean of min(d, fan_out) of a log-normal d of this mean and variance of the logarithm.
[[nodiscard]] double mean_drawn(double mean, double spread, double fan_out);

}  // namespace weft::schedules
