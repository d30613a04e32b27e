// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/id_set.h"

#include <iterator>

namespace weft::chakra {

bool IdSet::insert(std::uint64_t id) {
  const auto after = last_of_.upper_bound(id);
  const bool joins_after = after != last_of_.end() && after->first == id + 1;
  if (after != last_of_.begin()) {
    const auto before = std::prev(after);
    if (before->second >= id) return false;
    if (before->second + 1 == id) {
      before->second = joins_after ? after->second : id;
      if (joins_after) last_of_.erase(after);
      return true;
    }
  }
  const std::uint64_t last = joins_after ? after->second : id;
  const auto next = joins_after ? last_of_.erase(after) : after;
  last_of_.emplace_hint(next, id, last);
  return true;
}

bool IdSet::contains(std::uint64_t id) const {
  const auto after = last_of_.upper_bound(id);
  return after != last_of_.begin() && std::prev(after)->second >= id;
}

}  // namespace weft::chakra
