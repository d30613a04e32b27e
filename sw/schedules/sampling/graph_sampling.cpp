// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/sampling/graph_sampling.h"

#include <algorithm>
#include <numeric>

#include "hw/core/random.h"
#include "sw/collectives/compressed/collectives.h"
#include "sw/collectives/pattern.h"
#include "sw/collectives/reference.h"
#include "sw/firmware/program_fields.h"
#include "sw/schedules/collective_kernel.h"
#include "sw/schedules/kernel_work.h"
#include "sw/schedules/sampling/epoch_time.h"
#include "sw/schedules/sampling/host_memory.h"
#include "sw/schedules/step_ends.h"

namespace weft::schedules {

using firmware::Counter;
using firmware::Rank;
using firmware::Task;

namespace {

const firmware::ProgramFields kFieldsOfSampling({"sampling rank all-reduce"}, {"collectives.entry"});

// Semaphores of the accelerator: batches that were copied, and whose gradients are summed.
constexpr std::uint32_t kCopied = 0;
constexpr std::uint32_t kSummed = 1;

constexpr std::uint64_t kLine = 64;        // bytes of a cache line
constexpr std::uint64_t kPiece = 1 << 20;  // bytes that a thread slices before others have their turn at the memory
constexpr std::uint64_t kLineInstructions = 4;
constexpr std::uint64_t kEdgeBytes = 16;  // its end, and its number among the graph's, in 64 bits
constexpr std::uint64_t kNodeBytes = 8;   // where its edges begin
constexpr int kMoved = 3;                 // a row is read, and its new lines are read and written
constexpr Time kLetGo = Time(1);          // others of the core run in between

std::uint64_t parts_of(std::uint64_t whole, std::uint64_t part) {
  return (whole + part - 1) / part;
}

/// What a thread does to draw the neighbours of a hop.
firmware::Work work_of(const Hop& hop, Sampler sampler) {
  const SamplerCost cost = sampler_cost(sampler);
  return {.instructions = hop.targets * cost.node_instructions + hop.edges * cost.edge_instructions,
          .accesses = hop.targets * cost.node_accesses + hop.edges * cost.edge_accesses};
}

/// Of a batch: where the edges of each node begin, and the edges.
std::uint64_t edge_bytes_of(const std::vector<Hop>& hops) {
  std::uint64_t bytes = 0;
  for (const Hop& hop : hops) {
    bytes +=
        static_cast<std::uint64_t>(hop.edges) * kEdgeBytes + static_cast<std::uint64_t>(hop.targets + 1) * kNodeBytes;
  }
  return bytes;
}

/// Cycles of a core that a time takes.
std::int64_t cycles_of(Time time, Frequency clock) {
  return static_cast<std::int64_t>(static_cast<__int128>(time.count()) * clock.count() / 1'000'000'000'000);
}

Time overlap(Time from, Time to, Time began, Time ended) {
  return std::max(Time(), std::min(to, ended) - std::max(from, began));
}

}  // namespace

/// One rank's part.
struct GraphSampling::Member {
  struct Span {
    Time from;
    Time to;
  };

  int index;
  Rank& rank;
  HostMemory& host;
  firmware::CompletionQueue& progress;   ///< of the compute stream: begin and end of batches
  firmware::CompletionQueue& gradients;  ///< of batches, ready to be summed
  firmware::CompletionQueue& loads;
  CollectiveKernel kernel;
  std::uint64_t next = 0;  ///< batch to be sampled
  std::vector<bool> is_sampled;
  Counter sampled;  ///< batches, in order
  Counter taken;    ///< by the main thread
  Counter sliced;
  Counter copied;
  Counter computed;
  std::uint64_t pinned = 0;   ///< address in the host's memory
  std::uint64_t buffers = 0;  ///< and in the accelerator's
  std::uint64_t sums = 0;
  std::vector<Span> copies;
  std::vector<Span> trained;
  std::vector<Time> begins;  ///< when a sampler began a batch
  std::vector<Time> ends;
  Time sampling;
  Time slicing;
  std::int64_t wrong = 0;
  collectives::CollectiveTally tally;
  Probe* probe = nullptr;
  std::vector<int> sampler_rows;
  int slice_row = 0;
  int sum_row = 0;

