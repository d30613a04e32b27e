// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/in_network/in_network.h"

#include <algorithm>

#include "sw/collectives/followed.h"

namespace weft::collectives {

using firmware::Task;

InNetworkMember::InNetworkMember(firmware::Rank& rank, int position, int size, const Config& config,
                                 const std::string& name)
    : rank_(rank),
      position_(position),
      size_(size),
      config_(config),
      completions_(&rank.processor->create_completion_queue("the others of " + name + " in the network, queue")) {}

void InNetworkMember::connect(const firmware::Interface& interface, const std::vector<std::uint32_t>& ends,
                              std::uint32_t low_latency, std::uint32_t streaming, std::uint32_t multicast,
                              const std::string& name) {
  ends_ = ends;
  low_latency_ = firmware::GroupQueuePair(interface, *completions_, low_latency, config_.low_latency_window);
  streaming_ = firmware::GroupQueuePair(interface, *completions_, streaming, config_.window);
  multicast_ = firmware::GroupQueuePair(interface, *completions_, multicast, 0);
  if (config_.own_block == OwnBlock::kLocal) {
    added_ = &rank_.processor->create_completion_queue("its own block to be added in " + name + ", queue");
  }
  const Staging& staging = config_.staging;
  if (staging.channels == 0) return;
  staging_ = rank_.memory.allocate("staging of " + name, staging.bytes(heads()));
  copied_in_ = &rank_.processor->create_completion_queue("copies into staging, queue");
  copied_out_ = &rank_.processor->create_completion_queue("copies out of staging, queue");
}

void InNetworkMember::allocate_scratch(const std::string& name) {
  if (config_.own_block != OwnBlock::kLocal) return;
  scratch_ = rank_.memory.allocate("sums of others in " + name,
                                   static_cast<std::uint64_t>(config_.chunk.count()) * kScratchChunks);
}

void InNetworkMember::begin() {
  progress_ = {};
  chunk_ = static_cast<std::uint64_t>(config_.chunk.count());
}

void InNetworkMember::take(const nic::Completion& entry) {
  if (entry.verb == nic::Verb::kReduce) {
    ++progress_.reduced;
  } else if (entry.verb == nic::Verb::kMulticast) {
    ++progress_.sent;
  } else {
    ++progress_.arrived;
  }
}

template <typename Condition>
Task InNetworkMember::until(Condition condition) {
  while (!condition()) take(co_await completions_->next());
}

Task InNetworkMember::meet() {
  if (size_ == 1) co_return;
  const std::uint64_t target = progress_.reduced + 1;
  follow(rank_.followed, Followed::kLowLatency);
  low_latency_.reduce(0, 0, 0, ElementType::kInt32);
  co_await until([this, target] { return progress_.reduced >= target; });
}

Task InNetworkMember::lock() {
  follow(rank_.followed, Followed::kStreaming);
  follow(rank_.followed, Followed::kLock);
  if (config_.lock == TreeLock::kCollective) co_await meet();
}

Task InNetworkMember::all_reduce(std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  if (size_ == 1 || bytes == 0) {
    co_await meet();
    co_return;
  }
  follow(rank_.followed, Followed::kSums);
  begin();
  if (static_cast<std::int64_t>(bytes) <= config_.low_latency_limit.count()) {
    follow(rank_.followed, Followed::kLowLatency);
    follow(rank_.followed, Followed::kLowLatencyBytes);
    low_latency_.reduce(buffer, buffer, bytes, type);
    co_await until([this] { return progress_.reduced == 1; });
    co_return;
  }
  follow(rank_.followed, Followed::kAllReduce);
  follow(rank_.followed, followed_of(type));
  if (config_.all_reduce == AllReducePattern::kReduceMulticast) {
    follow(rank_.followed, Followed::kCouldStage);
    if (config_.staging.channels > 0) {
      co_await staged_all_reduce(buffer, bytes, type);
    } else {
      co_await reduce_and_multicast(buffer, even_blocks({0, bytes}, size_, size_of(type)), type);
    }
    co_return;
  }
  co_await lock();
  const std::uint64_t due = progress_.reduced + 1;
  streaming_.reduce(buffer, buffer, bytes, type);
  co_await until([this, due] { return progress_.reduced == due; });
}

std::uint64_t InNetworkMember::rounds(const BlockMap& blocks) const {
  std::uint64_t most = 0;
  for (int i = 0; i < size_; ++i) most = std::max(most, Chunks{blocks(i), chunk_}.count());
  return most;
}

std::uint64_t InNetworkMember::expect_others(const BlockMap& blocks) {
  std::uint32_t coming = 0;
  for (int i = 0; i < size_; ++i) {
    if (i != position_ && blocks(i).bytes > 0) ++coming;
  }
  if (coming > 0) multicast_.receive(coming);
  return coming;
}

void InNetworkMember::multicast(std::uint64_t buffer, const Chunks& chunks, std::uint64_t index) {
  const std::uint64_t address = buffer + chunks[index].offset;
  const bool last = index + 1 == chunks.count();
  multicast_.multicast(address, address, chunks[index].bytes, last, 0, last);
}

void InNetworkMember::post_round(firmware::GroupQueuePair& tree, std::uint64_t round, std::uint64_t input,
                                 std::uint64_t sum, const BlockMap& blocks, ElementType type, bool abstains) {
  for (int i = 0; i < size_; ++i) {
    const Chunks chunks{blocks(i), chunk_};
    if (round >= chunks.count()) continue;
    tree.reduce(input + chunks[round].offset, sum, chunks[round].bytes, type, ends_[static_cast<std::size_t>(i)],
                i == position_, abstains && i == position_);
  }
}

Task InNetworkMember::reduce_and_multicast(std::uint64_t buffer, BlockMap blocks, ElementType type) {
  follow(rank_.followed, Followed::kMessages);
  follow(rank_.followed, Followed::kStreaming);
  // Rounds of reductions that are posted ahead of the multicast of what they gave.
  constexpr std::uint64_t kAhead = 2;
  const std::uint64_t coming = expect_others(blocks);
  const Progress before = progress_;
  const std::uint64_t all = rounds(blocks);
  const Chunks own{blocks(position_), chunk_};
  for (std::uint64_t step = 0; step < all + kAhead; ++step) {
    if (step < all) post_round(streaming_, step, buffer, buffer + own.extent.offset + step * chunk_, blocks, type);
    if (step < kAhead || step - kAhead >= own.count()) continue;
    const std::uint64_t done = step - kAhead;
    co_await until([this, before, done] { return progress_.reduced > before.reduced + done; });
    multicast(buffer, own, done);
  }
  // What has come from all others is what they were sent all operands for.
  const std::uint64_t arrived = before.arrived + coming;
  const std::uint64_t sent = before.sent + (own.count() > 0 ? 1 : 0);
  co_await until([this, arrived, sent] { return progress_.arrived >= arrived && progress_.sent >= sent; });
}

Task InNetworkMember::reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type) {
  begin();
  if (size_ == 1) {
    const Extent own = blocks(0);
    if (input + own.offset == output || own.bytes == 0) co_return;
    rank_.accelerator.copy(0, input + own.offset, output, own.bytes, *completions_, 0);
    co_await completions_->next();
    co_return;
  }
  follow(rank_.followed, Followed::kSums);
  follow(rank_.followed, Followed::kScatter);
  follow(rank_.followed, Followed::kMessages);
  std::uint64_t bytes = 0;
  std::uint64_t reductions = 1;  // and the empty one
  for (int i = 0; i < size_; ++i) {
    bytes += blocks(i).bytes;
    reductions += Chunks{blocks(i), chunk_}.count();
  }
  // More than its window holds would wait for each other there.
  const bool is_short = static_cast<std::int64_t>(bytes) <= config_.low_latency_limit.count() &&
                        reductions <= static_cast<std::uint64_t>(config_.low_latency_window);
  if (is_short) {
    follow(rank_.followed, Followed::kLowLatencyBytes);
    co_await meet();
  } else {
    follow(rank_.followed, followed_of(type));
    co_await lock();
  }
  firmware::GroupQueuePair& tree = is_short ? low_latency_ : streaming_;
  const std::uint64_t met = progress_.reduced;
  const std::uint64_t all = rounds(blocks);
  const bool adds = config_.own_block == OwnBlock::kLocal;
  const Chunks own{blocks(position_), chunk_};
  OwnSums sums{own, met, input, output, type, adds && input + own.extent.offset == output, 0, 0, {}};
  for (std::uint64_t round = 0; round < all; ++round) {
    if (sums.in_place && round >= kScratchChunks && round < own.count()) {
      co_await add_own(sums, round + 1 - kScratchChunks);
    }
    post_round(tree, round, input, sum_at(sums, round), blocks, type, adds);
  }
  // An empty one at the end: results come in order, so that it tells when all operands have left.
  tree.reduce(0, 0, 0, type);
  if (adds) co_await add_own(sums, own.count());
  const std::uint64_t due = own.count() + 1;
  co_await until([this, met, due] { return progress_.reduced == met + due; });
}

