// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/tree/tree.h"

namespace weft::collectives {

/// AllReduces by double binary trees (Sanders, Speck and Träff 2009), as NCCL has them for short buffers on many nodes:
/// a chain within each node, whose head has a place in a binary tree over the nodes. There are two such trees for each
/// channel, each for half of its part, in which other nodes are leaves. Channel c has the heads at position c, so that
/// every interface is used.
class TreeGroup {
 public:
  /// `rows`: numbers of members, by node.
  TreeGroup(const std::vector<firmware::Rank*>& ranks, const std::vector<std::vector<int>>& rows, int channels,
            const TreeMember::Options& options, const std::string& name);

  /// Sums `buffer` over all members, in place; see SlotLane on `flags`.
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type, Flags flags);

  /// Hops from the end of a node's chain to the root, about: what NCCL calls a tree's depth.
  [[nodiscard]] int depth() const { return depth_; }

 private:
  [[nodiscard]] std::uint64_t chunk_for(std::uint64_t bytes, Flags flags) const;

  std::vector<firmware::Rank*> ranks_;
  TreeMember::Options options_;
  std::string name_;
  int depth_;
  std::vector<std::vector<std::unique_ptr<TreeMember>>> trees_;  ///< by tree and member
};

}  // namespace weft::collectives
