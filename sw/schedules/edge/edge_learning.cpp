// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/edge/edge_learning.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "hw/core/random.h"
#include "sw/collectives/pattern.h"
#include "sw/firmware/program_fields.h"
#include "sw/schedules/kernel_work.h"

namespace weft::schedules {

using firmware::Rank;
using firmware::Task;

namespace {

constexpr std::uint64_t kParameterBytes = 4;

/// Both ends of a link let what it takes to send pass.
const firmware::ProgramFields kFieldsOfLinks({"server of rank", "worker"}, {"workload.bandwidth"});

/// So long after a time. Throws QuantityOverflow.
Time after(Time from, double seconds) {
  constexpr double kMost = 9.2e18;
  const double at = static_cast<double>(from.count()) + seconds * 1e12;
  if (!(at < kMost)) overflow("a time", at);
  return from + Time(std::llround(seconds * 1e12));
}

/// Shadowing: ratios in dB are normal.
std::vector<EdgeWorker> draw_workers(const EdgeConfig& config, Random& channels, const std::vector<double>& compute) {
  constexpr double kTurn = 6.283185307179586;
  std::vector<EdgeWorker> workers;
  for (const double seconds : compute) {
    const double length = std::sqrt(-2 * std::log(1 - channels.share()));
    const double snr_db = config.mean_snr + config.shadowing * length * std::cos(kTurn * channels.share());
    workers.push_back({std::log2(1 + std::pow(10, snr_db / 10)), seconds});
  }
  return workers;
}

}  // namespace

/// Rank 0 and a worker.
struct EdgeLearning::Link {
  std::size_t worker = 0;
  Rank* server = nullptr;
  Rank* rank = nullptr;
  firmware::CompletionQueue* at_server = nullptr;
  firmware::CompletionQueue* at_worker = nullptr;
  firmware::CompletionQueue* computed = nullptr;
  firmware::QueuePair down;
  firmware::QueuePair up;
  std::uint64_t sent = 0;      ///< addresses: of what the server sends
  std::uint64_t received = 0;  ///< what it gets back
  std::uint64_t local = 0;     ///< of the worker's block
  std::int64_t wrong = 0;
  std::optional<collectives::Watch::Call> waits;  ///< for the blocks of others
  Probe* probe = nullptr;
  int track = 0;

