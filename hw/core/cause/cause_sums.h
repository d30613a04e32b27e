// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "hw/core/cause/cause_kinds.h"
#include "hw/core/quantity.h"

namespace weft {

/// Times by what they went to, in the order in which each came first. Each end of a wait adds a chain of pieces: they
/// lie one behind the other, and a table of their numbers finds them, which takes two thirds of the time of a
/// std::unordered_map, where each has memory of its own.
class CauseSums {
 public:
  using Sum = std::pair<Why, Time>;

  CauseSums() = default;
  CauseSums(std::initializer_list<Sum> sums) {
    for (const Sum& sum : sums) (*this)[sum.first] += sum.second;
  }

  /// None so far: a new one.
  Time& operator[](const Why& why) {
    if (2 * sums_.size() >= table_.size()) grow();
    std::uint32_t& number = find(why);
    if (number == kNone) {
      number = static_cast<std::uint32_t>(sums_.size());
      sums_.emplace_back(why, Time());
    }
    return sums_[number].second;
  }
  /// It is asked for soon: who follows many a sum waits for memory once.
  void prepare(const Why& why) const {
    if (!table_.empty()) __builtin_prefetch(&table_[first_place(why)]);
  }
  [[nodiscard]] auto begin() const { return sums_.begin(); }
  [[nodiscard]] auto end() const { return sums_.end(); }

  /// Whether both have the same, in whatever order.
  friend bool operator==(CauseSums a, CauseSums b) {
    std::sort(a.sums_.begin(), a.sums_.end());
    std::sort(b.sums_.begin(), b.sums_.end());
    return a.sums_ == b.sums_;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  [[nodiscard]] std::size_t first_place(const Why& why) const {
    const std::uint64_t all = std::uint64_t{why.context} << 32 | std::uint64_t{static_cast<std::uint8_t>(why.kind)}
                                                                     << 24;
    return ((all ^ why.place) * 0x9e3779b97f4a7c15ULL >> 32) & (table_.size() - 1);
  }
  /// Where its number is, or has to be.
  std::uint32_t& find(const Why& why) {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = first_place(why);
    while (table_[at] != kNone && sums_[table_[at]].first != why) at = (at + 1) & mask;
    return table_[at];
  }
  void grow() {
    table_.assign(std::max<std::size_t>(16, 2 * table_.size()), kNone);
    for (std::uint32_t i = 0; i < sums_.size(); ++i) find(sums_[i].first) = i;
  }

  std::vector<Sum> sums_;
  std::vector<std::uint32_t> table_;  ///< a power of two of places, at most half of which are taken
};

}  // namespace weft
