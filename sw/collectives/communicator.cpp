// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/communicator.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "sw/collectives/followed.h"
#include "sw/collectives/hierarchical.h"
#include "sw/collectives/nodes.h"
#include "sw/collectives/ring/ring_group.h"

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

/// NCCL's steps of NVLSTree (computeColl() of its enqueue.cc, version 2.18): a chunk for each of `parts`, channels and
/// members of a node, which shortens with the buffer. Channels share the links and so keep step with each other.
TwoLevel::PieceCount nvls_steps(std::uint64_t parts) {
  return [parts](std::uint64_t bytes) {
    std::uint64_t chunk = 512 << 10;
    for (const std::uint64_t steps : {32U, 16U, 4U, 1U}) {
      if (bytes < steps * parts * chunk) chunk /= 2;
    }
    return std::max<std::uint64_t>(bytes / (parts * chunk), 1);
  };
}

RingMember::Options ring_options(const Communicator::Config& config) {
  return {static_cast<std::uint64_t>(config.chunk.count()), config.slots, config.queue_pairs};
}

}  // namespace

Communicator::Communicator(std::vector<Rank*> ranks, const Config& config, std::string name)
    : ranks_(std::move(ranks)), config_(config), name_(std::move(name)) {
  const Nodes nodes(ranks_);
  channels_ = config.channels != 0 ? config.channels : nodes.per_node() > 1 ? 8 : 4;
  // Ranks may be members of other groups, each of its own, which have staging memory as well.
  firmware::align_memory(ranks_);
  for (Rank* rank : ranks_) token_.push_back(rank->memory.allocate("barrier", 4 * ranks_.size()));
  nccl_ = able_ = nccl_group();
  nccl_.nvls &= config_.nccl.nvls;
  nccl_.collnet &= config_.nccl.collnet;
  nccl_.pat &= config_.nccl.pat;
  group_ = make(config.algorithm);
  if (config.broadcast.algorithm != BroadcastAlgorithm::kAutomatic) {
    broadcast_ = std::make_unique<TreeBroadcast>(ranks_, config.broadcast,
                                                 name_ + " " + std::string(name_of(config.broadcast.algorithm)));
  }
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
    follow(ranks_.front()->followed, Followed::kFull);
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
  NcclGroup group{size(), nodes.count(), channels_, rank.scale_up.rate, rank.scale_out.rate * ports, flags};
  const auto sum = [this](const std::vector<int>& members) {
    return InNetworkGroup::can_reduce(pick(ranks_, members)) && InNetworkGroup::can_receive(pick(ranks_, members));
  };
  const bool even = config_.algorithm == Algorithm::kNccl && nodes.even();
  group.pat = even && nodes.per_node() == 1;
  // Of two GPUs NCCL has no NVLS (ncclNvlsInit() of its src/transport/nvls.cc, version 2.22).
  group.nvls = even && nodes.per_node() > 2 && sum(nodes.row(0));
  group.collnet = even && nodes.count() > 1 && sum(nodes.column(0));
  return group;
}

TwoLevel::Options Communicator::two_level_options() const {
  const auto pieces = [rank = ranks_.front(), piece = static_cast<std::uint64_t>(config_.piece.count()),
                       most = static_cast<std::uint64_t>(config_.pieces)](std::uint64_t bytes) {
    follow(rank->followed, Followed::kPieces);
    return std::clamp<std::uint64_t>(bytes / piece, 1, most);
  };
  return {config_.in_network, true, TwoLevel::Across::kSwitches, channels_, ring_options(config_), pieces};
}

NcclWay Communicator::way(const NcclGroup& group, Algorithm algorithm, NcclCollective what, std::uint64_t bytes) {
  if (group.members == 1) return {};
  if (algorithm == Algorithm::kNccl) return nccl_way(group, what, bytes);
  const bool trees = algorithm == Algorithm::kTree && what == NcclCollective::kAllReduce;
  return {trees ? NcclAlgorithm::kTree : NcclAlgorithm::kRing, group.flags.value_or(Flags::kNone)};
}

