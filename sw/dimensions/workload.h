// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sw/dimensions/plan.h"
#include "traces/chakra/joined_order.h"

namespace weft::dimensions {

/// Where a rank executes a collective's own implementation.
struct CustomPlace {
  std::uint64_t file = 0;  ///< of the prefix
  /// By the numbers that its files have for ranks; null: these are the ranks themselves.
  const std::vector<std::uint32_t>* members = nullptr;
  std::uint64_t group = 0;  ///< a number for the group; everybody is 0
};

/// Execution graphs to be worked off, one for each rank: Chakra files, and what they name.
struct Workload {
  std::filesystem::path prefix;  ///< of PREFIX.RANK.et
  bool shared = false;           ///< it is itself the one file of all ranks
  std::filesystem::path source;  ///< what the user named, of which `prefix` may be a conversion
  std::map<std::string, std::vector<std::uint32_t>> groups;  ///< by key; "" is everybody, who need not be listed
  /// By rank and pg_name: the keys of groups whose name is another group on another rank. Others are their names.
  std::map<std::uint32_t, std::map<std::string, std::string>> keys;
  /// By rank and node: the root of a collective that other ranks name and this one does not.
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint32_t>> roots;
  /// What the ranks do together and may begin in several orders; null where nothing is known of it.
  std::shared_ptr<const chakra::JoinedOrder> order;
  /// Prefixes of files that are executed in place of a collective of that kind.
  std::map<Operation, std::filesystem::path> custom;
  /// The same for single nodes, by id, which goes before.
  std::map<std::uint64_t, std::filesystem::path> custom_nodes;

  /// Of the group of that key. An implementation of its own numbers its files and peers within the group, as in
  /// ASTRA-sim: a rank takes the file of its place among the group's ranks in their order, and a peer is the member
  /// that is listed there.
  [[nodiscard]] CustomPlace custom_place(std::uint32_t rank, const std::string& key) const {
    const auto group = groups.find(key);
    if (key.empty() || group == groups.end()) return {rank};
    const std::vector<std::uint32_t>& members = group->second;
    const auto before = std::count_if(members.begin(), members.end(), [rank](auto member) { return member < rank; });
    const auto number = static_cast<std::uint64_t>(std::distance(groups.begin(), group)) + 1;
    return {static_cast<std::uint64_t>(before), &members, number};
  }
  /// The key of the group that a rank means by the name.
  [[nodiscard]] std::string key_of(std::uint32_t rank, std::string name) const {
    const auto of_rank = keys.find(rank);
    if (of_rank == keys.end()) return name;
    const auto found = of_rank->second.find(name);
    return found != of_rank->second.end() ? found->second : name;
  }
  /// Where the node names no root and another rank does.
  [[nodiscard]] std::optional<std::uint32_t> root_of(std::uint32_t rank, std::uint64_t node) const {
    const auto of_rank = roots.find(rank);
    if (of_rank == roots.end()) return std::nullopt;
    const auto found = of_rank->second.find(node);
    return found != of_rank->second.end() ? std::optional(found->second) : std::nullopt;
  }
  /// Null where Weft's own implementation is meant. Collectives with a root are no Operation.
  [[nodiscard]] const std::filesystem::path* custom_of(std::uint64_t node, std::optional<Operation> operation) const {
    const auto by_node = custom_nodes.find(node);
    if (by_node != custom_nodes.end()) return &by_node->second;
    if (!operation) return nullptr;
    const auto by_operation = custom.find(*operation);
    return by_operation != custom.end() ? &by_operation->second : nullptr;
  }
};

}  // namespace weft::dimensions
