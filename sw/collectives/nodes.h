// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sw/firmware/rank.h"

namespace weft::collectives {

/// Which members of a group share a node. Members are numbers in the group's list of ranks.
class Nodes {
 public:
  explicit Nodes(const std::vector<firmware::Rank*>& ranks) {
    std::map<int, std::vector<int>> by_node;
    for (std::size_t i = 0; i < ranks.size(); ++i) by_node[ranks[i]->node].push_back(static_cast<int>(i));
    for (auto& [node, members] : by_node) rows_.push_back(std::move(members));
  }

  [[nodiscard]] int count() const { return static_cast<int>(rows_.size()); }
  /// Members of the first node; of all if `even`.
  [[nodiscard]] int per_node() const { return static_cast<int>(rows_.front().size()); }
  [[nodiscard]] bool even() const {
    return std::all_of(rows_.begin(), rows_.end(), [this](const auto& row) { return row.size() == rows_[0].size(); });
  }
  /// Members by node, of a node, and those at one position of every node.
  [[nodiscard]] const std::vector<std::vector<int>>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<int>& row(int node) const { return rows_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] std::vector<int> column(int local) const {
    std::vector<int> members;
    for (const auto& row : rows_) members.push_back(row[static_cast<std::size_t>(local)]);
    return members;
  }
  /// Node and position in it.
  [[nodiscard]] std::pair<int, int> place(int member) const {
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      const auto found = std::find(rows_[n].begin(), rows_[n].end(), member);
      if (found != rows_[n].end()) return {static_cast<int>(n), static_cast<int>(found - rows_[n].begin())};
    }
    return {0, 0};  // every member has a place
  }

 private:
  std::vector<std::vector<int>> rows_;
};

/// The ranks of some members.
inline std::vector<firmware::Rank*> pick(const std::vector<firmware::Rank*>& ranks, const std::vector<int>& members) {
  std::vector<firmware::Rank*> some;
  some.reserve(members.size());
  for (const int member : members) some.push_back(ranks[static_cast<std::size_t>(member)]);
  return some;
}

}  // namespace weft::collectives
