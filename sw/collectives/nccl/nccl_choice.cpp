// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/nccl_choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace weft::collectives {

namespace {

using Latency = NcclLatency;
/// By Flags.
constexpr std::array<Latency, 3> kRing = {{{8.4, 3.4, 14}, {6.6, 0.6, 2.7}, {14, 1.9, 4}}};
constexpr std::array<Latency, 2> kTreeOfFlags = {{{6.8, 0.6, 5}, {14, 1.25, 8.5}}};
/// What trees reach of their rate, by Flags, for 64 bytes, 128, 256, ...
constexpr std::array<std::array<double, 23>, 3> kTreeShare = {{
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
}};
/// The most that LL carries, in bytes a microsecond, on two nodes and on more.
constexpr double kMostWordsOnTwo = 39e3;
constexpr double kMostWords = 20.4e3;

/// Bytes in a microsecond.
double speed(Rate rate) {
  return static_cast<double>(rate.count()) / 8e6;
}

constexpr const Latency& of_ring(Flags flags) {
  return kRing[static_cast<std::size_t>(flags)];
}

const Latency& of_tree(const NcclRules& rules, Flags flags) {
  return flags == Flags::kNone ? rules.tree_simple : kTreeOfFlags[static_cast<std::size_t>(flags) - 1];
}

/// Volta's NVLink carries 150 GB/s, Ampere's 300, Hopper's 450 and Blackwell's 900, less headers.
std::size_t generation(Rate within) {
  const double rate = speed(within);
  return rate < 200e3 ? 0 : rate < 350e3 ? 1 : rate < 700e3 ? 2 : 3;
}

bool has_one_each(const NcclGroup& group) {
  return group.members == group.nodes;
}

double most_words(const NcclGroup& group) {
  if (group.nodes == 1) return rules_of(group.version).most_words[generation(group.within)];
  return group.nodes == 2 ? kMostWordsOnTwo : kMostWords;
}

double slower(const NcclGroup& group) {
  if (group.nodes == 1) return speed(group.within);
  return speed(has_one_each(group) ? group.across : std::min(group.within, group.across));
}

double rate_of_ring(const NcclGroup& group, Flags flags, bool is_once) {
  const NcclRules& rules = rules_of(group.version);
  const double rate = slower(group);
  if (flags == Flags::kWords) {
    return std::min(rate * (is_once && group.nodes == 1 ? rules.words_once : rules.words), most_words(group));
  }
  if (flags == Flags::kNone) return rate;
  return rate * (has_one_each(group) ? rules.lines_alone : 0.92);
}

/// Between nodes; alone in a node, an accelerator hides none of it.
double network(const NcclGroup& group, double hop, Flags flags) {
  const NcclRules& rules = rules_of(group.version);
  return rules.hops_of_trees && has_one_each(group) ? of_tree(rules, flags).network : hop;
}

/// Once round a ring, where each member has its part of the bytes, or twice, for an AllReduce.
double round_ring(const NcclGroup& group, Flags flags, double bytes, int times) {
  const NcclRules& rules = rules_of(group.version);
  double nvlink = of_ring(flags).nvlink;
  if (group.nodes > 1) {
    constexpr double kPost = 1;  // a request to the network, of a processor of Intel's
    nvlink = std::max(nvlink, flags == Flags::kNone ? 3 * kPost : kPost);
  }
  const double hops = times * (group.members - 1);
  const double across = times * (group.nodes - 1) + (times == 2 && group.nodes > 1 ? rules.more_hops : 0);
  double latency =
      of_ring(flags).start + (hops - across) * nvlink + across * network(group, of_ring(flags).network, flags);
  // "Plateau effect of ring".
  if (times == 2 && group.nodes > 1 && flags == Flags::kNone && bytes / (group.channels * group.members) >= 64) {
    latency *= generation(group.within) == 0 ? 1.9 : 1.4;
  }
  return latency + bytes * hops / group.members / rate_of_ring(group, flags, times == 1);
}

double by_pat(const NcclGroup& group, double share, double bytes) {
  constexpr double kStart = 8;
  constexpr double kMember = 2.8;
  constexpr double kDoublings = 3.5;  ///< of members, in the time of a hop
  const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
  const double hop = of_tree(rules_of(group.version), Flags::kNone).network;
  return kStart + levels * hop / kDoublings + kMember * group.members + bytes / (share * slower(group));
}

/// A Broadcast's bytes pass all members. Where channels enter nodes at members of their own each hop counts as one of
/// the network.
double along_ring(const NcclGroup& group, Flags flags, double bytes) {
  const NcclRules& rules = rules_of(group.version);
  const bool alike = group.nodes == 1 || has_one_each(group);
  double hop = group.nodes == 1 ? of_ring(flags).nvlink : of_ring(flags).network;
  if (!alike && flags == Flags::kNone) hop = of_tree(rules, flags).network;
  return of_ring(flags).start + (alike ? 1 : group.members) * hop + bytes / rate_of_ring(group, flags, true);
}

double through_trees(const NcclGroup& group, Flags flags, std::uint64_t bytes) {
  const Latency& latency = of_tree(rules_of(group.version), flags);
  const double within = static_cast<double>(group.members) / group.nodes - 1;
  const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
  const bool is_pair = group.nodes == 2 && group.members > 2;
  double rate = 0.92 * (is_pair ? speed(group.within) : slower(group));
  if (flags == Flags::kWords) rate = std::min(rate / 3.8, most_words(group));
  if (flags == Flags::kLines) rate *= group.nodes == 1 ? 7.0 / 9 : 120.0 / 128;
  const std::size_t size = std::bit_width(bytes >> 6);
  const auto& shares = kTreeShare[static_cast<std::size_t>(flags)];
  if (size >= 1 && size <= shares.size()) rate *= shares[size - 1];
  return latency.start + 2 * (within * latency.nvlink + levels * latency.network) +
         2 * static_cast<double>(bytes) / rate;
}

/// Of NVLS and CollNet, across nodes, and of CollNet the hop that its members of a node take to those with an
/// interface.
constexpr double kNvlsAcross = 18;
constexpr double kCollnetWithin = 3.7;
constexpr double kCollnetArity = 0.4;  ///< each further member of a node
constexpr double kCollnetAcross = 31;
constexpr double kCollnetChain = 30;
/// Members of a node that have a channel of NVLS, and that it can gather from or scatter to (NCCL_MAX_NVLS_ARITY).
constexpr double kMostOfNvls = 32;

std::optional<NcclAlgorithm> in_switches(const NcclGroup& group) {
  if (group.nvls && (group.nodes == 1 || group.collnet)) return NcclAlgorithm::kNvls;
  if (group.collnet && group.nodes > 1) return NcclAlgorithm::kCollnet;
  if (group.nvls) return NcclAlgorithm::kNvlsTree;
  return std::nullopt;
}

/// Of the rate within nodes what NVLS reaches, from 2.28 on: by generation (nvlsEfficiency), whose first is Hopper, and
/// less for one channel of as many as a node has members.
double nvls_share(const NcclGroup& group) {
  constexpr double kHopper = 0.85;
  constexpr double kBlackwell = 0.74;
  const double per_node = static_cast<double>(group.members) / group.nodes;
  return (is_blackwell(group.within) ? kBlackwell : kHopper) * (per_node - 1) / per_node;
}

double by_nvls(const NcclGroup& group, double bytes) {
  const NcclRules& rules = rules_of(group.version);
  const double start = rules.nvls_within + (group.nodes > 1 ? network(group, kNvlsAcross, Flags::kNone) : 0);
  const double within = speed(group.within);
  const double across = group.nodes > 1 ? speed(group.across) : std::numeric_limits<double>::infinity();
  if (!rules.nvls_by_generation) return start + bytes / (std::min(within, across) * 5 / 6);
  const double there_and_back = group.members / (2.0 * (group.members - 1));
  return start + bytes / (std::min(2 * nvls_share(group) * within, across) * there_and_back);
}

double by_nvls_tree(const NcclGroup& group, double bytes) {
  const NcclRules& rules = rules_of(group.version);
  const int levels = std::bit_width(static_cast<unsigned>(group.nodes)) - 1;
  const double start = rules.nvls_within + 2 * levels * network(group, rules.nvls_tree_across, Flags::kNone);
  const bool is_pair = group.nodes == 2;
  const double within = speed(group.within);
  const double across = speed(group.across);
  if (!rules.nvls_by_generation) return start + bytes / (std::min(within, is_pair ? across : across / 2) * 5 / 6);
  // perChMaxNVLSTreeBws, in bytes a microsecond of each channel.
  constexpr double kMost[2][2] = {{57.7e3, 45.5e3}, {96e3, 43.8e3}};
  const double channels = std::min(static_cast<double>(group.members) / group.nodes, kMostOfNvls);
  const double most = channels * kMost[is_blackwell(group.within) ? 1 : 0][is_pair ? 0 : 1];
  const double rate = std::min({2 * nvls_share(group) * within, is_pair ? 2 * across : across, most});
  return start + bytes / (rate * group.members / (2.0 * (group.members - 1)));
}

/// The ways that members of a node take to those with an interface and back, and the switches.
double start_of_collnet(const NcclGroup& group) {
  const int others = group.members / group.nodes - 1;
  return (others > 0 ? 2 * (kCollnetWithin + kCollnetArity * others) : 0) +
         network(group, kCollnetAcross, Flags::kNone);
}

double by_switches(const NcclGroup& group, NcclAlgorithm algorithm, double bytes) {
  if (algorithm == NcclAlgorithm::kNvls) return by_nvls(group, bytes);
  if (algorithm == NcclAlgorithm::kNvlsTree) return by_nvls_tree(group, bytes);
  const double across = speed(group.across);
  if (has_one_each(group)) return network(group, kCollnetChain, Flags::kNone) + 2 * bytes / across;
  const double rate = std::min(speed(group.within), across) * (generation(group.within) >= 2 ? 0.85 : 1);
  return start_of_collnet(group) + 2 * bytes / rate;
}

std::optional<NcclAlgorithm> blocks_in_switches(const NcclGroup& group) {
  const NcclRules& rules = rules_of(group.version);
  const bool nvls = group.nvls && group.members <= kMostOfNvls * group.nodes;
  if (group.nodes == 1) return nvls ? std::optional(NcclAlgorithm::kNvls) : std::nullopt;
  if (!group.collnet) return std::nullopt;
  if (nvls && rules.nvls_blocks_across) return NcclAlgorithm::kNvls;
  return rules.collnet_blocks ? std::optional(NcclAlgorithm::kCollnet) : std::nullopt;
}

double blocks_by_switches(const NcclGroup& group, NcclAlgorithm algorithm, double bytes) {
  const NcclRules& rules = rules_of(group.version);
  const double within = speed(group.within);
  const double across = speed(group.across);
  const double per_node = static_cast<double>(group.members) / group.nodes;
  // What a member has itself does not travel, and the switches across nodes reach nine tenths.
  if (algorithm == NcclAlgorithm::kNvls) {
    double rate = within * rules.nvls_blocks;
    if (rules.nvls_by_generation) rate *= nvls_share(group);
    if (rules.nvls_blocks_across) rate *= (per_node - 1) / per_node;
    if (group.nodes == 1) return rules.nvls_within + bytes / rate;
    const double most = rules.nvls_by_generation ? across : 0.9 * across;
    return rules.nvls_within + network(group, kNvlsAcross, Flags::kNone) + bytes / std::min(rate, most);
  }
  if (rules.nvls_blocks_across) {
    return start_of_collnet(group) + bytes / (has_one_each(group) ? 0.9 * across : std::min(within, 0.9 * across));
  }
  // Measured with one member a node and with eight, and in between (NCCL's words).
  const double eight = (per_node - 1) / 7;
  return start_of_collnet(group) + bytes / (slower(group) * (eight * 0.85 + (1 - eight) * 0.95));
}

}  // namespace

