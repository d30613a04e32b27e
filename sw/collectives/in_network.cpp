// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/in_network.h"

#include <algorithm>

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

/// By which `rank` reaches the others of a group.
const firmware::Interface& interface_of(const Rank& rank, const std::vector<Rank*>& ranks) {
  return rank.towards(*(ranks[0] == &rank ? ranks.back() : ranks[0]));
}

fabric::Fabric& common_network(const std::vector<Rank*>& ranks, const std::string& name) {
  fabric::Fabric* const network = interface_of(*ranks[0], ranks).network;
  for (const Rank* rank : ranks) {
    if (interface_of(*rank, ranks).network == network) continue;
    throw ConfigError("collectives.algorithm", name +
                                                   ": in-network needs all members on one network, expected a single "
                                                   "node, or one accelerator to a node");
  }
  return *network;
}

std::uint32_t create(fabric::Fabric& network, const std::vector<std::uint32_t>& ends,
                     const fabric::Fabric::GroupOptions& options) {
  const auto group = network.create_group(ends, options);
  if (group.has_value()) return *group;
  const bool none = network.config().switch_config.reduction.trees == 0;
  throw ConfigError("collectives.algorithm",
                    none ? "in-network needs switches that reduce: reduction.trees of the network's switch is 0"
                         : "the switches have no room for another reduction tree: expected more reduction.trees or "
                           "reduction.chunks, or a smaller collectives.in_network.window");
}

}  // namespace

std::vector<std::unique_ptr<InNetworkMember>> InNetworkMember::join(const std::vector<Rank*>& ranks,
                                                                    const Config& config, std::uint64_t chunk,
                                                                    const std::string& name) {
  const int size = static_cast<int>(ranks.size());
  std::vector<std::unique_ptr<InNetworkMember>> members;
  for (int i = 0; i < size; ++i) {
    members.push_back(std::make_unique<InNetworkMember>(*ranks[static_cast<std::size_t>(i)], i, size, config, chunk));
  }
  if (size == 1) return members;
  fabric::Fabric& network = common_network(ranks, name);
  std::vector<std::uint32_t> ends;
  for (const Rank* rank : ranks) {
    ends.push_back(interface_of(*rank, ranks).nic->end());
  }
  const std::uint32_t low_latency =
      create(network, ends, {.reduces = true, .window = config.low_latency_window, .streaming = false});
  const std::uint32_t streaming = create(network, ends, {.reduces = true, .window = config.window, .streaming = true});
  const std::uint32_t multicast = create(network, ends, {});
  for (int i = 0; i < size; ++i) {
    InNetworkMember& member = *members[static_cast<std::size_t>(i)];
    Rank& rank = member.rank_;
    const firmware::Interface& interface = interface_of(rank, ranks);
    member.ends_ = ends;
    member.completions_ = &rank.processor->create_completion_queue("the others of " + name + " in the network, queue");
    member.low_latency_ =
        firmware::GroupQueuePair(interface, *member.completions_, low_latency, config.low_latency_window);
    member.streaming_ = firmware::GroupQueuePair(interface, *member.completions_, streaming, config.window);
    member.multicast_ = firmware::GroupQueuePair(interface, *member.completions_, multicast, 0);
  }
  return members;
}

template <typename Condition>
Task InNetworkMember::until(Condition condition) {
  while (!condition()) {
    const nic::Completion entry = co_await completions_->next();
    if (entry.verb == nic::Verb::kReduce) {
      ++progress_.reduced;
    } else if (entry.verb == nic::Verb::kMulticast) {
      ++progress_.sent;
    } else {
      ++progress_.arrived;
    }
  }
}

Task InNetworkMember::barrier() {
  co_await enter();
  co_await meet();
}

Task InNetworkMember::meet() {
  if (size_ == 1) co_return;
  const std::uint64_t target = progress_.reduced + 1;
  low_latency_.reduce(0, 0, 0, ElementType::kInt32);
  co_await until([this, target] { return progress_.reduced >= target; });
}

Task InNetworkMember::all_reduce(std::uint64_t buffer, std::uint64_t bytes, const BlockMap& blocks, ElementType type) {
  co_await enter();
  if (size_ == 1 || bytes == 0) {
    co_await meet();
    co_return;
  }
  progress_ = {};
  if (static_cast<std::int64_t>(bytes) <= config_.low_latency_limit.count()) {
    low_latency_.reduce(buffer, buffer, bytes, type);
    co_await until([this] { return progress_.reduced == 1; });
    co_return;
  }
  if (config_.all_reduce == AllReducePattern::kReduceMulticast) {
    co_await reduce_and_multicast(buffer, blocks, type);
    co_return;
  }
  co_await meet();
  streaming_.reduce(buffer, buffer, bytes, type);
  co_await until([this] { return progress_.reduced == 2; });
}

std::uint64_t InNetworkMember::rounds(const BlockMap& blocks) const {
  std::uint64_t most = 0;
  for (int i = 0; i < size_; ++i) most = std::max(most, Chunks{blocks(i), chunk_}.count());
  return most;
}