std::unique_ptr<Group> Communicator::in_network() const {
  const Nodes nodes(ranks_);
  if (nodes.count() > 1 && nodes.per_node() > 1) return TwoLevel::join(ranks_, two_level_options(), name_);
  auto group = InNetworkGroup::join(ranks_, config_.in_network, name_);
  if (group != nullptr) group->allocate_scratch(name_);
  return group;
}

std::string_view Communicator::algorithm_of(dimensions::Operation what, std::uint64_t bytes) const {
  using dimensions::Operation;
  if (what == Operation::kAllgather && multicast_ != nullptr) return name_of(Algorithm::kMulticast);
  if (what != Operation::kAllToAll) {
    const auto kind = what == Operation::kAllReduce ? NcclCollective::kAllReduce : NcclCollective::kBlocks;
    const NcclAlgorithm how = way(nccl_, config_.algorithm, kind, bytes).algorithm;
    if (how != NcclAlgorithm::kRing) return name_of(how);
  }
  return name_of(group_algorithm_);
}

std::string_view Communicator::algorithm_of(Rooted what) const {
  if (what == Rooted::kBroadcast && broadcast_ != nullptr) return name_of(config_.broadcast.algorithm);
  return name_of(what == Rooted::kBroadcast && multicast_ != nullptr ? Algorithm::kMulticast : group_algorithm_);
}

std::string_view Communicator::algorithm_of_barrier() const {
  if (multicast_ != nullptr) return name_of(Algorithm::kMulticast);
  return algorithm_of(dimensions::Operation::kAllReduce, 4 * ranks_.size());
}

void Communicator::note(std::string_view what, std::string_view runs) {
  // A full network has its own remark.
  if (runs == name_of(config_.algorithm) || config_.algorithm == Algorithm::kNccl || !remark_.empty() || size() == 1)
    return;
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
    text += fmt::format("{}{} by {}: {} {}", text.empty() ? "" : "; ", fmt::join(names, " and "), algorithm,
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

std::optional<MulticastPhases> Communicator::multicast_phases(int member) const {
  if (multicast_ == nullptr || size() == 1) return std::nullopt;
  return multicast_->phases(member);
}

Task Communicator::allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule) {
  note("all_gather", algorithm_of(dimensions::Operation::kAllgather, bytes));
  co_await enter(member);
  if (goes_by_pat(member, bytes)) {
    co_await pat().allgather(member, buffer, bytes, granule);
    co_return;
  }
  co_await group_->allgather(member, buffer, even_blocks({0, bytes}, size(), granule), granule);
}

Task Communicator::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                  ElementType type) {
  note("reduce_scatter", algorithm_of(dimensions::Operation::kReduceScatter, bytes));
  co_await enter(member);
  if (goes_by_pat(member, bytes)) {
    co_await pat().reduce_scatter(member, input, output, bytes, type);
    co_return;
  }
  co_await group_->reduce_scatter(member, input, output, even_blocks({0, bytes}, size(), size_of(type)), type);
}

Task Communicator::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  note("all_reduce", algorithm_of(dimensions::Operation::kAllReduce, bytes));
  co_await enter(member);
  co_await sum(member, buffer, bytes, type);
}

void Communicator::follow_nccl(NcclCollective what, NcclWay how, std::uint64_t bytes) {
  std::uint32_t& followed = ranks_.front()->followed;
  if (how.algorithm == NcclAlgorithm::kNvls || how.algorithm == NcclAlgorithm::kNvlsTree) {
    follow(followed, Followed::kNvlsSteps);
  }
  const auto changes = [&](bool NcclGroup::*able) {
    NcclGroup other = nccl_;
    other.*able = able_.*able && !(other.*able);
    return nccl_way(other, what, bytes) != how;
  };
  if (changes(&NcclGroup::nvls)) follow(followed, Followed::kNvls);
  if (changes(&NcclGroup::collnet)) follow(followed, Followed::kCollnet);
  if (changes(&NcclGroup::pat)) follow(followed, Followed::kPat);
}