  Member(int number, Rank& its_rank, HostMemory& its_host, std::size_t batches)
      : index(number),
        rank(its_rank),
        host(its_host),
        progress(its_rank.processor->create_completion_queue("the compute stream")),
        gradients(its_rank.processor->create_completion_queue("gradients of a batch")),
        loads(its_rank.processor->create_completion_queue("a batch in the accelerator's memory")),
        kernel(its_rank, "an AllReduce's kernel"),
        is_sampled(batches),
        sampled(*its_rank.processor, "a sampled batch"),
        taken(*its_rank.processor, "the main thread to take a batch"),
        sliced(*its_rank.processor, "a sliced batch"),
        copied(*its_rank.processor, "a batch to be copied"),
        computed(*its_rank.processor, "the end of a batch"),
        copies(batches),
        trained(batches),
        begins(batches) {}

  void draw(int row, const char* what, Time began) const {
    if (probe != nullptr) probe->slice(row, {.what = what, .from = began, .to = rank.processor->now()});
  }
  void compare(std::uint64_t address, const std::vector<std::byte>& right) {
    wrong += collectives::differing(*rank.store, address, right);
  }
};

GraphSampling::GraphSampling(std::vector<Rank*> ranks, const SamplingConfig& config,
                             const collectives::Communicator::Config& collectives,
                             const accelerator::ComputeConfig& compute)
    : ranks_(std::move(ranks)), config_(config) {
  if (config.fan_outs.empty()) throw ConfigError("workload.fan_outs", "expected at least one hop, got none");
  if (!ranks_.front()->remote.exists()) {
    throw ConfigError("remote_memory.kind", "expected a memory in which hosts have features, got none");
  }
  if (ranks_.front()->processor->config().access_cycles == 0) {
    throw ConfigError("firmware.access_cycles", "expected what a sampler waits for an access to memory, got 0");
  }
  if (config.graph.training > config.graph.nodes) {
    throw ConfigError("workload.graph.training", "expected at most the graph's " + std::to_string(config.graph.nodes) +
                                                     " nodes, got " + std::to_string(config.graph.training));
  }
  hops_ = expected_hops(config.graph, config.batch, config.fan_outs);
  kernels_ = sage_kernels(compute, config, hops_);
  batches_ = config.batches == 0 ? epoch() : std::min<std::int64_t>(config.batches, epoch());
  copies_ = static_cast<std::uint64_t>(config.copies_ahead) + 1;
  // The main thread slices one while others are copied.
  slots_ = config.slicer == Slicer::kMain ? copies_ + 1 : static_cast<std::uint64_t>(config.sampled_ahead());
  edge_bytes_ = edge_bytes_of(hops_);
  memory_ = sampling_memory(config, hops_);
  gradient_bytes_ = 4 * static_cast<std::uint64_t>(sage_parameters(config));
  collectives::require_exact_sums(collectives, *ranks_.front());
  if (sums()) communicator_ = std::make_unique<collectives::Communicator>(ranks_, collectives, "gradients");
  int nodes = 0;
  for (const Rank* rank : ranks_) nodes = std::max(nodes, rank->node + 1);
  for (int node = 0; node < nodes; ++node) hosts_.push_back(std::make_unique<HostMemory>(config.host_memory));
  for (Rank* rank : ranks_) {
    members_.push_back(std::make_unique<Member>(static_cast<int>(members_.size()), *rank,
                                                *hosts_[static_cast<std::size_t>(rank->node)],
                                                static_cast<std::size_t>(batches_)));
    place(*members_.back());
  }
}

GraphSampling::~GraphSampling() = default;

std::int64_t GraphSampling::epoch() const {
  const std::int64_t in_all = static_cast<std::int64_t>(config_.batch) * static_cast<std::int64_t>(ranks_.size());
  return (config_.graph.training + in_all - 1) / in_all;
}

std::vector<std::pair<std::string, std::uint64_t>> sampling_memory(const SamplingConfig& config,
                                                                   const std::vector<Hop>& hops) {
  const auto features = static_cast<std::uint64_t>(hops.back().sources * config.graph.features);
  const std::uint64_t parameters = 4 * static_cast<std::uint64_t>(sage_parameters(config));
  std::uint64_t activations = 0;
  std::uint64_t largest = 0;
  for (const SageLayer& layer : sage_layers(config, hops)) {
    // Kept: means; products, ReLU's and dropout's values, and dropout's mask.
    const auto values = static_cast<std::uint64_t>(layer.hop.targets * layer.out);
    activations += 4 * static_cast<std::uint64_t>(layer.hop.targets * layer.in) + 13 * values;
    largest = std::max(largest, 4 * values);
  }
  const auto copies = static_cast<std::uint64_t>(config.copies_ahead) + 1;
  return {{"batches: features in 16 bits and edges", copies * (2 * features + edge_bytes_of(hops))},
          {"gradients", parameters},
          {"parameters and two moments", 3 * parameters},
          {"features in 32 bits", 4 * features},
          {"activations", activations},
          {"gradients of activations", 2 * largest}};
}

void GraphSampling::place(Member& member) {
  for (const auto& [what, bytes] : memory_) {
    const std::uint64_t address = member.rank.memory.allocate(what, bytes);
    if (what == memory_[0].first) member.buffers = address;
    if (what == memory_[1].first) member.sums = address;
  }
  member.pinned = member.rank.remote.base +
                  member.rank.remote.own.allocate("pinned buffers", slots_ * (rows() * row_bytes() + edge_bytes_));
}

void GraphSampling::record(Probe& probe, int ranks) {
  for (int i = 0; i < std::min(ranks, static_cast<int>(members_.size())); ++i) {
    Member& member = *members_[static_cast<std::size_t>(i)];
    const std::string process = "rank " + std::to_string(member.rank.place);
    member.probe = &probe;
    for (int thread = 0; thread < config_.samplers; ++thread) {
      member.sampler_rows.push_back(probe.add_track(process, "sampler " + std::to_string(thread)));
    }
    if (config_.slicer == Slicer::kMain) member.slice_row = probe.add_track(process, "slicing");
    if (sums()) member.sum_row = probe.add_track(process, "all-reduce");
  }
}

void GraphSampling::start() {
  started_ = members_.front()->rank.processor->now();
  for (auto& member : members_) {
    firmware::Processor& processor = *member->rank.processor;
    const std::string name = "sampling rank " + std::to_string(member->index);
    // From the last core on: those of collectives' threads come first.
    const int cores = processor.config().cores;
    const auto from_last = [cores](int place) { return cores - 1 - place % cores; };
    processor.spawn(name + " main", from_last(0), train(*member));
    processor.spawn(name + " progress", from_last(1), watch(*member));
    processor.spawn(name + " copies", from_last(1), copy(*member));
    if (sums()) processor.spawn(name + " all-reduce", from_last(1), reduce(*member));
    for (int thread = 0; thread < config_.samplers; ++thread) {
      processor.spawn(name + " sampler " + std::to_string(thread), from_last(2 + thread), sample(*member, thread));
    }
  }
}

Task GraphSampling::sample(Member& member, int thread) {
  firmware::Processor& processor = *member.rank.processor;
  const auto ahead = static_cast<std::uint64_t>(config_.sampled_ahead());
  const bool slices = config_.slicer == Slicer::kSamplers;
  while (member.next < static_cast<std::uint64_t>(batches_)) {
    const std::uint64_t batch = member.next++;
    if (batch >= ahead) co_await (slices ? member.copied : member.taken).reach(batch - ahead + 1);
    const Time began = processor.now();
    member.begins[batch] = began - started_;
    for (const Hop& hop : hops_) {
      processor.work(work_of(hop, config_.sampler));
      co_await processor.delay(kLetGo);
    }
    member.sampling += processor.now() - began;
    if (!member.sampler_rows.empty())
      member.draw(member.sampler_rows[static_cast<std::size_t>(thread)], "sample", began);
    if (slices) {
      const Time sliced = processor.now();
      co_await slice(member, batch, 1);
      if (!member.sampler_rows.empty()) {
        member.draw(member.sampler_rows[static_cast<std::size_t>(thread)], "slice", sliced);
      }
    }
    member.is_sampled[batch] = true;
    std::uint64_t in_order = member.sampled.value();
    while (in_order < member.is_sampled.size() && member.is_sampled[in_order]) ++in_order;
    member.sampled.set(in_order);
  }
}

Task GraphSampling::slice(Member& member, std::uint64_t batch, int threads) {
  firmware::Processor& processor = *member.rank.processor;
  const Time began = processor.now();
  const std::uint64_t lines = parts_of(row_bytes(), kLine);
  const std::uint64_t most = std::max<std::uint64_t>(1, kPiece / row_bytes());
  const auto side_by_side = static_cast<std::uint64_t>(threads);
  for (std::uint64_t row = 0; row < rows(); row += most) {
    const std::uint64_t count = std::min(most, rows() - row);
    const std::uint64_t mine = parts_of(count * lines, side_by_side);
    const Time moved = member.host.book(kMoved * count * lines * kLine, processor.now());
    processor.work(
        {.instructions = static_cast<std::int64_t>(mine * kLineInstructions),
         .accesses = static_cast<std::int64_t>(parts_of(mine, static_cast<std::uint64_t>(config_.outstanding_lines)))});
    co_await processor.delay(std::max(kLetGo, moved - processor.now()));
  }
  member.slicing += processor.now() - began;
  if (member.rank.store == nullptr) co_return;
  const std::uint64_t slot = member.pinned + batch % slots_ * (rows() * row_bytes() + edge_bytes_);
  const std::vector<std::byte> features = features_of(member, batch);
  const std::vector<std::byte> edges = edges_of(member, batch);
  member.rank.remote.bytes().write(slot, features.data(), features.size());
  member.rank.remote.bytes().write(slot + features.size(), edges.data(), edges.size());
}

Task GraphSampling::train(Member& member) {
  firmware::Processor& processor = *member.rank.processor;
  firmware::CommandWindow& accelerator = member.rank.accelerator;
  const auto batches = static_cast<std::uint64_t>(batches_);
  const auto launch = [&](const PlannedKernel& kernel) {
    processor.charge(cycles_of(config_.launch, processor.config().clock));
    accelerator.submit(kernel_command(kComputeStream, kernel.label, kernel.work));
  };
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    co_await member.sampled.reach(batch + 1);
    if (config_.slicer == Slicer::kMain) {
      if (batch >= slots_) co_await member.copied.reach(batch - slots_ + 1);
      member.taken.set(batch + 1);
      const Time began = processor.now();
      co_await slice(member, batch, config_.slicing_threads);
      member.draw(member.slice_row, "slice", began);
      member.sliced.set(batch + 1);
    } else {
      // What is to be copied beside this batch.
      const std::uint64_t ready = std::min(batch + copies_, batches);
      for (std::uint64_t b = member.sliced.value() + 1; b <= ready; ++b) {
        co_await member.sampled.reach(b);
        member.sliced.set(b);
      }
    }
    accelerator.wait(kComputeStream, kCopied, batch + 1);
    accelerator.notify(kComputeStream, member.progress, 2 * batch);
    for (const PlannedKernel& kernel : kernels_.passes) launch(kernel);
    if (sums()) {
      accelerator.notify(kComputeStream, member.gradients, batch);
      accelerator.wait(kComputeStream, kSummed, batch + 1);
    }
    for (const PlannedKernel& kernel : kernels_.optimizer) launch(kernel);
    accelerator.notify(kComputeStream, member.progress, 2 * batch + 1);
    if (config_.waits_for_loss) co_await member.computed.reach(batch + 1);
    co_await processor.delay(kLetGo);
  }
}

