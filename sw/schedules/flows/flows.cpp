// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/flows/flows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hw/core/random.h"
#include "sw/collectives/pattern.h"
#include "sw/firmware/verbs.h"

namespace weft::schedules {

using firmware::Rank;

namespace {

/// A random order in which nobody is where it was: others are drawn until one is.
std::vector<int> derangement(int ranks, std::int64_t seed) {
  Random random(static_cast<std::uint64_t>(seed), "permutation of flows");
  std::vector<int> to(static_cast<std::size_t>(ranks));
  bool stays = true;
  while (stays) {
    std::iota(to.begin(), to.end(), 0);
    for (std::size_t i = to.size() - 1; i > 0; --i) {
      std::swap(to[i], to[static_cast<std::size_t>(random.share() * static_cast<double>(i + 1))]);
    }
    stays = false;
    for (std::size_t i = 0; i < to.size(); ++i) stays = stays || to[i] == static_cast<int>(i);
  }
  return to;
}

}  // namespace

std::vector<Flow> flows_of(const FlowsConfig& config, int ranks, std::int64_t seed) {
  if (ranks < 2) throw ConfigError("workload.pattern", "expected at least 2 accelerators, got 1");
  if (config.has_servers() && config.servers >= ranks) {
    throw ConfigError("workload.servers", "expected fewer servers than the " + std::to_string(ranks) + " accelerators");
  }
  std::vector<Flow> flows;
  const int clients = config.has_servers() ? ranks - config.servers : ranks;
  const std::vector<int> drawn =
      config.pattern == FlowPattern::kPermutation ? derangement(ranks, seed) : std::vector<int>();
  for (int rank = 0; rank < clients; ++rank) {
    switch (config.pattern) {
      case FlowPattern::kShift:
        flows.push_back({rank, (rank + 1) % ranks});
        break;
      case FlowPattern::kPermutation:
        flows.push_back({rank, drawn[static_cast<std::size_t>(rank)]});
        break;
      case FlowPattern::kIncast:
        if (rank > 0) flows.push_back({rank, 0});
        break;
      case FlowPattern::kAllToAll:
        for (int other = 1; other < ranks; ++other) flows.push_back({rank, (rank + other) % ranks});
        break;
      case FlowPattern::kWrite:
        flows.push_back({rank, clients + rank % config.servers});
        break;
      case FlowPattern::kRead:
        flows.push_back({clients + rank % config.servers, rank});
        break;
    }
  }
  return flows;
}

/// Of the initiator.
struct Flows::End {
  Rank* rank = nullptr;
  Rank* peer = nullptr;
  firmware::CompletionQueue* completions = nullptr;
  firmware::QueuePair pair;
  firmware::QueuePair far;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::vector<Time> times;
};

Flows::Flows(std::vector<Rank*> ranks, const FlowsConfig& config, std::int64_t seed)
    : ranks_(std::move(ranks)), config_(config), flows_(flows_of(config, static_cast<int>(ranks_.size()), seed)) {
  const auto bytes = static_cast<std::uint64_t>(config.bytes.count());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const bool sends = std::any_of(flows_.begin(), flows_.end(),
                                   [i](const Flow& flow) { return static_cast<std::size_t>(flow.from) == i; });
    source_.push_back(sends ? ranks_[i]->memory.allocate("sent messages", bytes) : 0);
    if (!sends || ranks_[i]->store == nullptr) continue;
    const auto data = collectives::pattern_bytes(0, static_cast<int>(i), bytes);
    ranks_[i]->store->write(source_[i], data.data(), data.size());
  }
  watch_ = collectives::MessageWatch::of(ranks_, "flows");
  const bool reads = config.pattern == FlowPattern::kRead;
  for (const Flow& flow : flows_) {
    End& end = *ends_.emplace_back(std::make_unique<End>());
    Rank& from = *ranks_[static_cast<std::size_t>(flow.from)];
    Rank& to = *ranks_[static_cast<std::size_t>(flow.to)];
    end.rank = reads ? &to : &from;
    end.peer = reads ? &from : &to;
    end.from = source_[static_cast<std::size_t>(flow.from)];
    end.to = to.memory.allocate("received messages", bytes);
    firmware::Processor& near = *end.rank->processor;
    end.completions =
        &near.create_completion_queue("the end of a message to rank " + std::to_string(end.peer->place) + ", queue");
    firmware::CompletionQueue& unused = end.peer->processor->create_completion_queue("nothing, queue");
    end.pair = firmware::QueuePair(end.rank->towards(*end.peer), *end.completions);
    end.far = firmware::QueuePair(end.peer->towards(*end.rank), unused);
    firmware::QueuePair::connect(end.pair, end.far);
  }
}

Flows::~Flows() = default;

void Flows::start() {
  started_ = ranks_.front()->processor->now();
  int place = 0;
  for (const auto& end : ends_) {
    const std::string far = std::to_string(end->peer->place);
    end->rank->processor->spawn("flow to " + far, place++, run(*end),
                                "flow of " + std::to_string(end->rank->place) +
                                    (config_.pattern == FlowPattern::kRead ? " from " : " to ") + far);
  }
}

firmware::Task Flows::run(End& end) {
  firmware::Processor& processor = *end.rank->processor;
  const auto bytes = static_cast<std::uint64_t>(config_.bytes.count());
  const bool reads = config_.pattern == FlowPattern::kRead;
  for (int i = 0; i < config_.messages; ++i) {
    const Time began = processor.now();
    if (reads) {
      end.pair.read(end.to, end.from, bytes);
    } else {
      end.pair.write(end.from, end.to, bytes, /*notify=*/false, 0, /*signaled=*/true);
    }
    co_await end.completions->next();
    end.times.push_back(processor.now() - began);
    if (watch_ != nullptr) [[unlikely]]
      watch_->received(reads ? end.peer->index : end.rank->index, name_of(config_.pattern), bytes, began, began);
    ++done_;
    const Time next = began + config_.every;
    if (i + 1 < config_.messages && processor.now() < next) co_await processor.delay(next - processor.now());
  }
}

double Flows::progress() const {
  return static_cast<double>(done_) / static_cast<double>(ends_.size() * static_cast<std::size_t>(config_.messages));
}

FlowsResult Flows::result() const {
  FlowsResult result;
  for (const auto& end : ends_) {
    result.times.push_back(end->times);
    result.last = std::max(result.last, end->rank->processor->last_end());
  }
  result.last = std::max(Time(), result.last - started_);
  if (ranks_.front()->store == nullptr) return result;
  result.wrong = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const Rank& to = *ranks_[static_cast<std::size_t>(flows_[i].to)];
    const auto right = collectives::pattern_bytes(0, flows_[i].from, static_cast<std::uint64_t>(config_.bytes.count()));
    result.wrong += collectives::differing(*to.store, ends_[i]->to, right);
  }
  return result;
}

}  // namespace weft::schedules
