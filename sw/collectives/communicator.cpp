// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/communicator.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "sw/collectives/hierarchical.h"
#include "sw/collectives/nodes.h"
#include "sw/collectives/ring_group.h"
#include "sw/collectives/two_level.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

/// Members that a ring passes one after the other: of a node, or of as many neighbours as `order` has.
std::vector<std::vector<int>> neighbours(const Nodes& nodes, const std::vector<int>& order, const std::string& name) {
  if (order.empty()) return nodes.rows();
  std::vector<bool> named(order.size());
  for (const int position : order) {
    const auto at = static_cast<std::size_t>(position);
    if (at >= named.size() || named[at]) {
      throw ConfigError("collectives.order", fmt::format("expected each of the positions 0 to {} once, got {}",
                                                         order.size() - 1, fmt::join(order, ", ")));
    }
    named[at] = true;
  }
  std::vector<int> members;
  for (const std::vector<int>& row : nodes.rows()) members.insert(members.end(), row.begin(), row.end());
  if (members.size() % order.size() != 0) {
    throw ConfigError("collectives.order",
                      fmt::format("expected as many positions as divide the {} members of {}, got {}", members.size(),
                                  name, order.size()));
  }
  std::vector<std::vector<int>> rows;
  for (std::size_t first = 0; first < members.size(); first += order.size()) {
    auto& row = rows.emplace_back();
    for (const int position : order) row.push_back(members[first + static_cast<std::size_t>(position)]);
  }
  return rows;
}

/// One ring through all for each channel, row after row. Channel c starts each row at position c, so that rings enter
/// and leave nodes by different interfaces.
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

RingMember::Options ring_options(const Communicator::Config& config) {
  return {static_cast<std::uint64_t>(config.chunk.count()), config.slots, config.queue_pairs};
}

}  // namespace

Communicator::Communicator(std::vector<Rank*> ranks, const Config& config, std::string name)
    : ranks_(std::move(ranks)), config_(config), name_(std::move(name)) {
  const Nodes nodes(ranks_);
  channels_ = config.channels != 0 ? config.channels : nodes.per_node() > 1 ? 8 : 4;
  for (Rank* rank : ranks_) token_.push_back(rank->memory.allocate("barrier", 4 * ranks_.size()));
  nccl_ = nccl_group();
  group_ = make(config.algorithm);
}

std::unique_ptr<Group> Communicator::make(Algorithm algorithm) {
  if (algorithm == Algorithm::kMulticast) {
    auto sums = make(config_.multicast.sums == MulticastSums::kInNetwork ? Algorithm::kInNetwork : Algorithm::kRing);
    auto group = std::make_unique<MulticastGroup>(ranks_, config_.multicast, std::move(sums), name_ + " multicast");
    multicast_ = group.get();
    return group;
  }
  if (algorithm == Algorithm::kInNetwork) {
    auto group = in_network();
    if (group != nullptr) {
      group_algorithm_ = Algorithm::kInNetwork;
      return group;
    }
    const std::string full = "the switches have no room for the reduction trees of " + name_;
    if (config_.in_network.when_full == WhenFull::kRefuse) {
      throw ConfigError("collectives.algorithm", full +
                                                     ": expected more reduction.trees or reduction.chunks, a smaller "
                                                     "collectives.in_network.window, or when_full ring");
    }
    remark_ = full + ", so that it runs in rings";
  }
  if (algorithm == Algorithm::kDimensions) {
    group_algorithm_ = Algorithm::kDimensions;
    return std::make_unique<DimensionGroup>(ranks_, config_.dimensions, name_);
  }
  const Nodes nodes(ranks_);
  if (algorithm == Algorithm::kHierarchical && nodes.count() > 1 && nodes.per_node() > 1) {
    has_broadcast_ = false;
    group_algorithm_ = Algorithm::kHierarchical;
    return std::make_unique<Hierarchical>(ranks_, channels_, ring_options(config_), name_);
  }
  return rings();
}

std::unique_ptr<Group> Communicator::rings() const {
  const std::vector<std::vector<int>> rows = neighbours(Nodes(ranks_), config_.order, name_);
  const RingGroup::Choice choice = [group = nccl_, algorithm = config_.algorithm](NcclCollective what,
                                                                                  std::uint64_t bytes) {
    return way(group, algorithm, what, bytes).flags;
  };
  return std::make_unique<RingGroup>(ranks_, ring_orders(rows, channels_), ring_options(config_), name_ + " ring",
                                     choice);
}

