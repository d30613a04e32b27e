// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "hw/core/quantity.h"

namespace weft::schedules {

/// When the last of the ranks ended each step that all of them have ended. `ends_of` gives a rank's, in their order.
template <typename Ranks, typename EndsOf>
std::vector<Time> ends_of_all(const Ranks& ranks, const EndsOf& ends_of) {
  std::vector<Time> all = ends_of(*ranks.begin());
  for (const auto& rank : ranks) {
    const std::vector<Time>& ends = ends_of(rank);
    all.resize(std::min(all.size(), ends.size()));
    for (std::size_t step = 0; step < all.size(); ++step) all[step] = std::max(all[step], ends[step]);
  }
  return all;
}

}  // namespace weft::schedules
