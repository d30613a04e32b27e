// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/collectives.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "sw/dimensions/themis.h"

namespace weft::analytical {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;  // what a double counts exactly

std::string key_of(Operation operation) {
  std::string key(name_of(operation));
  std::replace(key.begin(), key.end(), '_', '-');
  return key + "-implementation";
}

}  // namespace

Collectives::Collectives(Network& network, const CollectiveConfig& config, Listener& listener, const BusConfig& bus)
    : network_(network),
      agenda_(network.agenda()),
      actor_(agenda_.add(*this)),
      config_(config),
      listener_(listener),
      active_((config.active_chunks + config.queues - 1) / config.queues),
      ranks_(network.ends()) {
  config_.as_astra_sim = true;
  if (!(config.memory_bytes_per_ns > 0))
    throw ConfigError("analytical.end.memory_GBps", "expected a number, more than 0");
  std::uint32_t stride = 1;
  for (const Dimension& dimension : network.dimensions()) {
    sizes_.push_back(dimension.size);
    strides_.push_back(stride);
    stride *= dimension.size;
  }
  for (Rank& rank : ranks_) {
    rank.queues.resize(sizes_.size() * static_cast<std::size_t>(config_.queues));
    rank.given.resize(sizes_.size());
  }
  for (const std::vector<Algorithm>& algorithms : config.algorithms) {
    if (algorithms.empty() || std::none_of(algorithms.begin() + 1, algorithms.end(), dimensions::joins_dimensions))
      continue;
    throw ConfigError("analytical.dimensions", "expected oneRing, oneDirect, oneHalvingDoubling only in the first one");
  }
  if (bus.modelled) buses_ = std::make_unique<MemoryBuses>(agenda_, bus, network.ends(), static_cast<BusUser&>(*this));
}

Collectives::~Collectives() = default;

void Collectives::check(const Plan& plan) const {
  for (const Phase& phase : plan.orders.front()) {  // the others have the same ones in another order
    if (phase.algorithm > Algorithm::kDoubleBinaryTree) {
      throw ConfigError("analytical.dimensions",
                        "expected ring, direct, halvingDoubling or doubleBinaryTree, which ASTRA-sim has");
    }
    const bool tree = phase.algorithm == Algorithm::kDoubleBinaryTree;
    if ((tree || phase.algorithm == Algorithm::kHalvingDoubling) && !std::has_single_bit(phase.members)) {
      throw ConfigError("collectives",
                        "expected a power of two of members for halvingDoubling and doubleBinaryTree, "
                        "got " +
                            std::to_string(phase.members));
    }
    const bool reduces_all = phase.operation == Operation::kAllReduce;
    if (tree && !reduces_all)
      throw ConfigError("analytical.dimensions", "expected doubleBinaryTree only for an AllReduce");
    if (phase.algorithm == Algorithm::kHalvingDoubling && phase.operation == Operation::kAllToAll) {
      throw ConfigError("analytical.dimensions", "expected ring or direct for an AllToAll, got halvingDoubling");
    }
  }
}

/// With the algorithm that a listed group has, which is one dimension: that of the first one if it is the only one that
/// has one, else a ring.
CollectiveConfig Collectives::config_of(const Group& group, Operation operation) const {
  CollectiveConfig config = config_;
  if (group.members.empty()) return config;
  std::vector<Algorithm>& algorithms = config.algorithms[static_cast<std::size_t>(operation)];
  const auto missing = [](Algorithm algorithm) { return algorithm == Algorithm::kNone; };
  if (!std::all_of(algorithms.begin() + 1, algorithms.end(), missing)) algorithms.front() = Algorithm::kRing;
  return config;
}

