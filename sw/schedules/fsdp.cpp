// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp.h"

#include <algorithm>
#include <cstddef>

#include "sw/schedules/collective_kernel.h"
#include "sw/schedules/fsdp_check.h"
#include "sw/schedules/kernel_work.h"
#include "sw/schedules/offload.h"

namespace weft::schedules {

using collectives::Communicator;
using collectives::Extent;
using firmware::Counter;
using firmware::Rank;
using firmware::Task;

namespace {

// Semaphores of the accelerator: Allgathers and ReduceScatters done since the beginning.
constexpr std::uint32_t kGathered = 0;
constexpr std::uint32_t kScattered = 1;
constexpr std::uint32_t kReduced = Offload::kFirstSemaphore + Offload::kSemaphores;  // AllReduces, if there are copies
// While a ReduceScatter runs, the gradients of the next unit are copied to another buffer.
constexpr int kScatterBuffers = 2;

/// How many ranks share a copy.
int shards_of(const FsdpConfig& config, std::size_t ranks) {
  const int all = static_cast<int>(ranks);
  const int shards = config.shards == 0 ? all : config.shards;
  if (all % shards == 0) return shards;
  throw ConfigError("workload.shards", "a divisor of the " + std::to_string(all) + " ranks");
}

std::uint64_t gradient_seed(int step, int index) {
  return static_cast<std::uint64_t>(step) * 1000 + 500 + static_cast<std::uint64_t>(index);
}

constexpr ElementType kScaleType = ElementType::kFp32;

}  // namespace

/// One rank's part.
struct Fsdp::Member {
  int index;
  int copy;   ///< and its place in copy groups
  int shard;  ///< and its place in the others
  Rank& rank;
  firmware::CompletionQueue& progress;
  firmware::CompletionQueue& cast;  ///< shards that can be gathered
  CollectiveKernel gather_kernel;
  CollectiveKernel scatter_kernel;
  CollectiveKernel copies_kernel;
  Counter stages;    ///< done since the beginning
  Counter scatters;  ///< done since the beginning, for the thread that adds up copies
  std::vector<std::uint64_t> gather_buffers;
  std::vector<std::uint64_t> scatter_buffers;
  std::uint64_t scales = 0;          ///< of weights in float8
  std::uint64_t root_gradients = 0;  ///< to be scattered when all blocks' activations, whose place they take, are used
  std::vector<std::uint64_t> gradients;  ///< the shard of each unit, in the order of ReduceScatters
  std::vector<Time> ends;
  std::int64_t wrong = 0;
  // Counters at the beginning of the last step.
  Time busy;
  Time waited_gather;
  Time waited_scatter;
  Time waited_copies;
  Time waited_offload;
  Time first_wait;                   ///< of the last step, for its first parameters
  std::unique_ptr<Offload> offload;  ///< null where nothing is offloaded
  Probe* probe = nullptr;
  int gather_track = 0;
  int scatter_track = 0;
  int copies_track = 0;

  Member(int number, int shards, Rank& its_rank, bool on_host)
      : index(number),
        copy(number / shards),
        shard(number % shards),
        rank(its_rank),
        progress(its_rank.processor->create_completion_queue("the compute stream")),
        cast(its_rank.processor->create_completion_queue("a shard in the type that is gathered")),
        gather_kernel(its_rank, on_host, "an Allgather's kernel"),
        scatter_kernel(its_rank, on_host, "a ReduceScatter's kernel"),
        copies_kernel(its_rank, on_host, "an AllReduce's kernel"),
        stages(*its_rank.processor, "the compute stream to end stage"),
        scatters(*its_rank.processor, "ReduceScatter") {}
};

Fsdp::Fsdp(std::vector<Rank*> ranks, const FsdpConfig& config, const Communicator::Config& collectives,
           const accelerator::ComputeConfig& compute)
    : ranks_(std::move(ranks)),
      config_(config),
      shards_(shards_of(config, ranks_.size())),
      copies_(static_cast<int>(ranks_.size()) / shards_),
      plan_(config, compute, shards_) {
  flops_per_token_ = models::convention_flops_per_token(plan_.model, config.sequence, false);
  add_groups(collectives);
  const bool on_host = collectives::algorithm_of(collectives.algorithm).on_host;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    members_.emplace_back(std::make_unique<Member>(static_cast<int>(i), shards_, *ranks_[i], on_host));
    allocate_state(*members_.back());
  }
}

