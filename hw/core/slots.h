// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

/// Objects with small numbers, which an event can carry, that are used again: the number freed last is the next one
/// taken, so that few are touched. `Storage` is a std::deque where objects must stay where they are.
template <typename T, typename Storage = std::vector<T>>
class Slots {
 public:
  /// The number of an object, which still is what it was when that was freed.
  [[nodiscard]] std::uint32_t take() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(all_.size()));
      all_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void free(std::uint32_t slot) { free_.push_back(slot); }

  T& operator[](std::size_t slot) { return all_[slot]; }
  const T& operator[](std::size_t slot) const { return all_[slot]; }
  /// All there are, taken or not.
  Storage& all() { return all_; }

 private:
  Storage all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft
