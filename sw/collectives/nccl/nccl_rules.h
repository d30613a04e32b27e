// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

namespace weft::collectives {

/// A release of NCCL: of each, the latest patch.
enum class NcclVersion : std::uint8_t { k2_19, k2_20, k2_21, k2_22, k2_23, k2_24, k2_25, k2_26, k2_27, k2_28 };
inline constexpr NcclVersion kNewestNccl = NcclVersion::k2_28;
inline EnumNames<NcclVersion> enum_names(NcclVersion /*tag*/) {
  return {{"2.19", NcclVersion::k2_19}, {"2.20", NcclVersion::k2_20}, {"2.21", NcclVersion::k2_21},
          {"2.22", NcclVersion::k2_22}, {"2.23", NcclVersion::k2_23}, {"2.24", NcclVersion::k2_24},
          {"2.25", NcclVersion::k2_25}, {"2.26", NcclVersion::k2_26}, {"2.27", NcclVersion::k2_27},
          {"2.28", NcclVersion::k2_28}};
}

/// A start, and each hop over NVLink and over the network, in us.
struct NcclLatency {
  double start;
  double nvlink;
  double network;
};

/// What releases differ in, read in the source of each (src/graph/tuning.cc; what exists, in topoGetAlgoInfo() of
/// src/enqueue.cc).
struct NcclRules {
  /// Trees in the Simple protocol. Up to 2.22 each hop counts 28 us, so that rings take over early.
  NcclLatency tree_simple;
  /// Of a ring's rate what LL reaches, for a collective that goes round once within a node, and for others.
  double words_once;
  double words;
  /// The most that LL carries within a node, in bytes a microsecond, by generation: Volta, Ampere, Hopper, Blackwell.
  std::array<double, 4> most_words;
  /// Of its rate what a ring reaches in LL128 where each node has one member.
  double lines_alone;
  /// An AllReduce's ring counts so many hops over the network more than it has.
  int more_hops;
  /// Where each node has one member, all ways have the hop of trees.
  bool hops_of_trees;
  /// Of the rate what PAT reaches; none: it does not exist.
  std::optional<double> pat;
  /// Of the rate within a node what NVLS reaches with Allgathers and ReduceScatters; from 2.27 on less (by_nvls()).
  double nvls_blocks;
  /// NVLS and NVLSTree: within a node, and each hop of NVLSTree across nodes.
  double nvls_within;
  double nvls_tree_across;
  /// What NVLS reaches of the rate within nodes is Hopper's or Blackwell's own; before, five sixths of any rate.
  bool nvls_by_generation;
  /// Allgathers and ReduceScatters by the switches of several nodes: by CollNet, and by NVLS.
  bool collnet_blocks;
  bool nvls_blocks_across;
  /// CTAs on Blackwell: of each, a kernel keeps an SM.
  int most_ctas;
  /// Members of a node that sum by NVLS and NVLSTree (NCCL_MAX_NVLS_ARITY of src/include/device.h).
  int most_nvls_heads;
  /// The chunks of NVLSTree are as short as those of NVLS at the least; before, steps of the Simple protocol.
  bool nvls_chunks_in_trees;
};

[[nodiscard]] const NcclRules& rules_of(NcclVersion version);

/// The longest chunk of NVLSTree across `nodes` nodes, where those of NVLS have `chunk` bytes (NCCL_NVLS_CHUNKSIZE;
/// calcCollChunking(), once computeColl(), of src/enqueue.cc).
[[nodiscard]] Bytes longest_nvls_chunk(NcclVersion version, int nodes, Bytes chunk);

}  // namespace weft::collectives