void Fsdp::add_groups(const Communicator::Config& collectives) {
  const auto add = [&](Groups& groups, const std::string& name, int first, int count, int step) {
    std::vector<Rank*> members;
    members.reserve(static_cast<std::size_t>(count));
    for (std::ptrdiff_t i = 0; i < count; ++i) members.push_back(*(ranks_.begin() + first + i * step));
    const std::string which = count == static_cast<int>(ranks_.size()) ? "" : " of rank " + std::to_string(first);
    groups.push_back(std::make_unique<Communicator>(std::move(members), collectives, name + which));
  };
  for (int copy = 0; copy < copies_ && shards_ > 1; ++copy) {
    add(gather_groups_, "allgather", copy * shards_, shards_, 1);
    if (config_.separate_streams) add(scatter_groups_, "reduce-scatter", copy * shards_, shards_, 1);
  }
  for (int shard = 0; shard < shards_ && copies_ > 1; ++shard) add(copy_groups_, "all-reduce", shard, copies_, shards_);
}

std::uint64_t Fsdp::allocate(Member& member, const std::string& what, std::uint64_t bytes) {
  if (member.index == 0) memory_.emplace_back(what, bytes);
  return member.rank.memory.allocate(what, bytes);
}

void Fsdp::allocate_state(Member& member) {
  const std::uint64_t parameter_bytes = size_of(config_.parameter_type);
  const std::uint64_t reduce_bytes = size_of(config_.reduce_type);
  const std::uint64_t largest = std::max(plan_.root_elements, plan_.block_elements);
  const auto shards = static_cast<std::uint64_t>(shards_);
  const std::uint64_t shard = (static_cast<std::uint64_t>(plan_.parameters()) + shards - 1) / shards;
  const bool keeps_moments = !config_.offload.optimizer || plan_.optimizer.empty();
  allocate(member, "shards of parameters in 32 bits", 4 * shard);
  if (keeps_moments) allocate(member, "two moments in 32 bits", 8 * shard);
  member.gather_buffers.push_back(allocate(member, "the gathered root unit", plan_.root_elements * parameter_bytes));
  for (int b = 0; b < plan_.block_buffers; ++b) {
    member.gather_buffers.push_back(allocate(member, "a gathered block", plan_.block_gathered_bytes));
  }
  if (plan_.scales > 0) {
    member.scales =
        allocate(member, "scales of weights", static_cast<std::uint64_t>(plan_.scales) * size_of(kScaleType));
  }
  for (int b = 0; b < kScatterBuffers; ++b) {
    member.scatter_buffers.push_back(
        allocate(member, "gradients to be scattered", plan_.block_elements * reduce_bytes));
  }
  std::uint64_t ends = 0;
  for (const Scatter& scatter : plan_.scatters) {
    member.gradients.push_back(ends);
    ends += reduce_bytes * ((scatter.elements + shards - 1) / shards);
  }
  const std::uint64_t gradients =
      allocate(member, "shards of gradients", std::max(4 * shard, ends) + reduce_bytes * largest / shards + 256);
  for (std::uint64_t& place : member.gradients) place += gradients;
  allocate(member, "activations of embedding and head", plan_.root_activations);
  allocate(member, "activations that a block computes again", plan_.recomputed_activations);
  const std::uint64_t root_bytes = plan_.root_elements * reduce_bytes;
  const std::uint64_t block_activations = plan_.activations_before(plan_.blocks());
  if (!config_.offload.activations) {
    try {
      member.root_gradients =
          allocate(member, "activations of " + std::to_string(plan_.blocks()) + " blocks", block_activations);
    } catch (const firmware::OutOfMemory& error) {
      throw firmware::OutOfMemory(error.what() + std::string("; workload.recompute makes them fewer, and "
                                                             "workload.offload.activations puts them elsewhere"),
                                  error.path());
    }
  }
  if (config_.offload.activations || block_activations < root_bytes) {
    member.root_gradients = allocate(member, "gradients of the root unit", root_bytes);
  }
  if (!config_.offload.activations && !config_.offload.optimizer) return;
  const std::uint64_t before = member.rank.memory.used();
  member.offload = std::make_unique<Offload>(member.rank, config_, plan_, shard, member.stages);
  if (member.index == 0) memory_.emplace_back("buffers of remote memory", member.rank.memory.used() - before);
}

