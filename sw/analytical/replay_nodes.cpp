// SPDX-License-Identifier: Apache-2.0
// What each type of node does.
#include <algorithm>
#include <cmath>

#include "sw/analytical/replay.h"
#include "traces/chakra/involved.h"
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

/// At least a nanosecond; kNever for those that cannot be counted.
Time Replay::duration_of(const Node& node) {
  const std::uint64_t ns = node.duration_nanos();
  constexpr std::uint64_t kMost = INT64_MAX / 1000;
  return ns > kMost ? kNever : Time(std::max(static_cast<std::int64_t>(ns), std::int64_t{1}) * 1000);
}

Time Replay::compute_time(const Graph& graph, const Node& node) {
  const auto counted = [&](Time length, const std::optional<EndStatistics::Roofline>& roofline = {}) {
    if (graph.limited && length != kNever) statistics_.add_compute(graph.end, length, roofline);
    return length;
  };
  if (!end_.roofline || !graph.limited || node.is_cpu_op()) return counted(duration_of(node));
  const auto operations = static_cast<double>(need(graph, node, node.num_ops(), "num_ops"));
  const auto bytes = static_cast<double>(need(graph, node, node.tensor_size(), "tensor_size"));
  const double peak = end_.peak_tflops * 1e12;
  const double rate = bytes > 0 ? std::min(end_.memory_GBps * 1e9 * (operations / bytes), peak) : peak;
  const EndStatistics::Roofline reached{operations, bytes, rate, peak, end_.memory_GBps * 1e9};
  if (operations == 0) return counted(whole_ns(bytes / end_.memory_GBps), reached);
  return counted(whole_ns(operations / rate * 1e9), reached);
}

Time Replay::remote_memory_time(const Graph& graph, const Node& node) const {
  const auto bytes = static_cast<double>(need(graph, node, node.tensor_size(), "tensor_size"));
  return whole_ns(end_.remote_latency_ns + std::floor(bytes / end_.remote_GBps));
}

std::uint32_t Replay::memory_of(const Graph& graph) const {
  return end_.remote_memory == RemoteMemory::kPool ? 0 : graph.end / static_cast<std::uint32_t>(end_.ends_per_node);
}

void Replay::issue_memory(Time now, Graph& graph, const Node& node) {
  if (end_.remote_memory == RemoteMemory::kNone) {
    fail(graph, node,
         "moves remote memory, and the machine has none: expected a memory-type other than "
         "NO_MEMORY_EXPANSION");
  }
  if (end_.remote_memory == RemoteMemory::kPerEnd) {
    const Time length = remote_memory_time(graph, node);
    return call_done(after(now, length), graph, node);
  }
  SharedMemory& memory = memories_[memory_of(graph)];
  const std::uint64_t work = remember({&graph, &node});
  if (memory.busy) return memory.waiting.push_back(work);
  memory.busy = true;
  move_memory(now, work);
}

void Replay::move_memory(Time now, std::uint64_t work) {
  const Graph& graph = *works_[work].graph;
  const Time length = remote_memory_time(graph, *works_[work].node);
  const Time at = after(now, length);
  agenda_.call(at, graph.end, Entry(actor_, work * kKinds + kNodeDone));
  agenda_.call(at, graph.end, Entry(actor_, memory_of(graph) * kKinds + kMemoryFree));
}

void Replay::memory_is_free(Time now, std::uint32_t number) {
  SharedMemory& memory = memories_[number];
  memory.busy = !memory.waiting.empty();
  if (!memory.busy) return;
  const std::uint64_t next = memory.waiting.front();
  memory.waiting.pop_front();
  move_memory(now, next);
}

