// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "hw/accelerator/command.h"
#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "sw/collectives/nccl/nccl_rules.h"

namespace weft::collectives {

using accelerator::Flags;

/// An Allgather and a ReduceScatter cost the same.
enum class NcclCollective : std::uint8_t { kAllReduce, kBlocks, kBroadcast };

/// How a collective goes. An AllReduce has more ways than rings: trees; NVLS, by the switches within nodes and, on
/// several, by those across them; NVLSTree, by the switches within nodes and through trees across them; CollNet, by the
/// switches across nodes alone. An Allgather and a ReduceScatter have PAT (pat_group.h), NVLS and CollNet.
enum class NcclAlgorithm : std::uint8_t { kRing, kTree, kNvls, kNvlsTree, kCollnet, kPat };
inline EnumNames<NcclAlgorithm> enum_names(NcclAlgorithm /*tag*/) {
  return {{"ring", NcclAlgorithm::kRing},          {"tree", NcclAlgorithm::kTree},       {"nvls", NcclAlgorithm::kNvls},
          {"nvls-tree", NcclAlgorithm::kNvlsTree}, {"collnet", NcclAlgorithm::kCollnet}, {"pat", NcclAlgorithm::kPat}};
}

/// The algorithm, and which of NCCL's protocols: Simple, LL, LL128.
struct NcclWay {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  Flags flags = Flags::kNone;
  bool operator==(const NcclWay&) const = default;
};

/// What a collective is among, as NCCL's cost model sees it.
struct NcclGroup {
  int members = 1;
  int nodes = 1;
  int channels = 1;
  Rate within;                 ///< that an accelerator sends in its node
  Rate across;                 ///< that a node sends
  std::optional<Flags> flags;  ///< the only protocol (NCCL_PROTO)
  bool nvls = false;           ///< the switches within nodes reduce for it
  bool collnet = false;        ///< those across nodes do
  bool pat = false;            ///< each node has one member, and it may go by PAT
  NcclVersion version = kNewestNccl;
};

/// Whether an accelerator is Blackwell or later, as far as the rate of its NVLink tells.
[[nodiscard]] bool is_blackwell(Rate within);

/// The way that the cost model of NCCL's `version` takes for the fastest of those that Weft has, for a buffer of
/// `bytes` bytes in all (ncclTopoTuneModel() and ncclTopoGetAlgoTime() in its src/graph/tuning.cc): a start, a latency
/// for each hop, and bytes over the lower of both rates. Trees reach 92 % of that and what a table by size has; LL has
/// a half or, through trees, a 3.8th, and a limit; LL128 92 or 94 %. The two trees of two nodes have the rate within: a
/// buffer leaves a node once, where a ring's leaves it nearly twice. What switches sum takes a half of the rate by
/// CollNet and, of an AllReduce on a node of Hopper, 85 % by NVLS, and the Simple protocol alone; of the ways by
/// switches that a group could take one is considered: NVLS where all switches reduce that it needs, else CollNet, else
/// NVLSTree. PAT takes three quarters of the rate, in Simple alone, and has a latency for each member beside one for
/// each doubling of them. What other releases have instead: nccl_rules.h.
///
/// Of what the model asks of a machine, NVLink within nodes and Intel's processors are taken as given, and a GPU's
/// generation by the rate of its NVLink. Left out are limits for each of NCCL's own channels but NVLSTree's, which bind
/// on Blackwell alone.
[[nodiscard]] NcclWay nccl_way(const NcclGroup& group, NcclCollective what, std::uint64_t bytes);

}  // namespace weft::collectives