Fsdp::~Fsdp() = default;

std::vector<std::string> Fsdp::remarks() const {
  std::vector<std::string> lines;
  for (const Groups* groups : {&gather_groups_, &scatter_groups_, &copy_groups_}) {
    // What one group of a kind says, all do.
    if (!groups->empty() && !groups->front()->remark().empty()) lines.push_back(groups->front()->remark());
  }
  return lines;
}

void Fsdp::record(Probe& probe, int ranks) {
  for (int i = 0; i < std::min(ranks, static_cast<int>(members_.size())); ++i) {
    Member& member = *members_[static_cast<std::size_t>(i)];
    const std::string process = "accelerator " + std::to_string(member.rank.index);
    member.probe = &probe;
    member.gather_track = probe.add_track(process, "allgather");
    member.scatter_track = probe.add_track(process, shards_ > 1 ? "reduce-scatter" : "all-reduce");
    if (replicates()) member.copies_track = probe.add_track(process, "all-reduce");
    if (member.offload) member.offload->record(probe, process);
  }
}

void Fsdp::start() {
  for (auto& member : members_) {
    firmware::Processor& processor = *member->rank.processor;
    const std::string name = "fsdp rank " + std::to_string(member->index);
    processor.spawn(name + " compute", 0, compute(*member));
    processor.spawn(name + " progress", 0, watch(*member));
    if (config_.separate_streams) {
      processor.spawn(name + " allgather", 1, communicate(*member, true, false));
      processor.spawn(name + " reduce-scatter", 2, communicate(*member, false, true));
    } else {
      processor.spawn(name + " communication", 1, communicate(*member, true, true));
    }
    if (replicates()) processor.spawn(name + " all-reduce", 2, replicate(*member));
    if (member->offload) member->offload->start(name);
  }
}

void Fsdp::enqueue(Member& member, std::uint32_t stream, const std::vector<PlannedKernel>& kernels) {
  for (const PlannedKernel& kernel : kernels) enqueue(member, stream, kernel);
}

void Fsdp::enqueue(Member& member, std::uint32_t stream, const PlannedKernel& kernel) {
  member.rank.accelerator.submit(kernel_command(stream, kernel.label, kernel.work));
}

Task Fsdp::compute(Member& member) {
  firmware::CommandWindow& accelerator = member.rank.accelerator;
  std::uint64_t gathers = 0;
  std::uint64_t scatters = 0;
  std::uint64_t stages = 0;
  for (int step = 0; step < config_.steps; ++step) {
    for (const Stage& stage : plan_.stages) {
      // The host runs ahead of the accelerator, but not without bound.
      constexpr std::uint64_t kAhead = 4;
      if (stages > kAhead) co_await member.stages.reach(stages - kAhead);
      accelerator.wait(kComputeStream, kGathered, gathers + static_cast<std::uint64_t>(stage.gathers_before));
      if (member.offload) member.offload->admit(step, stage);
      enqueue(member, kComputeStream, stage.kernels);
      if (!stage.tail.empty()) {
        const std::uint64_t before = scatters + static_cast<std::uint64_t>(stage.scatter);
        if (before >= kScatterBuffers) accelerator.wait(kComputeStream, kScattered, before - kScatterBuffers + 1);
        enqueue(member, kComputeStream, stage.tail);
      }
      accelerator.notify(kComputeStream, member.progress, ++stages);
    }
    gathers += plan_.gathers.size();
    scatters += plan_.scatters.size();
    accelerator.wait(kComputeStream, replicates() ? kReduced : kScattered, scatters);
    if (member.offload && member.offload->optimises()) {
      member.offload->optimise(step, [&](const PlannedKernel& kernel) { enqueue(member, kComputeStream, kernel); });
    } else {
      enqueue(member, kComputeStream, plan_.optimizer);
    }
    enqueue(member, kComputeStream, plan_.scaling);
    accelerator.notify(kComputeStream, member.progress, ++stages);
  }
}

