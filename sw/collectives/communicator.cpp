// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/communicator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "hw/core/config/blame.h"
#include "sw/collectives/compressed/collectives.h"
#include "sw/collectives/nodes.h"
#include "sw/collectives/ring/ring_algorithm.h"
#include "sw/firmware/program_fields.h"

namespace weft::collectives {

using dimensions::Operation;
using firmware::Rank;
using firmware::Task;

namespace {

constexpr const char* kPath = "collectives.algorithm";

/// Threads of rings, trees and PAT. What they let pass is until a kernel knows what another one on another node has
/// sent: whole chunks, words with flags, or lines with flags.
const firmware::ProgramFields kFieldsOfSteps({": reduce-scatter", ": allgather", ": all-reduce", ": broadcast"},
                                             {"accelerator.relay", "accelerator.word_relay", "accelerator.line_relay"});

/// With the article that it has in sentences.
const char* sentence_name(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return "an AllReduce";
    case Operation::kAllgather:
      return "an Allgather";
    case Operation::kReduceScatter:
      return "a ReduceScatter";
    case Operation::kAllToAll:
      break;
  }
  return "an AllToAll";
}

std::string whose(const Algorithm& algorithm) {
  return "collective " + algorithm.name;
}

/// Of several nodes, one for each interface by which a node could be entered and left. A ring graph of NCCL has 32 at
/// most (half of MAXCHANNELS, initTransportsRank() of its src/init.cc, version 2.22).
int usual_channels(const Nodes& nodes) {
  constexpr int kOfOneEach = 4;
  constexpr int kLeast = 8;
  constexpr int kMost = 32;
  if (nodes.per_node() == 1) return kOfOneEach;
  return nodes.count() == 1 ? kLeast : std::clamp(nodes.per_node(), kLeast, kMost);
}

}  // namespace

Communicator::Communicator(std::vector<Rank*> ranks, const Config& config, std::string name)
    : ranks_(std::move(ranks)),
      config_(config),
      name_(std::move(name)),
      algorithm_(collectives::algorithm_of(config.algorithm)) {
  channels_ = config.channels != 0 ? config.channels : usual_channels(Nodes(ranks_));
  // Ranks may be members of other groups, each of its own, which have staging memory as well.
  firmware::align_memory(ranks_);
  watch_ = Watch::of(ranks_, name_);
  for (Rank* rank : ranks_) token_.push_back(rank->memory.allocate("barrier", 4 * ranks_.size()));
  if (const Algorithm* other = in_place_of(algorithm_, config_)) other_ = make(*other);
  own_ = other_.group == nullptr ? make(algorithm_) : doer(algorithm_, make_group(algorithm_));
  multicast_ = dynamic_cast<const MulticastGroup*>(own_.group.get());
  if (config.broadcast.algorithm != BroadcastAlgorithm::kAutomatic) {
    broadcast_ = std::make_unique<TreeBroadcast>(ranks_, config.broadcast,
                                                 name_ + " " + std::string(name_of(config.broadcast.algorithm)));
  }
  compression::check(config.compression);
}

Communicator::~Communicator() = default;

void require_exact_sums(const CommunicatorConfig& config, const Rank& rank) {
  if (rank.store == nullptr) return;
  for (const auto& [name, traffic] : enum_names(compression::Traffic())) {
    const compression::CompressionConfig& how = config.compression.of(traffic);
    if (!how.on() || compression::compressor_of(how).exact) continue;
    throw ConfigError(config.compression.path(traffic) + ".method",
                      "expected none or lossless with data on, since sums are compared with exact ones, got " +
                          std::string(name_of(how.method)));
  }
}

