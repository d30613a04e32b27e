// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
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

  void add(const Flow& flow) {
    if (flow.bytes == 0) return;
    if (2 * flows_.size() >= table_.size()) grow();
    std::uint32_t to = flow.to;
    std::uint32_t* number = &place(flow.from, to);
    if (*number == kNone && flows_.size() >= kMost) number = &place(flow.from, to = kAnywhere);
    if (*number == kNone) {
      *number = static_cast<std::uint32_t>(flows_.size());
      flows_.push_back({flow.from, to, 0});
    }
    flows_[*number].bytes += flow.bytes;
  }
  /// In the order in which each came first.
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }

 private:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::uint32_t kNone = UINT32_MAX;

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

  std::vector<Flow> flows_;
  std::vector<std::uint32_t> table_;  ///< a power of two of places, at most half of which are taken
};

/// What has passed each of many links. Every packet is counted on every link: of the pairs that share a place the
/// latest is at hand, and those of a link are one cache line.
class CarriedByLinks {
 public:
  /// One more, of the next number.
  void add_link() {
    latest_.emplace_back();
    others_.emplace_back();
  }
  void add(std::size_t link, std::uint32_t from, std::uint32_t to, std::uint32_t bytes) {
    Carried::Flow& flow = latest_[link].flows[(from + 3 * to) % kLatest];
    if (flow.to != to || flow.from != from) [[unlikely]]
      replace(link, flow, from, to);
    flow.bytes += bytes;
  }
  /// Of a link, in no order.
  [[nodiscard]] std::vector<Carried::Flow> flows(std::size_t link) const {
    Carried all = others_[link];
    for (const Carried::Flow& flow : latest_[link].flows) all.add(flow);
    return all.flows();
  }
  void begin_again() {
    latest_.assign(latest_.size(), {});
    others_.assign(others_.size(), {});
  }

 private:
  static constexpr std::size_t kLatest = 4;

  struct alignas(64) Latest {
    std::array<Carried::Flow, kLatest> flows;
  };
  static_assert(sizeof(Latest) == 64);

  [[gnu::noinline]] void replace(std::size_t link, Carried::Flow& flow, std::uint32_t from, std::uint32_t to) {
    others_[link].add(flow);
    flow = {from, to, 0};
  }

  std::vector<Latest> latest_;
  std::vector<Carried> others_;
};

}  // namespace weft
