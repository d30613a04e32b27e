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
    sources_.clear();
    size_ = 0;
    for (const std::uint32_t count : counts) {
      sources_.push_back({size_, count});
      size_ += count;
    }
    sources_.push_back({size_, 0});
    missing_ = size_ - counts[static_cast<std::size_t>(own)];
    sources_[static_cast<std::size_t>(own)].missing = 0;
    bits_.assign((size_ + 63) / 64, 0);
  }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Number of the first chunk of `source`.
  [[nodiscard]] std::uint32_t first(int source) const { return sources_[static_cast<std::size_t>(source)].first; }
  /// Whose chunk `number` is.
  [[nodiscard]] int source_of(std::uint32_t number) const {
    // Mostly all sources have the same number of chunks.
    const std::uint64_t sources = sources_.size() - 1;
    const auto guess = static_cast<std::size_t>(number * sources / size_);
    if (sources_[guess].first <= number && number < sources_[guess + 1].first) return static_cast<int>(guess);
    const auto behind = std::upper_bound(sources_.begin(), sources_.end(), number,
                                         [](std::uint32_t n, const Source& source) { return n < source.first; });
    return static_cast<int>(behind - sources_.begin()) - 1;
  }

  static constexpr int kHadIt = -1;
  /// Notes that a chunk has come, and returns whose it is, or that it had come before.
  int set(std::uint32_t number) {
    std::uint64_t& word = bits_[number / 64];
    const std::uint64_t bit = 1ULL << (number % 64);
    if ((word & bit) != 0) return kHadIt;
    word |= bit;
    const int source = source_of(number);
    --sources_[static_cast<std::size_t>(source)].missing;
    --missing_;
    return source;
  }
  [[nodiscard]] std::uint32_t missing() const { return missing_; }
  [[nodiscard]] std::uint32_t missing(int source) const { return sources_[static_cast<std::size_t>(source)].missing; }

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

  struct Source {
    std::uint32_t first;  ///< chunk
    std::uint32_t missing;
  };
  std::vector<std::uint64_t> bits_;
  std::vector<Source> sources_;  ///< and the end
  std::uint32_t size_ = 0;
  std::uint32_t missing_ = 0;
};

}  // namespace weft::collectives
