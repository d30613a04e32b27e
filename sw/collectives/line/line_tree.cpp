// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/line_algorithms.h"

namespace weft::collectives {

using dimensions::tree_place;
using dimensions::TreePlace;
using firmware::Task;

Task tree_all_reduce(Strand strand) {
  const auto members = static_cast<std::uint32_t>(strand.members());
  const TreePlace place = tree_place(static_cast<std::uint32_t>(strand.position()), members, strand.number() == 0);
  const Pieces half =
      part(strand.blocks(0, strand.members()), Passage::kStrands, strand.number(), size_of(strand.phase().type));
  // A parent has room for both of its children in both trees.
  const std::uint64_t room = (members / 2 + 1) * strand.unit();
  const auto staged = [&](int at, int child) {
    return strand.staging(at, static_cast<std::uint64_t>(2 * strand.number() + child) * room, bytes_of(half));
  };
  std::vector<int> children;
  for (const std::uint32_t child : place.children) {
    if (child != TreePlace::kNone) children.push_back(static_cast<int>(child));
  }
  const bool root = place.parent == TreePlace::kNone;
  const int parent = static_cast<int>(place.parent);
  for (const int child : children) strand.expect(child, 1);
  if (!root) strand.expect(parent, 1);

  for (std::size_t i = 0; i < children.size(); ++i) {
    co_await strand.message(children[i]);
    strand.reduce(staged(strand.position(), static_cast<int>(i)), half, half);
    co_await strand.computed();
  }
  if (!root) {
    const TreePlace above = tree_place(place.parent, members, strand.number() == 0);
    const int child = above.children[0] == static_cast<std::uint32_t>(strand.position()) ? 0 : 1;
    co_await strand.permission(parent);
    strand.write(parent, half, staged(parent, above.children[0] == TreePlace::kNone ? 0 : child));
    co_await strand.message(parent);
  }
  for (const int child : children) {
    co_await strand.permission(child);
    strand.write(child, half, half);
  }
}

}  // namespace weft::collectives
