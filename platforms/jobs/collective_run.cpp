// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/collective_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "platforms/jobs/compressed_numbers.h"
#include "platforms/results/format.h"
#include "sw/collectives/compressed/collectives.h"
#include "sw/collectives/reference.h"
#include "sw/firmware/program_fields.h"

namespace weft::platforms {

using collectives::Communicator;
using firmware::Task;

namespace {

constexpr int kRoot = 0;

/// Threads are named after what they run.
const firmware::ProgramFields kFieldsOfCollectives({"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                                    "broadcast"},
                                                   {"collectives.entry", "accelerator.dma.start"});

/// One of the collectives that run at a time, with buffers of its own.
struct Concurrent {
  CollectiveOp op;
  std::unique_ptr<Communicator> communicator;
  std::uint64_t seed = 0;  ///< of its data, beyond the turn's
  std::uint64_t input = 0;
  std::uint64_t output = 0;
  int last = 0;                        ///< member that ended the turn's so far
  Time ended;                          ///< when it did
  std::uint64_t multicast_so_far = 0;  ///< tasks
  std::vector<int> tracks = {};        ///< of ranks that are drawn
};

std::optional<dimensions::Operation> operation_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllgather:
      return dimensions::Operation::kAllgather;
    case CollectiveOp::kReduceScatter:
      return dimensions::Operation::kReduceScatter;
    case CollectiveOp::kAllReduce:
      return dimensions::Operation::kAllReduce;
    case CollectiveOp::kAllToAll:
      return dimensions::Operation::kAllToAll;
    default:
      return std::nullopt;
  }
}

std::optional<collectives::Rooted> rooted_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kBroadcast:
      return collectives::Rooted::kBroadcast;
    case CollectiveOp::kReduce:
      return collectives::Rooted::kReduce;
    case CollectiveOp::kGather:
      return collectives::Rooted::kGather;
    case CollectiveOp::kScatter:
      return collectives::Rooted::kScatter;
    default:
      return std::nullopt;
  }
}

std::vector<CollectiveOp> parts_of(CollectiveOp op) {
  if (op == CollectiveOp::kAllgatherReduceScatter) return {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter};
  return {op};
}

/// Time that cores of all ranks were running threads.
struct BusyCores {
  Time host;
  Time dpa;
};

BusyCores busy_cores(Machine& machine) {
  BusyCores sum;
  for (int r = 0; r < machine.size(); ++r) {
    sum.host += machine.rank(r).processor->busy();
    if (machine.rank(r).offload.processor != nullptr) sum.dpa += machine.rank(r).offload.processor->busy();
  }
  return sum;
}

/// One run after another on every rank; it starts when all ranks have reached it, and ends when they have done all
/// parts.
struct Session {
  Machine& machine;
  CollectiveOp op;
  ElementType type;
  std::vector<std::uint64_t> sizes;
  std::vector<Concurrent> parts;
  std::size_t turn = 0;
  std::size_t at_start = 0;
  std::size_t at_end = 0;
  Time began;
  bool warm_up;
  const std::function<void(const CollectiveResult&, bool)>& ended;
  std::vector<CollectiveResult> results;
  collectives::MulticastCounters so_far;
  BusyCores busy_so_far;
  MachineTraffic traffic_so_far;
  std::vector<BusyTimes> parts_so_far;
  std::vector<std::vector<std::pair<std::uint64_t, Time>>> compressed_so_far;  ///< by part and rank: bytes and kernels
  std::vector<std::unique_ptr<firmware::Counter>> gates;                       ///< by rank: how many runs may begin
  std::vector<Time> compressing_until;                                         ///< by rank: of all parts
  Probe* probe = nullptr;                                                      ///< null: nobody records