CompressedCollectives* Communicator::compressed(Operation what, Carries carries, std::uint64_t bytes) {
  const compression::MessageCompression& all = config_.compression;
  const compression::CompressionConfig& how = all.of(carries.traffic);
  if (!how.on() || size() == 1) return nullptr;
  const bool has_own = all.has_own(carries.traffic);
  const compression::Traffic whose = has_own ? carries.traffic : compression::Traffic::kOther;
  std::unique_ptr<CompressedCollectives>& by = compressed_[static_cast<std::size_t>(whose)];
  if (by == nullptr) {
    const std::string traffic = has_own ? " " + std::string(name_of(whose)) : "";
    const GroupSite site{ranks_, config_, config_.sections.of(algorithm_.name), name_, channels_, {}};
    by = std::make_unique<CompressedCollectives>(
        *this, how, different_rings(ring_orders(neighbours(site), channels_), CompressedBlocks::kMostRings),
        name_ + " compressed" + traffic);
  }
  if (by->takes(what, carries.type, bytes)) return by.get();
  // What was asked for this traffic alone is not left out in silence.
  if (has_own && carries.type && carries.type != ElementType::kInt32 && !by->takes(what, carries.type)) {
    std::vector<std::string> names;
    for (const std::string& name : compression::compressors_by_blocks()) {
      compression::CompressionConfig other = how;
      other.method = compression::CompressorName(name);
      // Others send an AllReduce as a message of float32.
      if (what != Operation::kAllReduce || compression::Blocks(other, 1).hops()) names.push_back(name);
    }
    throw ConfigError(all.path(whose) + ".method",
                      fmt::format("expected none, same or one of {} for {} of {}, got {}", fmt::join(names, ", "),
                                  sentence_name(what), name_of(*carries.type), how.method.text()));
  }
  return nullptr;
}

CompressedCollectives* Communicator::begin_compressed(int member, Operation what, Carries carries,
                                                      std::uint64_t bytes) {
  rank(member).traffic |= 1U << static_cast<unsigned>(carries.traffic);
  CompressedCollectives* const by = compressed(what, carries, bytes);
  if (by == nullptr) return nullptr;
  rank(member).compressed |= 1U << static_cast<unsigned>(carries.traffic);
  if (by->by_blocks(what)) by_blocks_[by->config().method.text()].insert(name_of(what));
  return by;
}

std::unique_ptr<Group> Communicator::make_group(const Algorithm& algorithm) {
  GroupSite site{ranks_, config_, config_.sections.of(algorithm.name), name_, channels_, {}};
  auto group = blaming([&] { return whose(algorithm); }, [&] { return algorithm.make(site); });
  if (group == nullptr && !site.remark.empty()) {
    const std::string& doer = other_.algorithm != nullptr ? other_.algorithm->name : std::string(kRingAlgorithm);
    remark_ = site.remark + ", so that " + doer + " runs in place of " + algorithm.name;
  }
  return group;
}

Communicator::Doer Communicator::doer(const Algorithm& algorithm, std::unique_ptr<Group> group) {
  return {&algorithm, std::move(group), whose(algorithm)};
}

Communicator::Doer Communicator::make(const Algorithm& algorithm) {
  if (auto group = make_group(algorithm)) return doer(algorithm, std::move(group));
  const Algorithm& rings = collectives::algorithm_of(kRingAlgorithm);
  return doer(rings, make_group(rings));
}

const Communicator::Doer& Communicator::doer_of_barrier() const {
  if (own_.group != nullptr && algorithm_.barrier) return own_;
  return doer_for(Operation::kAllReduce);
}

const Communicator::Doer& Communicator::doer_for(Operation what) const {
  if (const Doer* doer = doer_of(what)) return *doer;
  throw ConfigError(kPath, "expected " + names_with(what) + " for " + sentence_name(what) + ", got " + algorithm_.name);
}

void Communicator::check(Operation operation) const {
  doer_for(operation).group->check(operation);
}

std::string_view Communicator::algorithm_of(Operation what, std::uint64_t bytes, ElementType type) const {
  const Doer* doer = doer_of(what);
  if (doer == nullptr) return algorithm_.name;
  const std::string_view way = doer->group->way(what, bytes, type);
  return way.empty() ? doer->algorithm->name : way;
}

