// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

/// Collectives on a network of several dimensions, as chunks that pass phases: what ASTRA-sim's arithmetic
/// (sw/analytical) and the firmware of Weft's machine (sw/collectives) both follow.
namespace weft::dimensions {

enum class Operation : std::uint8_t { kAllReduce, kAllgather, kReduceScatter, kAllToAll };
inline EnumNames<Operation> enum_names(Operation /*tag*/) {
  return {{"all_reduce", Operation::kAllReduce},
          {"all_gather", Operation::kAllgather},
          {"reduce_scatter", Operation::kReduceScatter},
          {"all_to_all", Operation::kAllToAll}};
}

/// ASTRA-sim's arithmetic has the first four (sw/analytical), firmware all (sw/collectives/line_algorithms.h).
enum class Algorithm : std::uint8_t { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree, kBidirectionalRing, kBruck };
inline EnumNames<Algorithm> enum_names(Algorithm /*tag*/) {
  return {{"ring", Algorithm::kRing},
          {"direct", Algorithm::kDirect},
          {"halvingDoubling", Algorithm::kHalvingDoubling},
          {"doubleBinaryTree", Algorithm::kDoubleBinaryTree},
          {"bidirectionalRing", Algorithm::kBidirectionalRing},
          {"bruck", Algorithm::kBruck}};
}

enum class Scheduling : std::uint8_t { kLifo, kFifo, kExplicit };
inline EnumNames<Scheduling> enum_names(Scheduling /*tag*/) {
  return {{"LIFO", Scheduling::kLifo}, {"FIFO", Scheduling::kFifo}, {"EXPLICIT", Scheduling::kExplicit}};
}

enum class Optimization : std::uint8_t { kBaseline, kBandwidthAware };
inline EnumNames<Optimization> enum_names(Optimization /*tag*/) {
  return {{"baseline", Optimization::kBaseline}, {"localBWAware", Optimization::kBandwidthAware}};
}

/// How collectives are cut into chunks and run: what ASTRA-sim's system.json says (its keys in quotes).
struct CollectiveConfig {
  /// By operation, then dimension: "all-reduce-implementation" and so on.
  std::vector<std::vector<Algorithm>> algorithms = {{}, {}, {}, {}};
  Optimization optimization = Optimization::kBandwidthAware;  ///< "collective-optimization"
  Scheduling scheduling = Scheduling::kLifo;                  ///< "scheduling-policy"
  int splits = 1;                                             ///< "preferred-dataset-splits"
  int active_chunks = 1;                                      ///< "active-chunks-per-dimension"
  Time endpoint_delay = Time(10'000);                         ///< "endpoint-delay", before each message
  double memory_bytes_per_ns = 1600;                          ///< "local-mem-bw", which a reduction passes three times

  /// Those of all dimensions; the algorithms are the dimensions', and the rate the end's.
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("scheduling", scheduling,
          "Which collective goes first: the latest, the earliest, or by the trace's priority");
    visit("optimization", optimization,
          "baseline: an AllReduce of all in each dimension; localBWAware: ReduceScatters, an AllReduce, Allgathers");
    visit("splits", splits, "Chunks of a collective", Range{1, 1 << 20});
    visit("active_chunks", active_chunks, "Chunks in a dimension at a time", Range{1, 1 << 20});
    visit("endpoint_delay", endpoint_delay, "Before each message, and at the end of a phase",
          Range{0, 1'000'000'000'000});
  }

  [[nodiscard]] Algorithm algorithm(Operation operation, std::size_t dimension) const {
    return algorithms[static_cast<std::size_t>(operation)][dimension];
  }
};

/// One collective of a chunk on one dimension.
struct Phase {
  Operation operation;
  Algorithm algorithm;
  std::uint32_t dimension;
  std::uint32_t members;  ///< of the dimension
  std::int64_t bytes;     ///< the whole buffer of a member; for an Allgather its shard
};

/// A collective as phases that each of its equal chunks passes, one after the other. An AllReduce that is aware of
/// bandwidth is a ReduceScatter on each dimension but the last, an AllReduce on that one, and Allgathers back; a
/// baseline one is an AllReduce of everything on each dimension in turn. Dimensions of one member are left out.
///
/// `bytes` as Chakra gives it: the whole buffer, for an Allgather the shard. Less than a byte for each of `ends` and
/// split is padded; what does not divide makes one chunk more (both as ASTRA-sim does).
struct Plan {
  std::vector<Phase> phases;
  std::int64_t chunks = 0;
};
Plan plan_collective(const CollectiveConfig& config, Operation operation, std::int64_t bytes,
                     const std::vector<std::uint32_t>& sizes, std::uint32_t ends);

/// A node's place in one of the two trees of a double binary tree over `members`: numbered in order, with one root that
/// has a single child, the first number or the last one.
struct TreePlace {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t parent = kNone;
  std::uint32_t children[2] = {kNone, kNone};

  [[nodiscard]] std::uint32_t count() const { return (children[0] != kNone) + (children[1] != kNone); }
};
TreePlace tree_place(std::uint32_t member, std::uint32_t members, bool first_is_root);

}  // namespace weft::dimensions
