// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/communicator.h"

#include <algorithm>
#include <map>

namespace weft::collectives {

using firmware::Counter;
using firmware::Rank;
using firmware::Task;

namespace {

Task run_and_count(Task task, Counter& done) {
  co_await task;
  done.increment();
}

}  // namespace

Communicator::Communicator(std::vector<Rank*> ranks, const Config& config, std::string name)
    : ranks_(std::move(ranks)), config_(config), name_(std::move(name)) {
  std::map<int, std::vector<int>> by_node;
  for (int i = 0; i < size(); ++i) by_node[rank(i).node].push_back(i);
  nodes_ = static_cast<int>(by_node.size());
  per_node_ = static_cast<int>(by_node.begin()->second.size());
  const bool uniform = std::all_of(by_node.begin(), by_node.end(), [this](const auto& node) {
    return static_cast<int>(node.second.size()) == per_node_;
  });
  channels_ = config.channels != 0 ? config.channels : per_node_ > 1 ? 8 : 4;
  hierarchical_ = config.algorithm == Algorithm::kHierarchical && nodes_ > 1 && per_node_ > 1;
  if (hierarchical_ && !uniform) {
    throw ConfigError(name_ + ".algorithm", "hierarchical needs the same number of members in every node");
  }

  if (config.algorithm == Algorithm::kInNetwork) {
    switched_ =
        InNetworkMember::join(ranks_, config.in_network, static_cast<std::uint64_t>(config.chunk.count()), name_);
    return;
  }
  for (Rank* rank : ranks_) token_.push_back(rank->memory.allocate("barrier", 4 * ranks_.size()));
  if (!hierarchical_) {
    // Channel c starts each node at local position c, so that rings enter and leave nodes by different interfaces.
    for (int c = 0; c < channels_; ++c) {
      std::vector<int> order;
      for (const auto& [node, members] : by_node) {
        for (std::size_t i = 0; i < members.size(); ++i) {
          order.push_back(members[(i + static_cast<std::size_t>(c)) % members.size()]);
        }
      }
      make_ring(flat_, order, c, name_ + " ring");
    }
    return;
  }
  std::vector<std::vector<int>> grid;
  for (const auto& [node, members] : by_node) grid.push_back(members);
  up_.resize(static_cast<std::size_t>(nodes_));
  out_.resize(static_cast<std::size_t>(per_node_));
  for (int c = 0; c < channels_; ++c) {
    for (int m = 0; m < nodes_; ++m) {
      make_ring(up_[static_cast<std::size_t>(m)], grid[static_cast<std::size_t>(m)], c,
                name_ + " ring within node " + std::to_string(m));
    }
    for (int l = 0; l < per_node_; ++l) {
      std::vector<int> order;
      for (const auto& members : grid) order.push_back(members[static_cast<std::size_t>(l)]);
      make_ring(out_[static_cast<std::size_t>(l)], order, c,
                name_ + " ring across nodes at position " + std::to_string(l));
    }
  }
}

void Communicator::make_ring(Rings& rings, const std::vector<int>& order, int channel, const std::string& name) {
  std::vector<Rank*> members;
  members.reserve(order.size());
  for (const int member : order) members.push_back(&rank(member));
  const RingMember::Options options{static_cast<std::uint64_t>(config_.chunk.count()), config_.slots};
  rings.channels.push_back(RingMember::join(members, options, channel, name + ", channel " + std::to_string(channel)));
  rings.order.push_back(order);
}

RingMember& Communicator::mine(const Rings& rings, int channel, int member) const {
  const auto& order = rings.order[static_cast<std::size_t>(channel)];
  const auto position = std::find(order.begin(), order.end(), member) - order.begin();
  return *rings.channels[static_cast<std::size_t>(channel)][static_cast<std::size_t>(position)];
}

Extent Communicator::channel_block(std::uint64_t bytes, int member, std::uint64_t granule, int channel,
                                   int channels) const {
  return split(block(bytes, member, granule), static_cast<std::uint64_t>(channels), static_cast<std::uint64_t>(channel),
               granule);
}

Task Communicator::fan_out(int member, const char* what, std::vector<Task> tasks) {
  firmware::Processor& processor = *rank(member).processor;
  Counter done(processor, what);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    processor.spawn(name_ + " " + what + " thread " + std::to_string(i), static_cast<int>(i) + 1,
                    run_and_count(std::move(tasks[i]), done));
  }
  co_await done.reach(tasks.size());
}

