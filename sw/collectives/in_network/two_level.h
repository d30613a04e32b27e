// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/group.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/nodes.h"
#include "sw/collectives/ring/ring.h"

namespace weft::collectives {

/// Collectives of nodes of several members: within each node by one way, and among the members at the same position of
/// every node by another, as SHARP across nodes stands on NVLink within them. What goes through is cut into pieces, so
/// that the levels work side by side; across nodes several pieces are on their way at once, each in a lane of its own,
/// since the way is long for them.
///
/// AllReduce: ReduceScatter within the nodes, AllReduce across them, Allgather within; where it is staged, copies into
/// the slots before and out of them behind, so that it is a pipeline of five. ReduceScatter and Allgather are the same
/// without one end; a Broadcast goes through the root's node, then across in parts, then through the others.
class TwoLevel final : public Group {
 public:
  /// Groups by node, for what goes out of it and for what comes in, and by lane and position across nodes.
  struct Levels {
    std::vector<std::unique_ptr<Group>> outward;
    std::vector<std::unique_ptr<Group>> inward;
    std::vector<std::vector<std::unique_ptr<Group>>> across;
  };
  /// How many pieces a buffer is cut into, by its bytes over all members.
  using PieceCount = std::function<std::uint64_t(std::uint64_t)>;
  /// What sums across nodes: switches that reduce, or rings where they do not; or double binary trees, as in NCCL's
  /// NVLSTree, which has AllReduces alone.
  enum class Across : std::uint8_t { kSwitches, kTrees };
  struct Options {
    InNetworkMember::Config in_network;
    bool within = true;  ///< by switches, where those of nodes reduce; else by rings
    Across across = Across::kSwitches;
    int channels = 1;  ///< of rings within nodes, and lanes of rings and trees across them
    RingMember::Options rings;
    PieceCount pieces;
    /// Of each node, members that have parts of an AllReduce, the first ones, as NCCL's heads of NVLS; 0: all.
    int heads = 0;
    /// Buffers that an AllReduce passes through, a piece in each slot; no channels: none.
    Staging staging;
  };
  /// By the switches of each network that reduces. Returns nothing when the tables of these are full. Throws
  /// ConfigError when nodes have different numbers of members or nothing reduces.
  static std::unique_ptr<TwoLevel> join(const std::vector<firmware::Rank*>& ranks, const Options& options,
                                        const std::string& name);

  TwoLevel(const std::vector<firmware::Rank*>& ranks, Levels levels, const Options& options, const std::string& name);

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type) override;
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override;
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) override;
  firmware::Task barrier(int member, std::uint64_t token) override;

 private:
  /// What a level does with piece number `i`, one piece at a time in each of its lanes, which take turns.
  struct Stage {
    std::function<firmware::Task(std::uint64_t)> work;
    std::uint64_t lanes = 1;
  };
  /// What a lane counts is how many pieces it has done.
  struct Lanes;
  static firmware::Task run_lane(const Stage& stage, std::uint64_t lane, std::uint64_t pieces, Lanes* before,
                                 Lanes& done);
  /// Runs `stages` on threads of their own; each takes a piece when the one before it is done with it.
  firmware::Task pipeline(int member, const char* what, std::uint64_t pieces, std::vector<Stage> stages);
  /// Staging of a member: where its slots begin, and the completions of copies.
  struct Buffers {
    std::uint64_t slots = 0;
    firmware::CompletionQueue* in = nullptr;
    firmware::CompletionQueue* out = nullptr;
  };
  firmware::Task staged_all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type);
  /// The three stages of an AllReduce of part `extent(i)` of what is at `at(i)`, by piece.
  struct Place {
    std::uint64_t base;
    Extent extent;
  };
  using Places = std::function<Place(std::uint64_t)>;
  void add_sums(std::vector<Stage>& stages, int member, const Places& places, ElementType type);
  /// Of a slot of staging. The last piece may be longer than the others, by less than an element.
  [[nodiscard]] std::uint64_t slot_bytes() const {
    constexpr std::uint64_t kLongestElement = 8;
    return staging_.bytes(heads()) / static_cast<std::uint64_t>(staging_.slots) + kLongestElement;
  }
  [[nodiscard]] int heads() const { return heads_ == 0 ? nodes_.per_node() : std::min(heads_, nodes_.per_node()); }
  /// Across nodes.
  [[nodiscard]] std::uint64_t lanes() const { return levels_.across.size(); }
  [[nodiscard]] Group& across(std::uint64_t piece, int local) const {
    return *levels_.across[piece % lanes()][static_cast<std::size_t>(local)];
  }
  [[nodiscard]] std::uint64_t pieces_of(const BlockMap& blocks) const;
  /// By node and position, piece `i` of `pieces` of each block.
  [[nodiscard]] std::function<Extent(int, int)> cut(BlockMap blocks, std::uint64_t i, std::uint64_t pieces,
                                                    std::uint64_t granule) const;

  std::vector<firmware::Rank*> ranks_;
  Levels levels_;
  Nodes nodes_;
  PieceCount pieces_;
  int heads_;
  Staging staging_;
  std::vector<Buffers> buffers_;  ///< by member, where there is staging
  std::string name_;
};

}  // namespace weft::collectives
