// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>

#include "hw/core/quantity.h"

namespace weft::collectives {

/// How often a rank has run collectives, and how long they took it together, by what they were.
class CollectiveTally {
 public:
  struct Kind {
    std::string_view operation;  ///< name_of() of an Operation or a Rooted
    int ranks = 0;
    std::uint64_t bytes = 0;  ///< of the whole buffer
    auto operator<=>(const Kind&) const = default;
  };
  struct Sum {
    std::int64_t count = 0;
    Time time;  ///< from each request to its completion
  };

  void add(const Kind& kind, Time time) {
    Sum& sum = sums_[kind];
    ++sum.count;
    sum.time += time;
  }
  /// What came between two states of another one, so many times.
  void add(const CollectiveTally& before, const CollectiveTally& behind, int times) {
    for (const auto& [kind, sum] : behind.sums_) {
      const auto found = before.sums_.find(kind);
      const Sum earlier = found != before.sums_.end() ? found->second : Sum();
      Sum& more = sums_[kind];
      more.count += times * (sum.count - earlier.count);
      more.time += (sum.time - earlier.time) * times;
    }
  }
  /// All of another one.
  void add(const CollectiveTally& other) { add({}, other, 1); }
  [[nodiscard]] const std::map<Kind, Sum>& sums() const { return sums_; }

 private:
  std::map<Kind, Sum> sums_;
};

}  // namespace weft::collectives
