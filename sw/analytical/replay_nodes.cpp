// SPDX-License-Identifier: Apache-2.0
// What each type of node does.
#include <algorithm>
#include <cmath>

#include "sw/analytical/replay.h"
#include "traces/chakra/ranks.h"

namespace weft::analytical {

using chakra::CollectiveType;
using chakra::Node;

void Replay::fail(const Graph& graph, const Node& node, const std::string& message) {
  throw traces::FormatError(graph.window->file().string(), 0, node.label() + " " + message);
}

std::int64_t Replay::need(const Graph& graph, const Node& node, std::optional<std::int64_t> value,
                          const char* attribute) {
  if (!value.has_value()) fail(graph, node, std::string("has no ") + attribute);
  if (*value < 0) fail(graph, node, std::string(attribute) + ": expected 0 or more, got " + std::to_string(*value));
  return *value;
}

Time Replay::duration_of(const Node& node) {
  return std::max(Time(static_cast<std::int64_t>(node.duration_nanos()) * 1000), Time(1000));
}

Time Replay::compute_time(const Graph& graph, const Node& node) {
  const auto counted = [&](Time length, const std::optional<EndStatistics::Roofline>& roofline = {}) {
    if (graph.limited) statistics_.add_compute(graph.end, length, roofline);
    return length;
  };
  if (!end_.roofline || node.is_cpu_op()) return counted(duration_of(node));
  const auto operations = static_cast<double>(need(graph, node, node.num_ops(), "num_ops"));
  const auto bytes = static_cast<double>(need(graph, node, node.tensor_size(), "tensor_size"));
  const double peak = end_.peak_tflops * 1e12;
  const double rate = bytes > 0 ? std::min(end_.memory_GBps * 1e9 * (operations / bytes), peak) : peak;
  const EndStatistics::Roofline reached{operations, bytes, rate, peak, end_.memory_GBps * 1e9};
  if (operations == 0) return counted(whole_ns(bytes / end_.memory_GBps), reached);
  return counted(whole_ns(operations / rate * 1e9), reached);
}

Time Replay::remote_memory_done(Time now, const Graph& graph, const Node& node) {
  if (end_.remote_memory == RemoteMemory::kNone) {
    fail(graph, node,
         "moves remote memory, and the machine has none: expected a memory-type other than "
         "NO_MEMORY_EXPANSION");
  }
  const auto bytes = static_cast<double>(need(graph, node, node.tensor_size(), "tensor_size"));
  const Time length = whole_ns(end_.remote_latency_ns + std::floor(bytes / end_.remote_GBps));
  if (end_.remote_memory == RemoteMemory::kPerEnd) return now + length;
  Time& free = memory_free_[end_.remote_memory == RemoteMemory::kPool
                                ? 0
                                : graph.end / static_cast<std::uint32_t>(end_.ends_per_node)];
  free = std::max(free, now) + length;
  return free;
}

void Replay::issue_collective(Time now, Graph& graph, const Node& node) {
  const std::optional<CollectiveType> type = node.comm_type();
  if (!type.has_value()) fail(graph, node, "has no comm_type");
  if (*type == CollectiveType::kBroadcast) {
    return dispatcher_.post(now + duration_of(node), *this, kNodeDone, remember({&graph, &node}));
  }
  Operation operation{};
  std::int64_t bytes = 0;
  switch (*type) {
    case CollectiveType::kAllReduce:
      operation = Operation::kAllReduce;
      break;
    case CollectiveType::kAllGather:
      operation = Operation::kAllgather;
      break;
    case CollectiveType::kReduceScatter:
    case CollectiveType::kReduceScatterBlock:
      operation = Operation::kReduceScatter;
      break;
    case CollectiveType::kAllToAll:
      operation = Operation::kAllToAll;
      break;
    case CollectiveType::kBarrier:
      operation = Operation::kAllReduce;  // of nothing
      break;
    default:
      fail(
          graph, node,
          "is a " + chakra::name_of(*type) +
              ": ASTRA-sim's arithmetic has ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST and BARRIER; "
              "Weft's machine has it, too (weft import without --analytical)");
  }
  if (*type != CollectiveType::kBarrier) bytes = need(graph, node, node.comm_size(), "comm_size");
  const auto given = node.involved_dim();
  std::uint32_t involved = Collectives::kAllDimensions;
  for (std::size_t i = 0; given.has_value() && i < std::min(given->size(), network_.dimensions().size()); ++i) {
    if (!(*given)[i]) involved &= ~(1U << i);
  }
  const std::string name = traces_.key_of(graph.end, node.pg_name());
  const auto group = groups_.find(name);
  if (group == groups_.end())
    fail(graph, node, "is of group \"" + name + "\", which neither the metadata of the trace nor a groups file names");
  const std::vector<std::uint32_t>& members = group->second.members;
  if (!members.empty() && std::find(members.begin(), members.end(), graph.end) == members.end()) {
    fail(graph, node, "is of group \"" + name + "\", to which end " + std::to_string(graph.end) + " does not belong");
  }
  if (involved != Collectives::kAllDimensions && !members.empty()) {
    fail(graph, node, "leaves dimensions out (involved_dim), of which its group \"" + name + "\" has one");
  }
  const std::filesystem::path* custom = traces_.custom_of(node.id, operation);
  if (custom != nullptr) return start_custom(now, graph, node, *custom);
  collectives_.enter(now, graph.end, group->second, operation, bytes, node.comm_priority(), remember({&graph, &node}),
                     involved);
}

void Replay::start_custom(Time now, Graph& graph, const Node& node, const std::filesystem::path& prefix) {
  auto custom = std::make_unique<Graph>();
  custom->end = graph.end;
  custom->window = std::make_unique<chakra::TraceWindow>(chakra::find_rank(prefix, graph.end),
                                                         chakra::TraceWindow::kReadAhead, records_);
  custom->limited = false;
  custom->instance = ++ends_[graph.end].customs;
  custom->parent = &graph;
  custom->parent_node = &node;
  Graph& started = *custom;
  customs_.emplace(&started, std::move(custom));
  advance(now, started);
}

Replay::Channel Replay::channel(const Graph& graph, const Node& node, bool sends) const {
  const std::int64_t own = graph.end;
  const std::int64_t from = node.comm_src().value_or(own);
  const std::int64_t to = node.comm_dst().value_or(own);
  if ((sends ? from : to) != own) {
    fail(graph, node,
         std::string(sends ? "comm_src" : "comm_dst") + ": expected the end itself, " + std::to_string(own) + ", got " +
             std::to_string(sends ? from : to));
  }
  const std::int64_t other = sends ? to : from;
  if (other == own) {
    fail(graph, node, std::string("says in ") + (sends ? "comm_dst" : "comm_src") + " no other end to exchange with");
  }
  if (other < 0 || other >= network_.ends()) {
    fail(graph, node,
         std::string(sends ? "comm_dst" : "comm_src") + ": expected an end below " + std::to_string(network_.ends()) +
             ", got " + std::to_string(other));
  }
  return {graph.instance, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), node.comm_tag()};
}

