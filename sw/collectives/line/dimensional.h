// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "sw/collectives/group.h"
#include "sw/collectives/line/line.h"
#include "sw/collectives/shared_buffers.h"
#include "sw/dimensions/plan.h"
#include "sw/dimensions/themis.h"

namespace weft::collectives {

/// What the machine's dimensions are, and how collectives run in them.
struct DimensionsConfig {
  static constexpr std::string_view kAlgorithm = "dimensions";

  std::vector<int> sizes;
  std::vector<dimensions::Algorithm> all_reduce = {dimensions::Algorithm::kRing};
  std::vector<dimensions::Algorithm> all_gather = {dimensions::Algorithm::kRing};
  std::vector<dimensions::Algorithm> reduce_scatter = {dimensions::Algorithm::kRing};
  std::vector<dimensions::Algorithm> all_to_all = {dimensions::Algorithm::kDirect};
  std::vector<RootedAlgorithm> rooted = {RootedAlgorithm::kBinomial};
  int radix = kLibraryRadix;
  dimensions::Optimization optimization = dimensions::Optimization::kBandwidthAware;
  dimensions::Scheduling scheduling = dimensions::Scheduling::kLifo;
  dimensions::InterDimension inter_dimension = dimensions::InterDimension::kBaseline;
  dimensions::IntraDimension intra_dimension = dimensions::IntraDimension::kFifo;
  int splits = 4;
  int active_chunks = 2;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("sizes", sizes,
          "Ranks in each dimension, the fastest-varying first; empty: a node and the nodes, or the dimensions of the "
          "network",
          Range{2, 1 << 20});
    visit("all_reduce", all_reduce,
          "Algorithm of AllReduces in each dimension; the last one also holds for further dimensions");
    visit("all_gather", all_gather, "The same for Allgathers");
    visit("reduce_scatter", reduce_scatter, "The same for ReduceScatters");
    visit("all_to_all", all_to_all, "The same for AllToAlls");
    visit("rooted", rooted, "The same for Broadcasts, Reduces, Gathers and Scatters");
    visit("radix", radix, "k of their k-nomial trees; 4 in UCC and Open MPI", Range{2, 1 << 20});
    visit("optimization", optimization,
          "baseline: an AllReduce of the whole buffer in each dimension; localBWAware: ReduceScatters, one AllReduce, "
          "then Allgathers");
    visit("scheduling", scheduling,
          "Which collective's chunks go first: those of the latest, the earliest, or by priority");
    visit("inter_dimension", inter_dimension,
          "baseline: every chunk visits the dimensions in their order; themis: the least loaded first");
    visit("intra_dimension", intra_dimension, "Which of a collective's chunks that wait for a dimension goes first");
    visit("splits", splits, "Chunks of a collective", Range{1, 4096});
    visit("active_chunks", active_chunks, "Chunks that a rank begins in a dimension at a time", Range{1, 128});
  }

  [[nodiscard]] dimensions::Algorithm algorithm(dimensions::Operation operation, std::size_t dimension) const;
  [[nodiscard]] RootedAlgorithm rooted_algorithm(std::size_t dimension) const {
    return rooted[std::min(dimension, rooted.size() - 1)];
  }
};

/// Collectives over the dimensions of a machine, as ASTRA-sim's users know them (Rashidi et al. 2020; Won et al. 2023):
/// a collective is cut into chunks, and each chunk passes the phases of its plan, a collective of one dimension each.
/// Chunks of a collective, and of several, are in different phases at a time, and each dimension's link is used by
/// some.
///
/// A Broadcast and a Scatter go down the dimensions from the last one, a Reduce and a Gather up, each by the members
/// that have something.
///
/// Chunks visit the dimensions in their order, or as Themis has it (sw/dimensions/themis.h), by the network's rates.
///
/// Members that are a grid within the machine's dimensions keep these, without those of one member; others are one line
/// in the order in which they are listed, with the algorithms of the first dimension.
///
/// Unlike other groups, one does several collectives at a time; all members begin them in the same order.
class DimensionGroup final : public Group {
 public:
  DimensionGroup(const std::vector<firmware::Rank*>& ranks, const DimensionsConfig& config, const std::string& name);

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] const std::vector<int>& sizes() const { return sizes_; }

  /// Throws ConfigError where the algorithm of a dimension has no such collective, or not that of a phase of it, as
  /// begin() does.
  void check(dimensions::Operation operation) const override;

  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type) override;
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override;
  /// Part i of `input` goes to member i, whose `output` has it as part `member`.
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) override;
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) override;
  firmware::Task rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes,
                        ElementType type) override;

  /// A collective as begin() takes it. `output` is an AllToAll's; a ReduceScatter leaves the own block in `input`.
  struct Call {
    dimensions::Operation operation = dimensions::Operation::kAllReduce;
    std::uint64_t input = 0;
    std::uint64_t output = 0;
    std::uint64_t bytes = 0;
    ElementType type = ElementType::kFp32;
    std::uint64_t granule = 1;          ///< in which blocks of an Allgather are cut
    BlockMap blocks = {};               ///< of each member; empty: equal parts
    std::optional<Rooted> rooted = {};  ///< in place of `operation`
    int root = 0;
    std::int64_t priority = 0;  ///< higher ones go first, where scheduling is EXPLICIT
  };
  /// From a running thread of the member: begins a collective and returns at once. `done` is called on a thread of the
  /// member when its part has ended.
  void begin(int member, Call call, std::function<void()> done);

 private:
  /// One member's part of one collective.
  struct Run;
  /// A chunk's way through its phases at one member.
  struct Chunk;
  struct Member {
    std::vector<LineMember*> lines;  ///< by dimension
    std::uint32_t streams = 0;       ///< chunks that it has begun
    std::int64_t begun = 0;          ///< collectives
    std::int64_t all_to_alls = 0;
    int running = 0;
    firmware::CompletionQueue* moved = nullptr;
  };
  void find_dimensions(const DimensionsConfig& config);
  void join_lines(const std::string& name);
  [[nodiscard]] int coordinate(int member, std::size_t dimension) const {
    return member / strides_[dimension] % sizes_[dimension];
  }
  /// begin() for a thread that has nothing else to do.
  firmware::Task run(int member, Call call);
  /// The next chunk's phases; by Themis if given.
  [[nodiscard]] dimensions::Plan::Phases phases_of(const Run& run, dimensions::Themis* themis) const;
  void go_on(const std::shared_ptr<Chunk>& chunk);
  [[nodiscard]] Phase phase_of(Chunk& chunk) const;
  [[nodiscard]] Phase rooted_phase(const Chunk& chunk, std::size_t dimension) const;
  /// Whether a member has anything to do with a rooted collective's phase in a dimension.
  [[nodiscard]] bool takes_part(int member, int root, std::size_t dimension) const;
  firmware::Task move(int member, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);

  std::vector<firmware::Rank*> ranks_;
  DimensionsConfig config_;
  std::vector<RootedAlgorithm> rooted_;  ///< by dimension
  dimensions::CollectiveConfig plan_config_;
  std::vector<int> sizes_;
  std::vector<int> strides_;
  std::vector<dimensions::DimensionCost> costs_;
  std::vector<std::unique_ptr<LineMember>> lines_;
  std::vector<Member> members_;
  SharedBuffers on_the_way_;  ///< what AllToAlls of several phases keep between them
};

}  // namespace weft::collectives
