// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/ring_group.h"

#include <algorithm>

#include "sw/firmware/fan_out.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

RingGroup::RingGroup(const std::vector<Rank*>& ranks, std::vector<std::vector<int>> orders,
                     const RingMember::Options& options, const std::string& name)
    : ranks_(ranks), orders_(std::move(orders)), name_(name) {
  for (std::size_t c = 0; c < orders_.size(); ++c) {
    std::vector<Rank*> members;
    for (const int member : orders_[c]) members.push_back(ranks[static_cast<std::size_t>(member)]);
    rings_.push_back(RingMember::join(members, options, static_cast<int>(c), name + ", channel " + std::to_string(c)));
  }
}

RingMember& RingGroup::ring(int channel, int member) const {
  const auto& order = orders_[static_cast<std::size_t>(channel)];
  const auto position = std::find(order.begin(), order.end(), member) - order.begin();
  return *rings_[static_cast<std::size_t>(channel)][static_cast<std::size_t>(position)];
}

BlockMap RingGroup::by_position(int channel, BlockMap blocks, std::uint64_t granule) const {
  return [this, channel, granule, blocks = std::move(blocks)](int position) {
    return part(blocks(member_at(channel, position)), channel, granule);
  };
}

Task RingGroup::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) {
  std::vector<Task> tasks;
  tasks.reserve(static_cast<std::size_t>(channels()));
  for (int c = 0; c < channels(); ++c) {
    tasks.push_back(ring(c, member).allgather(buffer, by_position(c, blocks, granule), nullptr));
  }
  co_await firmware::fan_out(*ranks_[static_cast<std::size_t>(member)]->processor, name_, "allgather",
                             std::move(tasks));
}

Task RingGroup::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                               ElementType type) {
  const std::uint64_t granule = size_of(type);
  const Extent own = blocks(member);
  std::vector<Task> tasks;
  tasks.reserve(static_cast<std::size_t>(channels()));
  for (int c = 0; c < channels(); ++c) {
    const std::uint64_t at = output + part(own, c, granule).offset - own.offset;
    tasks.push_back(ring(c, member).reduce_scatter(input, at, by_position(c, blocks, granule), type, nullptr));
  }
  co_await firmware::fan_out(*ranks_[static_cast<std::size_t>(member)]->processor, name_, "reduce-scatter",
                             std::move(tasks));
}

Task RingGroup::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  std::vector<Task> tasks;
  tasks.reserve(static_cast<std::size_t>(channels()));
  for (int c = 0; c < channels(); ++c) {
    tasks.push_back(ring(c, member).broadcast(buffer, part({0, bytes}, c, 1), ring(c, root).position()));
  }
  co_await firmware::fan_out(*ranks_[static_cast<std::size_t>(member)]->processor, name_, "broadcast",
                             std::move(tasks));
}

}  // namespace weft::collectives
