// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/nccl_choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace weft::collectives {

namespace {

/// Microseconds.
struct Latency {
  double start;
  double nvlink;
  double network;
};
/// By Flags.
constexpr std::array<Latency, 3> kRing = {{{8.4, 3.4, 14}, {6.6, 0.6, 2.7}, {14, 1.9, 4}}};
constexpr std::array<Latency, 3> kTree = {{{8.4, 4, 14}, {6.8, 0.6, 5}, {14, 1.25, 8.5}}};
/// What trees reach of their rate, by Flags, for 64 bytes, 128, 256, ...
constexpr std::array<std::array<double, 23>, 3> kTreeShare = {{
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
}};
/// The most that LL carries, in bytes a microsecond: within a node of Volta, Ampere, Hopper and Blackwell; on two
/// nodes, and on more.
constexpr std::array<double, 4> kMostWordsWithin = {39e3, 87.7e3, 141e3, 282e3};
constexpr double kMostWordsOnTwo = 39e3;
constexpr double kMostWords = 20.4e3;

/// Bytes in a microsecond.
double speed(Rate rate) {
  return static_cast<double>(rate.count()) / 8e6;
}

constexpr const Latency& of(const std::array<Latency, 3>& latencies, Flags flags) {
  return latencies[static_cast<std::size_t>(flags)];
}

/// Volta's NVLink carries 150 GB/s, Ampere's 300, Hopper's 450 and Blackwell's 900, less headers.
std::size_t generation(Rate within) {
  const double rate = speed(within);
  return rate < 200e3 ? 0 : rate < 350e3 ? 1 : rate < 700e3 ? 2 : 3;
}

double most_words(const NcclGroup& group) {
  if (group.nodes == 1) return kMostWordsWithin[generation(group.within)];
  return group.nodes == 2 ? kMostWordsOnTwo : kMostWords;
}

double slower(const NcclGroup& group) {
  if (group.nodes == 1) return speed(group.within);
  return speed(group.members > group.nodes ? std::min(group.within, group.across) : group.across);
}

double rate_of_ring(const NcclGroup& group, Flags flags) {
  const double rate = slower(group);
  if (flags == Flags::kWords) return std::min(rate / 2, most_words(group));
  return flags == Flags::kLines ? 0.92 * rate : rate;
}

/// Between nodes; alone in a node, an accelerator hides none of it.
double network(const NcclGroup& group, const std::array<Latency, 3>& latencies, Flags flags) {
  return of(group.members == group.nodes ? kTree : latencies, flags).network;
}

/// Once round a ring, where each member has its part of the bytes, or twice, for an AllReduce.
double round_ring(const NcclGroup& group, Flags flags, double bytes, int times) {
  double nvlink = of(kRing, flags).nvlink;
  if (group.nodes > 1) {
    constexpr double kPost = 1;  // a request to the network, of a processor of Intel's
    nvlink = std::max(flags == Flags::kWords ? 1.8 * nvlink : nvlink, flags == Flags::kNone ? 3 * kPost : kPost);
  }
  const double hops = times * (group.members - 1);
  const double across = times * (group.nodes - 1);
  double latency = of(kRing, flags).start + (hops - across) * nvlink + across * network(group, kRing, flags);
  // "Plateau effect of ring".
  if (times == 2 && group.nodes > 1 && flags == Flags::kNone && bytes / (group.channels * group.members) >= 64) {
    latency *= generation(group.within) == 0 ? 1.9 : 1.4;
  }
  return latency + bytes * hops / group.members / rate_of_ring(group, flags);
}

double by_pat(const NcclGroup& group, double bytes) {
  constexpr double kStart = 8;
  constexpr double kMember = 2.8;
  constexpr double kDoublings = 3.5;  ///< of members, in the time of a hop
  const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
  return kStart + levels * network(group, kTree, Flags::kNone) / kDoublings + kMember * group.members +
         bytes / (0.75 * slower(group));
}

/// A Broadcast's bytes pass all members. Where channels enter nodes at members of their own each hop counts as one of
/// the network.
double along_ring(const NcclGroup& group, Flags flags, double bytes) {
  const Latency& latency = of(kRing, flags);
  const bool alike = group.nodes == 1 || group.members == group.nodes;
  return latency.start + (alike ? 1 : group.members) * (group.nodes == 1 ? latency.nvlink : latency.network) +
         bytes / rate_of_ring(group, flags);
}

double through_trees(const NcclGroup& group, Flags flags, std::uint64_t bytes) {
  const double within = static_cast<double>(group.members) / group.nodes - 1;
  const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
  double nvlink = of(kTree, flags).nvlink;
  if (group.nodes > 1 && flags == Flags::kWords) nvlink *= 1.8;
  const bool is_pair = group.nodes == 2 && group.members > 2;
  double rate = 0.92 * (is_pair ? speed(group.within) : slower(group));
  if (flags == Flags::kWords) rate = std::min(rate / 3.8, most_words(group));
  if (flags == Flags::kLines) rate *= group.nodes == 1 ? 7.0 / 9 : 120.0 / 128;
  const std::size_t size = std::bit_width(bytes >> 6);
  const auto& shares = kTreeShare[static_cast<std::size_t>(flags)];
  if (size >= 1 && size <= shares.size()) rate *= shares[size - 1];
  return of(kTree, flags).start + 2 * (within * nvlink + levels * network(group, kTree, flags)) +
         2 * static_cast<double>(bytes) / rate;
}

/// Of NVLS, NVLSTree and CollNet: within a node, or the hop that CollNet's members of a node take to those with an
/// interface; and across nodes.
constexpr double kNvlsWithin = 25;
constexpr double kNvlsAcross = 18;
constexpr double kNvlsTreeAcross = 20.9;
constexpr double kCollnetWithin = 3.7;
constexpr double kCollnetArity = 0.4;  ///< each further member of a node
constexpr double kCollnetAcross = 31;
constexpr double kCollnetChain = 30;

std::optional<NcclAlgorithm> in_switches(const NcclGroup& group) {
  if (group.nvls && (group.nodes == 1 || group.collnet)) return NcclAlgorithm::kNvls;
  if (group.collnet && group.nodes > 1) return NcclAlgorithm::kCollnet;
  if (group.nvls) return NcclAlgorithm::kNvlsTree;
  return std::nullopt;
}

double by_switches(const NcclGroup& group, NcclAlgorithm algorithm, double bytes) {
  const double across = speed(group.across);
  switch (algorithm) {
    case NcclAlgorithm::kNvls: {
      if (group.nodes == 1) return kNvlsWithin + bytes / (speed(group.within) * 5 / 6);
      return kNvlsWithin + kNvlsAcross + bytes / (std::min(speed(group.within), across) * 5 / 6);
    }
    case NcclAlgorithm::kNvlsTree: {
      const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
      const double rate = std::min(speed(group.within), group.nodes == 2 ? across : across / 2);
      return kNvlsWithin + 2 * levels * kNvlsTreeAcross + bytes / (rate * 5 / 6);
    }
    default: {
      const int others = group.members / group.nodes - 1;
      if (others == 0) return kCollnetChain + 2 * bytes / across;
      const double rate = std::min(speed(group.within), across) * (generation(group.within) >= 2 ? 0.85 : 1);
      return 2 * (kCollnetWithin + kCollnetArity * others) + kCollnetAcross + 2 * bytes / rate;
    }
  }
}

}  // namespace

