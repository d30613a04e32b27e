// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/replay.h"

#include <algorithm>
#include <utility>

#include "traces/chakra/check.h"
#include "traces/chakra/ranks.h"

namespace weft::analytical {

using chakra::Node;
using chakra::NodeType;

namespace {

constexpr std::size_t kMostTold = 8;  // ends in a report

}  // namespace

Replay::Replay(sc_core::sc_module_name name, Dispatcher& dispatcher, Network& network,
               const CollectiveConfig& collectives, const EndConfig& end, dimensions::Workload traces)
    : sc_module(name),
      dispatcher_(dispatcher),
      network_(network),
      agenda_(network.agenda()),
      actor_(agenda_.add(*this)),
      end_(end),
      traces_(std::move(traces)),
      collectives_(network, collectives, *this, end.bus),
      statistics_(network.ends()) {
  if (end_.roofline && !end_.replay_only && end_.peak_tflops <= 0) {
    throw ConfigError("analytical.end.peak_tflops", "expected more than 0 for the roofline");
  }
  if (end_.remote_memory != RemoteMemory::kNone && !end_.replay_only && end_.remote_GBps <= 0) {
    throw ConfigError("analytical.end.remote_GBps", "expected more than 0");
  }
  std::uint32_t id = 0;
  groups_[""] = {id++, {}};
  for (const auto& [group, members] : traces_.groups) {
    // A group of everybody has the dimensions of the network.
    const bool all = members.size() == network.ends();
    groups_[group] = {id++, all ? std::vector<std::uint32_t>() : members};
  }
  for (std::uint32_t e = 0; e < network.ends(); ++e) {
    ends_.emplace_back();
    Graph& graph = ends_.back().trace;
    graph.end = e;
    graph.window =
        std::make_unique<chakra::TraceWindow>(traces_.shared ? traces_.prefix : chakra::find_rank(traces_.prefix, e),
                                              chakra::TraceWindow::kReadAhead, records_);
    if (traces_.shared) graph.window->set_name(traces_.source);
  }
  dispatcher.attach(*this, this->name());
}

Replay::~Replay() = default;

void Replay::record(Probe& probe, std::uint32_t ends) {
  const bool remote_memory = end_.remote_memory != RemoteMemory::kNone || end_.replay_only;
  timeline_ = std::make_unique<EndTimeline>(probe, std::min(ends, network_.ends()), remote_memory);
}

void Replay::start_of_simulation() {
  dispatcher_.post(Time(), *this, 0);
}

Replay::Resource Replay::resource_of(const Node& node) const {
  if (end_.replay_only && node.is_cpu_op()) return kCpu;
  if (node.type == NodeType::kReceive) return kReceiving;
  if (node.type == NodeType::kCollective || node.type == NodeType::kSend) return kCommunication;
  if (node.is_cpu_op()) return kCpu;
  return node.type == NodeType::kCompute ? kCompute : kCommunication;
}

/// Issues what its dependencies and resources allow.
void Replay::advance(Time now, Graph& graph) {
  try {
    issue_ready(now, graph);
  } catch (const chakra::AttributeError& error) {
    throw traces::FormatError(graph.window->file().string(), 0, error.what());
  }
  if (graph.window->done()) finish(now, graph);
}

void Replay::issue_ready(Time now, Graph& graph) {
  while (const Node* node = graph.window->next()) {
    ++nodes_;
    if (node->type == NodeType::kMetadata) {
      // At once, so that what comes after it takes its place by its id among what is ready.
      had_metadata_ = true;
      graph.window->complete(node->id);
    } else if (!graph.limited) {
      issue(now, graph, *node);
    } else {
      graph.ready[resource_of(*node)].push(node);
    }
  }
  while (true) {
    int lowest = kResources;
    for (int r = 0; r < kResources; ++r) {
      if (graph.busy[r] || graph.ready[r].empty()) continue;
      if (lowest == kResources || graph.ready[r].top()->id < graph.ready[lowest].top()->id) lowest = r;
    }
    if (lowest == kResources) break;
    const Node& node = *graph.ready[lowest].top();
    graph.ready[lowest].pop();
    graph.busy[lowest] = lowest != kReceiving;
    issue(now, graph, node);
  }
}

namespace {

/// Nothing where a node takes no time by its nature.
std::optional<Activity> activity_of(const Node& node) {
  switch (node.type) {
    case NodeType::kMemoryLoad:
    case NodeType::kMemoryStore:
      return Activity::kRemoteMemory;
    case NodeType::kCompute:
      return node.is_cpu_op() ? Activity::kCpu : Activity::kCompute;
    case NodeType::kSend:
    case NodeType::kReceive:
    case NodeType::kCollective:
      return Activity::kCommunication;
    default:
      return std::nullopt;
  }
}

}  // namespace

/// Nodes of a collective's own implementation are part of the collective.
void Replay::begun(Time now, const Graph& graph, const Node& node) {
  const std::optional<Activity> activity = activity_of(node);
  if (!graph.limited || !activity) return;
  statistics_.begin(now, graph.end, *activity);
  const bool communicates = *activity == Activity::kCommunication && !end_.replay_only;
  if (communicates && node.type != NodeType::kReceive) {
    statistics_.add_bytes(graph.end, node.comm_size().value_or(0));
  }
  if (timeline_ && timeline_->draws(graph.end)) timeline_->begin(now, graph.end, node);
}

void Replay::ended(Time now, const Graph& graph, const Node& node) {
  const std::optional<Activity> activity = activity_of(node);
  if (!graph.limited || !activity) return;
  statistics_.end(now, graph.end, *activity);
  if (timeline_ && timeline_->draws(graph.end)) timeline_->end(now, graph.end, node);
}

void Replay::issue(Time now, Graph& graph, const Node& node) {
  begun(now, graph, node);
  const auto done_after = [&](Time length) {
    if (length == kNever) fail(graph, node, "takes longer than a run can, which counts to 53 days");
    call_done(after(now, length), graph, node);
  };
  if (end_.replay_only) return done_after(duration_of(node));
  if (graph.parent != nullptr && !chakra::is_part_of_implementation(node.type)) {
    fail(graph, node,
         "is of type " + chakra::name_of(node.type) + ", which no implementation of a collective has: expected " +
             chakra::kImplementationParts);
  }
  switch (node.type) {
    case NodeType::kCompute:
      return done_after(compute_time(graph, node));
    case NodeType::kMemoryLoad:
    case NodeType::kMemoryStore:
      return issue_memory(now, graph, node);
    case NodeType::kSend:
      return issue_send(now, graph, node);
    case NodeType::kReceive:
      return issue_receive(now, graph, node);
    case NodeType::kCollective:
      return issue_collective(now, graph, node);
    case NodeType::kMetadata:
    case NodeType::kInvalid:
      break;
  }
  fail(graph, node, "is of type " + chakra::name_of(node.type) + ", which nobody can execute");
}

void Replay::done(Time now, Work work) {
  Graph& graph = *work.graph;
  ended(now, graph, *work.node);
  if (graph.limited) graph.busy[resource_of(*work.node)] = false;
  graph.window->complete(work.node->id);
  advance(now, graph);
}

void Replay::finish(Time now, Graph& graph) {
  if (graph.parent == nullptr) {
    if (ends_[graph.end].finished == kNever) ends_[graph.end].finished = now;
    return;
  }
  const Work work{graph.parent, graph.parent_node};
  if (customs_.erase(&graph) != 0) done(now, work);
}

void Replay::on_event(Time now, std::uint32_t /*tag*/, std::uint64_t /*data*/) {
  for (End& end : ends_) advance(now, end.trace);
}

void Replay::act(Time now, std::uint64_t what) {
  if (what % kKinds == kNodeDone) {
    done(now, recall(what / kKinds));
  } else {
    memory_is_free(now, static_cast<std::uint32_t>(what / kKinds));
  }
}

void Replay::call_done(Time at, Graph& graph, const Node& node) {
  agenda_.call(at, graph.end, Entry(actor_, remember({&graph, &node}) * kKinds + kNodeDone));
}

void Replay::collective_done(Time now, std::uint32_t /*rank*/, std::uint64_t token) {
  done(now, recall(token));
}

std::uint64_t Replay::remember(Work work) {
  if (free_works_.empty()) {
    free_works_.push_back(works_.size());
    works_.emplace_back();
  }
  const std::uint64_t token = free_works_.back();
  free_works_.pop_back();
  works_[token] = work;
  return token;
}

Replay::Work Replay::recall(std::uint64_t token) {
  free_works_.push_back(token);
  return works_[token];
}

/// Receives that wait for messages, sorted by end.
std::string Replay::receives_left() const {
  using Left = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::int64_t>;
  std::map<Left, Entry> left;
  network_.mailboxes().each_left([&](const Mailboxes::Message& message, Entry waits) {
    if ((message.purpose & kPurpose) == 0 || (message.purpose & Mailboxes::kRequest) != 0) return;
    left[{message.to, message.from, message.purpose, message.bytes}] = waits;
  });
  std::string text;
  std::size_t told = 0;
  for (const auto& [receive, waits] : left) {
    const auto& [to, from, purpose, bytes] = receive;
    if (waits.nothing() || ends_[to].finished != kNever || ++told > kMostTold) continue;
    // With rendezvous it is the mailboxes' own entry.
    const bool named = waits.actor() == actor_;
    std::string node = "a receive";
    if (named) {
      const Work& work = works_[waits.what() / kKinds];
      node = work.node->label();
      if (work.graph->parent != nullptr) node += " of " + work.graph->window->file().string();
    }
    text += "\n  end " + std::to_string(to) + ": " + node + " waits for a message of end " + std::to_string(from) +
            " with tag " + std::to_string(purpose & UINT32_MAX);
    for (const auto& [other, waiting] : left) {
      const auto& [other_to, other_from, other_purpose, other_bytes] = other;
      const bool equal = other_to == to && other_from == from && other_purpose == purpose;
      if (!equal || !waiting.nothing()) continue;
      text += "; it receives " + std::to_string(bytes) + " bytes, and " + std::to_string(other_bytes) + " were sent";
    }
  }
  if (told > kMostTold) text += "\n  and " + std::to_string(told - kMostTold) + " more receives";
  return text;
}

std::string Replay::group_text(std::uint32_t id) const {
  const auto group =
      std::find_if(groups_.begin(), groups_.end(), [&](const auto& known) { return known.second.id == id; });
  return group == groups_.end() || group->first.empty() ? "all ends" : "group \"" + group->first + '"';
}

std::string Replay::dimensions_text(std::uint32_t involved) const {
  if (involved == Collectives::kAllDimensions) return "";
  std::string text;
  for (std::size_t i = 0; i < network_.dimensions().size(); ++i) {
    if ((involved >> i & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(i);
  }
  return (text.find(',') == std::string::npos ? " in dimension " : " in dimensions ") + text;
}

/// What members of a group have begun as one collective, where that differs.
std::string Replay::different_orders() const {
  const Collectives::Mismatch& found = *collectives_.mismatch();
  const auto text = [this](const Collectives::Mismatch::Member& of) {
    return "end " + std::to_string(of.end) + " began node " + std::to_string(of.node) + ", " + std::string(of.name) +
           " of " + std::to_string(of.bytes) + " bytes" + dimensions_text(of.involved);
  };
  return "Ends of a group began different collectives: as number " + std::to_string(found.number + 1) + " of " +
         group_text(found.group) + " " + text(found.first) + ", and " + text(found.other) +
         (found.is_of_dimensions() ? ", which ASTRA-sim numbers together whatever dimensions they involve" : "");
}

std::string Replay::numbered_apart(const Collectives::Mismatch& found) const {
  const auto text = [](const Collectives::Mismatch::Member& of) {
    return "end " + std::to_string(of.end) + " as number " + std::to_string(of.number + 1) + " with node " +
           std::to_string(of.node);
  };
  return "Ends began the " + std::string(found.first.name) + " of " + std::to_string(found.first.bytes) + " bytes of " +
         group_text(found.group) + dimensions_text(found.first.involved) + " at different numbers, " +
         text(found.first) + " and " + text(found.other) +
         ". ASTRA-sim numbers the collectives of all ends together, whatever dimensions they involve: one order on all "
         "ends avoids it, as do groups by pg_name, and a run without the analytical network";
}

/// Collectives in which members of a group wait for others of it.
std::string Replay::partly_begun() const {
  std::string text;
  std::size_t told = 0;
  for (const Collectives::Partly& each : collectives_.partly_entered()) {
    if (++told > kMostTold) continue;
    text += std::string(told == 1 ? ". Ends wait in collectives that other members of their groups have not begun: "
                                  : ", ") +
            "the " + std::string(each.name) + " of " + std::to_string(each.bytes) + " bytes of " +
            group_text(each.group) + dimensions_text(each.involved) + ", which end " + std::to_string(each.end) +
            " has begun and " + std::to_string(each.others) +
            (each.others == 1 ? " member has not" : " members have not");
  }
  if (told > kMostTold) text += ", and " + std::to_string(told - kMostTold) + " more";
  return text;
}

void Replay::check_finished() const {
  std::string text;
  std::size_t unfinished = 0;
  std::size_t waiting = 0;  // communications
  for (std::uint32_t e = 0; e < ends_.size(); ++e) {
    if (ends_[e].finished != kNever) continue;
    waiting += ends_[e].trace.ready[kCommunication].size();
    if (++unfinished > kMostTold) continue;
    text +=
        "\n  end " + std::to_string(e) + ": " + std::to_string(ends_[e].trace.window->out()) + " nodes are under way";
    const std::string chunks = collectives_.waits_for(e);
    if (!chunks.empty()) text += "; " + chunks;
  }
  if (unfinished == 0) {
    if (!collectives_.mismatch() || !collectives_.mismatch()->is_of_dimensions()) return;
    throw ReplayError(traces_.prefix.string() + ": " + different_orders() +
                      ", and their messages are the same: what they have computed is no collective. Dependencies that "
                      "give all ends one order avoid it, and a run without the analytical network takes an order that "
                      "all can follow");
  }
  std::string cause;
  if (collectives_.mismatch()) {
    cause =
        ". " + different_orders() +
        ". An end takes its collectives in the order in which they can begin, by dependencies, times and ids, as in "
        "ASTRA-sim: dependencies that give all ends one order avoid it, and a run without the analytical network "
        "takes an order that all can follow";
  } else if (const auto apart = collectives_.numbered_apart()) {
    cause = ". " + numbered_apart(*apart);
  } else if (waiting > 0) {
    cause =
        ". " + std::to_string(waiting) +
        (waiting == 1 ? " collective or send could begin and waits" : " collectives and sends could begin and wait") +
        " for those under way, as an end has one at a time, as in "
        "ASTRA-sim: ends that take collectives of several groups in different orders wait for each other, unless "
        "dependencies in their traces give all the same order";
  }
  if (collectives_.waits_for_places()) {
    cause +=
        ". Chunks hold the places of a dimension while they wait for chunks that other ends have not begun, as in "
        "ASTRA-sim: as many active chunks as a collective has avoid that (analytical.collectives.active_chunks of at "
        "least splits; in ASTRA-sim's file active-chunks-per-dimension of at least preferred-dataset-splits)";
  }
  if (const std::string begun = partly_begun(); !begun.empty()) cause += begun;
  throw ReplayError(traces_.prefix.string() + ": " + std::to_string(unfinished) + " of " +
                    std::to_string(ends_.size()) + " ends have not done their traces, and nothing goes on" + cause +
                    ":" + text + receives_left());
}

std::vector<std::string> Replay::remarks() const {
  std::vector<std::string> remarks = collectives_.remarks();
  if (agenda_.at_zero()) {
    remarks.emplace_back(
        "something ends at 0 ns (endpoint_delay 0, or a node or a message that takes less than 1 ns), where ASTRA-sim "
        "stops with an error");
  }
  if (network_.mailboxes().had_empty()) {
    remarks.emplace_back("a message has no bytes, at which ASTRA-sim stops with an error");
  }
  if (had_metadata_) {
    remarks.emplace_back("a trace has metadata nodes, which take no time and at which ASTRA-sim stops with an error");
  }
  const Dimension& first = network_.dimensions().front();
  if (network_.congestion() == Congestion::kAware && first.block == Block::kRing && first.size == 2) {
    remarks.emplace_back("a ring has two ends, at which ASTRA-sim stops with an error where links are shared");
  }
  if (had_short_) {
    remarks.emplace_back(
        "involved_dim of a collective names fewer dimensions than the network has: the others are left out, where "
        "ASTRA-sim reads beyond the list");
  }
  if (left_out_) {
    remarks.emplace_back("collectives without involved_dim join only the first four dimensions, as in ASTRA-sim");
  }
  if (collectives_.mismatch()) {
    remarks.push_back(different_orders() + ", whose messages are the same");
  }
  return remarks;
}

}  // namespace weft::analytical
