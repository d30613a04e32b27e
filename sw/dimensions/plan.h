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

/// ASTRA-sim's arithmetic has the first four (sw/analytical), firmware all (sw/collectives/line/line_algorithms.h). The
/// next three, given for the first dimension, mean one dimension of all ends. kNone leaves a dimension out.
enum class Algorithm : std::uint8_t {
  kRing,
  kDirect,
  kHalvingDoubling,
  kDoubleBinaryTree,
  kBidirectionalRing,
  kBruck,
  kOneRing,
  kOneDirect,
  kOneHalvingDoubling,
  kNone
};
inline EnumNames<Algorithm> enum_names(Algorithm /*tag*/) {
  return {{"ring", Algorithm::kRing},
          {"direct", Algorithm::kDirect},
          {"halvingDoubling", Algorithm::kHalvingDoubling},
          {"doubleBinaryTree", Algorithm::kDoubleBinaryTree},
          {"bidirectionalRing", Algorithm::kBidirectionalRing},
          {"bruck", Algorithm::kBruck},
          {"oneRing", Algorithm::kOneRing},
          {"oneDirect", Algorithm::kOneDirect},
          {"oneHalvingDoubling", Algorithm::kOneHalvingDoubling},
          {"none", Algorithm::kNone}};
}
[[nodiscard]] constexpr bool joins_dimensions(Algorithm algorithm) {
  return algorithm >= Algorithm::kOneRing && algorithm != Algorithm::kNone;
}
/// What it is in the one dimension.
[[nodiscard]] constexpr Algorithm in_one_dimension(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kOneRing:
      return Algorithm::kRing;
    case Algorithm::kOneDirect:
      return Algorithm::kDirect;
    case Algorithm::kOneHalvingDoubling:
      return Algorithm::kHalvingDoubling;
    default:
      return algorithm;
  }
}

enum class Scheduling : std::uint8_t { kLifo, kFifo, kExplicit };
inline EnumNames<Scheduling> enum_names(Scheduling /*tag*/) {
  return {{"LIFO", Scheduling::kLifo}, {"FIFO", Scheduling::kFifo}, {"EXPLICIT", Scheduling::kExplicit}};
}

enum class Optimization : std::uint8_t { kBaseline, kBandwidthAware };
inline EnumNames<Optimization> enum_names(Optimization /*tag*/) {
  return {{"baseline", Optimization::kBaseline}, {"localBWAware", Optimization::kBandwidthAware}};
}

/// In which order a chunk visits the dimensions.
enum class InterDimension : std::uint8_t { kBaseline, kThemis };
inline EnumNames<InterDimension> enum_names(InterDimension /*tag*/) {
  return {{"baseline", InterDimension::kBaseline}, {"themis", InterDimension::kThemis}};
}

/// Which of the chunks that wait for a dimension goes first.
enum class IntraDimension : std::uint8_t { kFifo, kSmallestFirst };
inline EnumNames<IntraDimension> enum_names(IntraDimension /*tag*/) {
  return {{"FIFO", IntraDimension::kFifo},
          {"SmallestFirst", IntraDimension::kSmallestFirst},
          {"SCF", IntraDimension::kSmallestFirst}};
}

/// How collectives are cut into chunks and run: what ASTRA-sim's system.json says (its keys in quotes).
struct CollectiveConfig {
  /// By operation, then dimension: "all-reduce-implementation" and so on.
  std::vector<std::vector<Algorithm>> algorithms = {{}, {}, {}, {}};
  /// The same, of direct exchanges: messages that a member sends before it has received one; 0, or nothing: all.
  std::vector<std::vector<std::uint32_t>> windows;
  /// As ASTRA-sim: all phases of an AllReduce have the algorithms of AllReduces, and small Allgathers are not padded.
  bool as_astra_sim = false;
  Optimization optimization = Optimization::kBandwidthAware;   ///< "collective-optimization"
  Scheduling scheduling = Scheduling::kLifo;                   ///< "scheduling-policy"
  InterDimension inter_dimension = InterDimension::kBaseline;  ///< "inter-dimension-scheduling"
  IntraDimension intra_dimension = IntraDimension::kFifo;      ///< "intra-dimension-scheduling"
  int splits = 1;                                              ///< "preferred-dataset-splits"
  int active_chunks = 1;                                       ///< "active-chunks-per-dimension"
  int queues = 1;                                              ///< "--num-queues-per-dim", which share these
  Time endpoint_delay = Time(10'000);                          ///< "endpoint-delay", before each message
  double memory_bytes_per_ns = 1600;                           ///< "local-mem-bw", which a reduction passes three times

  /// Those of all dimensions; the algorithms are the dimensions', and the rate the end's.
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("scheduling", scheduling,
          "Which collective goes first: the latest, the earliest, or by the trace's priority");
    visit("optimization", optimization,
          "baseline: an AllReduce of the whole buffer in each dimension; localBWAware: ReduceScatters, one AllReduce, "
          "then Allgathers");
    visit("inter_dimension", inter_dimension,
          "baseline: every chunk visits the dimensions in their order; themis: the least loaded first");
    visit("intra_dimension", intra_dimension, "Which of the chunks that wait for a dimension goes first");
    visit("splits", splits, "Chunks of a collective", Range{1, 1 << 20});
    visit("active_chunks", active_chunks, "Chunks in a dimension at a time", Range{1, 1 << 20});
    visit("queues", queues,
          "Queues of a dimension, which share its active chunks; half of them go around the other way", Range{1, 255});
    visit("endpoint_delay", endpoint_delay, "Delay before each message, and at the end of a phase",
          Range{0, 1'000'000'000'000});
  }

