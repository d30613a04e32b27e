// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

/// Bytes that have passed a link, by the ends that they came from and went to. Beyond so many pairs, which few links
/// have, new ones are counted by where they came from alone.
class Carried {
 public:
  static constexpr std::uint32_t kAnywhere = UINT32_MAX;

  struct Flow {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int64_t bytes = 0;
  };

  void add(std::uint32_t from, std::uint32_t to, std::uint32_t bytes) {
    if (latest_ >= flows_.size() || flows_[latest_].from != from || flows_[latest_].to != to) [[unlikely]]
      latest_ = find(from, to);
    flows_[latest_].bytes += bytes;
  }
  /// In the order in which each came first.
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }

 private:
  static constexpr std::size_t kMost = 1024;

  [[gnu::noinline]] std::size_t find(std::uint32_t from, std::uint32_t to) {
    if (2 * flows_.size() >= table_.size()) grow();
    std::uint32_t* number = &place(from, to);
    if (*number == kNone && flows_.size() >= kMost && to != kAnywhere) number = &place(from, to = kAnywhere);
    if (*number == kNone) {
      *number = static_cast<std::uint32_t>(flows_.size());
      flows_.push_back({from, to, 0});
    }
    return *number;
  }
  std::uint32_t& place(std::uint32_t from, std::uint32_t to) {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = ((std::uint64_t{from} << 32 | to) * 0x9e3779b97f4a7c15ULL >> 32) & mask;
    while (table_[at] != kNone && (flows_[table_[at]].from != from || flows_[table_[at]].to != to))
      at = (at + 1) & mask;
    return table_[at];
  }
  void grow() {
    table_.assign(std::max<std::size_t>(8, 2 * table_.size()), kNone);
    for (std::uint32_t i = 0; i < flows_.size(); ++i) place(flows_[i].from, flows_[i].to) = i;
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<Flow> flows_;
  std::vector<std::uint32_t> table_;  ///< a power of two of places, at most half of which are taken
  std::size_t latest_ = 0;
};

}  // namespace weft
