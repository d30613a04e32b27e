// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft::platforms {

/// A sum over pieces that have something in common, and over parts of it.
struct Branch {
  std::int64_t ps = 0;
  std::map<std::string, Branch> parts;

  Branch& add(const std::string& name, std::int64_t more);
  [[nodiscard]] std::vector<std::pair<std::string, const Branch*>> worst_first() const;
};

/// The pieces of a critical path, as people are told of them.
struct PathParts {
  /// Below this nothing has a line or a sentence of its own.
  static constexpr double kLeastShare = 0.002;

  /// Of why.json.
  explicit PathParts(const nlohmann::ordered_json& why);

  [[nodiscard]] double share(std::int64_t ps) const {
    return whole == 0 ? 0 : static_cast<double>(ps) / static_cast<double>(whole);
  }
  /// "68.8 %"
  [[nodiscard]] std::string percent(std::int64_t ps) const;

  std::int64_t whole = 0;
  Branch kernels;       ///< by name, then resource
  Branch between;       ///< by what it is for, then resource, then place
  Branch of_kernels;    ///< by resource
  Branch of_others;     ///< the same of what is between kernels
  Branch accelerators;  ///< kernels, by place
  Branch links;         ///< by place, then kind
  Branch hosts;         ///< firmware and what programs let pass, by place, then kind, then what it is for
};

}  // namespace weft::platforms
