// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

using firmware::Task;

/// A member has gathered the blocks from its own one on; it sends them as far behind as it has, and doubles them.
Task bruck_allgather(Strand strand) {
  const int members = strand.members();
  for (int have = 1; have < members; have *= 2) strand.expect(strand.ahead(have), 1);
  for (int have = 1; have < members; have *= 2) {
    Pieces going;
    for (int i = 0; i < std::min(have, members - have); ++i) append(going, strand.block(strand.ahead(i)));
    co_await strand.permission(strand.ahead(-have));
    strand.write(strand.ahead(-have), going, going);
    co_await strand.message(strand.ahead(have));
  }
}

/// Block i is what goes i members ahead: in the step of each bit that is set in i it goes so far.
Task bruck_all_to_all(Strand strand) {
  const int members = strand.members();
  const int position = strand.position();
  const std::uint64_t bytes = bytes_of(strand.block(0));
  const std::vector<Pieces>& output = strand.phase().output;
  const auto area = [&](int at, int bit, int place) {
    const std::uint64_t offset = static_cast<std::uint64_t>(bit * (members / 2 + 1) + place) * strand.unit();
    return strand.staging(at, offset, bytes);
  };
  strand.copy(strand.block(position), output[static_cast<std::size_t>(position)]);
  std::vector<Pieces> table;
  table.reserve(static_cast<std::size_t>(members));
  for (int i = 0; i < members; ++i) table.push_back(strand.block(strand.ahead(i)));
  for (int far = 1; far < members; far *= 2) strand.expect(strand.ahead(-far), 1);
  for (int bit = 0; 1 << bit < members; ++bit) {
    const int far = 1 << bit;
    const int to = strand.ahead(far);
    co_await strand.permission(to);
    Pieces going;
    Pieces there;
    int places = 0;
    for (int i = 1; i < members; ++i) {
      if ((i & far) == 0) continue;
      for (const Extent& piece : table[static_cast<std::size_t>(i)]) going.push_back(piece);
      for (const Extent& piece : area(to, bit, places)) there.push_back(piece);
      table[static_cast<std::size_t>(i)] = area(position, bit, places++);
    }
    strand.write(to, going, there);
    co_await strand.message(strand.ahead(-far));
  }
  Pieces here;
  Pieces places;
  for (int i = 1; i < members; ++i) {
    append(here, table[static_cast<std::size_t>(i)]);
    append(places, output[static_cast<std::size_t>(strand.ahead(-i))]);
  }
  strand.copy(here, places);
  co_await strand.computed();
}

}  // namespace weft::collectives