  [[nodiscard]] std::uint64_t unit() const { return size_of(type); }
  [[nodiscard]] std::size_t threads() const { return parts.size() * static_cast<std::size_t>(machine.size()); }
  /// What a member sends to each in an AllToAll.
  [[nodiscard]] std::uint64_t part(std::uint64_t bytes) const {
    return bytes / unit() / static_cast<std::uint64_t>(machine.size()) * unit();
  }
  /// Bytes of the buffer that the collective is called with.
  [[nodiscard]] std::uint64_t sent(const Concurrent& of) const {
    return of.op == CollectiveOp::kAllToAll ? part(sizes[turn]) * static_cast<std::uint64_t>(machine.size())
                                            : sizes[turn];
  }
  void fill(const Concurrent& part);
  [[nodiscard]] std::int64_t check(const Concurrent& part);
  [[nodiscard]] collectives::Reference reference(const Concurrent& part) const;
  [[nodiscard]] std::string_view algorithm(const Concurrent& part, std::uint64_t bytes) const;
  [[nodiscard]] std::string_view protocol(const Concurrent& part, std::uint64_t bytes) const;
  Task perform(Concurrent& part, int member, std::uint64_t bytes);
  Task run(Concurrent& part, int member);
  [[nodiscard]] std::optional<MulticastTimes> phases(Concurrent& part) const;
  [[nodiscard]] collectives::CompressedCollectives* compressed(const Concurrent& part) const;
  [[nodiscard]] CompressedNumbers numbers(const Concurrent& part) const;
  [[nodiscard]] std::uint64_t result_of(const Concurrent& part) const { return moves(part) ? part.output : part.input; }
  [[nodiscard]] static bool moves(const Concurrent& part) {
    return part.op == CollectiveOp::kReduceScatter || part.op == CollectiveOp::kAllToAll;
  }
  [[nodiscard]] bool is_lossy(const Concurrent& part) const;
  [[nodiscard]] std::optional<CompressedResult> compression() const;
  void finish_turn(Time now);
  void draw(const Concurrent& part, int member, Time since) const;
};

collectives::Reference Session::reference(const Concurrent& part) const {
  const auto operation = operation_of(part.op).value_or(
      part.op == CollectiveOp::kReduce ? dimensions::Operation::kAllReduce : dimensions::Operation::kAllgather);
  return {operation, machine.size(), sizes[turn], type,
          static_cast<std::uint64_t>(machine.config().seed) + turn + part.seed};
}

std::string_view Session::algorithm(const Concurrent& part, std::uint64_t bytes) const {
  if (const auto operation = operation_of(part.op)) {
    const collectives::CompressedCollectives* by = compressed(part);
    if (by != nullptr && by->by_blocks(*operation)) return "compressed blocks";
    return part.communicator->algorithm_of(*operation, bytes, type);
  }
  if (const auto rooted = rooted_of(part.op)) return part.communicator->algorithm_of(*rooted);
  return part.communicator->algorithm_of_barrier();
}

std::string_view Session::protocol(const Concurrent& part, std::uint64_t bytes) const {
  if (const auto operation = operation_of(part.op)) {
    const collectives::CompressedCollectives* by = compressed(part);
    if (by != nullptr && by->by_blocks(*operation)) return {};
    return part.communicator->protocol_of(*operation, bytes, type);
  }
  if (const auto rooted = rooted_of(part.op)) return part.communicator->protocol_of(*rooted, bytes);
  return {};
}

collectives::CompressedCollectives* Session::compressed(const Concurrent& part) const {
  const auto operation = operation_of(part.op);
  return operation ? part.communicator->compressed(*operation, {type}, sent(part)) : nullptr;
}

CompressedNumbers Session::numbers(const Concurrent& part) const {
  return {*operation_of(part.op), type, reference(part).seed, sizes[turn], machine.size()};
}

bool Session::is_lossy(const Concurrent& part) const {
  const collectives::CompressedCollectives* by = compressed(part);
  return by != nullptr && !by->exact();
}