NcclWay nccl_way(const NcclGroup& group, NcclCollective what, std::uint64_t bytes) {
  NcclWay best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const NcclWay& way, double time) {
    if (time >= least) return;
    least = time;
    best = way;
  };
  const auto size = static_cast<double>(bytes);
  for (const Flags flags : {Flags::kWords, Flags::kLines, Flags::kNone}) {
    if (group.flags && flags != *group.flags) continue;
    switch (what) {
      case NcclCollective::kAllReduce:
        consider({NcclAlgorithm::kTree, flags}, through_trees(group, flags, bytes));
        consider({NcclAlgorithm::kRing, flags}, round_ring(group, flags, size, 2));
        break;
      case NcclCollective::kBlocks:
        consider({NcclAlgorithm::kRing, flags}, round_ring(group, flags, size, 1));
        if (group.pat && flags == Flags::kNone) consider({NcclAlgorithm::kPat, flags}, by_pat(group, size));
        break;
      case NcclCollective::kBroadcast:
        consider({NcclAlgorithm::kRing, flags}, along_ring(group, flags, size));
        break;
    }
  }
  const std::optional<NcclAlgorithm> switches = in_switches(group);
  if (what == NcclCollective::kAllReduce && switches && group.flags.value_or(Flags::kNone) == Flags::kNone) {
    consider({*switches, Flags::kNone}, by_switches(group, *switches, size));
  }
  return best;
}

}  // namespace weft::collectives