NcclGroup Communicator::nccl_group() const {
  const Nodes nodes(ranks_);
  const Rank& rank = *ranks_.front();
  const std::int64_t ports = std::min(nodes.per_node(), channels_);
  std::optional<Flags> flags;
  if (config_.protocol == Protocol::kSimple) flags = Flags::kNone;
  if (config_.protocol == Protocol::kLl) flags = Flags::kWords;
  if (config_.protocol == Protocol::kLl128) flags = Flags::kLines;
  return {size(), nodes.count(), channels_, rank.scale_up.rate, rank.scale_out.rate * ports, flags};
}

NcclWay Communicator::way(const NcclGroup& group, Algorithm algorithm, NcclCollective what, std::uint64_t bytes) {
  if (group.members == 1) return {};
  if (algorithm == Algorithm::kNccl) return nccl_way(group, what, bytes);
  return {algorithm == Algorithm::kTree && what == NcclCollective::kAllReduce, group.flags.value_or(Flags::kNone)};
}

std::unique_ptr<Group> Communicator::in_network() const {
  const Nodes nodes(ranks_);
  if (nodes.count() > 1 && nodes.per_node() > 1) return two_level();
  auto group = InNetworkGroup::join(ranks_, config_.in_network, name_);
  if (group != nullptr) group->allocate_scratch(name_);
  return group;
}

std::unique_ptr<Group> Communicator::two_level() const {
  const Nodes nodes(ranks_);
  if (!nodes.even()) {
    throw ConfigError("collectives.algorithm",
                      name_ + ": in-network needs the same number of members in every node; expected ring");
  }
  TwoLevel::Levels levels;
  // Trees before rings: what fails here must not leave staging memory in some ranks.
  bool full = false;
  bool reduces = false;
  const auto join = [&](std::vector<std::unique_ptr<Group>>& level, const std::vector<int>& members,
                        const std::string& what) {
    const std::vector<Rank*> some = pick(ranks_, members);
    std::unique_ptr<InNetworkGroup> group;
    if (InNetworkGroup::can_reduce(some)) {
      reduces = true;
      // The levels' own buffers lie where the network reaches them.
      InNetworkMember::Config config = config_.in_network;
      config.staging.channels = 0;
      group = InNetworkGroup::join(some, config, what);
      full = full || group == nullptr;
    }
    level.push_back(std::move(group));
  };
  for (int n = 0; n < nodes.count(); ++n) {
    const std::string within = name_ + " within node " + std::to_string(n);
    join(levels.outward, nodes.row(n), within);
    join(levels.inward, nodes.row(n), within);
  }
  for (int l = 0; l < nodes.per_node(); ++l) {
    join(levels.across, nodes.column(l), name_ + " across nodes at position " + std::to_string(l));
  }
  if (!reduces) {
    throw ConfigError("collectives.algorithm",
                      "expected switches that reduce for in-network: reduction.trees is 0 in both networks");
  }
  if (full) {
    for (auto* level : {&levels.outward, &levels.inward, &levels.across}) {
      for (auto& group : *level) {
        if (group != nullptr) static_cast<InNetworkGroup&>(*group).leave();
      }
    }
    return nullptr;
  }
  for (auto* level : {&levels.outward, &levels.inward, &levels.across}) {
    for (auto& group : *level) {
      if (group != nullptr) static_cast<InNetworkGroup&>(*group).allocate_scratch(name_);
    }
  }
  const auto fill = [&](std::unique_ptr<Group>& group, const std::vector<int>& members, const std::string& what) {
    if (group != nullptr) return;
    const std::vector<Rank*> some = pick(ranks_, members);
    group = std::make_unique<RingGroup>(some, ring_orders(Nodes(some).rows(), channels_), ring_options(config_), what);
  };
  for (int n = 0; n < nodes.count(); ++n) {
    fill(levels.outward[static_cast<std::size_t>(n)], nodes.row(n), name_ + " out of node " + std::to_string(n));
    fill(levels.inward[static_cast<std::size_t>(n)], nodes.row(n), name_ + " into node " + std::to_string(n));
  }
  for (int l = 0; l < nodes.per_node(); ++l) {
    fill(levels.across[static_cast<std::size_t>(l)], nodes.column(l), name_ + " across nodes");
  }
  return std::make_unique<TwoLevel>(ranks_, std::move(levels), static_cast<std::uint64_t>(config_.piece.count()),
                                    config_.pieces, name_);
}