void Replay::issue_collective(Time now, Graph& graph, const Node& node) {
  const std::optional<CollectiveType> type = node.comm_type();
  if (!type.has_value()) fail(graph, node, "has no comm_type");
  if (*type == CollectiveType::kBroadcast) {
    const Time length = duration_of(node);
    return call_done(after(now, length), graph, node);
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
  const std::string name = traces_.key_of(graph.end, node.pg_name());
  const auto group = groups_.find(name);
  if (group == groups_.end())
    fail(graph, node, "is of group \"" + name + "\", which neither the metadata of the trace nor a groups file names");
  const std::vector<std::uint32_t>& members = group->second.members;
  if (!members.empty() && std::find(members.begin(), members.end(), graph.end) == members.end()) {
    fail(graph, node, "is of group \"" + name + "\", to which end " + std::to_string(graph.end) + " does not belong");
  }
  const std::filesystem::path* custom = traces_.custom_of(node.id, operation);
  if (custom != nullptr) {
    collectives_.count_custom(graph.end, operation, bytes);
    return start_custom(now, graph, node, *custom, traces_.custom_place(graph.end, name));
  }
  collectives_.enter(now, graph.end, group->second, operation, bytes, node.comm_priority(), remember({&graph, &node}),
                     name.empty() ? involved_in(node, operation) : Collectives::kAllDimensions, node.id,
                     *type == CollectiveType::kBarrier ? "barrier" : "");
}

/// A bit for each dimension, of a collective of everybody. A named group has all dimensions, whatever the node says.
std::uint32_t Replay::involved_in(const Node& node, Operation operation) {
  const std::size_t count = network_.dimensions().size();
  const chakra::Involved involved = chakra::involved_in(node.involved_dim(), count);
  const bool joins = collectives_.joins_dimensions(operation);  // then all are one, and none is left out
  had_short_ |= involved.is_short && !joins;
  left_out_ |= involved.is_default && !joins;
  std::uint32_t bits = 0;
  bool has_all = true;
  for (std::size_t i = 0; i < count; ++i) {
    if (involved.dimensions[i]) bits |= 1U << i;
    has_all = has_all && involved.dimensions[i];
  }
  return has_all ? Collectives::kAllDimensions : bits;
}

void Replay::start_custom(Time now, Graph& graph, const Node& node, const std::filesystem::path& prefix,
                          const dimensions::CustomPlace& place) {
  auto custom = std::make_unique<Graph>();
  custom->end = graph.end;
  custom->window = std::make_unique<chakra::TraceWindow>(chakra::find_rank(prefix, place.file),
                                                         chakra::TraceWindow::kReadAhead, records_);
  custom->limited = false;
  custom->members = place.members;
  constexpr std::uint64_t kMostOfGroup = 1U << 18;
  custom->instance = 1 + place.group * kMostOfGroup + ends_[graph.end].customs[place.group]++ % kMostOfGroup;
  custom->parent = &graph;
  custom->parent_node = &node;
  Graph& started = *custom;
  customs_.emplace(&started, std::move(custom));
  advance(now, started);
}

Mailboxes::Message Replay::message(const Graph& graph, const Node& node, bool sends) const {
  const std::int64_t own = graph.end;
  const char* const peer = sends ? "comm_dst" : "comm_src";
  const std::int64_t self = (sends ? node.comm_src() : node.comm_dst()).value_or(own);
  if (graph.members == nullptr && self != own) {
    fail(graph, node,
         std::string(sends ? "comm_src" : "comm_dst") + ": expected the end itself, " + std::to_string(own) + ", got " +
             std::to_string(self));
  }
  std::int64_t other = (sends ? node.comm_dst() : node.comm_src()).value_or(graph.members == nullptr ? own : -1);
  const std::int64_t ends =
      graph.members == nullptr ? network_.ends() : static_cast<std::int64_t>(graph.members->size());
  if (other < 0 || other >= ends) {
    fail(graph, node,
         std::string(peer) + ": expected " + (graph.members == nullptr ? "an end" : "a member of its group") +
             " below " + std::to_string(ends) + ", got " + std::to_string(other));
  }
  if (graph.members != nullptr) other = (*graph.members)[static_cast<std::size_t>(other)];
  if (other == own) fail(graph, node, std::string("says in ") + peer + " no other end to exchange with");
  const std::int64_t from = sends ? own : other;
  const std::int64_t to = sends ? other : own;
  const std::int64_t tag = node.comm_tag();
  if (tag < 0 || tag > UINT32_MAX) {
    fail(graph, node, "comm_tag: expected 0 to " + std::to_string(UINT32_MAX) + ", got " + std::to_string(tag));
  }
  constexpr std::uint64_t kInstances = 1U << 30;
  const std::uint64_t purpose = kPurpose | (graph.instance % kInstances) << 32 | static_cast<std::uint64_t>(tag);
  return {purpose, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
          need(graph, node, node.comm_size(), "comm_size")};
}

void Replay::issue_send(Time now, Graph& graph, const Node& node) {
  const Mailboxes::Message sent = message(graph, node, true);
  network_.mailboxes().send(now, sent, Entry(actor_, remember({&graph, &node}) * kKinds + kNodeDone));
}

void Replay::issue_receive(Time now, Graph& graph, const Node& node) {
  const Mailboxes::Message received = message(graph, node, false);
  network_.mailboxes().receive(now, received, Entry(actor_, remember({&graph, &node}) * kKinds + kNodeDone));
}

}  // namespace weft::analytical
