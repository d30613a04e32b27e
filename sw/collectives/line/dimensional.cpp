// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/dimensional.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "sw/collectives/algorithm.h"
#include "sw/collectives/followed.h"
#include "sw/collectives/line/group_shape.h"
#include "sw/collectives/line/line_algorithms.h"
#include "sw/collectives/nodes.h"

namespace weft::collectives {

using dimensions::Operation;
using firmware::Rank;
using firmware::Task;

namespace {

/// A dimension of the machine, and what Themis goes by: the rate of what leaves a rank there, and a message's way.
struct MachineDimension {
  int size;
  dimensions::DimensionCost cost;
};

dimensions::DimensionCost cost_of(const fabric::LinkConfig& link, const fabric::FabricConfig& network, int links) {
  constexpr double kCopyBytesPerNs = 1e6;  // reductions are not the network's
  return {2 * link.propagation + network.switch_config.latency, static_cast<double>(link.rate.count()) / 8e9 * links,
          kCopyBytesPerNs};
}

/// Within the node and across nodes, or those of a network with coordinates.
std::vector<MachineDimension> machine_dimensions(const Rank& rank) {
  const fabric::Fabric& network = *rank.scale_out.network;
  const fabric::FabricConfig& config = network.config();
  const auto ends = static_cast<int>(network.topology().ends.size());
  if (rank.scale_up.nic != nullptr) {
    const fabric::Fabric& node = *rank.scale_up.network;
    const auto within = static_cast<int>(node.topology().ends.size());
    return {{within, cost_of(node.config().link, node.config(), 1)}, {ends / within, cost_of(config.link, config, 1)}};
  }
  const fabric::Grid* grid = network.topology().grid.get();
  if (grid == nullptr) return {{ends, cost_of(config.link, config, 1)}};
  std::vector<MachineDimension> all;
  if (grid->hosts > 1) all.push_back({static_cast<int>(grid->hosts), cost_of(config.link, config, 1)});
  for (std::uint32_t d = 0; d < grid->dimensions; ++d) {
    int size = 0;
    for (std::uint32_t r = 0; r < grid->routers; ++r) {
      size = std::max(size, grid->coordinates[r * grid->dimensions + d] + 1);
    }
    const bool own = config.topology == fabric::Shape::kDimensions;
    const bool joined =
        own ? config.dimensions[d].block.starts_with("FullyConnected") : config.topology == fabric::Shape::kHyperX;
    all.push_back({size, cost_of(own ? config.dimensions[d].link : config.link, config,
                                 (own ? config.dimensions[d].links : 1) * (joined ? size - 1 : 1))});
  }
  return all;
}

}  // namespace

dimensions::Algorithm DimensionsConfig::algorithm(Operation operation, std::size_t dimension) const {
  const std::vector<dimensions::Algorithm>* all = &all_to_all;
  if (operation == Operation::kAllReduce) all = &all_reduce;
  if (operation == Operation::kAllgather) all = &all_gather;
  if (operation == Operation::kReduceScatter) all = &reduce_scatter;
  return (*all)[std::min(dimension, all->size() - 1)];
}

struct DimensionGroup::Run {
  int member = 0;
  Call call;
  std::int64_t priority = 0;
  std::uint64_t granule = 1;
  int chunks = 1;
  int chunks_left = 1;
  std::vector<std::uint64_t> buffers;      ///< of an AllToAll: where blocks are before each phase, and after the last
  std::optional<std::int64_t> on_the_way;  ///< the number of its buffer
  std::function<void()> done;
};

struct DimensionGroup::Chunk {
  std::shared_ptr<Run> run;
  int index = 0;
  std::uint32_t stream = 0;
  dimensions::Plan::Phases phases;
  std::size_t next = 0;         ///< phase
  std::vector<Extent> within;   ///< AllReduce: what is whole, and below what this member has of it
  std::vector<bool> scattered;  ///< otherwise: dimensions in which a member has only its own blocks
};

DimensionGroup::DimensionGroup(const std::vector<Rank*>& ranks, const DimensionsConfig& config, const std::string& name)
    : ranks_(ranks), config_(config), members_(ranks.size()), on_the_way_(ranks, "blocks on their way in " + name) {
  find_dimensions(config);
  join_lines(name);
}

void DimensionGroup::find_dimensions(const DimensionsConfig& config) {
  const auto need = [](const auto& algorithms, const char* name) {
    if (!algorithms.empty()) return;
    throw ConfigError("collectives.dimensions." + std::string(name), "expected at least one algorithm, got none");
  };
  need(config.all_reduce, "all_reduce");
  need(config.all_gather, "all_gather");
  need(config.reduce_scatter, "reduce_scatter");
  need(config.all_to_all, "all_to_all");
  need(config.rooted, "rooted");
  const std::vector<MachineDimension> known = machine_dimensions(*ranks_.front());
  std::vector<int> machine = config.sizes;
  if (machine.empty()) {
    for (const MachineDimension& dimension : known) machine.push_back(dimension.size);
  }
  if (joins_dimensions(config)) machine = {std::accumulate(machine.begin(), machine.end(), 1, std::multiplies<>())};
  // Dimensions that a user has made up are as good as the network's ends.
  const auto cost = [&](std::size_t d) {
    return d < known.size() && known[d].size == machine[d] ? known[d].cost : known.front().cost;
  };
  const auto all = static_cast<int>(ranks_.front()->scale_out.network->topology().ends.size());
  const auto product = std::accumulate(machine.begin(), machine.end(), std::int64_t{1}, std::multiplies<>());
  if (product != all) {
    throw ConfigError("collectives.dimensions.sizes", "expected sizes whose product is the machine's " +
                                                          std::to_string(all) + " accelerators, got " +
                                                          std::to_string(product));
  }
  std::vector<int> indices;
  indices.reserve(ranks_.size());
  for (const Rank* rank : ranks_) indices.push_back(rank->index);
  const GroupShape shape = shape_of(indices, machine);
  plan_config_ = plan_config_of(config, shape);
  sizes_ = shape.sizes;
  for (const std::size_t d : shape.kept) {
    costs_.push_back(cost(d));
    rooted_.push_back(config.rooted_algorithm(d));
  }
  int stride = 1;
  for (const int size : sizes_) {
    strides_.push_back(stride);
    stride *= size;
  }
}

void DimensionGroup::check(Operation operation) const {
  check_phases(plan_config_, config_.inter_dimension, sizes_, operation);
}

void DimensionGroup::join_lines(const std::string& name) {
  for (Member& member : members_) member.lines.resize(sizes_.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    members_[m].moved = &ranks_[m]->processor->create_completion_queue("a copy of " + name + ", queue");
  }
  // Without a number: groups alike are about the same.
  std::string about = name.substr(0, name.find_first_of("0123456789"));
  while (about.ends_with(' ')) about.pop_back();
  if (about == "group") about = "collectives of groups";
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    LineMember::Options options;
    options.active = config_.active_chunks;
    options.dimension = static_cast<int>(d);
    options.dimensions = static_cast<int>(sizes_.size());
    options.about = about + (sizes_.size() > 1 ? " in dimension " + std::to_string(d) : "");
    for (int base = 0; base < size(); ++base) {
      if (coordinate(base, d) != 0) continue;
      std::vector<int> line;
      line.reserve(static_cast<std::size_t>(sizes_[d]));
      for (int i = 0; i < sizes_[d]; ++i) line.push_back(base + i * strides_[d]);
      auto joined = LineMember::join(pick(ranks_, line), options, static_cast<int>(d) + 1,
                                     name + " dimension " + std::to_string(d) + " from member " + std::to_string(base));
      for (std::size_t i = 0; i < line.size(); ++i) {
        members_[static_cast<std::size_t>(line[i])].lines[d] = joined[i].get();
        lines_.push_back(std::move(joined[i]));
      }
    }
  }
}

