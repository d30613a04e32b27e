// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/results/what_if/factors.h"
#include "platforms/results/what_if/resource_change.h"
#include "platforms/results/why/parts.h"

namespace weft::platforms {

/// Factors of all places of a machine: those of links and accelerators that have fields of their own may be other ones.
/// Places bear the names that OwnField has; empty: all that have none.
class FactorsByPlace {
 public:
  /// What is known to be somewhere: then it is as fast as the fastest may be.
  static constexpr std::string_view kSomewhere = "somewhere";

  FactorsByPlace() = default;
  FactorsByPlace(const std::vector<ResourceChange>& changes, const Parts& parts);

  [[nodiscard]] const Factors& at(std::string_view own) const;
  /// Of each resource the most that any place has.
  [[nodiscard]] const Factors& best() const { return own_.empty() ? usual_ : best_; }
  [[nodiscard]] bool is_same_everywhere() const { return own_.empty(); }
  /// What is slower, and where.
  [[nodiscard]] std::vector<std::pair<const Resource*, std::string>> costs() const;
  /// As Factors has it, everywhere.
  [[nodiscard]] FactorsByPlace with_slowest_memory() const;
  /// Cores of collectives come back so many times as soon, as far as kernels there are not faster.
  void set_cores(double factor);

 private:
  template <typename Each>
  void each(const Each& take);

  Factors usual_;
  Factors best_;
  std::map<std::string, Factors, std::less<>> own_;
};

}  // namespace weft::platforms
