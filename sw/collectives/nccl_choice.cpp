// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl_choice.h"

#include <algorithm>
#include <bit>

namespace weft::collectives {

namespace {

/// Microseconds.
struct Latency {
  double start;
  double nvlink;
  double network;
};
constexpr Latency kRing{8.4, 3.4, 14};
constexpr Latency kTree{8.4, 4.0, 14};
constexpr Latency kLowLatencyTree{6.8, 0.6, 5};
constexpr double kTreeShare = 0.92;
constexpr double kLowLatencyShare = kTreeShare / 3.8;

}  // namespace

AllReduceWay nccl_choice(const AllReduceGroup& group, std::uint64_t bytes) {
  const double members = group.members;
  const double nodes = group.nodes;
  Rate slower = group.nodes == 1 ? group.within : group.across;
  if (group.members > group.nodes) slower = std::min(slower, group.within);
  const auto bytes_in_us = [](Rate rate) { return static_cast<double>(rate.count()) / 8e6; };
  const double ring_bus = bytes_in_us(slower);
  const double tree_bus = group.nodes == 2 && group.members > 2 ? bytes_in_us(group.within) : ring_bus;
  const auto size = static_cast<double>(bytes);
  const double across = 2 * (nodes - 1);
  const double ring = kRing.start + (2 * (members - 1) - across) * kRing.nvlink + across * kRing.network +
                      size * 2 * (members - 1) / members / ring_bus;
  const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
  const auto through_trees = [&](const Latency& latency, double share) {
    return latency.start + 2 * ((members / nodes - 1) * latency.nvlink + levels * latency.network) +
           size * 2 / (share * tree_bus);
  };
  const double tree = through_trees(kTree, kTreeShare);
  const double low_latency = through_trees(kLowLatencyTree, kLowLatencyShare);
  if (low_latency < ring && low_latency < tree) return AllReduceWay::kLowLatencyTree;
  return tree < ring ? AllReduceWay::kTree : AllReduceWay::kRing;
}

}  // namespace weft::collectives