/// Of all parts together; the error is the larger one.
std::optional<CompressedResult> Session::compression() const {
  std::optional<CompressedResult> result;
  Time kernels;
  double whole = 0;
  const int n = machine.size();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Concurrent& part = parts[p];
    const collectives::CompressedCollectives* by = compressed(part);
    if (by == nullptr) continue;
    if (!result) result.emplace();
    for (int r = 0; r < n; ++r) {
      const auto& [sent, taken] = compressed_so_far[p][static_cast<std::size_t>(r)];
      result->sent_bytes += static_cast<double>(by->sent(r) - sent) / n;
      kernels += by->kernels(r) - taken;
    }
    const double share = static_cast<double>(n - 1) / n;
    const bool sums = part.op == CollectiveOp::kAllReduce;
    whole += static_cast<double>(sizes[turn]) * (!sums ? share : by->hops() ? 2 * share : 1.0);
    if (machine.config().data && is_lossy(part)) {
      result->error = std::max(result->error.value_or(0), numbers(part).error(machine, result_of(part)));
    }
  }
  if (!result) return std::nullopt;
  result->kernels = kernels / n;
  if (result->sent_bytes > 0) result->ratio = whole / result->sent_bytes;
  return result;
}

void Session::fill(const Concurrent& part) {
  if (is_lossy(part)) return numbers(part).fill(machine, part.input);
  const collectives::Reference contents = reference(part);
  for (int r = 0; r < machine.size(); ++r) {
    memory::BackingStore& store = machine.memory(r).store();
    if (part.op == CollectiveOp::kBroadcast || part.op == CollectiveOp::kScatter) {
      contents.fill_broadcast(store, part.input, r, kRoot);
    } else if (part.op != CollectiveOp::kBarrier) {
      contents.fill(store, part.input, r);
    }
  }
}

std::int64_t Session::check(const Concurrent& part) {
  if (part.op == CollectiveOp::kBarrier) return 0;
  if (is_lossy(part)) return numbers(part).different(machine, result_of(part));
  const collectives::Reference contents = reference(part);
  std::int64_t wrong = 0;
  for (int r = 0; r < machine.size(); ++r) {
    const memory::BackingStore& store = machine.memory(r).store();
    if (part.op == CollectiveOp::kBroadcast) {
      wrong += contents.wrong_copy(store, part.input, {0, contents.bytes}, kRoot);
    } else if (part.op == CollectiveOp::kScatter) {
      wrong += contents.wrong_copy(store, part.input, contents.block(r), kRoot);
    } else if (r == kRoot || (part.op != CollectiveOp::kReduce && part.op != CollectiveOp::kGather)) {
      wrong += contents.wrong(store, result_of(part), r);
    }
  }
  return wrong;
}

std::optional<MulticastTimes> Session::phases(Concurrent& part) const {
  const auto ends = part.communicator->multicast_phases(part.last);
  if (!ends || ends->tasks == part.multicast_so_far) return std::nullopt;
  part.multicast_so_far = ends->tasks;
  return MulticastTimes{part.last,
                        ends->barrier - began,
                        ends->fast_path - ends->barrier,
                        ends->cutoff - ends->fast_path,
                        ends->recovery - ends->cutoff,
                        part.ended - ends->recovery};
}

