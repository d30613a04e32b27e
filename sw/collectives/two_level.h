// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/group.h"
#include "sw/collectives/nodes.h"

namespace weft::collectives {

/// Collectives of nodes of several members: within each node by one way, and among the members at the same position of
/// every node by another, as SHARP across nodes stands on NVLink within them. What goes through is cut into pieces, so
/// that the levels work side by side.
///
/// AllReduce: ReduceScatter within the nodes, AllReduce across them, Allgather within. ReduceScatter and Allgather are
/// the same without one end; a Broadcast goes through the root's node, then across in parts, then through the others.
class TwoLevel final : public Group {
 public:
  /// Groups by node, for what goes out of it and for what comes in, and by position across nodes.
  struct Levels {
    std::vector<std::unique_ptr<Group>> outward;
    std::vector<std::unique_ptr<Group>> inward;
    std::vector<std::unique_ptr<Group>> across;
  };
  /// `piece`: bytes of a buffer, over all members, of which there are at most `pieces`.
  TwoLevel(const std::vector<firmware::Rank*>& ranks, Levels levels, std::uint64_t piece, int pieces,
           const std::string& name);

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type) override;
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override;
  firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) override;
  firmware::Task barrier(int member, std::uint64_t token) override;

 private:
  /// What a level does with piece number `i`.
  using Stage = std::function<firmware::Task(std::uint64_t)>;
  /// Runs `stages` on threads of their own; each takes a piece when the one before it is done with it.
  firmware::Task pipeline(int member, const char* what, std::uint64_t pieces, std::vector<Stage> stages);
  [[nodiscard]] std::uint64_t pieces_of(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t pieces_of(const BlockMap& blocks) const;
  /// By node and position, piece `i` of `pieces` of each block.
  [[nodiscard]] std::function<Extent(int, int)> cut(BlockMap blocks, std::uint64_t i, std::uint64_t pieces,
                                                    std::uint64_t granule) const;

  std::vector<firmware::Rank*> ranks_;
  Levels levels_;
  Nodes nodes_;
  std::uint64_t piece_;
  std::uint64_t pieces_;
  std::string name_;
};

}  // namespace weft::collectives
