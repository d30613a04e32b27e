// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/collective_run.h"

#include <algorithm>
#include <cstring>

#include "sw/collectives/pattern.h"

namespace weft::platforms {

using collectives::Communicator;
using collectives::encode;
using collectives::Extent;
using collectives::pattern;
using firmware::Task;

namespace {

constexpr int kRoot = 0;  // of a Broadcast

/// One collective after another on every rank; a run starts when all ranks have reached it.
struct Session {
  Machine& machine;
  Communicator& communicator;
  CollectiveOp op;
  ElementType type;
  std::vector<std::uint64_t> sizes;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
  std::size_t turn = 0;
  int at_start = 0;
  int at_end = 0;
  Time began;
  std::vector<CollectiveResult> results;
  collectives::MulticastCounters so_far;
  std::vector<std::unique_ptr<firmware::Counter>> gates;  ///< by rank: how many runs may begin

  [[nodiscard]] std::uint64_t unit() const { return size_of(type); }

  void fill();
  [[nodiscard]] std::int64_t check();
  Task run(int member);
  void finish_turn(Time now);
};

void Session::fill() {
  if (!machine.config().data) return;
  const std::uint64_t bytes = sizes[turn];
  const auto seed = static_cast<std::uint64_t>(machine.config().seed) + turn;
  for (int r = 0; r < machine.size(); ++r) {
    const Extent own = communicator.block(bytes, r, unit());
    std::vector<std::byte> data(bytes);
    for (std::uint64_t at = 0; at < bytes; ++at) data[at] = static_cast<std::byte>(0xa5);
    for (std::uint64_t at = 0; at + unit() <= bytes; at += unit()) {
      const bool contributes = op == CollectiveOp::kBroadcast ? r == kRoot
                                                              : op != CollectiveOp::kAllgather ||
                                                                    (at >= own.offset && at < own.offset + own.bytes);
      if (contributes) encode(type, pattern(seed, r, at / unit()), &data[at]);
    }
    // What does not fill an element: an Allgather carries it all the same, from the last rank, and a Broadcast.
    if ((op == CollectiveOp::kAllgather && r == machine.size() - 1) || (op == CollectiveOp::kBroadcast && r == kRoot)) {
      for (std::uint64_t at = bytes / unit() * unit(); at < bytes; ++at) data[at] = static_cast<std::byte>(at * 7 + 1);
    }
    machine.memory(r).store().write(input, data.data(), bytes);
  }
}

std::int64_t Session::check() {
  if (!machine.config().data) return -1;
  if (op == CollectiveOp::kBarrier) return 0;
  const std::uint64_t bytes = sizes[turn];
  const auto seed = static_cast<std::uint64_t>(machine.config().seed) + turn;
  std::int64_t wrong = 0;
  std::vector<std::byte> expected(unit());
  for (int r = 0; r < machine.size(); ++r) {
    const Extent own = communicator.block(bytes, r, unit());
    const bool scattered = op == CollectiveOp::kReduceScatter;
    const Extent extent = scattered ? own : Extent{0, bytes};
    std::vector<std::byte> actual(extent.bytes);
    machine.memory(r).store().read(scattered ? output : input, actual.data(), extent.bytes);
    int owner = 0;
    for (std::uint64_t at = 0; at + unit() <= extent.bytes; at += unit()) {
      const std::uint64_t index = (extent.offset + at) / unit();
      std::uint32_t value = 0;
      if (op == CollectiveOp::kBroadcast) {
        value = pattern(seed, kRoot, index);
      } else if (op == CollectiveOp::kAllgather) {
        while (at >= communicator.block(bytes, owner, unit()).offset + communicator.block(bytes, owner, unit()).bytes)
          ++owner;
        value = pattern(seed, owner, index);
      } else {
        for (int s = 0; s < machine.size(); ++s) value += pattern(seed, s, index);
      }
      encode(type, value, expected.data());
      if (std::memcmp(expected.data(), &actual[at], unit()) != 0) ++wrong;
    }
    if (op != CollectiveOp::kAllgather && op != CollectiveOp::kBroadcast) continue;
    for (std::uint64_t at = bytes / unit() * unit(); at < bytes; ++at) {
      if (actual[at] != static_cast<std::byte>(at * 7 + 1)) ++wrong;
    }
  }
  return wrong;
}

void Session::finish_turn(Time now) {
  const std::uint64_t bytes = sizes[turn];
  CollectiveResult result;
  result.bytes = bytes;
  result.time = now - began;
  result.wrong = check();
  result.multicast = communicator.multicast_counters();
  if (result.multicast) result.multicast->add(std::exchange(so_far, *result.multicast), -1);
  const double seconds = static_cast<double>(result.time.count()) * 1e-12;
  const double n = machine.size();
  if (result.time > Time() && op != CollectiveOp::kBarrier)
    result.algbw_GBps = static_cast<double>(bytes) / seconds * 1e-9;
  const double share = op == CollectiveOp::kBroadcast ? 1 : (op == CollectiveOp::kAllReduce ? 2 : 1) * (n - 1) / n;
  result.busbw_GBps = result.algbw_GBps * share;
  results.push_back(result);
}

Task Session::run(int member) {
  firmware::Rank& rank = communicator.rank(member);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // A rank that is done waits until all are; the pause is an ideal barrier, outside of what is measured.
    if (++at_start == machine.size()) {
      at_start = 0;
      at_end = 0;
      turn = i;
      fill();
      began = rank.processor->now();
      for (auto& gate : gates) gate->set(i + 1);
    }
    co_await gates[static_cast<std::size_t>(member)]->reach(i + 1);
    const std::uint64_t bytes = sizes[i];
    switch (op) {
      case CollectiveOp::kAllgather:
        co_await communicator.allgather(member, input, bytes, unit());
        break;
      case CollectiveOp::kReduceScatter:
        co_await communicator.reduce_scatter(member, input, output, bytes, type);
        break;
      case CollectiveOp::kAllReduce:
        co_await communicator.all_reduce(member, input, bytes, type);
        break;
      case CollectiveOp::kBroadcast:
        co_await communicator.broadcast(member, kRoot, input, bytes);
        break;
      case CollectiveOp::kBarrier:
        co_await communicator.barrier(member);
        break;
    }
    if (++at_end == machine.size()) finish_turn(rank.processor->now());
  }
}

}  // namespace

