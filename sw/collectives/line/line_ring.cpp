// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

using firmware::Task;

namespace {

Pieces share_of(const Strand& strand, int block, int share) {
  return part(strand.block(block), share, strand.number(), size_of(strand.phase().type));
}

/// Step s sends block position - 1 - s; the sum of what is received in a step is sent in the next, and the last one is
/// the own block. The peers know that this strand has begun.
Task ring_reduce_scatter_steps(Strand strand, int direction, int share) {
  const int next = strand.ahead(direction);
  const int previous = strand.ahead(-direction);
  const std::uint64_t region =
      static_cast<std::uint64_t>(strand.number() * strand.members()) * strand.unit();  // of this strand
  Pieces source = share_of(strand, previous, share);
  for (int step = 0; step + 1 < strand.members(); ++step) {
    const std::uint64_t place = region + static_cast<std::uint64_t>(step) * strand.unit();
    strand.write(next, source, strand.staging(next, place, bytes_of(source)));
    co_await strand.message(previous, step + 1);
    const Pieces mine = share_of(strand, strand.ahead(-direction * (step + 2)), share);
    const Pieces sum = strand.staging(strand.position(), place, bytes_of(mine));
    const Pieces target = step + 2 == strand.members() ? mine : sum;
    strand.reduce(sum, mine, target);
    co_await strand.computed();
    source = target;
  }
}

/// Step s sends block position - s, the own one first. So many messages have come before.
Task ring_allgather_steps(Strand strand, int direction, int share, int before) {
  const int next = strand.ahead(direction);
  for (int step = 0; step + 1 < strand.members(); ++step) {
    if (step > 0) co_await strand.message(strand.ahead(-direction), before + step);
    const Pieces block = share_of(strand, strand.ahead(-direction * step), share);
    strand.write(next, block, block);
  }
  co_await strand.message(strand.ahead(-direction), before + strand.members() - 1);
}

}  // namespace

Task ring_reduce_scatter(Strand strand, int direction, int share) {
  strand.expect(strand.ahead(-direction), strand.members() - 1);
  co_await strand.permission(strand.ahead(direction));
  co_await ring_reduce_scatter_steps(strand, direction, share);
}

Task ring_allgather(Strand strand, int direction, int share) {
  strand.expect(strand.ahead(-direction), strand.members() - 1);
  co_await strand.permission(strand.ahead(direction));
  co_await ring_allgather_steps(strand, direction, share, 0);
}

/// No permission is needed in between: a sum comes only after all have sent their addends of it.
Task ring_all_reduce(Strand strand, int direction, int share) {
  strand.expect(strand.ahead(-direction), 2 * (strand.members() - 1));
  co_await strand.permission(strand.ahead(direction));
  co_await ring_reduce_scatter_steps(strand, direction, share);
  co_await ring_allgather_steps(strand, direction, share, strand.members() - 1);
}

/// In step s come the blocks that the member s behind has for this one and the n - 1 - s after it; the first stays, the
/// others go on. Two staging areas take turns.
Task ring_all_to_all(Strand strand) {
  const int members = strand.members();
  const int next = strand.ahead(1);
  const int previous = strand.ahead(-1);
  const std::vector<Pieces>& output = strand.phase().output;
  const auto area = [&](int at, int step, int first, int blocks) {
    const std::uint64_t block = bytes_of(strand.block(0));
    const std::uint64_t offset = static_cast<std::uint64_t>(step % 2 * members) * strand.unit();
    return strand.staging(at, offset + static_cast<std::uint64_t>(first) * block,
                          static_cast<std::uint64_t>(blocks) * block);
  };
  strand.copy(strand.block(strand.position()), output[static_cast<std::size_t>(strand.position())]);
  strand.expect(previous, members > 2 ? 2 : 1);
  Pieces going;
  for (int i = 1; i < members; ++i) append(going, strand.block(strand.ahead(i)));
  co_await strand.permission(next);
  strand.write(next, going, area(next, 1, 0, members - 1));
  for (int step = 1; step < members; ++step) {
    co_await strand.message(previous, step);
    strand.copy(area(strand.position(), step, 0, 1), output[static_cast<std::size_t>(strand.ahead(-step))]);
    const int left = members - 1 - step;
    if (left > 0) {
      co_await strand.permission(next, step);  // the first one is good for two messages
      strand.write(next, area(strand.position(), step, 1, left), area(next, step + 1, 0, left));
    }
    co_await strand.computed();
    co_await strand.acknowledged();
    if (step + 2 < members) strand.expect(previous, 1);
  }
  co_await strand.computed();
}

}  // namespace weft::collectives