InNetworkMember::BlockMap Communicator::blocks(std::uint64_t bytes, std::uint64_t granule) const {
  return [this, bytes, granule](int member) { return block(bytes, member, granule); };
}

Task Communicator::allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule) {
  if (!switched_.empty()) {
    co_await switched_[static_cast<std::size_t>(member)]->allgather(buffer, blocks(bytes, granule));
    co_return;
  }
  if (hierarchical_) {
    co_await hierarchical_allgather(member, buffer, bytes, granule);
    co_return;
  }
  std::vector<Task> tasks;
  for (int c = 0; c < channels_; ++c) {
    const auto blocks = [this, c, bytes, granule](int position) {
      return channel_block(bytes, flat_.order[static_cast<std::size_t>(c)][static_cast<std::size_t>(position)], granule,
                           c, channels_);
    };
    tasks.push_back(mine(flat_, c, member).allgather(buffer, blocks, nullptr));
  }
  co_await fan_out(member, "allgather", std::move(tasks));
}

Task Communicator::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                  ElementType type) {
  if (!switched_.empty()) {
    co_await switched_[static_cast<std::size_t>(member)]->reduce_scatter(input, output, blocks(bytes, size_of(type)),
                                                                         type);
    co_return;
  }
  if (hierarchical_) {
    co_await hierarchical_reduce_scatter(member, input, output, bytes, type);
    co_return;
  }
  const std::uint64_t granule = size_of(type);
  const std::uint64_t start = block(bytes, member, granule).offset;
  std::vector<Task> tasks;
  for (int c = 0; c < channels_; ++c) {
    const auto blocks = [this, c, bytes, granule](int position) {
      return channel_block(bytes, flat_.order[static_cast<std::size_t>(c)][static_cast<std::size_t>(position)], granule,
                           c, channels_);
    };
    const std::uint64_t part = channel_block(bytes, member, granule, c, channels_).offset - start;
    tasks.push_back(mine(flat_, c, member).reduce_scatter(input, output + part, blocks, type, nullptr));
  }
  co_await fan_out(member, "reduce-scatter", std::move(tasks));
}

Task Communicator::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  const std::uint64_t granule = size_of(type);
  if (!switched_.empty()) {
    co_await switched_[static_cast<std::size_t>(member)]->all_reduce(buffer, bytes, blocks(bytes, granule), type);
    co_return;
  }
  co_await reduce_scatter(member, buffer, buffer + block(bytes, member, granule).offset, bytes, type);
  co_await allgather(member, buffer, bytes, granule);
}

Task Communicator::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  if (!switched_.empty()) {
    co_await switched_[static_cast<std::size_t>(member)]->broadcast(root, buffer, bytes);
    co_return;
  }
  std::vector<Task> tasks;
  for (int c = 0; c < channels_; ++c) {
    const Extent part = split({0, bytes}, static_cast<std::uint64_t>(channels_), static_cast<std::uint64_t>(c), 1);
    const auto& order = flat_.order[static_cast<std::size_t>(c)];
    const int from = static_cast<int>(std::find(order.begin(), order.end(), root) - order.begin());
    tasks.push_back(mine(flat_, c, member).broadcast(buffer, part, from));
  }
  co_await fan_out(member, "broadcast", std::move(tasks));
}

Task Communicator::barrier(int member) {
  if (!switched_.empty()) {
    co_await switched_[static_cast<std::size_t>(member)]->barrier();
    co_return;
  }
  // Nobody has all the sums before everybody has sent an addend.
  co_await all_reduce(member, token_[static_cast<std::size_t>(member)], 4 * ranks_.size(), ElementType::kInt32);
}

namespace {

/// Allgather within a node of each node block as it comes: the first is there, the others are counted by channel.
Task gather_within(RingMember& ring, std::uint64_t buffer, int nodes, std::function<Extent(int, int)> blocks,
                   std::vector<std::unique_ptr<Counter>>& got) {
  for (int turn = 0; turn < nodes; ++turn) {
    for (auto& counter : got) co_await counter->reach(static_cast<std::uint64_t>(turn));
    co_await ring.allgather(
        buffer, [&blocks, turn](int position) { return blocks(turn, position); }, nullptr);
  }
}

/// ReduceScatter within a node of each node block, in place; the last channel to finish a block counts it.
Task reduce_within(RingMember& ring, std::uint64_t input, int nodes, std::function<Extent(int, int)> blocks,
                   ElementType type, std::vector<int>& open, Counter& ready) {
  for (int turn = 0; turn < nodes; ++turn) {
    const std::uint64_t output = input + blocks(turn, ring.position()).offset;
    co_await ring.reduce_scatter(
        input, output, [&blocks, turn](int position) { return blocks(turn, position); }, type, nullptr);
    if (--open[static_cast<std::size_t>(turn)] == 0) ready.increment();
  }
}

}  // namespace

