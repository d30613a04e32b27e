// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp.h"

#include <algorithm>
#include <cstddef>

#include "sw/firmware/program_fields.h"
#include "sw/schedules/fsdp_check.h"
#include "sw/schedules/fsdp_member.h"
#include "sw/schedules/fsdp_work.h"
#include "sw/schedules/kernel_work.h"
#include "sw/schedules/offload.h"

namespace weft::schedules {

using collectives::Communicator;
using collectives::Extent;
using firmware::Counter;
using firmware::Rank;
using firmware::Task;

namespace {

const firmware::ProgramFields kFieldsOfFsdp({"fsdp rank allgather", "fsdp rank reduce-scatter",
                                             "fsdp rank communication", "fsdp rank all-reduce", "fsdp rank optimizer"},
                                            {"collectives.entry", "accelerator.dma.start"});

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

Fsdp::Fsdp(std::vector<Rank*> ranks, const FsdpConfig& config, const Communicator::Config& collectives,
           const accelerator::ComputeConfig& compute)
    : ranks_(std::move(ranks)),
      config_(config),
      collectives_(collectives),
      shards_(shards_of(config, ranks_.size())),
      copies_(static_cast<int>(ranks_.size()) / shards_),
      plan_(config, compute, shards_, copies_) {
  work_until_.push_back(0);
  for (const double work : work_of_stages(plan_)) work_until_.push_back(work_until_.back() + work);
  flops_per_token_ = models::convention_flops_per_token(plan_.model, config.sequence, false);
  collectives::require_exact_sums(collectives, *ranks_.front());
  add_groups(collectives);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    members_.emplace_back(std::make_unique<Member>(static_cast<int>(i), shards_, *ranks_[i]));
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
    add(gather_groups_, config_.separate_streams ? "allgather" : "shards", copy * shards_, shards_, 1);
    if (config_.separate_streams) add(scatter_groups_, "reduce-scatter", copy * shards_, shards_, 1);
  }
  for (int shard = 0; shard < shards_ && copies_ > 1; ++shard) add(copy_groups_, "copies", shard, copies_, shards_);
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
  allocate(member, "shards of parameters in 32 bits", 4 * shard);
  allocate_optimizer(member);
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

void Fsdp::set_steady(const SteadyConfig& steady, LeavingOut::Hooks hooks) {
  if (!steady.is_on() || members_.front()->offload) return;
  steady_ = std::make_unique<FsdpSteady>(
      steady, plan_, gather_ahead(), config_.steps, members_.size(),
      FsdpSteady::Schedule{[this](int step) { return held(step); },
                           [this](int step, int from, int to) { leave_out(step, from, to); }},
      std::move(hooks));
  if (probe_ != nullptr) steady_->record(*probe_);
}

std::vector<std::string> Fsdp::remarks() const {
  std::vector<std::string> lines;
  for (const Groups* groups : {&gather_groups_, &scatter_groups_, &copy_groups_}) {
    // What one group of a kind says, all do.
    if (!groups->empty() && !groups->front()->remark().empty()) lines.push_back(groups->front()->remark());
  }
  return lines;
}

void Fsdp::record(Probe& probe, int ranks) {
  probe_ = &probe;
  if (steady_) steady_->record(probe);
  for (int i = 0; i < std::min(ranks, static_cast<int>(members_.size())); ++i) {
    Member& member = *members_[static_cast<std::size_t>(i)];
    member.drawing = std::make_unique<FsdpDrawing>(probe, member.rank, plan_);
    member.drawing->add_row(FsdpDrawing::kGathers, "allgather");
    member.drawing->add_row(FsdpDrawing::kScatters, shards_ > 1 ? "reduce-scatter" : "all-reduce");
    if (replicates()) member.drawing->add_row(FsdpDrawing::kCopies, "all-reduce");
    if (exchanges()) member.drawing->add_row(FsdpDrawing::kExchanges, "optimizer");
    if (member.offload) member.offload->record(probe, member.drawing->process());
  }
}

void Fsdp::start() {
  started_ = members_.front()->rank.processor->now();
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
    if (exchanges()) processor.spawn(name + " optimizer", 1, exchange(*member));
    if (member->offload) member->offload->start(name);
  }
}

void Fsdp::enqueue(Member& member, std::uint32_t stream, const std::vector<PlannedKernel>& kernels) {
  for (const PlannedKernel& kernel : kernels) enqueue(member, stream, kernel);
}

void Fsdp::enqueue(Member& member, std::uint32_t stream, const PlannedKernel& kernel) {
  member.rank.accelerator.submit(kernel_command(stream, kernel.label, kernel.work));
}

std::uint64_t Fsdp::stage_of(int step, int stage) const {
  return static_cast<std::uint64_t>(step) * (plan_.stages.size() + 1) + static_cast<std::uint64_t>(stage);
}

std::uint64_t Fsdp::gather_of(int step, int index) const {
  return static_cast<std::uint64_t>(step) * plan_.gathers.size() + static_cast<std::uint64_t>(index);
}

std::uint64_t Fsdp::scatter_of(int step, int index) const {
  return static_cast<std::uint64_t>(step) * plan_.scatters.size() + static_cast<std::uint64_t>(index);
}

Task Fsdp::compute(Member& member) {
  firmware::CommandWindow& accelerator = member.rank.accelerator;
  for (int number = 0; number < config_.steps; ++number) {
    for (int i = 0; i < static_cast<int>(plan_.stages.size()); ++i) {
      // The host runs ahead of the accelerator, but not without bound.
      constexpr std::uint64_t kAhead = 1;
      const std::uint64_t place = stage_of(number, i);
      if (!stages_.is_left_out(place)) co_await member.stages.reach(stages_.reached_before(place, kAhead));
      if (stages_.is_left_out(place)) continue;
      member.computing.to = place;
      const Stage& stage = plan_.stages[static_cast<std::size_t>(i)];
      accelerator.wait(kComputeStream, kGathered, gathers_.reached_before(gather_of(number, stage.gathers_before)));
      if (member.offload) member.offload->admit(number, stage);
      enqueue(member, kComputeStream, stage.kernels);
      if (plan_.update(number).observes) enqueue(member, kComputeStream, stage.observed);
      if (!stage.tail.empty()) {
        const std::uint64_t free = scatters_.reached_before(scatter_of(number, stage.scatter), kScatterBuffers - 1);
        if (free > 0) accelerator.wait(kComputeStream, kScattered, free);
        enqueue(member, kComputeStream, stage.tail);
      }
      accelerator.notify(kComputeStream, member.progress, place + 1);
    }
    accelerator.wait(kComputeStream, replicates() ? kReduced : kScattered,
                     scatters_.reached_before(scatter_of(number + 1, 0)));
    update(member, number);
    enqueue(member, kComputeStream, plan_.scaling);
    member.computing.to = stage_of(number + 1, 0) - 1;
    accelerator.notify(kComputeStream, member.progress, member.computing.to + 1);
  }
}

Task Fsdp::watch(Member& member) {
  for (int number = 0; number < config_.steps; ++number) {
    // The last one is the optimizer's.
    for (std::uint64_t done = stage_of(number, 0); done < stage_of(number + 1, 0);) {
      done = (co_await member.progress.next()).id;
      member.stages.set(done);
      const auto stage = static_cast<int>(done - 1 - stage_of(number, 0));
      if (member.drawing) member.drawing->ended(number, stage);
      if (number == shown().first && stage == 0) {
        member.first_wait = member.rank.accelerator.waited(kGathered) - member.waited_gather;
      }
      if (steady_ && done < stage_of(number + 1, 0)) ended(member, number, stage);
    }
    member.ends.push_back(member.rank.processor->now());
    if (number == shown().first - 1) {
      member.busy = member.rank.accelerator.counters().busy;
      member.waited_gather = member.rank.accelerator.waited(kGathered);
      member.waited_scatter = member.rank.accelerator.waited(kScattered);
      member.waited_copies = member.rank.accelerator.waited(kReduced);
      member.waited_optimizer = member.rank.accelerator.waited(kExchanged);
      if (member.offload) member.waited_offload = member.offload->waited();
    }
  }
}

void Fsdp::ended(Member& member, int step, int stage) {
  // The stage after one that has ended begins by itself.
  member.computing.to = std::max(member.computing.to, stage_of(step, stage) + 1);
  const auto& accelerator = member.rank.accelerator;
  steady_->ended(step, stage, static_cast<std::size_t>(member.index),
                 {member.rank.processor->now(),
                  accelerator.counters().busy,
                  {accelerator.waited(kGathered), accelerator.waited(kScattered), accelerator.waited(kReduced)}});
}

std::vector<FsdpSteady::Held> Fsdp::held(int step) const {
  const auto in_step = [first = stage_of(step, 0)](std::uint64_t stage) {
    return static_cast<int>(static_cast<std::int64_t>(stage) - static_cast<std::int64_t>(first));
  };
  std::vector<FsdpSteady::Held> all;
  for (const auto& member : members_) {
    for (const Member::Held& each : {member->computing, member->gathering})
      all.push_back({in_step(each.from), in_step(each.to)});
  }
  return all;
}

void Fsdp::leave_out(int step, int from, int to) {
  const auto is_out = [=](int stage) { return stage >= from && stage < to; };
  stages_.leave_out(stage_of(step, from), stage_of(step, to));
  for (int i = 0; i < static_cast<int>(plan_.gathers.size()); ++i) {
    if (is_out(plan_.gathers[static_cast<std::size_t>(i)].first_use))
      gathers_.leave_out(gather_of(step, i), gather_of(step, i + 1));
  }
  for (int i = 0; i < static_cast<int>(plan_.scatters.size()); ++i) {
    if (is_out(plan_.scatters[static_cast<std::size_t>(i)].after))
      scatters_.leave_out(scatter_of(step, i), scatter_of(step, i + 1));
  }
}

std::uint64_t Fsdp::needed(int step, int index) const {
  const Gather& gather = plan_.gathers[static_cast<std::size_t>(index)];
  const int ahead = gather.forward ? config_.forward_prefetch : config_.backward_prefetch;
  const std::uint64_t stage = std::max(
      stage_of(step, 0), stages_.reached_before(stage_of(step, gather.first_use), static_cast<std::uint64_t>(ahead)));
  // Its buffer is free when the one gathered there before has been used for the last time.
  if (gather.buffer == 0) return stage;
  const std::uint64_t previous =
      gathers_.reached_before(gather_of(step, index), static_cast<std::uint64_t>(plan_.block_buffers) - 1);
  if (previous <= gather_of(step, 1)) return stage;
  const Gather& before = plan_.gathers[previous - 1 - gather_of(step, 0)];
  return std::max(stage, stages_.reached_before(stage_of(step, before.last_use + 1)));
}

Task Fsdp::communicate(Member& member, bool gathers, bool scatters) {
  for (int number = 0; number < config_.steps; ++number) {
    // Both lists are in the order of their stages; what is issued while a stage computes goes before what follows it.
    int g = 0;
    int s = 0;
    if (gathers) member.gathering = {stage_of(number, 0), stage_of(number, 0)};
    if (gathers && plan_.scales > 0) {
      co_await member.stages.reach(stage_of(number, 0));
      co_await agree_on_scales(member, number);
    }
    for (;;) {
      while (gathers_.is_left_out(gather_of(number, g))) ++g;
      while (scatters_.is_left_out(scatter_of(number, s))) ++s;
      const bool has_gather = gathers && g < static_cast<int>(plan_.gathers.size());
      const bool has_scatter = scatters && s < static_cast<int>(plan_.scatters.size());
      if (!has_gather && !has_scatter) break;
      std::uint64_t gather_at = UINT64_MAX;
      std::uint64_t scatter_at = UINT64_MAX;
      std::uint64_t use = 0;
      if (has_gather) {
        gather_at = needed(number, g);
        use = stage_of(number, plan_.gathers[static_cast<std::size_t>(g)].first_use);
        // The counter reaches the stage where the one before it ends. The use itself can be left out: what is gathered
        // in its place is due at the same time.
        member.gathering = {std::max<std::uint64_t>(gather_at, 1) - 1, std::max<std::uint64_t>(use, 1) - 1};
      }
      if (has_scatter) scatter_at = stage_of(number, plan_.scatters[static_cast<std::size_t>(s)].after) + 1;
      co_await member.stages.reach(std::min(gather_at, scatter_at));
      if (has_gather && gathers_.is_left_out(gather_of(number, g))) continue;
      if (has_scatter && scatters_.is_left_out(scatter_of(number, s))) continue;
      // What both can start at: the gradients were there before the block that the parameters are ahead of began.
      if (gather_at < scatter_at) {
        member.gathering.to = use;
        co_await gather(member, number, g++);
      } else {
        co_await scatter(member, number, s++);
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
  const Time asked = member.rank.processor->now();
  Communicator& group = *gather_groups_[static_cast<std::size_t>(member.copy)];
  co_await member.gather_kernel.begin(group.kernel_cores(member.shard, dimensions::Operation::kAllReduce, bytes));
  const Time began = member.rank.processor->now();
  co_await group.all_reduce(member.shard, member.scales, bytes, kScaleType);
  member.gather_kernel.end();
  member.count(dimensions::Operation::kAllReduce, shards_, bytes, began);
  if (member.rank.store != nullptr) {
    member.wrong += check::compare_scattered(*member.rank.store, kScaleType, member.scales, {0, bytes}, seed, shards_);
  }
  if (member.drawing) {
    member.drawing->collective(FsdpDrawing::kGathers, {"AllReduce", "all-reduce scales", asked, began, bytes, shards_});
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
  const Time asked = member.rank.processor->now();
  // In float8 some bytes are two weights.
  collectives::Carries carries{std::nullopt, compression::Traffic::kParameters};
  if (plan_.scales == 0) carries.type = config_.parameter_type;
  constexpr auto kWhat = dimensions::Operation::kAllgather;
  co_await member.gather_kernel.begin(group.kernel_cores(member.shard, kWhat, bytes, carries));
  const Time began = member.rank.processor->now();
  co_await group.allgather(member.shard, buffer, bytes, unit, carries);
  member.gather_kernel.end();
  member.count(kWhat, shards_, bytes, began);
  if (member.rank.store != nullptr)
    member.wrong += check::compare_gathered(*member.rank.store, config_.parameter_type, buffer, bytes, seed);
  const std::uint64_t done = gather_of(step, index) + 1;
  if (member.drawing) {
    member.drawing->collective(FsdpDrawing::kGathers,
                               {"AllGather", "allgather " + job.name, asked, began, bytes, shards_, kGathered, done});
  }
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
  const std::uint64_t done = scatter_of(step, index) + 1;
  const bool is_root = static_cast<std::size_t>(index) + 1 == plan_.scatters.size();
  const std::uint64_t buffer = is_root ? member.root_gradients : member.scatter_buffers[(done - 1) % kScatterBuffers];
  if (member.rank.store != nullptr) {
    check::fill_gradient(*member.rank.store, config_.reduce_type, buffer, bytes, gradient_seed(step, index),
                         member.index, static_cast<int>(ranks_.size()));
  }
  const Time asked = member.rank.processor->now();
  co_await member.scatter_kernel.begin(scatter_cores(member, bytes));
  const Time began = member.rank.processor->now();
  if (shards_ == 1) {
    if (copies_ > 1) {
      co_await copy_groups_[0]->all_reduce(member.copy, buffer, bytes, config_.reduce_type, kGradientSums);
    }
    check_sums(member, buffer, {0, bytes}, step, index);
  } else {
    Communicator& group = scatter_group(member);
    const std::uint64_t shard = member.gradients[static_cast<std::size_t>(index)];
    co_await group.reduce_scatter(member.shard, buffer, shard, bytes, config_.reduce_type, kGradientSums);
    if (copies_ == 1) check_sums(member, shard, group.block(bytes, member.shard, unit), step, index);
  }
  member.scatter_kernel.end();
  member.count(shards_ > 1 ? dimensions::Operation::kReduceScatter : dimensions::Operation::kAllReduce,
               shards_ > 1 ? shards_ : copies_, bytes, began);
  if (member.drawing && shards_ > 1) {
    member.drawing->collective(FsdpDrawing::kScatters, {"ReduceScatter", "reduce-scatter " + job.name, asked, began,
                                                        bytes, shards_, kScattered, done});
  } else if (member.drawing) {
    member.drawing->collective(FsdpDrawing::kScatters,
                               {"AllReduce", "all-reduce " + job.name, asked, began, bytes, copies_, kScattered, done});
  }
  if (!replicates()) enqueue(member, kSumStream, job.sums);
  member.rank.accelerator.signal(kSumStream, kScattered, done);
  member.scatters.set(done);
}

Task Fsdp::replicate(Member& member) {
  for (int number = 0; number < config_.steps; ++number) {
    for (int index = 0; index < static_cast<int>(plan_.scatters.size()); ++index) {
      if (scatters_.is_left_out(scatter_of(number, index))) continue;
      const std::uint64_t done = scatter_of(number, index) + 1;
      co_await member.scatters.reach(done);
      co_await all_reduce(member, number, index);
      enqueue(member, kSumStream, plan_.scatters[static_cast<std::size_t>(index)].sums);
      member.rank.accelerator.signal(kSumStream, kReduced, done);
    }
  }
}

Task Fsdp::all_reduce(Member& member, int step, int index) {
  const Scatter& job = plan_.scatters[static_cast<std::size_t>(index)];
  const std::uint64_t unit = size_of(config_.reduce_type);
  const Extent own = scatter_group(member).block(job.elements * unit, member.shard, unit);
  const std::uint64_t shard = member.gradients[static_cast<std::size_t>(index)];
  const Time asked = member.rank.processor->now();
  Communicator& group = *copy_groups_[static_cast<std::size_t>(member.shard)];
  constexpr auto kWhat = dimensions::Operation::kAllReduce;
  co_await member.copies_kernel.begin(group.kernel_cores(member.copy, kWhat, own.bytes, kGradientSums));
  const Time began = member.rank.processor->now();
  co_await group.all_reduce(member.copy, shard, own.bytes, config_.reduce_type, kGradientSums);
  member.copies_kernel.end();
  member.count(kWhat, copies_, own.bytes, began);
  check_sums(member, shard, own, step, index);
  if (!member.drawing) co_return;
  member.drawing->collective(FsdpDrawing::kCopies, {"AllReduce", "all-reduce " + job.name, asked, began, own.bytes,
                                                    copies_, kReduced, scatter_of(step, index) + 1});
}

void Fsdp::check_sums(Member& member, std::uint64_t at, Extent own, int step, int index) const {
  if (member.rank.store == nullptr) return;
  member.wrong += check::compare_scattered(*member.rank.store, config_.reduce_type, at, own, gradient_seed(step, index),
                                           static_cast<int>(ranks_.size()));
}

}  // namespace weft::schedules