Task GraphSampling::copy(Member& member) {
  firmware::Processor& processor = *member.rank.processor;
  const std::uint64_t features = rows() * row_bytes();
  for (std::uint64_t batch = 0; batch < static_cast<std::uint64_t>(batches_); ++batch) {
    co_await member.sliced.reach(batch + 1);
    if (batch >= copies_) co_await member.computed.reach(batch - copies_ + 1);
    const std::uint64_t from = member.pinned + batch % slots_ * (features + edge_bytes_);
    const std::uint64_t to = member.buffers + batch % copies_ * (features + edge_bytes_);
    member.copies[batch].from = processor.now();
    member.rank.remote.load(from, to, features, member.loads, 0);
    member.rank.remote.load(from + features, to + features, edge_bytes_, member.loads, 1);
    co_await member.loads.next();
    co_await member.loads.next();
    member.copies[batch].to = processor.now();
    if (member.rank.store != nullptr) {
      member.compare(to, features_of(member, batch));
      member.compare(to + features, edges_of(member, batch));
    }
    member.rank.accelerator.signal(kCopied, batch + 1);
    member.copied.set(batch + 1);
  }
}

Task GraphSampling::reduce(Member& member) {
  firmware::Processor& processor = *member.rank.processor;
  for (std::uint64_t batch = 0; batch < static_cast<std::uint64_t>(batches_); ++batch) {
    co_await member.gradients.next();
    const collectives::Reference sum{dimensions::Operation::kAllReduce, communicator_->size(), gradient_bytes_,
                                     ElementType::kFp32, batch};
    if (member.rank.store != nullptr) sum.fill(*member.rank.store, member.sums, member.index);
    const Time began = processor.now();
    co_await member.kernel.begin(
        communicator_->kernel_cores(member.index, dimensions::Operation::kAllReduce, gradient_bytes_));
    co_await communicator_->all_reduce(member.index, member.sums, gradient_bytes_, ElementType::kFp32);
    member.kernel.end();
    member.draw(member.sum_row, "gradients", began);
    member.tally.add({name_of(dimensions::Operation::kAllReduce), communicator_->size(), gradient_bytes_},
                     processor.now() - began);
    if (member.rank.store != nullptr) member.wrong += sum.wrong(*member.rank.store, member.sums, member.index);
    member.rank.accelerator.signal(kSummed, batch + 1);
  }
}

