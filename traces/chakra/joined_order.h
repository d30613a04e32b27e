// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::chakra {

/// What the ranks of a trace do with each other, as items in an order that all their dependencies allow: for whoever
/// works traces off and may choose what a rank begins first.
///
/// An item is a collective of all ranks that are in it, a send, or a place at which ways between these meet; of those
/// nobody begins the last.
struct JoinedOrder {
  using Item = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Entry {
    std::uint64_t node;
    Item item;
  };
  std::vector<std::vector<Entry>> of_rank;          ///< its collectives and sends, by rising node
  std::vector<std::vector<std::uint32_t>> members;  ///< each rank alone, by its number, and behind these groups
  std::vector<std::uint32_t> begun_by;              ///< of each item, an index to members, or kNone
  std::vector<std::size_t> ends;                    ///< of what each item waits for
  std::vector<Item> before;

  [[nodiscard]] std::size_t size() const { return begun_by.size(); }
  [[nodiscard]] std::span<const Item> before_of(Item item) const {
    const std::size_t begin = item == 0 ? 0 : ends[item - 1];
    return std::span(before).subspan(begin, ends[item] - begin);
  }
  /// Whether it is a collective, which has an order in its group.
  [[nodiscard]] bool is_of_group(Item item) const {
    return begun_by[item] != kNone && begun_by[item] >= of_rank.size();
  }
};

}  // namespace weft::chakra
