// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/graph/graph.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "sw/collectives/compressed/collectives.h"
#include "sw/compression/compressor.h"
#include "sw/firmware/program_fields.h"
#include "sw/schedules/step_ends.h"
#include "traces/chakra/ranks.h"
#include "traces/files/format_error.h"

namespace weft::schedules {

using chakra::Node;
using chakra::NodeType;
using firmware::Rank;
using firmware::Task;

namespace {

/// Threads that do the collectives of a group one after the other (graph_nodes.cpp).
const firmware::ProgramFields kFieldsOfGraphs({"collectives of groups", "collectives of all ranks"},
                                              {"collectives.entry", "accelerator.dma.start"});

constexpr std::size_t kMostTold = 8;  // ranks in a report, and nodes of each

}  // namespace

GraphEngine::GraphEngine(std::vector<Rank*> ranks, const GraphConfig& config,
                         const collectives::Communicator::Config& collectives,
                         const accelerator::ComputeConfig& compute, dimensions::Workload traces)
    : ranks_(std::move(ranks)),
      config_(config),
      collectives_(collectives),
      compute_(compute),
      traces_(std::move(traces)) {
  collectives::require_exact_sums(collectives_, *ranks_.front());
  std::vector<std::uint32_t> everybody(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) everybody[r] = static_cast<std::uint32_t>(r);
  traces_.groups.try_emplace("", everybody);
  remote_shared_ = firmware::MemoryMap(Bytes(static_cast<std::int64_t>(ranks_.front()->remote.shared)));
  for (const auto& [name, members] : traces_.groups) add_group(name, members);
  compression::check(collectives_.compression);
  scopes_.emplace(collectives_.compression);
  for (Rank* rank : ranks_) {
    End& end = *ends_.emplace_back(std::make_unique<End>());
    end.rank = rank;
    end.events = &rank->processor->create_completion_queue("a node of its trace, queue");
    end.messages = std::make_unique<Messages>(*rank, *end.events, tags_, *scopes_);
    end.transfers = std::make_unique<RemoteTransfers>(*rank, *end.events);
    const auto number = static_cast<std::uint64_t>(rank->index);
    end.trace.window = std::make_unique<chakra::TraceWindow>(
        traces_.shared ? traces_.prefix : chakra::find_rank(traces_.prefix, number), chakra::TraceWindow::kReadAhead,
        records_);
    if (traces_.shared) end.trace.window->set_name(traces_.source);
  }
  if (traces_.order != nullptr) order_.emplace(traces_.order, config_.communications);
  for (const auto& end : ends_) messages_.push_back(end->messages.get());
  message_watch_ = collectives::MessageWatch::of(ranks_, "ranks");
  for (const auto& end : ends_) end->messages->join(&messages_, message_watch_.get());
}

GraphEngine::~GraphEngine() = default;

GraphEngine::GroupOf& GraphEngine::add_group(const std::string& name, const std::vector<std::uint32_t>& members) {
  GroupOf& group = groups_[name];
  group.name = name;
  group.member_of.assign(ranks_.size(), -1);
  std::vector<Rank*> some;
  for (const std::uint32_t member : members) {
    group.member_of[member] = static_cast<int>(some.size());
    some.push_back(ranks_[member]);
  }
  const std::string text = group.text();
  group.group =
      std::make_unique<collectives::DimensionGroup>(some, collectives_.of<collectives::DimensionsConfig>(), text);
  if (config_.library == Library::kCommunicators && some.size() > 1) {
    group.communicator = std::make_unique<collectives::Communicator>(some, collectives_, text);
    group.callers.resize(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      group.callers[i].kernel.emplace(*some[i], "a kernel of " + text);
    }
  }
  group.watch = collectives::Watch::of(some, text);
  group.rooted.resize(some.size());
  group.buffers = std::make_unique<collectives::SharedBuffers>(some, "a buffer of " + text);
  if (some.front()->remote.in_switch()) group.remote = std::make_unique<RemoteGroup>(some, remote_shared_, text);
  return group;
}

std::string GraphEngine::simulates_all(const GraphRows& rows) const {
  const bool all_end = std::all_of(rows.rows.begin(), rows.rows.end(), [](const GraphRow& row) {
    return std::all_of(row.ranks.begin(), row.ranks.end(), [](const RankPieces& rank) { return rank.ends_graph; });
  });
  // Who may begin what is known of whole graphs: those of fewer pieces are their beginnings.
  if (order_ && !all_end) return "ranks may begin collectives in several orders, and something comes behind the steps";
  if (!traces_.custom.empty() || !traces_.custom_nodes.empty()) return "collectives have implementations of their own";
  return "";
}

void GraphEngine::set_steady(const SteadyConfig& steady, GraphRows rows, LeavingOut::Hooks hooks) {
  if (!steady.is_on() || rows.rows.empty()) return;
  std::vector<GraphSteady::Rank> ranks;
  for (const auto& end : ends_) {
    const auto sample = [rank = end->rank] {
      const Time now = rank->processor->now();
      const Time busy = rank->accelerator.counters().busy;
      return SteadyRow::Sample{now, busy, {now - busy}};
    };
    ranks.push_back({end->trace.window.get(), &end->tally, sample});
  }
  steady_ = std::make_unique<GraphSteady>(steady, std::move(rows), std::move(ranks), std::move(hooks));
  if (probe_ != nullptr) steady_->record(*probe_);
}

void GraphEngine::start() {
  started_ = ends_.front()->rank->processor->now();
  for (const auto& end : ends_) {
    end->host.begin(started_);
    end->rank->processor->spawn("graph", 0, run(*end));
  }
}

Task GraphEngine::run(End& end) {
  try {
    advance(end, end.trace);
    while (end.finished == kNever) take(end, co_await end.events->next());
  } catch (const std::invalid_argument& error) {
    throw traces::FormatError(end.trace.window->file().string(), 0, error.what());
  }
}

void GraphEngine::take(End& end, const nic::Completion& entry) {
  if (RemoteTransfers::is_mine(entry)) return done(end, recall(end, end.transfers->take(entry)));
  if (entry.id == kWake) return advance(end, end.trace);
  if (!Messages::is_mine(entry)) return done(end, recall(end, entry.id));
  if (const auto token = end.messages->take(entry)) done(end, recall(end, *token));
}

GraphEngine::Resource GraphEngine::resource_of(const Node& node) {
  if (node.type == NodeType::kCompute && node.is_cpu_op()) return kCpu;
  if (node.type == NodeType::kMemoryLoad || node.type == NodeType::kMemoryStore) return kMemory;
  return node.type == NodeType::kCompute ? kCompute : kCommunication;
}

int GraphEngine::limit(Resource resource) const {
  if (resource == kCpu) return 1;
  if (resource == kCompute) return config_.kernels;
  const int most = resource == kMemory ? config_.memories : config_.communications;
  return most == 0 ? INT32_MAX : most;
}

/// Issues what its dependencies and resources allow.
void GraphEngine::advance(End& end, Graph& graph) {
  try {
    end.holds_back = false;
    issue_ready(end, graph);
    if (order_) wake_others(end);
  } catch (const chakra::AttributeError& error) {
    throw traces::FormatError(graph.window->file().string(), 0, error.what());
  }
  if (graph.window->done()) finish(end, graph);
}

void GraphEngine::issue_ready(End& end, Graph& graph) {
  while (const Node* node = graph.window->next()) {
    if (node->type == NodeType::kMetadata) {
      graph.window->complete(node->id);
      ++end.done;
    } else if (!graph.limited || node->type == NodeType::kReceive) {
      issue(end, graph, *node, {});
    } else {
      graph.ready[resource_of(*node)].push(node);
    }
  }
  for (int r = 0; r < kResources; ++r) {
    std::vector<const Node*> held;
    const auto put_back = [&] {
      for (const Node* node : held) graph.ready[r].push(node);
      held.clear();
    };
    while (!graph.ready[r].empty() && graph.busy[r] < limit(static_cast<Resource>(r))) {
      const Node& node = *graph.ready[r].top();
      graph.ready[r].pop();
      const bool is_launched_now = r != kCommunication || is_launched(end, graph, node);
      const std::optional<Next> next = is_launched_now ? next_of(end, graph, node) : std::nullopt;
      if (!next) {
        held.push_back(&node);
        continue;
      }
      ++graph.busy[r];
      issue(end, graph, node, *next);
      put_back();  // it may be the next by now
    }
    put_back();
  }
}

BeginOrder::Item GraphEngine::item_of(const End& end, const Graph& graph, const Node& node) const {
  const bool is_of_trace = graph.parent == nullptr && node.type != NodeType::kReceive;
  if (!order_ || !is_of_trace) return BeginOrder::kNone;
  const std::uint64_t lower = steady_ ? steady_->lower(static_cast<std::size_t>(end.rank->index), node.id).node : 0;
  return order_->item_of(end.rank->index, node.id - lower);
}

void GraphEngine::wake_others(const End& end) {
  if (!order_->has_changed()) return;
  for (const auto& other : ends_) {
    if (other.get() != &end && std::exchange(other->holds_back, false)) other->events->signal(kWake);
  }
}

double GraphEngine::done_by_mean() const {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < ends_.size(); ++r) sum += ends_[r]->done + (steady_ ? steady_->counts(r).nodes : 0);
  return static_cast<double>(sum) / static_cast<double>(ends_.size());
}