void Session::finish_turn(Time now) {
  const std::uint64_t bytes = sizes[turn];
  CollectiveResult result;
  result.bytes = bytes;
  result.time = now - began;
  if (machine.config().data) {
    result.wrong = 0;
    for (const Concurrent& part : parts) result.wrong += check(part);
  }
  for (const Concurrent& part : parts) {
    result.algorithms.push_back(algorithm(part, bytes));
    result.protocols.push_back(protocol(part, bytes));
  }
  const BusyCores busy = busy_cores(machine);
  result.host_busy = (busy.host - busy_so_far.host) / machine.size();
  if (machine.config().dpa.cores > 0) result.dpa_busy = (busy.dpa - busy_so_far.dpa) / machine.size();
  result.busy = busy_shares(parts_so_far, busy_times(machine), result.time);
  result.multicast = parts.front().communicator->multicast_counters();
  if (result.multicast) result.multicast->add(std::exchange(so_far, *result.multicast), -1);
  result.phases = phases(parts.front());
  result.compressed = compression();
  result.traffic = traffic_of(machine).since(traffic_so_far);
  const double seconds = static_cast<double>(result.time.count()) * 1e-12;
  const double n = machine.size();
  if (result.time > Time() && op != CollectiveOp::kBarrier)
    result.algbw_GBps = static_cast<double>(bytes) / seconds * 1e-9;
  const bool twice = op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllgatherReduceScatter;
  const bool once = op == CollectiveOp::kBroadcast || op == CollectiveOp::kReduce;
  const double share = once ? 1 : (twice ? 2 : 1) * (n - 1) / n;
  result.busbw_GBps = result.algbw_GBps * share;
  results.push_back(result);
  if (ended) ended(result, !(warm_up && turn == 0));
}

Task Session::perform(Concurrent& part, int member, std::uint64_t bytes) {
  Communicator& communicator = *part.communicator;
  switch (part.op) {
    case CollectiveOp::kAllgather:
      return communicator.allgather(member, part.input, bytes, unit(), {type});
    case CollectiveOp::kReduceScatter:
      return communicator.reduce_scatter(member, part.input, part.output, bytes, type);
    case CollectiveOp::kAllReduce:
      return communicator.all_reduce(member, part.input, bytes, type);
    case CollectiveOp::kAllToAll:
      return communicator.all_to_all(member, part.input, part.output,
                                     this->part(bytes) * static_cast<std::uint64_t>(machine.size()), {type});
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduce:
    case CollectiveOp::kGather:
    case CollectiveOp::kScatter:
      return communicator.rooted(member, *rooted_of(part.op), kRoot, part.input, bytes, type);
    case CollectiveOp::kBarrier:
    case CollectiveOp::kAllgatherReduceScatter:  // is two parts
      break;
  }
  return communicator.barrier(member);
}

/// As NCCL's kernels call it.
std::string_view called(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllgather:
    case CollectiveOp::kAllgatherReduceScatter:  // is two parts
      return "AllGather";
    case CollectiveOp::kReduceScatter:
      return "ReduceScatter";
    case CollectiveOp::kBroadcast:
      return "Broadcast";
    case CollectiveOp::kReduce:
      return "Reduce";
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kGather:
    case CollectiveOp::kScatter:
      return "SendRecv";
    case CollectiveOp::kAllReduce:
    case CollectiveOp::kBarrier:
      break;
  }
  return "AllReduce";
}

void Session::draw(const Concurrent& part, int member, Time since) const {
  if (static_cast<std::size_t>(member) >= part.tracks.size()) return;
  const std::string what = fmt::format("{} of {}{}", name_of(part.op), short_bytes(static_cast<double>(sizes[turn])),
                                       warm_up && turn == 0 ? ", warm-up" : "");
  probe->slice(part.tracks[static_cast<std::size_t>(member)], {.what = what,
                                                               .from = since,
                                                               .to = machine.rank(member).processor->now(),
                                                               .kind = SliceKind::kCollective,
                                                               .operation = called(part.op),
                                                               .asked = since,
                                                               .bytes = static_cast<std::int64_t>(sent(part)),
                                                               .ranks = machine.size()});
}