Collectives::Planned Collectives::plan_of(const Group& group, Operation operation, std::int64_t bytes,
                                          std::uint32_t involved) const {
  const bool all = group.members.empty();
  const CollectiveConfig config = config_of(group, operation);
  const std::vector<Algorithm>& algorithms = config.algorithms[static_cast<std::size_t>(operation)];
  const auto missing = [](Algorithm algorithm) { return algorithm == Algorithm::kNone; };
  if (std::all_of(algorithms.begin(), algorithms.end(), missing)) {
    throw ConfigError("analytical.dimensions.0." + std::string(name_of(operation)),
                      "expected the algorithm of a collective that is in the traces (" + key_of(operation) +
                          " in ASTRA-sim's system file), got none");
  }
  const std::int64_t most = kMostBytes / (operation == Operation::kAllgather ? network_.ends() : 1);
  if (bytes > most || config.splits > most / network_.ends()) {
    throw ConfigError("workload.traces", "expected collectives of at most 2^53 bytes in all, got " +
                                             std::string(name_of(operation)) + " of " + std::to_string(bytes));
  }
  std::vector<dimensions::DimensionCost> costs;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    costs.push_back(
        {network_.latency(i) + config_.endpoint_delay, network_.bytes_per_ns(i), config_.memory_bytes_per_ns});
  }
  std::vector<std::uint32_t> sizes = sizes_;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if ((involved >> i & 1) == 0 || missing(algorithms[i])) sizes[i] = 1;
  }
  std::uint32_t joined = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) joined |= sizes[i] > 1 ? 1U << i : 0;
  const bool joins_all = !all || config_.joins_dimensions(operation) || members_of(group, joined) == network_.ends();
  if (joins_all) joined = kAllDimensions;
  if (all && config_.joins_dimensions(operation)) sizes = {network_.ends()};
  if (!all) sizes = {static_cast<std::uint32_t>(group.members.size())};
  auto plan =
      std::make_shared<Plan>(dimensions::schedule_collective(config, operation, bytes, sizes, network_.ends(), costs));
  const bool circles = network_.congestion() == Congestion::kCutThrough && plan->orders.front().size() > 1;
  if (circles && plan->turns.empty()) dimensions::predict_turns(config, costs, *plan);
  if (!plan->turns.empty() && config_.queues > 1) {
    throw ConfigError("analytical.collectives.queues", "expected 1 where the chunks of a collective take turns");
  }
  check(*plan);
  return {std::move(plan), joined};
}

std::uint32_t Collectives::first_rank(std::uint32_t rank, std::uint32_t involved) const {
  if (involved == kAllDimensions) return 0;
  std::uint32_t first = rank;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if ((involved >> i & 1) != 0) first -= rank / strides_[i] % sizes_[i] * strides_[i];
  }
  return first;
}

std::uint32_t Collectives::members_of(const Group& group, std::uint32_t involved) const {
  if (!group.members.empty()) return static_cast<std::uint32_t>(group.members.size());
  if (involved == kAllDimensions) return network_.ends();
  std::uint32_t members = 1;
  for (std::size_t i = 0; i < sizes_.size(); ++i) members *= (involved >> i & 1) != 0 ? sizes_[i] : 1;
  return members;
}

void Collectives::agree(const Group& group, std::uint32_t first_chunk, const Entered& mine) {
  if (mine.left == 1) return;
  Round& round = rounds_[{group.id, first_chunk}];
  const auto key = [&](std::uint32_t involved) {
    return EnteredKey(group.id, first_chunk, involved, first_rank(mine.rank, involved));
  };
  const auto differ = [&](const Entered& first) {
    if (mismatch_) return;
    mismatch_ = {group.id, first.number, member(first), member(mine)};
  };
  for (const std::uint32_t involved : round.involved) {
    const auto other = involved != mine.involved ? entered_.find(key(involved)) : entered_.end();
    if (other != entered_.end()) differ(other->second);
  }
  const auto [found, is_first] = entered_.try_emplace(key(mine.involved), mine);
  Entered& first = found->second;
  if (is_first) {
    ++round.open;
    const bool is_known =
        std::find(round.involved.begin(), round.involved.end(), mine.involved) != round.involved.end();
    if (!is_known) round.involved.push_back(mine.involved);
  }
  if (first.operation != mine.operation || first.bytes != mine.bytes || first.chunks != mine.chunks) differ(first);
  had_other_count_ |= group.id == kEverybody && first.before != mine.before;
  if (--first.left > 0) return;
  entered_.erase(found);
  if (--round.open == 0) rounds_.erase({group.id, first_chunk});
}

Collectives::Membership& Collectives::membership(std::uint32_t rank, const Group& group) {
  std::vector<Membership>& all = ranks_[rank].groups;
  for (Membership& each : all) {
    if (each.group->id == group.id) return each;
  }
  const Group& known = groups_.try_emplace(group.id, group).first->second;
  const auto at = std::find(known.members.begin(), known.members.end(), rank);
  all.push_back({&known, static_cast<std::uint32_t>(at - known.members.begin())});
  return all.back();
}