std::uint64_t InNetworkMember::sum_at(const OwnSums& sums, std::uint64_t index) const {
  return sums.in_place ? scratch_ + index % kScratchChunks * chunk_ : sums.output + index * chunk_;
}

Task InNetworkMember::add_own(OwnSums& sums, std::uint64_t count) {
  sums.added.resize(sums.own.count());
  while (sums.ended < count) {
    for (; sums.begun < sums.own.count() && progress_.reduced > sums.met + sums.begun; ++sums.begun) {
      const Extent chunk = sums.own[sums.begun];
      const auto engine = static_cast<std::uint32_t>(sums.begun % static_cast<std::uint64_t>(rank_.copy_engines));
      rank_.accelerator.reduce(engine, sums.type, sum_at(sums, sums.begun), sums.input + chunk.offset,
                               sums.output + sums.begun * chunk_, chunk.bytes, *added_, sums.begun);
    }
    if (sums.begun < count) {
      take(co_await completions_->next());
      continue;
    }
    sums.added[(co_await added_->next()).id] = true;
    while (sums.ended < sums.own.count() && sums.added[sums.ended]) ++sums.ended;
    // Meanwhile others may have come.
    while (sums.begun < sums.own.count()) {
      const auto entry = completions_->try_next();
      if (!entry) break;
      take(*entry);
    }
  }
}

Task InNetworkMember::allgather(std::uint64_t buffer, BlockMap blocks) {
  if (size_ == 1) co_return;
  follow(rank_.followed, Followed::kMessages);
  begin();
  const std::uint64_t coming = expect_others(blocks);
  co_await meet();
  const Chunks own{blocks(position_), chunk_};
  for (std::uint64_t i = 0; i < own.count(); ++i) multicast(buffer, own, i);
  co_await until([this, coming, sent = own.count() > 0 ? 1U : 0U] {
    return progress_.arrived == coming && progress_.sent == sent;
  });
}

Task InNetworkMember::broadcast(int root, std::uint64_t buffer, std::uint64_t bytes) {
  if (size_ == 1) co_return;
  follow(rank_.followed, Followed::kMessages);
  begin();
  const Chunks chunks{{0, bytes}, chunk_};
  if (position_ != root && bytes > 0) multicast_.receive(1);
  co_await meet();
  if (bytes == 0) co_return;
  if (position_ == root) {
    for (std::uint64_t i = 0; i < chunks.count(); ++i) multicast(buffer, chunks, i);
  }
  co_await until([this, root] { return (position_ == root ? progress_.sent : progress_.arrived) == 1; });
}

}  // namespace weft::collectives
