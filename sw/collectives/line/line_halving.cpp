// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

using firmware::Task;

namespace {

/// Members as a power of two of them sees it: the first `extras` are pairs, of which the second one is an extra.
struct Pairs {
  int members;
  int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
  int extras = members - active;

  [[nodiscard]] bool is_extra(int member) const { return member < 2 * extras && member % 2 == 1; }
  [[nodiscard]] int number(int member) const { return member < 2 * extras ? member / 2 : member - extras; }
  /// Also the first block of what `number` stands for.
  [[nodiscard]] int member(int number) const { return number < extras ? 2 * number : number + extras; }
};

/// Sums in the halves that are kept, down to what this member stands for.
Task halve(Strand strand, Pairs pairs) {
  const int position = strand.position();
  const int me = pairs.number(position);
  const std::uint64_t whole = static_cast<std::uint64_t>(strand.members()) * strand.unit();
  if (pairs.is_extra(position)) {
    const Pieces all = strand.blocks(0, strand.members());
    co_await strand.permission(position - 1);
    strand.write(position - 1, all, strand.staging(position - 1, 0, bytes_of(all)));
    co_return;
  }
  if (me < pairs.extras) {
    const Pieces all = strand.blocks(0, strand.members());
    co_await strand.message(position + 1);
    strand.reduce(strand.staging(position, 0, bytes_of(all)), all, all);
    co_await strand.computed();
  }
  std::uint64_t place = pairs.extras > 0 ? whole : 0;
  int first = 0;
  int last = pairs.active;
  for (int mask = pairs.active / 2; mask > 0; mask /= 2) {
    const int middle = first + mask;
    const bool upper = (me & mask) != 0;
    const int partner = pairs.member(me ^ mask);
    const Pieces given = upper ? strand.blocks(pairs.member(first), pairs.member(middle))
                               : strand.blocks(pairs.member(middle), pairs.member(last));
    (upper ? first : last) = middle;
    const Pieces kept = strand.blocks(pairs.member(first), pairs.member(last));
    co_await strand.permission(partner);
    strand.write(partner, given, strand.staging(partner, place, bytes_of(given)));
    co_await strand.message(partner);
    strand.reduce(strand.staging(position, place, bytes_of(kept)), kept, kept);
    co_await strand.computed();
    place += 2 * static_cast<std::uint64_t>(mask) * strand.unit();  // nobody keeps more than two blocks for each number
  }
}

/// Gathers what the members stand for.
Task twice(Strand strand, Pairs pairs, int before) {
  const int me = pairs.number(strand.position());
  for (int mask = 1; mask < pairs.active; mask *= 2) {
    const int first = me & ~(mask - 1);
    const int partner = pairs.member(me ^ mask);
    const Pieces mine = strand.blocks(pairs.member(first), pairs.member(first + mask));
    co_await strand.permission(partner);
    strand.write(partner, mine, mine);
    co_await strand.message(partner, before + 1);
  }
}

/// Lets partners write `steps` times each, and the two of a pair once: what is folded in, and what comes back.
void expect(Strand& strand, const Pairs& pairs, int steps) {
  const int position = strand.position();
  if (pairs.is_extra(position)) return strand.expect(position - 1, 1);
  const int me = pairs.number(position);
  for (int mask = 1; mask < pairs.active; mask *= 2) strand.expect(pairs.member(me ^ mask), steps);
  if (me < pairs.extras) strand.expect(position + 1, 1);
}

}  // namespace

Task halving_reduce_scatter(Strand strand) {
  const Pairs pairs{strand.members()};
  const int position = strand.position();
  expect(strand, pairs, 1);
  co_await halve(strand, pairs);
  if (pairs.is_extra(position)) {
    co_await strand.message(position - 1);
  } else if (pairs.number(position) < pairs.extras) {
    co_await strand.permission(position + 1);
    strand.write(position + 1, strand.block(position + 1), strand.block(position + 1));
  }
}

Task doubling_allgather(Strand strand) {
  const Pairs pairs{strand.members()};
  const int position = strand.position();
  expect(strand, pairs, 1);
  if (pairs.is_extra(position)) {
    co_await strand.permission(position - 1);
    strand.write(position - 1, strand.block(position), strand.block(position));
    co_await strand.message(position - 1);
    co_return;
  }
  const bool for_both = pairs.number(position) < pairs.extras;
  if (for_both) co_await strand.message(position + 1);
  co_await twice(strand, pairs, 0);
  if (!for_both) co_return;
  Pieces others = strand.blocks(0, position + 1);
  append(others, strand.blocks(position + 2, strand.members()));
  co_await strand.permission(position + 1);
  strand.write(position + 1, others, others);
}

Task halving_doubling_all_reduce(Strand strand) {
  const Pairs pairs{strand.members()};
  const int position = strand.position();
  expect(strand, pairs, 2);
  co_await halve(strand, pairs);
  if (pairs.is_extra(position)) {
    co_await strand.message(position - 1);
    co_return;
  }
  co_await twice(strand, pairs, 1);
  if (pairs.number(position) >= pairs.extras) co_return;
  const Pieces all = strand.blocks(0, strand.members());
  co_await strand.permission(position + 1);
  strand.write(position + 1, all, all);
}

}  // namespace weft::collectives
