// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/chakra/process_groups.h"

/// Part of check(). Only sources of this folder and of traces/chakra/repair include it.
namespace weft::chakra {

/// What lists of dimensions (involved_dim) mean: which of them are the same, and which ranks a collective joins.
class InvolvedLists {
 public:
  using List = std::uint32_t;
  using Set = std::uint32_t;
  /// Of a collective that joins all of its ranks whatever the network is, and of one without a list.
  static constexpr List kAllRanks = 0;
  static constexpr List kNone = 1;
  /// All dimensions.
  static constexpr Set kAll = 0;

  /// The dimensions of a network of so many ranks; empty, or of another number: they are not known.
  InvolvedLists(std::vector<std::uint32_t> sizes, std::uint32_t ranks);

  /// Equal lists have one number.
  List add(const std::vector<bool>& names);
  /// After the last add(). Where the network is not known it has as many dimensions as the longest list names, unless
  /// its ranks do not allow so many; of a prime number of ranks it has one, and is known.
  void settle();
  /// Whether groups of ranks are known.
  [[nodiscard]] bool has_groups() const { return !sizes_.empty(); }

  /// Whether the list names dimensions that are not involved.
  [[nodiscard]] bool leaves_out(List list) const {
    return std::find(lists_[list].begin(), lists_[list].end(), false) != lists_[list].end();
  }

  // After settle():
  /// Lists that name the same dimensions are one set.
  [[nodiscard]] Set set_of(List list) const { return set_of_[list]; }
  /// Whether the list names the first dimension, which is all of them on a network that has one.
  [[nodiscard]] bool has_first(List list) const { return list < 2 || (!lists_[list].empty() && lists_[list].front()); }
  /// Those who differ from the rank in these dimensions alone; with has_groups().
  const GroupMembers& group_of(Set set, std::uint32_t rank);
  /// "dimension 0", "dimensions 0, 2", "no dimension", "all dimensions"
  [[nodiscard]] std::string text(Set set) const;

 private:
  std::vector<std::uint32_t> sizes_;
  std::uint32_t ranks_;
  std::vector<std::vector<bool>> lists_ = {{}, {}};
  std::map<std::vector<bool>, List> numbers_;
  std::vector<Set> set_of_;
  std::vector<std::vector<bool>> sets_;
  std::map<std::pair<Set, std::uint32_t>, GroupMembers> groups_;  ///< by their first rank
};

}  // namespace weft::chakra