void InNetworkMember::post_round(firmware::GroupQueuePair& tree, std::uint64_t round, std::uint64_t input,
                                 std::uint64_t output, const BlockMap& blocks, ElementType type) {
  for (int i = 0; i < size_; ++i) {
    const Chunks chunks{blocks(i), chunk_};
    if (round >= chunks.count()) continue;
    tree.reduce(input + chunks[round].offset, output + round * chunk_, chunks[round].bytes, type,
                ends_[static_cast<std::size_t>(i)], i == position_);
  }
}

Task InNetworkMember::reduce_and_multicast(std::uint64_t buffer, const BlockMap& blocks, ElementType type) {
  // Rounds of reductions that are posted ahead of the multicast of what they gave.
  constexpr std::uint64_t kAhead = 4;
  std::uint64_t coming = 0;
  for (int i = 0; i < size_; ++i) {
    if (i != position_) coming += Chunks{blocks(i), chunk_}.count();
  }
  if (coming > 0) multicast_.receive(static_cast<std::uint32_t>(coming));
  co_await meet();
  const std::uint64_t met = progress_.reduced;
  const std::uint64_t all = rounds(blocks);
  const Chunks own{blocks(position_), chunk_};
  for (std::uint64_t step = 0; step < all + kAhead; ++step) {
    if (step < all) post_round(streaming_, step, buffer, buffer + own.extent.offset, blocks, type);
    if (step < kAhead || step - kAhead >= own.count()) continue;
    const std::uint64_t done = step - kAhead;
    co_await until([this, met, done] { return progress_.reduced > met + done; });
    const std::uint64_t address = buffer + own[done].offset;
    multicast_.multicast(address, address, own[done].bytes, 0, done + 1 == own.count());
  }
  // What has come from all others is what they were sent all operands for.
  const std::uint64_t sent = own.count() > 0 ? 1 : 0;
  co_await until([this, coming, sent] { return progress_.arrived == coming && progress_.sent == sent; });
}

Task InNetworkMember::reduce_scatter(std::uint64_t input, std::uint64_t output, const BlockMap& blocks,
                                     ElementType type) {
  co_await enter();
  progress_ = {};
  if (size_ == 1) {
    const Extent own = blocks(0);
    if (input + own.offset == output || own.bytes == 0) co_return;
    if (completions_ == nullptr) {
      completions_ = &rank_.processor->create_completion_queue("the copy engine, queue");
    }
    rank_.accelerator.copy(0, input + own.offset, output, own.bytes, *completions_, 0);
    co_await completions_->next();
    co_return;
  }
  std::uint64_t bytes = 0;
  for (int i = 0; i < size_; ++i) bytes += blocks(i).bytes;
  const bool is_short = static_cast<std::int64_t>(bytes) <= config_.low_latency_limit.count();
  co_await meet();
  firmware::GroupQueuePair& tree = is_short ? low_latency_ : streaming_;
  const std::uint64_t met = progress_.reduced;
  const std::uint64_t all = rounds(blocks);
  for (std::uint64_t round = 0; round < all; ++round) post_round(tree, round, input, output, blocks, type);
  // An empty one at the end: results come in order, so that it tells when all operands have left.
  tree.reduce(0, 0, 0, type);
  const std::uint64_t due = Chunks{blocks(position_), chunk_}.count() + 1;
  co_await until([this, met, due] { return progress_.reduced == met + due; });
}

Task InNetworkMember::allgather(std::uint64_t buffer, const BlockMap& blocks) {
  co_await enter();
  if (size_ == 1) co_return;
  progress_ = {};
  std::uint64_t coming = 0;
  for (int i = 0; i < size_; ++i) {
    if (i != position_) coming += Chunks{blocks(i), chunk_}.count();
  }
  if (coming > 0) multicast_.receive(static_cast<std::uint32_t>(coming));
  co_await meet();
  const Chunks own{blocks(position_), chunk_};
  for (std::uint64_t i = 0; i < own.count(); ++i) {
    multicast_.multicast(buffer + own[i].offset, buffer + own[i].offset, own[i].bytes, 0, i + 1 == own.count());
  }
  co_await until([this, coming, sent = own.count() > 0 ? 1U : 0U] {
    return progress_.arrived == coming && progress_.sent == sent;
  });
}

Task InNetworkMember::broadcast(int root, std::uint64_t buffer, std::uint64_t bytes) {
  co_await enter();
  if (size_ == 1) co_return;
  progress_ = {};
  const Chunks chunks{{0, bytes}, chunk_};
  const std::uint64_t count = chunks.count();
  if (position_ != root && count > 0) multicast_.receive(static_cast<std::uint32_t>(count));
  co_await meet();
  if (position_ == root) {
    for (std::uint64_t i = 0; i < count; ++i) {
      multicast_.multicast(buffer + chunks[i].offset, buffer + chunks[i].offset, chunks[i].bytes, 0, i + 1 == count);
    }
    co_await until([this, count] { return progress_.sent == (count > 0 ? 1U : 0U); });
  } else {
    co_await until([this, count] { return progress_.arrived == count; });
  }
}

}  // namespace weft::collectives