void DimensionGroup::begin(int member, Call call, std::function<void()> done) {
  if (!call.rooted) check(call.operation);
  Member& mine = members_[static_cast<std::size_t>(member)];
  auto run = std::make_shared<Run>();
  run->member = member;
  const bool sums = call.rooted
                        ? *call.rooted == Rooted::kReduce
                        : call.operation == Operation::kAllReduce || call.operation == Operation::kReduceScatter;
  run->granule = sums ? size_of(call.type) : call.granule;
  if (!call.blocks) call.blocks = even_blocks({0, call.bytes}, size(), run->granule);
  if (!call.rooted && call.operation == Operation::kAllToAll) {
    run->buffers = {call.input};
    std::uint64_t between = 0;
    if (sizes_.size() > 1) {
      run->on_the_way = mine.all_to_alls++;
      between = on_the_way_.enter(*run->on_the_way, call.bytes);
    }
    for (std::size_t left = sizes_.size(); left-- > 0;) run->buffers.push_back(left % 2 == 0 ? call.output : between);
  }
  // A chunk that has nothing for somebody is a message all the same: there are no more than have something.
  run->chunks = run->chunks_left = static_cast<int>(std::clamp<std::uint64_t>(
      call.bytes / run->granule / members_.size(), 1, static_cast<std::uint64_t>(config_.splits)));
  run->priority = mine.begun;
  if (config_.scheduling == dimensions::Scheduling::kFifo) run->priority = -mine.begun;
  if (config_.scheduling == dimensions::Scheduling::kExplicit) run->priority = call.priority;
  ++mine.begun;
  std::uint64_t& followed = ranks_[static_cast<std::size_t>(member)]->followed;
  follow(followed, Followed::kDimensions);
  if (mine.running++ > 0) follow(followed, Followed::kSeveral);
  if (!call.rooted && call.operation != Operation::kAllToAll) follow(followed, Followed::kOrder);
  run->call = std::move(call);
  run->done = std::move(done);
  std::optional<dimensions::Themis> themis;
  if (config_.inter_dimension == dimensions::InterDimension::kThemis && !run->call.rooted) {
    themis.emplace(plan_config_, std::vector<std::uint32_t>(sizes_.begin(), sizes_.end()), costs_);
  }
  for (int i = 0; i < run->chunks; ++i) {
    auto chunk = std::make_shared<Chunk>();
    chunk->phases = phases_of(*run, themis ? &*themis : nullptr);
    chunk->run = run;
    chunk->index = i;
    chunk->stream = mine.streams++;
    chunk->within = {split({0, run->call.bytes}, static_cast<std::uint64_t>(run->chunks), static_cast<std::uint64_t>(i),
                           run->granule)};
    chunk->scattered.assign(sizes_.size(), run->call.operation == Operation::kAllgather);
    go_on(chunk);
  }
}