Task Session::run(Concurrent& part, int member) {
  firmware::Processor& processor = *machine.rank(member).processor;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // A rank that is done waits until all are; the pause is an ideal barrier, outside of what is measured.
    if (++at_start == threads()) {
      at_start = 0;
      at_end = 0;
      turn = i;
      if (machine.config().data) {
        for (const Concurrent& each : parts) fill(each);
      }
      began = processor.now();
      busy_so_far = busy_cores(machine);
      traffic_so_far = traffic_of(machine);
      parts_so_far = busy_times(machine);
      compressed_so_far.clear();
      for (const Concurrent& each : parts) {
        auto& of_ranks = compressed_so_far.emplace_back();
        collectives::CompressedCollectives* by = compressed(each);
        if (by != nullptr) by->count_together(compressing_until);
        for (int r = 0; by != nullptr && r < machine.size(); ++r) of_ranks.emplace_back(by->sent(r), by->kernels(r));
      }
      for (auto& gate : gates) gate->set(i + 1);
    }
    co_await gates[static_cast<std::size_t>(member)]->reach(i + 1);
    const Time since = processor.now();
    co_await perform(part, member, sizes[i]);
    draw(part, member, since);
    part.last = member;
    part.ended = processor.now();
    if (++at_end == threads()) finish_turn(processor.now());
  }
}

}  // namespace

std::vector<CollectiveResult> run_collective(Machine& machine, CollectiveOp op, const std::vector<std::uint64_t>& sizes,
                                             ElementType type, std::string* remark, bool warm_up,
                                             const std::function<void(const CollectiveResult&, bool)>& ended,
                                             const Drawn& drawn) {
  if (sizes.empty()) return {};
  std::vector<std::uint64_t> turns = sizes;
  if (warm_up) turns.insert(turns.begin(), sizes.front());
  Session session{machine, op, type, turns, {}, 0, 0, 0, Time(), warm_up, ended, {}, {}, {}, {}, {}, {}, {}, {}};
  session.compressing_until.resize(static_cast<std::size_t>(machine.size()));
  session.probe = drawn.probe;
  for (const CollectiveOp each : parts_of(op)) {
    auto communicator = std::make_unique<Communicator>(machine.ranks(), machine.config().collectives, "collectives");
    if (const auto operation = operation_of(each)) communicator->check(*operation);
    if (each == CollectiveOp::kBarrier) communicator->check_barrier();
    if (const auto rooted = rooted_of(each); rooted && !communicator->has(*rooted)) {
      const bool broadcast = *rooted == collectives::Rooted::kBroadcast;
      throw ConfigError("collectives.algorithm",
                        "expected " + collectives::names_with(*rooted) + " for " + std::string(name_of(each)) +
                            (broadcast ? ", or a tree in collectives.broadcast.algorithm" : "") + ", got " +
                            std::string(name_of(machine.config().collectives.algorithm)));
    }
    session.parts.push_back({each, std::move(communicator), 1'000'000 * session.parts.size(), 0, 0, 0, Time(), 0});
  }
  const std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
  for (int r = 0; r < machine.size(); ++r) {
    firmware::Rank& rank = machine.rank(r);
    for (Concurrent& part : session.parts) {
      part.input = rank.memory.allocate("the collective's buffer", largest);
      if (part.op == CollectiveOp::kReduceScatter || part.op == CollectiveOp::kAllToAll) {
        part.output = rank.memory.allocate("the collective's output", largest);
      }
    }
    for (Concurrent& part : session.parts) {
      if (drawn.probe == nullptr || r >= drawn.ranks) break;
      part.tracks.push_back(drawn.probe->add_track(fmt::format("accelerator {}", r), std::string(name_of(part.op))));
    }
    session.gates.push_back(std::make_unique<firmware::Counter>(*rank.processor, "the other ranks"));
  }
  for (int r = 0; r < machine.size(); ++r) {
    int core = 0;
    for (Concurrent& part : session.parts) {
      machine.rank(r).processor->spawn(fmt::format("{} {}", name_of(part.op), r), core++, session.run(part, r));
    }
  }
  machine.run();
  if (warm_up) session.results.erase(session.results.begin());
  for (const Concurrent& part : session.parts) {
    const std::string said = part.communicator->remark();
    if (remark != nullptr && !said.empty()) *remark += (remark->empty() ? "" : "; ") + said;
  }
  return session.results;
}

}  // namespace weft::platforms
