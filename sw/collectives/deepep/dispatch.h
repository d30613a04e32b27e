// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sw/collectives/deepep/deepep.h"

namespace weft::collectives {

/// A member's part of a dispatch: as sender, as the one that forwards to its node, and as receiver.
class DeepEp::Dispatch {
 public:
  Dispatch(DeepEp& group, Member& here, std::uint64_t input, std::uint64_t output, Tokens tokens);

  void take(const Event& event);
  [[nodiscard]] bool is_over() const;

 private:
  /// To a member of the node that has not entered yet.
  struct Forward {
    std::uint64_t from;
    std::uint64_t to;
    std::uint64_t bytes;
    std::uint64_t token;
  };

  [[nodiscard]] bool is_own(int node) const { return node == here_.node; }
  [[nodiscard]] int across(int node) const { return group_.member_of(node, here_.local); }
  [[nodiscard]] std::uint64_t chunks(std::uint64_t bytes) const {
    return (bytes + group_.chunk() - 1) / group_.chunk();
  }
  [[nodiscard]] Extent region(std::uint64_t chunk) const { return Chunks{windows_.whole(), group_.chunk()}[chunk]; }
  /// What is in staging memory of a node's chunk.
  [[nodiscard]] std::uint64_t slot(int node, std::uint64_t chunk) const {
    const auto slots = static_cast<std::uint64_t>(group_.config_.slots);
    return static_cast<std::uint64_t>(node) * slots + chunk % slots;
  }
  [[nodiscard]] std::uint64_t address(std::uint64_t slot) const { return group_.staging_ + slot * group_.chunk(); }
  void expect();
  void enter(int peer);
  void send(int node);
  /// What lies at `from` and is a region of the tokens that the member across in `node` has for this node.
  void forward(int node, Extent region, std::uint64_t from, std::uint64_t token);
  void freed(std::uint64_t slot);

  DeepEp& group_;
  Member& here_;
  std::uint64_t input_;
  std::uint64_t output_;
  Tokens tokens_;
  NodeWindows windows_;                    ///< of the own node
  std::uint64_t come_;                     ///< chunks that come from each node
  std::vector<std::uint64_t> sent_;        ///< chunks, by node
  std::vector<std::uint64_t> arrived_;     ///< likewise
  std::vector<std::uint64_t> invited_;     ///< likewise, how many chunks that member may send
  std::vector<int> forwards_;              ///< by slot, and of the own tokens: that are under way
  std::vector<bool> entered_;              ///< by position in the own node
  std::vector<std::deque<Forward>> held_;  ///< likewise
  std::int64_t coming_ = 0;                ///< messages of tokens for this member
  std::int64_t under_way_ = 0;             ///< own messages and copies
};

}  // namespace weft::collectives
