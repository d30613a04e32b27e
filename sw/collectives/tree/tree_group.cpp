// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/tree/tree_group.h"

#include <algorithm>
#include <bit>

#include "sw/collectives/followed.h"
#include "sw/dimensions/plan.h"
#include "sw/firmware/fan_out.h"

namespace weft::collectives {

using dimensions::TreePlace;
using firmware::Rank;
using firmware::Task;

namespace {

/// Everybody's place where each row is a chain from position `first` on, and the rows' heads are a tree.
std::vector<TreeMember::Place> places_of(const std::vector<std::vector<int>>& rows, std::size_t members,
                                         std::size_t first, bool first_is_root) {
  std::vector<TreeMember::Place> places(members);
  const auto at = [&](std::size_t row, std::size_t i) { return rows[row][(first + i) % rows[row].size()]; };
  const auto join = [&](int parent, int child) {
    places[static_cast<std::size_t>(child)].parent = parent;
    places[static_cast<std::size_t>(parent)].children.push_back(child);
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 1; i < rows[row].size(); ++i) join(at(row, i - 1), at(row, i));
    const TreePlace place =
        dimensions::tree_place(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(rows.size()), first_is_root);
    for (const std::uint32_t child : place.children) {
      if (child != TreePlace::kNone) join(at(row, 0), at(child, 0));
    }
  }
  return places;
}

}  // namespace

TreeGroup::TreeGroup(const std::vector<Rank*>& ranks, const std::vector<std::vector<int>>& rows, int channels,
                     const TreeMember::Options& options, const std::string& name)
    : ranks_(ranks), options_(options), name_(name) {
  std::size_t longest = 0;
  for (const std::vector<int>& row : rows) longest = std::max(longest, row.size());
  depth_ = static_cast<int>(longest - 1) + std::bit_width(rows.size() - 1);
  if (ranks.size() == 1) return;  // nothing to join
  for (int c = 0; c < channels; ++c) {
    for (const bool first_is_root : {true, false}) {
      trees_.push_back(
          TreeMember::join(ranks, places_of(rows, ranks.size(), static_cast<std::size_t>(c), first_is_root), options,
                           static_cast<int>(trees_.size()),
                           name + ", channel " + std::to_string(c) + (first_is_root ? ", first" : ", second")));
    }
  }
}

std::uint64_t TreeGroup::chunk_for(std::uint64_t bytes, Flags flags) const {
  if (flags != Flags::kNone) {
    return std::min(accelerator::without_flags(options_.chunk, flags),
                    SlotLane::flagged_chunk(bytes, flags, SlotLane::kLongestFlagged));
  }
  // NCCL's rule (computeColl() of its enqueue.cc): a deeper tree needs more chunks to fill.
  std::uint64_t chunk = options_.chunk;
  const auto depth = static_cast<std::uint64_t>(depth_);
  for (const auto& [times, least] : {std::pair{8U, 128U << 10}, {4U, 64U << 10}, {1U, 32U << 10}}) {
    while (bytes / chunk < times * depth && chunk > least) chunk /= 2;
  }
  return chunk;
}

Task TreeGroup::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type, Flags flags) {
  if (trees_.empty() || bytes == 0) co_return;
  // What NCCL gives a channel at the least: 8 bytes to each of 512 threads in LL, to each of 640 in LL128, else 64 to
  // each of 512 (its threadThresholds).
  const std::uint64_t least = flags == Flags::kNone ? 64 * 512 : flags == Flags::kWords ? 8 * 512 : 8 * 640;
  if (bytes / least > 1) follow(ranks_.front()->followed, Followed::kChannels);
  const std::uint64_t used = std::clamp<std::uint64_t>(bytes / least, 1, trees_.size());
  const std::uint64_t granule = size_of(type);
  const std::uint64_t chunk = std::max(chunk_for(bytes / used, flags) / granule * granule, granule);
  firmware::Processor& processor = *ranks_[static_cast<std::size_t>(member)]->processor;
  std::vector<firmware::Counter> summed;
  std::vector<Task> tasks;
  summed.reserve(used);
  tasks.reserve(2 * used);
  for (std::uint64_t i = 0; i < used; ++i) {
    summed.emplace_back(processor, "a sum at the root of a tree");
    TreeMember& tree = *trees_[i][static_cast<std::size_t>(member)];
    const TreeMember::Message message{buffer, split({0, bytes}, used, i, granule), chunk, type, flags};
    tasks.push_back(tree.up(message, summed.back()));
    tasks.push_back(tree.down(message, summed.back()));
  }
  co_await firmware::fan_out(processor, name_, "all-reduce", std::move(tasks));
}

}  // namespace weft::collectives