std::vector<CollectiveResult> run_collective(Machine& machine, CollectiveOp op, const std::vector<std::uint64_t>& sizes,
                                             ElementType type, std::string* remark, bool warm_up) {
  if (sizes.empty()) return {};
  Communicator communicator(machine.ranks(), machine.config().collectives, "collectives");
  if (remark != nullptr) *remark = communicator.remark();
  if (op == CollectiveOp::kBroadcast && !communicator.can_broadcast()) {
    throw ConfigError("collectives.algorithm", "expected ring or in-network for a Broadcast, got hierarchical");
  }
  const std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::uint64_t> turns = sizes;
  if (warm_up) turns.insert(turns.begin(), sizes.front());
  Session session{machine, communicator, op, type, turns, 0, 0, 0, 0, 0, Time(), {}, {}, {}};
  for (int r = 0; r < machine.size(); ++r) {
    firmware::Rank& rank = machine.rank(r);
    session.input = rank.memory.allocate("the collective's buffer", largest);
    session.output = op == CollectiveOp::kReduceScatter ? rank.memory.allocate("the collective's output", largest) : 0;
    session.gates.push_back(std::make_unique<firmware::Counter>(*rank.processor, "the other ranks"));
  }
  for (int r = 0; r < machine.size(); ++r) {
    machine.rank(r).processor->spawn("rank " + std::to_string(r), 0, session.run(r));
  }
  machine.run();
  if (warm_up) session.results.erase(session.results.begin());
  return session.results;
}

}  // namespace weft::platforms
