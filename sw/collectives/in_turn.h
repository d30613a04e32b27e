// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::collectives {

/// What is done through several queue pairs in turn. One does its part in order, but they overtake each other; what
/// counts is all before the first that is missing.
class InTurn {
 public:
  explicit InTurn(std::size_t pairs = 1) : done_(pairs) {}

  void add(std::uint64_t pair) {
    ++done_[pair];
    while (done_[count_ % done_.size()] > count_ / done_.size()) ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::vector<std::uint64_t> done_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::collectives