std::string_view Communicator::algorithm_of(Rooted what) const {
  if (what == Rooted::kBroadcast && broadcast_ != nullptr) return name_of(config_.broadcast.algorithm);
  const Doer* doer = doer_of(what);
  if (doer == nullptr) return algorithm_.name;
  const std::string_view way = doer->group->way(what);
  return way.empty() ? doer->algorithm->name : way;
}

std::string_view Communicator::protocol_of(Operation what, std::uint64_t bytes, ElementType type) const {
  const Doer* doer = doer_of(what);
  return doer == nullptr ? std::string_view() : doer->group->protocol(what, bytes, type);
}

std::string_view Communicator::protocol_of(Rooted what, std::uint64_t bytes) const {
  const Doer* doer = what == Rooted::kBroadcast && broadcast_ != nullptr ? nullptr : doer_of(what);
  return doer == nullptr ? std::string_view() : doer->group->protocol(what, bytes);
}

std::string_view Communicator::algorithm_of_barrier() const {
  if (algorithm_.barrier) return doer_of_barrier().algorithm->name;
  return algorithm_of(Operation::kAllReduce, 4 * ranks_.size(), ElementType::kInt32);
}

int Communicator::kernel_cores(int member, Operation what, std::uint64_t bytes, Carries carries, bool of_equal_parts) {
  const Rank& rank = *ranks_[static_cast<std::size_t>(member)];
  if (!rank.staged || algorithm_.on_host) return 0;
  const Doer* doer = doer_of(what);
  if (doer == nullptr || compressed(what, carries, bytes) != nullptr) return rank.copy_engines;
  return kernel_cores(rank, *doer->group, what, bytes, of_equal_parts);
}

int Communicator::kernel_cores(int member, Rooted what) const {
  const Rank& rank = *ranks_[static_cast<std::size_t>(member)];
  const bool by_tree = what == Rooted::kBroadcast && broadcast_ != nullptr;
  if (!rank.staged || algorithm_.on_host || by_tree) return 0;
  const Doer* doer = doer_of(what);
  if (doer == nullptr) return rank.copy_engines;
  // Rings, or copies from one to the others by kernels.
  return kernel_cores(rank, *doer->group, Operation::kAllToAll, 0, false);
}

int Communicator::kernel_cores(const Rank& rank, const Group& group, Operation what, std::uint64_t bytes,
                               bool of_equal_parts) {
  const int cores = group.kernel_cores(what, bytes, of_equal_parts);
  return cores == Group::kUsualCores ? rank.copy_engines : cores;
}

Group& Communicator::begin(const Doer& doer) {
  std::vector<std::string_view>& algorithms = ranks_.front()->algorithms;
  const std::string_view name = doer.algorithm->name;
  if (std::find(algorithms.begin(), algorithms.end(), name) == algorithms.end()) algorithms.push_back(name);
  return *doer.group;
}

Group& Communicator::begin(const Doer& doer, std::string_view what) {
  // A full network has its own remark.
  if (doer.algorithm != &algorithm_ && remark_.empty() && size() > 1) replaced_[doer.algorithm->name].insert(what);
  return begin(doer);
}

firmware::Processor::Part Communicator::part_of(int member, const Doer& doer, std::string_view what) {
  firmware::Processor& processor = processor_of(member);
  if (watch_ == nullptr) [[likely]]
    return {processor, doer.whose};
  const auto [known, is_new] = contexts_.try_emplace({&doer, what});
  if (is_new) known->second = processor.context_of(fmt::format("{} {}: {}", name_, doer.algorithm->name, what));
  return {processor, doer.whose, known->second};
}