void Replay::issue_send(Time now, Graph& graph, const Node& node) {
  const Channel to = channel(graph, node, true);
  const std::int64_t bytes = need(graph, node, node.comm_size(), "comm_size");
  network_.send(now, to.from, to.to, bytes, *this, kMessage, remember({&graph, &node}));
}

void Replay::issue_receive(Time now, Graph& graph, const Node& node) {
  const auto at = mailboxes_.try_emplace(channel(graph, node, false)).first;
  const Mailbox::Receive receive{{&graph, &node}, need(graph, node, node.comm_size(), "comm_size")};
  if (at->second.arrived.empty()) {
    at->second.awaited.push_back(receive);
    return;
  }
  compare(receive, at->second.arrived.front());
  at->second.arrived.pop_front();
  if (at->second.arrived.empty()) mailboxes_.erase(at);
  dispatcher_.post(now, *this, kNodeDone, remember(receive.work));
}

void Replay::compare(const Mailbox::Receive& receive, std::int64_t sent) {
  if (sent == receive.bytes) return;
  const Graph& graph = *receive.work.graph;
  fail(graph, *receive.work.node,
       "receives " + std::to_string(receive.bytes) + " bytes, and end " +
           std::to_string(receive.work.node->comm_src().value_or(graph.end)) + " sent " + std::to_string(sent));
}

}  // namespace weft::analytical
