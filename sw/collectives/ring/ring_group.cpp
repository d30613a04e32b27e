// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/ring/ring_group.h"

#include <algorithm>
#include <set>

#include "sw/collectives/followed.h"
#include "sw/collectives/nodes.h"
#include "sw/firmware/fan_out.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

std::vector<std::vector<int>> ring_orders(const std::vector<std::vector<int>>& rows, int channels) {
  std::vector<std::vector<int>> orders;
  for (int c = 0; c < channels; ++c) {
    auto& order = orders.emplace_back();
    for (const std::vector<int>& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        order.push_back(row[(i + static_cast<std::size_t>(c)) % row.size()]);
      }
    }
  }
  return orders;
}

std::vector<std::vector<int>> different_rings(const std::vector<std::vector<int>>& orders, std::size_t most) {
  std::vector<std::vector<int>> different;
  std::set<std::vector<int>> known;
  for (const std::vector<int>& order : orders) {
    std::vector<int> from_first = order;
    std::rotate(from_first.begin(), std::min_element(from_first.begin(), from_first.end()), from_first.end());
    if (different.size() < most && known.insert(std::move(from_first)).second) different.push_back(order);
  }
  return different;
}

RingGroup::RingGroup(const std::vector<Rank*>& ranks, std::vector<std::vector<int>> orders,
                     const RingMember::Options& options, const std::string& name, Choice choice)
    : ranks_(ranks), orders_(std::move(orders)), name_(name), choice_(std::move(choice)), options_(options) {
  for (std::size_t c = 0; c < orders_.size(); ++c) {
    rings_.push_back(RingMember::join(pick(ranks, orders_[c]), options, static_cast<int>(c),
                                      name + ", channel " + std::to_string(c)));
  }
}

std::size_t RingGroup::place(std::size_t channel, int member) const {
  const auto& order = orders_[channel];
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), member) - order.begin());
}

RingMember& RingGroup::ring(int channel, int member) const {
  const auto c = static_cast<std::size_t>(channel);
  return *rings_[c][place(c, member)];
}

BlockMap RingGroup::by_position(std::size_t channel, std::size_t channels, BlockMap blocks,
                                std::uint64_t granule) const {
  return [this, channel, channels, granule, blocks = std::move(blocks)](int position) {
    return split(blocks(member_at(static_cast<int>(channel), position)), channels, channel, granule);
  };
}

std::size_t RingGroup::flagged_channels(std::uint64_t bytes, Flags flags) {
  if (flagged_rings_.size() < orders_.size()) firmware::align_memory(ranks_);
  for (std::size_t c = flagged_rings_.size(); c < orders_.size(); ++c) {
    flagged_rings_.push_back(FlaggedRingMember::join(pick(ranks_, orders_[c]), options_.slots, options_.queue_pairs,
                                                     static_cast<int>(c),
                                                     name_ + ", channel " + std::to_string(c) + " with flags"));
  }
  // NCCL gives each channel 8 bytes to each of its threads at the least, 512 for each member or 640.
  const std::uint64_t least = flags == Flags::kWords ? (8ULL * 512) * ranks_.size() : 8ULL * 640;
  if (bytes / least > 1) follow(ranks_.front()->followed, Followed::kChannels);
  return std::clamp<std::size_t>(bytes / least, 1, flagged_rings_.size());
}

std::uint64_t RingGroup::whole(const BlockMap& blocks) const {
  std::uint64_t bytes = 0;
  for (int i = 0; i < size(); ++i) bytes += blocks(i).bytes;
  return bytes;
}

Task RingGroup::run(int member, const char* what, std::vector<Task> tasks) {
  return firmware::fan_out(*ranks_[static_cast<std::size_t>(member)]->processor, name_, what, std::move(tasks));
}

Task RingGroup::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) {
  const Flags flags = choose(NcclCollective::kBlocks, whole(blocks));
  return allgather_with(flags, member, buffer, std::move(blocks), granule);
}

Task RingGroup::allgather_with(Flags flags, int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) {
  std::vector<Task> tasks;
  const bool flagged = flags != Flags::kNone;
  const std::size_t channels = flagged ? flagged_channels(whole(blocks), flags) : rings_.size();
  for (std::size_t c = 0; c < channels; ++c) {
    const BlockMap parts = by_position(c, channels, blocks, granule);
    tasks.push_back(flagged ? flagged_rings_[c][place(c, member)]->allgather(buffer, parts, flags)
                            : rings_[c][place(c, member)]->allgather(buffer, parts, nullptr));
  }
  co_await run(member, "allgather", std::move(tasks));
}

Task RingGroup::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                               ElementType type) {
  const Flags flags = choose(NcclCollective::kBlocks, whole(blocks));
  return reduce_scatter_with(flags, member, input, output, std::move(blocks), type);
}

Task RingGroup::reduce_scatter_with(Flags flags, int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                    ElementType type) {
  const std::uint64_t granule = size_of(type);
  const Extent own = blocks(member);
  std::vector<Task> tasks;
  const bool flagged = flags != Flags::kNone;
  const std::size_t channels = flagged ? flagged_channels(whole(blocks), flags) : rings_.size();
  for (std::size_t c = 0; c < channels; ++c) {
    const std::uint64_t at = output + split(own, channels, c, granule).offset - own.offset;
    const BlockMap parts = by_position(c, channels, blocks, granule);
    tasks.push_back(flagged ? flagged_rings_[c][place(c, member)]->reduce_scatter(input, at, parts, type, flags)
                            : rings_[c][place(c, member)]->reduce_scatter(input, at, parts, type, nullptr));
  }
  co_await run(member, "reduce-scatter", std::move(tasks));
}

Task RingGroup::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  const Flags flags = choose(NcclCollective::kAllReduce, bytes);
  const BlockMap blocks = even_blocks({0, bytes}, size(), size_of(type));
  co_await reduce_scatter_with(flags, member, buffer, buffer + blocks(member).offset, blocks, type);
  co_await allgather_with(flags, member, buffer, blocks, size_of(type));
}

Task RingGroup::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  std::vector<Task> tasks;
  const Flags flags = choose(NcclCollective::kBroadcast, bytes);
  const bool flagged = flags != Flags::kNone;
  const std::size_t channels = flagged ? flagged_channels(bytes, flags) : rings_.size();
  for (std::size_t c = 0; c < channels; ++c) {
    const int from = static_cast<int>(place(c, root));
    const Extent part = split({0, bytes}, channels, c, 1);
    tasks.push_back(flagged ? flagged_rings_[c][place(c, member)]->broadcast(buffer, part, from, flags)
                            : rings_[c][place(c, member)]->broadcast(buffer, part, from));
  }
  co_await run(member, "broadcast", std::move(tasks));
}

}  // namespace weft::collectives
