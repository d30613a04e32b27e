// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/quantity.h"

namespace weft::collectives {

/// How a collective goes: by rings or, an AllReduce, through trees; with flags: as NCCL's protocol LL has it.
enum class NcclWay : std::uint8_t { kRing, kRingWithFlags, kTree, kTreeWithFlags };

/// What a collective is among, as NCCL's cost model sees it.
struct NcclGroup {
  int members = 1;
  int nodes = 1;
  Rate within;  ///< that an accelerator sends in its node
  Rate across;  ///< that a node sends
};

/// The way that NCCL's cost model takes for the fastest of those that Weft has (ncclTopoTuneModel() in its
/// src/graph/tuning.cc, with the latencies of hops over NVLink and the network of version 2.2x): a start, a latency for
/// each hop, and bytes over the lower of both rates, of which trees reach 92 %; with flags rings a half and trees a
/// 3.8th. The two trees of two nodes have the rate within: a buffer leaves a node once, where a ring's leaves it nearly
/// twice. Left out: its protocol LL128, and corrections for sizes in between.
[[nodiscard]] NcclWay nccl_all_reduce(const NcclGroup& group, std::uint64_t bytes);
/// Of an Allgather, a ReduceScatter or a Broadcast of a buffer of `bytes` bytes in all, which go by rings.
[[nodiscard]] NcclWay nccl_ring(const NcclGroup& group, std::uint64_t bytes);

}  // namespace weft::collectives
