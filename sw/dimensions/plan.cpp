// SPDX-License-Identifier: Apache-2.0
#include "sw/dimensions/plan.h"

#include <bit>

namespace weft::dimensions {
namespace {

bool is_tree(Algorithm algorithm) {
  return algorithm == Algorithm::kDoubleBinaryTree;
}

}  // namespace

Plan::Phases phases_in(const CollectiveConfig& config, Operation operation, std::int64_t bytes,
                       const std::vector<std::uint32_t>& order, const std::vector<std::uint32_t>& sizes) {
  Plan::Phases phases;
  const auto add = [&](Operation phase, std::uint32_t dimension, Half half = Half::kBoth) {
    const Operation listed = config.as_astra_sim ? operation : phase;
    const Algorithm algorithm = config.algorithm(listed, dimension);
    const bool whole = config.as_astra_sim && operation == Operation::kAllReduce && is_tree(algorithm);
    phases.push_back({whole ? operation : phase, algorithm, dimension, sizes[dimension], bytes,
                      config.window(listed, dimension), half});
    return !whole;
  };
  const auto scatter = [&](auto first, auto last, Half half = Half::kBoth) {
    for (auto at = first; at != last; ++at) {
      if (add(Operation::kReduceScatter, *at, half)) bytes /= sizes[*at];
    }
  };
  const auto gather = [&](auto first, auto last, Half half = Half::kBoth) {
    for (auto at = first; at != last; ++at) {
      if (add(Operation::kAllgather, *at, half)) bytes *= sizes[*at];
    }
  };
  if (order.empty()) return phases;
  const bool aware = config.optimization == Optimization::kBandwidthAware;
  if (operation == Operation::kReduceScatter) {
    scatter(order.begin(), order.end());
  } else if (operation == Operation::kAllgather) {
    gather(order.rbegin(), order.rend());
  } else if (operation == Operation::kAllReduce && aware) {
    scatter(order.begin(), order.end() - 1, Half::kFirst);
    add(Operation::kAllReduce, order.back(), Half::kFirst);
    gather(order.rbegin() + 1, order.rend(), Half::kSecond);
  } else {
    for (const std::uint32_t dimension : order) add(operation, dimension);
  }
  return phases;
}

Plan plan_collective(const CollectiveConfig& config, Operation operation, std::int64_t bytes,
                     const std::vector<std::uint32_t>& sizes, std::uint32_t ends) {
  const std::int64_t splits = config.splits;
  const bool gathers = config.as_astra_sim && operation == Operation::kAllgather;
  const std::int64_t least = gathers ? 1 : ends;
  if (bytes / splits < least) bytes = splits * least;
  const std::int64_t chunk = bytes / splits;
  std::vector<std::uint32_t> used;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) used.push_back(i);
  }
  Plan plan;
  plan.chunks = (bytes + chunk - 1) / chunk;
  plan.orders.push_back(phases_in(config, operation, chunk, used, sizes));
  return plan;
}

TreePlace tree_place(std::uint32_t member, std::uint32_t members, bool first_is_root) {
  // Numbered in order from the root's 0 on, the level of a number is that of its lowest bit that is set, and its
  // neighbours are that bit up or down. In the second tree everybody has the next number.
  const auto number_of = [&](std::uint32_t who) { return first_is_root ? who : (who + 1) % members; };
  const auto named = [&](std::uint32_t number) { return first_is_root ? number : (number + members - 1) % members; };
  const std::uint32_t number = number_of(member);
  const std::uint32_t bit = number == 0 ? std::bit_ceil(members) : number & (~number + 1);
  TreePlace place;
  if (number != 0) {
    const std::uint32_t up = (number ^ bit) | bit << 1;
    place.parent = named(up < members ? up : number ^ bit);
    if (bit > 1) place.children[0] = named(number - bit / 2);
  }
  // Where there is no such number, the next one down that there is: its own parent would be the missing one.
  std::uint32_t down = bit / 2;
  while (down > 0 && number + down >= members) down /= 2;
  if (down > 0) place.children[place.count()] = named(number + down);
  return place;
}

}  // namespace weft::dimensions