std::string Communicator::remark() const {
  std::string text = remark_;
  if (own_.group != nullptr && text.empty()) text = own_.group->remark();
  for (const auto& [algorithm, names] : replaced_) {
    text += fmt::format("{}{} by {}: {} {}", text.empty() ? "" : "; ", fmt::join(names, " and "), algorithm,
                        algorithm_.name, algorithm_.lacking);
  }
  for (const auto& by : compressed_) {
    if (by == nullptr) continue;
    if (const std::string more = by->remark(); !more.empty()) text += (text.empty() ? "" : "; ") + more;
  }
  if (algorithm_.name == kRingAlgorithm) return text;
  for (const auto& [compressor, names] : by_blocks_) {
    text += fmt::format("{}{} by collectives of {}'s own, which sends compressed blocks, and not by {}",
                        text.empty() ? "" : "; ", fmt::join(names, " and "), compressor, algorithm_.name);
  }
  return text;
}

std::optional<MulticastCounters> Communicator::multicast_counters() const {
  if (multicast_ == nullptr) return std::nullopt;
  MulticastCounters sum;
  for (int i = 0; size() > 1 && i < size(); ++i) sum.add(multicast_->counters(i));
  return sum;
}

std::optional<MulticastPhases> Communicator::multicast_phases(int member) const {
  if (multicast_ == nullptr || size() == 1) return std::nullopt;
  return multicast_->phases(member);
}

Task Communicator::allgather(int member, std::uint64_t buffer, std::uint64_t bytes, std::uint64_t granule,
                             Carries carries) {
  if (CompressedCollectives* const by = begin_compressed(member, Operation::kAllgather, carries, bytes)) {
    const Watch::Call call(watch_.get(), member, "all_gather", bytes);
    co_await enter(member);
    co_await by->allgather(member, buffer, bytes, *carries.type);
    call.end();
    co_return;
  }
  const Doer& doer = doer_for(Operation::kAllgather);
  Group& group = begin(doer, "all_gather");
  const Watch::Call call(watch_.get(), member, "all_gather", bytes);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "all_gather");
  co_await group.allgather(member, buffer, even_blocks({0, bytes}, size(), granule), granule);
  part.end();
  call.end();
}

Task Communicator::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                  ElementType type, Carries carries) {
  if (!carries.type) carries.type = type;
  if (CompressedCollectives* const by = begin_compressed(member, Operation::kReduceScatter, carries, bytes)) {
    const Watch::Call call(watch_.get(), member, "reduce_scatter", bytes);
    co_await enter(member);
    co_await by->reduce_scatter(member, input, output, bytes, *carries.type);
    call.end();
    co_return;
  }
  const Doer& doer = doer_for(Operation::kReduceScatter);
  Group& group = begin(doer, "reduce_scatter");
  const Watch::Call call(watch_.get(), member, "reduce_scatter", bytes);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "reduce_scatter");
  co_await group.reduce_scatter(member, input, output, even_blocks({0, bytes}, size(), size_of(type)), type);
  part.end();
  call.end();
}

Task Communicator::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type,
                              Carries carries) {
  if (!carries.type) carries.type = type;
  CompressedCollectives* const by = begin_compressed(member, Operation::kAllReduce, carries, bytes);
  if (by == nullptr) {
    co_await all_reduce_whole(member, buffer, bytes, type);
    co_return;
  }
  // Of what is sent, collectives of its own are counted.
  if (!by->by_blocks(Operation::kAllReduce)) {
    co_await by->all_reduce(member, buffer, bytes, *carries.type);
    co_return;
  }
  const Watch::Call call(watch_.get(), member, "all_reduce", bytes);
  co_await enter(member);
  co_await by->all_reduce(member, buffer, bytes, *carries.type);
  call.end();
}

Task Communicator::all_reduce_whole(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  const Doer& doer = doer_for(Operation::kAllReduce);
  Group& group = begin(doer, "all_reduce");
  const Watch::Call call(watch_.get(), member, "all_reduce", bytes);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "all_reduce");
  co_await group.all_reduce(member, buffer, bytes, type);
  part.end();
  call.end();
}