Task Fsdp::watch(Member& member) {
  const std::uint64_t per_step = plan_.stages.size() + 1;
  for (std::uint64_t done = 0; done < per_step * static_cast<std::uint64_t>(config_.steps);) {
    done = (co_await member.progress.next()).id;
    member.stages.set(done);
    if (done == per_step * (static_cast<std::uint64_t>(config_.steps) - 1) + 1) {
      member.first_wait = member.rank.accelerator.waited(kGathered) - member.waited_gather;
    }
    if (done % per_step != 0) continue;
    member.ends.push_back(member.rank.processor->now());
    if (static_cast<int>(member.ends.size()) == config_.steps - 1) {
      member.busy = member.rank.accelerator.counters().busy;
      member.waited_gather = member.rank.accelerator.waited(kGathered);
      member.waited_scatter = member.rank.accelerator.waited(kScattered);
      member.waited_copies = member.rank.accelerator.waited(kReduced);
      if (member.offload) member.waited_offload = member.offload->waited();
    }
  }
}

std::uint64_t Fsdp::needed(int step, const Gather& gather, int index) const {
  // Stages and, between steps, the optimizer, counted from the beginning.
  const std::uint64_t base = static_cast<std::uint64_t>(step) * (plan_.stages.size() + 1);
  const int ahead = gather.forward ? config_.forward_prefetch : config_.backward_prefetch;
  int stage = std::max(0, gather.first_use - ahead);
  // Its buffer is free when the one gathered there before has been used for the last time.
  if (const int previous = index - plan_.block_buffers; gather.buffer != 0 && previous > 0) {
    stage = std::max(stage, plan_.gathers[static_cast<std::size_t>(previous)].last_use + 1);
  }
  return base + static_cast<std::uint64_t>(stage);
}

Task Fsdp::communicate(Member& member, bool gathers, bool scatters) {
  const std::uint64_t per_step = plan_.stages.size() + 1;
  for (int step = 0; step < config_.steps; ++step) {
    // Both lists are in the order of their stages; what is issued while a stage computes goes before what follows it.
    std::size_t g = gathers ? 0 : plan_.gathers.size();
    std::size_t s = scatters ? 0 : plan_.scatters.size();
    const std::uint64_t base = static_cast<std::uint64_t>(step) * per_step;
    if (gathers && plan_.scales > 0) {
      co_await member.stages.reach(base);
      co_await agree_on_scales(member, step);
    }
    while (g < plan_.gathers.size() || s < plan_.scatters.size()) {
      const std::uint64_t gather_at =
          g < plan_.gathers.size() ? needed(step, plan_.gathers[g], static_cast<int>(g)) : UINT64_MAX;
      const std::uint64_t scatter_at =
          s < plan_.scatters.size() ? base + static_cast<std::uint64_t>(plan_.scatters[s].after) + 1 : UINT64_MAX;
      co_await member.stages.reach(std::min(gather_at, scatter_at));
      // What both can start at: the gradients were there before the block that the parameters are ahead of began.
      if (gather_at < scatter_at) {
        co_await gather(member, step, static_cast<int>(g));
        ++g;
      } else {
        co_await scatter(member, step, static_cast<int>(s));
        ++s;
      }
    }
  }
}

Task Fsdp::agree_on_scales(Member& member, int step) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(plan_.scales) * size_of(kScaleType);
  const std::uint64_t seed = gradient_seed(step, static_cast<int>(plan_.scatters.size()));
  if (member.rank.store != nullptr) {
    check::fill_gradient(*member.rank.store, kScaleType, member.scales, bytes, seed, member.shard, shards_);
  }
  co_await member.gather_kernel.begin();
  const Time began = member.rank.processor->now();
  co_await gather_groups_[static_cast<std::size_t>(member.copy)]->all_reduce(member.shard, member.scales, bytes,
                                                                             kScaleType);
  member.gather_kernel.end();
  if (member.rank.store != nullptr) {
    member.wrong += check::compare_scattered(*member.rank.store, kScaleType, member.scales, {0, bytes}, seed, shards_);
  }
  if (member.probe != nullptr) {
    member.probe->slice(member.gather_track, "all-reduce scales", began, member.rank.processor->now());
  }
}