  void compare(const Rank& at, std::uint64_t address, const std::vector<std::byte>& right) {
    if (at.store != nullptr) wrong += collectives::differing(*at.store, address, right);
  }
};

EdgeLearning::EdgeLearning(std::vector<Rank*> ranks, const EdgeConfig& config, std::int64_t seed)
    : ranks_(std::move(ranks)), config_(config) {
  if (ranks_.size() < 2) throw ConfigError("accelerators", "expected a server and at least one worker, got 1");
  const std::size_t count = ranks_.size() - 1;
  Random channels(static_cast<std::uint64_t>(seed), "channels of edge learning");
  Random speeds(static_cast<std::uint64_t>(seed), "workers of edge learning");
  std::vector<double> compute;
  for (std::size_t i = 0; i < count; ++i) {
    compute.push_back(static_cast<double>(config.compute.count()) * 1e-12 *
                      (1 + (config.compute_spread - 1) * speeds.share()));
  }
  for (int round = 0; round < config.rounds; ++round) {
    workers_.push_back(draw_workers(config, channels, compute));
    shares_.push_back(allocate_edge(config.allocation, config.parameters, static_cast<double>(config.bandwidth.count()),
                                    workers_.back()));
  }
  Rank& server = *ranks_.front();
  back_ = std::make_unique<firmware::Counter>(*server.processor, "blocks of a round");
  watch_ = collectives::Watch::of({ranks_.begin() + 1, ranks_.end()}, "workers");
  const std::uint64_t all = kParameterBytes * static_cast<std::uint64_t>(config.parameters);
  const std::uint64_t sent = server.memory.allocate("parameters", all);
  const std::uint64_t received = server.memory.allocate("parameters that come back", all);
  for (std::size_t i = 0; i < count; ++i) {
    Link& link = *links_.emplace_back(std::make_unique<Link>());
    link.worker = i;
    link.server = &server;
    link.rank = ranks_[i + 1];
    link.sent = sent;
    link.received = received;
    link.local = link.rank->memory.allocate("a block", all);
    link.at_server = &server.processor->create_completion_queue("a block from rank " + std::to_string(i + 1));
    link.at_worker = &link.rank->processor->create_completion_queue("a block from the server");
    link.computed = &link.rank->processor->create_completion_queue("a computed block");
    link.down = firmware::QueuePair(server.towards(*link.rank), *link.at_server);
    link.up = firmware::QueuePair(link.rank->towards(server), *link.at_worker);
    firmware::QueuePair::connect(link.down, link.up);
    link.down.provide(static_cast<std::uint32_t>(config.rounds), 0);
    link.up.provide(static_cast<std::uint32_t>(config.rounds), 0);
  }
}

EdgeLearning::~EdgeLearning() = default;

void EdgeLearning::record(Probe& probe, int ranks) {
  for (int i = 0; i < std::min(ranks - 1, static_cast<int>(links_.size())); ++i) {
    Link& link = *links_[static_cast<std::size_t>(i)];
    link.probe = &probe;
    link.track = probe.add_track("rank " + std::to_string(link.rank->place), "radio");
  }
}

void EdgeLearning::start() {
  started_ = ranks_.front()->processor->now();
  for (const auto& link : links_) {
    const auto place = static_cast<int>(link->worker);
    link->server->processor->spawn("server of rank " + std::to_string(place + 1), place, serve(*link));
    link->rank->processor->spawn("worker " + std::to_string(place + 1), 0, work(*link));
  }
}

const EdgeShare& EdgeLearning::share(const Link& link, int round) const {
  return shares_[static_cast<std::size_t>(round)][link.worker];
}

std::uint64_t EdgeLearning::bytes_before(const Link& link, int round) const {
  std::uint64_t parameters = 0;
  for (std::size_t i = 0; i < link.worker; ++i) {
    parameters += static_cast<std::uint64_t>(shares_[static_cast<std::size_t>(round)][i].parameters);
  }
  return kParameterBytes * parameters;
}

std::vector<std::byte> EdgeLearning::block(const Link& link, bool down, int round) const {
  return collectives::pattern_bytes(2 * static_cast<std::uint64_t>(round) + (down ? 0 : 1),
                                    static_cast<int>(link.worker),
                                    kParameterBytes * static_cast<std::uint64_t>(share(link, round).parameters));
}

Task EdgeLearning::send(Link& link, bool down, int round) {
  const EdgeShare& part = share(link, round);
  const std::uint64_t before = bytes_before(link, round);
  Rank& from = down ? *link.server : *link.rank;
  const std::uint64_t source = down ? link.sent + before : link.local;
  const std::uint64_t target = down ? link.local : link.received + before;
  if (from.store != nullptr) {
    const std::vector<std::byte> data = block(link, down, round);
    from.store->write(source, data.data(), data.size());
  }
  const std::uint64_t bytes = kParameterBytes * static_cast<std::uint64_t>(part.parameters);
  const auto piece = static_cast<std::uint64_t>(config_.piece.count());
  const double rate = part.bandwidth_hz * workers_[static_cast<std::size_t>(round)][link.worker].bits_per_hz;  // b/s
  firmware::Processor& processor = *from.processor;
  const Time began = processor.now();
  firmware::QueuePair& pair = down ? link.down : link.up;
  for (std::uint64_t at = 0; at < bytes; at += piece) {
    const std::uint64_t length = std::min(piece, bytes - at);
    const Time due = after(began, 8 * static_cast<double>(at + length) / rate);
    if (due > processor.now()) co_await processor.delay(due - processor.now());
    pair.write(source + at, target + at, length, /*notify=*/at + length == bytes, 0, /*signaled=*/false);
  }
  if (link.probe != nullptr) {
    link.probe->slice(link.track, {.what = down ? "download" : "upload", .from = began, .to = processor.now()});
  }
}

Task EdgeLearning::serve(Link& link) {
  for (int round = 0; round < config_.rounds; ++round) {
    const std::uint64_t of_rounds = static_cast<std::uint64_t>(round) * links_.size();
    co_await back_->reach(of_rounds);
    if (share(link, round).parameters > 0) {
      co_await send(link, true, round);
      co_await link.at_server->next();
      link.compare(*link.server, link.received + bytes_before(link, round), block(link, false, round));
    }
    end_block(link, round);
  }
}

void EdgeLearning::end_block(Link& link, int round) {
  if (watch_ != nullptr) [[unlikely]]
    link.waits.emplace(watch_.get(), static_cast<int>(link.worker), "round", 0);
  if (back_->value() + 1 == (static_cast<std::uint64_t>(round) + 1) * links_.size()) {
    ends_.push_back(link.server->processor->now() - started_);
    for (const auto& each : links_) {
      if (each->waits) each->waits->end();
    }
  }
  back_->increment();
}

Task EdgeLearning::work(Link& link) {
  for (int round = 0; round < config_.rounds; ++round) {
    const EdgeShare& part = share(link, round);
    if (part.parameters == 0) continue;
    co_await link.at_worker->next();
    link.compare(*link.rank, link.local, block(link, true, round));
    accelerator::KernelWork kernel;
    kernel.compute = after(
        {}, static_cast<double>(part.parameters) * workers_[static_cast<std::size_t>(round)][link.worker].compute_s);
    link.rank->accelerator.submit(kernel_command(kComputeStream, "block", kernel));
    link.rank->accelerator.notify(kComputeStream, *link.computed, 0);
    co_await link.computed->next();
    co_await send(link, false, round);
  }
}

double EdgeLearning::progress() const {
  return static_cast<double>(back_->value()) /
         static_cast<double>(static_cast<std::size_t>(config_.rounds) * links_.size());
}

EdgeResult EdgeLearning::result() const {
  EdgeResult result;
  result.ends = ends_;
  result.last = shares_.back();
  const auto slowest = [&](std::size_t round, const std::vector<EdgeShare>& shares) {
    double most = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) most = std::max(most, edge_time(workers_[round][i], shares[i]));
    return most;
  };
  for (std::size_t round = 0; round < shares_.size(); ++round) {
    result.planned.push_back(slowest(round, shares_[round]));
    result.equal.push_back(
        slowest(round, allocate_edge(EdgeAllocation::kEqual, config_.parameters,
                                     static_cast<double>(config_.bandwidth.count()), workers_[round])));
  }
  if (ranks_.front()->store == nullptr) return result;
  result.wrong = 0;
  for (const auto& link : links_) result.wrong += link->wrong;
  return result;
}

}  // namespace weft::schedules
