// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/random.h"

namespace weft::platforms {

/// Which of the free accelerators a job gets. `packed`: the first ones. `spread`: one of each node in turn, beginning
/// with the first node. `random`: any.
enum class Spot : std::uint8_t { kPacked, kSpread, kRandom };
inline EnumNames<Spot> enum_names(Spot /*tag*/) {
  return {{"packed", Spot::kPacked}, {"spread", Spot::kSpread}, {"random", Spot::kRandom}};
}

/// The accelerators of a machine that no job has yet.
class FreePlaces {
 public:
  /// What is random follows from `seed`.
  FreePlaces(int accelerators, int per_node, std::int64_t seed);

  [[nodiscard]] int count() const;
  [[nodiscard]] bool has(int place) const { return place >= 0 && static_cast<std::size_t>(place) < free_.size(); }
  [[nodiscard]] bool is_free(int place) const { return free_[static_cast<std::size_t>(place)]; }
  /// One that is free.
  void take(int place) { free_[static_cast<std::size_t>(place)] = false; }
  /// So many, ascending; nothing where there are fewer.
  [[nodiscard]] std::optional<std::vector<int>> take(int count, Spot spot);

 private:
  [[nodiscard]] std::vector<int> all() const;

  int per_node_;
  std::vector<bool> free_;
  Random random_;
};

}  // namespace weft::platforms
