// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sw/collectives/deepep/deepep.h"

namespace weft::collectives {

/// A member's part of a combine: what it has of others' tokens goes to the members of its node at their positions; it
/// sums what comes for those at its own, chunk by chunk, and sends the sums.
class DeepEp::Combine {
 public:
  Combine(DeepEp& group, Member& here, std::uint64_t input, std::uint64_t output, Tokens tokens, ElementType type);

  void take(const Event& event);
  [[nodiscard]] bool is_over() const;

 private:
  /// The i-th sum of a node's member: a chunk of what goes to a node. Chunk by chunk all nodes take turns, its own
  /// last.
  struct Sum {
    int node = 0;
    std::uint64_t chunk = 0;
  };
  struct Slot {
    std::int64_t missing = 0;  ///< messages
    int adding = 0;            ///< copies and sums under way
    bool done = true;
  };

  [[nodiscard]] Sum sum(std::uint64_t i) const;
  [[nodiscard]] Extent region(std::uint64_t chunk) const { return Chunks{windows_.whole(), group_.chunk()}[chunk]; }
  [[nodiscard]] int across(int node) const { return group_.member_of(node, here_.local); }
  /// In staging memory, what comes from the member at this position for a sum.
  [[nodiscard]] std::uint64_t staging(std::uint64_t i, std::size_t local) const {
    return group_.staging_ + (i % slots_.size() * tokens_.per_node() + local) * group_.chunk();
  }
  [[nodiscard]] std::uint64_t input_of(int member) const {
    return input_ + static_cast<std::uint64_t>(member) * tokens_.member_place();
  }
  [[nodiscard]] std::uint64_t count(std::size_t local, std::uint64_t chunk) const {
    return windows_.parts(local, region(chunk)).size();
  }
  void expect();
  void grant();
  void contribute(int peer);
  void add(std::uint64_t i);
  void added(std::uint64_t i);
  void send(std::uint64_t i);
  void arrived(int peer);
  void release(std::uint64_t i);

  DeepEp& group_;
  Member& here_;
  std::uint64_t input_;
  std::uint64_t output_;
  Tokens tokens_;
  ElementType type_;
  NodeWindows windows_;  ///< of the own node
  std::uint64_t all_;    ///< sums of a member
  std::vector<Slot> slots_;
  std::uint64_t granted_ = 0;   ///< sums that have a slot
  std::uint64_t released_ = 0;  ///< and have given it back
  /// By position in the own node: the next sum to contribute to, that messages come for, and how many of it came.
  std::vector<std::uint64_t> contributed_;
  std::vector<std::uint64_t> coming_for_;
  std::vector<std::uint64_t> came_of_;
  std::vector<bool> entered_;                     ///< by node: the member across
  std::vector<std::vector<std::uint64_t>> held_;  ///< by node, sums for one that has not
  std::uint64_t coming_ = 0;                      ///< sums for this member, from other nodes
  std::int64_t under_way_ = 0;
};

}  // namespace weft::collectives