void GraphEngine::done(End& end, Work work) {
  Graph& graph = *work.graph;
  const Node& node = *work.node;
  const Resource resource = resource_of(node);
  if (graph.limited && node.type != NodeType::kReceive) --graph.busy[resource];
  if (end.probe != nullptr) draw(end, work);
  ++end.done;
  if (steady_ && resource == kCompute && graph.parent == nullptr) {
    steady_->ended(static_cast<std::size_t>(end.rank->index), node.id);
  }
  if (resource == kCompute && graph.parent == nullptr) {
    if (const auto host = chakra::host_times_of(node)) end.host.ended(node.id, host->waits, end.rank->processor->now());
  }
  if (resource == kCompute && ends_step_ && ends_step_(node.name)) end.step_ends.push_back(end.rank->processor->now());
  if (order_ && resource == kCommunication) {
    const BeginOrder::Item item = item_of(end, graph, node);
    if (item != BeginOrder::kNone) order_->end(end.rank->index, item);
  }
  graph.window->complete(node.id);
  advance(end, graph);
}

std::uint32_t GraphEngine::stream_of(End& end, const Node& node) {
  const auto next = static_cast<std::uint32_t>(end.streams.size() % static_cast<std::size_t>(end.rank->streams));
  return end.streams.try_emplace(node.stream(), next).first->second;
}

