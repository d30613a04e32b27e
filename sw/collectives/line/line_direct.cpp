// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

using firmware::Task;

namespace {

void expect_all(Strand& strand, int messages) {
  for (int i = 1; i < strand.members(); ++i) strand.expect(strand.ahead(i), messages);
}

/// Addends are summed in the order of members from the next one on, so that a sum does not depend on who is late.
Task direct_reduce_scatter_steps(Strand strand) {
  const int position = strand.position();
  for (int i = 1; i < strand.members(); ++i) {
    const int peer = strand.ahead(i);
    co_await strand.permission(peer);
    const Pieces& block = strand.block(peer);
    strand.write(peer, block,
                 strand.staging(peer, static_cast<std::uint64_t>(position) * strand.unit(), bytes_of(block)));
  }
  const Pieces& own = strand.block(position);
  for (int i = 1; i < strand.members(); ++i) {
    const int peer = strand.ahead(i);
    co_await strand.message(peer);
    strand.reduce(strand.staging(position, static_cast<std::uint64_t>(peer) * strand.unit(), bytes_of(own)), own, own);
  }
  co_await strand.computed();
}

Task direct_allgather_steps(Strand strand, int before) {
  const Pieces& own = strand.block(strand.position());
  for (int i = 1; i < strand.members(); ++i) {
    co_await strand.permission(strand.ahead(i));
    strand.write(strand.ahead(i), own, own);
  }
  for (int i = 1; i < strand.members(); ++i) co_await strand.message(strand.ahead(i), before + 1);
}

}  // namespace

Task direct_reduce_scatter(Strand strand) {
  expect_all(strand, 1);
  co_await direct_reduce_scatter_steps(strand);
}

Task direct_allgather(Strand strand) {
  expect_all(strand, 1);
  co_await direct_allgather_steps(strand, 0);
}

Task direct_all_reduce(Strand strand) {
  expect_all(strand, 2);
  co_await direct_reduce_scatter_steps(strand);
  co_await direct_allgather_steps(strand, 1);
}

Task direct_all_to_all(Strand strand) {
  const int position = strand.position();
  const Pieces& place = strand.phase().output[static_cast<std::size_t>(position)];
  expect_all(strand, 1);
  strand.copy(strand.block(position), place);
  for (int i = 1; i < strand.members(); ++i) {
    co_await strand.permission(strand.ahead(i));
    strand.write(strand.ahead(i), strand.block(strand.ahead(i)), place);
  }
  for (int i = 1; i < strand.members(); ++i) co_await strand.message(strand.ahead(i));
  co_await strand.computed();
}

}  // namespace weft::collectives
