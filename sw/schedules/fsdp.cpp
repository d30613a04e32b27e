// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp.h"

#include <algorithm>

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

constexpr std::uint32_t kComputeStream = 0;
// Semaphores of the accelerator: Allgathers and ReduceScatters done since the beginning.
constexpr std::uint32_t kGathered = 0;
constexpr std::uint32_t kScattered = 1;
// While a ReduceScatter runs, the gradients of the next unit are copied to another buffer.
constexpr int kScatterBuffers = 2;

Time waited(const Rank& rank, std::uint32_t semaphore) {
  const auto& times = rank.accelerator.counters().waited;
  return semaphore < times.size() ? times[semaphore] : Time();
}

}  // namespace

/// One rank's part.
struct Fsdp::Member {
  int index;
  Rank& rank;
  firmware::CompletionQueue& progress;
  Counter stages;    ///< done since the beginning
  Counter scatters;  ///< done since the beginning; for the thread that ends a step
  std::vector<std::uint64_t> gather_buffers;
  std::vector<std::uint64_t> scatter_buffers;
  std::uint64_t gradient_shard = 0;
  std::vector<Time> ends;
  std::int64_t wrong = 0;
  // Counters at the beginning of the last step.
  Time busy;
  Time waited_gather;
  Time waited_scatter;
  Time waited_offload;
  std::unique_ptr<Offload> offload;  ///< null where nothing is offloaded
  Probe* probe = nullptr;
  int gather_track = 0;
  int scatter_track = 0;

  Member(int number, Rank& its_rank)
      : index(number),
        rank(its_rank),
        progress(its_rank.processor->create_completion_queue("the compute stream")),
        stages(*its_rank.processor, "the compute stream to end stage"),
        scatters(*its_rank.processor, "ReduceScatter") {}
};

Fsdp::Fsdp(std::vector<Rank*> ranks, const FsdpConfig& config, const Communicator::Config& collectives,
           const accelerator::ComputeConfig& compute)
    : ranks_(std::move(ranks)), config_(config), plan_(config, compute, static_cast<int>(ranks_.size())) {
  models::Transformer model = models::find_transformer(models::load_transformers(), config.model);
  model.layers = plan_.layers;
  flops_per_token_ = models::convention_flops_per_token(model, config.sequence, false);
  gather_group_ = std::make_unique<Communicator>(ranks_, collectives, "allgather");
  if (config.separate_streams) scatter_group_ = std::make_unique<Communicator>(ranks_, collectives, "reduce-scatter");

  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    allocate_state(*members_.emplace_back(std::make_unique<Member>(static_cast<int>(i), *ranks_[i])));
  }
}

std::uint64_t Fsdp::allocate(Member& member, const std::string& what, std::uint64_t bytes) {
  if (member.index == 0) memory_.emplace_back(what, bytes);
  return member.rank.memory.allocate(what, bytes);
}

void Fsdp::allocate_state(Member& member) {
  const std::uint64_t parameter_bytes = size_of(config_.parameter_type);
  const std::uint64_t reduce_bytes = size_of(config_.reduce_type);
  const std::uint64_t largest = std::max(plan_.root_elements, plan_.block_elements);
  const std::uint64_t shard = (static_cast<std::uint64_t>(plan_.parameters) + ranks_.size() - 1) / ranks_.size();
  const bool keeps_moments = !config_.offload.optimizer || plan_.optimizer.empty();
  allocate(member, "shards of parameters in 32 bits", 4 * shard);
  if (keeps_moments) allocate(member, "two moments in 32 bits", 8 * shard);
  member.gather_buffers.push_back(allocate(member, "the gathered root unit", plan_.root_elements * parameter_bytes));
  for (int b = 0; b < plan_.block_buffers; ++b) {
    member.gather_buffers.push_back(allocate(member, "a gathered block", plan_.block_elements * parameter_bytes));
  }
  for (int b = 0; b < kScatterBuffers; ++b) {
    member.scatter_buffers.push_back(allocate(member, "gradients to be scattered", largest * reduce_bytes));
  }
  member.gradient_shard =
      allocate(member, "shards of gradients", 4 * shard + reduce_bytes * largest / ranks_.size() + 256);
  allocate(member, "activations of embedding and head", plan_.root_activations);
  allocate(member, "activations that a block computes again", plan_.recomputed_activations);
  if (!config_.offload.activations) {
    try {
      allocate(member, "activations of " + std::to_string(plan_.layers) + " blocks",
               static_cast<std::uint64_t>(plan_.layers) * plan_.block_activations);
    } catch (const firmware::OutOfMemory& error) {
      throw firmware::OutOfMemory(error.what() + std::string("; workload.recompute makes them fewer, and "
                                                             "workload.offload.activations puts them elsewhere"),
                                  error.path());
    }
  }
  if (!config_.offload.activations && !config_.offload.optimizer) return;
  const std::uint64_t before = member.rank.memory.used();
  member.offload = std::make_unique<Offload>(member.rank, config_, plan_, shard, member.stages);
  if (member.index == 0) memory_.emplace_back("buffers of remote memory", member.rank.memory.used() - before);
}

