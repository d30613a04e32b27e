// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace weft::chakra {

/// A set of node ids as intervals: a trace that is worked off roughly in order needs a few of them, however long it is.
class IdSet {
 public:
  /// False if it was there.
  bool insert(std::uint64_t id);
  [[nodiscard]] bool contains(std::uint64_t id) const;
  /// How many intervals it takes.
  [[nodiscard]] std::size_t intervals() const { return last_of_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> last_of_;  ///< by the first id of an interval, the last one of it
};

}  // namespace weft::chakra