Algorithm Communicator::algorithm_of(dimensions::Operation what, std::uint64_t bytes) const {
  using dimensions::Operation;
  if (what == Operation::kAllgather && multicast_ != nullptr) return Algorithm::kMulticast;
  const bool trees =
      what == Operation::kAllReduce && way(nccl_, config_.algorithm, NcclCollective::kAllReduce, bytes).trees;
  return trees ? Algorithm::kTree : group_algorithm_;
}

Algorithm Communicator::algorithm_of(Rooted what) const {
  return what == Rooted::kBroadcast && multicast_ != nullptr ? Algorithm::kMulticast : group_algorithm_;
}

Algorithm Communicator::algorithm_of_barrier() const {
  if (multicast_ != nullptr) return Algorithm::kMulticast;
  return algorithm_of(dimensions::Operation::kAllReduce, 4 * ranks_.size());
}

void Communicator::note(std::string_view what, Algorithm runs) {
  // A full network has its own remark.
  if (runs == config_.algorithm || config_.algorithm == Algorithm::kNccl || !remark_.empty() || size() == 1) return;
  replaced_[runs].insert(what);
}

std::string Communicator::remark() const {
  std::string text = remark_;
  for (const auto& [algorithm, names] : replaced_) {
    const char* why = "has no such collective";
    if (config_.algorithm == Algorithm::kTree) why = "has AllReduces alone";
    if (config_.algorithm == Algorithm::kMulticast)
      why = "distributes, and collectives.multicast.sums says how sums are made";
    if (config_.algorithm == Algorithm::kHierarchical) why = "needs several nodes of several accelerators each";
    text += fmt::format("{}{} by {}: {} {}", text.empty() ? "" : "; ", fmt::join(names, " and "), name_of(algorithm),
                        name_of(config_.algorithm), why);
  }
  return text;
}

std::optional<MulticastCounters> Communicator::multicast_counters() const {
  if (multicast_ == nullptr) return std::nullopt;
  MulticastCounters sum;
  for (int i = 0; size() > 1 && i < size(); ++i) sum.add(multicast_->counters(i));
  return sum;
}

Task Communicator::allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule) {
  note("all_gather", algorithm_of(dimensions::Operation::kAllgather, bytes));
  co_await enter(member);
  co_await group_->allgather(member, buffer, even_blocks({0, bytes}, size(), granule), granule);
}

Task Communicator::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                  ElementType type) {
  note("reduce_scatter", algorithm_of(dimensions::Operation::kReduceScatter, bytes));
  co_await enter(member);
  co_await group_->reduce_scatter(member, input, output, even_blocks({0, bytes}, size(), size_of(type)), type);
}

Task Communicator::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  note("all_reduce", algorithm_of(dimensions::Operation::kAllReduce, bytes));
  co_await enter(member);
  co_await sum(member, buffer, bytes, type);
}

Task Communicator::sum(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  const NcclWay how = way(nccl_, config_.algorithm, NcclCollective::kAllReduce, bytes);
  if (!how.trees) {
    co_await group_->all_reduce(member, buffer, bytes, type);
    co_return;
  }
  if (trees_ == nullptr) {
    const TreeMember::Options options{static_cast<std::uint64_t>(config_.chunk.count()), config_.slots};
    trees_ = std::make_unique<TreeGroup>(ranks_, neighbours(Nodes(ranks_), config_.order, name_), channels_, options,
                                         name_ + " tree");
  }
  co_await trees_->all_reduce(member, buffer, bytes, type, how.flags);
}

Task Communicator::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  co_await enter(member);
  co_await group_->all_to_all(member, input, output, bytes);
}

Task Communicator::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  note("broadcast", algorithm_of(Rooted::kBroadcast));
  co_await enter(member);
  co_await group_->broadcast(member, root, buffer, bytes);
}

Task Communicator::rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes,
                          ElementType type) {
  note(name_of(what), algorithm_of(what));
  co_await enter(member);
  co_await group_->rooted(member, what, root, buffer, bytes, type);
}

Task Communicator::barrier(int member) {
  co_await enter(member);
  const std::uint64_t token = token_[static_cast<std::size_t>(member)];
  if (config_.algorithm == Algorithm::kTree || config_.algorithm == Algorithm::kNccl) {
    co_await sum(member, token, 4 * ranks_.size(), ElementType::kInt32);
  } else {
    co_await group_->barrier(member, token);
  }
}

}  // namespace weft::collectives
