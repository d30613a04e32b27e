// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/quantity.h"

namespace weft::collectives {

/// How an AllReduce goes: by rings, through trees, or through trees as words with flags.
enum class AllReduceWay : std::uint8_t { kRing, kTree, kLowLatencyTree };

/// What an AllReduce is among, as NCCL's cost model sees it.
struct AllReduceGroup {
  int members = 1;
  int nodes = 1;
  Rate within;  ///< that an accelerator sends in its node
  Rate across;  ///< that a node sends
};

/// The way that NCCL's cost model takes for the fastest of those that Weft has (ncclTopoTuneModel() in its
/// src/graph/tuning.cc, with the latencies of hops over NVLink and the network of version 2.2x): a start, a latency for
/// each hop, and bytes over the lower of both rates, of which trees reach 92 %, or of that a 3.8th as words with flags.
/// The two trees of two nodes have the rate within: a buffer leaves a node once, where a ring's leaves it nearly twice.
/// Left out: rings of words with flags, its protocol LL128, and corrections for sizes in between.
[[nodiscard]] AllReduceWay nccl_choice(const AllReduceGroup& group, std::uint64_t bytes);

}  // namespace weft::collectives
