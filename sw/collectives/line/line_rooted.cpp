// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

using firmware::Task;

namespace {

/// A member's place in a tree, by positions in the line.
struct Tree {
  Tree(const Strand& strand, RootedAlgorithm algorithm, int root)
      : algorithm_(algorithm), radix_(strand.phase().radix), members_(strand.members()), root_(root) {
    const RootedPlace place = place_of(strand.ahead(-root));
    if (place.parent != RootedPlace::kNone) parent = named(place.parent);
    for (const int child : place.children) children.push_back(named(child));
  }
  /// The blocks of a member's subtree.
  [[nodiscard]] Pieces blocks_of(const Strand& strand, int member) const {
    std::vector<int> numbers = {(member - root_ + members_) % members_};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::vector<int> below = place_of(numbers[i]).children;
      numbers.insert(numbers.end(), below.begin(), below.end());
    }
    std::sort(numbers.begin(), numbers.end());  // so that neighbours are one piece
    Pieces all;
    for (const int number : numbers) append(all, strand.block(named(number)));
    return all;
  }

  int parent = -1;            ///< none: the root
  std::vector<int> children;  ///< in the order in which they are sent to

 private:
  [[nodiscard]] RootedPlace place_of(int number) const { return rooted_place(algorithm_, radix_, members_, number); }
  [[nodiscard]] int named(int number) const { return (number + root_) % members_; }

  RootedAlgorithm algorithm_;
  int radix_;
  int members_;
  int root_;
};

/// What the root sends directly to each, or gets.
Pieces block_or_all(const Strand& strand, bool all, int member) {
  return strand.block(all ? 0 : member);
}

Task from_root(Strand strand, int root, bool all) {
  if (strand.position() != root) {
    strand.expect(root, 1);
    co_await strand.message(root);
    co_return;
  }
  for (int i = 1; i < strand.members(); ++i) {
    const int peer = strand.ahead(i);
    const Pieces block = block_or_all(strand, all, peer);
    co_await strand.permission(peer);
    strand.write(peer, block, block);
  }
}

Task down_tree(Strand strand, RootedAlgorithm algorithm, int root, bool all) {
  const Tree tree(strand, algorithm, root);
  if (tree.parent >= 0) {
    strand.expect(tree.parent, 1);
    co_await strand.message(tree.parent);
  }
  for (const int child : tree.children) {
    const Pieces blocks = all ? strand.block(0) : tree.blocks_of(strand, child);
    co_await strand.permission(child);
    strand.write(child, blocks, blocks);
  }
}

}  // namespace

Task broadcast_in_line(Strand strand, RootedAlgorithm algorithm, int root) {
  if (algorithm == RootedAlgorithm::kDirect) co_return co_await from_root(strand, root, true);
  if (algorithm != RootedAlgorithm::kChain) co_return co_await down_tree(strand, algorithm, root, true);
  const Pieces& all = strand.block(0);
  if (strand.position() != root) {
    strand.expect(strand.ahead(-1), 1);
    co_await strand.message(strand.ahead(-1));
  }
  if (strand.ahead(1) == root) co_return;
  co_await strand.permission(strand.ahead(1));
  strand.write(strand.ahead(1), all, all);
}

/// Sums are formed in the order in which a member waits for its addends.
Task reduce_in_line(Strand strand, RootedAlgorithm algorithm, int root) {
  const Pieces& all = strand.block(0);
  std::vector<int> from;
  int to = strand.ahead(1);
  if (algorithm == RootedAlgorithm::kChain) {
    if (strand.position() != strand.ahead(root - strand.position() + 1)) from = {strand.ahead(-1)};
  } else if (algorithm == RootedAlgorithm::kDirect) {
    to = root;
    for (int i = 1; strand.position() == root && i < strand.members(); ++i) from.push_back(strand.ahead(i));
  } else {
    const Tree tree(strand, algorithm, root);
    to = tree.parent;
    from.assign(tree.children.rbegin(), tree.children.rend());
  }
  const auto place = [&](int member) { return static_cast<std::uint64_t>(member) * strand.unit(); };
  for (const int peer : from) strand.expect(peer, 1);
  for (const int peer : from) {
    co_await strand.message(peer);
    strand.reduce(strand.staging(strand.position(), place(peer), bytes_of(all)), all, all);
  }
  co_await strand.computed();
  if (strand.position() == root) co_return;
  co_await strand.permission(to);
  strand.write(to, all, strand.staging(to, place(strand.position()), bytes_of(all)));
}

Task gather_in_line(Strand strand, RootedAlgorithm algorithm, int root) {
  const int position = strand.position();
  if (algorithm == RootedAlgorithm::kChain) {
    // Towards the root against the ring's direction: the own block, then those that come from further away.
    const int number = strand.ahead(-root);
    const int coming = strand.members() - 1 - number;
    if (coming > 0) strand.expect(strand.ahead(1), coming);
    if (number > 0) co_await strand.permission(strand.ahead(-1));
    for (int i = 0; i <= coming; ++i) {
      if (i > 0) co_await strand.message(strand.ahead(1), i);
      const Pieces& block = strand.block(strand.ahead(i));
      if (number > 0) strand.write(strand.ahead(-1), block, block);
    }
    co_return;
  }
  if (algorithm == RootedAlgorithm::kDirect) {
    if (position != root) {
      co_await strand.permission(root);
      strand.write(root, strand.block(position), strand.block(position));
      co_return;
    }
    for (int i = 1; i < strand.members(); ++i) strand.expect(strand.ahead(i), 1);
    for (int i = 1; i < strand.members(); ++i) co_await strand.message(strand.ahead(i));
    co_return;
  }
  const Tree tree(strand, algorithm, root);
  for (const int child : tree.children) strand.expect(child, 1);
  for (const int child : tree.children) co_await strand.message(child);
  if (tree.parent < 0) co_return;
  const Pieces blocks = tree.blocks_of(strand, position);
  co_await strand.permission(tree.parent);
  strand.write(tree.parent, blocks, blocks);
}

Task scatter_in_line(Strand strand, RootedAlgorithm algorithm, int root) {
  if (algorithm == RootedAlgorithm::kDirect) co_return co_await from_root(strand, root, false);
  if (algorithm != RootedAlgorithm::kChain) co_return co_await down_tree(strand, algorithm, root, false);
  // Along the ring, that for the furthest member first.
  const int number = strand.ahead(-root);
  const int beyond = strand.members() - 1 - number;
  if (number > 0) strand.expect(strand.ahead(-1), beyond + 1);
  if (beyond > 0) co_await strand.permission(strand.ahead(1));
  for (int i = 0; i <= beyond; ++i) {
    if (number > 0) co_await strand.message(strand.ahead(-1), i + 1);
    const int distance = beyond - i;
    if (distance == 0) continue;
    const Pieces& block = strand.block(strand.ahead(distance));
    strand.write(strand.ahead(1), block, block);
  }
}

}  // namespace weft::collectives