void Collectives::enter(Time now, std::uint32_t rank, const Group& group, Operation operation, std::int64_t bytes,
                        std::int64_t priority, std::uint64_t token, std::uint32_t involved, std::uint64_t node,
                        std::string_view name) {
  Membership& mine = membership(rank, group);
  Planned& planned = plans_[{group.id, operation, bytes, involved}];
  if (planned.plan == nullptr) planned = plan_of(group, operation, bytes, involved);
  const std::shared_ptr<const Plan>& plan = planned.plan;
  const std::uint64_t collective = mine.collectives++;
  Rank& entering = ranks_[rank];
  agree(group, mine.chunks,
        {name.empty() ? name_of(operation) : name, operation, bytes, plan->chunks, rank,
         members_of(group, planned.involved), node, entering.chunks, collective, planned.involved});
  const std::uint32_t number = tasks_.take();
  Task& task = tasks_[number];
  task = {plan, number, rank, mine.chunks, planned.involved, entering.entered, plan->chunks, token, {}};
  if (config_.scheduling == Scheduling::kFifo) task.priority = -entering.entered;
  if (config_.scheduling == Scheduling::kExplicit) task.priority = priority;
  ++entering.entered;
  const auto is_tree = [](const Phase& phase) { return phase.algorithm == Algorithm::kDoubleBinaryTree; };
  const Plan::Phases& phases = plan->orders.front();
  had_group_tree_ |= !group.members.empty() && std::any_of(phases.begin(), phases.end(), is_tree);
  had_outer_join_ |= group.members.empty() && (involved & 1U) == 0 && config_.joins_dimensions(operation);
  had_small_gather_ |= operation == Operation::kAllgather && bytes < config_.splits;
  if (plan->orders.front().empty()) {
    had_nobody_ = true;
    return agenda_.call(now, rank, Entry(actor_, number * kKinds + kNobody));
  }
  if (!plan->turns.empty()) {
    task.turns.resize(sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (plan->turns_in[i] > 0) entering.queues[i].owed.push_back({&task, plan->turns_in[i]});
    }
  }
  const auto chunks = static_cast<std::uint32_t>(plan->chunks);
  entering.chunks += chunks;
  for (std::uint32_t i = 0; i < chunks; ++i) add_chunk(now, rank, task, i, mine);
}

void Collectives::add_chunk(Time now, std::uint32_t rank, Task& task, std::uint32_t chunk, Membership& membership) {
  const std::uint32_t number = streams_.take();
  if (number >= kMostStreams) throw ConfigError("analytical.collectives.splits", "expected fewer chunks in all");
  Stream& stream = streams_[number];
  stream.task = &task;
  stream.phases = task.plan->phases(chunk).data();
  stream.rank = rank;
  stream.group = membership.group->id;
  stream.member = membership.position;
  stream.number = membership.chunks++;
  stream.chunk = chunk;
  stream.phase = 0;
  stream.running = false;
  stream.place.members = membership.group->members.empty() ? nullptr : &membership.group->members;
  assign_lanes(stream);
  ++unfinished_;
  enqueue(number);
  start_waiting(now, rank, queue_of(stream));
}

/// Which queue of its dimension each phase of a chunk takes: they take turns, those that are on the way back in the
/// other half. Trees take turns as well.
void Collectives::assign_lanes(Stream& stream) {
  const auto queues = static_cast<std::uint32_t>(config_.queues);
  const std::uint32_t half = std::max(queues / 2, 1U);
  const std::size_t count = stream.task->plan->orders.front().size();
  stream.lanes.clear();
  stream.trees = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Phase& phase = stream.phases[i];
    Given& given = ranks_[stream.rank].given[phase.dimension];
    if (phase.algorithm == Algorithm::kDoubleBinaryTree) stream.trees |= (given.trees++ & 1) << i;
    if (queues == 1) continue;
    std::uint32_t lane = 0;
    if (phase.half == dimensions::Half::kBoth) lane = given.both++ % queues;
    if (phase.half == dimensions::Half::kFirst) lane = given.first++ % half;
    if (phase.half == dimensions::Half::kSecond) lane = queues / 2 + given.second++ % (queues - queues / 2);
    stream.lanes.push_back(static_cast<std::uint8_t>(lane));
  }
}

