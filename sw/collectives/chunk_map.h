// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace weft::collectives {

/// Which chunks of a collective a member has, a bit each, and how many are missing of each source. The chunks of source
/// 0 have the first numbers, then come those of source 1.
class ChunkMap {
 public:
  /// Starts over: source s has `counts[s]` chunks. All are missing but those of `own`.
  void begin(const std::vector<std::uint32_t>& counts, int own) {
    first_.assign(1, 0);
    for (const std::uint32_t count : counts) first_.push_back(first_.back() + count);
    missing_by_source_ = counts;
    missing_ = first_.back() - counts[static_cast<std::size_t>(own)];
    missing_by_source_[static_cast<std::size_t>(own)] = 0;
    bits_.assign((first_.back() + 63) / 64, 0);
  }

  [[nodiscard]] std::uint32_t size() const { return first_.back(); }
  /// Number of the first chunk of `source`.
  [[nodiscard]] std::uint32_t first(int source) const { return first_[static_cast<std::size_t>(source)]; }
  /// Whose chunk `number` is.
  [[nodiscard]] int source_of(std::uint32_t number) const {
    // Mostly all sources have the same number of chunks.
    const auto sources = static_cast<std::uint32_t>(missing_by_source_.size());
    const auto guess = static_cast<std::uint32_t>(std::uint64_t{number} * sources / first_.back());
    if (first_[guess] <= number && number < first_[guess + 1]) return static_cast<int>(guess);
    return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), number) - first_.begin()) - 1;
  }

  /// Notes that a chunk has come; false if it had before.
  bool set(std::uint32_t number) {
    std::uint64_t& word = bits_[number / 64];
    const std::uint64_t bit = 1ULL << (number % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    --missing_by_source_[static_cast<std::size_t>(source_of(number))];
    --missing_;
    return true;
  }
  [[nodiscard]] std::uint32_t missing() const { return missing_; }
  [[nodiscard]] std::uint32_t missing(int source) const { return missing_by_source_[static_cast<std::size_t>(source)]; }

  struct Hole {
    std::uint32_t first = 0;
    std::uint32_t count = 0;  ///< 0: there is none
  };
  /// The first run of missing chunks of `source`, which is not the own one, from number `from` on.
  [[nodiscard]] Hole next_hole(int source, std::uint32_t from) const {
    const std::uint32_t end = first(source + 1);
    while (from < end && has(from)) ++from;
    Hole hole{from, 0};
    while (from < end && !has(from)) ++from;
    hole.count = from - hole.first;
    return hole;
  }

 private:
  [[nodiscard]] bool has(std::uint32_t number) const { return (bits_[number / 64] >> (number % 64) & 1) != 0; }

  std::vector<std::uint32_t> first_;  ///< by source, and the total
  std::vector<std::uint32_t> missing_by_source_;
  std::vector<std::uint64_t> bits_;
  std::uint32_t missing_ = 0;
};

}  // namespace weft::collectives
