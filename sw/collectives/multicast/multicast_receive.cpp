// SPDX-License-Identifier: Apache-2.0
// The fast path's receiving half: a thread for each subgroup.
#include <algorithm>
#include <utility>

#include "sw/collectives/multicast/multicast.h"

namespace weft::collectives {
namespace {

constexpr std::uint64_t kPostAtOnce = 16;  // receives, and copies of which the last one completes
constexpr std::uint32_t kNumber = (1U << 24) - 1;

}  // namespace

void MulticastMember::open_receiver(Receiver& receiver, const std::vector<std::uint32_t>& groups,
                                    std::size_t subgroup) {
  receiver.completions = &place_.processor->create_completion_queue("chunks of subgroup " + std::to_string(subgroup) +
                                                                    " in " + name_ + ", queue");
  receiver.completions->allow_repeats();
  receiver.completions->fetch_with(&config_, kHotBytes);
  receiver.completions->fetch_with(&receiver, sizeof receiver);
  if (!copies()) {
    for (const std::uint32_t group : groups) {
      receiver.rings.push_back({});
      receiver.rings.back().group = firmware::GroupQueuePair(place_, *receiver.completions, group, 0);
      receiver.rings.back().group.prepay();
    }
    receiver.first_queue_pair = receiver.rings.front().group.number();
    return;
  }
  receiver.rings.resize(1);
  receiver.datagrams = firmware::DatagramQueuePair(place_, *receiver.completions);
  receiver.datagrams.prepay();
  receiver.first_queue_pair = receiver.datagrams.number();
  for (const std::uint32_t group : groups) receiver.datagrams.attach(group);
  if (config_.copy == MulticastCopy::kInterface) {
    receiver.copies = firmware::QueuePair(place_, *receiver.completions);
    receiver.copies.prepay();
    receiver.copies_end = firmware::QueuePair(place_, *receiver.completions);
    firmware::QueuePair::connect(receiver.copies, receiver.copies_end);
  }
  receiver.engine = static_cast<std::uint32_t>(subgroup % static_cast<std::size_t>(rank_.copy_engines));
  receiver.staging =
      rank_.memory.allocate("multicast staging", slot_bytes() * static_cast<std::uint64_t>(config_.queue_depth));
}

firmware::Task MulticastMember::receive(Receiver& receiver) {
  // What has come since the last task took receives.
  while (const auto entry = receiver.completions->try_next()) take_chunk(receiver, *entry);
  post_receives(receiver, 1);
  messages_->signal(kReady);
  const std::uint64_t task = task_.number;
  co_await open_.reach(task);
  const Time deadline = place_.processor->now() + task_.cutoff;
  while (receiver.missing > 0) {
    const Time since = place_.processor->now();  // the chunk before has been taken
    const auto entry = co_await receiver.completions->next_before(deadline);
    if (!entry) {
      ++counters_.cutoffs;
      last_chunk_ = std::max(last_chunk_, since);
      break;
    }
    take_chunk(receiver, *entry);
  }
  if (receiver.copying > 0 && receiver.unsignaled > 0) {
    receiver.copies.write(0, 0, 0, false, 0, true, receiver.rings[0].came);
    receiver.signaled.push_back(std::exchange(receiver.unsignaled, 0));
  }
  receiver.over = true;
  while (receiver.copying > 0) take_chunk(receiver, co_await receiver.completions->next());
  post_receives(receiver, 1);
  messages_->signal(kReceived);
}

void MulticastMember::take_chunk(Receiver& receiver, const nic::Completion& entry) {
  if (entry.verb != nic::Verb::kReceive) {  // copies up to here are in place
    Ring& ring = receiver.rings[0];
    ring.freed = entry.id;
    receiver.copying -= receiver.signaled.front();
    receiver.signaled.pop_front();
    if (receiver.copying == 0) ring.freed = ring.came;
    return post_receives(receiver, kPostAtOnce);
  }
  place_.processor->work(cost_.packet);
  Ring& ring = receiver.rings[entry.queue_pair - receiver.first_queue_pair];
  if (entry.id < ring.came) {
    ++counters_.repeated;
    return;
  }
  ring.came = entry.id + 1;
  const std::uint32_t number = entry.immediate & kNumber;
  if (receiver.over || entry.immediate >> 24 != task_.number % 256) {
    ++counters_.stale;
  } else if (const int source = map_.set(number); source == ChunkMap::kHadIt) {
    ++counters_.repeated;
  } else {
    const Extent chunk = extent_of(number, source);
    ++counters_.chunks;
    ++rank_.multicast_came;
    counters_.bytes += static_cast<std::int64_t>(chunk.bytes);
    --receiver.missing;
    if (copies()) copy(receiver, entry.id, chunk);
  }
  if (receiver.copying == 0) ring.freed = ring.came;
  post_receives(receiver, kPostAtOnce);
}

void MulticastMember::copy(Receiver& receiver, std::uint64_t id, Extent chunk) {
  const std::uint64_t slot = receiver.staging + id % static_cast<std::uint64_t>(config_.queue_depth) * slot_bytes();
  const std::uint64_t source = slot + nic::kGlobalRouteHeader;
  const std::uint64_t target = task_.buffer + chunk.offset;
  ++receiver.copying;
  ++receiver.unsignaled;
  const bool by_engine = config_.copy == MulticastCopy::kEngine;
  const bool signaled = by_engine || receiver.unsignaled == kPostAtOnce || receiver.missing == 0;
  if (by_engine) {
    rank_.accelerator.copy(receiver.engine, source, target, chunk.bytes, *receiver.completions, id + 1);
  } else {
    receiver.copies.write(source, target, chunk.bytes, false, 0, signaled, id + 1);
  }
  if (!signaled) return;
  receiver.signaled.push_back(std::exchange(receiver.unsignaled, 0));
}

void MulticastMember::post_receives(Receiver& receiver, std::uint64_t least) {
  const auto depth = static_cast<std::uint64_t>(config_.queue_depth);
  for (Ring& ring : receiver.rings) {
    if (ring.freed + depth - ring.posted < least) continue;
    while (ring.posted < ring.freed + depth) {
      std::uint64_t count = ring.freed + depth - ring.posted;
      if (copies()) {
        const std::uint64_t slot = ring.posted % depth;
        count = std::min(count, depth - slot);
        receiver.datagrams.receive(receiver.staging + slot * slot_bytes(), slot_bytes(),
                                   static_cast<std::uint32_t>(count), ring.posted);
      } else {
        ring.group.receive(static_cast<std::uint32_t>(count), ring.posted);
      }
      ring.posted += count;
    }
  }
}

Extent MulticastMember::extent_of(std::uint32_t number, int source) const {
  return Chunks{task_.blocks[static_cast<std::size_t>(source)], chunk_}[number - map_.first(source)];
}

}  // namespace weft::collectives
