// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace weft::kfac {
namespace {

void check_ranks(int ranks) {
  if (ranks < 1) throw std::invalid_argument(fmt::format("expected at least 1 rank, got {}", ranks));
}

double load_of(Load load, std::int64_t side, const Cost& inverse) {
  const auto n = static_cast<double>(side);
  switch (load) {
    case Load::kSide:
      return n;
    case Load::kSquare:
      return n * n;
    case Load::kTime:
      break;
  }
  return inverse(n);
}

}  // namespace

std::size_t Placement::communicated() const {
  return owner.size() - static_cast<std::size_t>(std::count(owner.begin(), owner.end(), kEveryone));
}

Placement place_everywhere(std::size_t tensors, int ranks) {
  check_ranks(ranks);
  return {ranks, std::vector<int>(tensors, kEveryone)};
}

Placement place_in_turn(std::size_t layers, int ranks, bool split_layers) {
  Placement placement = place_everywhere(2 * layers, ranks);
  if (ranks == 1) return placement;
  const auto count = static_cast<std::size_t>(ranks);
  for (std::size_t i = 0; i < placement.owner.size(); ++i) {
    placement.owner[i] = static_cast<int>((split_layers ? i : i / 2) % count);
  }
  return placement;
}

Placement place_mpd(std::size_t layers, int ranks) {
  return place_in_turn(layers, ranks, true);
}

Placement place_dp(std::size_t layers, int ranks) {
  return place_in_turn(layers, ranks, false);
}

Placement place_balanced(std::span<const std::int64_t> sides, int ranks, const Cost& inverse, const Cost& sending,
                         Load load) {
  Placement placement = place_everywhere(sides.size(), ranks);
  if (ranks == 1) return placement;
  std::vector<std::size_t> order(sides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sides[a] > sides[b]; });
  std::vector<double> loads(static_cast<std::size_t>(ranks), 0);
  for (const std::size_t i : order) {
    if (inverse(static_cast<double>(sides[i])) < sending(static_cast<double>(sides[i]))) continue;
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += load_of(load, sides[i], inverse);
    placement.owner[i] = static_cast<int>(least - loads.begin());
  }
  return placement;
}

PlacementCost cost_of(const Placement& placement, std::span<const std::int64_t> sides, const Cost& inverse,
                      const Cost& sending) {
  if (placement.owner.size() != sides.size()) {
    throw std::invalid_argument(
        fmt::format("expected a side for each of {} tensors, got {}", placement.owner.size(), sides.size()));
  }
  PlacementCost cost;
  std::vector<double> own(static_cast<std::size_t>(placement.ranks), 0);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const double seconds = inverse(static_cast<double>(sides[i]));
    if (placement.owner[i] == kEveryone) {
      cost.repeated += seconds;
    } else {
      own.at(static_cast<std::size_t>(placement.owner[i])) += seconds;
      cost.communication += sending(static_cast<double>(sides[i]));
    }
  }
  if (!own.empty()) cost.slowest = *std::max_element(own.begin(), own.end());
  return cost;
}

}  // namespace weft::kfac
