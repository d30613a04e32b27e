// SPDX-License-Identifier: Apache-2.0
// Collectives that groups do one after the other, and how a collective ends.
#include <numeric>
#include <utility>
#include <variant>

#include "sw/schedules/graph/graph.h"
#include "traces/chakra/exchange.h"
#include "traces/files/format_error.h"

namespace weft::schedules {

using chakra::Node;
using collectives::Rooted;
using dimensions::Operation;
using firmware::Task;

bool GraphEngine::Begun::is(const Call& call) const {
  return operation == call.contents.operation && bytes == call.contents.bytes && rooted == call.rooted &&
         root == call.root;
}

std::string GraphEngine::Begun::text() const {
  const std::string_view name = rooted ? name_of(*rooted) : name_of(operation);
  return std::string(name) + " of " + std::to_string(bytes) + " bytes" +
         (rooted ? " with member " + std::to_string(root) + " as root" : "");
}

Task GraphEngine::work_off(End& end, GroupOf& group, Caller& caller) {
  while (!caller.calls.empty()) {
    const Call call = caller.calls.front();
    caller.calls.pop_front();
    co_await caller.kernel->begin(kernel_cores(group, call));
    co_await run(group, call);
    caller.kernel->end();
    end_collective(end, group, call);
  }
  caller.runs = false;
}

int GraphEngine::kernel_cores(GroupOf& group, const Call& call) {
  collectives::Communicator& communicator = *group.communicator;
  if (call.rooted) return communicator.kernel_cores(call.member, *call.rooted);
  return communicator.kernel_cores(call.member, call.contents.operation, call.contents.bytes, call.carries,
                                   call.to.empty());
}

Task GraphEngine::run(GroupOf& group, const Call& call) const {
  collectives::Communicator& communicator = *group.communicator;
  const std::uint64_t bytes = call.contents.bytes;
  if (call.rooted) {
    co_await communicator.rooted(call.member, *call.rooted, call.root, call.input, bytes, config_.type);
    co_return;
  }
  switch (call.contents.operation) {
    case Operation::kAllgather:
      co_await communicator.allgather(call.member, call.input, bytes, size_of(config_.type), call.carries);
      break;
    case Operation::kReduceScatter:
      co_await communicator.reduce_scatter(call.member, call.input,
                                           call.input + call.contents.block(call.member).offset, bytes, config_.type,
                                           call.carries);
      break;
    case Operation::kAllToAll:
      if (call.tokens) {
        collectives::Tokens tokens = call.tokens->tokens;
        if (call.tokens->combines) {
          co_await communicator.combine(call.member, call.input, call.input + bytes, std::move(tokens), config_.type);
        } else {
          co_await communicator.dispatch(call.member, call.input, call.input + bytes, std::move(tokens));
        }
      } else if (call.to.empty()) {
        co_await communicator.all_to_all(call.member, call.input, call.input + bytes, bytes, call.carries);
      } else {
        // A temporary would be destroyed twice (GCC's bug 99576).
        collectives::Parts parts{call.to, call.contents.from};
        co_await communicator.exchange(call.member, call.input, call.input + bytes,
                                       bytes / static_cast<std::uint64_t>(communicator.size()), std::move(parts));
      }
      break;
    default:
      co_await communicator.all_reduce(call.member, call.input, bytes, config_.type, call.carries);
  }
}

void GraphEngine::end_collective(End& end, GroupOf& group, const Call& call) const {
  if (end.rank->store != nullptr) end.wrong += wrong(end, call);
  const std::string_view operation = call.rooted ? name_of(*call.rooted) : name_of(call.contents.operation);
  const auto sum = [](const std::vector<std::uint64_t>& parts) {
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  };
  const std::uint64_t bytes = call.tokens       ? sum(call.tokens->tokens.members)
                              : call.to.empty() ? call.contents.bytes
                                                : sum(call.to);
  end.tally.add({operation, call.contents.members, bytes}, end.rank->processor->now() - call.began);
  group.buffers->leave(call.number);
  end.events->signal(call.token);
}

/// Each part has the place of the largest, which all members know.
void GraphEngine::set_parts(Call& call, const Node& node) {
  collectives::Reference& contents = call.contents;
  if (const auto tokens = chakra::tokens_of(node, static_cast<std::size_t>(contents.members))) {
    call.tokens = collectives::TokenReference{};
    call.tokens->tokens.members.assign(tokens->members.begin(), tokens->members.end());
    call.tokens->tokens.nodes.assign(tokens->nodes.begin(), tokens->nodes.end());
    call.tokens->combines = tokens->combines;
    call.tokens->type = contents.type;
    contents.bytes = call.tokens->tokens.room();
    return;
  }
  const auto exchange = chakra::exchange_of(node, static_cast<std::size_t>(contents.members));
  if (!exchange) return;
  const std::uint64_t unit = size_of(contents.type);
  const std::uint64_t most = (static_cast<std::uint64_t>(exchange->most()) + unit - 1) / unit * unit;
  contents.bytes = most * static_cast<std::uint64_t>(contents.members);
  call.to.assign(exchange->to.begin(), exchange->to.end());
  contents.from.assign(exchange->from.begin(), exchange->from.end());
}

collectives::Carries GraphEngine::carries_of(const Graph& graph, const Node& node) const {
  collectives::Carries carries{config_.type};
  const std::optional<std::int64_t> bytes = node.integer("element_bytes");
  if (bytes && ranks_.front()->store == nullptr && *bytes != static_cast<std::int64_t>(size_of(config_.type))) {
    carries.type = std::nullopt;
    if (*bytes == 2) carries.type = ElementType::kBf16;
    if (*bytes == 4) carries.type = ElementType::kFp32;
  }
  const chakra::Attribute* found = node.find("traffic");
  if (found == nullptr) return carries;
  const auto* text = std::get_if<std::string>(&found->value);
  std::string names;
  for (const auto& [name, traffic] : enum_names(compression::Traffic())) {
    if (text != nullptr && *text == name) return {carries.type, traffic};
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw traces::FormatError(graph.window->file().string(), 0, node.label() + " traffic: expected one of " + names);
}

void GraphEngine::fill(End& end, const Call& call) {
  if (call.tokens) return call.tokens->fill(*end.rank->store, call.input, call.member);
  const bool from_root = call.rooted == Rooted::kBroadcast || call.rooted == Rooted::kScatter;
  if (from_root) return call.contents.fill_broadcast(*end.rank->store, call.input, call.member, call.root);
  call.contents.fill(*end.rank->store, call.input, call.member);
}

/// Of a Reduce and a Gather the root alone has a result.
std::int64_t GraphEngine::wrong(const End& end, const Call& call) {
  const collectives::Reference& contents = call.contents;
  const memory::BackingStore& store = *end.rank->store;
  if (call.tokens) return call.tokens->wrong(store, call.input + contents.bytes, call.member);
  if (call.rooted == Rooted::kBroadcast) {
    return contents.wrong_copy(store, call.input, {0, contents.bytes}, call.root);
  }
  if (call.rooted == Rooted::kScatter) {
    return contents.wrong_copy(store, call.input, contents.block(call.member), call.root);
  }
  if (call.rooted && call.member != call.root) return 0;
  std::uint64_t result = call.input;
  if (contents.operation == Operation::kReduceScatter) result += contents.block(call.member).offset;
  if (contents.operation == Operation::kAllToAll && contents.members > 1) result += contents.bytes;
  return contents.wrong(store, result, call.member);
}

}  // namespace weft::schedules