Task GraphSampling::watch(Member& member) {
  firmware::Processor& processor = *member.rank.processor;
  for (std::int64_t i = 0; i < 2 * batches_; ++i) {
    const std::uint64_t id = (co_await member.progress.next()).id;
    const std::uint64_t batch = id / 2;
    if (id % 2 == 0) {
      member.trained[batch].from = processor.now();
      continue;
    }
    member.trained[batch].to = processor.now();
    member.ends.push_back(processor.now() - started_);
    if (member.rank.store != nullptr) {
      member.compare(member.buffers + batch % copies_ * (rows() * row_bytes() + edge_bytes_),
                     features_of(member, batch));
    }
    member.computed.set(batch + 1);
  }
}

std::vector<std::byte> GraphSampling::features_of(const Member& member, std::uint64_t batch) const {
  std::vector<std::byte> all;
  all.reserve(rows() * row_bytes());
  const std::uint64_t drawn = mix(mix(batch) ^ static_cast<std::uint64_t>(member.index));
  for (std::uint64_t row = 0; row < rows(); ++row) {
    const std::uint64_t node = mix(drawn + row) % static_cast<std::uint64_t>(config_.graph.nodes);
    const std::vector<std::byte> features = collectives::pattern_bytes(node, 0, row_bytes());
    all.insert(all.end(), features.begin(), features.end());
  }
  return all;
}

