// SPDX-License-Identifier: Apache-2.0
// Collectives that groups do one after the other, and how a collective ends.
#include "sw/schedules/graph.h"

namespace weft::schedules {

using dimensions::Operation;
using firmware::Task;

Task GraphEngine::work_off(End& end, GroupOf& group, Caller& caller) {
  while (!caller.calls.empty()) {
    const Call call = caller.calls.front();
    caller.calls.pop_front();
    co_await caller.kernel->begin();
    co_await run(group, call);
    caller.kernel->end();
    end_collective(end, group, call);
  }
  caller.runs = false;
}

Task GraphEngine::run(GroupOf& group, const Call& call) const {
  collectives::Communicator& communicator = *group.communicator;
  const std::uint64_t bytes = call.contents.bytes;
  switch (call.contents.operation) {
    case Operation::kAllgather:
      co_await communicator.allgather(call.member, call.input, bytes, size_of(config_.type));
      break;
    case Operation::kReduceScatter:
      co_await communicator.reduce_scatter(call.member, call.input,
                                           call.input + call.contents.block(call.member).offset, bytes, config_.type);
      break;
    default:
      co_await communicator.all_reduce(call.member, call.input, bytes, config_.type);
  }
}

void GraphEngine::end_collective(End& end, GroupOf& group, const Call& call) const {
  const collectives::Reference& contents = call.contents;
  if (end.rank->store != nullptr) {
    std::uint64_t result = call.input;
    if (contents.operation == Operation::kReduceScatter) result += contents.block(call.member).offset;
    if (contents.operation == Operation::kAllToAll) result += contents.bytes;
    end.wrong += contents.wrong(*end.rank->store, result, call.member);
  }
  group.buffers->leave(call.number);
  end.events->signal(call.token);
}

}  // namespace weft::schedules
