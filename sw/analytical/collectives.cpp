// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/collectives.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "sw/dimensions/themis.h"

namespace weft::analytical {
namespace {

// Event tags: a rank and one of these.
constexpr std::uint32_t kKinds = 3;
constexpr std::uint32_t kArrival = 0;
constexpr std::uint32_t kPhaseDone = 1;
constexpr std::uint32_t kReady = 2;

/// ASTRA-sim has a delay of its own for groups that are not everybody.
constexpr Time kGroupDelay = Time(10'000);

}  // namespace

Collectives::Collectives(Dispatcher& dispatcher, Network& network, const CollectiveConfig& config, Listener& listener,
                         const BusConfig& bus)
    : dispatcher_(dispatcher), network_(network), config_(config), listener_(listener), ranks_(network.ends()) {
  std::uint32_t stride = 1;
  for (const Dimension& dimension : network.dimensions()) {
    sizes_.push_back(dimension.size);
    strides_.push_back(stride);
    stride *= dimension.size;
  }
  for (Rank& rank : ranks_) rank.queues.resize(sizes_.size());
  for (const std::vector<Algorithm>& algorithms : config.algorithms) {
    if (algorithms.empty() || std::none_of(algorithms.begin() + 1, algorithms.end(), dimensions::joins_dimensions))
      continue;
    throw ConfigError("analytical.dimensions",
                      "expected oneRing, oneDirect, oneHalvingDoubling in the first one alone");
  }
  dispatcher.attach(*this, "analytical collectives");
  if (bus.modelled)
    buses_ = std::make_unique<MemoryBuses>(dispatcher, bus, network.ends(), static_cast<BusUser&>(*this));
}

Collectives::~Collectives() = default;

void Collectives::check(const Plan& plan) const {
  for (const Phase& phase : plan.orders.front()) {  // the others have the same ones in another order
    if (phase.algorithm > Algorithm::kDoubleBinaryTree) {
      throw ConfigError("analytical.dimensions",
                        "expected ring, direct, halvingDoubling or doubleBinaryTree, which ASTRA-sim has");
    }
    const bool exchanges = phase.algorithm == Algorithm::kRing || phase.algorithm == Algorithm::kDirect;
    if (buses_ != nullptr && !exchanges) {
      throw ConfigError("analytical.end.bus.modelled",
                        "expected ring or direct in all dimensions where the bus is modelled");
    }
    if (phase.window != 0 && phase.members > Key::kSlots) {
      throw ConfigError("analytical.dimensions", "expected at most 65536 members of a direct exchange with a window");
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
      throw ConfigError("analytical.dimensions", "expected doubleBinaryTree for an AllReduce alone");
    if (phase.algorithm == Algorithm::kHalvingDoubling && phase.operation == Operation::kAllToAll) {
      throw ConfigError("analytical.dimensions", "expected ring or direct for an AllToAll, got halvingDoubling");
    }
  }
}

std::shared_ptr<const Plan> Collectives::plan_of(const Group& group, Operation operation, std::int64_t bytes,
                                                 std::uint32_t involved) const {
  const bool all = group.members.empty();
  const auto count = static_cast<std::uint32_t>(group.members.size());
  std::vector<dimensions::DimensionCost> costs;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    costs.push_back(
        {network_.latency(i) + config_.endpoint_delay, network_.bytes_per_ns(i), config_.memory_bytes_per_ns});
  }
  std::vector<std::uint32_t> sizes = all ? sizes_ : std::vector<std::uint32_t>{count};
  for (std::size_t i = 0; all && i < sizes.size(); ++i) {
    if ((involved >> i & 1) == 0) sizes[i] = 1;
  }
  if (all && config_.joins_dimensions(operation)) sizes = {network_.ends()};
  auto plan =
      std::make_shared<Plan>(dimensions::schedule_collective(config_, operation, bytes, sizes, network_.ends(), costs));
  check(*plan);
  return plan;
}

void Collectives::agree(std::uint32_t group, std::uint64_t number, const Entered& mine) {
  const auto found = entered_.try_emplace({group, number}, mine).first;
  Entered& first = found->second;
  const bool whole = first.involved == kAllDimensions && mine.involved == kAllDimensions;
  if (whole && (first.operation != mine.operation || first.chunks != mine.chunks)) {
    const auto text = [](const Entered& of) {
      return std::string(name_of(of.operation)) + " of " + std::to_string(of.chunks) + " chunks at end " +
             std::to_string(of.rank);
    };
    throw ConfigError("workload.traces", "expected the same collectives at all members of a group: collective " +
                                             std::to_string(number) + " of group " + std::to_string(group) + " is " +
                                             text(first) + " and " + text(mine));
  }
  if (--first.left == 0) entered_.erase(found);
}

void Collectives::enter(Time now, std::uint32_t rank, const Group& group, Operation operation, std::int64_t bytes,
                        std::int64_t priority, std::uint64_t token, std::uint32_t involved) {
  if (group.id >= Key::kGroups) throw ConfigError("workload.groups", "expected at most 65535");
  const Group& known = groups_.try_emplace(group.id, group).first->second;
  std::shared_ptr<const Plan>& plan = plans_[{group.id, operation, bytes, involved}];
  if (plan == nullptr) plan = plan_of(group, operation, bytes, involved);
  Rank& mine = ranks_[rank];
  auto task = std::make_shared<Task>();
  task->plan = plan;
  task->chunks_left = plan->chunks;
  task->token = token;
  if (!plan->turns.empty()) {
    task->turns.resize(sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (plan->turns_in[i] > 0) mine.queues[i].owed.push_back({task.get(), plan->turns_in[i]});
    }
  }
  task->priority = mine.entered;
  if (config_.scheduling == Scheduling::kFifo) task->priority = -mine.entered;
  if (config_.scheduling == Scheduling::kExplicit) task->priority = priority;
  ++mine.entered;
  Streams& streams = mine.groups[group.id];
  if (streams.group == nullptr) {
    streams.group = &known;
    const auto at = std::find(known.members.begin(), known.members.end(), rank);
    streams.position = static_cast<std::uint32_t>(at - known.members.begin());
  }
  const std::size_t members = known.members.empty() ? ranks_.size() : known.members.size();
  agree(group.id, streams.collectives++,
        {operation, involved, plan->chunks, rank, static_cast<std::uint32_t>(members)});
  task->first = streams.entered;
  for (std::uint32_t i = 0; i < plan->chunks; ++i) {
    const std::uint32_t number = streams.entered++;
    if (number == Key::kStreams) throw ConfigError("analytical.collectives.splits", "expected fewer chunks in all");
    if (number - streams.first == streams.live.size()) streams.live.push_back({});
    Stream& stream = streams.live[number - streams.first];
    stream.task = task;
    stream.phases = plan->phases(i).data();
    ++unfinished_;
    enqueue(now, rank, {group.id, number, 0, 0}, stream);
  }
}

Collectives::Context Collectives::context(std::uint32_t rank, Key key, const Streams& all, Stream& stream) const {
  const Phase& phase = stream.phases[stream.phase];
  key.phase = stream.phase;
  const std::vector<std::uint32_t>& members = all.group->members;
  if (!members.empty()) {
    const Place place{all.position, static_cast<std::uint32_t>(members.size()), rank, 0, &members};
    return {rank, key, stream, phase, place, kGroupDelay};
  }
  const std::uint32_t stride = strides_[phase.dimension];
  const std::uint32_t size = phase.members;  // of all where they are joined
  return {rank, key, stream, phase, {rank / stride % size, size, rank, stride, nullptr}, config_.endpoint_delay};
}

/// Into the queue of its next phase's dimension.
void Collectives::enqueue(Time now, std::uint32_t rank, Key key, Stream& stream) {
  if (stream.phase == stream.task->plan->orders.front().size()) {
    const std::shared_ptr<Task> task = std::exchange(stream.task, nullptr);
    stream.done = true;
    --unfinished_;
    Streams& all = streams(rank, key.group);
    while (!all.live.empty() && all.live.front().done) {
      all.live.front() = {};
      all.live.pop_front();
      ++all.first;
    }
    if (--task->chunks_left == 0) listener_.collective_done(now, rank, task->token);
    return;
  }
  const std::uint32_t dimension = stream.phases[stream.phase].dimension;
  std::vector<Waiting>& waiting = ranks_[rank].queues[dimension].waiting;
  Waiting mine{stream.task->priority, key.group, key.stream};
  if (!stream.task->turns.empty()) {
    mine.ordered = stream.task.get();
    mine.turn = stream.task->plan->turn(key.stream - stream.task->first, stream.phase);
  }
  const auto place = std::upper_bound(waiting.begin(), waiting.end(), mine,
                                      [](const Waiting& a, const Waiting& b) { return a.priority > b.priority; });
  waiting.insert(place, mine);
  start_waiting(now, rank, dimension);
}

/// Which of those that wait goes first: the end if none may.
std::vector<Collectives::Waiting>::iterator Collectives::next_of(Queue& queue, std::uint32_t dimension) const {
  std::vector<Waiting>& waiting = queue.waiting;
  if (waiting.front().ordered == nullptr) return waiting.begin();
  auto earliest = waiting.end();
  for (auto at = waiting.begin(); at != waiting.end(); ++at) {
    const bool first = at->ordered == queue.owed.front().task && at->ordered->turns[dimension].next == at->turn;
    if (at->ordered == nullptr || first) return at;
    // Of others the earliest of the first collective, if the last place remains free.
    const bool other = earliest == waiting.end() || (at->ordered == earliest->ordered && at->turn < earliest->turn);
    if (other && queue.running + 1 < config_.active_chunks) earliest = at;
  }
  return earliest;
}

void Collectives::start_waiting(Time now, std::uint32_t rank, std::uint32_t dimension) {
  Queue& queue = ranks_[rank].queues[dimension];
  while (!queue.waiting.empty() && queue.running < config_.active_chunks) {
    const auto at = next_of(queue, dimension);
    if (at == queue.waiting.end()) return;
    const Waiting next = *at;
    queue.waiting.erase(at);
    if (next.ordered != nullptr) {
      next.ordered->turns[dimension].take(next.turn);
      const auto owes = std::find_if(queue.owed.begin(), queue.owed.end(),
                                     [&](const Owed& each) { return each.task == next.ordered; });
      if (--owes->starts == 0) queue.owed.erase(owes);
    }
    ++queue.running;
    Streams& all = streams(rank, next.group);
    Stream& stream = all.live[next.stream - all.first];
    stream.running = true;
    stream.step = stream.left = stream.ahead = 0;
    stream.arrived = 0;
    Context started = context(rank, {next.group, next.stream, 0, 0}, all, stream);
    begin(now, started);
    if (stream.early == nullptr) continue;
    std::vector<std::uint32_t> later;
    for (const std::uint32_t message : *stream.early) {
      if (message >> 16 == stream.phase) {
        receive(now, started, message & (Key::kSlots - 1));
      } else {
        later.push_back(message);
      }
    }
    *stream.early = std::move(later);
  }
}

void Collectives::phase_done(Time now, std::uint32_t rank, Key key) {
  Streams& all = streams(rank, key.group);
  Stream& stream = all.live[key.stream - all.first];
  const std::uint32_t dimension = stream.phases[stream.phase].dimension;
  stream.running = false;
  ++stream.phase;
  --ranks_[rank].queues[dimension].running;
  enqueue(now, rank, key, stream);
  start_waiting(now, rank, dimension);
}

void Collectives::arrive(Time now, std::uint32_t rank, Key key) {
  Streams& all = streams(rank, key.group);
  if (key.stream < all.first) {
    stray_ = "end " + std::to_string(rank) + " has done chunk " + std::to_string(key.stream) + " of group " +
             std::to_string(key.group) + ", for which a message came";
    return;
  }
  while (key.stream - all.first >= all.live.size()) all.live.push_back({});
  Stream& stream = all.live[key.stream - all.first];
  if (!stream.running || stream.phase != key.phase) {
    if (stream.early == nullptr) stream.early = std::make_unique<std::vector<std::uint32_t>>();
    stream.early->push_back(key.phase << 16 | key.slot);
    return;
  }
  Context received = context(rank, key, all, stream);
  receive(now, received, key.slot);
}

void Collectives::on_event(Time now, std::uint32_t tag, std::uint64_t data) {
  const std::uint32_t rank = tag / kKinds;
  if (tag % kKinds == kArrival) {
    arrive(now, rank, Key::unpack(data));
  } else if (tag % kKinds == kReady) {
    const Key key = Key::unpack(data);
    Streams& all = streams(rank, key.group);
    Context ready = context(rank, key, all, all.live[key.stream - all.first]);
    packet_ready(now, ready);
  } else {
    phase_done(now, rank, Key::unpack(data));
  }
}

Time Collectives::reduction(std::int64_t bytes) const {
  return 3 * whole_ns(static_cast<double>(bytes) / config_.memory_bytes_per_ns);
}

void Collectives::send(Time at, const Context& context, std::uint32_t to, std::int64_t bytes, std::uint32_t slot) {
  Key key = context.key;
  key.slot = slot;
  network_.send(at, context.rank, to, bytes, *this, to * kKinds + kArrival, key.pack());
}

void Collectives::finish(Time at, const Context& context) {
  dispatcher_.post(at, *this, context.rank * kKinds + kPhaseDone, context.key.pack());
}

void Collectives::ready_at(Time at, const Context& context) {
  dispatcher_.post(at, *this, context.rank * kKinds + kReady, context.key.pack());
}

std::string Collectives::waits_for(std::uint32_t rank) const {
  std::string text;
  for (const auto& [id, streams] : ranks_[rank].groups) {
    for (std::size_t i = 0; i < streams.live.size(); ++i) {
      const Stream& stream = streams.live[i];
      if (stream.task == nullptr) continue;
      text += (text.empty() ? "" : ", ");
      text += "group " + std::to_string(id) + " chunk " + std::to_string(streams.first + i) +
              (stream.running ? " for messages of phase " : " to begin phase ") + std::to_string(stream.phase);
    }
  }
  return text;
}

}  // namespace weft::analytical
