// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace weft::chakra {

/// The dimensions that a collective of everybody joins.
struct Involved {
  std::vector<bool> dimensions;
  bool is_short = false;    ///< its list ends before the network's, which leaves the others out
  bool is_default = false;  ///< it has no list, and the network more than the dimensions that are joined then
};

/// Those that its `involved_dim` names and no others; without names the first four, as ASTRA-sim has it.
inline Involved involved_in(std::optional<std::vector<bool>> names, std::size_t dimensions) {
  constexpr std::size_t kByDefault = 4;
  Involved involved;
  involved.is_short = names && names->size() < dimensions;
  involved.is_default = !names && dimensions > kByDefault;
  involved.dimensions = names ? std::move(*names) : std::vector<bool>(kByDefault, true);
  involved.dimensions.resize(dimensions, false);
  return involved;
}

}  // namespace weft::chakra