std::vector<std::byte> GraphSampling::edges_of(const Member& member, std::uint64_t batch) const {
  return collectives::pattern_bytes(mix(batch), member.index, edge_bytes_);
}

double GraphSampling::progress() const {
  std::size_t ended = 0;
  for (const auto& member : members_) ended += member->ends.size();
  return static_cast<double>(ended) / static_cast<double>(batches_ * static_cast<std::int64_t>(members_.size()));
}

std::vector<Time> GraphSampling::step_ends() const {
  return ends_of_all(members_, [](const auto& member) -> const std::vector<Time>& { return member->ends; });
}

collectives::CompressedAmount GraphSampling::compressed() const {
  collectives::CompressedAmount amount;
  if (communicator_) amount.add(*communicator_);
  return amount;
}

std::string GraphSampling::remark() const {
  return communicator_ ? communicator_->remark() : "";
}

SamplingResult GraphSampling::result() const {
  SamplingResult result;
  result.ends = step_ends();
  result.copied_bytes = rows() * row_bytes() + edge_bytes_;
  result.pinned_bytes = slots_ * result.copied_bytes;
  result.of_first = members_.front()->tally;
  if (members_.front()->rank.store != nullptr) result.wrong = 0;
  const auto ranks = static_cast<std::int64_t>(members_.size());
  std::vector<Time> begins(static_cast<std::size_t>(batches_));
  for (const auto& member : members_) {
    std::ranges::transform(begins, member->begins, begins.begin(), [](Time a, Time b) { return std::max(a, b); });
    Time before = started_;
    const std::size_t ended = member->ends.size();
    for (std::size_t batch = 0; batch < ended; ++batch) {
      const Member::Span& trained = member->trained[batch];
      const Member::Span& copied = member->copies[batch];
      const Time transfer = overlap(before, trained.from, copied.from, copied.to);
      result.transfer += transfer;
      result.sampling += trained.from - before - transfer;
      result.train += trained.to - trained.from;
      result.copy += copied.to - copied.from;
      before = trained.to;
    }
    result.sampler += member->sampling;
    result.slicing += member->slicing;
    if (result.wrong >= 0) result.wrong += member->wrong;
  }
  const auto mean = [](Time& sum, std::int64_t of) { sum = Time(sum.count() / std::max<std::int64_t>(1, of)); };
  for (Time* part : {&result.train, &result.transfer, &result.sampling}) mean(*part, ranks);
  for (Time* part : {&result.sampler, &result.slicing, &result.copy}) mean(*part, ranks * batches_);
  if (!result.ends.empty()) {
    std::ranges::sort(begins);
    const auto at_once = static_cast<std::size_t>(std::min(config_.samplers, config_.sampled_ahead()));
    result.epoch = epoch_time(begins, result.ends, at_once, epoch());
  }
  return result;
}

}  // namespace weft::schedules
