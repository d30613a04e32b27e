// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/core/element.h"
#include "hw/memory/backing_store.h"
#include "sw/collectives/blocks.h"

namespace weft::collectives {

/// Of tokens that each member of a group sends to others, and of which each goes to several of them: bytes that one
/// member sends, alike for all. A token counts once for each member that gets it, and once for each node.
struct Tokens {
  std::vector<std::uint64_t> members;  ///< that come to each member
  std::vector<std::uint64_t> nodes;    ///< that come to each node, in the order of the members

  bool operator==(const Tokens&) const = default;

  /// In a buffer, what comes from or goes to a member or node has a place of these sizes.
  [[nodiscard]] std::uint64_t member_place() const { return *std::max_element(members.begin(), members.end()); }
  [[nodiscard]] std::uint64_t node_place() const { return *std::max_element(nodes.begin(), nodes.end()); }
  /// Bytes of a buffer that holds either.
  [[nodiscard]] std::uint64_t room() const {
    return std::max(member_place() * members.size(), node_place() * nodes.size());
  }
  /// Nodes have as many members each.
  [[nodiscard]] std::size_t per_node() const { return members.size() / nodes.size(); }
  /// Whether there are such tokens: a node gets as many as its busiest member, and no more than its members together.
  [[nodiscard]] bool is_possible() const;
};

/// Which of the tokens that come to a node go to which of its members. Each member has a window of the node's tokens,
/// which begins where that of the member before it ends, and goes on at the beginning where the tokens end: so each
/// token goes to one member at least, and as many as go to several are in several windows.
class NodeWindows {
 public:
  /// Those of node `node`.
  NodeWindows(const Tokens& tokens, std::size_t node);

  struct Part {
    std::uint64_t at = 0;     ///< in the node's tokens
    std::uint64_t place = 0;  ///< in the member's
    std::uint64_t bytes = 0;
  };
  /// Of the member at this position of the node, what lies in a region of the node's tokens: two parts at most.
  [[nodiscard]] std::vector<Part> parts(std::size_t local, Extent region) const;
  /// All of the node's tokens.
  [[nodiscard]] Extent whole() const { return {0, whole_}; }

 private:
  struct Window {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t whole_;
  std::vector<Window> windows_;
};

/// Contents of a dispatch or a combine that are known, to compare memories with.
struct TokenReference {
  Tokens tokens;
  bool combines = false;
  ElementType type = ElementType::kFp32;
  std::uint64_t seed = 0;

  /// A member's input.
  void fill(memory::BackingStore& store, std::uint64_t address, int member) const;
  /// Elements of a member's output that are not what must be there.
  [[nodiscard]] std::int64_t wrong(const memory::BackingStore& store, std::uint64_t address, int member) const;

 private:
  [[nodiscard]] std::uint32_t element(int member, std::uint64_t index) const;
};

}  // namespace weft::collectives
