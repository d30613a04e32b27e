// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sw/dimensions/plan.h"

namespace weft::dimensions {

/// Execution graphs to be worked off, one for each rank: Chakra files, and what they name.
struct Workload {
  std::filesystem::path prefix;  ///< of PREFIX.RANK.et
  bool shared = false;           ///< it is itself the one file of all ranks
  std::filesystem::path source;  ///< what the user named, of which `prefix` may be a conversion
  std::map<std::string, std::vector<std::uint32_t>> groups;  ///< by pg_name; without one everybody is meant
  /// Prefixes of files that are executed in place of a collective of that kind.
  std::map<Operation, std::filesystem::path> custom;
  /// The same for single nodes, by id, which goes before.
  std::map<std::uint64_t, std::filesystem::path> custom_nodes;

  /// Null where Weft's own implementation is meant.
  [[nodiscard]] const std::filesystem::path* custom_of(std::uint64_t node, Operation operation) const {
    const auto by_node = custom_nodes.find(node);
    if (by_node != custom_nodes.end()) return &by_node->second;
    const auto by_operation = custom.find(operation);
    return by_operation != custom.end() ? &by_operation->second : nullptr;
  }
};

}  // namespace weft::dimensions