dimensions::Plan::Phases DimensionGroup::phases_of(const Run& run, dimensions::Themis* themis) const {
  const Call& call = run.call;
  const bool gathers = call.operation == Operation::kAllgather;
  const auto bytes = static_cast<std::int64_t>(call.bytes) / run.chunks / (gathers ? size() : 1);
  if (themis != nullptr) return themis->next(call.operation, bytes);
  const std::vector<std::uint32_t> sizes(sizes_.begin(), sizes_.end());
  std::vector<std::uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (!call.rooted) return dimensions::phases_in(plan_config_, call.operation, bytes, order, sizes);
  if (*call.rooted == Rooted::kBroadcast || *call.rooted == Rooted::kScatter) std::reverse(order.begin(), order.end());
  dimensions::Plan::Phases phases;
  for (const std::uint32_t d : order) {
    if (takes_part(run.member, call.root, d)) phases.push_back({{}, {}, d, sizes[d], bytes});
  }
  return phases;
}

void DimensionGroup::go_on(const std::shared_ptr<Chunk>& chunk) {
  Run& run = *chunk->run;
  if (chunk->next == chunk->phases.size()) {
    if (--run.chunks_left > 0) return;
    if (run.on_the_way) on_the_way_.leave(*run.on_the_way);
    --members_[static_cast<std::size_t>(run.member)].running;
    return run.done();
  }
  const dimensions::Phase& next = chunk->phases[chunk->next];
  const bool smallest = config_.intra_dimension == dimensions::IntraDimension::kSmallestFirst;
  const std::int64_t size = smallest ? next.bytes : 0;
  // A rooted collective's members have different phases, each of a dimension of its own.
  const Passage::Name name{chunk->stream, run.call.rooted ? next.dimension : static_cast<std::uint32_t>(chunk->next)};
  const auto begin = [this, chunk] {
    Phase phase = phase_of(*chunk);
    ++chunk->next;
    return phase;
  };
  members_[static_cast<std::size_t>(run.member)].lines[next.dimension]->enqueue(begin, name, {run.priority, size},
                                                                                [this, chunk] { go_on(chunk); });
}