void GraphEngine::finish(End& end, Graph& graph) {
  if (graph.parent == nullptr) {
    if (end.finished == kNever) end.finished = end.rank->processor->now();
    if (end.phases) end.phases->finish();
    return;
  }
  const Work work{graph.parent, graph.parent_node, graph.began};
  if (graph.watched) graph.watched->end();
  if (end.customs.erase(&graph) != 0) done(end, work);
}

std::uint64_t GraphEngine::remember(End& end, Graph& graph, const Node& node) {
  if (end.free_works.empty()) {
    end.free_works.push_back(end.works.size());
    end.works.emplace_back();
  }
  const std::uint64_t token = end.free_works.back();
  end.free_works.pop_back();
  end.works[token] = {&graph, &node, end.rank->processor->now()};
  return token;
}

GraphEngine::Work GraphEngine::recall(End& end, std::uint64_t token) {
  end.free_works.push_back(token);
  return std::exchange(end.works[token], {});
}

std::vector<Time> GraphEngine::step_ends() const {
  return ends_of_all(ends_, [](const auto& end) -> const std::vector<Time>& { return end->step_ends; });
}

GraphResult GraphEngine::result() const {
  GraphResult result;
  result.of_first = ends_.front()->tally;
  Time left_out;
  if (steady_) {
    left_out = steady_->rows().time();
    result.left_out = steady_->rows().left_out();
    result.of_first.add(steady_->tally());
    for (const LeftOutPieces& each : result.left_out) {
      if (!steady_->rows().verifies()) result.busy += each.busy;
    }
    for (std::size_t r = 0; r < ends_.size(); ++r) {
      const GraphSteady::Counts& counts = steady_->counts(r);
      result.nodes += counts.nodes;
      result.collectives += counts.collectives;
      result.messages += counts.receives;
      result.transfers += counts.transfers;
    }
  }
  for (const auto& end : ends_) {
    result.finished.push_back(end->finished == kNever ? kNever : end->finished - started_ + left_out);
    result.nodes += end->done;
    result.collectives += end->collectives;
    result.messages += end->messages->count();
    result.transfers += end->transfers->count();
    if (end->rank->store == nullptr) continue;
    result.wrong =
        std::max<std::int64_t>(result.wrong, 0) + end->wrong + end->messages->wrong() + end->transfers->wrong();
  }
  return result;
}

