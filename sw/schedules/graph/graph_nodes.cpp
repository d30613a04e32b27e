// SPDX-License-Identifier: Apache-2.0
// What each type of node does.
#include <algorithm>
#include <stdexcept>
#include <variant>

#include "sw/collectives/reference.h"
#include "sw/schedules/graph/graph.h"
#include "sw/schedules/kernel_work.h"
#include "traces/chakra/check.h"
#include "traces/chakra/involved.h"
#include "traces/chakra/kernels.h"
#include "traces/chakra/ranks.h"
#include "traces/files/format_error.h"

namespace weft::schedules {

using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;
using collectives::DimensionGroup;
using collectives::Rooted;
using dimensions::Operation;
using firmware::Task;

namespace {

std::optional<Rooted> rooted_of(CollectiveType type) {
  switch (type) {
    case CollectiveType::kBroadcast:
      return Rooted::kBroadcast;
    case CollectiveType::kReduce:
      return Rooted::kReduce;
    case CollectiveType::kGather:
      return Rooted::kGather;
    case CollectiveType::kScatter:
      return Rooted::kScatter;
    default:
      return std::nullopt;
  }
}

/// A thread that ends after a while.
Task wait(firmware::Processor& processor, Time length, firmware::CompletionQueue& events, std::uint64_t token) {
  co_await processor.delay(length);
  events.signal(token);
}

/// Of a collective with a root: what its buffers are like.
Operation operation_of(CollectiveType type) {
  switch (type) {
    case CollectiveType::kAllReduce:
    case CollectiveType::kReduce:
    case CollectiveType::kBroadcast:
    case CollectiveType::kBarrier:  // of nothing
      return Operation::kAllReduce;
    case CollectiveType::kAllGather:
    case CollectiveType::kGather:
    case CollectiveType::kScatter:
      return Operation::kAllgather;
    case CollectiveType::kReduceScatter:
    case CollectiveType::kReduceScatterBlock:
      return Operation::kReduceScatter;
    case CollectiveType::kAllToAll:
      break;
  }
  return Operation::kAllToAll;
}

[[noreturn]] void fail(const chakra::TraceWindow& window, const Node& node, const std::string& message) {
  throw traces::FormatError(window.file().string(), 0, node.label() + " " + message);
}

/// Whether a memory node is a collective of the switches.
bool in_switch(const chakra::TraceWindow& window, const Node& node) {
  const chakra::Attribute* found = node.find("in_switch");
  if (found == nullptr) return false;
  const bool* value = std::get_if<bool>(&found->value);
  if (value == nullptr) fail(window, node, "in_switch: expected a boolean");
  return *value;
}

Time duration_of(const chakra::TraceWindow& window, const Node& node) {
  if (node.duration_nanos() > chakra::kMostNanos) {
    fail(window, node,
         "lasts " + std::to_string(node.duration_nanos()) + " ns: expected at most " +
             std::to_string(chakra::kMostNanos) + ", 104 days, since simulated time reaches 106");
  }
  return Time(static_cast<std::int64_t>(node.duration_nanos())) * 1000;
}

std::uint64_t need(const chakra::TraceWindow& window, const Node& node, std::optional<std::int64_t> value,
                   const char* attribute) {
  if (!value.has_value()) fail(window, node, std::string("has no ") + attribute);
  if (*value < 0) fail(window, node, std::string(attribute) + ": expected 0 or more, got " + std::to_string(*value));
  return static_cast<std::uint64_t>(*value);
}

/// What a kernel moves, 0 where the node does not say.
Bytes moved_by(const chakra::TraceWindow& window, const Node& node) {
  const std::int64_t bytes = node.tensor_size().value_or(0);
  if (bytes > chakra::kMostMoved) {
    fail(window, node,
         "tensor_size: expected at most " + std::to_string(chakra::kMostMoved) +
             " bytes, 4 PiB, which a kernel's slices can ask of one memory, got " + std::to_string(bytes));
  }
  return Bytes(bytes);
}

}  // namespace

void GraphEngine::issue(End& end, Graph& graph, const Node& node, const Next& next) {
  try {
    issue_by_type(end, graph, node, next);
  } catch (const firmware::OutOfMemory& error) {
    fail(*graph.window, node, std::string("asks for more memory than there is: ") + error.what());
  }
}

void GraphEngine::issue_by_type(End& end, Graph& graph, const Node& node, const Next& next) {
  if (graph.parent != nullptr && !chakra::is_part_of_implementation(node.type)) {
    fail(*graph.window, node,
         "is of type " + chakra::name_of(node.type) + ", which no implementation of a collective has: expected " +
             chakra::kImplementationParts);
  }
  switch (node.type) {
    case NodeType::kCompute:
      return node.is_cpu_op() ? issue_cpu(end, graph, node) : issue_kernel(end, graph, node);
    case NodeType::kSend:
    case NodeType::kReceive:
      return issue_message(end, graph, node);
    case NodeType::kCollective:
      return issue_collective(end, graph, node, next);
    case NodeType::kMemoryLoad:
    case NodeType::kMemoryStore:
      return issue_memory(end, graph, node);
    case NodeType::kMetadata:
    case NodeType::kInvalid:
      break;
  }
  fail(*graph.window, node, "is of type " + chakra::name_of(node.type) + ", which nobody can execute");
}

void GraphEngine::issue_cpu(End& end, Graph& graph, const Node& node) {
  const Time length = duration_of(*graph.window, node);
  end.rank->processor->spawn("CPU node", 1,
                             wait(*end.rank->processor, length, *end.events, remember(end, graph, node)));
}

ComputeTime GraphEngine::counted_in(const Graph& graph) const {
  // Implementations are written with durations, and the setting is for the trace.
  const bool is_own = graph.parent != nullptr && config_.compute != ComputeTime::kDuration;
  return is_own ? ComputeTime::kAuto : config_.compute;
}

std::vector<chakra::KernelDemand> GraphEngine::kernels_of(const Graph& graph, const Node& node) const {
  const ComputeTime counted = counted_in(graph);
  const bool lists = counted == ComputeTime::kAuto || counted == ComputeTime::kKernels;
  return lists ? chakra::kernels_of(node) : std::vector<chakra::KernelDemand>();
}

void GraphEngine::issue_kernel(End& end, Graph& graph, const Node& node) {
  const std::uint32_t stream = config_.kernels > 1 ? stream_of(end, node) : kComputeStream;
  const std::int64_t cores = node.cores().value_or(0);
  if (node.cores() && (cores < 1 || cores > compute_.sms)) {
    fail(*graph.window, node,
         "cores: expected 1 to the " + std::to_string(compute_.sms) + " of the accelerator, got " +
             std::to_string(cores));
  }
  std::vector<accelerator::Command> commands;
  const auto add = [&, name = kernel_names_.of(node.name)](accelerator::Command command) {
    command.label = name;
    command.cores = static_cast<std::uint32_t>(cores);
    commands.push_back(command);
  };
  const ComputeTime counted = counted_in(graph);
  const std::vector<chakra::KernelDemand> kernels = kernels_of(graph, node);
  if (!kernels.empty()) {
    for (const chakra::KernelDemand& each : kernels) {
      accelerator::Command command = kernel_command(stream, each);
      // They are of all its kernels; 1 stands for none.
      if (const auto counted_ops = node.num_ops(); kernels.size() == 1 && counted_ops && *counted_ops > 1) {
        command.flops = static_cast<double>(*counted_ops);
      }
      add(command);
    }
    return submit(end, graph, node, commands);
  }
  if (counted == ComputeTime::kKernels) fail(*graph.window, node, "has no kernels");
  accelerator::KernelWork kernel;
  const std::uint64_t nanos = node.duration_nanos();
  const bool lasts =
      counted == ComputeTime::kDuration || (counted == ComputeTime::kAuto && (nanos > 0 || !node.num_ops()));
  if (lasts) {
    kernel.compute = duration_of(*graph.window, node);
  } else {
    const auto operations = static_cast<double>(need(*graph.window, node, node.num_ops(), "num_ops"));
    estimates_ = true;
    kernel = tensor_work(cores > 0 ? partition(compute_, cores) : compute_, operations, moved_by(*graph.window, node));
  }
  add(kernel_command(stream, nullptr, kernel));
  submit(end, graph, node, commands);
}

GraphEngine::GroupOf& GraphEngine::group_of(const End& end, const Graph& graph, const Node& node) {
  const std::string name = traces_.key_of(static_cast<std::uint32_t>(end.rank->index), node.pg_name());
  const auto found = groups_.find(name);
  if (found == groups_.end()) {
    fail(*graph.window, node,
         "is of group \"" + name + "\", which neither the metadata of the trace nor the workload's groups name");
  }
  if (found->second.member_of[static_cast<std::size_t>(end.rank->index)] < 0) {
    fail(*graph.window, node,
         "is of group \"" + name + "\", to which rank " + std::to_string(end.rank->index) + " does not belong");
  }
  const bool joins = dimensions::joins_dimensions(
      collectives_.of<collectives::DimensionsConfig>().algorithm(Operation::kAllReduce, 0));
  const bool has_own = node.type == NodeType::kCollective && custom_of(node) != nullptr;
  if (!name.empty() || joins || has_own) return found->second;
  const std::size_t count = groups_.at("").group->sizes().size();
  const auto has = [](const std::vector<bool>& list, bool value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  const chakra::Involved involved = chakra::involved_in(node.involved_dim(), count);
  had_short_ |= involved.is_short;
  left_out_ |= involved.is_default;
  if (!has(involved.dimensions, false)) return found->second;
  had_nobody_ |= !has(involved.dimensions, true);
  return group_across(end, involved.dimensions);
}

GraphEngine::GroupOf& GraphEngine::group_across(const End& end, const std::vector<bool>& involved) {
  const auto rank = static_cast<std::uint32_t>(end.rank->index);
  std::vector<std::uint32_t> members = {rank};
  std::string name = "across";
  std::uint32_t stride = 1;
  const std::vector<int>& sizes = groups_.at("").group->sizes();
  for (std::size_t d = 0; d < sizes.size(); stride *= static_cast<std::uint32_t>(sizes[d++])) {
    if (!involved[d]) continue;
    const auto size = static_cast<std::uint32_t>(sizes[d]);
    name += " " + std::to_string(d);
    std::vector<std::uint32_t> more;
    for (std::uint32_t at = 0; at < size; ++at) {
      for (const std::uint32_t member : members) more.push_back(member + at * stride - rank / stride % size * stride);
    }
    members = std::move(more);
  }
  name += " from rank " + std::to_string(members.front());
  const auto found = groups_.find(name);
  return found != groups_.end() ? found->second : add_group(name, members);
}

void GraphEngine::issue_collective(End& end, Graph& graph, const Node& node, const Next& next) {
  if (!node.comm_type()) fail(*graph.window, node, "has no comm_type");
  GroupOf& group = next.group != nullptr ? *next.group : group_of(end, graph, node);
  ++end.collectives;
  if (const std::filesystem::path* custom = custom_of(node)) return start_custom(end, graph, node, group, *custom);
  Call call = next.group != nullptr ? next.call : call_of(end, graph, node, group);
  const std::optional<Rooted> rooted = call.rooted;
  const Operation operation = call.contents.operation;
  ++end.calls[group.name];
  const Begun begun{operation, call.contents.bytes, rooted, call.root, end.rank->index, node.id};
  const auto entry = group.begun.try_emplace(call.number, begun).first;
  if (++entry->second.members == call.contents.members) group.begun.erase(entry);
  const std::uint64_t bytes = call.contents.bytes;
  // A rank alone has it already.
  const bool exchanges = operation == Operation::kAllToAll && group.group->size() > 1;
  call.input = group.buffers->enter(call.number, bytes * (exchanges ? 2 : 1));
  if (end.rank->store != nullptr) fill(end, call);
  call.token = remember(end, graph, node);
  call.began = end.rank->processor->now();
  const bool has_communicator =
      group.communicator != nullptr &&
      (rooted ? group.communicator->has(*rooted) : !exchanges || group.communicator->has(operation));
  if (!call.to.empty() && exchanges && !(has_communicator && group.communicator->can_exchange())) {
    fail(*graph.window, node,
         "is an AllToAll whose parts differ: expected workload.library communicators and a collectives.algorithm that "
         "can, such as nccl");
  }
  if (call.tokens && !(has_communicator && group.communicator->can_dispatch())) {
    fail(*graph.window, node,
         "is a dispatch of tokens: expected workload.library communicators, collectives.algorithm deepep, and as many "
         "neighbouring members of its group in each node");
  }
  if (has_communicator) {
    Caller& caller = group.callers[static_cast<std::size_t>(call.member)];
    caller.calls.push_back(call);
    if (!std::exchange(caller.runs, true)) {
      end.rank->processor->spawn("collectives of " + group.text(), 1, work_off(end, group, caller),
                                 group.name.empty() ? "" : "collectives of groups");
    }
    return;
  }
  DimensionGroup::Call request;
  request.operation = operation;
  request.input = call.input;
  request.output = exchanges ? call.input + bytes : call.input;
  request.bytes = bytes;
  request.type = config_.type;
  request.granule = rooted == Rooted::kBroadcast ? 1 : size_of(config_.type);
  request.rooted = rooted;
  request.root = call.root;
  request.priority = node.comm_priority();
  int& with_root = group.rooted[static_cast<std::size_t>(call.member)];
  if (rooted) ++with_root;
  const collectives::Watch::Call watched(group.watch.get(), call.member, rooted ? name_of(*rooted) : name_of(operation),
                                         bytes);
  group.group->begin(call.member, std::move(request), [this, &end, &group, &with_root, call, watched] {
    watched.end();
    if (call.rooted) --with_root;
    end_collective(end, group, call);
  });
}

int GraphEngine::root_of(const End& end, const Graph& graph, const Node& node, const GroupOf& group) const {
  std::optional<std::int64_t> root = node.comm_root();
  if (!root && graph.parent == nullptr) root = traces_.root_of(static_cast<std::uint32_t>(end.rank->index), node.id);
  if (!root) return 0;
  const bool is_rank = *root >= 0 && *root < static_cast<std::int64_t>(ranks_.size());
  const int member = is_rank ? group.member_of[static_cast<std::size_t>(*root)] : -1;
  if (member < 0) {
    fail(*graph.window, node,
         "has the root " + std::to_string(*root) + ": expected a rank of its group, by its number in the machine");
  }
  return member;
}

collectives::Reference GraphEngine::contents_of(const Graph& graph, const Node& node, Operation operation,
                                                int members) const {
  collectives::Reference contents{operation, members, 0, config_.type, 0};
  const auto count = static_cast<std::uint64_t>(members);
  const std::uint64_t unit = size_of(config_.type);
  contents.bytes = unit * count;  // of a barrier
  if (node.comm_type() != CollectiveType::kBarrier) {
    contents.bytes = need(*graph.window, node, node.comm_size(), "comm_size");
    if (operation == Operation::kAllgather && node.comm_type() != CollectiveType::kScatter) contents.bytes *= count;
  }
  if (operation == Operation::kAllToAll) contents.bytes = contents.bytes / (unit * count) * unit * count;
  return contents;
}

GraphEngine::Call GraphEngine::call_of(const End& end, const Graph& graph, const Node& node,
                                       const GroupOf& group) const {
  Call call;
  call.contents = contents_of(graph, node, operation_of(*node.comm_type()), group.group->size());
  if (call.contents.operation == Operation::kAllToAll) set_parts(call, node);
  call.rooted = rooted_of(*node.comm_type());
  if (call.rooted) call.root = root_of(end, graph, node, group);
  call.member = group.member_of[static_cast<std::size_t>(end.rank->index)];
  const auto calls = end.calls.find(group.name);
  call.number = calls != end.calls.end() ? calls->second : 0;
  call.contents.seed = static_cast<std::uint64_t>(call.number);
  if (call.tokens) call.tokens->seed = call.contents.seed;
  call.carries = carries_of(graph, node);
  return call;
}

const std::filesystem::path* GraphEngine::custom_of(const Node& node) const {
  const CollectiveType type = *node.comm_type();
  return traces_.custom_of(node.id, rooted_of(type) ? std::nullopt : std::optional(operation_of(type)));
}

std::optional<GraphEngine::Next> GraphEngine::next_of(End& end, Graph& graph, const Node& node) {
  Next next;
  if (node.type == NodeType::kCollective) {
    if (!node.comm_type()) fail(*graph.window, node, "has no comm_type");
    if (custom_of(node) == nullptr) {
      next.group = &group_of(end, graph, node);
      next.call = call_of(end, graph, node, *next.group);
      if (next.group->rooted[static_cast<std::size_t>(next.call.member)] > 0) return std::nullopt;
      const auto begun = next.group->begun.find(next.call.number);
      if (begun != next.group->begun.end() && !begun->second.is(next.call)) {
        end.held = {&node, next.group, next.call.number};
        return std::nullopt;
      }
    }
  }
  if (!may_begin(end, graph, node)) return std::nullopt;
  return next;
}

bool GraphEngine::may_begin(End& end, const Graph& graph, const Node& node) {
  const BeginOrder::Item item = item_of(end, graph, node);
  if (item == BeginOrder::kNone) return true;
  if (!order_->allows(end.rank->index, item)) {
    end.holds_back = true;
    return false;
  }
  order_->begin(end.rank->index, item);
  return true;
}

std::string GraphEngine::held_by_others(const End& end) {
  if (end.held.node == nullptr) return {};
  const auto begun = end.held.group->begun.find(end.held.number);
  const auto calls = end.calls.find(end.held.group->name);
  const std::int64_t next = calls != end.calls.end() ? calls->second : 0;
  if (begun == end.held.group->begun.end() || next != end.held.number) return {};
  return "rank " + std::to_string(end.rank->index) + " could begin " + chakra::name_of(end.held.node->type) + " " +
         end.held.node->label() + ", but the next collective of its group is " + begun->second.text() +
         ", which rank " + std::to_string(begun->second.first) + " has begun with node " +
         std::to_string(begun->second.node) + ": dependencies that give all ranks one order help";
}

void GraphEngine::start_custom(End& end, Graph& graph, const Node& node, const GroupOf& group,
                               const std::filesystem::path& prefix) {
  auto custom = std::make_unique<Graph>();
  const auto number = static_cast<std::uint32_t>(end.rank->index);
  const dimensions::CustomPlace place = traces_.custom_place(number, traces_.key_of(number, node.pg_name()));
  custom->window = std::make_unique<chakra::TraceWindow>(chakra::find_rank(prefix, place.file),
                                                         chakra::TraceWindow::kReadAhead, records_);
  custom->limited = false;
  custom->members = place.members;
  constexpr std::uint64_t kMostOfGroup = 1ULL << 32;
  custom->instance = 1 + place.group * kMostOfGroup + end.customs_begun[place.group]++;
  custom->parent = &graph;
  custom->parent_node = &node;
  custom->began = end.rank->processor->now();
  const CollectiveType type = *node.comm_type();
  const std::string_view what = rooted_of(type) ? name_of(*rooted_of(type)) : name_of(operation_of(type));
  custom->watched.emplace(group.watch.get(), group.member_of[number], what,
                          static_cast<std::uint64_t>(node.comm_size().value_or(0)));
  Graph& started = *custom;
  end.customs.emplace(&started, std::move(custom));
  advance(end, started);
}

MessageName GraphEngine::message_of(const End& end, const Graph& graph, const Node& node) const {
  const bool sends = node.type == NodeType::kSend;
  const std::int64_t own = end.rank->index;
  const char* const peer = sends ? "comm_dst" : "comm_src";
  const std::int64_t self = (sends ? node.comm_src() : node.comm_dst()).value_or(own);
  if (graph.members == nullptr && self != own) {
    fail(*graph.window, node,
         std::string(sends ? "comm_src" : "comm_dst") + ": expected the rank itself, " + std::to_string(own) +
             ", got " + std::to_string(self));
  }
  std::int64_t other = (sends ? node.comm_dst() : node.comm_src()).value_or(graph.members == nullptr ? own : -1);
  const auto ranks = static_cast<std::int64_t>(graph.members == nullptr ? ranks_.size() : graph.members->size());
  if (other < 0 || other >= ranks) {
    fail(*graph.window, node,
         std::string(peer) + ": expected " + (graph.members == nullptr ? "a rank" : "a member of its group") +
             " below " + std::to_string(ranks) + ", got " + std::to_string(other));
  }
  if (graph.members != nullptr) other = (*graph.members)[static_cast<std::size_t>(other)];
  if (other == own) {
    fail(*graph.window, node, std::string("says in ") + peer + " no other rank to exchange with");
  }
  const std::int64_t from = sends ? own : other;
  const std::int64_t to = sends ? other : own;
  std::int64_t tag = node.comm_tag();
  if (steady_ && graph.parent == nullptr) tag -= steady_->lower(static_cast<std::size_t>(end.rank->index), node.id).tag;
  return {graph.instance, static_cast<int>(from), static_cast<int>(to), tag,
          need(*graph.window, node, node.comm_size(), "comm_size")};
}

void GraphEngine::issue_message(End& end, Graph& graph, const Node& node) {
  const MessageName name = message_of(end, graph, node);
  const std::uint64_t token = remember(end, graph, node);
  if (node.type == NodeType::kSend) {
    end.messages->send(name, token, carries_of(graph, node));
  } else {
    end.messages->receive(name, token);
  }
}

void GraphEngine::issue_memory(End& end, Graph& graph, const Node& node) {
  if (!end.rank->remote.exists()) {
    fail(
        *graph.window, node,
        "moves remote memory, which this machine does not have: expected a remote_memory.kind, as weft import --memory "
        "sets it");
  }
  const bool stores = node.type == NodeType::kMemoryStore;
  const std::uint64_t bytes = need(*graph.window, node, node.tensor_size(), "tensor_size");
  try {
    if (!in_switch(*graph.window, node)) return end.transfers->begin(stores, bytes, remember(end, graph, node));
    if (!end.rank->remote.in_switch()) {
      fail(*graph.window, node,
           "is a collective of the switches (in_switch), which this machine's remote memory does not have: expected "
           "remote_memory.hierarchical.in_switch");
    }
    if (stores && bytes % size_of(config_.type) != 0) {
      fail(*graph.window, node,
           "tensor_size: expected a multiple of the " + std::to_string(size_of(config_.type)) +
               " bytes of an element, since it is added up in the switches, got " + std::to_string(bytes));
    }
    GroupOf& group = group_of(end, graph, node);
    const int member = group.member_of[static_cast<std::size_t>(end.rank->index)];
    // Loads are counted apart from stores, since ranks need not begin both in one order.
    const std::int64_t number = end.calls[group.name + (stores ? "\nstores" : "\nloads")]++ * 2 + (stores ? 1 : 0);
    end.transfers->begin(*group.remote, member, number, stores, bytes, config_.type, remember(end, graph, node));
  } catch (const std::invalid_argument& error) {
    fail(*graph.window, node, error.what());
  } catch (const std::length_error& error) {
    fail(*graph.window, node, std::string("finds no room: ") + error.what());
  }
}

}  // namespace weft::schedules