std::pair<std::size_t, std::size_t> Communicator::place(int member) const {
  for (std::size_t row = 0; row < up_.size(); ++row) {
    const auto& members = up_[row].order[0];
    const auto found = std::find(members.begin(), members.end(), member);
    if (found != members.end()) return {row, static_cast<std::size_t>(found - members.begin())};
  }
  return {0, 0};  // every member has a place
}

Task Communicator::hierarchical_allgather(int member, std::uint64_t buffer, std::uint64_t bytes,
                                          std::uint64_t granule) {
  const std::size_t row = place(member).first;
  const std::size_t column = place(member).second;
  firmware::Processor& processor = *rank(member).processor;
  std::vector<std::unique_ptr<Counter>> got;
  std::vector<Task> tasks;
  for (int c = 0; c < channels_; ++c) {
    got.push_back(std::make_unique<Counter>(processor, "a node block from across nodes"));
    const auto blocks = [this, c, column, bytes, granule](int position) {
      const int owner = out_[column].order[static_cast<std::size_t>(c)][static_cast<std::size_t>(position)];
      return channel_block(bytes, owner, granule, c, channels_);
    };
    tasks.push_back(mine(out_[column], c, member).allgather(buffer, blocks, got.back().get()));
  }
  for (int c = 0; c < channels_; ++c) {
    const auto blocks = [this, c, row, bytes, granule](int turn, int position) {
      const std::size_t from = (row + static_cast<std::size_t>(nodes_ - turn)) % static_cast<std::size_t>(nodes_);
      const int owner = up_[from].order[static_cast<std::size_t>(c)][static_cast<std::size_t>(position)];
      return channel_block(bytes, owner, granule, c, channels_);
    };
    tasks.push_back(gather_within(mine(up_[row], c, member), buffer, nodes_, blocks, got));
  }
  co_await fan_out(member, "hierarchical allgather", std::move(tasks));
}

Task Communicator::hierarchical_reduce_scatter(int member, std::uint64_t input, std::uint64_t output,
                                               std::uint64_t bytes, ElementType type) {
  const std::uint64_t granule = size_of(type);
  const std::size_t row = place(member).first;
  const std::size_t column = place(member).second;
  firmware::Processor& processor = *rank(member).processor;
  Counter ready(processor, "a node block summed within the node");
  std::vector<int> open(static_cast<std::size_t>(nodes_), channels_);
  const std::uint64_t start = block(bytes, member, granule).offset;
  std::vector<Task> tasks;
  for (int c = 0; c < channels_; ++c) {
    // The order in which the ring across nodes sends: the previous node's block first, the own one last.
    const auto blocks = [this, c, row, bytes, granule](int turn, int position) {
      const std::size_t from =
          (row + static_cast<std::size_t>(2 * nodes_ - 1 - turn)) % static_cast<std::size_t>(nodes_);
      const int owner = up_[from].order[static_cast<std::size_t>(c)][static_cast<std::size_t>(position)];
      return channel_block(bytes, owner, granule, c, channels_);
    };
    tasks.push_back(reduce_within(mine(up_[row], c, member), input, nodes_, blocks, type, open, ready));
  }
  for (int c = 0; c < channels_; ++c) {
    const auto blocks = [this, c, column, bytes, granule](int position) {
      const int owner = out_[column].order[static_cast<std::size_t>(c)][static_cast<std::size_t>(position)];
      return channel_block(bytes, owner, granule, c, channels_);
    };
    const std::uint64_t part = channel_block(bytes, member, granule, c, channels_).offset - start;
    tasks.push_back(mine(out_[column], c, member).reduce_scatter(input, output + part, blocks, type, &ready));
  }
  co_await fan_out(member, "hierarchical reduce-scatter", std::move(tasks));
}

}  // namespace weft::collectives