Phase DimensionGroup::phase_of(Chunk& chunk) const {
  const Run& run = *chunk.run;
  const dimensions::Phase& plan = chunk.phases[chunk.next];
  const std::size_t d = plan.dimension;
  if (run.call.rooted) return rooted_phase(chunk, d);
  const auto count = static_cast<std::uint64_t>(sizes_[d]);
  Phase phase;
  phase.operation = plan.operation;
  phase.algorithm = plan.algorithm;
  phase.type = run.call.type;
  phase.block.resize(count);
  const bool gathers = plan.operation == Operation::kAllgather;
  if (run.call.operation == Operation::kAllReduce) {
    if (gathers) chunk.within.pop_back();
    for (std::uint64_t i = 0; i < count; ++i) {
      Extent block = split(chunk.within.back(), count, i, run.granule);
      block.offset += run.call.input;
      append(phase.block[i], block);
    }
    if (plan.operation == Operation::kReduceScatter) {
      const auto own = static_cast<std::uint64_t>(coordinate(run.member, d));
      chunk.within.push_back(split(chunk.within.back(), count, own, run.granule));
    }
    return phase;
  }
  // Of each member's block, this chunk's part.
  const bool exchanges = plan.operation == Operation::kAllToAll;
  if (exchanges) phase.output.resize(count);
  if (gathers) chunk.scattered[d] = false;
  const std::uint64_t from = exchanges ? run.buffers[chunk.next] : run.call.input;
  for (int i = 0; i < size(); ++i) {
    bool here = true;
    for (std::size_t e = 0; e < sizes_.size(); ++e) {
      here = here && (!chunk.scattered[e] || coordinate(i, e) == coordinate(run.member, e));
    }
    if (!here) continue;
    const Extent part = split(run.call.blocks(i), static_cast<std::uint64_t>(run.chunks),
                              static_cast<std::uint64_t>(chunk.index), run.granule);
    const auto place = static_cast<std::size_t>(coordinate(i, d));
    append(phase.block[place], {from + part.offset, part.bytes});
    if (exchanges) append(phase.output[place], {run.buffers[chunk.next + 1] + part.offset, part.bytes});
  }
  if (plan.operation == Operation::kReduceScatter) chunk.scattered[d] = true;
  return phase;
}

bool DimensionGroup::takes_part(int member, int root, std::size_t dimension) const {
  for (std::size_t e = 0; e < dimension; ++e) {
    if (coordinate(member, e) != coordinate(root, e)) return false;
  }
  return true;
}