bool is_blackwell(Rate within) {
  return generation(within) >= 3;
}

NcclWay nccl_way(const NcclGroup& group, NcclCollective what, std::uint64_t bytes) {
  NcclWay best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const NcclWay& way, double time) {
    if (time >= least) return;
    least = time;
    best = way;
  };
  const auto size = static_cast<double>(bytes);
  const NcclRules& rules = rules_of(group.version);
  for (const Flags flags : {Flags::kWords, Flags::kLines, Flags::kNone}) {
    if (group.flags && flags != *group.flags) continue;
    switch (what) {
      case NcclCollective::kAllReduce:
        consider({NcclAlgorithm::kTree, flags}, through_trees(group, flags, bytes));
        consider({NcclAlgorithm::kRing, flags}, round_ring(group, flags, size, 2));
        break;
      case NcclCollective::kBlocks:
        consider({NcclAlgorithm::kRing, flags}, round_ring(group, flags, size, 1));
        if (group.pat && rules.pat && flags == Flags::kNone) {
          consider({NcclAlgorithm::kPat, flags}, by_pat(group, *rules.pat, size));
        }
        break;
      case NcclCollective::kBroadcast:
        consider({NcclAlgorithm::kRing, flags}, along_ring(group, flags, size));
        break;
    }
  }
  if (group.flags.value_or(Flags::kNone) != Flags::kNone || what == NcclCollective::kBroadcast) return best;
  const bool sums = what == NcclCollective::kAllReduce;
  if (const auto switches = sums ? in_switches(group) : blocks_in_switches(group)) {
    consider({*switches, Flags::kNone},
             sums ? by_switches(group, *switches, size) : blocks_by_switches(group, *switches, size));
  }
  return best;
}

}  // namespace weft::collectives