std::uint32_t Collectives::queue_of(const Stream& stream) const {
  const std::uint32_t dimension = phase_of(stream).dimension;
  if (stream.lanes.empty()) return dimension;
  return dimension * static_cast<std::uint32_t>(config_.queues) + stream.lanes[stream.phase];
}

/// Into the queue of its next phase.
void Collectives::enqueue(std::uint32_t number) {
  Stream& stream = streams_[number];
  Waiting mine{stream.task->priority, number};
  if (!stream.task->turns.empty()) {
    mine.ordered = stream.task;
    mine.turn = stream.task->plan->turn(stream.chunk, stream.phase);
  }
  ranks_[stream.rank].queues[queue_of(stream)].waiting.add(mine);
}

/// Which of those that wait goes first: none if none may.
std::optional<WaitingList<Collectives::Waiting>::Place> Collectives::next_of(const Queue& queue,
                                                                             std::uint32_t dimension) const {
  const WaitingList<Waiting>& waiting = queue.waiting;
  auto at = waiting.first();
  if (waiting[at].ordered == nullptr) return at;
  std::optional<WaitingList<Waiting>::Place> earliest;
  do {
    const Waiting& each = waiting[at];
    const bool first = each.ordered == queue.owed.front().task && each.ordered->turns[dimension].next == each.turn;
    if (each.ordered == nullptr || first) return at;
    // Of others the earliest of the first collective, if the last place remains free.
    const bool other = !earliest || (each.ordered == waiting[*earliest].ordered && each.turn < waiting[*earliest].turn);
    if (other && queue.running + 1 < active_) earliest = at;
  } while (waiting.advance(at));
  return earliest;
}

void Collectives::start_waiting(Time now, std::uint32_t rank, std::uint32_t number) {
  const std::uint32_t dimension = number / static_cast<std::uint32_t>(config_.queues);
  Queue& queue = ranks_[rank].queues[number];
  while (!queue.waiting.empty() && queue.running < active_) {
    const auto at = next_of(queue, dimension);
    if (!at) return;
    const Waiting next = queue.waiting.take(*at);
    if (next.ordered != nullptr) {
      next.ordered->turns[dimension].take(next.turn);
      const auto owes = std::find_if(queue.owed.begin(), queue.owed.end(),
                                     [&](const Owed& each) { return each.task == next.ordered; });
      if (--owes->starts == 0) queue.owed.erase(owes);
    }
    ++queue.running;
    start(now, next.stream);
  }
}

void Collectives::start(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const Phase& phase = phase_of(stream);
  Place& place = stream.place;
  place.count = phase.members;
  if (place.members != nullptr) {
    place.position = stream.member;
  } else {
    place.stride = strides_[phase.dimension];
    place.position = stream.rank / place.stride % phase.members;  // of all where they are joined
    place.first = stream.rank - place.position * place.stride;
  }
  // Weft's own mode goes round one way, so that utilisation is that of the links of that way.
  stream.backwards = network_.congestion() != Congestion::kCutThrough && phase.half == dimensions::Half::kSecond;
  if (phase.half == dimensions::Half::kBoth && !stream.lanes.empty()) {
    stream.backwards = stream.lanes[stream.phase] >= config_.queues / 2;
  }
  stream.running = true;
  begin(now, number);
}

void Collectives::phase_done(Time now, std::uint32_t number) {
  Stream& stream = streams_[number];
  const std::uint32_t rank = stream.rank;
  const std::uint32_t before = queue_of(stream);
  stream.running = false;
  ++stream.phase;
  if (stream.phase == stream.task->plan->orders.front().size()) {
    leave(now, number);
    --ranks_[rank].queues[before].running;
    return start_waiting(now, rank, before);
  }
  enqueue(number);
  const std::uint32_t after = queue_of(stream);
  --ranks_[rank].queues[before].running;
  start_waiting(now, rank, before);
  start_waiting(now, rank, after);
}

void Collectives::leave(Time now, std::uint32_t number) {
  Task& task = *std::exchange(streams_[number].task, nullptr);
  streams_.give(number);
  --unfinished_;
  if (--task.chunks_left == 0) done(now, task);
}

void Collectives::done(Time now, Task& task) {
  const std::uint32_t rank = task.rank;
  const std::uint64_t token = task.token;
  task.plan = nullptr;
  tasks_.give(task.number);
  listener_.collective_done(now, rank, token);
}

