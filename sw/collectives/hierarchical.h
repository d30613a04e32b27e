// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/nodes.h"
#include "sw/collectives/ring/ring_group.h"

namespace weft::collectives {

/// Rings within nodes and rings of equal local position across nodes, one phase behind the other, node block by node
/// block. Blocks must be those of even_blocks; there is no Broadcast.
class Hierarchical final : public Group {
 public:
  /// Throws ConfigError if the nodes have different numbers of members.
  Hierarchical(const std::vector<firmware::Rank*>& ranks, int channels, const RingMember::Options& options,
               const std::string& name);

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) override;
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                ElementType type) override;

 private:
  /// A channel's part of the block of the member at a node and local position.
  using PartMap = std::function<Extent(int channel, int node, int local)>;
  [[nodiscard]] PartMap parts(const RingGroup& up, BlockMap blocks, std::uint64_t granule) const;

  std::vector<firmware::Rank*> ranks_;
  std::string name_;
  Nodes nodes_;
  int channels_;
  std::vector<std::unique_ptr<RingGroup>> up_;   ///< by node
  std::vector<std::unique_ptr<RingGroup>> out_;  ///< by local position
};

}  // namespace weft::collectives