  [[nodiscard]] bool joins_dimensions(Operation operation) const {
    return dimensions::joins_dimensions(algorithms[static_cast<std::size_t>(operation)].front());
  }
  [[nodiscard]] Algorithm algorithm(Operation operation, std::size_t dimension) const {
    return in_one_dimension(algorithms[static_cast<std::size_t>(operation)][dimension]);
  }
  [[nodiscard]] std::uint32_t window(Operation operation, std::size_t dimension) const {
    return windows.empty() ? 0 : windows[static_cast<std::size_t>(operation)][dimension];
  }
};

/// Of an AllReduce that is aware of bandwidth, phases up to its turning point have one half of a dimension's queues,
/// and those on the way back the other half.
enum class Half : std::uint8_t { kBoth, kFirst, kSecond };

/// One collective of a chunk on one dimension.
struct Phase {
  Operation operation;
  Algorithm algorithm;
  std::uint32_t dimension;
  std::uint32_t members;  ///< of the dimension
  std::int64_t bytes;     ///< the whole buffer of a member; for an Allgather its shard
  std::uint32_t window = 0;
  Half half = Half::kBoth;

  /// A member's shard.
  [[nodiscard]] std::int64_t shard() const { return operation == Operation::kAllgather ? bytes : bytes / members; }
  [[nodiscard]] bool reduces() const {
    return operation == Operation::kAllReduce || operation == Operation::kReduceScatter;
  }
  /// Messages that a member of a ring in one direction sends.
  [[nodiscard]] std::uint32_t ring_messages() const {
    if (operation == Operation::kAllReduce) return 2 * (members - 1);
    // Each shard passes all that lie between.
    return operation == Operation::kAllToAll ? members * (members - 1) / 2 : members - 1;
  }
  /// What a member has at most, before a reduction or after a gather.
  [[nodiscard]] std::int64_t whole() const { return operation == Operation::kAllgather ? bytes * members : bytes; }
};

/// A collective as phases that each of its equal chunks passes, one after the other. An AllReduce that is aware of
/// bandwidth is a ReduceScatter on each dimension but the last, an AllReduce on that one, and Allgathers back; a
/// baseline one is an AllReduce of everything on each dimension in turn. Dimensions of one member are left out.
///
/// `bytes` as Chakra gives it: the whole buffer, for an Allgather the shard. Less than a byte for each of `ends` and
/// split is padded; what does not divide makes one chunk more (both as ASTRA-sim does). As ASTRA-sim, an Allgather is
/// padded to a byte a split alone, and a double binary tree is a whole AllReduce in any phase of one.
struct Plan {
  using Phases = std::vector<Phase>;

  std::vector<Phases> orders;           ///< different ones, all with the same number of phases
  std::vector<std::uint32_t> order_of;  ///< by chunk, which of these; empty: all have the first
  std::int64_t chunks = 0;
  /// By chunk and phase: when it is a dimension's turn to run it, counted from 0 in each dimension. Empty where
  /// whatever waits may run, in the order of its coming.
  std::vector<std::uint32_t> turns;
  std::vector<std::uint32_t> turns_in;  ///< by dimension, how many these are

  [[nodiscard]] const Phases& phases(std::uint32_t chunk) const {
    return orders[order_of.empty() ? 0 : order_of[chunk]];
  }
  [[nodiscard]] std::uint32_t turn(std::uint32_t chunk, std::size_t phase) const {
    return turns[chunk * orders.front().size() + phase];
  }
};

/// The same order for all chunks, that of the dimensions.
Plan plan_collective(const CollectiveConfig& config, Operation operation, std::int64_t bytes,
                     const std::vector<std::uint32_t>& sizes, std::uint32_t ends);

/// The phases of a chunk of so many bytes whose ReduceScatters visit `order`, and whose Allgathers visit it backwards.
Plan::Phases phases_in(const CollectiveConfig& config, Operation operation, std::int64_t bytes,
                       const std::vector<std::uint32_t>& order, const std::vector<std::uint32_t>& sizes);

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
