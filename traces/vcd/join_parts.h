// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/vcd/header.h"

namespace weft::vcd {

/// What a declaration says of a vector that it may be a part of.
struct Piece {
  std::uint32_t scope = 0;       ///< equal for variables of one scope
  std::uint32_t base = 0;        ///< so many characters of the name are the vector's
  std::optional<BitRange> bits;  ///< its own; none of a variable without a range
};

/// Makes one signal of the parts of a vector: Questa, ModelSim, Riviera-PRO and VCS declare many nets bit by bit, as
/// `data [2]`, `data [1]` and `data [0]`, or data[2] and so on.
///
/// Parts are those of one name in one scope. A gap in their numbers divides them: data[7:4] and data[2:0] are two
/// signals of one name. They stay as they are where the scope has a whole variable of the name as well, or where they
/// overlap. Bits that are declared in rising order make a rising range, since these simulators write the left one
/// first; compare() takes the direction of the other file. `pieces` are those of header.signals.
void join_parts(Header& header, const std::vector<Piece>& pieces);

}  // namespace weft::vcd
