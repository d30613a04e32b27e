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
  [[nodiscard]] const std::map<Kind, Sum>& sums() const { return sums_; }

 private:
  std::map<Kind, Sum> sums_;
};

}  // namespace weft::collectives
