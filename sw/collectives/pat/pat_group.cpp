// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/pat/pat_group.h"

#include <algorithm>

#include "sw/collectives/followed.h"
#include "sw/firmware/fan_out.h"

namespace weft::collectives {

using firmware::Task;

namespace {

constexpr std::uint64_t kLeastOfChannel = 16 << 10;
constexpr std::uint64_t kLeastChunk = 64 << 10;

}  // namespace

const PatGroup::Channels& PatGroup::channels(Direction direction) {
  Channels& made = members_[static_cast<std::size_t>(direction)];
  if (made.empty()) firmware::align_memory(ranks_);
  while (made.size() < static_cast<std::size_t>(channels_)) {
    const auto channel = static_cast<int>(made.size());
    made.push_back(PatMember::join(
        ranks_, direction, options_, channel,
        name_ + ", channel " + std::to_string(channel) + (direction == Direction::kDown ? ", down" : ", up")));
  }
  return made;
}

std::size_t PatGroup::used(std::uint64_t bytes) const {
  if (bytes / kLeastOfChannel > 1) follow(ranks_.front()->followed, Followed::kChannels);
  return std::clamp<std::uint64_t>(bytes / kLeastOfChannel, 1, static_cast<std::uint64_t>(channels_));
}

const PatPlan& PatGroup::plan(Direction direction, int together) {
  auto& plans = plans_[static_cast<std::size_t>(direction)];
  const auto found = plans.find(together);
  if (found != plans.end()) return found->second;
  const auto make = direction == Direction::kDown ? PatPlan::allgather : PatPlan::reduce_scatter;
  const int members = static_cast<int>(ranks_.size());
  return plans.emplace(together, make(members, together, PatMember::slots_of(options_))).first->second;
}

PatMember::Work PatGroup::work(Direction direction, int member, std::uint64_t bytes, std::uint64_t granule,
                               std::size_t channel) {
  const std::size_t parts = used(bytes);
  const std::uint64_t wanted = (direction == Direction::kDown ? 32 : 16) * parts;
  PatMember::Work work;
  work.chunk = options_.chunk;
  while (work.chunk > kLeastChunk && work.chunk * wanted > bytes) work.chunk /= 2;
  work.chunk = std::max(work.chunk / granule * granule, granule);
  const int members = static_cast<int>(ranks_.size());
  const BlockMap blocks = even_blocks({0, bytes}, members, granule);
  std::uint64_t longest = 0;
  work.blocks.reserve(ranks_.size());
  for (int place = 0; place < members; ++place) {
    work.blocks.push_back(split(blocks((member + place) % members), parts, channel, granule));
    longest = std::max(longest, work.blocks.back().bytes);
  }
  work.rounds = (longest + work.chunk - 1) / work.chunk;
  work.plan = &plan(direction, pat_together(members, longest, work.chunk));
  return work;
}

Task PatGroup::allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule) {
  if (bytes == 0) co_return;
  const Channels& through = channels(Direction::kDown);
  std::vector<Task> tasks;
  for (std::size_t c = 0; c < used(bytes); ++c) {
    tasks.push_back(through[c][static_cast<std::size_t>(member)]->allgather(
        buffer, work(Direction::kDown, member, bytes, granule, c)));
  }
  co_await firmware::fan_out(*ranks_[static_cast<std::size_t>(member)]->processor, name_, "allgather",
                             std::move(tasks));
}

Task PatGroup::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                              ElementType type) {
  if (bytes == 0) co_return;
  const std::uint64_t own = even_blocks({0, bytes}, static_cast<int>(ranks_.size()), size_of(type))(member).offset;
  const Channels& through = channels(Direction::kUp);
  std::vector<Task> tasks;
  for (std::size_t c = 0; c < used(bytes); ++c) {
    PatMember::Work part = work(Direction::kUp, member, bytes, size_of(type), c);
    const std::uint64_t target = output + part.blocks[0].offset - own;
    tasks.push_back(through[c][static_cast<std::size_t>(member)]->reduce_scatter(input, target, std::move(part), type));
  }
  co_await firmware::fan_out(*ranks_[static_cast<std::size_t>(member)]->processor, name_, "reduce-scatter",
                             std::move(tasks));
}

}  // namespace weft::collectives