Task Fsdp::gather(Member& member, int step, int index) {
  const Gather& job = plan_.gathers[static_cast<std::size_t>(index)];
  // Of float8, two at a time.
  const std::uint64_t unit = size_of(config_.parameter_type);
  const std::uint64_t bytes = job.bytes;
  const std::uint64_t buffer = member.gather_buffers[static_cast<std::size_t>(job.buffer)];
  const auto seed = static_cast<std::uint64_t>(step) * 1000 + static_cast<std::uint64_t>(index);
  Communicator& group = *gather_groups_[static_cast<std::size_t>(member.copy)];
  if (member.rank.store != nullptr) {
    check::fill_shard(*member.rank.store, config_.parameter_type, buffer, bytes, group.block(bytes, member.shard, unit),
                      seed);
  }
  if (!job.before.empty()) {
    enqueue(member, kGatherStream, job.before);
    member.rank.accelerator.notify(kGatherStream, member.cast, static_cast<std::uint64_t>(index));
    co_await member.cast.next();
  }
  co_await member.gather_kernel.begin();
  const Time began = member.rank.processor->now();
  co_await group.allgather(member.shard, buffer, bytes, unit);
  member.gather_kernel.end();
  if (member.rank.store != nullptr)
    member.wrong += check::compare_gathered(*member.rank.store, config_.parameter_type, buffer, bytes, seed);
  if (member.probe != nullptr) {
    member.probe->slice(member.gather_track, "allgather " + job.name, began, member.rank.processor->now());
  }
  const std::uint64_t done =
      static_cast<std::uint64_t>(step) * plan_.gathers.size() + static_cast<std::uint64_t>(index) + 1;
  member.rank.accelerator.signal(kGathered, done);
}

Communicator& Fsdp::scatter_group(const Member& member) const {
  const Groups& groups = config_.separate_streams ? scatter_groups_ : gather_groups_;
  return *groups[static_cast<std::size_t>(member.copy)];
}

Task Fsdp::scatter(Member& member, int step, int index) {
  const Scatter& job = plan_.scatters[static_cast<std::size_t>(index)];
  const std::uint64_t unit = size_of(config_.reduce_type);
  const std::uint64_t bytes = job.elements * unit;
  const std::uint64_t done =
      static_cast<std::uint64_t>(step) * plan_.scatters.size() + static_cast<std::uint64_t>(index) + 1;
  const bool is_root = static_cast<std::size_t>(index) + 1 == plan_.scatters.size();
  const std::uint64_t buffer = is_root ? member.root_gradients : member.scatter_buffers[(done - 1) % kScatterBuffers];
  if (member.rank.store != nullptr) {
    check::fill_gradient(*member.rank.store, config_.reduce_type, buffer, bytes, gradient_seed(step, index),
                         member.index, static_cast<int>(ranks_.size()));
  }
  co_await member.scatter_kernel.begin();
  const Time began = member.rank.processor->now();
  if (shards_ == 1) {
    if (copies_ > 1) co_await copy_groups_[0]->all_reduce(member.copy, buffer, bytes, config_.reduce_type);
    check_sums(member, buffer, {0, bytes}, step, index);
  } else {
    Communicator& group = scatter_group(member);
    const std::uint64_t shard = member.gradients[static_cast<std::size_t>(index)];
    co_await group.reduce_scatter(member.shard, buffer, shard, bytes, config_.reduce_type);
    if (copies_ == 1) check_sums(member, shard, group.block(bytes, member.shard, unit), step, index);
  }
  member.scatter_kernel.end();
  if (member.probe != nullptr) {
    const char* what = shards_ > 1 ? "reduce-scatter " : "all-reduce ";
    member.probe->slice(member.scatter_track, what + job.name, began, member.rank.processor->now());
  }
  if (!replicates()) enqueue(member, kSumStream, job.sums);
  member.rank.accelerator.signal(kSumStream, kScattered, done);
  member.scatters.set(done);
}

Task Fsdp::replicate(Member& member) {
  std::uint64_t done = 0;
  for (int step = 0; step < config_.steps; ++step) {
    for (std::size_t index = 0; index < plan_.scatters.size(); ++index) {
      co_await member.scatters.reach(++done);
      co_await all_reduce(member, step, static_cast<int>(index));
      enqueue(member, kSumStream, plan_.scatters[index].sums);
      member.rank.accelerator.signal(kSumStream, kReduced, done);
    }
  }
}