Fsdp::~Fsdp() = default;

std::vector<std::string> Fsdp::remarks() const {
  std::vector<std::string> lines;
  for (const Communicator* group : {gather_group_.get(), scatter_group_.get()}) {
    if (group != nullptr && !group->remark().empty()) lines.push_back(group->remark());
  }
  return lines;
}

void Fsdp::record(Probe& probe, int ranks) {
  for (int i = 0; i < std::min(ranks, static_cast<int>(members_.size())); ++i) {
    Member& member = *members_[static_cast<std::size_t>(i)];
    const std::string process = "accelerator " + std::to_string(member.rank.index);
    member.probe = &probe;
    member.gather_track = probe.add_track(process, "allgather");
    member.scatter_track = probe.add_track(process, "reduce-scatter");
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
    if (member->offload) member->offload->start(name);
  }
}

void Fsdp::enqueue(Member& member, const std::vector<PlannedKernel>& kernels) {
  for (const PlannedKernel& kernel : kernels) enqueue(member, kernel);
}

void Fsdp::enqueue(Member& member, const PlannedKernel& kernel) {
  member.rank.accelerator.submit(kernel_command(kComputeStream, kernel.label, kernel.work));
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
      enqueue(member, stage.kernels);
      if (!stage.tail.empty()) {
        const std::uint64_t before = scatters + static_cast<std::uint64_t>(stage.scatter);
        if (before >= kScatterBuffers) accelerator.wait(kComputeStream, kScattered, before - kScatterBuffers + 1);
        enqueue(member, stage.tail);
      }
      accelerator.notify(kComputeStream, member.progress, ++stages);
    }
    gathers += plan_.gathers.size();
    scatters += plan_.scatters.size();
    accelerator.wait(kComputeStream, kScattered, scatters);
    if (member.offload && member.offload->optimises()) {
      member.offload->optimise(step, [&](const PlannedKernel& kernel) { enqueue(member, kernel); });
    } else {
      enqueue(member, plan_.optimizer);
    }
    accelerator.notify(kComputeStream, member.progress, ++stages);
  }
}

