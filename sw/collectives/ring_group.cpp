// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/ring_group.h"

#include <algorithm>

#include "sw/collectives/nodes.h"
#include "sw/firmware/fan_out.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

RingGroup::RingGroup(const std::vector<Rank*>& ranks, std::vector<std::vector<int>> orders,
                     const RingMember::Options& options, const std::string& name, IsShort is_short)
    : ranks_(ranks), orders_(std::move(orders)), name_(name), is_short_(std::move(is_short)), slots_(options.slots) {
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

std::size_t RingGroup::short_channels(std::uint64_t bytes) {
  if (!is_short_(bytes)) return 0;
  for (std::size_t c = short_rings_.size(); c < orders_.size(); ++c) {
    short_rings_.push_back(ShortRingMember::join(pick(ranks_, orders_[c]), slots_, static_cast<int>(c),
                                                 name_ + ", short channel " + std::to_string(c)));
  }
  // NCCL gives each channel 8 bytes to each of 512 threads for each member at the least.
  const std::uint64_t least = (4ULL << 10) * ranks_.size();
  return std::clamp<std::size_t>(bytes / least, 1, short_rings_.size());
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
  std::vector<Task> tasks;
  const std::size_t few = is_short_ == nullptr ? 0 : short_channels(whole(blocks));
  const std::size_t channels = few == 0 ? rings_.size() : few;
  for (std::size_t c = 0; c < channels; ++c) {
    const BlockMap parts = by_position(c, channels, blocks, granule);
    tasks.push_back(few == 0 ? rings_[c][place(c, member)]->allgather(buffer, parts, nullptr)
                             : short_rings_[c][place(c, member)]->allgather(buffer, parts));
  }
  co_await run(member, "allgather", std::move(tasks));
}

Task RingGroup::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                               ElementType type) {
  const std::uint64_t granule = size_of(type);
  const Extent own = blocks(member);
  std::vector<Task> tasks;
  const std::size_t few = is_short_ == nullptr ? 0 : short_channels(whole(blocks));
  const std::size_t channels = few == 0 ? rings_.size() : few;
  for (std::size_t c = 0; c < channels; ++c) {
    const std::uint64_t at = output + split(own, channels, c, granule).offset - own.offset;
    const BlockMap parts = by_position(c, channels, blocks, granule);
    tasks.push_back(few == 0 ? rings_[c][place(c, member)]->reduce_scatter(input, at, parts, type, nullptr)
                             : short_rings_[c][place(c, member)]->reduce_scatter(input, at, parts, type));
  }
  co_await run(member, "reduce-scatter", std::move(tasks));
}

Task RingGroup::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  std::vector<Task> tasks;
  const std::size_t few = is_short_ == nullptr ? 0 : short_channels(bytes);
  const std::size_t channels = few == 0 ? rings_.size() : few;
  for (std::size_t c = 0; c < channels; ++c) {
    const int from = static_cast<int>(place(c, root));
    const Extent part = split({0, bytes}, channels, c, 1);
    tasks.push_back(few == 0 ? rings_[c][place(c, member)]->broadcast(buffer, part, from)
                             : short_rings_[c][place(c, member)]->broadcast(buffer, part, from));
  }
  co_await run(member, "broadcast", std::move(tasks));
}

}  // namespace weft::collectives
