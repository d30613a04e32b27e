// SPDX-License-Identifier: Apache-2.0
// When the host launches nodes that say what that takes.
#include <algorithm>
#include <iterator>
#include <utility>

#include "sw/schedules/graph/graph.h"
#include "traces/chakra/host_times.h"
#include "traces/files/format_error.h"

namespace weft::schedules {

using chakra::HostTimes;
using chakra::Node;
using firmware::Task;

namespace {

Task wake_when_launched(firmware::Processor& processor, Time length, firmware::CompletionQueue& events,
                        std::uint64_t token) {
  co_await processor.delay(length, CauseKind::kHost);
  events.signal(token);
}

/// Commands of a stream, each when the host has launched it; `token` comes when the last one has ended.
Task submit_when_launched(firmware::Rank& rank, std::vector<accelerator::Command> commands, std::vector<Time> at,
                          firmware::CompletionQueue& events, std::uint64_t token) {
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const Time now = rank.processor->now();
    if (at[i] > now) co_await rank.processor->delay(at[i] - now, CauseKind::kHost);
    rank.accelerator.submit(commands[i]);
  }
  rank.accelerator.notify(commands.front().stream, events, token);
}

}  // namespace

Time HostClock::comes_to(std::uint64_t node, Time before) const {
  const auto next = behind_.upper_bound(node);
  return next == behind_.begin() ? Time() : std::prev(next)->second + before;
}

void HostClock::ended(std::uint64_t node, bool waited, Time now) {
  const auto its = behind_.find(node + 1);
  if (its == behind_.end()) return;
  if (waited) its->second = std::max(its->second, now);
  behind_.erase(behind_.begin(), its);
}

/// Whether the host has launched a communication; else the rank looks at it again when it has.
bool GraphEngine::is_launched(End& end, const Graph& graph, const Node& node) {
  if (graph.parent != nullptr) return true;
  const std::optional<HostTimes> host = chakra::host_times_of(node);
  if (!host) return true;
  const Time now = end.rank->processor->now();
  const Time at = end.host.comes_to(node.id, Time(host->before_ps));
  if (at <= now) return true;
  if (end.wakes_at <= now || at < end.wakes_at) {
    end.wakes_at = at;
    end.rank->processor->spawn("launches", 0, wake_when_launched(*end.rank->processor, at - now, *end.events, kWake));
  }
  return false;
}

void GraphEngine::submit(End& end, Graph& graph, const Node& node, const std::vector<accelerator::Command>& commands) {
  const auto submit_all = [&] {
    for (const accelerator::Command& command : commands) end.rank->accelerator.submit(command);
    end.rank->accelerator.notify(commands.front().stream, *end.events, remember(end, graph, node));
  };
  const std::optional<HostTimes> host = graph.parent == nullptr ? chakra::host_times_of(node) : std::nullopt;
  if (!host) return submit_all();
  if (host->kernels.size() != commands.size()) {
    throw traces::FormatError(graph.window->file().string(), 0,
                              node.label() + " has " + std::to_string(commands.size()) +
                                  " kernels and, in the attribute host, the times of " +
                                  std::to_string(host->kernels.size()));
  }
  Time at = end.host.comes_to(node.id, Time(host->before_ps));
  // Of several in one the last is launched before what comes behind.
  std::vector<Time> starts;
  for (const HostTimes::Kernel& kernel : host->kernels) {
    starts.push_back(at + Time(kernel.first_ps));
    at = at + Time(kernel.last_ps);
  }
  end.host.launched(node.id, at);
  if (at <= end.rank->processor->now()) return submit_all();
  end.rank->processor->spawn(
      "launches", 0,
      submit_when_launched(*end.rank, commands, std::move(starts), *end.events, remember(end, graph, node)));
}

}  // namespace weft::schedules