Task Fsdp::watch(Member& member) {
  const std::uint64_t per_step = plan_.stages.size() + 1;
  for (std::uint64_t done = 0; done < per_step * static_cast<std::uint64_t>(config_.steps);) {
    done = (co_await member.progress.next()).id;
    member.stages.set(done);
    if (done % per_step != 0) continue;
    member.ends.push_back(member.rank.processor->now());
    if (static_cast<int>(member.ends.size()) == config_.steps - 1) {
      member.busy = member.rank.accelerator.counters().busy;
      member.waited_gather = waited(member.rank, kGathered);
      member.waited_scatter = waited(member.rank, kScattered);
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
    while (g < plan_.gathers.size() || s < plan_.scatters.size()) {
      const std::uint64_t gather_at =
          g < plan_.gathers.size() ? needed(step, plan_.gathers[g], static_cast<int>(g)) : UINT64_MAX;
      const std::uint64_t scatter_at =
          s < plan_.scatters.size() ? base + static_cast<std::uint64_t>(plan_.scatters[s].after) + 1 : UINT64_MAX;
      co_await member.stages.reach(std::min(gather_at, scatter_at));
      if (gather_at <= scatter_at) {
        co_await gather(member, step, static_cast<int>(g));
        ++g;
      } else {
        co_await scatter(member, step, static_cast<int>(s));
        ++s;
      }
    }
  }
}

Task Fsdp::gather(Member& member, int step, int index) {
  const Gather& job = plan_.gathers[static_cast<std::size_t>(index)];
  const std::uint64_t unit = size_of(config_.parameter_type);
  const std::uint64_t bytes = job.elements * unit;
  const std::uint64_t buffer = member.gather_buffers[static_cast<std::size_t>(job.buffer)];
  const auto seed = static_cast<std::uint64_t>(step) * 1000 + static_cast<std::uint64_t>(index);
  if (member.rank.store != nullptr) {
    check::fill_shard(*member.rank.store, config_.parameter_type, buffer, bytes,
                      gather_group_->block(bytes, member.index, unit), seed);
  }
  const Time began = member.rank.processor->now();
  co_await gather_group_->allgather(member.index, buffer, bytes, unit);
  if (member.rank.store != nullptr)
    member.wrong += check::compare_gathered(*member.rank.store, config_.parameter_type, buffer, bytes, seed);
  if (member.probe != nullptr) {
    member.probe->slice(member.gather_track, "allgather " + job.name, began, member.rank.processor->now());
  }
  const std::uint64_t done =
      static_cast<std::uint64_t>(step) * plan_.gathers.size() + static_cast<std::uint64_t>(index) + 1;
  member.rank.accelerator.signal(kGathered, done);
}

Task Fsdp::scatter(Member& member, int step, int index) {
  const Scatter& job = plan_.scatters[static_cast<std::size_t>(index)];
  const std::uint64_t unit = size_of(config_.reduce_type);
  const std::uint64_t bytes = job.elements * unit;
  const std::uint64_t done =
      static_cast<std::uint64_t>(step) * plan_.scatters.size() + static_cast<std::uint64_t>(index) + 1;
  const std::uint64_t buffer = member.scatter_buffers[(done - 1) % kScatterBuffers];
  const auto seed = static_cast<std::uint64_t>(step) * 1000 + 500 + static_cast<std::uint64_t>(index);
  if (member.rank.store != nullptr)
    check::fill_gradient(*member.rank.store, config_.reduce_type, buffer, bytes, seed, member.index);
  const Time began = member.rank.processor->now();
  Communicator& group = scatter_group_ != nullptr ? *scatter_group_ : *gather_group_;
  co_await group.reduce_scatter(member.index, buffer, member.gradient_shard, bytes, config_.reduce_type);
  if (member.rank.store != nullptr) {
    const Extent own = group.block(bytes, member.index, unit);
    member.wrong += check::compare_scattered(*member.rank.store, config_.reduce_type, member.gradient_shard, own, seed,
                                             static_cast<int>(ranks_.size()));
  }
  if (member.probe != nullptr) {
    member.probe->slice(member.scatter_track, "reduce-scatter " + job.name, began, member.rank.processor->now());
  }
  member.rank.accelerator.signal(kScattered, done);
}

FsdpResult Fsdp::result() const {
  FsdpResult result;
  result.tokens_per_rank_step = config_.sequences * config_.sequence;
  result.model_flops_per_token = static_cast<double>(flops_per_token_);
  Time previous;
  for (int step = 0; step < config_.steps; ++step) {
    Time end;
    for (const auto& member : members_) end = std::max(end, member->ends[static_cast<std::size_t>(step)]);
    result.steps.push_back(end - previous);
    previous = end;
  }
  const auto ranks = static_cast<std::int64_t>(members_.size());
  bool checked = false;
  std::int64_t wrong = 0;
  for (const auto& member : members_) {
    result.compute += member->rank.accelerator.counters().busy - member->busy;
    result.exposed_allgather += waited(member->rank, kGathered) - member->waited_gather;
    result.exposed_reduce_scatter += waited(member->rank, kScattered) - member->waited_scatter;
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
  result.exposed_offload = result.exposed_offload / ranks;
  result.other = result.steps.back() - result.compute - result.exposed_allgather - result.exposed_reduce_scatter -
                 result.exposed_offload;
  result.memory = memory_;
  if (checked) result.wrong = wrong;
  return result;
}

}  // namespace weft::schedules
