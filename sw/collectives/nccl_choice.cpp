// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl_choice.h"

#include <algorithm>
#include <bit>

namespace weft::collectives {

namespace {

/// Microseconds, and the share of the links' rate.
struct Cost {
  double start;
  double nvlink;
  double network;
  double share;
};
constexpr Cost kRing{8.4, 3.4, 14, 1};
constexpr Cost kRingWithFlags{6.6, 0.6, 2.7, 0.5};
constexpr Cost kTree{8.4, 4.0, 14, 0.92};
constexpr Cost kTreeWithFlags{6.8, 0.6, 5, 0.92 / 3.8};

/// Bytes in a microsecond.
double speed(Rate rate) {
  return static_cast<double>(rate.count()) / 8e6;
}

Rate slower(const NcclGroup& group) {
  if (group.nodes == 1) return group.within;
  return group.members > group.nodes ? std::min(group.within, group.across) : group.across;
}

/// Once round a ring, where each member has its part of the bytes, or twice, for an AllReduce.
double round_ring(const NcclGroup& group, const Cost& cost, double bytes, int times) {
  const double hops = group.members - 1;
  const double across = group.nodes - 1;
  return cost.start + times * ((hops - across) * cost.nvlink + across * cost.network +
                               bytes * hops / group.members / (cost.share * speed(slower(group))));
}

double through_trees(const NcclGroup& group, const Cost& cost, double bytes) {
  const double within = static_cast<double>(group.members) / group.nodes - 1;
  const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
  const bool is_pair = group.nodes == 2 && group.members > 2;
  return cost.start + 2 * (within * cost.nvlink + levels * cost.network +
                           bytes / (cost.share * speed(is_pair ? group.within : slower(group))));
}

}  // namespace

NcclWay nccl_all_reduce(const NcclGroup& group, std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  struct {
    NcclWay way;
    double time;
  } const ways[] = {{NcclWay::kRing, round_ring(group, kRing, size, 2)},
                    {NcclWay::kRingWithFlags, round_ring(group, kRingWithFlags, size, 2)},
                    {NcclWay::kTree, through_trees(group, kTree, size)},
                    {NcclWay::kTreeWithFlags, through_trees(group, kTreeWithFlags, size)}};
  return std::min_element(std::begin(ways), std::end(ways),
                          [](const auto& a, const auto& b) { return a.time < b.time; })
      ->way;
}

NcclWay nccl_ring(const NcclGroup& group, std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return round_ring(group, kRingWithFlags, size, 1) < round_ring(group, kRing, size, 1) ? NcclWay::kRingWithFlags
                                                                                        : NcclWay::kRing;
}

}  // namespace weft::collectives