bool Communicator::goes_by_pat(int member, std::uint64_t bytes) {
  if (!able_.pat || size() == 1) return false;
  const NcclWay how = nccl_way(nccl_, NcclCollective::kBlocks, bytes);
  if (member == 0) follow_nccl(NcclCollective::kBlocks, how, bytes);
  return how.algorithm == NcclAlgorithm::kPat;
}

PatGroup& Communicator::pat() {
  if (pat_ == nullptr) {
    const PatMember::Options options{static_cast<std::uint64_t>(config_.chunk.count()), config_.slots,
                                     config_.queue_pairs};
    pat_ = std::make_unique<PatGroup>(ranks_, channels_, options, name_ + " PAT");
  }
  return *pat_;
}

Task Communicator::sum(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  for (;;) {
    const NcclWay how = way(nccl_, config_.algorithm, NcclCollective::kAllReduce, bytes);
    if (member == 0 && (able_.nvls || able_.collnet)) follow_nccl(NcclCollective::kAllReduce, how, bytes);
    if (how.algorithm == NcclAlgorithm::kTree) {
      co_await trees().all_reduce(member, buffer, bytes, type, how.flags);
      co_return;
    }
    Group* const group = how.algorithm == NcclAlgorithm::kRing ? group_.get() : switches(how.algorithm);
    if (group == nullptr) continue;
    co_await group->all_reduce(member, buffer, bytes, type);
    co_return;
  }
}

TreeGroup& Communicator::trees() {
  if (trees_ == nullptr) {
    const TreeMember::Options options{static_cast<std::uint64_t>(config_.chunk.count()), config_.slots};
    trees_ = std::make_unique<TreeGroup>(ranks_, neighbours(Nodes(ranks_), config_.order, name_), channels_, options,
                                         name_ + " tree");
  }
  return *trees_;
}

Group* Communicator::switches(NcclAlgorithm algorithm) {
  if (switches_ != nullptr) return switches_.get();
  firmware::align_memory(ranks_);
  const std::string name = name_ + " by " + std::string(name_of(algorithm));
  TwoLevel::Options options = two_level_options();
  const Nodes nodes(ranks_);
  if (algorithm == NcclAlgorithm::kCollnet) {
    options.within = false;
  } else {
    options.in_network.all_reduce = AllReducePattern::kReduceMulticast;
    options.in_network.staging.channels = config_.nccl.nvls_channels;
    options.pieces = nvls_steps(static_cast<std::uint64_t>(config_.nccl.nvls_channels * nodes.per_node()));
    if (algorithm == NcclAlgorithm::kNvlsTree) options.across = TwoLevel::Across::kTrees;
  }
  std::string why = "the switches have no room for the reduction trees of " + name;
  try {
    if (nodes.count() > 1 && nodes.per_node() > 1) {
      switches_ = TwoLevel::join(ranks_, options, name);
    } else if (auto group = InNetworkGroup::join(ranks_, options.in_network, name)) {
      group->allocate_scratch(name);
      switches_ = std::move(group);
    }
  } catch (const ConfigError& error) {
    // Nobody has asked for it by name, and the collective is under way.
    why = std::string("the switches cannot sum for ") + name + " (" + error.what() + ")";
  }
  if (switches_ == nullptr) {
    follow(ranks_.front()->followed, Followed::kFull);
    nccl_.nvls = nccl_.collnet = false;
    remark_ = why + ", so that it takes rings or trees";
  }
  return switches_.get();
}

Task Communicator::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  co_await enter(member);
  co_await group_->all_to_all(member, input, output, bytes);
}

Task Communicator::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  if (broadcast_ != nullptr) {
    co_await enter(member);
    co_await broadcast_->broadcast(member, root, buffer, bytes);
    co_return;
  }
  note("broadcast", algorithm_of(Rooted::kBroadcast));
  co_await enter(member);
  co_await group_->broadcast(member, root, buffer, bytes);
}

Task Communicator::rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes,
                          ElementType type) {
  if (what == Rooted::kBroadcast) co_return co_await broadcast(member, root, buffer, bytes);
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
