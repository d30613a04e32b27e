// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::analytical {

/// Things that come and go, told apart by small numbers that are used again. They stay where they are, however many
/// come after them.
template <typename T>
class Pool {
 public:
  /// A number that is free; what it stands for is as it was left.
  std::uint32_t take() {
    if (free_.empty()) [[unlikely]]
      return make();
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void give(std::uint32_t number) { free_.push_back(number); }

  T& operator[](std::uint32_t number) { return blocks_[number / kBlock][number % kBlock]; }
  const T& operator[](std::uint32_t number) const { return blocks_[number / kBlock][number % kBlock]; }

  /// How many numbers there are, taken or not.
  [[nodiscard]] std::uint32_t made() const { return made_; }

 private:
  static constexpr std::uint32_t kBlock = 256;

  std::uint32_t make() {
    if (made_ % kBlock == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
    return made_++;
  }

  std::vector<std::unique_ptr<T[]>> blocks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t made_ = 0;
};

}  // namespace weft::analytical