void Collectives::act(Time now, std::uint64_t what) {
  const std::uint64_t rest = what / kKinds;
  const auto number = static_cast<std::uint32_t>(rest % kMostStreams);
  switch (what % kKinds) {
    case kReceived:
      return received(now, number);
    case kReady:
      return ready(now, number, static_cast<std::uint32_t>(rest / kMostStreams));
    case kReduce:
      return reduce(now, number, static_cast<std::uint32_t>(rest / kMostStreams));
    default:
      return done(now, tasks_[static_cast<std::uint32_t>(rest)]);
  }
}

void Collectives::prepare_more(std::uint64_t what) {
  if (what % kKinds == kNobody) return;
  const auto* stream = reinterpret_cast<const std::byte*>(&streams_[what / kKinds % kMostStreams]);
  for (std::size_t at = 0; at < sizeof(Stream); at += 64) __builtin_prefetch(stream + at);
}

bool Collectives::waits_for_places() const {
  for (std::uint32_t i = 0; i < streams_.made(); ++i) {
    const Stream& stream = streams_[i];
    if (stream.task == nullptr || stream.running) continue;
    const Task& task = *stream.task;
    const EnteredKey key(stream.group, task.first_chunk, task.involved, first_rank(task.rank, task.involved));
    if (!entered_.contains(key)) return true;
  }
  return false;
}

std::vector<Collectives::Partly> Collectives::partly_entered() const {
  std::vector<Partly> partly;
  for (const auto& [place, entered] : entered_) {
    partly.push_back({std::get<0>(place), entered.name, entered.bytes, entered.involved, entered.rank, entered.left});
  }
  return partly;
}

std::optional<Collectives::Mismatch> Collectives::numbered_apart() const {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Operation, std::int64_t>, const Entered*> seen;
  for (const auto& [key, entered] : entered_) {
    const auto& [group, first_chunk, involved, first] = key;
    const auto [other, is_new] = seen.try_emplace({group, involved, first, entered.operation, entered.bytes}, &entered);
    const Entered& before = *other->second;
    if (!is_new && before.rank != entered.rank) return Mismatch{group, before.number, member(before), member(entered)};
  }
  return std::nullopt;
}

std::string Collectives::waits_for(std::uint32_t rank) const {
  constexpr int kMostTold = 4;
  std::string text;
  int told = 0;
  for (std::uint32_t i = 0; i < streams_.made(); ++i) {
    const Stream& stream = streams_[i];
    if (stream.task == nullptr || stream.rank != rank) continue;
    if (++told > kMostTold) continue;
    text += (text.empty() ? "" : ", ");
    text += "group " + std::to_string(stream.group) + " chunk " + std::to_string(stream.number) +
            (stream.running ? " for messages of phase " : " to begin phase ") + std::to_string(stream.phase);
  }
  if (told > kMostTold) text += ", " + std::to_string(told - kMostTold) + " more chunks";
  return text;
}

std::vector<std::string> Collectives::remarks() const {
  std::vector<std::string> remarks;
  if (had_nobody_)
    remarks.emplace_back("a collective joins only one end and takes no time; in ASTRA-sim it never ends");
  if (had_group_tree_) remarks.emplace_back("a listed group has a tree, at which ASTRA-sim stops with an error");
  if (had_overtaken_) {
    remarks.emplace_back(
        "packets of a direct exchange with a window overtake others that are reduced; ASTRA-sim then writes to memory "
        "that it has given back, and may stop with an error");
  }
  if (had_small_gather_) {
    remarks.emplace_back(
        "an Allgather has less than a byte for each of its chunks (splits) and is padded to that; in ASTRA-sim it "
        "never ends");
  }
  if (had_custom_chunks_) {
    remarks.emplace_back(
        "a collective with an implementation of its own runs once, where splits is above 1 (preferred-dataset-splits) "
        "or an Allgather has no bytes; ASTRA-sim waits for further chunks of it, so that it never ends");
  }
  if (had_outer_join_) {
    remarks.emplace_back(
        "a collective of oneRing, oneDirect or oneHalvingDoubling has an involved_dim without the first dimension, and "
        "joins all ends; in ASTRA-sim it never ends");
  }
  if (had_other_count_) {
    remarks.emplace_back(
        "ends enter a collective of all ends after different numbers of chunks of their groups; ASTRA-sim numbers them "
        "together, so that it never ends");
  }
  return remarks;
}

}  // namespace weft::analytical
