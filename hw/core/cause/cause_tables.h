// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/cause/carried.h"
#include "hw/core/cause/cause_sums.h"
#include "hw/core/quantity.h"

namespace weft {

/// What ranks wait for, and what links carry, beside the critical path.
struct CauseTables {
  /// All calls of one collective with so many bytes by a group.
  struct Collective {
    int members = 0;
    std::int64_t calls = 0;  ///< by all members together
    Time spent;              ///< by members, from their entry to their end
    Time late;               ///< of that, before the last member's entry
    CauseSums transfer;      ///< of the rest
    CauseSums lateness;      ///< what the last member was at since the first one's entry, a time for each call of all
    std::map<int, std::pair<std::int64_t, Time>> last;  ///< by rank, how often it came last, and that time
  };
  struct Key {
    std::string group;
    std::string operation;
    std::uint64_t bytes = 0;

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::map<std::uint32_t, CauseSums> waits;  ///< of an accelerator without kernels, by its place
  std::map<Key, Collective> collectives;
  /// Groups of which a member has been in several collectives at a time: their times are no chain.
  std::set<std::string> overlapping;
  CarriedByLinks carried;  ///< in the order of their places
  Time since;              ///< what was before counts for nothing

  /// Forgets what was before: whoever is in a collective goes on filling its entry.
  void begin_again(Time now) {
    since = now;
    for (auto& [place, sums] : waits) sums = {};
    carried.begin_again();
    for (auto& [key, all] : collectives) {
      const int members = all.members;
      all = {};
      all.members = members;
    }
  }
};

}  // namespace weft