Phase DimensionGroup::rooted_phase(const Chunk& chunk, std::size_t d) const {
  const Run& run = *chunk.run;
  Phase phase;
  phase.rooted = run.call.rooted;
  phase.rooted_algorithm = rooted_[d];
  phase.radix = config_.radix;
  phase.root = coordinate(run.call.root, d);
  phase.type = run.call.type;
  phase.block.resize(static_cast<std::size_t>(sizes_[d]));
  if (*phase.rooted == Rooted::kBroadcast || *phase.rooted == Rooted::kReduce) {
    append(phase.block[0], {run.call.input + chunk.within.front().offset, chunk.within.front().bytes});
    return phase;
  }
  // Members above have been served already, or have yet to be.
  for (int i = 0; i < size(); ++i) {
    if (i / (strides_[d] * sizes_[d]) != run.member / (strides_[d] * sizes_[d])) continue;
    const Extent part = split(run.call.blocks(i), static_cast<std::uint64_t>(run.chunks),
                              static_cast<std::uint64_t>(chunk.index), run.granule);
    append(phase.block[static_cast<std::size_t>(coordinate(i, d))], {run.call.input + part.offset, part.bytes});
  }
  return phase;
}

Task DimensionGroup::run(int member, Call call) {
  firmware::Counter done(*ranks_[static_cast<std::size_t>(member)]->processor, "a collective of its dimensions");
  begin(member, std::move(call), [&done] { done.increment(); });
  co_await done.reach(1);
}

Task DimensionGroup::move(int member, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  if (from == to || bytes == 0) co_return;
  Member& mine = members_[static_cast<std::size_t>(member)];
  ranks_[static_cast<std::size_t>(member)]->accelerator.copy(0, from, to, bytes, *mine.moved, 0);
  co_await mine.moved->next();
}

Task DimensionGroup::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) {
  const Extent last = blocks(size() - 1);
  Call call{.operation = Operation::kAllgather,
            .input = buffer,
            .bytes = last.offset + last.bytes,
            .granule = granule,
            .blocks = std::move(blocks)};
  co_await run(member, std::move(call));
}

Task DimensionGroup::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                    ElementType type) {
  const Extent last = blocks(size() - 1);
  const Extent own = blocks(member);
  Call call{.operation = Operation::kReduceScatter,
            .input = input,
            .bytes = last.offset + last.bytes,
            .type = type,
            .blocks = std::move(blocks)};
  co_await run(member, std::move(call));
  co_await move(member, input + own.offset, output, own.bytes);
}

Task DimensionGroup::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  Call call{.operation = Operation::kAllReduce, .input = buffer, .bytes = bytes, .type = type};
  co_await run(member, std::move(call));
}

Task DimensionGroup::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  if (size() == 1) co_return co_await move(member, input, output, bytes);
  Call call{.operation = Operation::kAllToAll, .input = input, .output = output, .bytes = bytes};
  co_await run(member, std::move(call));
}

Task DimensionGroup::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  co_await rooted(member, Rooted::kBroadcast, root, buffer, bytes, ElementType::kFp32);
}

Task DimensionGroup::rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes,
                            ElementType type) {
  const bool cuts = what == Rooted::kGather || what == Rooted::kScatter;
  Call call{
      .input = buffer, .bytes = bytes, .type = type, .granule = cuts ? size_of(type) : 1, .rooted = what, .root = root};
  co_await run(member, std::move(call));
}

/// Chunks pass the machine's dimensions one after the other, each with an algorithm of its own.
Algorithm dimensions_algorithm() {
  return {.name = std::string(DimensionsConfig::kAlgorithm),
          .doc = "an algorithm for each dimension",
          .operations = {Operation::kAllgather, Operation::kReduceScatter, Operation::kAllReduce, Operation::kAllToAll},
          .rooted = {Rooted::kBroadcast, Rooted::kReduce, Rooted::kGather, Rooted::kScatter},
          .config = DimensionsConfig(),
          .config_doc = "The algorithm over dimensions",
          .make = [](GroupSite& site) {
            return std::make_unique<DimensionGroup>(site.ranks, site.own.as<DimensionsConfig>(), site.name);
          }};
}

}  // namespace weft::collectives