Task Fsdp::all_reduce(Member& member, int step, int index) {
  const Scatter& job = plan_.scatters[static_cast<std::size_t>(index)];
  const std::uint64_t unit = size_of(config_.reduce_type);
  const Extent own = scatter_group(member).block(job.elements * unit, member.shard, unit);
  const std::uint64_t shard = member.gradients[static_cast<std::size_t>(index)];
  co_await member.copies_kernel.begin();
  const Time began = member.rank.processor->now();
  Communicator& group = *copy_groups_[static_cast<std::size_t>(member.shard)];
  co_await group.all_reduce(member.copy, shard, own.bytes, config_.reduce_type);
  member.copies_kernel.end();
  check_sums(member, shard, own, step, index);
  if (member.probe == nullptr) co_return;
  member.probe->slice(member.copies_track, "all-reduce " + job.name, began, member.rank.processor->now());
}

void Fsdp::check_sums(Member& member, std::uint64_t at, Extent own, int step, int index) const {
  if (member.rank.store == nullptr) return;
  member.wrong += check::compare_scattered(*member.rank.store, config_.reduce_type, at, own, gradient_seed(step, index),
                                           static_cast<int>(ranks_.size()));
}

std::vector<Time> Fsdp::finished() const {
  std::size_t ended = members_.front()->ends.size();
  for (const auto& member : members_) ended = std::min(ended, member->ends.size());
  std::vector<Time> steps;
  Time previous;
  for (std::size_t step = 0; step < ended; ++step) {
    Time end;
    for (const auto& member : members_) end = std::max(end, member->ends[step]);
    steps.push_back(end - previous);
    previous = end;
  }
  return steps;
}

FsdpResult Fsdp::result() const {
  FsdpResult result;
  result.copies = copies_;
  result.tokens_per_rank_step = config_.sequences * config_.sequence;
  result.operations_per_rank_step = static_cast<double>(plan_.operations);
  result.model_flops_per_token = static_cast<double>(flops_per_token_);
  result.steps = finished();
  const auto ranks = static_cast<std::int64_t>(members_.size());
  Time last_began;
  for (std::size_t step = 0; step + 1 < result.steps.size(); ++step) last_began += result.steps[step];
  bool checked = false;
  std::int64_t wrong = 0;
  for (const auto& member : members_) {
    // A rank that ended the step before ahead of others began the last one before it counts: by waiting for
    // parameters of theirs, or where it needs none by computing.
    const Time early = config_.steps > 1 ? last_began - member->ends[member->ends.size() - 2] : Time();
    const Time waited_early = std::min(early, member->first_wait);
    result.compute += member->rank.accelerator.counters().busy - member->busy - (early - waited_early);
    result.exposed_allgather += member->rank.accelerator.waited(kGathered) - member->waited_gather - waited_early;
    (shards_ > 1 ? result.exposed_reduce_scatter : result.exposed_all_reduce) +=
        member->rank.accelerator.waited(kScattered) - member->waited_scatter;
    result.exposed_all_reduce += member->rank.accelerator.waited(kReduced) - member->waited_copies;
    checked = checked || member->rank.store != nullptr;
    wrong += member->wrong;
    if (!member->offload) continue;
    result.exposed_offload += member->offload->waited() - member->waited_offload;
    result.remote_bytes = member->offload->remote_bytes();
    wrong += member->offload->wrong();
  }
  result.compute = result.compute / ranks;
  result.exposed_allgather = result.exposed_allgather / ranks;
  result.exposed_reduce_scatter = result.exposed_reduce_scatter / ranks;
  result.exposed_all_reduce = result.exposed_all_reduce / ranks;
  result.exposed_offload = result.exposed_offload / ranks;
  result.other = result.steps.back() - result.compute - result.exposed_allgather - result.exposed_reduce_scatter -
                 result.exposed_all_reduce - result.exposed_offload;
  result.memory = memory_;
  if (checked) result.wrong = wrong;
  return result;
}

}  // namespace weft::schedules
