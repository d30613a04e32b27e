// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

namespace weft::dram {

/// The least of a fixed number of values, the first among equals, kept while they change one by one: a tree of matches
/// (Knuth, The Art of Computer Programming 3, section 5.4.1), of which each node holds the lesser of its two.
template <typename Value>
class Tournament {
 public:
  /// All values are the greatest at first.
  explicit Tournament(std::size_t size) : leaves_(std::bit_ceil(size)), nodes_(2 * leaves_) {
    for (std::size_t i = 0; i < leaves_; ++i) nodes_[leaves_ + i].number = i;
    for (std::size_t node = leaves_ - 1; node > 0; --node) nodes_[node] = lesser(node);
  }

  void set(std::size_t i, Value value) {
    std::size_t node = leaves_ + i;
    nodes_[node].value = value;
    while ((node /= 2) > 0) {
      const Node now = lesser(node);
      // What is above has seen it.
      if (now.number == nodes_[node].number && now.value == nodes_[node].value) return;
      nodes_[node] = now;
    }
  }
  [[nodiscard]] std::size_t first() const { return nodes_[1].number; }
  [[nodiscard]] Value least() const { return nodes_[1].value; }

 private:
  struct Node {
    Value value = std::numeric_limits<Value>::max();
    std::size_t number = 0;
  };

  [[nodiscard]] const Node& lesser(std::size_t node) const {
    const Node& left = nodes_[2 * node];
    const Node& right = nodes_[2 * node + 1];
    return right.value < left.value ? right : left;
  }

  std::size_t leaves_;
  std::vector<Node> nodes_;  ///< children of n are 2n and 2n + 1, the root is 1
};

}  // namespace weft::dram