std::string GraphEngine::held_back(Resource resource) const {
  const Node* first = nullptr;
  int rank = 0;
  std::size_t ranks = 0;
  for (const auto& end : ends_) {
    const auto& ready = end->trace.ready[resource];
    if (ready.empty() || end->trace.busy[resource] < limit(resource)) continue;
    ++ranks;
    if (first != nullptr) continue;
    first = ready.top();
    rank = end->rank->index;
  }
  if (first == nullptr) return {};
  const bool communicates = resource == kCommunication;
  const std::string field = communicates ? "workload.communications" : "workload.memories";
  return "rank " + std::to_string(rank) + (ranks > 1 ? " and " + std::to_string(ranks - 1) + " more" : "") +
         " could begin more, the former " + chakra::name_of(first->type) + " " + first->label() + ", but " + field +
         " is " + std::to_string(limit(resource)) + ": ranks that begin " +
         (communicates ? "collectives or sends" : "collectives of a remote memory") +
         " in a different order wait for each other; " + field + "=0 lets any number be under way";
}

std::vector<std::string> GraphEngine::remarks() const {
  std::vector<std::string> remarks;
  if (had_short_) {
    remarks.emplace_back(
        "involved_dim of a collective names fewer dimensions than the network has: the others are left out");
  }
  if (left_out_) remarks.emplace_back("collectives without involved_dim join only the first four dimensions");
  if (had_nobody_) remarks.emplace_back("a collective involves no dimension: it joins only one rank and takes no time");
  return remarks;
}

std::vector<std::string> GraphEngine::remarks_of_groups() const {
  std::vector<std::string> remarks;
  // What one group says of compressed collectives, others do as well.
  std::set<std::string> said;
  for (const auto& [name, group] : groups_) {
    if (group.communicator == nullptr || group.communicator->rank(0).compressed == 0) continue;
    if (std::string remark = group.communicator->remark(); !remark.empty() && said.insert(remark).second) {
      remarks.push_back(std::move(remark));
    }
  }
  return remarks;
}

collectives::CompressedAmount GraphEngine::compressed() const {
  collectives::CompressedAmount amount;
  for (const auto& [name, group] : groups_) {
    if (group.communicator != nullptr) amount.add(*group.communicator);
  }
  return amount;
}

std::vector<std::string> GraphEngine::unfinished() const {
  std::vector<std::string> lines;
  std::size_t count = 0;
  for (const auto& end : ends_) {
    if (end->finished != kNever) continue;
    if (++count > kMostTold) continue;
    std::string line = "rank " + std::to_string(end->rank->index) + " has under way";
    const char* separator = " ";
    std::size_t works = 0;
    for (const Work& work : end->works) {
      if (work.node == nullptr || ++works > kMostTold) continue;
      line += separator + chakra::name_of(work.node->type) + " " + work.node->label();
      if (work.graph->parent != nullptr) line += " of " + work.graph->window->file().string();
      separator = ", ";
    }
    if (works > kMostTold) line += " and " + std::to_string(works - kMostTold) + " more";
    lines.push_back(line);
  }
  if (count > 0) {
    std::size_t held = 0;
    for (const auto& end : ends_) {
      std::string line = held_by_others(*end);
      if (!line.empty() && ++held <= kMostTold) lines.insert(lines.begin(), std::move(line));
    }
    for (const Resource resource : {kCommunication, kMemory}) {
      if (std::string line = held_back(resource); !line.empty()) lines.insert(lines.begin(), std::move(line));
    }
    lines.insert(lines.begin(), traces_.prefix.string() + ": " + std::to_string(count) + " of " +
                                    std::to_string(ends_.size()) + " ranks have not done their traces");
  }
  return lines;
}

}  // namespace weft::schedules
