// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/several/places.h"

#include <algorithm>

namespace weft::platforms {

FreePlaces::FreePlaces(int accelerators, int per_node, std::int64_t seed)
    : per_node_(per_node),
      free_(static_cast<std::size_t>(accelerators), true),
      random_(static_cast<std::uint64_t>(seed), "places of jobs") {}

std::vector<int> FreePlaces::all() const {
  std::vector<int> places;
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (free_[i]) places.push_back(static_cast<int>(i));
  }
  return places;
}

int FreePlaces::count() const {
  return static_cast<int>(std::count(free_.begin(), free_.end(), true));
}

std::optional<std::vector<int>> FreePlaces::take(int count, Spot spot) {
  std::vector<int> places = all();
  const auto wanted = static_cast<std::size_t>(count);
  if (places.size() < wanted) return std::nullopt;
  if (spot == Spot::kSpread) {
    // In the order in which they are dealt: the first free one of each node, then the second ones.
    std::vector<int> turn(places.size());
    for (std::size_t i = 1; i < places.size(); ++i) {
      turn[i] = places[i] / per_node_ == places[i - 1] / per_node_ ? turn[i - 1] + 1 : 0;
    }
    std::vector<std::size_t> order(places.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return turn[a] < turn[b]; });
    std::vector<int> dealt;
    for (const std::size_t i : order) dealt.push_back(places[i]);
    places = std::move(dealt);
  } else if (spot == Spot::kRandom) {
    for (std::size_t i = 0; i < wanted; ++i) {
      const auto left = static_cast<double>(places.size() - i);
      std::swap(places[i], places[i + static_cast<std::size_t>(random_.share() * left)]);
    }
  }
  places.resize(wanted);
  std::sort(places.begin(), places.end());
  for (const int place : places) take(place);
  return places;
}

}  // namespace weft::platforms