Task Communicator::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                              Carries carries) {
  if (CompressedCollectives* const by = begin_compressed(member, Operation::kAllToAll, carries, bytes)) {
    const Watch::Call call(watch_.get(), member, "all_to_all", bytes);
    co_await enter(member);
    co_await by->all_to_all(member, input, output, bytes, *carries.type);
    call.end();
    co_return;
  }
  const Doer& doer = doer_for(Operation::kAllToAll);
  Group& group = begin(doer, "all_to_all");
  const Watch::Call call(watch_.get(), member, "all_to_all", bytes);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "all_to_all");
  co_await group.all_to_all(member, input, output, bytes);
  part.end();
  call.end();
}

Task Communicator::exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place, Parts parts) {
  const Doer& doer = doer_for(Operation::kAllToAll);
  Group& group = begin(doer, "all_to_all");
  const std::uint64_t sent = std::accumulate(parts.to.begin(), parts.to.end(), std::uint64_t{0});
  const Watch::Call call(watch_.get(), member, "all_to_all", sent);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "all_to_all");
  co_await group.exchange(member, input, output, place, std::move(parts));
  part.end();
  call.end();
}

Task Communicator::dispatch(int member, std::uint64_t input, std::uint64_t output, Tokens tokens) {
  const Doer& doer = doer_for(Operation::kAllToAll);
  Group& group = begin(doer, "dispatch");
  const std::uint64_t sent = std::accumulate(tokens.members.begin(), tokens.members.end(), std::uint64_t{0});
  const Watch::Call call(watch_.get(), member, "dispatch", sent);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "dispatch");
  co_await group.dispatch(member, input, output, std::move(tokens));
  part.end();
  call.end();
}

Task Communicator::combine(int member, std::uint64_t input, std::uint64_t output, Tokens tokens, ElementType type) {
  const Doer& doer = doer_for(Operation::kAllToAll);
  Group& group = begin(doer, "combine");
  const std::uint64_t sent = std::accumulate(tokens.members.begin(), tokens.members.end(), std::uint64_t{0});
  const Watch::Call call(watch_.get(), member, "combine", sent);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "combine");
  co_await group.combine(member, input, output, std::move(tokens), type);
  part.end();
  call.end();
}

Task Communicator::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  if (broadcast_ != nullptr) {
    const Watch::Call call(watch_.get(), member, "broadcast", bytes);
    co_await enter(member);
    co_await broadcast_->broadcast(member, root, buffer, bytes);
    call.end();
    co_return;
  }
  co_await rooted(member, Rooted::kBroadcast, root, buffer, bytes, ElementType::kFp32);
}

Task Communicator::rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes,
                          ElementType type) {
  if (what == Rooted::kBroadcast && broadcast_ != nullptr) co_return co_await broadcast(member, root, buffer, bytes);
  const Doer* doer = doer_of(what);
  if (doer == nullptr) {
    throw ConfigError(
        kPath, "expected " + names_with(what) + " for a " + std::string(name_of(what)) + ", got " + algorithm_.name);
  }
  Group& group = begin(*doer, name_of(what));
  const Watch::Call call(watch_.get(), member, name_of(what), bytes);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, *doer, name_of(what));
  co_await group.rooted(member, what, root, buffer, bytes, type);
  part.end();
  call.end();
}

Task Communicator::barrier(int member) {
  const Doer& doer = doer_of_barrier();
  Group& group = begin(doer);
  const Watch::Call call(watch_.get(), member, "barrier", 0);
  co_await enter(member);
  const firmware::Processor::Part part = part_of(member, doer, "barrier");
  co_await group.barrier(member, token_[static_cast<std::size_t>(member)]);
  part.end();
  call.end();
}

}  // namespace weft::collectives
